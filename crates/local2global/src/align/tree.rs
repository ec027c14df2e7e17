//! A spanning tree of the patch graph, and the frames it gives.
//!
//! Along a tree the relative rotations can be chained: `S_child = R S_parent`. That is
//! exact without noise and a good start with it. Noise adds up along the path from the
//! root, so the tree is one of shortest paths from the patch with the largest total
//! weight, where an edge of weight `w` has length `1 / w` (Dijkstra 1959).
//!
//! What the tree does not explain is the inconsistency of the cycles: every edge
//! outside the tree closes one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::relative::Relatives;
use crate::linalg::dense::{identity, multiply, view, view_mut};
use crate::linalg::disjoint_sets::DisjointSets;

/// A patch that hangs on another in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The patch nearer to the root.
    pub parent: u32,
    /// The patch.
    pub child: u32,
    /// The edge that joins them.
    pub edge: u32,
}

/// The patch to start from: the one with the largest total weight of edges.
fn root(num_patches: usize, edges: &[(u32, u32)], weights: &[f64]) -> u32 {
    let totals = total_weights(num_patches, edges, weights);
    (0..num_patches).fold(0, |best, patch| if totals[patch] > totals[best] { patch } else { best }) as u32
}

/// The sum of the weights of each patch's edges.
pub fn total_weights(num_patches: usize, edges: &[(u32, u32)], weights: &[f64]) -> Vec<f64> {
    let mut totals = vec![0.0; num_patches];
    for (&(i, j), weight) in edges.iter().zip(weights) {
        totals[i as usize] += weight;
        totals[j as usize] += weight;
    }
    totals
}

/// The shortest-path tree, parents before their children; shorter than the number of
/// patches less one if the patch graph is disconnected.
pub fn spanning_tree(num_patches: usize, edges: &[(u32, u32)], weights: &[f64]) -> Vec<Branch> {
    let mut neighbors = vec![Vec::new(); num_patches];
    for (edge, &(i, j)) in (0_u32..).zip(edges) {
        neighbors[i as usize].push((j, edge));
        neighbors[j as usize].push((i, edge));
    }
    let mut distances = vec![f64::INFINITY; num_patches];
    let mut branches = Vec::with_capacity(num_patches.saturating_sub(1));
    let mut reached = vec![None; num_patches];
    let mut done = vec![false; num_patches];
    let start = root(num_patches, edges, weights);
    distances[start as usize] = 0.0;
    // Distances are not negative, so their bits sort as they do; ties go by index.
    let mut queue = BinaryHeap::from([Reverse((0_u64, start))]);
    while let Some(Reverse((_, patch))) = queue.pop() {
        if std::mem::replace(&mut done[patch as usize], true) {
            continue;
        }
        branches.extend(reached[patch as usize]);
        for &(neighbor, edge) in &neighbors[patch as usize] {
            let distance = distances[patch as usize] + 1.0 / weights[edge as usize];
            if distance < distances[neighbor as usize] {
                distances[neighbor as usize] = distance;
                reached[neighbor as usize] = Some(Branch { parent: patch, child: neighbor, edge });
                queue.push(Reverse((distance.to_bits(), neighbor)));
            }
        }
    }
    branches
}

/// Chains the relative rotations along the tree, from the identity at its root.
pub fn frames(tree: &[Branch], relatives: &Relatives) -> Vec<f64> {
    let dim = relatives.dim;
    let size = dim * dim;
    let mut frames: Vec<f64> = identity(dim).repeat(relatives.num_patches);
    let mut frame = vec![0.0; size];
    for branch in tree {
        let rotation = view(relatives.rotation(branch.edge as usize), dim, dim);
        let parent = view(&frames[branch.parent as usize * size..][..size], dim, dim);
        // Rᵢⱼ leads from j to i.
        let child_first = relatives.edges[branch.edge as usize].0 == branch.child;
        let rotation = if child_first { rotation } else { rotation.transpose() };
        multiply(view_mut(&mut frame, dim, dim), rotation, parent);
        frames[branch.child as usize * size..][..size].copy_from_slice(&frame);
    }
    frames
}

/// For each patch the smallest patch that it is connected to, itself included.
pub fn component_of(num_patches: usize, edges: &[(u32, u32)]) -> Vec<usize> {
    let mut sets = DisjointSets::<u32>::new(num_patches);
    for &(i, j) in edges {
        sets.join(i as usize, j as usize);
    }
    (0..num_patches).map(|patch| sets.root(patch)).collect()
}

/// The number of connected components, and a patch outside that of the first one.
pub fn components(num_patches: usize, edges: &[(u32, u32)]) -> (usize, Option<usize>) {
    let component = component_of(num_patches, edges);
    let roots: Vec<usize> = (0..num_patches).filter(|&patch| component[patch] == patch).collect();
    (roots.len(), roots.get(1).copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_prefers_heavy_edges_and_short_paths() {
        // A square with one light side: the light edge is left out.
        let edges = [(0, 1), (1, 2), (2, 3), (0, 3)];
        let tree = spanning_tree(4, &edges, &[10.0, 10.0, 10.0, 1.0]);
        assert_eq!(tree.len(), 3);
        assert!(tree.iter().all(|branch| branch.edge != 3));
        assert_eq!(tree[0].parent, 1);
    }

    #[test]
    fn components_are_counted_and_an_outsider_named() {
        assert_eq!(components(4, &[(0, 1), (2, 3)]), (2, Some(2)));
        assert_eq!(components(3, &[(1, 2), (0, 2)]), (1, None));
        assert_eq!(components(1, &[]), (1, None));
        assert_eq!(spanning_tree(4, &[(0, 1), (2, 3)], &[1.0, 1.0]).len(), 1);
    }
}
