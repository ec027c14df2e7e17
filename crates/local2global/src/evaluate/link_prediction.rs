//! How well coordinates foretell edges that nothing before this stage has seen.
//!
//! [`hold_out`] takes edges out of the graph before it is partitioned, and draws as many
//! non-edges; here both are scored as in [reconstruction](super::reconstruction). Since
//! partition, patches, training and the choice of the best run only know the training
//! graph, nothing is scored on what it was fitted to.
//!
//! Pairs are scored by the score of the settings, which is the inner product, and by the
//! cosine; against uniform non-edges, and against [degree-matched
//! ones](sample_degree_matched_non_edges), where knowing who has many edges does not help. On
//! many graphs the product of degrees alone has an AUC of 0.8 to 0.99 against uniform non-edges,
//! so that an inner product flatters whatever carries degree in its length.
//!
//! Convention: the negatives are non-edges of the whole graph, so a held-out edge is never
//! among them. More held-out pairs than asked for are sampled. Degrees are those of the graph
//! without the held-out edges; matched ends are drawn from the ends of the held-out edges.
//! Cost: `O(k d + k log k)` time for `k` pairs in `d` dimensions.
//!
//! Source: D. Liben-Nowell, J. Kleinberg, "The link prediction problem for social
//! networks", J. Am. Soc. Inf. Sci. 58, 2007.

use rand::Rng;
use rand::seq::index;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

pub use crate::graph::held_out::{HeldOut, HoldOutError, hold_out};

use super::reconstruction::{Pairs, Rankings};
use super::{ByContender, Contender, Contest, EvaluateConfig, EvaluateError, Stream, Task, check_embeddings};
use crate::graph::Graph;
use crate::graph::sample::{Pair, sample_degree_matched_non_edges, sample_non_edges};
use crate::progress::Progress;
use crate::score::{Coordinates, Score, link_auc};
use crate::seed::{Seed, Stage};

/// How well contenders foretell held-out edges.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkScores {
    /// Held-out edges that were scored.
    pub edges: usize,
    /// Held-out edges that there are; more than `edges` if they were sampled.
    pub of_edges: usize,
    /// What made the score of a pair, where it is not the cosine.
    pub score: Score,
    /// Against non-edges drawn uniformly.
    #[serde(flatten)]
    pub uniform: LinkRankings,
    /// Against non-edges whose ends have the degrees of the edges; none if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matched: Option<LinkRankings>,
}

/// How well held-out edges are told from some non-edges.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkRankings {
    /// Non-edges that were scored.
    pub non_edges: usize,
    /// By the score of the settings.
    #[serde(flatten)]
    pub by_score: Rankings,
    /// By the cosine.
    pub cosine: Rankings,
    /// The higher AUC of each contender, and which score has it.
    pub best: ByContender<BestScore>,
}

/// The higher of two AUCs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BestScore {
    /// The AUC.
    pub auc: f64,
    /// The score that has it; of equals, that of the settings.
    pub score: Score,
}

/// Scores contenders on the held-out edges of a graph, or a sample of them.
///
/// # Errors
/// [`EvaluateError::NothingHeldOut`] if no edges were held out, [`EvaluateError::NoPairs`] if there are
/// none, [`EvaluateError::HeldOutNode`] if they name a node that the graph does not have,
/// [`EvaluateError::Cancelled`] if `progress` says so.
pub fn link_prediction(contest: &Contest<'_>, progress: &dyn Progress) -> Result<LinkScores, EvaluateError> {
    let &Contest { graph, entries, config, seed } = contest;
    let held_out = graph.held_out().ok_or(EvaluateError::NothingHeldOut)?;
    let mut random = seed.stream(Stage::Evaluate, Stream::LinkPrediction as u64);
    let edges = sampled(held_out.edges(), config.num_pairs(), &mut random);
    let non_edges = sampled(held_out.non_edges(), config.num_pairs(), &mut random);
    check_nodes(graph, edges.iter().chain(&non_edges))?;
    let mut random = seed.stream(Stage::Evaluate, Stream::MatchedNonEdges as u64);
    let matched = sample_degree_matched_non_edges(graph, &edges, held_out.edges(), edges.len(), &mut random);
    let against = |non_edges: &[Pair]| {
        let pairs = Pairs { task: Task::LinkPrediction, edges: &edges, non_edges };
        let by_score = pairs.rank(entries, config.score, progress)?;
        let cosine = pairs.rank(entries, Score::Cosine, progress)?;
        let best = best(&by_score, config.score, &cosine);
        Ok::<_, EvaluateError>(LinkRankings { non_edges: non_edges.len(), by_score, cosine, best })
    };
    Ok(LinkScores {
        edges: edges.len(),
        of_edges: held_out.edges().len(),
        score: config.score,
        uniform: against(&non_edges)?,
        matched: if matched.is_empty() { None } else { Some(against(&matched)?) },
    })
}

