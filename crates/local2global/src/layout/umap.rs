//! Nearest neighbours near each other: UMAP, with all points moved at once.
//!
//! Each node has 15 nearest neighbours, found exactly among the 50 leading principal components, with weights
//!
//! ```text
//! v_ij = exp(-(d_ij - ρ_i) / σ_i),   Σ_j v_ij = log2 15,   w_ij = v_ij + v_ji - v_ij v_ji
//! ```
//!
//! where `ρ_i` is the distance to the nearest. Points begin at the two leading components. In every epoch
//! neighbours attract by their weights and a few random nodes repel, with the similarity `1 / (1 + a d²)`:
//!
//! ```text
//! y_i += α ( Σ_j w_ij / W_i attraction(y_i, y_j) + 2.5 mean_s repulsion(y_i, y_s) ),   W_i = Σ_j w_ij
//! ```
//!
//! That is the expected step of UMAP, which moves one edge after the other, divided by the weight of the node:
//! each edge attracts from both of its ends, and one end is repelled by 5 nodes. All forces of an epoch are
//! computed from the points before it, so that the result does not depend on the number of threads; dividing by
//! the weight keeps such steps stable, however many neighbours a node has. `α` falls to 0.
//!
//! Cost: `O(n² d)` for the neighbours, `O(n)` an epoch; 500 bytes a node. The samples of an epoch come from a
//! stream of its own.
//!
//! Source: McInnes, Healy, Melville, "UMAP: uniform manifold approximation and projection for dimension
//! reduction", arXiv 1802.03426, 2018.

use rand::Rng;
use rayon::prelude::*;

use super::nearest::{Nearest, nearest};
use super::pca::Axes;
use super::{LayoutError, Point};
use crate::linalg::real::Real;
use crate::progress::Progress;
use crate::seed::{Seed, Stage};

/// The neighbours of each node.
const NEIGHBOURS: usize = 15;

/// Neighbours are looked for among so many principal components.
const COMPONENTS: usize = 50;

/// How fast the similarity falls with the squared distance: a gap of about 0.1 between neighbours.
const STEEPNESS: f32 = 1.5;

/// The longest force along each axis.
const LONGEST: f32 = 4.0;

/// Random nodes that repel a node in one epoch, and the weight of their mean.
const SAMPLES: usize = 5;
const REPULSION: f32 = 2.5;

/// The first step. Two nodes that have no other neighbour would pass each other above 1/3.
const FIRST_STEP: f32 = 0.3;

/// Half the width of the picture that points begin in.
const FIRST_WIDTH: f32 = 10.0;

/// Epochs of small and of large graphs.
const EPOCHS: usize = 500;
const EPOCHS_OF_LARGE: usize = 250;
const LARGE: usize = 20_000;

/// Nodes that one thread moves at a time.
const PIECE: usize = 1024;

/// Puts every row near the rows that it is near to.
///
/// # Errors
/// [`LayoutError`] if a coordinate is not finite, or somebody asked to stop.
pub fn lay_out(
    rows: &[f32],
    dim: usize,
    seed: Seed,
    progress: &dyn Progress,
) -> Result<Vec<Point>, LayoutError> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let components = COMPONENTS.min(dim);
    let projected = Axes::of(rows, dim, components)?.project(rows);
    let links = Links::of(&nearest(&projected, components, NEIGHBOURS, progress)?);
    let mut points = first_points(&projected, components, seed);
    let epochs = if points.len() < LARGE { EPOCHS } else { EPOCHS_OF_LARGE };
    progress.begin("layout (umap)", epochs as u64, "epochs");
    for epoch in 0..epochs {
        if progress.is_cancelled() {
            return Err(LayoutError::Cancelled);
        }
        let step = FIRST_STEP * (1.0 - epoch as f32 / epochs as f32);
        let samples = Samples::of_epoch(seed, epoch, points.len());
        points = moved(&points, &links, &samples, step);
        progress.advance(1);
    }
    progress.end();
    Ok(points)
}

