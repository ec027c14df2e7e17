//! The settings of the stage: the table `[patch]`.

use serde::{Deserialize, Serialize};

use super::bounds::{ROOMY_MIN_OVERLAP, USUAL_MIN_OVERLAP};
use super::{Landmarks, OverlapBounds, PatchError, Sparsify};

/// What the patches must cover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cover {
    /// Every edge lies in some patch, so that some model sees it, as far as the budget
    /// [`PatchConfig::cover_budget`] reaches.
    #[default]
    Edges,
    /// Every node lies in some patch, as in the paper.
    Nodes,
}

/// The settings of the stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PatchConfig {
    /// The mean degree of the sparsified patch graph.
    pub degree: f64,
    /// The least number of nodes that joined patches share, `l`.
    pub min_overlap: Option<usize>,
    /// The largest number of nodes that a patch edge asks for, `u`.
    pub max_overlap: Option<usize>,
    /// What the patches must cover. If not set, whoever runs the stage decides; edges by default.
    pub cover: Option<Cover>,
    /// How many nodes become guests of other patches to cover edges, at most: a share of the nodes of
    /// the graph, 0 or more. What they do not cover is counted.
    pub cover_budget: f64,
    /// Which edges of the patch graph are kept.
    pub sparsify: Sparsify,
    /// Whether patches of components that no edge joins are joined through random nodes, so that
    /// all can be aligned; if not, a graph in parts is refused.
    pub bridge: bool,
    /// How many nodes every patch holds, in balls all over the graph: up to 1 a share of the mean
    /// cluster, above a number of nodes. If not set, whoever runs the stage decides; none by default.
    pub landmarks: Option<Landmarks>,
}

impl Default for PatchConfig {
    fn default() -> Self {
        Self {
            degree: 4.0,
            min_overlap: None,
            max_overlap: None,
            cover: None,
            cover_budget: 0.25,
            sparsify: Sparsify::default(),
            bridge: true,
            landmarks: None,
        }
    }
}

impl PatchConfig {
    /// The least bounds on overlaps: as set, else `l = max(dim + 1, 32)` and `u = 2 (l - 1)`, which
    /// is 129 and 256 in 128 dimensions, as in the paper. Clusters must have `l / 2` nodes. Where
    /// they have more, [`PatchConfig::bounds_within`] tells what is taken.
    ///
    /// # Errors
    /// [`PatchError::Setting`] if `l` cannot fix a rotation in `dim` dimensions, or
    /// exceeds `u`.
    ///
    /// # Examples
    /// ```
    /// use local2global::patch::PatchConfig;
    ///
    /// let bounds = PatchConfig::default().overlap_bounds(128)?;
    /// assert_eq!((bounds.min, bounds.max), (129, 256));
    /// # Ok::<(), local2global::patch::PatchError>(())
    /// ```
    pub fn overlap_bounds(&self, dim: usize) -> Result<OverlapBounds, PatchError> {
        self.bounds_within(dim, 0)
    }

    /// The bounds on what neighbours share with a cluster of so many nodes. If `l` is not set, it
    /// is 129 even in few dimensions, since many points fix a rotation much better than a few;
    /// but neighbours take at most a third of a cluster for it, and `max(dim + 1, 32)` at least.
    ///
    /// # Errors
    /// As [`PatchConfig::overlap_bounds`].
    ///
    /// # Examples
    /// ```
    /// use local2global::patch::PatchConfig;
    ///
    /// let min = |nodes| PatchConfig::default().bounds_within(16, nodes).map(|bounds| bounds.min);
    /// assert_eq!([min(20)?, min(100)?, min(2000)?], [32, 66, 129]);
    /// # Ok::<(), local2global::patch::PatchError>(())
    /// ```
    pub fn bounds_within(&self, dim: usize, cluster_nodes: usize) -> Result<OverlapBounds, PatchError> {
        // Numbers that no graph can meet are told as such where clusters are seen to be too small.
        let fixing = dim.saturating_add(1);
        let roomy = (2 * cluster_nodes / 3).min(ROOMY_MIN_OVERLAP);
        let min = self.min_overlap.unwrap_or(fixing.max(USUAL_MIN_OVERLAP).max(roomy));
        let max = self.max_overlap.unwrap_or(min.saturating_mul(2).saturating_sub(2).max(min));
        if min < fixing {
            let needed = format!("at least {fixing} to align in {dim} dimensions");
            return Err(PatchError::Setting { key: "min_overlap", found: min.to_string(), needed });
        }
        if max < min {
            let needed = format!("at least min_overlap, {min}");
            return Err(PatchError::Setting { key: "max_overlap", found: max.to_string(), needed });
        }
        Ok(OverlapBounds { min, max })
    }

