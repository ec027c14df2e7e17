//! Integer ids -> rows `0..n`, in ascending order of the ids.
//!
//! If the ids are 0, 1, 2, ... without a gap they are the rows already. If they are
//! not much larger than the number of edges, a bitmap with running counts numbers
//! them in two passes and a bit per id; otherwise they are sorted.

use rayon::prelude::*;

use super::raw::RawEdges;
use crate::graph::edge_list::{EdgeChunk, EdgeList};
use crate::graph::id_set::IdSet;
use crate::graph::{NodeIds, NodeIndex};

/// Edges between rows `0..n`, and what the rows are called.
#[derive(Debug)]
pub(crate) struct Numbered {
    pub(crate) edges: NumberedEdges,
    pub(crate) ids: NodeIds,
}

/// Edges between rows, 4 or 8 bytes an end.
#[derive(Debug)]
pub(crate) enum NumberedEdges {
    Narrow(EdgeList<u32>),
    Wide(EdgeList<u64>),
}

/// Numbers all nodes.
///
/// With `num_rows`, ids below it are rows already and every row is a node, whether it
/// has edges or not.
pub(crate) fn number(edges: RawEdges, num_rows: Option<usize>) -> Numbered {
    match edges {
        RawEdges::Names(edges, names) => {
            Numbered { edges: NumberedEdges::Narrow(edges), ids: NodeIds::Strings(names) }
        }
        RawEdges::Narrow(edges) => number_narrow(edges, num_rows),
        RawEdges::Wide(edges) => number_wide(edges, num_rows),
        RawEdges::Spilled(_) | RawEdges::SpilledNames(..) | RawEdges::WaitingNames(..) => {
            unreachable!("edges on disk are numbered there")
        }
    }
}

fn number_narrow(mut edges: EdgeList<u32>, num_rows: Option<usize>) -> Numbered {
    let num_possible = largest(&edges).map_or(0, |id| id as usize + 1);
    if let Some(num_rows) = num_rows.filter(|&num_rows| num_possible <= num_rows) {
        return Numbered { edges: NumberedEdges::Narrow(edges), ids: NodeIds::Range(num_rows) };
    }
    if num_possible > 64 * edges.len() + 1024 {
        let ids = distinct(&edges);
        renumber(&mut edges, |id| u32::from_index(row_of(&ids, id)));
        let ids = ids.into_iter().map(u64::from).collect::<Vec<_>>();
        return Numbered { edges: NumberedEdges::Narrow(edges), ids: NodeIds::Integers(ids.into()) };
    }
    let lists = edges.chunks().par_iter().map(|chunk| &chunk.pairs[..]);
    let ranks = IdSet::of_lists(lists, num_possible).into_ranks();
    let ids = match ranks.len() == num_possible {
        true => NodeIds::Range(num_possible),
        false => {
            renumber(&mut edges, |id| ranks.rank(id as usize) as u32);
            NodeIds::Integers(ranks.iter().collect::<Vec<_>>().into())
        }
    };
    Numbered { edges: NumberedEdges::Narrow(edges), ids }
}

fn number_wide(mut edges: EdgeList<u64>, num_rows: Option<usize>) -> Numbered {
    let num_possible = largest(&edges).map_or(0, |id| u128::from(id) + 1);
    if let Some(num_rows) = num_rows.filter(|&num_rows| num_possible <= num_rows as u128) {
        return Numbered { edges: NumberedEdges::Wide(edges), ids: NodeIds::Range(num_rows) };
    }
    let ids = distinct(&edges);
    let edges = match u32::try_from(ids.len()) {
        Ok(_) => {
            let mut narrow = EdgeList::new();
            for EdgeChunk { pairs, weights } in edges.into_chunks() {
                let pairs = pairs.into_par_iter().map(|pair| pair.map(|id| row_of(&ids, id) as u32));
                narrow.push(EdgeChunk { pairs: pairs.collect(), weights });
            }
            NumberedEdges::Narrow(narrow)
        }
        Err(_) => {
            renumber(&mut edges, |id| row_of(&ids, id) as u64);
            NumberedEdges::Wide(edges)
        }
    };
    Numbered { edges, ids: NodeIds::Integers(ids.into()) }
}

fn largest<I: NodeIndex>(edges: &EdgeList<I>) -> Option<I> {
    let of_chunk = |chunk: &EdgeChunk<I>| chunk.pairs.iter().map(|pair| pair[0].max(pair[1])).max();
    edges.chunks().par_iter().filter_map(of_chunk).max()
}

fn renumber<I: NodeIndex>(edges: &mut EdgeList<I>, row: impl Fn(I) -> I + Sync) {
    let chunks = edges.chunks_mut().par_iter_mut();
    chunks.for_each(|chunk| chunk.pairs.iter_mut().for_each(|pair| *pair = pair.map(&row)));
}

/// All ids, ascending, each once.
fn distinct<I: NodeIndex>(edges: &EdgeList<I>) -> Vec<I> {
    let mut ids: Vec<I> = Vec::with_capacity(2 * edges.len());
    edges.chunks().iter().for_each(|chunk| ids.extend(chunk.pairs.iter().flatten()));
    ids.par_sort_unstable();
    ids.dedup();
    ids.shrink_to_fit();
    ids
}

fn row_of<I: NodeIndex>(ids: &[I], id: I) -> usize {
    ids.binary_search(&id).expect("all ids were collected")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::NodeId;

    fn numbered(pairs: Vec<[u32; 2]>, num_rows: Option<usize>) -> (Vec<[u32; 2]>, NodeIds) {
        let Numbered { edges, ids } = number(RawEdges::Narrow(EdgeList::from_pairs(pairs)), num_rows);
        let NumberedEdges::Narrow(edges) = edges else { panic!("narrow") };
        (edges.chunks()[0].pairs.clone(), ids)
    }

    #[test]
    fn ids_without_gaps_are_rows() {
        let (pairs, ids) = numbered(vec![[2, 0], [1, 2]], None);
        assert_eq!(pairs, [[2, 0], [1, 2]]);
        assert_eq!(ids, NodeIds::Range(3));
    }

    #[test]
    fn gaps_are_closed_in_ascending_order() {
        // The second list is so sparse that its ids are sorted.
        for far in [130, 4_000_000_000] {
            let (pairs, ids) = numbered(vec![[far, 1], [1, 63], [64, far]], None);
            assert_eq!(pairs, [[3, 0], [0, 1], [2, 3]]);
            assert_eq!(ids, NodeIds::Integers(vec![1, 63, 64, u64::from(far)].into()));
        }
    }

    #[test]
    fn known_rows_keep_isolated_nodes() {
        let (pairs, ids) = numbered(vec![[0, 2]], Some(5));
        assert_eq!(pairs, [[0, 2]]);
        assert_eq!(ids, NodeIds::Range(5));
    }

    #[test]
    fn wide_ids_become_narrow_rows() {
        let edges = EdgeList::from_pairs(vec![[1 << 40, 7], [7, u64::MAX]]);
        let Numbered { edges, ids } = number(RawEdges::Wide(edges), None);
        let NumberedEdges::Narrow(edges) = edges else { panic!("narrow") };
        assert_eq!(edges.chunks()[0].pairs, [[1, 0], [0, 2]]);
        assert_eq!(ids.get(NodeId(2)).to_string(), u64::MAX.to_string());
    }
}
