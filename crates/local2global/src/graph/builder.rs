//! Edges in any order -> compressed sparse rows.
//!
//! A counting sort: count the entries of each row, add the counts up to offsets, put
//! every target into its row, then sort each row and merge what is named twice. Each
//! step runs in parallel. Threads put targets into a row in any order; sorting the
//! row afterwards, weights included, makes the result independent of that order.
//!
//! Undirected weights: the lines of one direction are added up (or all count as 1),
//! and the edge gets the larger of its two directions. So a list that names every
//! edge in both directions means the same as one that names it once.
//!
//! Cost: `O(n + m log k)` time for `m` edges and longest row `k`; memory, beyond the
//! edge list, is the finished graph.

use std::sync::atomic::{AtomicU64, Ordering};

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
/// use local2global::graph::{BuildOptions, EdgeList, build};
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
    let mut dropped = count_dropped(&edges, options);
    let (rows, weights) = match weighted {
        false => (sorted_rows::<I, Plain<I>>(edges, num_nodes, options), None),
        true => {
            let rows = sorted_rows::<I, Weighted<I>>(edges, num_nodes, options);
            let weights: Vec<f32> = rows.entries.iter().map(|entry| entry.weight).collect();
            let all_one = weights.iter().all(|&weight| weight == 1.0);
            (rows.map(|entry| Plain(entry.target)), (!all_one).then_some(weights))
        }
    };
    let targets: Vec<I> = rows.entries.into_iter().map(|entry| entry.0).collect();
    let graph = Graph::from_rows_unchecked(rows.offsets.into(), I::into_targets(targets), options.symmetrise)
        .and_then(|graph| graph.with_weights(weights.map(Into::into)))
        .expect("offsets and weights were made for these targets");
    dropped.duplicates = num_listed - dropped.self_loops - dropped.zero_weights - graph.num_edges();
    Built { graph, dropped }
}

/// Rows of entries, ascending by target, each target once.
struct Rows<E> {
    offsets: Vec<u64>,
    entries: Vec<E>,
}

impl<E> Rows<E> {
    fn map<F>(self, f: impl FnMut(E) -> F) -> Rows<F> {
        Rows { offsets: self.offsets, entries: self.entries.into_iter().map(f).collect() }
    }
}

/// One entry of a row while the graph is built.
trait Entry<I: NodeIndex>: Copy + Send + Sync {
    /// The entry as slots that several threads may fill.
    type Slot: Send + Sync;
    /// An empty slot.
    fn slot() -> Self::Slot;
    /// Fills a slot; each is filled once.
    fn store(slot: &Self::Slot, target: I, weight: f32, direction: Direction);
    /// Takes the entry out of its slot.
    fn take(slot: Self::Slot) -> Self;
    /// Sorts a row and merges entries with the same target to the front; returns how
    /// many are left.
    fn sort_and_merge(row: &mut [Self]) -> usize;
}

/// Whether an entry stands in the row of the edge's source, or was mirrored.
#[derive(Clone, Copy, PartialEq)]
enum Direction {
    Listed,
    Mirrored,
}

/// An entry of an unweighted graph: the target alone.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Plain<I>(I);

impl<I: NodeIndex> Entry<I> for Plain<I> {
    type Slot = I::Atomic;

    fn slot() -> I::Atomic {
        I::from_index(0).into_atomic()
    }

    fn store(slot: &I::Atomic, target: I, _: f32, _: Direction) {
        target.store(slot);
    }

    fn take(slot: I::Atomic) -> Self {
        Self(I::from_atomic(slot))
    }

    fn sort_and_merge(row: &mut [Self]) -> usize {
        row.sort_unstable_by_key(|entry| entry.0);
        merge(row, |_, _| {}, |a, b| a.0 == b.0)
    }
}

/// An entry of a weighted graph. While rows are being filled, a negative weight marks
/// an entry that was mirrored: weights themselves are positive.
#[derive(Clone, Copy)]
struct Weighted<I> {
    target: I,
    weight: f32,
}

impl<I: NodeIndex> Entry<I> for Weighted<I> {
    type Slot = (I::Atomic, std::sync::atomic::AtomicU32);

    fn slot() -> Self::Slot {
        (I::from_index(0).into_atomic(), 0.into())
    }

    fn store(slot: &Self::Slot, target: I, weight: f32, direction: Direction) {
        target.store(&slot.0);
        let signed = if direction == Direction::Mirrored { -weight } else { weight };
        slot.1.store(signed.to_bits(), Ordering::Relaxed);
    }

    fn take(slot: Self::Slot) -> Self {
        Self { target: I::from_atomic(slot.0), weight: f32::from_bits(slot.1.into_inner()) }
    }

