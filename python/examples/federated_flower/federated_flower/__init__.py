"""Sites that keep their graphs, aligned over Flower."""
