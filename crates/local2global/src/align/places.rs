//! The places of all nodes, as an alignment left them in its folder.

use std::path::Path;

use super::centroid::Block;
use super::read::{in_array, read_integers};
use super::{AlignFilesError, LocalPatch};
use crate::buffer::Buffer;
use crate::linalg::lanes::{squared_distance, squared_norm};
use crate::npy;
use crate::run_dir::AlignmentFolder;

/// A row that is computed again differs by less than this share of the spread of all nodes.
const SAME_PLACE: f64 = 1e-4;

/// The rows of an alignment, mapped: files are replaced, never changed, so they stay as they were.
pub(super) struct Places {
    nodes: Option<Vec<u64>>,
    dim: usize,
    coords: Buffer<f32>,
    unmoved: Buffer<f32>,
    spread: Buffer<f32>,
}

impl Places {
    pub(super) fn read(out: &AlignmentFolder) -> Result<Self, AlignFilesError> {
        let map = |path: &Path| npy::map::<f32>(path).map_err(in_array(path));
        let (coords, unmoved) = (map(&out.embedding())?, map(&out.unaligned())?);
        let spread = map(&out.spread())?;
        let (rows, dim) = coords.rows_and_columns().map_err(in_array(&out.embedding()))?;
        let listed = out.nodes();
        let nodes = listed.exists().then(|| read_integers(&listed)).transpose()?;
        let sizes = [unmoved.values.len() / dim.max(1), spread.values.len()];
        let listed_rows = nodes.as_ref().map_or(rows, Vec::len);
        if sizes != [rows; 2] || listed_rows != rows {
            return Err(AlignFilesError::OtherRows { path: out.embedding(), rows });
        }
        Ok(Self { nodes, dim, coords: coords.values, unmoved: unmoved.values, spread: spread.values })
    }

    /// The number of coordinates.
    pub(super) fn dim(&self) -> usize {
        self.dim
    }

    /// The number of nodes.
    pub(super) fn num_nodes(&self) -> usize {
        self.spread.len()
    }

    /// The row of a node, if it has one.
    pub(super) fn row_of(&self, node: u64) -> Option<usize> {
        match &self.nodes {
            Some(nodes) => nodes.binary_search(&node).ok(),
            None => usize::try_from(node).ok().filter(|&row| row < self.num_nodes()),
        }
    }

    /// The place of a node, if it has one.
    pub(super) fn place_of(&self, node: u64) -> Option<&[f32]> {
        self.row_of(node).map(|row| &self.coords[row * self.dim..][..self.dim])
    }

    /// All nodes, ascending, and their places.
    pub(super) fn all(&self) -> impl Iterator<Item = (u64, &[f32])> {
        let node = |row: usize| self.nodes.as_ref().map_or(row as u64, |nodes| nodes[row]);
        self.coords.chunks_exact(self.dim.max(1)).enumerate().map(move |(row, place)| (node(row), place))
    }

    /// All coordinates, with the rows of nodes outside a patch as they were `before`: where a node had
    /// a place, and its copies are those that it had. That is told by the mean of its copies without
    /// transforms, which no alignment moves.
    pub(super) fn with_rows_outside(&self, patch: &LocalPatch, before: &Self) -> Vec<f32> {
        let dim = self.dim;
        let mut coords = self.coords.to_vec();
        for (row, (node, _)) in self.all().enumerate() {
            let Some(old) = before.row_of(node).filter(|_| !patch.contains(node)) else { continue };
            if self.unmoved[row * dim..][..dim] == before.unmoved[old * dim..][..dim] {
                coords[row * dim..][..dim].copy_from_slice(&before.coords[old * dim..][..dim]);
            }
        }
        coords
    }

    /// Whether some node outside a patch lies elsewhere than `before`.
    pub(super) fn differs_outside(&self, patch: &LocalPatch, before: &Self) -> bool {
        let differs = |node, place: &[f32]| before.place_of(node).is_some_and(|old| old != place);
        self.all().any(|(node, place)| !patch.contains(node) && differs(node, place))
    }

    /// Root mean square distance of the nodes from the origin.
    fn radius(&self) -> f64 {
        (squared_norm(&self.coords) / self.num_nodes().max(1) as f64).sqrt()
    }
}

/// The rows of an earlier alignment that an update of one patch leaves as they are.
pub(super) struct KeptRows<'a> {
    before: &'a Places,
    patch: &'a LocalPatch,
    largest_difference: f64,
}

impl<'a> KeptRows<'a> {
    /// The rows of all nodes outside a patch.
    pub(super) fn outside(patch: &'a LocalPatch, before: &'a Places) -> Self {
        Self { before, patch, largest_difference: SAME_PLACE * before.radius() }
    }

    /// Puts rows that are kept into a block of new ones. A node outside the patch that belongs
    /// elsewhere now, because the patch held it before, or because something else than the mean of
    /// copies was there, is not kept.
    pub(super) fn put_into(&self, nodes: &[u64], block: &mut Block<f32>, spread: &mut [f32]) {
        let dim = self.before.dim;
        for (at, &node) in nodes.iter().enumerate() {
            let Some(row) = self.before.row_of(node).filter(|_| !self.patch.contains(node)) else { continue };
            let (old, new) = (row * dim..(row + 1) * dim, at * dim..(at + 1) * dim);
            let place = &self.before.coords[old.clone()];
            let limit = self.largest_difference + SAME_PLACE * squared_norm(place).sqrt();
            if squared_distance(place, &block.coords[new.clone()]) <= limit * limit {
                block.coords[new.clone()].copy_from_slice(place);
                block.unmoved[new].copy_from_slice(&self.before.unmoved[old]);
                spread[at] = self.before.spread[row];
            }
        }
    }
}
