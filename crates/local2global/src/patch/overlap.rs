//! Algorithm 2: grow clusters into patches that overlap.
//!
//! Patch `i` is cluster `i` and, from each cluster `j` it is joined with, between `l/2`
//! and `u/2` nodes, breadth first from the border: first the nodes of `j` with a
//! neighbour in cluster `i`, then their neighbours within `j`, and so on, until there are
//! `l/2`. A layer that would exceed `u/2` is cut down at random. Both patches of an edge
//! do so, which makes the overlap at least `l`.
//!
//! The bounds `l` and `u` may depend on the cluster that is taken from.
//!
//! Where the layers end before `l/2`, because no more of `j` can be reached, the box of
//! the paper would loop for ever; here growth goes on from a random unused node of `j`.
//!
//! Cost: one pass over the edges to find the borders, then the rows of the nodes taken;
//! memory 4 bytes a node taken and, for each thread, 4 bytes a patch. Patch `i` draws from
//! its own generator, so it does not depend on threads.

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::{OverlapBounds, PatchGraph, PatchId};
use crate::graph::{Graph, NodeId, NodeLists};
use crate::partition::{Members, Partition};
use crate::seed::{Seed, Stage};

/// So many patches grow before what they took is put with the rest.
const PATCHES_AT_ONCE: usize = 1 << 10;

/// Marks a cluster that the patch at hand is not joined with.
const NOT_JOINED: u32 = u32::MAX;

/// The nodes that each patch takes from other clusters, ascending.
///
/// `bounds` are those of what is taken from each cluster, which must have at least `half_min()`
/// nodes where it has neighbours.
pub fn grow_all(
    graph: &Graph,
    partition: &Partition,
    members: &Members,
    patch_graph: &PatchGraph,
    bounds: &[OverlapBounds],
    seed: Seed,
) -> NodeLists {
    let neighbors = patch_graph.neighbors();
    let growth = Growth { graph, partition, members, bounds };
    let mut lists = NodeLists::new(graph.num_nodes());
    for (group, joined) in neighbors.chunks(PATCHES_AT_ONCE).enumerate() {
        let first = group * PATCHES_AT_ONCE;
        let grown: Vec<Vec<NodeId>> = joined
            .par_iter()
            .enumerate()
            .map_init(
                || vec![NOT_JOINED; neighbors.len()],
                |slots, (index, joined)| {
                    let patch = first + index;
                    let mut random = seed.stream(Stage::Overlap, patch as u64);
                    growth.grow(PatchId(patch as u32), joined, slots, &mut random)
                },
            )
            .collect();
        grown.into_iter().for_each(|taken| lists.push(taken));
    }
    lists.shrink();
    lists
}

/// What all patches grow from.
struct Growth<'a> {
    graph: &'a Graph,
    partition: &'a Partition,
    members: &'a Members,
    bounds: &'a [OverlapBounds],
}