/// The two leading components, scaled to the picture; equal rows are moved apart a little.
fn first_points(projected: &[f32], components: usize, seed: Seed) -> Vec<Point> {
    let second = usize::from(components > 1);
    let largest = projected
        .par_chunks_exact(components)
        .map(|row| row[0].abs().max(row[second].abs()))
        .reduce(|| 0.0, f32::max);
    let scale = if largest > 0.0 { FIRST_WIDTH / largest } else { 0.0 };
    let mut random = seed.stream(Stage::Layout, 0);
    let mut apart = || random.next_u32() as f32 / u32::MAX as f32 * 1e-3;
    let place = |row: &[f32]| {
        let y = if components > 1 { row[1] } else { 0.0 };
        [scale * row[0] + apart(), scale * y + apart()]
    };
    projected.chunks_exact(components).map(place).collect()
}

/// Which nodes attract each other, and how much; weights of a node sum to one.
struct Links {
    offsets: Vec<usize>,
    others: Vec<u32>,
    weights: Vec<f32>,
}

impl Links {
    /// The links of neighbours, in both directions.
    fn of(nearest: &Nearest) -> Self {
        let count = nearest.count.max(1);
        let mut strengths = vec![0.0_f32; nearest.distances.len()];
        let all = strengths.par_chunks_mut(count).zip(nearest.distances.par_chunks(count));
        all.for_each(|(strengths, distances)| fill_strengths(strengths, distances));
        let num_nodes = if nearest.count == 0 { 0 } else { nearest.rows.len() / count };
        let mut both: Vec<Vec<(u32, f32, f32)>> = vec![Vec::new(); num_nodes];
        for (at, (&other, &strength)) in nearest.rows.iter().zip(&strengths).enumerate() {
            both[at / count].push((other, strength, 0.0));
            both[other as usize].push(((at / count) as u32, 0.0, strength));
        }
        both.par_iter_mut().for_each(merge);
        let mut links = Self { offsets: vec![0], others: Vec::new(), weights: Vec::new() };
        for list in &both {
            let total: f32 = list.iter().map(|&(_, weight, _)| weight).sum();
            links.others.extend(list.iter().map(|&(other, ..)| other));
            links.weights.extend(list.iter().map(|&(_, weight, _)| weight / total));
            links.offsets.push(links.others.len());
        }
        links
    }

    fn of_node(&self, node: usize) -> impl Iterator<Item = (usize, f32)> {
        let range = match self.offsets.get(node + 1) {
            Some(&end) => self.offsets[node]..end,
            None => 0..0,
        };
        self.others[range.clone()]
            .iter()
            .map(|&other| other as usize)
            .zip(self.weights[range].iter().copied())
    }
}

/// Joins what a node says of another with what the other says of it: `(other, weight, 0)`, by other.
fn merge(list: &mut Vec<(u32, f32, f32)>) {
    list.sort_unstable_by_key(|&(other, own, _)| (other, own == 0.0));
    list.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        if is_same {
            kept.2 += next.2;
        }
        is_same
    });
    for link in list {
        *link = (link.0, link.1 + link.2 - link.1 * link.2, 0.0);
    }
}

/// `exp(-(d - ρ) / σ)` for each neighbour, with the `σ` that makes them sum to `log2 k`.
fn fill_strengths(strengths: &mut [f32], distances: &[f32]) {
    let wanted = (NEIGHBOURS.min(strengths.len()) as f32).log2().max(0.5);
    let nearest = distances[0];
    let farthest = distances[distances.len() - 1] - nearest;
    let strength = |distance: f32, scale: f32| Real::exp(-(distance - nearest) / scale);
    let (mut low, mut high) = (1e-6 * farthest.max(1e-12), 1e3 * farthest.max(1e-12));
    for _ in 0..48 {
        let middle = (low * high).sqrt();
        let sum: f32 = distances.iter().map(|&distance| strength(distance, middle)).sum();
        if sum > wanted { high = middle } else { low = middle }
    }
    strengths.iter_mut().zip(distances).for_each(|(to, &distance)| *to = strength(distance, high).max(1e-6));
}

/// The random nodes of one epoch.
struct Samples {
    key: u64,
    num_nodes: u64,
}

impl Samples {
    fn of_epoch(seed: Seed, epoch: usize, num_nodes: usize) -> Self {
        let key = seed.stream(Stage::Layout, 1 + epoch as u64).next_u64();
        Self { key, num_nodes: num_nodes as u64 }
    }

