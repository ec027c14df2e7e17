//! The last step: each node goes to the centre of its aligned copies.
//!
//! The centre is the mean, the mean weighted by how much of a node's surroundings each
//! patch sees, or the median of each coordinate. The same without transforms is the
//! `no-trans` baseline.
//!
//! The nodes, ascending, are cut into blocks. For a block, the copies of its nodes are
//! gathered from all patches, moved, and combined; then it is handed on and forgotten.
//! So the embedding is streamed: it may be larger than memory, as may mapped patches.
//! A block for each thread, up to some, is done at a time, while those before them are handed
//! on, in order; within a node, copies are added in the order of the patches. Copies are moved
//! in single precision where all patches have it, and added up in double.
//! Cost: `O(N d²)` for `N` rows in all patches.

use rayon::prelude::*;

use super::copies::Copies;
pub use super::copies::{Block, Combination, Wanted};
use super::{AlignError, LocalPatch};
use crate::linalg::real::Real;

/// The copies in a block take at most about this many bytes.
const BLOCK_BYTES: usize = 32 << 20;

/// There are at least `MIN_BLOCKS` blocks, unless they would have fewer than `MIN_COPIES` copies.
const MIN_BLOCKS: usize = 16;
const MIN_COPIES: usize = 512;

/// At most this many blocks are in memory at a time, however many cores there are.
const BLOCKS_AT_ONCE: usize = 8;

/// Nodes are found by marks, one for each number up to the largest node, if there are at most this many
/// marks for each copy; otherwise by sorting.
const MARKS_PER_COPY: u64 = 8;

