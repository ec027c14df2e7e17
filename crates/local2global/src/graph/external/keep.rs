//! A part of a graph on disk, on disk again.

use std::io;

use super::super::id_set::Ranks;
use super::super::{Graph, NodeId, NodeIds};
use super::error::ExternalError;
use super::scratch::Scratch;
use crate::progress::Progress;

/// Rows between two looks at whether the user has stopped it.
const ROWS_AT_A_TIME: usize = 1 << 20;

/// The edges between some nodes of a graph, in arrays beside those of the graph, and their integer
/// names. Text names, features and labels are left to the caller.
pub(crate) fn keep_nodes(
    scratch: &Scratch,
    graph: &Graph,
    kept: &Ranks,
    progress: &dyn Progress,
) -> Result<(Graph, Scratch), ExternalError> {
    let part = scratch.beside()?;
    let arrays = part.arrays();
    let failed = part.failed();
    let mut offsets = part.writer::<u64>(&arrays.indptr())?;
    let mut targets = part.writer::<u32>(&arrays.indices())?;
    let mut weights = graph.weights().map(|_| part.writer::<f32>(&arrays.weights())).transpose()?;
    let mut ids = match graph.ids() {
        NodeIds::Strings(_) => None,
        _ => Some(part.writer::<u64>(&arrays.ids())?),
    };
    offsets.push(&[0]).map_err(&failed)?;
    let mut end = 0_u64;
    let mut row_targets: Vec<u32> = Vec::new();
    let mut write_row = |node: NodeId| -> io::Result<()> {
        row_targets.clear();
        for (neighbor, position) in graph.neighbors(node).zip(0..) {
            if !kept.contains(neighbor.index()) {
                continue;
            }
            row_targets.push(kept.rank(neighbor.index()) as u32);
            if let (Some(weights), Some(row)) = (&mut weights, graph.neighbor_weights(node)) {
                weights.push(&row[position..=position])?;
            }
        }
        targets.push(&row_targets)?;
        end += row_targets.len() as u64;
        offsets.push(&[end])?;
        match (&mut ids, graph.ids()) {
            (Some(ids), NodeIds::Integers(names)) => ids.push(&[names[node.index()]]),
            (Some(ids), _) => ids.push(&[node.0]),
            (None, _) => Ok(()),
        }
    };
    progress.begin("keeping the largest component", kept.len() as u64, "nodes");
    let mut nodes = kept.iter().map(NodeId);
    loop {
        if progress.is_cancelled() {
            return Err(ExternalError::Cancelled);
        }
        let mut num_rows = 0;
        for node in nodes.by_ref().take(ROWS_AT_A_TIME) {
            write_row(node).map_err(&failed)?;
            num_rows += 1;
        }
        progress.advance(num_rows);
        if num_rows == 0 {
            break;
        }
    }
    progress.end();
    offsets.finish().and_then(|_| targets.finish()).map_err(&failed)?;
    weights.map_or(Ok(()), |weights| weights.finish().map(drop)).map_err(&failed)?;
    ids.map_or(Ok(()), |ids| ids.finish().map(drop)).map_err(&failed)?;
    let graph = part.graph::<u32>(graph.is_symmetric())?;
    Ok((graph, part))
}
