//! One patch as `align` sees it: a list of nodes and a row of coordinates for each.
//!
//! Nodes are any non-negative integers. Coordinates are 32-bit or 64-bit numbers, in
//! memory or mapped from a file; they are widened to 64 bits where they are used. Only
//! the node list is looked at when a patch is made, so mapped coordinates stay on disk
//! until their rows are needed.

use std::borrow::Cow;
use std::ops::{Range, RangeInclusive};

use crate::align::AlignError;
use crate::buffer::Buffer;
use crate::linalg::real::Real;

/// The coordinates of a patch, row-major.
#[derive(Clone, Debug)]
pub enum Coords {
    /// Single precision.
    F32(Buffer<f32>),
    /// Double precision.
    F64(Buffer<f64>),
}

impl Coords {
    /// The number of coordinates, over all rows.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
        }
    }

    /// Whether there are no coordinates.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A patch in its own coordinate system.
#[derive(Clone, Debug)]
pub struct LocalPatch {
    name: String,
    nodes: Buffer<u64>,
    coords: Coords,
    dim: usize,
    weights: Option<Buffer<f32>>,
    /// The rows in ascending order of their nodes; `None` if the rows are in that order.
    order: Option<Vec<u32>>,
}

impl LocalPatch {
    /// A patch with the given coordinates, row `k` belonging to node `k` of the list.
    ///
    /// # Errors
    /// [`AlignError::RowCount`] if there is not one row of `dim` per node,
    /// [`AlignError::DuplicateNode`] if a node stands twice.
    ///
    /// # Examples
    /// ```
    /// use local2global::align::{Coords, LocalPatch};
    ///
    /// let coords = Coords::F64(vec![0.0, 0.0, 1.0, 0.5].into());
    /// let patch = LocalPatch::new("left", vec![7, 3].into(), coords, 2)?;
    /// assert_eq!(patch.num_nodes(), 2);
    /// # Ok::<(), local2global::align::AlignError>(())
    /// ```
    pub fn new(
        name: impl Into<String>,
        nodes: Buffer<u64>,
        coords: Coords,
        dim: usize,
    ) -> Result<Self, AlignError> {
        let name = name.into();
        if dim == 0 {
            return Err(AlignError::NoDimensions { patch: name });
        }
        if coords.len() != nodes.len() * dim {
            return Err(AlignError::RowCount { patch: name, rows: coords.len() / dim, nodes: nodes.len() });
        }
        let order = ascending_order(&nodes).map_err(|node| {
            let patch = name.clone();
            AlignError::DuplicateNode { patch, node }
        })?;
        Ok(Self { name, nodes, coords, dim, weights: None, order })
    }

    /// The same patch with a weight for each node, used by the weighted centroid.
    ///
    /// # Errors
    /// [`AlignError::WeightCount`] if there is not one per node, [`AlignError::Weight`]
    /// if one is negative or not finite.
    pub fn with_weights(mut self, weights: Buffer<f32>) -> Result<Self, AlignError> {
        if weights.len() != self.num_nodes() {
            let (weights, nodes) = (weights.len(), self.num_nodes());
            return Err(AlignError::WeightCount { patch: self.name, weights, nodes });
        }
        if let Some(row) = weights.iter().position(|weight| !(weight.is_finite() && *weight >= 0.0)) {
            let (node, weight) = (self.nodes[row], weights[row]);
            return Err(AlignError::Weight { patch: self.name, node, weight });
        }
        self.weights = Some(weights);
        Ok(self)
    }

    /// The name of the patch, as in file names.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of nodes.
    pub fn num_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// The nodes, in row order.
    pub fn nodes(&self) -> &[u64] {
        &self.nodes
    }

    /// The number of coordinates of a node.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The weight of each node, in row order, if there are weights.
    pub fn weights(&self) -> Option<&[f32]> {
        self.weights.as_deref()
    }

    /// The row of the `position`-th smallest node.
    pub fn row_at(&self, position: usize) -> usize {
        self.order.as_ref().map_or(position, |order| order[position] as usize)
    }

    /// The `position`-th smallest node.
    pub fn node_at(&self, position: usize) -> u64 {
        self.nodes[self.row_at(position)]
    }

    /// The positions of the nodes in a range, in ascending order.
    pub fn positions(&self, nodes: RangeInclusive<u64>) -> Range<usize> {
        let start = self.count_while(|node| node < *nodes.start());
        start..self.count_while(|node| node <= *nodes.end()).max(start)
    }

    /// Whether a node is in the patch.
    pub fn contains(&self, node: u64) -> bool {
        let position = self.count_while(|other| other < node);
        position < self.num_nodes() && self.node_at(position) == node
    }