/// All nodes of all patches, ascending.
pub fn all_nodes(patches: &[LocalPatch]) -> Vec<u64> {
    let copies: u64 = patches.iter().map(|patch| patch.num_nodes() as u64).sum();
    let largest = patches.iter().flat_map(|patch| patch.nodes()).copied().max().unwrap_or(0);
    if largest < MARKS_PER_COPY * copies {
        let mut marks = vec![false; largest as usize + 1];
        patches.iter().flat_map(|patch| patch.nodes()).for_each(|&node| marks[node as usize] = true);
        return (0..).zip(marks).filter_map(|(node, mark)| mark.then_some(node)).collect();
    }
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

/// Streams the global embedding, in the order of `nodes`, to `sink`, which sees each block once.
///
/// # Errors
/// [`AlignError::NotFinite`] if a coordinate is NaN or infinite, and what `sink` returns.
pub fn stream<T: Real, E: From<AlignError>>(
    patches: &[LocalPatch],
    nodes: &[u64],
    wanted: Wanted<'_>,
    sink: impl FnMut(&mut Block<T>) -> Result<(), E>,
) -> Result<(), E> {
    stream_at_once(patches, nodes, wanted, blocks_at_once(), sink)
}

/// As [`stream`], with so many blocks in memory at a time; their number changes no result.
pub(super) fn stream_at_once<T: Real, E: From<AlignError>>(
    patches: &[LocalPatch],
    nodes: &[u64],
    wanted: Wanted<'_>,
    at_once: usize,
    sink: impl FnMut(&mut Block<T>) -> Result<(), E>,
) -> Result<(), E> {
    match patches.iter().all(LocalPatch::is_single) {
        true => stream_in::<f32, T, E>(patches, nodes, wanted, at_once, sink),
        false => stream_in::<f64, T, E>(patches, nodes, wanted, at_once, sink),
    }
}

/// The number of blocks in memory at a time, unless memory is scarce.
pub(super) fn blocks_at_once() -> usize {
    rayon::current_num_threads().min(BLOCKS_AT_ONCE)
}

/// As [`stream`], with copies in the given precision.
fn stream_in<F: Real, T: Real, E: From<AlignError>>(
    patches: &[LocalPatch],
    nodes: &[u64],
    wanted: Wanted<'_>,
    at_once: usize,
    mut sink: impl FnMut(&mut Block<T>) -> Result<(), E>,
) -> Result<(), E> {
    let dim = patches[0].dim();
    let num_copies: usize = patches.iter().map(LocalPatch::num_nodes).sum();
    let blocks: Vec<&[u64]> =
        nodes.chunks(block_nodes(num_copies, nodes.len(), size_of::<F>() * dim)).collect();
    let at_once = at_once.min(blocks.len()).max(1);
    // The memory of a block is used again: fresh memory would cost more than the work on it.
    let mut slots: Vec<Copies<'_, F>> = (0..at_once).map(|_| Copies::new(patches)).collect();
    let rotations = wanted.transforms.map_or_else(Default::default, |moves| F::of_all(&moves.rotations));
    let [mut filling, mut full] = [(); 2].map(|()| vec![Block::<T>::default(); at_once]);
    let mut num_full = 0;
    let mut waves = blocks.chunks(at_once);
    loop {
        let wave = waves.next().unwrap_or_default();
        let (mut computed, mut handed_on) = (Ok(()), Ok(()));
        rayon::in_place_scope(|scope| {
            scope.spawn(|_| {
                let work = wave.par_iter().zip(&mut slots).zip(&mut filling);
                let fill = |((nodes, copies), block): ((&&[u64], &mut Copies<'_, F>), &mut Block<T>)| {
                    copies.fill(nodes, wanted, &rotations, block)
                };
                computed = work.map(fill).collect();
            });
            handed_on = full[..num_full].iter_mut().try_for_each(&mut sink);
        });
        handed_on?;
        computed?;
        if wave.is_empty() {
            return Ok(());
        }
        num_full = wave.len();
        std::mem::swap(&mut filling, &mut full);
    }
}

/// About how many bytes of memory a block of [`stream`] takes, for copies and results in single precision.
pub(super) fn block_bytes(copies: usize, nodes: usize, dim: usize) -> u64 {
    let in_block = block_nodes(copies.max(1), nodes.max(1), size_of::<f32>() * dim).min(nodes);
    let copies_in_block = copies as f64 / nodes.max(1) as f64 * in_block as f64;
    // A copy has coordinates and 16 bytes besides; there are two results, while they are computed
    // and while they are handed on, and a spread.
    let copy_bytes = (copies_in_block * (4 * dim + 16) as f64) as u64;
    copy_bytes + (in_block * (16 * dim + 16)) as u64
}

/// The number of nodes in a block.
fn block_nodes(copies: usize, nodes: usize, copy_bytes: usize) -> usize {
    let most = (BLOCK_BYTES / copy_bytes).max(1);
    let block_copies = copies.div_ceil(MIN_BLOCKS).max(MIN_COPIES).min(most);
    (block_copies as f64 / copies as f64 * nodes as f64).ceil().max(1.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::align::{Centroid, Coords, Transforms};

    fn patch(nodes: &[u64], values: &[f64]) -> LocalPatch {
        LocalPatch::new("p", nodes.to_vec().into(), Coords::F64(values.to_vec().into()), 1).unwrap()
    }

    fn collect(patches: &[LocalPatch], centroid: Centroid, trust: Option<&[f64]>) -> (Vec<f64>, Vec<f64>) {
        let (mut coords, mut spread) = (Vec::new(), Vec::new());
        let nodes = all_nodes(patches);
        let combination = Combination { centroid, trust };
        let wanted = Wanted { transforms: None, combination, unmoved: false };
        stream::<f64, AlignError>(patches, &nodes, wanted, |block| {
            coords.extend_from_slice(&block.coords);
            spread.extend_from_slice(&block.spread);
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
    fn all_nodes_are_listed_whether_they_lie_close_or_far_apart() {
        for far in [10, u64::MAX] {
            let patches = [patch(&[8, 3], &[0.0; 2]), patch(&[far, 3], &[0.0; 2])];
            assert_eq!(all_nodes(&patches), [3, 8, far]);
        }
    }

    #[test]
    fn a_block_takes_a_bounded_amount_of_memory() {
        let of_block = |copies, nodes| block_bytes(copies, nodes, 128);
        let most = (5 * BLOCK_BYTES) as u64;
        assert!(of_block(5_000_000, 1_000_000) < most);
        assert!(of_block(5_000_000_000, 1_000_000_000) <= 2 * of_block(5_000_000, 1_000_000));
        assert!(of_block(0, 0) < most);
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
    fn a_coordinate_that_is_not_finite_is_named_whatever_the_centre() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let patches =
                [patch(&[1, 2], &[0.0, 1.0]), patch(&[2, 7, 9], &[5.0, value, 1.0]), patch(&[7], &[3.0])];
            for centroid in [Centroid::Mean, Centroid::Weighted, Centroid::Median] {
                let combination = Combination { centroid, trust: Some(&[1.0, 0.0, 1.0]) };
                let wanted = Wanted { transforms: None, combination, unmoved: false };
                let streamed = stream::<f32, AlignError>(&patches, &[1, 2, 7, 9], wanted, |_| Ok(()));
                assert!(matches!(streamed, Err(AlignError::NotFinite { node: 7, .. })), "{centroid:?}");
            }
        }
    }

    #[test]
    fn moved_and_unmoved_in_either_precision() {
        let mut transforms = Transforms::identity(2, 2);
        transforms.set(1, 2.0, &[0.0, 1.0, -1.0, 0.0], &[10.0, 20.0]);
        let combination = Combination { centroid: Centroid::Mean, trust: Some(&[1.0, 3.0]) };
        let wanted = Wanted { transforms: Some(&transforms), combination, unmoved: true };
        let double = |values: [f64; 4]| Coords::F64(values.to_vec().into());
        let single = |values: [f64; 4]| Coords::F32(values.map(|value| value as f32).to_vec().into());
        for make in [&double as &dyn Fn([f64; 4]) -> Coords, &single] {
            let patches = [
                LocalPatch::new("a", vec![0, 1].into(), make([1.0, 2.0, 3.0, 4.0]), 2).unwrap(),
                LocalPatch::new("b", vec![1, 2].into(), make([5.0, 6.0, 7.0, 8.0]), 2).unwrap(),
            ];
            stream::<f64, AlignError>(&patches, &[0, 1, 2], wanted, |block| {
                // (5, 6) goes to (-12, 10) + (10, 20), and counts three times.
                assert_eq!(block.coords, [1.0, 2.0, -0.75, 23.5, -6.0, 34.0]);
                assert_eq!(block.unmoved, [1.0, 2.0, 4.0, 5.0, 7.0, 8.0]);
                Ok(())
            })
            .unwrap();
        }
    }

    #[test]
    fn the_number_of_blocks_in_memory_changes_nothing() {
        let nodes: Vec<u64> = (0..20_000).collect();
        let values: Vec<f64> = nodes.iter().map(|&node| (node as f64).sin()).collect();
        let patches = [patch(&nodes, &values), patch(&nodes[5000..], &values[..15_000])];
        let combination = Combination { centroid: Centroid::Mean, trust: None };
        let wanted = Wanted { transforms: None, combination, unmoved: false };
        let of = |at_once| {
            let mut coords = Vec::new();
            stream_at_once::<f32, AlignError>(&patches, &nodes, wanted, at_once, |block| {
                coords.extend_from_slice(&block.coords);
                Ok(())
            })
            .unwrap();
            coords
        };
        assert_eq!(of(1), of(5));
    }

    #[test]
    fn many_blocks_give_every_node_once() {
        let nodes: Vec<u64> = (0..20_000).map(|node| 3 * node).collect();
        let values: Vec<f64> = nodes.iter().map(|&node| node as f64).collect();
        let (coords, _) = collect(&[patch(&nodes, &values)], Centroid::Weighted, None);
        assert_eq!(coords, values);
    }
}