    fn sort_and_merge(row: &mut [Self]) -> usize {
        // Equal entries are interchangeable, so the order, and with it the rounding of
        // the sums, does not depend on the order in which threads filled the row.
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

fn count_dropped<I: NodeIndex>(edges: &EdgeList<I>, options: &BuildOptions) -> Dropped {
    let per_chunk = edges.chunks().par_iter().map(|chunk| {
        let is_loop = |pair: &&[I; 2]| pair[0] == pair[1];
        let self_loops = if options.self_loops { 0 } else { chunk.pairs.iter().filter(is_loop).count() };
        let dropped_before = |&(index, weight): &(usize, &f32)| {
            *weight == 0.0 && (options.self_loops || chunk.pairs[index][0] != chunk.pairs[index][1])
        };
        let zero_weights = chunk.weights.iter().enumerate().filter(dropped_before).count();
        Dropped { self_loops, zero_weights, duplicates: 0 }
    });
    per_chunk.reduce(Dropped::default, |a, b| Dropped {
        self_loops: a.self_loops + b.self_loops,
        zero_weights: a.zero_weights + b.zero_weights,
        duplicates: 0,
    })
}

/// Calls `visit(row, target, weight, direction)` for all entries of the graph to be,
/// in parallel and in no particular order.
fn for_each_entry<I: NodeIndex>(
    edges: &EdgeList<I>,
    options: &BuildOptions,
    visit: impl Fn(I, I, f32, Direction) + Sync,
) {
    // Pieces small enough that all threads have work, also where there is one chunk.
    const PIECE: usize = 1 << 16;
    let pieces = edges.chunks().par_iter().flat_map(|chunk| {
        (0..chunk.pairs.len().div_ceil(PIECE)).into_par_iter().map(move |piece| (chunk, piece * PIECE))
    });
    pieces.for_each(|(chunk, start)| {
        let end = (start + PIECE).min(chunk.pairs.len());
        for index in start..end {
            let [source, target] = chunk.pairs[index];
            let weight = chunk.weights.get(index).copied().unwrap_or(1.0);
            let is_loop = source == target;
            if weight == 0.0 || (is_loop && !options.self_loops) {
                continue;
            }
            visit(source, target, weight, Direction::Listed);
            if options.symmetrise && !is_loop {
                visit(target, source, weight, Direction::Mirrored);
            }
        }
    });
}

fn sorted_rows<I: NodeIndex, E: Entry<I>>(
    edges: EdgeList<I>,
    num_nodes: usize,
    options: &BuildOptions,
) -> Rows<E> {
    // Slot `v + 1` first counts row `v`, then holds where its next entry goes, and in
    // the end where it ends.
    let cursors: Vec<AtomicU64> = (0..=num_nodes).map(|_| AtomicU64::new(0)).collect();
    for_each_entry(&edges, options, |row, target, _, _| {
        assert!(target.index() < num_nodes, "edge names a node beyond the last one");
        cursors[row.index() + 1].fetch_add(1, Ordering::Relaxed);
    });
    let mut num_entries = 0;
    for cursor in &cursors[1..] {
        let start = num_entries;
        num_entries += cursor.load(Ordering::Relaxed);
        cursor.store(start, Ordering::Relaxed);
    }
    let slots: Vec<E::Slot> = (0..num_entries).into_par_iter().map(|_| E::slot()).collect();
    for_each_entry(&edges, options, |row, target, weight, direction| {
        let position = cursors[row.index() + 1].fetch_add(1, Ordering::Relaxed);
        E::store(&slots[position as usize], target, weight, direction);
    });
    drop(edges);
    let offsets: Vec<u64> = cursors.into_iter().map(AtomicU64::into_inner).collect();
    let entries: Vec<E> = slots.into_iter().map(E::take).collect();
    sort_rows(Rows { offsets, entries })
}

/// Sorts and merges all rows, and closes the gaps.
fn sort_rows<I: NodeIndex, E: Entry<I>>(rows: Rows<E>) -> Rows<E> {
    let Rows { mut offsets, mut entries } = rows;
    let row_slices = split_rows(&mut entries, &offsets);
    let lengths: Vec<u64> =
        row_slices.into_par_iter().flat_map_iter(|group| group.sort_and_merge_all::<I>()).collect();
    let mut end = 0;
    for (row, &length) in lengths.iter().enumerate() {
        let start = offsets[row] as usize;
        entries.copy_within(start..start + length as usize, end);
        offsets[row] = end as u64;
        end += length as usize;
    }
    *offsets.last_mut().expect("there is always a last offset") = end as u64;
    entries.truncate(end);
    entries.shrink_to_fit();
    Rows { offsets, entries }
}

/// Some neighbouring rows, to be sorted by one thread.
struct RowGroup<'a, E> {
    entries: &'a mut [E],
    offsets: &'a [u64],
}

impl<E> RowGroup<'_, E> {
    fn sort_and_merge_all<I: NodeIndex>(self) -> Vec<u64>
    where
        E: Entry<I>,
    {
        let first = self.offsets[0];
        let rows = self.offsets.windows(2);
        rows.map(|ends| {
            let row = (ends[0] - first) as usize..(ends[1] - first) as usize;
            E::sort_and_merge(&mut self.entries[row]) as u64
        })
        .collect()
    }
}

/// Cuts the entries into groups of rows.
fn split_rows<'a, E>(mut entries: &'a mut [E], offsets: &'a [u64]) -> Vec<RowGroup<'a, E>> {
    const ROWS: usize = 1 << 12;
    let mut groups = Vec::new();
    let num_rows = offsets.len() - 1;
    for start in (0..num_rows).step_by(ROWS) {
        let end = (start + ROWS).min(num_rows);
        let (group, rest) = entries.split_at_mut((offsets[end] - offsets[start]) as usize);
        groups.push(RowGroup { entries: group, offsets: &offsets[start..=end] });
        entries = rest;
    }
    groups
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
