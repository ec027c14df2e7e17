//! Algorithm 1: keep the patch edges that matter, to a mean degree `k`.
//!
//! A maximum spanning tree keeps patches joined. More edges are then drawn without
//! replacement, with probability proportional to their weight, until there are `k p / 2`
//! in all: that is mean degree `k`, as the text of the paper and its experiments have it,
//! while the number in its box, `(k - 1) p + 1` besides the tree, would give `2 k`. If
//! there are no more edges than that, all are kept. A disconnected patch graph gets a
//! tree for each of its groups.
//!
//! The weight is `w = r c`, effective resistance times conductance: the probability that
//! the edge belongs to a random spanning tree. Drawing proportionally without replacement
//! is to give edge `e` a key `E_e / w_e`, with `E_e` exponentially distributed, and take
//! the smallest keys (Efraimidis and Spirakis 2006).
//!
//! Cost: `O(E log E)` for `E` pairs of touching clusters, and the resistances.
//!
//! Source: Jeub, Colavizza, Dong, Bazzi, Cucuringu, "Local2Global: scaling global
//! representation learning on graphs via local training", 2021.

use rand::Rng;
use rand_distr::{Distribution, Exp1};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::patch_graph::conductances;
use super::{PatchError, PatchGraph, PatchId, resistance};
use crate::linalg::disjoint_sets::DisjointSets;
use crate::partition::ClusterGraph;

/// Which edges of the patch graph are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sparsify {
    /// Drawn by effective resistance times conductance, as in the paper.
    #[default]
    Resistance,
    /// Drawn by conductance.
    Conductance,
    /// The strongest of each patch, by conductance, without chance.
    Nearest,
    /// All.
    None,
}

/// Keeps edges to the mean degree `degree`, and all patches joined that were joined.
///
/// # Errors
/// [`PatchError::NotConverged`] if effective resistances cannot be computed.
pub fn sparsify(
    clusters: &ClusterGraph,
    method: Sparsify,
    degree: f64,
    random: &mut impl Rng,
) -> Result<PatchGraph, PatchError> {
    let num_patches = clusters.num_clusters();
    let pairs: Vec<[u32; 2]> = clusters.edges().iter().map(|edge| [edge.a, edge.b]).collect();
    let target = (degree * num_patches as f64 / 2.0).round() as usize;
    if method == Sparsify::None || target >= pairs.len() {
        return Ok(patch_graph(num_patches, &pairs, 0..pairs.len()));
    }
    let conductance = conductances(clusters);
    let weights = match method {
        Sparsify::Resistance => spanning_weights(&conductance, |raised| {
            resistance::effective_resistances(num_patches, &pairs, raised, random)
        })?,
        _ => conductance,
    };
    let (mut kept, rest) = spanning_forest(num_patches, &pairs, &weights);
    let missing = target.saturating_sub(kept.len());
    kept.extend(match method {
        Sparsify::Nearest => nearest(num_patches, &pairs, &weights, rest, missing),
        _ => draw(&weights, rest, missing, random),
    });
    Ok(patch_graph(num_patches, &pairs, kept))
}

fn patch_graph(num_patches: usize, pairs: &[[u32; 2]], kept: impl IntoIterator<Item = usize>) -> PatchGraph {
    PatchGraph::new(num_patches, kept.into_iter().map(|edge| pairs[edge].map(PatchId)))
}

/// Conductances below this share of the largest count as much.
const LEAST_CONDUCTANCE: f64 = 1e-10;

/// `w = r c` for every edge: how likely a random spanning tree contains it.
fn spanning_weights(
    conductance: &[f64],
    resistances_of: impl FnOnce(&[f64]) -> Result<Vec<f64>, PatchError>,
) -> Result<Vec<f64>, PatchError> {
    // Beside a conductance of 1, one of 1e-22 is lost in rounding, and what hangs on it alone seems to
    // hang on nothing. Such an edge is raised: it stays the only way, whose weight is 1.
    let least = LEAST_CONDUCTANCE * conductance.iter().copied().fold(0.0, f64::max);
    let conductance: Vec<f64> = conductance.iter().map(|&c| c.max(least)).collect();
    let resistances = resistances_of(&conductance)?;
    // At most 1 in theory; estimates may be above.
    Ok(resistances.iter().zip(&conductance).map(|(r, c)| (r * c).min(1.0)).collect())
}

/// The edges of a maximum spanning forest, and all others, ascending.
///
/// In rounds (Borůvka 1926) each tree takes the heaviest edge that leaves it, the first
/// of several; edges inside a tree are dropped. Trees at least halve in number each round.
fn spanning_forest(num_patches: usize, pairs: &[[u32; 2]], weights: &[f64]) -> (Vec<usize>, Vec<usize>) {
    let heavier = |a: usize, b: usize| weights[a] > weights[b] || (weights[a] == weights[b] && a < b);
    let mut forest = DisjointSets::<u32>::new(num_patches);
    let mut in_tree = vec![false; pairs.len()];
    let mut leaving: Vec<u32> = (0..pairs.len() as u32).collect();
    while !leaving.is_empty() {
        let roots: Vec<u32> = (0..num_patches).map(|patch| forest.root(patch) as u32).collect();
        let mut best: Vec<Option<usize>> = vec![None; num_patches];
        leaving.retain(|&edge| {
            let edge = edge as usize;
            let ends = pairs[edge].map(|patch| roots[patch as usize] as usize);
            let leaves = ends[0] != ends[1];
            for end in ends.into_iter().filter(|_| leaves) {
                if best[end].is_none_or(|best| heavier(edge, best)) {
                    best[end] = Some(edge);
                }
            }
            leaves
        });
        for edge in best.into_iter().flatten() {
            in_tree[edge] |= forest.join(pairs[edge][0] as usize, pairs[edge][1] as usize);
        }
    }
    (0..pairs.len()).partition(|&edge| in_tree[edge])
}

