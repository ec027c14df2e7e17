//! How well coordinates tell the edges of the graph from non-edges.
//!
//! Every edge gets a score, and so do as many non-edges, drawn uniformly without
//! repetition; [`Ranking`] says how well the scores separate them. It is a measure of fit,
//! not of prediction: the edges are those the embedding was trained on. All embeddings
//! are scored on the same pairs.
//!
//! Convention: edges count once, whatever their direction; loops are left out. Where
//! there are fewer non-edges than edges, all of them are used. A graph with more edges
//! than asked for is sampled, and the scores say how many of how many were used.
//! Cost: `O(k d + k log k)` time, `O(k)` memory for `k` pairs in `d` dimensions.
//!
//! Source: T. Kipf, M. Welling, "Variational graph auto-encoders", 2016; section 4 of the paper.

use serde::{Deserialize, Serialize};

pub use crate::graph::sample::sample_non_edges;
pub use crate::score::{Score, area_under_curve, reconstruction_auc};

use super::{ByContender, Contest, Entry, EvaluateError, Stream, Task};
use crate::graph::sample::{Pair, num_joined_pairs, sample_edges};
use crate::progress::Progress;
use crate::score::Ranking;
use crate::seed::Stage;

/// How well contenders tell some edges from some non-edges.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairScores {
    /// Edges that were scored.
    pub edges: usize,
    /// Edges that could have been scored; more than `edges` if they were sampled.
    pub of_edges: usize,
    /// Non-edges that were scored.
    pub non_edges: usize,
    /// What made the score of a pair.
    pub score: Score,
    /// The area under the ROC curve.
    pub auc: ByContender<f64>,
    /// The average precision.
    pub average_precision: ByContender<f64>,
}

/// How well some pairs are ranked by each contender.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rankings {
    /// The area under the ROC curve.
    pub auc: ByContender<f64>,
    /// The average precision.
    pub average_precision: ByContender<f64>,
}

/// The pairs that all contenders are scored on.
pub(super) struct Pairs<'a> {
    pub(super) task: Task,
    pub(super) edges: &'a [Pair],
    pub(super) non_edges: &'a [Pair],
}

impl Pairs<'_> {
    /// Ranks the pairs by a score, for every contender that has it.
    pub(super) fn rank(
        &self,
        entries: &ByContender<Entry<'_>>,
        score: Score,
        progress: &dyn Progress,
    ) -> Result<Rankings, EvaluateError> {
        let Self { task, edges, non_edges } = *self;
        progress.begin(task.name(), entries.len() as u64, "contenders");
        let mut rankings = Rankings::default();
        for (&contender, entry) in entries {
            super::check_not_cancelled(progress)?;
            let of_pairs = |pairs| entry.score_pairs(score, pairs);
            if let (Some(of_edges), Some(of_non_edges)) = (of_pairs(edges), of_pairs(non_edges)) {
                let nothing = EvaluateError::NoPairs { task, edges: edges.len(), non_edges: non_edges.len() };
                let ranking = Ranking::of(of_edges, of_non_edges).ok_or(nothing)?;
                rankings.auc.insert(contender, ranking.auc);
                rankings.average_precision.insert(contender, ranking.average_precision);
            }
            progress.advance(1);
        }
        progress.end();
        Ok(rankings)
    }
}

/// Scores contenders on the edges of a graph, or a sample of them, and as many non-edges.
///
/// # Errors
/// [`EvaluateError::NoPairs`] if there are no edges, or no non-edges;
/// [`EvaluateError::Cancelled`] if `progress` says so.
pub fn reconstruction(contest: &Contest<'_>, progress: &dyn Progress) -> Result<PairScores, EvaluateError> {
    let &Contest { graph, entries, config, seed } = contest;
    let mut random = seed.stream(Stage::Evaluate, Stream::Reconstruction as u64);
    let edges = sample_edges(graph, config.num_pairs(), &mut random);
    let non_edges = sample_non_edges(graph, edges.len(), &mut random);
    let pairs = Pairs { task: Task::Reconstruction, edges: &edges, non_edges: &non_edges };
    let Rankings { auc, average_precision } = pairs.rank(entries, config.score, progress)?;
    Ok(PairScores {
        edges: edges.len(),
        of_edges: num_joined_pairs(graph),
        non_edges: non_edges.len(),
        score: config.score,
        auc,
        average_precision,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::{Contender, Coordinates, EvaluateConfig};
    use crate::graph::{BuildOptions, EdgeList, Graph, build};
    use crate::progress::Silent;
    use crate::seed::Seed;

    fn ring(num_nodes: u32) -> Graph {
        let edges = EdgeList::from_pairs((0..num_nodes).map(|k| [k, (k + 1) % num_nodes]).collect());
        build(edges, num_nodes as usize, &BuildOptions::default()).graph
    }

    /// Nodes of a ring on a circle, neighbours next to each other.
    fn circle(num_nodes: usize) -> Vec<f32> {
        let angle = |k: usize| std::f32::consts::TAU * k as f32 / num_nodes as f32;
        (0..num_nodes).flat_map(|k| [angle(k).cos(), angle(k).sin()]).collect()
    }

    #[test]
    fn equal_embeddings_score_alike_because_pairs_are_the_same() {
        let (graph, coordinates) = (ring(500), circle(500));
        let same = Entry::Rows(Coordinates::new(&coordinates, 2));
        let embeddings = [(Contender::L2g, same), (Contender::NoTrans, same)].into();
        let config = EvaluateConfig { samples: Some(50), ..Default::default() };
        let contest = Contest { graph: &graph, entries: &embeddings, config: &config, seed: Seed(1) };
        let scores = reconstruction(&contest, &Silent).unwrap();
        assert_eq!((scores.edges, scores.of_edges, scores.non_edges), (50, 500, 50));
        assert_eq!(scores.auc[&Contender::L2g], scores.auc[&Contender::NoTrans]);
        assert!(scores.auc[&Contender::L2g] > 0.98 && scores.average_precision[&Contender::L2g] > 0.9);
    }

    #[test]
    fn a_sample_is_near_the_whole() {
        let (graph, coordinates) = (ring(3000), circle(3000));
        // Every second node is put on the other side, so that the ranking is not perfect.
        let mixed: Vec<f32> =
            coordinates.iter().enumerate().map(|(i, x)| if i / 2 % 7 == 0 { -x } else { *x }).collect();
        let embeddings = [(Contender::L2g, Entry::Rows(Coordinates::new(&mixed, 2)))].into();
        let auc = |samples| {
            let config = EvaluateConfig { samples: Some(samples), ..Default::default() };
            let contest = Contest { graph: &graph, entries: &embeddings, config: &config, seed: Seed(2) };
            reconstruction(&contest, &Silent).unwrap().auc[&Contender::L2g]
        };
        assert!((auc(usize::MAX) - auc(600)).abs() < 0.05, "{} {}", auc(usize::MAX), auc(600));
    }

    #[test]
    fn a_graph_without_non_edges_is_an_error() {
        let triangle = ring(3);
        let values = circle(3);
        let embeddings = [(Contender::L2g, Entry::Rows(Coordinates::new(&values, 2)))].into();
        let config = EvaluateConfig::default();
        let contest = Contest { graph: &triangle, entries: &embeddings, config: &config, seed: Seed(1) };
        let error = reconstruction(&contest, &Silent).unwrap_err();
        assert_eq!(error.to_string(), "reconstruction needs edges and non-edges, found 3 and 0");
    }
}
