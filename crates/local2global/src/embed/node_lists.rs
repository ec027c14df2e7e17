//! The node lists of all patches, mapped: a patch's list is loaded when its turn comes.

use std::path::Path;

use rayon::prelude::*;

use crate::buffer::Buffer;
use crate::graph::NodeId;
use crate::npy;
use crate::patch::{PatchError, read_node_lists};
use crate::run_dir::PatchFiles;

/// So many lists are mapped at most: a process may map some 65 000 files.
const MAPPED_LISTS: usize = 40_000;

/// The nodes of a patch, ascending: mapped from its file, or in memory.
#[derive(Clone, Debug)]
pub(super) struct NodeList(Buffer<u64>);

impl AsRef<[NodeId]> for NodeList {
    fn as_ref(&self) -> &[NodeId] {
        bytemuck::cast_slice(&self.0)
    }
}

/// The nodes of each patch of a folder; all are read if some cannot be used as they lie.
pub(super) fn open_node_lists(folder: &Path) -> Result<Vec<NodeList>, PatchError> {
    let files = PatchFiles::numbered(folder)?;
    let mapped = |index: usize| {
        let nodes = npy::map::<u64>(&files.nodes(index)).ok()?.values;
        nodes.is_sorted_by(|a, b| a < b).then_some(NodeList(nodes))
    };
    if files.len() <= MAPPED_LISTS
        && let Some(lists) = (0..files.len()).into_par_iter().map(mapped).collect()
    {
        return Ok(lists);
    }
    let in_memory = |nodes: Vec<NodeId>| NodeList(nodes.iter().map(|node| node.0).collect::<Vec<_>>().into());
    Ok(read_node_lists(folder)?.into_iter().map(in_memory).collect())
}