/// Draws edges without replacement, with probability proportional to their weight.
fn draw(weights: &[f64], candidates: Vec<usize>, count: usize, random: &mut impl Rng) -> Vec<usize> {
    let mut keyed: Vec<(f64, usize)> = candidates
        .into_iter()
        .map(|edge| {
            let exponential: f64 = Exp1.sample(random);
            (exponential / weights[edge], edge)
        })
        .collect();
    let count = count.min(keyed.len());
    if count < keyed.len() {
        keyed.select_nth_unstable_by(count, |a, b| a.0.total_cmp(&b.0));
    }
    keyed[..count].iter().map(|&(_, edge)| edge).collect()
}

/// The edges that rank highest among those of one of their patches; of equal rank, the
/// heavier.
fn nearest(
    num_patches: usize,
    pairs: &[[u32; 2]],
    weights: &[f64],
    mut candidates: Vec<usize>,
    count: usize,
) -> Vec<usize> {
    candidates.par_sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
    let mut num_named = vec![0_usize; num_patches];
    let mut ranked: Vec<(usize, usize)> = Vec::with_capacity(candidates.len());
    for edge in candidates {
        let [a, b] = pairs[edge].map(|patch| patch as usize);
        ranked.push((num_named[a].min(num_named[b]), edge));
        num_named[a] += 1;
        num_named[b] += 1;
    }
    // Stable: edges of equal rank stay ordered by weight.
    ranked.sort_by_key(|&(rank, _)| rank);
    ranked.into_iter().take(count).map(|(_, edge)| edge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Seed, Stage};

    #[test]
    fn an_edge_of_hardly_any_weight_is_still_the_only_way() {
        // Two triangles, joined by a bridge.
        let pairs = [[0, 1], [0, 2], [1, 2], [2, 3], [3, 4], [3, 5], [4, 5]];
        for bridge in [1e-22, 1e-300] {
            let conductance = [1.0, 1.0, 1.0, bridge, 1.0, 1.0, 1.0];
            let mut random = Seed(1).stream(Stage::Sparsify, 0);
            let resistances =
                |raised: &[f64]| resistance::effective_resistances(6, &pairs, raised, &mut random);
            let weights = spanning_weights(&conductance, resistances).unwrap();
            assert!((weights[3] - 1.0).abs() < 1e-4, "{weights:?}");
            assert!((weights[0] - 2.0 / 3.0).abs() < 1e-4, "{weights:?}");
        }
    }

    #[test]
    fn edges_are_drawn_in_proportion_to_their_weights() {
        let weights = [0.5, 1.0, 2.0, 0.25];
        let total: f64 = weights.iter().sum();
        let mut random = Seed(11).stream(Stage::Sparsify, 0);
        let (trials, mut first, mut among_two) = (40_000, [0.0; 4], [0.0; 4]);
        for _ in 0..trials {
            first[draw(&weights, (0..4).collect(), 1, &mut random)[0]] += 1.0;
            draw(&weights, (0..4).collect(), 2, &mut random).iter().for_each(|&e| among_two[e] += 1.0);
        }
        for edge in 0..4 {
            let w = weights[edge];
            let second: f64 = (0..4)
                .filter(|&other| other != edge)
                .map(|other| weights[other] / total * w / (total - weights[other]))
                .sum();
            // Five standard deviations of a share over 40000 trials are below 0.0125.
            assert!((first[edge] / f64::from(trials) - w / total).abs() < 0.0125, "first {edge}");
            assert!((among_two[edge] / f64::from(trials) - w / total - second).abs() < 0.0125, "{edge}");
        }
    }

    #[test]
    fn no_edge_is_drawn_twice() {
        let weights = vec![1.0; 30];
        let mut random = Seed(1).stream(Stage::Sparsify, 0);
        for count in [0, 1, 17, 30, 99] {
            let mut drawn = draw(&weights, (0..30).collect(), count, &mut random);
            drawn.sort_unstable();
            drawn.dedup();
            assert_eq!(drawn.len(), count.min(30));
        }
    }

    #[test]
    fn the_spanning_forest_is_the_heaviest() {
        let pairs = [[0, 1], [0, 2], [1, 2], [3, 4]];
        let (tree, rest) = spanning_forest(5, &pairs, &[1.0, 3.0, 2.0, 0.1]);
        assert_eq!((tree, rest), (vec![1, 2, 3], vec![0]));
    }

    #[test]
    fn nearest_serves_every_patch_before_any_twice() {
        // A star whose edges are heavy, and one light edge elsewhere.
        let pairs = [[0, 1], [0, 2], [0, 3], [4, 5]];
        let kept = nearest(6, &pairs, &[9.0, 8.0, 7.0, 1.0], vec![0, 1, 2, 3], 4);
        assert_eq!(kept, [0, 1, 2, 3]);
        let dense = [[0, 1], [0, 2], [1, 2]];
        assert_eq!(nearest(3, &dense, &[3.0, 2.0, 1.0], vec![0, 1, 2], 2), [0, 1]);
    }
}