    /// The number of nodes, from the smallest on, up to the first for which `is_before` is false.
    fn count_while(&self, is_before: impl Fn(u64) -> bool) -> usize {
        let (mut low, mut high) = (0, self.num_nodes());
        while low < high {
            let middle = (low + high) / 2;
            if is_before(self.node_at(middle)) { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Whether the coordinates are in single precision.
    pub fn is_single(&self) -> bool {
        matches!(self.coords, Coords::F32(_))
    }

    /// The coordinates of the nodes at some positions: where they lie, if they lie side by side
    /// and are numbers of this type.
    pub fn rows_at<F: Real>(&self, positions: Range<usize>) -> Cow<'_, [F]> {
        let range = positions.start * self.dim..positions.end * self.dim;
        let there = match (&self.order, &self.coords) {
            (Some(_), _) => None,
            (None, Coords::F32(values)) => F::of_singles(&values[range]),
            (None, Coords::F64(values)) => F::of_doubles(&values[range]),
        };
        there.map_or_else(
            || {
                let mut rows = Vec::with_capacity(positions.len() * self.dim);
                positions.for_each(|position| self.extend_by_row(self.row_at(position), &mut rows));
                rows.into()
            },
            Cow::Borrowed,
        )
    }

    fn extend_by_row<F: Real>(&self, row: usize, target: &mut Vec<F>) {
        let range = row * self.dim..(row + 1) * self.dim;
        match &self.coords {
            Coords::F32(values) => target.extend(values[range].iter().map(|&value| F::of(f64::from(value)))),
            Coords::F64(values) => target.extend(values[range].iter().map(|&value| F::of(value))),
        }
    }

    /// Appends the coordinates of a row.
    ///
    /// # Errors
    /// [`AlignError::NotFinite`] if one is NaN or infinite.
    pub fn push_row<F: Real>(&self, row: usize, target: &mut Vec<F>) -> Result<(), AlignError> {
        let start = target.len();
        self.extend_by_row(row, target);
        // Counted, not searched for: the compiler makes vector code of it.
        match target[start..].iter().map(|value| u64::from(!value.to_f64().is_finite())).sum() {
            0_u64 => Ok(()),
            _ => Err(AlignError::NotFinite { patch: self.name.clone(), node: self.nodes[row] }),
        }
    }
}

/// The rows in ascending order of nodes, none if they already are; or a node that
/// stands twice.
fn ascending_order(nodes: &[u64]) -> Result<Option<Vec<u32>>, u64> {
    if nodes.is_sorted_by(|a, b| a < b) {
        return Ok(None);
    }
    let mut order: Vec<u32> = (0..nodes.len() as u32).collect();
    order.sort_unstable_by_key(|&row| nodes[row as usize]);
    let twice = order.windows(2).find(|pair| nodes[pair[0] as usize] == nodes[pair[1] as usize]);
    match twice {
        Some(pair) => Err(nodes[pair[0] as usize]),
        None => Ok(Some(order)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coords(len: usize) -> Coords {
        Coords::F32(vec![1.0; len].into())
    }

    #[test]
    fn nodes_in_any_order_are_found() {
        let patch = LocalPatch::new("p", vec![9, 2, 5].into(), coords(3), 1).unwrap();
        assert_eq!([0, 1, 2].map(|position| patch.node_at(position)), [2, 5, 9]);
        assert_eq!([0, 1, 2].map(|position| patch.row_at(position)), [1, 2, 0]);
        assert_eq!(
            [0..=1, 2..=5, 3..=8, 9..=9].map(|nodes| patch.positions(nodes)),
            [0..0, 0..2, 1..2, 2..3]
        );
        assert_eq!(patch.positions(6..=u64::MAX), 2..3);
    }

    #[test]
    fn rows_are_used_where_they_lie_if_they_can_be() {
        let values = || Coords::F32(vec![1.0, 2.0, 3.0].into());
        let ascending = LocalPatch::new("p", vec![2, 5, 9].into(), values(), 1).unwrap();
        assert!(matches!(ascending.rows_at::<f32>(1..3), Cow::Borrowed([2.0, 3.0])));
        assert_eq!(*ascending.rows_at::<f64>(1..3), [2.0, 3.0]);
        let shuffled = LocalPatch::new("p", vec![9, 2, 5].into(), values(), 1).unwrap();
        assert_eq!(*shuffled.rows_at::<f32>(0..3), [2.0, 3.0, 1.0]);
    }

    #[test]
    fn wrong_lengths_and_duplicates_are_named() {
        let error = LocalPatch::new("p", vec![1, 2].into(), coords(3), 1).unwrap_err();
        assert_eq!(error.to_string(), "embedding of patch `p` has 3 rows, but the patch has 2 nodes");
        let error = LocalPatch::new("p", vec![4, 2, 4].into(), coords(3), 1).unwrap_err();
        assert_eq!(error.to_string(), "node 4 stands twice in patch `p`");
        let patch = LocalPatch::new("p", vec![4, 2].into(), coords(2), 1).unwrap();
        let error = patch.clone().with_weights(vec![1.0].into()).unwrap_err();
        assert_eq!(error.to_string(), "patch `p` has 1 node weights, but 2 nodes");
        let error = patch.with_weights(vec![1.0, -1.0].into()).unwrap_err();
        assert_eq!(error.to_string(), "weight -1 of node 2 in patch `p` is negative or not finite");
    }

    #[test]
    fn coordinates_that_are_not_finite_are_named() {
        let coords = Coords::F64(vec![1.0, f64::NAN].into());
        let patch = LocalPatch::new("p", vec![4, 2].into(), coords, 1).unwrap();
        patch.push_row(0, &mut Vec::<f64>::new()).unwrap();
        let error = patch.push_row(1, &mut Vec::<f64>::new()).unwrap_err();
        assert_eq!(error.to_string(), "node 2 of patch `p` has a coordinate that is NaN or infinite");
    }
}
