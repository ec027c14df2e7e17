//! Edges in any order -> compressed sparse rows.
//!
//! Two counting sorts, each of which stays in the cache. Rows are grouped into buckets
//! of neighbouring rows. First every piece of the edge list is sorted by bucket, then
//! every bucket gathers its entries from all pieces, puts them into rows, sorts each
//! row and merges what is named twice. Both steps run in parallel, over pieces and over
//! buckets. (One sort straight into rows waits for memory at every entry: it took three
//! times as long on 10 million edges.)
//!
//! Undirected weights: the lines of one direction are added up (or all count as 1),
//! and the edge gets the larger of its two directions. So a list that names every
//! edge in both directions means the same as one that names it once.
//!
//! Cost: `O(n + m log k)` time for `m` edges and longest row `k`. The edge list is given
//! back while it is sorted by bucket; in the end there are the sorted pieces, 6 bytes an
//! entry, and the finished graph.

use std::convert::Infallible;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{EdgeList, Graph, NodeIndex};

/// What happens to an edge that is listed more than once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Duplicates {
    /// Weights are added up if there are weights; without weights the edge counts once.
    #[default]
    Auto,
    /// Weights are added up; without weights, the edge weighs as often as it is listed.
    Sum,
    /// The edge counts once, with weight 1.
    One,
}

/// What becomes of the listed edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BuildOptions {
    /// Put every edge into both rows, so that the graph is undirected.
    pub symmetrise: bool,
    /// Keep edges from a node to itself.
    pub self_loops: bool,
    /// What happens to an edge that is listed more than once.
    pub duplicates: Duplicates,
}

impl Default for BuildOptions {
    fn default() -> Self {
        Self { symmetrise: true, self_loops: false, duplicates: Duplicates::Auto }
    }
}

/// A finished graph, and what was left out of it.
#[derive(Clone, Debug)]
pub struct Built {
    /// The graph.
    pub graph: Graph,
    /// Listed edges that are not in it.
    pub dropped: Dropped,
}

/// How many listed edges did not become edges of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// Edges from a node to itself.
    pub self_loops: usize,
    /// Edges that were listed again, or also in the other direction.
    pub duplicates: usize,
    /// Edges of weight zero.
    pub zero_weights: usize,
}

/// Builds the graph of `num_nodes` nodes with the listed edges.
///
/// Weights must be finite and not negative. If all merged weights are 1, the graph is
/// unweighted.
///
/// # Panics
/// If an edge names a node that is not below `num_nodes`.
///
/// # Examples
/// ```
/// use l2g_graph::graph::{BuildOptions, EdgeList, build};
///
/// let edges = EdgeList::from_pairs(vec![[2_u32, 0], [0, 1], [1, 0], [1, 1]]);
/// let built = build(edges, 3, &BuildOptions::default());
/// assert_eq!(built.graph.num_edges(), 2);
/// assert_eq!((built.dropped.self_loops, built.dropped.duplicates), (1, 1));
/// ```
pub fn build<I: NodeIndex>(edges: EdgeList<I>, num_nodes: usize, options: &BuildOptions) -> Built {
    let weighted = match options.duplicates {
        Duplicates::Auto => edges.is_weighted(),
        Duplicates::Sum => true,
        Duplicates::One => false,
    };
    let num_listed = edges.len();
    let chunks = edges.chunks().par_iter();
    let mut dropped: Dropped = chunks.map(|chunk| count_dropped(&chunk.pairs, &chunk.weights, options)).sum();
    let (rows, weights) = match weighted {
        false => (sorted_rows::<I, Plain<I>>(edges, num_nodes, false, options), None),
        true => {
            let rows = sorted_rows::<I, Weighted<I>>(edges, num_nodes, true, options);
            let weights: Vec<f32> = rows.entries.iter().map(|entry| entry.weight).collect();
            let all_one = weights.iter().all(|&weight| weight == 1.0);
            (rows.map(|entry| Plain(entry.target)), (!all_one).then_some(weights))
        }
    };
    let targets: Vec<I> = rows.entries.into_iter().map(|entry| entry.0).collect();
    let graph = Graph::from_rows_unchecked(rows.offsets.into(), I::into_targets(targets), options.symmetrise)
        .and_then(|graph| graph.with_weights(weights.map(Into::into)))
        .expect("offsets and weights were made for these targets");
    let graph = if options.self_loops { graph } else { graph.with_self_loops(0) };
    dropped.duplicates = num_listed - dropped.self_loops - dropped.zero_weights - graph.num_edges();
    Built { graph, dropped }
}