    /// Checks the settings, for patches that are embedded in `dim` dimensions.
    ///
    /// # Errors
    /// [`PatchError::Setting`] with the setting that makes no sense.
    pub fn check(&self, dim: usize) -> Result<(), PatchError> {
        let refused = |key: &'static str, found: f64| {
            Err(PatchError::Setting { key, found: found.to_string(), needed: "a number from 0".into() })
        };
        if !(self.degree >= 0.0 && self.degree.is_finite()) {
            return refused("degree", self.degree);
        }
        // Infinite is as good as any large number: all edges are covered.
        if self.cover_budget.is_nan() || self.cover_budget < 0.0 {
            return refused("cover_budget", self.cover_budget);
        }
        self.overlap_bounds(dim).map(|_| ())
    }

    /// How many guests a graph of so many nodes allows; none if only nodes are covered.
    ///
    /// # Examples
    /// ```
    /// use local2global::patch::{Cover, PatchConfig};
    ///
    /// let mut config = PatchConfig::default();
    /// assert_eq!(config.most_guests(2485), 621);
    /// config.cover_budget = f64::INFINITY;
    /// assert_eq!(config.most_guests(2485), usize::MAX);
    /// config.cover = Some(Cover::Nodes);
    /// assert_eq!(config.most_guests(2485), 0);
    /// ```
    pub fn most_guests(&self, num_nodes: usize) -> usize {
        match self.cover.unwrap_or_default() {
            Cover::Edges => (self.cover_budget * num_nodes as f64) as usize,
            Cover::Nodes => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_bounds_are_halved_so_that_both_halves_make_them() {
        let bounds = OverlapBounds { min: 129, max: 256 };
        assert_eq!((bounds.half_min(), bounds.half_max()), (65, 128));
        let tight = OverlapBounds { min: 5, max: 5 };
        assert_eq!((tight.half_min(), tight.half_max()), (3, 3));
    }

    #[test]
    fn overlaps_that_cannot_be_aligned_are_refused() {
        let config = PatchConfig { min_overlap: Some(16), ..Default::default() };
        let error = config.overlap_bounds(16).unwrap_err().to_string();
        assert_eq!(error, "setting `patch.min_overlap` is 16; needed at least 17 to align in 16 dimensions");
        let crossed = PatchConfig { min_overlap: Some(9), max_overlap: Some(8), ..Default::default() };
        assert!(crossed.overlap_bounds(2).unwrap_err().to_string().contains("at least min_overlap, 9"));
    }

    #[test]
    fn a_budget_is_a_number_from_0() {
        let checked = |cover_budget| PatchConfig { cover_budget, ..Default::default() }.check(2);
        assert!([0.0, 0.25, 7.0, f64::INFINITY].into_iter().all(|budget| checked(budget).is_ok()));
        let error = checked(-0.5).unwrap_err().to_string();
        assert_eq!(error, "setting `patch.cover_budget` is -0.5; needed a number from 0");
        assert!(checked(f64::NAN).is_err());
    }

    #[test]
    fn unknown_keys_are_refused() {
        assert!(serde_json::from_str::<PatchConfig>(r#"{"degre": 3}"#).is_err());
        let parsed: PatchConfig = serde_json::from_str(r#"{"cover": "nodes", "sparsify": "none"}"#).unwrap();
        assert_eq!((parsed.cover, parsed.sparsify), (Some(Cover::Nodes), Sparsify::None));
    }
}
