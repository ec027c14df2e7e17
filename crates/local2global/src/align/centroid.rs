//! The last step: each node goes to the centre of its aligned copies.
//!
//! The centre is the mean, the mean weighted by how much of a node's surroundings each
//! patch sees, or the median of each coordinate. The same without transforms is the
//! `no-trans` baseline.
//!
//! The nodes, ascending, are cut into blocks. For a block, the copies of its nodes are
//! gathered from all patches, moved, and combined; then it is handed on and forgotten.
//! So the embedding is streamed: it may be larger than memory, as may mapped patches.
//! Blocks are done in parallel and handed on in order; within a node, copies are added
//! in the order of the patches. Cost: `O(N d²)` for `N` rows in all patches.

use rayon::prelude::*;

use super::{AlignError, Centroid, LocalPatch, Transforms};

/// The copies in a block take at most about this many bytes.
const BLOCK_BYTES: usize = 32 << 20;

/// There are at least so many blocks, unless they would have fewer than `MIN_COPIES`.
const MIN_BLOCKS: usize = 16;
const MIN_COPIES: usize = 512;

/// As many blocks are held in memory at a time.
const BLOCKS_AT_ONCE: usize = 8;

/// How copies are combined.
#[derive(Clone, Copy, Debug)]
pub struct Combination<'a> {
    /// Which centre is taken.
    pub centroid: Centroid,
    /// A factor for the copies of each patch, from robust alignment.
    pub trust: Option<&'a [f64]>,
}

/// Some consecutive nodes of the global embedding.
#[derive(Clone, Debug)]
pub struct Block {
    /// The coordinates, one row per node.
    pub coords: Vec<f64>,
    /// For each node the root mean square distance of its copies from the centre.
    pub spread: Vec<f64>,
}

/// All nodes of all patches, ascending.
pub fn all_nodes(patches: &[LocalPatch]) -> Vec<u64> {
    let mut nodes: Vec<u64> = patches.iter().flat_map(|patch| patch.nodes()).copied().collect();
    nodes.par_sort_unstable();
    nodes.dedup();
    nodes
}

/// Whether node weights can be used: all patches have them, or none.
///
/// # Errors
/// [`AlignError::MissingWeights`] if some have.
pub fn has_weights(patches: &[LocalPatch]) -> Result<bool, AlignError> {
    let missing = patches.iter().find(|patch| patch.weights().is_none());
    match missing {
        Some(patch) if patches.iter().any(|patch| patch.weights().is_some()) => {
            Err(AlignError::MissingWeights { patch: patch.name().into() })
        }
        missing => Ok(missing.is_none()),
    }
}

/// Streams the global embedding, in the order of `nodes`, to `sink`.
///
/// Without `transforms`, copies are combined as they are.
///
/// # Errors
/// [`AlignError::NotFinite`] if a coordinate is NaN or infinite, and what `sink` returns.
pub fn stream<E: From<AlignError>>(
    patches: &[LocalPatch],
    nodes: &[u64],
    transforms: Option<&Transforms>,
    combination: Combination<'_>,
    mut sink: impl FnMut(Block) -> Result<(), E>,
) -> Result<(), E> {
    let copies: usize = patches.iter().map(LocalPatch::num_nodes).sum();
    let blocks: Vec<&[u64]> = nodes.chunks(block_nodes(copies, nodes.len(), patches[0].dim())).collect();
    for wave in blocks.chunks(BLOCKS_AT_ONCE) {
        let done: Result<Vec<Block>, AlignError> = wave
            .par_iter()
            .map(|nodes| Copies::gather(patches, nodes, transforms)?.combine(combination))
            .collect();
        done?.into_iter().try_for_each(&mut sink)?;
    }
    Ok(())
}

/// The number of nodes in a block.
fn block_nodes(copies: usize, nodes: usize, dim: usize) -> usize {
    let most = (BLOCK_BYTES / (8 * dim)).max(1);
    let block_copies = copies.div_ceil(MIN_BLOCKS).max(MIN_COPIES).min(most);
    (block_copies as f64 / copies as f64 * nodes as f64).ceil().max(1.0) as usize
}

/// The copies of the nodes of a block, moved into the common frame.
struct Copies {
    num_nodes: usize,
    dim: usize,
    /// The coordinates of each copy.
    coords: Vec<f64>,
    /// For each copy the place of its node in the block, its patch and its row there.
    places: Vec<Place>,
    /// The node weight of each copy; empty if there are no weights.
    weights: Vec<f32>,
}

#[derive(Clone, Copy)]
struct Place {
    node: u32,
    patch: u32,
}

impl Copies {
    fn gather(
        patches: &[LocalPatch],
        nodes: &[u64],
        transforms: Option<&Transforms>,
    ) -> Result<Self, AlignError> {
        let dim = patches[0].dim();
        let mut copies =
            Self { num_nodes: nodes.len(), dim, coords: Vec::new(), places: Vec::new(), weights: Vec::new() };
        let (Some(&first), Some(&last)) = (nodes.first(), nodes.last()) else { return Ok(copies) };
        let mut rows = Vec::new();
        for (index, patch) in patches.iter().enumerate() {
            rows.clear();
            let mut place = 0;
            for position in patch.position_of(first)..patch.num_nodes() {
                let node = patch.node_at(position);
                if node > last {
                    break;
                }
                // Both lists ascend, and every node of a patch is in the list of nodes.
                place += nodes[place..].partition_point(|&other| other < node);
                copies.places.push(Place { node: place as u32, patch: index as u32 });
                let row = patch.row_at(position);
                patch.push_row(row, &mut rows)?;
                copies.weights.extend(patch.weights().map(|weights| weights[row]));
            }
            let start = copies.coords.len();
            copies.coords.extend_from_slice(&rows);
            if let Some(transforms) = transforms {
                transforms.apply(index, &rows, &mut copies.coords[start..]);
            }
        }
        Ok(copies)
    }