/// Rows of entries, ascending by target, each target once.
struct SortedRows<E> {
    offsets: Vec<u64>,
    entries: Vec<E>,
}

impl<E> SortedRows<E> {
    fn map<F>(self, f: impl FnMut(E) -> F) -> SortedRows<F> {
        SortedRows { offsets: self.offsets, entries: self.entries.into_iter().map(f).collect() }
    }
}

/// One entry of a row while the graph is built.
pub(super) trait Entry<I>: Copy + Default + Send + Sync {
    /// An entry; a negative weight marks one that was mirrored.
    fn new(target: I, signed_weight: f32) -> Self;
    /// The node it leads to.
    fn target(self) -> I;
    /// Its weight, if it has one.
    fn weight(self) -> Option<f32>;
    /// Sorts a row and merges entries with the same target to the front; returns how
    /// many are left.
    fn sort_and_merge(row: &mut [Self]) -> usize;
}

/// An entry of an unweighted graph: the target alone.
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub(super) struct Plain<I>(I);

impl<I: NodeIndex> Entry<I> for Plain<I> {
    fn new(target: I, _: f32) -> Self {
        Self(target)
    }

    fn target(self) -> I {
        self.0
    }

    fn weight(self) -> Option<f32> {
        None
    }

    fn sort_and_merge(row: &mut [Self]) -> usize {
        row.sort_unstable_by_key(|entry| entry.0);
        merge(row, |_, _| {}, |a, b| a.0 == b.0)
    }
}

/// An entry of a weighted graph. Weights themselves are positive; while rows are being
/// filled, a negative one marks an entry that was mirrored.
#[derive(Clone, Copy, Default)]
pub(super) struct Weighted<I> {
    target: I,
    weight: f32,
}

impl<I: NodeIndex> Entry<I> for Weighted<I> {
    fn new(target: I, signed_weight: f32) -> Self {
        Self { target, weight: signed_weight }
    }

    fn target(self) -> I {
        self.target
    }

    fn weight(self) -> Option<f32> {
        Some(self.weight)
    }

    fn sort_and_merge(row: &mut [Self]) -> usize {
        // Equal entries are interchangeable, so the rounding of the sums does not depend
        // on the order in which the edges were listed.
        let by_size = |entry: &Self| (entry.target, entry.weight < 0.0, entry.weight.abs().to_bits());
        row.sort_unstable_by_key(by_size);
        let same = |a: &Self, b: &Self| a.target == b.target;
        let one_per_direction = merge(
            row,
            |kept, next| kept.weight += next.weight,
            |a, b| same(a, b) && (a.weight < 0.0) == (b.weight < 0.0),
        );
        let row = &mut row[..one_per_direction];
        row.iter_mut().for_each(|entry| entry.weight = entry.weight.abs());
        merge(row, |kept, next| kept.weight = kept.weight.max(next.weight), same)
    }
}

/// Joins runs of entries that are the `same`, in place; returns the number left.
fn merge<E: Copy>(row: &mut [E], join: impl Fn(&mut E, &E), same: impl Fn(&E, &E) -> bool) -> usize {
    let mut kept = 0;
    for next in 0..row.len() {
        let entry = row[next];
        if kept > 0 && same(&row[kept - 1], &entry) {
            join(&mut row[kept - 1], &entry);
        } else {
            row[kept] = entry;
            kept += 1;
        }
    }
    kept
}

/// What is left out of some edges, but for those that are listed again.
pub(super) fn count_dropped<I: NodeIndex>(
    pairs: &[[I; 2]],
    weights: &[f32],
    options: &BuildOptions,
) -> Dropped {
    let is_dropped_loop = |pair: &[I; 2]| !options.self_loops && pair[0] == pair[1];
    let self_loops = match options.self_loops {
        true => 0,
        false => pairs.iter().filter(|pair| is_dropped_loop(pair)).count(),
    };
    let zero_weights =
        weights.iter().zip(pairs).filter(|&(&weight, pair)| weight == 0.0 && !is_dropped_loop(pair)).count();
    Dropped { self_loops, zero_weights, duplicates: 0 }
}

impl std::ops::AddAssign for Dropped {
    fn add_assign(&mut self, more: Self) {
        self.self_loops += more.self_loops;
        self.duplicates += more.duplicates;
        self.zero_weights += more.zero_weights;
    }
}

