//! From the user's names of nodes to nodes.
//!
//! Names come in any order, so all that are wanted are looked for in one pass over all of them, in parallel.
//! No index is made, and memory does not grow with the number of nodes. Cost: `O(n + m)` for `m` of `n` names.

use std::hash::Hash;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::NearError;
use crate::config;
use crate::graph::{NodeId, NodeIds};

/// Names that one thread looks through at a time.
const PIECE: usize = 1 << 14;

/// The nodes of some names, in their order.
///
/// # Errors
/// [`NearError::UnknownName`] for the first name that no node has, with the nearest one that a node has.
///
/// # Examples
/// ```
/// use local2global::graph::{NodeId, NodeIds};
/// use local2global::near::names::find;
///
/// let ids = NodeIds::Strings(["ann", "bob", "eve"].into_iter().collect());
/// assert_eq!(find(&ids, &["eve", "ann"])?, [NodeId(2), NodeId(0)]);
/// let error = find(&ids, &["eva"]).unwrap_err();
/// assert_eq!(error.to_string(), "no node is called `eva`; the nearest name is `eve`");
/// # Ok::<(), local2global::near::NearError>(())
/// ```
pub fn find(ids: &NodeIds, wanted: &[&str]) -> Result<Vec<NodeId>, NearError> {
    let rows: Vec<Option<usize>> = match ids {
        NodeIds::Range(len) => {
            let row = |name: &&str| usize::try_from(integer(name)?).ok().filter(|row| row < len);
            wanted.iter().map(row).collect()
        }
        NodeIds::Integers(all) => {
            let wanted: Vec<Option<u64>> = wanted.iter().map(|name| integer(name)).collect();
            let known: Vec<u64> = wanted.iter().copied().flatten().collect();
            let found = rows_of(&known, all.len(), |row| all[row]);
            wanted.into_iter().map(|name| found.get(&name?).copied()).collect()
        }
        NodeIds::Strings(table) => {
            let found = rows_of(wanted, table.len(), |row| table.get(row));
            wanted.iter().map(|name| found.get(name).copied()).collect()
        }
    };
    let nodes = wanted.iter().zip(rows);
    nodes.map(|(name, row)| row.map(NodeId::new).ok_or_else(|| unknown(name, ids))).collect()
}

fn integer(name: &str) -> Option<u64> {
    name.parse().ok()
}

/// The first row of each name that is wanted, among `len` rows with the names `name_of`.
fn rows_of<'a, T: Copy + Eq + Hash + Send + Sync + 'a>(
    wanted: &[T],
    len: usize,
    name_of: impl Fn(usize) -> T + Sync,
) -> FxHashMap<T, usize> {
    let is_wanted: FxHashMap<T, ()> = wanted.iter().map(|&name| (name, ())).collect();
    let of_piece = |piece: usize| -> Vec<(T, usize)> {
        let rows = PIECE * piece..(PIECE * (piece + 1)).min(len);
        rows.map(|row| (name_of(row), row)).filter(|(name, _)| is_wanted.contains_key(name)).collect()
    };
    let found: Vec<Vec<(T, usize)>> = (0..len.div_ceil(PIECE)).into_par_iter().map(of_piece).collect();
    // The last one put in stays, so the first row of a name has to come last.
    found.into_iter().flatten().rev().collect()
}

/// The error for a name that no node has.
fn unknown(name: &str, ids: &NodeIds) -> NearError {
    let known = match ids {
        NodeIds::Strings(table) => match config::nearest(name, table.iter()) {
            Some(nearest) => format!("the nearest name is `{nearest}`"),
            None => match table.iter().next() {
                Some(first) => format!("names of this graph are such as `{first}`"),
                None => "the graph has no nodes".into(),
            },
        },
        NodeIds::Range(0) => "the graph has no nodes".into(),
        NodeIds::Range(len) => format!("ids are integers from 0 to {}", len - 1),
        NodeIds::Integers(all) => integers(integer(name), all),
    };
    NearError::UnknownName { name: name.to_owned(), known }
}

/// The range of integer ids, and the one nearest to a number.
fn integers(wanted: Option<u64>, all: &[u64]) -> String {
    let (Some(least), Some(most)) = (all.iter().min(), all.iter().max()) else {
        return "the graph has no nodes".into();
    };
    let range = format!("ids are integers from {least} to {most}");
    let nearest = wanted.and_then(|wanted| all.iter().min_by_key(|&&id| (id.abs_diff(wanted), id)));
    nearest.map_or_else(|| range.clone(), |nearest| format!("{range}, and the nearest is {nearest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(ids: &NodeIds, name: &str) -> String {
        find(ids, &[name]).unwrap_err().to_string()
    }

    #[test]
    fn names_are_found_in_any_order_and_more_than_once() {
        let ids = NodeIds::Integers(
            (0..100_000_u64).map(|row| (row * 7919) % 100_003 + 5).collect::<Vec<_>>().into(),
        );
        let NodeIds::Integers(all) = &ids else { unreachable!() };
        let rows = [99_999, 0, 42, 0];
        let names: Vec<String> = rows.iter().map(|&row| all[row].to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(find(&ids, &names).unwrap(), rows.map(NodeId::new));
        let names: Vec<String> = (0..40_000).map(|row| format!("näme {row}")).collect();
        let ids = NodeIds::Strings(names.iter().collect());
        assert_eq!(find(&ids, &["näme 39999", "näme 3"]).unwrap(), [39_999, 3].map(NodeId::new));
        assert_eq!(find(&NodeIds::Range(9), &["8"]).unwrap(), [NodeId(8)]);
        assert_eq!(find(&NodeIds::Range(9), &[]).unwrap(), []);
    }

    #[test]
    fn a_name_of_two_nodes_is_the_first_of_them() {
        let ids = NodeIds::Strings(["a", "b", "b"].into_iter().collect());
        assert_eq!(find(&ids, &["b"]).unwrap(), [NodeId(1)]);
    }

    #[test]
    fn unknown_names_are_told_with_what_is_known() {
        let integers = NodeIds::Integers(vec![35, 7, 900].into());
        assert_eq!(
            message(&integers, "36"),
            "no node is called `36`; ids are integers from 7 to 900, and the nearest is 35"
        );
        assert_eq!(message(&integers, "x"), "no node is called `x`; ids are integers from 7 to 900");
        assert_eq!(message(&NodeIds::Range(3), "3"), "no node is called `3`; ids are integers from 0 to 2");
        let names = NodeIds::Strings(["tea", "rum"].into_iter().collect());
        assert_eq!(message(&names, "ten"), "no node is called `ten`; the nearest name is `tea`");
        assert_eq!(
            message(&names, "lemonade"),
            "no node is called `lemonade`; names of this graph are such as `tea`"
        );
        assert_eq!(message(&NodeIds::Range(0), "0"), "no node is called `0`; the graph has no nodes");
    }
}
