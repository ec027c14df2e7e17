//! A part of a graph on disk, on disk again.

use std::io;
use std::ops::Range;

use super::super::id_set::Ranks;
use super::super::{Graph, NodeId, NodeIds};
use super::error::ExternalError;
use super::scratch::Scratch;
use super::writer::{RowWriter, Rows};
use crate::progress::Progress;

/// Rows are moved in parts of about this many entries.
const PART_ENTRIES: u64 = 1 << 20;

/// The edges between some nodes of a graph, in arrays beside those of the graph, and their integer
/// names. Text names, features and labels are left to the caller.
pub(crate) fn keep_nodes(
    scratch: &Scratch,
    graph: &Graph,
    kept: &Ranks,
    progress: &dyn Progress,
) -> Result<(Graph, Scratch), ExternalError> {
    let part = scratch.beside()?;
    let mut writer = RowWriter::<u32>::new(&part, graph.weights().is_some())?;
    let parts = parts(graph);
    progress.begin("keeping the largest component", parts.len() as u64, "parts");
    writer.append_all(&parts, |nodes| Ok(kept_rows(graph, kept, nodes.clone())), part.failed(), progress)?;
    writer.finish().map_err(part.failed())?;
    write_ids(&part, graph.ids(), kept).map_err(part.failed())?;
    progress.end();
    Ok((part.graph::<u32>(graph.is_symmetric())?, part))
}

/// Ranges of nodes with about the same number of entries.
fn parts(graph: &Graph) -> Vec<Range<usize>> {
    let offsets = graph.offsets();
    let mut parts = Vec::new();
    let mut start = 0;
    while start < graph.num_nodes() {
        let most = offsets[start] + PART_ENTRIES;
        let end = start + offsets[start..].partition_point(|&offset| offset <= most) - 1;
        let end = end.max(start + 1);
        parts.push(start..end);
        start = end;
    }
    parts
}

/// The rows of the kept nodes of a range, with kept neighbours only.
fn kept_rows(graph: &Graph, kept: &Ranks, nodes: Range<usize>) -> Rows<u32> {
    let mut rows = Rows { lens: Vec::new(), targets: Vec::new(), weights: Vec::new() };
    for node in nodes.filter(|&node| kept.contains(node)).map(NodeId::new) {
        let before = rows.targets.len();
        let neighbors = graph.neighbors(node).map(NodeId::index).enumerate();
        for (position, neighbor) in neighbors.filter(|&(_, neighbor)| kept.contains(neighbor)) {
            rows.targets.push(kept.rank(neighbor) as u32);
            rows.weights.extend(graph.neighbor_weights(node).map(|weights| weights[position]));
        }
        rows.lens.push((rows.targets.len() - before) as u32);
    }
    rows
}

fn write_ids(part: &Scratch, ids: &NodeIds, kept: &Ranks) -> Result<(), io::Error> {
    let name = |node: u64| match ids {
        NodeIds::Integers(names) => names[node as usize],
        _ => node,
    };
    if matches!(ids, NodeIds::Strings(_)) {
        return Ok(());
    }
    part.write_ids(kept.iter().map(name))
}