impl std::iter::Sum for Dropped {
    fn sum<T: Iterator<Item = Self>>(all: T) -> Self {
        all.fold(Self::default(), |mut sum, more| {
            sum += more;
            sum
        })
    }
}

/// How rows are grouped: bucket `b` has the rows from `b << shift`.
#[derive(Clone, Copy)]
struct Buckets {
    num_rows: usize,
    shift: u32,
}

impl Buckets {
    /// Some 500 buckets, so that a piece writes to few places at a time; but few enough
    /// rows in each that a row within its bucket takes two bytes.
    fn new(num_rows: usize) -> Self {
        let rows = (num_rows / 512).next_power_of_two().clamp(1 << 8, 1 << 16);
        Self { num_rows, shift: rows.trailing_zeros() }
    }

    fn len(self) -> usize {
        self.num_rows.div_ceil(1 << self.shift)
    }

    /// The bucket of a row, and the row within it.
    fn locate(self, row: usize) -> (usize, u16) {
        (row >> self.shift, (row & ((1 << self.shift) - 1)) as u16)
    }

    fn rows_in(self, bucket: usize) -> usize {
        (self.num_rows - (bucket << self.shift)).min(1 << self.shift)
    }
}

/// The entries of a piece of the edge list, sorted by bucket.
struct Piece<I> {
    /// Where each bucket begins.
    starts: Vec<u32>,
    rows: Vec<u16>,
    targets: Vec<I>,
    /// Negative if mirrored; empty if the graph is unweighted.
    weights: Vec<f32>,
}

/// Calls `visit(row, target, signed weight)` for all entries that some edges make, until it fails.
pub(super) fn for_each_entry<I: NodeIndex, E>(
    pairs: &[[I; 2]],
    weights: &[f32],
    options: &BuildOptions,
    mut visit: impl FnMut(I, I, f32) -> Result<(), E>,
) -> Result<(), E> {
    for (index, &[source, target]) in pairs.iter().enumerate() {
        let weight = weights.get(index).copied().unwrap_or(1.0);
        let is_loop = source == target;
        if weight == 0.0 || (is_loop && !options.self_loops) {
            continue;
        }
        visit(source, target, weight)?;
        if options.symmetrise && !is_loop {
            visit(target, source, -weight)?;
        }
    }
    Ok(())
}

impl<I: NodeIndex> Piece<I> {
    fn new(
        pairs: &[[I; 2]],
        weights: &[f32],
        weighted: bool,
        buckets: Buckets,
        options: &BuildOptions,
    ) -> Self {
        let mut starts = vec![0_u32; buckets.len() + 1];
        let Ok(()) = for_each_entry(pairs, weights, options, |row, target, _| {
            assert!(target.index() < buckets.num_rows, "edge names a node beyond the last one");
            starts[buckets.locate(row.index()).0 + 1] += 1;
            Ok::<(), Infallible>(())
        });
        for bucket in 1..starts.len() {
            starts[bucket] += starts[bucket - 1];
        }
        let len = *starts.last().expect("one more than buckets") as usize;
        let mut piece = Self {
            rows: vec![0; len],
            targets: vec![I::from_index(0); len],
            weights: vec![0.0; if weighted { len } else { 0 }],
            starts: starts.clone(),
        };
        let mut next = starts;
        let Ok(()) = for_each_entry(pairs, weights, options, |row, target, weight| {
            let (bucket, row) = buckets.locate(row.index());
            let position = next[bucket] as usize;
            next[bucket] += 1;
            piece.rows[position] = row;
            piece.targets[position] = target;
            if let Some(slot) = piece.weights.get_mut(position) {
                *slot = weight;
            }
            Ok::<(), Infallible>(())
        });
        piece
    }

    fn range(&self, bucket: usize) -> std::ops::Range<usize> {
        self.starts[bucket] as usize..self.starts[bucket + 1] as usize
    }
}

/// Sorts all pieces of the edge list by bucket, giving back its chunks on the way.
fn sort_into_pieces<I: NodeIndex>(
    edges: EdgeList<I>,
    weighted: bool,
    buckets: Buckets,
    options: &BuildOptions,
) -> Vec<Piece<I>> {
    const PIECE_EDGES: usize = 1 << 17;
    let chunks = edges.into_chunks().into_par_iter();
    let per_chunk = chunks.map(|chunk| -> Vec<Piece<I>> {
        let starts = (0..chunk.pairs.len()).into_par_iter().step_by(PIECE_EDGES);
        starts
            .map(|start| {
                let end = (start + PIECE_EDGES).min(chunk.pairs.len());
                let weights = chunk.weights.get(start..end).unwrap_or_default();
                Piece::new(&chunk.pairs[start..end], weights, weighted, buckets, options)
            })
            .collect()
    });
    per_chunk.collect::<Vec<_>>().into_iter().flatten().collect()
}