impl Growth<'_> {
    fn grow(
        &self,
        patch: PatchId,
        joined: &[PatchId],
        slots: &mut [u32],
        random: &mut ChaCha8Rng,
    ) -> Vec<NodeId> {
        let mut taken = Vec::new();
        joined.iter().zip(0..).for_each(|(other, slot)| slots[other.index()] = slot);
        let borders = self.borders(patch, joined.len(), slots);
        joined.iter().for_each(|other| slots[other.index()] = NOT_JOINED);
        for (&other, border) in joined.iter().zip(borders) {
            taken.extend(self.take(other, border, random));
        }
        taken.sort_unstable();
        taken
    }

    /// For each joined cluster its nodes with a neighbour in the cluster of the patch, ascending.
    fn borders(&self, patch: PatchId, num_joined: usize, slots: &[u32]) -> Vec<Vec<NodeId>> {
        let mut borders = vec![Vec::new(); num_joined];
        if num_joined == 0 {
            return borders;
        }
        for node in self.members.of(patch.0) {
            for to in self.graph.neighbors(node) {
                let slot = slots[self.partition.cluster_of(to) as usize];
                if slot != NOT_JOINED {
                    borders[slot as usize].push(to);
                }
            }
        }
        borders.iter_mut().for_each(|border| {
            border.sort_unstable();
            border.dedup();
        });
        borders
    }

    /// The nodes to take from a cluster, breadth first from its border.
    fn take(&self, cluster: PatchId, border: Vec<NodeId>, random: &mut ChaCha8Rng) -> Vec<NodeId> {
        let bounds = self.bounds[cluster.index()];
        let (enough, limit) = (bounds.half_min(), bounds.half_max());
        // Looked up, never iterated.
        let mut seen: FxHashSet<NodeId> = border.iter().copied().collect();
        let mut taken: Vec<NodeId> = Vec::new();
        let mut layer = border;
        let mut unused: Option<Vec<NodeId>> = None;
        while taken.len() < enough {
            if layer.is_empty() {
                let unused = unused.get_or_insert_with(|| self.shuffled(cluster, random));
                let fresh = std::iter::from_fn(|| unused.pop()).find(|&node| seen.insert(node));
                layer.push(fresh.expect("a joined cluster has half the overlap"));
            }
            let room = limit - taken.len();
            if layer.len() > room {
                // What is cut off may not come again, and need not: this is the last layer.
                layer = layer.partial_shuffle(random, room).0.to_vec();
            }
            let start = taken.len();
            taken.append(&mut layer);
            if taken.len() < enough {
                layer = self.next_layer(cluster, &taken[start..], &mut seen);
            }
        }
        taken
    }

    fn shuffled(&self, cluster: PatchId, random: &mut ChaCha8Rng) -> Vec<NodeId> {
        let mut nodes: Vec<NodeId> = self.members.of(cluster.0).collect();
        nodes.shuffle(random);
        nodes
    }

    /// The neighbours of a layer in the cluster that were not seen before.
    fn next_layer(&self, cluster: PatchId, layer: &[NodeId], seen: &mut FxHashSet<NodeId>) -> Vec<NodeId> {
        let around = layer.iter().flat_map(|&node| self.graph.neighbors(node));
        around.filter(|&to| self.partition.cluster_of(to) == cluster.0 && seen.insert(to)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{BuildOptions, EdgeList, build};
    use crate::patch::lists::PatchLists;

    fn grown(edges: &[[u32; 2]], labels: Vec<u32>, bounds: [usize; 2], seed: u64) -> Vec<Vec<u64>> {
        let graph = build(EdgeList::from_pairs(edges.to_vec()), labels.len(), &BuildOptions::default()).graph;
        let partition = Partition::from_labels(labels);
        let patch_graph = PatchGraph::new(2, [[PatchId(0), PatchId(1)]]);
        let bounds = [OverlapBounds { min: bounds[0], max: bounds[1] }; 2];
        let further = grow_all(&graph, &partition, &partition.members(), &patch_graph, &bounds, Seed(seed));
        let lists = PatchLists::new(&partition, partition.members(), further);
        let nodes = |patch| lists.nodes_of(patch).iter().map(|node| node.0).collect();
        (0..2).map(nodes).collect()
    }

    #[test]
    fn a_path_grows_layer_by_layer() {
        let path: Vec<[u32; 2]> = (1..10).map(|node| [node - 1, node]).collect();
        let patches = grown(&path, vec![0, 0, 0, 0, 0, 1, 1, 1, 1, 1], [4, 4], 1);
        assert_eq!(patches, [vec![0, 1, 2, 3, 4, 5, 6], vec![3, 4, 5, 6, 7, 8, 9]]);
    }

    #[test]
    fn a_wide_border_is_cut_down_at_random() {
        // A complete bipartite graph: every node of the other side is on the border.
        let edges: Vec<[u32; 2]> = (0..20).flat_map(|a| (20..40).map(move |b| [a, b])).collect();
        let labels: Vec<u32> = (0..40).map(|node| node / 20).collect();
        let one = grown(&edges, labels.clone(), [4, 10], 1);
        assert_eq!(one.iter().map(Vec::len).collect::<Vec<_>>(), [25, 25]);
        assert_ne!(one, grown(&edges, labels.clone(), [4, 10], 2));
        assert_eq!(one, grown(&edges, labels, [4, 10], 1));
    }

    #[test]
    fn growth_goes_on_where_nothing_can_be_reached() {
        // Each cluster: one node on the border, and others that are isolated.
        let labels = vec![0, 0, 0, 0, 1, 1, 1, 1];
        let patches = grown(&[[0, 4]], labels, [6, 8], 3);
        assert!(patches.iter().all(|nodes| nodes.len() == 7));
        assert!(patches[0].contains(&4) && patches[1].contains(&0));
    }

    #[test]
    fn a_whole_cluster_can_be_taken() {
        let patches = grown(&[[0, 2]], vec![0, 0, 1, 1], [4, 4], 3);
        assert_eq!(patches, [[0, 1, 2, 3], [0, 1, 2, 3]]);
    }
}
