//! Which edges of a patch a model sees: when it trains, when it is checked, and at the end.
//!
//! ```text
//! all edges = held out | trained on        once, for validation
//! trained on = hidden | visible            anew in every epoch, for masked training
//! ```
//!
//! In an epoch values are propagated over the visible edges, and the hidden ones are to be
//! predicted; without masking, all edges trained on are both. A check propagates over all edges
//! trained on, and scores those held out. The embedding itself sees every edge.
//!
//! Cost: one propagation matrix for each of the three views that differs from the others.

use super::SparseMatrix;
use super::masking::{EdgeSplit, Mask, Masked};
use super::noise::Purpose;
use super::propagation::{Adjacency, matrix_between, weighted_neighbors};
use super::sampling::NonEdges;
use super::validation::Validation;
use crate::graph::Graph;
use crate::linalg::real::Real;
use crate::seed::Seed;

/// Shares of the edges that are not seen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Unseen {
    /// Kept out of training, to be predicted in checks.
    pub validation: f64,
    /// Hidden in an epoch, to be predicted in training.
    pub hide: f64,
}

/// The occasions on which a model looks at the edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// An epoch of training: edges that are neither held out nor hidden.
    Epoch,
    /// A check: edges that are not held out.
    Check,
    /// The end: all edges.
    All,
}

/// The edges of a patch.
#[derive(Clone, Debug)]
pub struct Edges<F> {
    /// The edges trained on.
    trained: Adjacency,
    /// Their weights, where they are needed again in every epoch.
    weights: Option<Vec<f32>>,
    trained_matrix: SparseMatrix<F>,
    /// Of all edges, if some are held out.
    all_matrix: Option<SparseMatrix<F>>,
    masked: Option<Masked<F>>,
    validation: Option<Validation>,
    view: View,
}

impl<F: Real> Edges<F> {
    /// The edges of a graph; which ones are held out depends on the seed.
    pub fn new(graph: &Graph, unseen: Unseen, seed: Seed) -> Self {
        let (all, weights) = weighted_neighbors(graph);
        let mut edges = match unseen.validation > 0.0 {
            true => Self::divided(&all, weights.as_deref(), unseen.validation, seed),
            false => Self::undivided(all, weights),
        };
        match unseen.hide > 0.0 {
            true => edges.masked = Some(Masked::new(&edges.trained, unseen.hide)),
            false => edges.weights = None,
        }
        edges
    }

    fn undivided(trained: Adjacency, weights: Option<Vec<f32>>) -> Self {
        let trained_matrix = matrix_between(&trained, weights.as_deref());
        let (all_matrix, masked, validation) = (None, None, None);
        Self { trained, weights, trained_matrix, all_matrix, masked, validation, view: View::All }
    }

    fn divided(all: &Adjacency, weights: Option<&[f32]>, share: f64, seed: Seed) -> Self {
        let mask = Mask::new(share, Purpose::Validation, seed, 0);
        let EdgeSplit { kept, kept_weights, held_out } = EdgeSplit::new(all, weights, mask);
        Self {
            validation: Some(Validation::new(all, held_out, seed)),
            all_matrix: Some(matrix_between(all, weights)),
            ..Self::undivided(kept, kept_weights)
        }
    }

    /// Hides the edges of one epoch, if any are to be hidden.
    pub fn draw(&mut self, seed: Seed, epoch: u32) {
        if let Some(masked) = &mut self.masked {
            masked.draw(&self.trained, self.weights.as_deref(), seed, epoch);
        }
    }

    /// Chooses what [`Edges::propagation`] gives from now on.
    pub fn show(&mut self, view: View) {
        self.view = view;
    }

    /// The matrix that propagates over the edges in view.
    pub fn propagation(&self) -> &SparseMatrix<F> {
        match (self.view, &self.masked, &self.all_matrix) {
            (View::Epoch, Some(masked), _) => masked.propagation(),
            (View::All, _, Some(matrix)) => matrix,
            _ => &self.trained_matrix,
        }
    }

    /// The edges trained on.
    pub fn trained(&self) -> &Adjacency {
        &self.trained
    }

    /// The edges to be predicted in this epoch.
    pub fn targets(&self) -> &Adjacency {
        self.masked.as_ref().map_or(&self.trained, Masked::hidden)
    }

    /// Draws the non-edges of an epoch: as many as edges are hidden, or, where none are, as
    /// many as there are edges, both directions counted.
    pub fn non_edges(&self, hide: f64) -> NonEdges {
        let num_entries = self.trained.nodes().len();
        let num_pairs = match self.masked {
            Some(_) => ((num_entries / 2) as f64 * hide).ceil() as usize,
            None => num_entries,
        };
        NonEdges::with_pairs(&self.trained, num_pairs)
    }

    /// The pairs on which training is checked, if edges are held out.
    pub fn validation(&self) -> Option<&Validation> {
        self.validation.as_ref()
    }

    /// Hides the edges that a mask says.
    #[cfg(test)]
    pub(crate) fn hide(&mut self, mask: Mask) {
        let mut masked = Masked::new(&self.trained, 0.5);
        masked.hide(&self.trained, self.weights.as_deref(), mask);
        self.masked = Some(masked);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::nn::fixture::Fixture;

    #[test]
    fn every_view_shows_its_edges() {
        let graph = Fixture.graph();
        let count = |edges: &mut Edges<f64>, view| {
            edges.show(view);
            edges.propagation().num_entries()
        };
        let entries = |num_edges: usize| graph.num_nodes() + 2 * num_edges;
        let mut edges = Edges::<f64>::new(&graph, Unseen { validation: 0.2, hide: 0.5 }, Seed(1));
        edges.draw(Seed(1), 1);
        let held_out = edges.validation().unwrap().num_edges();
        let (trained, hidden) = (edges.trained().num_edges(), edges.targets().num_edges());
        assert!(held_out > 0 && hidden > 0 && hidden < trained);
        assert_eq!(count(&mut edges, View::All), entries(trained + held_out));
        assert_eq!(count(&mut edges, View::Check), entries(trained));
        assert_eq!(count(&mut edges, View::Epoch), entries(trained - hidden));

        let mut plain = Edges::<f64>::new(&graph, Unseen::default(), Seed(1));
        for view in [View::All, View::Check, View::Epoch] {
            assert_eq!(count(&mut plain, view), entries(trained + held_out));
        }
        assert_eq!(plain.targets().num_edges(), trained + held_out);
    }
}