fn sorted_rows<I: NodeIndex, E: Entry<I>>(
    edges: EdgeList<I>,
    num_nodes: usize,
    weighted: bool,
    options: &BuildOptions,
) -> SortedRows<E> {
    let buckets = Buckets::new(num_nodes);
    let pieces = sort_into_pieces(edges, weighted, buckets, options);
    let bucket_len = |bucket| pieces.iter().map(|piece| piece.range(bucket).len()).sum();
    let bucket_lens: Vec<usize> = (0..buckets.len()).map(bucket_len).collect();
    let mut entries = vec![E::default(); bucket_lens.iter().sum()];
    let regions = split_by_lengths(&mut entries, &bucket_lens);
    let row_lens: Vec<Vec<u32>> = regions
        .into_par_iter()
        .enumerate()
        .map(|(bucket, region)| fill_bucket(region, &pieces, bucket, buckets.rows_in(bucket)))
        .collect();
    drop(pieces);
    close_gaps(entries, &bucket_lens, &row_lens)
}

fn split_by_lengths<'a, E>(mut entries: &'a mut [E], lens: &[usize]) -> Vec<&'a mut [E]> {
    let mut regions = Vec::with_capacity(lens.len());
    for &len in lens {
        let (region, rest) = entries.split_at_mut(len);
        regions.push(region);
        entries = rest;
    }
    regions
}

/// Gathers the entries of a bucket into sorted rows; see [`fill_rows`].
fn fill_bucket<I: NodeIndex, E: Entry<I>>(
    region: &mut [E],
    pieces: &[Piece<I>],
    bucket: usize,
    num_rows: usize,
) -> Vec<u32> {
    let entries = pieces.iter().flat_map(|piece| {
        piece.range(bucket).map(|position| {
            let weight = piece.weights.get(position).copied().unwrap_or(1.0);
            (usize::from(piece.rows[position]), piece.targets[position], weight)
        })
    });
    fill_rows(region, num_rows, entries)
}

/// Puts entries `(row, target, signed weight)` into their rows, sorts and merges each row, and moves
/// the rows together to the front of the region; returns the length of each.
pub(super) fn fill_rows<I: NodeIndex, E: Entry<I>>(
    region: &mut [E],
    num_rows: usize,
    entries: impl Iterator<Item = (usize, I, f32)> + Clone,
) -> Vec<u32> {
    let mut ends = vec![0_usize; num_rows + 1];
    entries.clone().for_each(|(row, _, _)| ends[row + 1] += 1);
    for row in 0..num_rows {
        ends[row + 1] += ends[row];
    }
    // From here on, `ends[row]` is where the next entry of the row goes.
    entries.for_each(|(row, target, weight)| {
        region[ends[row]] = E::new(target, weight);
        ends[row] += 1;
    });
    let (mut start, mut kept) = (0, 0);
    let merge_row = |&end: &usize| {
        let len = E::sort_and_merge(&mut region[start..end]);
        region.copy_within(start..start + len, kept);
        start = end;
        kept += len;
        len as u32
    };
    ends[..num_rows].iter().map(merge_row).collect()
}

/// Moves the merged rows of all buckets together.
fn close_gaps<E: Copy>(mut entries: Vec<E>, bucket_lens: &[usize], row_lens: &[Vec<u32>]) -> SortedRows<E> {
    let mut offsets = vec![0_u64];
    let (mut start, mut end) = (0, 0);
    for (&bucket_len, lens) in bucket_lens.iter().zip(row_lens) {
        let kept: usize = lens.iter().map(|&len| len as usize).sum();
        entries.copy_within(start..start + kept, end);
        offsets.extend(lens.iter().scan(end as u64, |offset, &len| {
            *offset += u64::from(len);
            Some(*offset)
        }));
        start += bucket_len;
        end += kept;
    }
    entries.truncate(end);
    entries.shrink_to_fit();
    SortedRows { offsets, entries }
}

