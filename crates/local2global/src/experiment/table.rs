//! The result: one row of scores per dimension. `panel.rs` makes tables and a figure of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::patch_set::PatchSet;
use super::score::SplitScores;
use super::trial::Trials;
use super::{Curves, SplitSummary};
use crate::align::Centroid;
use crate::config::Config;
use crate::embed::EmbedMethod;
use crate::evaluate::{Spread, Task};
use crate::graph::Graph;
use crate::patch::{Cover, EdgeCover};
use crate::seed::Seed;

/// The scores of all dimensions, and what they belong to: the content of `scores.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// The version of this library.
    pub version: String,
    /// The graph, as it was named.
    pub graph: String,
    /// Its nodes.
    pub nodes: usize,
    /// Its edges; an undirected one counts once.
    pub edges: usize,
    /// The seed of all chance.
    pub seed: Seed,
    /// How patches were embedded.
    pub method: EmbedMethod,
    /// How often; the best was kept.
    pub runs: u32,
    /// The patches in the setting of the paper.
    pub paper: SettingSummary,
    /// The patches as set.
    pub ours: SettingSummary,
    /// The splits of the edges, with patches of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub splits: Vec<SplitSummary>,
    /// Tasks that nobody asked for by name and that the graph does not allow, with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<Task, String>,
    /// The scores, by ascending dimension.
    pub rows: Vec<Row>,
}

/// What one setting is like.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SettingSummary {
    /// What the patches cover.
    pub cover: Cover,
    /// Where a node with several copies goes.
    pub centroid: Centroid,
    /// The number of patches.
    pub patches: usize,
    /// The number of patch edges.
    pub patch_edges: usize,
    /// The number of edges inside all patches over the number of edges of the graph.
    pub oversampling: f64,
    /// The edges that no patch holds.
    pub edges_in_no_patch: EdgeCover,
}

/// The scores of every embedding of one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The dimension.
    pub dim: usize,
    /// What the method `auto` stood for on the whole graph; none if the settings name a method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<EmbedMethod>,
    /// The reconstruction AUC.
    #[serde(flatten)]
    pub reconstruction: Curves<f64>,
    /// The AUC of held-out edges over splits; none without splits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_prediction: Option<Curves<Spread>>,
    /// The accuracy of classes over splits; none without splits or labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classification: Option<Curves<Spread>>,
}

impl SettingSummary {
    fn of(set: &PatchSet) -> Self {
        Self {
            cover: set.patch.cover.unwrap_or_default(),
            centroid: set.align.centroid,
            patches: set.report.patches,
            patch_edges: set.report.patch_edges,
            oversampling: set.report.oversampling,
            edges_in_no_patch: set.report.edges_in_no_patch,
        }
    }
}

impl Table {
    /// A table without rows.
    pub(super) fn new(
        graph: &Graph,
        config: &Config,
        [paper, ours]: &[PatchSet; 2],
        splits: &[Trials<'_>],
    ) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            graph: config.graph.input.as_ref().map_or_else(|| "graph".to_owned(), ToString::to_string),
            nodes: graph.num_nodes(),
            edges: graph.num_edges(),
            seed: config.seed,
            method: config.embed.method,
            runs: config.embed.runs,
            paper: SettingSummary::of(paper),
            ours: SettingSummary::of(ours),
            splits: splits.iter().map(SplitSummary::of).collect(),
            left_out: BTreeMap::new(),
            rows: Vec::new(),
        }
    }

    /// Adds a dimension with the scores of all splits.
    pub(super) fn push(
        &mut self,
        dim: usize,
        chosen: Option<EmbedMethod>,
        reconstruction: Curves<f64>,
        splits: &[SplitScores],
    ) {
        let over = |of: fn(&SplitScores) -> Option<Curves<f64>>| {
            let scores: Option<Vec<_>> = splits.iter().map(of).collect();
            scores.filter(|scores| !scores.is_empty()).map(|scores| Curves::over(&scores))
        };
        let link_prediction = over(|split| split.link_prediction);
        let classification = over(|split| split.classification);
        self.left_out.extend(splits.iter().flat_map(|split| split.left_out.clone()));
        self.rows.push(Row { dim, chosen, reconstruction, link_prediction, classification });
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A table of two dimensions, with the scores of so many splits.
    pub(in crate::experiment) fn table(splits: usize) -> Table {
        let summary = SettingSummary {
            cover: Cover::Edges,
            centroid: Centroid::Weighted,
            patches: 10,
            patch_edges: 20,
            oversampling: 2.5,
            edges_in_no_patch: EdgeCover { count: 0, share: 0.0 },
        };
        let mut table = Table {
            version: "0".into(),
            graph: "a<b".into(),
            nodes: 3,
            edges: 2,
            seed: Seed(0),
            method: EmbedMethod::Vgae,
            runs: 10,
            paper: summary,
            ours: summary,
            splits: vec![SplitSummary { seed: Seed(u64::MAX), held_out: 7 }; splits],
            left_out: BTreeMap::new(),
            rows: Vec::new(),
        };
        let score = |split: usize| SplitScores {
            link_prediction: Some([0.9, 0.75 + 0.125 * split as f64, 0.7, 0.6, 0.5].into()),
            classification: Some([0.8; 5].into()),
            ..Default::default()
        };
        let scores: Vec<SplitScores> = (0..splits).map(score).collect();
        for dim in [2, 16] {
            table.push(dim, None, [0.99571, 0.9912, 0.95, 0.9811, 0.9479].into(), &scores);
        }
        table
    }

    #[test]
    fn scores_are_read_back() {
        for splits in [0, 1, 3] {
            let json = serde_json::to_string(&table(splits)).unwrap();
            assert_eq!(serde_json::from_str::<Table>(&json).unwrap(), table(splits));
            assert!(json.contains(r#""cover":"edges","centroid":"weighted""#), "{json}");
        }
    }

    #[test]
    fn without_splits_a_row_is_that_of_the_paper() {
        let json = serde_json::to_string(&table(0).rows[0]).unwrap();
        let row = r#"{"dim":2,"full":0.99571,"l2g":0.9912,"no_trans":0.95,"l2g_paper":0.9811,"no_trans_paper":0.9479}"#;
        assert_eq!(json, row);
        assert!(!serde_json::to_string(&table(0)).unwrap().contains("split"));
    }

    #[test]
    fn a_task_that_a_split_lacks_has_no_scores() {
        let mut table = table(0);
        let left_out = [(Task::Classification, "why".to_owned())].into();
        let lacking = SplitScores { link_prediction: Some([0.5; 5].into()), left_out, ..Default::default() };
        let full = SplitScores { classification: Some([0.5; 5].into()), ..lacking.clone() };
        table.push(32, None, [0.5; 5].into(), &[full, lacking]);
        let row = table.rows[2];
        assert_eq!(row.link_prediction.map(|auc| auc.l2g), Some(Spread { mean: 0.5, std: Some(0.0) }));
        assert_eq!((row.classification, &*table.left_out[&Task::Classification]), (None, "why"));
    }
}
