//! What neighbours tell each other in a graph convolution.
//!
//! ```text
//! P = D^-1/2 (A + I) D^-1/2,    D = row sums of A + I
//! ```
//!
//! Convention: edges count in both directions, whatever the graph says, so `P` is
//! symmetric and propagates values and gradients alike. Edge weights are used where
//! there are any (the larger of the two directions); a loop of the graph is replaced
//! by the one of `I`.
//! Cost: `O(nodes + edges)`, once.
//!
//! Source: Kipf, Welling, "Semi-supervised classification with graph convolutional
//! networks", ICLR 2017.

use super::SparseMatrix;
use crate::graph::Graph;
use crate::linalg::real::Real;

/// The neighbours of each node: both directions, each once, without loops.
#[derive(Clone, Debug, PartialEq)]
pub struct Adjacency {
    pub(super) offsets: Vec<usize>,
    pub(super) nodes: Vec<u32>,
}

impl Adjacency {
    /// The neighbours in a graph.
    ///
    /// # Panics
    /// If the graph has 2³² nodes or more.
    pub fn new(graph: &Graph) -> Self {
        let (neighbors, _) = weighted_neighbors(graph);
        neighbors
    }

    /// The number of nodes.
    pub fn num_nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The number of edges, each counted once.
    pub fn num_edges(&self) -> usize {
        self.nodes.len() / 2
    }

    /// Where the neighbours of each node begin in [`Adjacency::nodes`].
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The neighbours of all nodes, one after the other.
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// The neighbours of one node, ascending.
    #[inline(always)]
    pub fn of(&self, node: usize) -> &[u32] {
        &self.nodes[self.offsets[node]..self.offsets[node + 1]]
    }
}

/// The neighbours in a graph, and the matrix `P` that propagates between them.
pub fn propagation<F: Real>(graph: &Graph) -> (Adjacency, SparseMatrix<F>) {
    let (neighbors, weights) = weighted_neighbors(graph);
    let matrix = matrix_between(&neighbors, weights.as_deref());
    (neighbors, matrix)
}

/// The matrix `P` that propagates between neighbours; `weights` are those of the entries of
/// [`Adjacency::nodes`], all 1 if there are none.
pub fn matrix_between<F: Real>(neighbors: &Adjacency, weights: Option<&[f32]>) -> SparseMatrix<F> {
    let weight = |k: usize| weights.map_or(1.0, |weights| f64::from(weights[k]));
    let row = |node: usize| neighbors.offsets[node]..neighbors.offsets[node + 1];
    let degrees: Vec<f64> =
        (0..neighbors.num_nodes()).map(|node| 1.0 + row(node).map(weight).sum::<f64>()).collect();
    matrix_with_degrees(neighbors, weights, &degrees)
}

/// As [`matrix_between`], with other degrees than the row sums, for instance those in a larger
/// graph; they count the node itself.
pub fn matrix_with_degrees<F: Real>(
    neighbors: &Adjacency,
    weights: Option<&[f32]>,
    degrees: &[f64],
) -> SparseMatrix<F> {
    let weight = |k: usize| weights.map_or(1.0, |weights| f64::from(weights[k]));
    let row = |node: usize| neighbors.offsets[node]..neighbors.offsets[node + 1];
    let num_nodes = neighbors.num_nodes();
    let scales: Vec<f64> = degrees.iter().map(|degree| 1.0 / degree.sqrt()).collect();
    let mut offsets = vec![0];
    let mut columns = Vec::with_capacity(neighbors.nodes.len() + num_nodes);
    let mut values = Vec::with_capacity(columns.capacity());
    for node in 0..num_nodes {
        let mut push = |column: u32, weight: f64| {
            columns.push(column);
            values.push(F::of(weight * scales[node] * scales[column as usize]));
        };
        let below = neighbors.of(node).partition_point(|&other| (other as usize) < node);
        let (before, after) = row(node).split_at_offset(below);
        before.for_each(|k| push(neighbors.nodes[k], weight(k)));
        push(node as u32, 1.0);
        after.for_each(|k| push(neighbors.nodes[k], weight(k)));
        offsets.push(columns.len());
    }
    SparseMatrix::new(num_nodes, offsets, columns, values)
}

/// Splits a range in two.
trait SplitRange: Sized {
    fn split_at_offset(self, offset: usize) -> (Self, Self);
}