/// The AUC of coordinates on edges that are given by the rows of their ends, against as many pairs
/// that are neither in the graph nor among the given edges.
///
/// The given edges may be in the graph or not: scored on its own edges, this is a measure of fit, on
/// edges that it did not have, one of prediction. More edges than asked for are sampled.
///
/// # Errors
/// [`EvaluateError`] if the coordinates do not fit the graph, an end is no node, or there are no edges
/// or no other pairs.
///
/// # Examples
/// ```
/// use local2global::evaluate::link_prediction::auc_of_edges;
/// use local2global::evaluate::{Coordinates, EvaluateConfig};
/// use local2global::graph::{BuildOptions, EdgeList, NodeId, build};
/// use local2global::seed::Seed;
///
/// // The edge 4 - 5 is not in the graph; both ends lie on the same side as their neighbours.
/// let edges = EdgeList::from_pairs(vec![[0_u32, 1], [1, 2], [3, 4], [3, 5]]);
/// let graph = build(edges, 6, &BuildOptions::default()).graph;
/// let rows = Coordinates::new(&[1.0, 2.0, 1.0, -1.0, -2.0, -2.0], 1);
/// let auc = auc_of_edges(&graph, rows, &[[NodeId(4), NodeId(5)]], &EvaluateConfig::default(), Seed(0))?;
/// assert_eq!(auc, 1.0);
/// # Ok::<(), local2global::evaluate::EvaluateError>(())
/// ```
pub fn auc_of_edges(
    graph: &Graph,
    coordinates: Coordinates<'_>,
    edges: &[Pair],
    config: &EvaluateConfig,
    seed: Seed,
) -> Result<f64, EvaluateError> {
    config.check()?;
    check_embeddings(graph, &[(Contender::L2g, coordinates)].into())?;
    check_nodes(graph, edges.iter())?;
    let mut random = seed.stream(Stage::Evaluate, Stream::GivenEdges as u64);
    let scored = sampled(edges, config.num_pairs(), &mut random);
    let ordered = |[u, v]: Pair| [u.min(v), u.max(v)];
    // Looked up, never iterated.
    let given: FxHashSet<Pair> = edges.iter().copied().map(ordered).collect();
    // Enough pairs, should all given edges be among those drawn.
    let mut others = sample_non_edges(graph, scored.len() + given.len(), &mut random);
    others.retain(|&pair| !given.contains(&ordered(pair)));
    others.truncate(scored.len());
    let nothing =
        EvaluateError::NoPairs { task: Task::LinkPrediction, edges: scored.len(), non_edges: others.len() };
    link_auc(coordinates, config.score, &scored, &others).ok_or(nothing)
}

/// Checks that all ends of pairs are nodes of the graph.
fn check_nodes<'a>(graph: &Graph, pairs: impl Iterator<Item = &'a Pair>) -> Result<(), EvaluateError> {
    let num_nodes = graph.num_nodes();
    match pairs.flatten().max().filter(|node| node.index() >= num_nodes) {
        Some(&node) => Err(EvaluateError::HeldOutNode { node, num_nodes }),
        None => Ok(()),
    }
}

/// The better of two scores for each contender.
fn best(by_score: &Rankings, score: Score, cosine: &Rankings) -> ByContender<BestScore> {
    let better = |(&contender, &auc): (_, &f64)| match cosine.auc.get(&contender) {
        Some(&other) if other > auc => (contender, BestScore { auc: other, score: Score::Cosine }),
        _ => (contender, BestScore { auc, score }),
    };
    by_score.auc.iter().map(better).collect()
}

