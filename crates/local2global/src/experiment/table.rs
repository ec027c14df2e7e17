//! The result: one row of scores per dimension, as JSON, as a table, as a figure.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::setting::PatchSet;
use super::svg::{Chart, Curve, Marker, draw};
use crate::align::Centroid;
use crate::config::Config;
use crate::embed::EmbedMethod;
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

/// The reconstruction AUC of every embedding of one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The dimension.
    pub dim: usize,
    /// Trained on the whole graph.
    pub full: f64,
    /// Trained on patches as set, and stitched.
    pub l2g: f64,
    /// The same patches, averaged without transforms.
    pub no_trans: f64,
    /// Trained on patches in the setting of the paper, and stitched.
    pub l2g_paper: f64,
    /// The same patches, averaged without transforms.
    pub no_trans_paper: f64,
}

/// The curves: name, colour, marker, whether it is the paper's setting. Colours are those
/// of Okabe and Ito, which colour-blind people can tell apart.
const CURVES: [(&str, &str, Marker, bool); 5] = [
    ("full", "#333333", Marker::Circle, false),
    ("l2g", "#d55e00", Marker::Square, false),
    ("no-trans", "#0072b2", Marker::Triangle, false),
    ("l2g, as in the paper", "#d55e00", Marker::Square, true),
    ("no-trans, as in the paper", "#0072b2", Marker::Triangle, true),
];

impl Row {
    /// The scores in the order of the curves.
    pub fn scores(&self) -> [f64; 5] {
        [self.full, self.l2g, self.no_trans, self.l2g_paper, self.no_trans_paper]
    }
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
    pub(super) fn new(graph: &Graph, config: &Config, runs: u32, [paper, ours]: &[PatchSet; 2]) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            graph: config.graph.input.clone().unwrap_or_else(|| "graph".to_owned()),
            nodes: graph.num_nodes(),
            edges: graph.num_edges(),
            seed: config.seed,
            method: config.embed.method,
            runs,
            paper: SettingSummary::of(paper),
            ours: SettingSummary::of(ours),
            rows: Vec::new(),
        }
    }

    /// The scores as a Markdown table.
    ///
    /// ```text
    /// |   d | full   | l2g    | no-trans | l2g, as in the paper | no-trans, as in the paper |
    /// | --: | -----: | -----: | -------: | -------------------: | ------------------------: |
    /// |  16 | 0.9957 | 0.9912 |   0.9500 |               0.9811 |                    0.9479 |
    /// ```
    pub fn to_markdown(&self) -> String {
        let names: Vec<&str> = std::iter::once("d").chain(CURVES.map(|curve| curve.0)).collect();
        let widths: Vec<usize> = names.iter().map(|name| name.len().max(6)).collect();
        let line = |cells: Vec<String>| {
            let padded = cells.iter().zip(&widths).map(|(cell, &width)| format!("{cell:>width$}"));
            format!("| {} |\n", padded.collect::<Vec<_>>().join(" | "))
        };
        let rule = widths.iter().map(|width| "-".repeat(width - 1) + ":").collect();
        let mut text = line(names.iter().map(|&name| name.to_owned()).collect()) + &line(rule);
        for row in &self.rows {
            let scores = row.scores().map(|score| format!("{score:.4}"));
            text += &line(std::iter::once(row.dim.to_string()).chain(scores).collect());
        }
        text
    }

    /// The scores as a figure in the manner of the paper's, in SVG.
    pub fn figure(&self) -> String {
        let runs = if self.runs == 1 { "one run" } else { &format!("best of {} runs", self.runs) };
        let name = Path::new(&self.graph).file_name().unwrap_or_default().to_string_lossy();
        let title = format!("{name}: {runs}, {} patches", self.ours.patches);
        let curve = |(index, (name, colour, marker, dashed))| {
            let values = self.rows.iter().map(|row: &Row| row.scores()[index]).collect();
            Curve { name, colour, marker, dashed, values }
        };
        draw(&Chart {
            title: &title,
            x_label: "embedding dimension d",
            y_label: "reconstruction AUC",
            x: self.rows.iter().map(|row| row.dim).collect(),
            curves: CURVES.into_iter().enumerate().map(curve).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let edges_in_no_patch = EdgeCover { count: 0, share: 0.0 };
        let (cover, centroid) = (Cover::Edges, Centroid::Weighted);
        let summary = SettingSummary {
            cover,
            centroid,
            patches: 10,
            patch_edges: 20,
            oversampling: 2.5,
            edges_in_no_patch,
        };
        let row = |dim| Row {
            dim,
            full: 0.99571,
            l2g: 0.9912,
            no_trans: 0.95,
            l2g_paper: 0.9811,
            no_trans_paper: 0.9479,
        };
        Table {
            version: "0".into(),
            graph: "a<b".into(),
            nodes: 3,
            edges: 2,
            seed: Seed(0),
            method: EmbedMethod::Vgae,
            runs: 10,
            paper: summary,
            ours: summary,
            rows: [2, 16].map(row).to_vec(),
        }
    }

    #[test]
    fn the_table_lines_up() {
        let text = table().to_markdown();
        assert!(text.ends_with(
            "|     16 | 0.9957 | 0.9912 |   0.9500 |               0.9811 |                    0.9479 |\n"
        ));
        let widths: Vec<usize> = text.lines().map(str::len).collect();
        assert!(widths.iter().all(|&width| width == widths[0]) && widths.len() == 4, "{text}");
    }

    #[test]
    fn scores_are_read_back() {
        let json = serde_json::to_string(&table()).unwrap();
        assert_eq!(serde_json::from_str::<Table>(&json).unwrap(), table());
        assert!(json.contains(r#""cover":"edges","centroid":"weighted""#), "{json}");
    }

    #[test]
    fn the_figure_has_a_point_per_dimension_and_curve() {
        let figure = table().figure();
        assert_eq!(figure.matches("class=\"point\"").count(), 2 * CURVES.len());
        assert!(figure.contains("a&lt;b: best of 10 runs, 10 patches"));
    }
}