impl SplitRange for std::ops::Range<usize> {
    fn split_at_offset(self, offset: usize) -> (Self, Self) {
        let middle = self.start + offset;
        (self.start..middle, middle..self.end)
    }
}

/// The neighbours in a graph, and the weights of the edges to them, if it has weights.
///
/// # Panics
/// If the graph has 2³² nodes or more.
pub fn weighted_neighbors(graph: &Graph) -> (Adjacency, Option<Vec<f32>>) {
    let num_nodes = graph.num_nodes();
    assert!(u32::try_from(num_nodes).is_ok(), "a patch has fewer than 2^32 nodes");
    let mut entries: Vec<(u32, u32, f32)> = Vec::new();
    let mut rows = Adjacency { offsets: vec![0], nodes: Vec::with_capacity(graph.num_directed_edges()) };
    let mut weights = graph.weights().map(|weights| Vec::with_capacity(weights.len()));
    for node in graph.nodes() {
        let row_weights = graph.neighbor_weights(node);
        for (k, other) in graph.neighbors(node).enumerate().filter(|&(_, other)| other != node) {
            let weight = row_weights.map_or(1.0, |weights| weights[k]);
            match graph.is_symmetric() {
                true => rows.push(other.0 as u32, weight, &mut weights),
                false => {
                    entries.push((node.0 as u32, other.0 as u32, weight));
                    entries.push((other.0 as u32, node.0 as u32, weight));
                }
            }
        }
        if graph.is_symmetric() {
            rows.offsets.push(rows.nodes.len());
        }
    }
    if !graph.is_symmetric() {
        rows.fill(entries, num_nodes, &mut weights);
    }
    (rows, weights)
}

impl Adjacency {
    fn push(&mut self, node: u32, weight: f32, weights: &mut Option<Vec<f32>>) {
        self.nodes.push(node);
        if let Some(weights) = weights {
            weights.push(weight);
        }
    }

    /// Rows from entries in any order; of an entry named twice, the larger weight stays.
    fn fill(&mut self, mut entries: Vec<(u32, u32, f32)>, num_nodes: usize, weights: &mut Option<Vec<f32>>) {
        entries.sort_unstable_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(b.2.total_cmp(&a.2)));
        entries.dedup_by_key(|entry| (entry.0, entry.1));
        for &(node, other, weight) in &entries {
            self.offsets.resize(node as usize + 1, self.nodes.len());
            self.push(other, weight, weights);
        }
        self.offsets.resize(num_nodes + 1, self.nodes.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_normalised_by_degree() {
        let path = Graph::from_rows(vec![0, 1, 3, 4].into(), vec![1_u32, 0, 2, 1].into(), true).unwrap();
        let (neighbors, matrix) = propagation::<f64>(&path);
        assert_eq!((neighbors.num_nodes(), neighbors.num_edges()), (3, 2));
        let (columns, values) = matrix.row(1);
        assert_eq!(columns, [0, 1, 2]);
        let side = 1.0 / 6.0_f64.sqrt();
        for (value, expected) in values.iter().zip([side, 1.0 / 3.0, side]) {
            assert!((value - expected).abs() < 1e-15);
        }
    }

    #[test]
    fn direction_and_loops_do_not_matter() {
        let directed = Graph::from_rows(vec![0, 2, 3, 3].into(), vec![0_u32, 1, 2].into(), false).unwrap();
        let path = Graph::from_rows(vec![0, 1, 3, 4].into(), vec![1_u32, 0, 2, 1].into(), true).unwrap();
        assert_eq!(propagation::<f32>(&directed), propagation::<f32>(&path));
    }

    #[test]
    fn weights_enter_the_matrix() {
        let graph = Graph::from_rows(vec![0, 1, 2].into(), vec![1_u32, 0].into(), true).unwrap();
        let weighted = graph.with_weights(Some(vec![3.0, 3.0].into())).unwrap();
        let (_, matrix) = propagation::<f64>(&weighted);
        assert_eq!(matrix.row(0).1, [0.25, 0.75]);
    }

    #[test]
    fn a_node_alone_keeps_its_value() {
        let graph = Graph::from_rows(vec![0, 0].into(), Vec::<u32>::new().into(), true).unwrap();
        assert_eq!(propagation::<f64>(&graph).1.row(0), (&[0_u32][..], &[1.0][..]));
    }
}