    fn combine(&self, combination: Combination<'_>) -> Result<Block, AlignError> {
        let coords = match combination.centroid {
            Centroid::Median => self.medians(),
            Centroid::Mean => self.means(|copy| self.trust(copy, combination)),
            Centroid::Weighted => self.means(|copy| {
                self.weights.get(copy).map_or(1.0, |&w| f64::from(w)) * self.trust(copy, combination)
            }),
        };
        let spread = self.spread(&coords);
        Ok(Block { coords, spread })
    }

    fn trust(&self, copy: usize, combination: Combination<'_>) -> f64 {
        combination.trust.map_or(1.0, |trust| trust[self.places[copy].patch as usize])
    }

    fn rows(&self) -> impl Iterator<Item = (usize, &[f64])> {
        self.places.iter().map(|place| place.node as usize).zip(self.coords.chunks_exact(self.dim))
    }

    fn means(&self, weight: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut totals = vec![0.0; self.num_nodes];
        let weights: Vec<f64> = (0..self.places.len()).map(weight).collect();
        for (place, weight) in self.places.iter().zip(&weights) {
            totals[place.node as usize] += weight;
        }
        // Where no copy has weight, all have the same.
        let weightless: Vec<bool> = totals.iter().map(|&total| total <= 0.0).collect();
        let mut means = vec![0.0; self.num_nodes * self.dim];
        for ((node, row), weight) in self.rows().zip(weights) {
            let weight = if weightless[node] { 1.0 } else { weight };
            totals[node] += if weightless[node] { 1.0 } else { 0.0 };
            let mean = &mut means[node * self.dim..][..self.dim];
            mean.iter_mut().zip(row).for_each(|(sum, value)| *sum += weight * value);
        }
        for (mean, total) in means.chunks_exact_mut(self.dim).zip(totals) {
            mean.iter_mut().for_each(|sum| *sum /= total);
        }
        means
    }

    fn medians(&self) -> Vec<f64> {
        let mut copies_of = vec![Vec::new(); self.num_nodes];
        for (copy, place) in self.places.iter().enumerate() {
            copies_of[place.node as usize].push(copy);
        }
        let mut medians = Vec::with_capacity(self.num_nodes * self.dim);
        let mut values = Vec::new();
        for copies in copies_of {
            for k in 0..self.dim {
                values.clear();
                values.extend(copies.iter().map(|copy| self.coords[copy * self.dim + k]));
                values.sort_unstable_by(f64::total_cmp);
                medians.push((values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0);
            }
        }
        medians
    }

    fn spread(&self, centres: &[f64]) -> Vec<f64> {
        let mut squares = vec![0.0; self.num_nodes];
        let mut counts = vec![0.0; self.num_nodes];
        for (node, row) in self.rows() {
            let centre = &centres[node * self.dim..][..self.dim];
            squares[node] += row.iter().zip(centre).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
            counts[node] += 1.0;
        }
        squares.iter().zip(counts).map(|(sum, count)| (sum / count).sqrt()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::align::Coords;

    fn patch(nodes: &[u64], values: &[f64]) -> LocalPatch {
        LocalPatch::new("p", nodes.to_vec().into(), Coords::F64(values.to_vec().into()), 1).unwrap()
    }

    fn collect(patches: &[LocalPatch], centroid: Centroid, trust: Option<&[f64]>) -> (Vec<f64>, Vec<f64>) {
        let (mut coords, mut spread) = (Vec::new(), Vec::new());
        let nodes = all_nodes(patches);
        stream::<AlignError>(patches, &nodes, None, Combination { centroid, trust }, |block| {
            coords.extend(block.coords);
            spread.extend(block.spread);
            Ok(())
        })
        .unwrap();
        (coords, spread)
    }

    #[test]
    fn copies_are_averaged_and_their_spread_measured() {
        let patches = [patch(&[8, 3], &[1.0, 10.0]), patch(&[3, 5], &[20.0, 7.0]), patch(&[3], &[60.0])];
        let (coords, spread) = collect(&patches, Centroid::Mean, None);
        assert_eq!(coords, [30.0, 7.0, 1.0]);
        assert!((spread[0] - (1400.0_f64 / 3.0).sqrt()).abs() < 1e-12 && spread[1] == 0.0);
        assert_eq!(collect(&patches, Centroid::Median, None).0, [20.0, 7.0, 1.0]);
        let trusted = collect(&patches, Centroid::Mean, Some(&[1.0, 1.0, 0.0])).0;
        assert_eq!(trusted, [15.0, 7.0, 1.0]);
    }

    #[test]
    fn weights_count_and_weightless_nodes_are_averaged() {
        let first = patch(&[1, 2], &[0.0, 0.0]).with_weights(vec![0.75, 0.0].into()).unwrap();
        let second = patch(&[1, 2], &[4.0, 4.0]).with_weights(vec![0.25, 0.0].into()).unwrap();
        let (coords, _) = collect(&[first.clone(), second], Centroid::Weighted, None);
        assert_eq!(coords, [1.0, 2.0]);
        assert!(has_weights(&[first.clone(), patch(&[1], &[0.0])]).is_err());
        assert!(has_weights(&[first]).unwrap());
    }

    #[test]
    fn many_blocks_give_every_node_once() {
        let nodes: Vec<u64> = (0..20_000).map(|node| 3 * node).collect();
        let values: Vec<f64> = nodes.iter().map(|&node| node as f64).collect();
        let (coords, _) = collect(&[patch(&nodes, &values)], Centroid::Weighted, None);
        assert_eq!(coords, values);
    }
}