/// Up to `count` of the pairs, drawn uniformly.
fn sampled(pairs: &[Pair], count: usize, random: &mut impl Rng) -> Vec<Pair> {
    match pairs.len() <= count {
        true => pairs.to_vec(),
        false => index::sample(random, pairs.len(), count).into_iter().map(|place| pairs[place]).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::{Contender, Coordinates, Entry};
    use crate::graph::{BuildOptions, EdgeList, NodeId, build};
    use crate::progress::Silent;

    /// Two paths 0-1-4 and 2-3-5 with one edge held out of each, and the coordinates given.
    fn score(values: &[f32], samples: usize) -> Result<LinkScores, EvaluateError> {
        let edges = EdgeList::from_pairs(vec![[1_u32, 4], [3, 5]]);
        let graph = build(edges, values.len(), &BuildOptions::default()).graph;
        let held_out = HeldOut::new(vec![0, 1, 2, 3].into(), vec![0, 2, 1, 3].into()).unwrap();
        let entries = [(Contender::L2g, Entry::Rows(Coordinates::new(values, 1)))].into();
        let config = EvaluateConfig { samples: Some(samples), ..Default::default() };
        let graph = graph.with_held_out(Some(held_out));
        let contest = Contest { graph: &graph, entries: &entries, config: &config, seed: Seed(0) };
        link_prediction(&contest, &Silent)
    }

    #[test]
    fn held_out_edges_between_nodes_on_one_side_are_foretold() {
        let scores = score(&[1.0, 1.0, -1.0, -1.0, 1.0, -1.0], 10).unwrap();
        assert_eq!((scores.edges, scores.of_edges, scores.uniform.non_edges), (2, 2, 2));
        let rankings = &scores.uniform.by_score;
        assert_eq!((rankings.auc[&Contender::L2g], rankings.average_precision[&Contender::L2g]), (1.0, 1.0));
        let wrong = score(&[1.0, -1.0, 1.0, -1.0, 1.0, 1.0], 10).unwrap();
        assert_eq!(wrong.uniform.by_score.auc[&Contender::L2g], 0.0);
    }

    #[test]
    fn lengths_that_mislead_are_not_seen_by_the_cosine() {
        // Node 2 is long, so its non-edges have the largest inner products.
        let scores = score(&[0.1, 0.1, -9.0, -0.1, 0.1, -0.1], 10).unwrap();
        let misled = score(&[1.0, 0.5, 9.0, -1.0, 1.0, -1.0], 10).unwrap();
        assert_eq!(scores.uniform.best[&Contender::L2g], BestScore { auc: 1.0, score: Score::InnerProduct });
        let [inner, cosine] = [&misled.uniform.by_score, &misled.uniform.cosine];
        assert!(inner.auc[&Contender::L2g] < cosine.auc[&Contender::L2g]);
        assert_eq!(misled.uniform.best[&Contender::L2g].score, Score::Cosine);
    }

    #[test]
    fn matched_non_edges_join_ends_of_held_out_edges() {
        let scores = score(&[1.0, 1.0, -1.0, -1.0, 1.0, -1.0], 10).unwrap();
        let matched = scores.matched.clone().unwrap();
        assert_eq!((matched.non_edges, matched.by_score.auc[&Contender::L2g]), (2, 1.0));
        let text = serde_json::to_string(&scores).unwrap();
        assert_eq!(serde_json::from_str::<LinkScores>(&text).unwrap(), scores);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        for path in
            ["/auc/l2g", "/cosine/auc/l2g", "/matched/auc/l2g", "/matched/cosine/auc/l2g", "/best/l2g/auc"]
        {
            assert_eq!(value.pointer(path), Some(&1.0.into()), "{path} in {text}");
        }
    }

    /// A star of 30 nodes, every two of the other nodes given as edges but one.
    #[test]
    fn given_edges_are_never_among_the_pairs_they_are_compared_with() {
        let edges = EdgeList::from_pairs((1..30_u32).map(|node| [0, node]).collect());
        let graph = build(edges, 30, &BuildOptions::default()).graph;
        let pairs = (1..30).flat_map(|u| (1..u).map(move |v| [NodeId(u), NodeId(v)]));
        let given: Vec<Pair> = pairs.filter(|&pair| pair != [NodeId(2), NodeId(1)]).collect();
        let values: Vec<f32> = (0..30).map(|node| if node == 2 { -1.0 } else { 1.0 }).collect();
        let rows = Coordinates::new(&values, 1);
        let auc = |edges: &[Pair]| auc_of_edges(&graph, rows, edges, &EvaluateConfig::default(), Seed(0));
        // The only pair that is left scores lowest, together with the 27 given ones of node 2.
        let expected = (given.len() as f64 - 27.0 / 2.0) / given.len() as f64;
        assert!((auc(&given).unwrap() - expected).abs() < 1e-12);
        let error = auc(&[]).unwrap_err().to_string();
        assert_eq!(error, "link prediction needs edges and non-edges, found 0 and 0");
        assert!(auc(&[[NodeId(0), NodeId(30)]]).unwrap_err().to_string().contains("name node 30"));
    }

    #[test]
    fn many_pairs_are_sampled() {
        let scores = score(&[1.0, 1.0, -1.0, -1.0, 1.0, -1.0], 1).unwrap();
        assert_eq!((scores.edges, scores.of_edges, scores.uniform.non_edges), (1, 2, 1));
    }

    #[test]
    fn a_pair_outside_the_graph_is_named() {
        let edges = EdgeList::from_pairs(vec![[0_u32, 1]]);
        let graph = build(edges, 3, &BuildOptions::default()).graph;
        let held_out = HeldOut::new(vec![0, 1, 2, 3].into(), vec![0, 2, 1, 3].into()).unwrap();
        let graph = graph.with_held_out(Some(held_out));
        let config = EvaluateConfig::default();
        let contest = Contest { graph: &graph, entries: &ByContender::new(), config: &config, seed: Seed(0) };
        let error = link_prediction(&contest, &Silent).unwrap_err();
        assert!(matches!(error, EvaluateError::HeldOutNode { node: NodeId(3), num_nodes: 3 }));
    }
}