/// For tests: a graph of these edges.
#[doc(hidden)]
pub fn graph_of(edges: &[[u32; 2]], num_nodes: usize, symmetrise: bool) -> Graph {
    let options = BuildOptions { symmetrise, ..Default::default() };
    build(EdgeList::from_pairs(edges.to_vec()), num_nodes, &options).graph
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::graph::NodeId;
    use crate::graph::edge_list::EdgeChunk;
    use crate::seed::{Seed, Stage};

    fn weighted(edges: &[(u32, u32, f32)]) -> EdgeList<u32> {
        let mut list = EdgeList::new();
        // One chunk per edge, to cross chunk borders.
        for &(source, target, weight) in edges {
            list.push(EdgeChunk { pairs: vec![[source, target]], weights: vec![weight] });
        }
        list
    }

    #[test]
    fn duplicates_count_once_without_weights() {
        let edges = EdgeList::from_pairs(vec![[0_u32, 1], [1, 0], [0, 1], [2, 2]]);
        let Built { graph, dropped } = build(edges, 3, &BuildOptions::default());
        assert_eq!(graph.num_edges(), 1);
        assert_eq!(graph.weights(), None);
        assert_eq!(dropped, Dropped { self_loops: 1, duplicates: 2, zero_weights: 0 });
    }

    #[test]
    fn duplicates_can_be_counted_as_weight() {
        let edges = EdgeList::from_pairs(vec![[0_u32, 1], [1, 0], [0, 1]]);
        let options = BuildOptions { duplicates: Duplicates::Sum, ..Default::default() };
        let graph = build(edges, 2, &options).graph;
        assert_eq!(graph.weights(), Some(&[2.0, 2.0][..]));
    }

    #[test]
    fn weights_add_up_within_a_direction_and_the_larger_direction_counts() {
        let edges = weighted(&[(0, 1, 1.0), (0, 1, 2.0), (1, 0, 2.5), (1, 2, 0.0)]);
        let Built { graph, dropped } = build(edges, 3, &BuildOptions::default());
        assert_eq!(graph.weights(), Some(&[3.0, 3.0][..]));
        assert_eq!(dropped.zero_weights, 1);
    }

    #[test]
    fn a_list_in_both_directions_means_the_same() {
        let once = build(weighted(&[(0, 1, 0.5), (1, 2, 4.0)]), 3, &BuildOptions::default()).graph;
        let twice = weighted(&[(0, 1, 0.5), (1, 2, 4.0), (1, 0, 0.5), (2, 1, 4.0)]);
        assert_eq!(build(twice, 3, &BuildOptions::default()).graph, once);
    }

    #[test]
    fn weights_that_are_all_one_are_not_kept() {
        assert_eq!(build(weighted(&[(0, 1, 1.0)]), 2, &BuildOptions::default()).graph.weights(), None);
    }

    #[test]
    fn a_directed_graph_keeps_its_direction() {
        let options = BuildOptions { symmetrise: false, self_loops: true, ..Default::default() };
        let graph = build(EdgeList::from_pairs(vec![[0_u64, 1], [1, 1]]), 2, &options).graph;
        assert!(graph.has_edge(NodeId(0), NodeId(1)) && !graph.has_edge(NodeId(1), NodeId(0)));
        assert!(graph.has_edge(NodeId(1), NodeId(1)));
        assert_eq!(graph.num_edges(), 2);
    }

    #[test]
    fn a_loop_stands_once_in_a_symmetric_graph() {
        let options = BuildOptions { self_loops: true, ..Default::default() };
        let graph = build(EdgeList::from_pairs(vec![[0_u32, 1], [1, 1]]), 2, &options).graph;
        assert_eq!((graph.num_directed_edges(), graph.num_edges()), (3, 2));
    }

    #[test]
    fn any_order_and_any_number_of_threads_gives_the_same_graph() {
        let mut random = Seed(1).stream(Stage::Generate, 0);
        let mut edges: Vec<(u32, u32, f32)> = (0..20_000)
            .map(|_| (random.random_range(0..100), random.random_range(0..100), random.random::<f32>() + 0.1))
            .collect();
        let on = |threads: usize, edges: &[(u32, u32, f32)]| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| build(weighted(edges), 100, &BuildOptions::default()).graph)
        };
        let reference = on(1, &edges);
        reference.check_rows().unwrap();
        assert_eq!(on(4, &edges), reference);
        edges.reverse();
        assert_eq!(on(3, &edges), reference);
    }
}