    /// A random node for the sample of a node, by the last steps of splitmix64.
    fn node(&self, node: usize, sample: usize) -> usize {
        let mut hash =
            self.key.wrapping_add(((node * SAMPLES + sample) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        // The high bits, spread over the nodes.
        ((((hash ^ (hash >> 31)) >> 32) * self.num_nodes) >> 32) as usize
    }
}

/// All points after one step.
fn moved(points: &[Point], links: &Links, samples: &Samples, step: f32) -> Vec<Point> {
    let mut after = points.to_vec();
    after.par_chunks_mut(PIECE).enumerate().for_each(|(piece, after)| {
        for (offset, point) in after.iter_mut().enumerate() {
            let node = piece * PIECE + offset;
            let force = force(node, points, links, samples);
            *point = [point[0] + step * force[0], point[1] + step * force[1]];
        }
    });
    after
}

/// What moves a node.
fn force(node: usize, points: &[Point], links: &Links, samples: &Samples) -> [f32; 2] {
    let mut force = [0.0; 2];
    let mut add = |other: usize, factor: f32, pull: fn(f32) -> f32| {
        let apart = [points[node][0] - points[other][0], points[node][1] - points[other][1]];
        let pull = pull(apart[0] * apart[0] + apart[1] * apart[1]);
        force[0] += factor * (pull * apart[0]).clamp(-LONGEST, LONGEST);
        force[1] += factor * (pull * apart[1]).clamp(-LONGEST, LONGEST);
    };
    for (other, weight) in links.of_node(node) {
        add(other, weight, |squared| -2.0 * STEEPNESS / (1.0 + STEEPNESS * squared));
    }
    for sample in 0..SAMPLES {
        let other = samples.node(node, sample);
        add(other, REPULSION / SAMPLES as f32, |squared| {
            2.0 / ((0.001 + squared) * (1.0 + STEEPNESS * squared))
        });
    }
    force
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;

    /// Groups of rows about corners of a cube, with their group.
    fn groups(per_group: usize) -> (Vec<f32>, Vec<usize>) {
        let mut random = Seed(1).stream(Stage::Layout, 9);
        let mut noise = || random.next_u32() as f32 / u32::MAX as f32 - 0.5;
        let of_node: Vec<usize> = (0..6 * per_group).map(|node| node % 6).collect();
        let row =
            |&group: &usize| (0..12).map(|axis| f32::from(axis == group) * 6.0 + noise()).collect::<Vec<_>>();
        (of_node.iter().flat_map(row).collect(), of_node)
    }

    #[test]
    fn groups_stay_together_and_apart() {
        let (rows, groups) = groups(80);
        let points = lay_out(&rows, 12, Seed(3), &Silent).unwrap();
        let flat: Vec<f32> = points.iter().flatten().copied().collect();
        let found = nearest(&flat, 2, 5, &Silent).unwrap();
        let agree =
            found.rows.iter().enumerate().filter(|(at, other)| groups[at / 5] == groups[**other as usize]);
        assert_eq!(agree.count(), found.rows.len());
    }

    #[test]
    fn a_seed_gives_one_layout() {
        let (rows, _) = groups(20);
        let made = |seed| lay_out(&rows, 12, Seed(seed), &Silent).unwrap();
        assert_eq!(made(3), made(3));
        assert_ne!(made(3), made(4));
    }

    #[test]
    fn strengths_sum_to_the_logarithm_of_their_number() {
        let distances: Vec<f32> = (0..15).map(|k| 1.0 + 0.3 * k as f32).collect();
        let mut strengths = vec![0.0; 15];
        fill_strengths(&mut strengths, &distances);
        assert!((strengths.iter().sum::<f32>() - 15.0_f32.log2()).abs() < 1e-3);
        fill_strengths(&mut strengths, &[2.0; 15]);
        assert!(strengths.iter().all(|strength| *strength == 1.0));
    }

    #[test]
    fn links_of_both_directions_are_one() {
        let mut list = vec![(4, 0.0, 0.5), (2, 0.25, 0.0), (4, 0.5, 0.0)];
        merge(&mut list);
        assert_eq!(list, [(2, 0.25, 0.0), (4, 0.75, 0.0)]);
    }
}
