//! Communities of high modularity, as many as there are.
//!
//! Nodes move one by one to the neighbouring community where the gain is largest,
//!
//! ```text
//! gain(v -> C) = w(v, C) - resolution * k_v * K_C / 2m,
//! ```
//!
//! with `w(v, C)` the weight between `v` and `C`, `k_v` the degree of `v`, `K_C` the sum
//! of degrees in `C` without `v`, and `2m` the sum of all degrees. When no move gains, communities become
//! the nodes of a smaller graph, and it starts again, until nothing moves. If there are
//! more communities than clusters asked for, the smallest are merged into the neighbours
//! closest to them; if there are fewer, there are fewer.
//!
//! Cost: close to `O(m)` time a level in practice; 12 bytes an entry for a copy of the
//! graph.
//!
//! Source: Blondel, Guillaume, Lambiotte, Lefebvre, "Fast unfolding of communities in
//! large networks", J. Stat. Mech. P10008, 2008.

use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::cluster_sums::ClusterSums;
use super::merge::merge_down_to;
use super::{Partition, PartitionError, PartitionTask, Partitioner};
use crate::graph::Graph;
use crate::progress::Progress;
use crate::seed::{Seed, Stage};

/// The settings of the Louvain method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Louvain {
    /// Above 1 for more and smaller communities, below 1 for fewer and larger ones.
    pub resolution: f64,
    /// How often all nodes are looked at on one level, at most.
    pub rounds: usize,
}

impl Default for Louvain {
    fn default() -> Self {
        Self { resolution: 1.0, rounds: 30 }
    }
}

impl Partitioner for Louvain {
    fn partition(&self, graph: &Graph, task: &PartitionTask<'_>) -> Result<Partition, PartitionError> {
        let &PartitionTask { num_clusters, seed, progress } = task;
        self.check(graph)?;
        let mut level = Level::of(graph);
        let mut communities: Vec<u32> = (0..graph.num_nodes() as u32).collect();
        for depth in 0.. {
            progress.begin("partition (louvain)", 0, "moves");
            let moved_to = self.move_nodes(&level, seed, depth, progress)?;
            progress.end();
            let joined = Partition::from_labels(moved_to);
            communities.iter_mut().for_each(|node| *node = joined.clusters()[*node as usize]);
            if joined.num_clusters() == level.num_nodes() {
                break;
            }
            level = level.contract(&joined);
        }
        Ok(merge_down_to(graph, Partition::from_labels(communities), num_clusters))
    }
}

impl Louvain {
    fn check(&self, graph: &Graph) -> Result<(), PartitionError> {
        if u32::try_from(graph.num_nodes()).is_err() {
            let (what, found) = ("nodes", graph.num_nodes());
            return Err(PartitionError::TooLarge { method: "louvain", what, found, limit: u32::MAX });
        }
        match self.resolution > 0.0 && self.resolution.is_finite() {
            true => Ok(()),
            false => Err(PartitionError::Setting {
                key: "resolution",
                found: self.resolution.to_string(),
                needed: "above 0",
            }),
        }
    }

    /// The community of each node of a level once no move gains any more.
    fn move_nodes(
        &self,
        level: &Level,
        seed: Seed,
        depth: u64,
        progress: &dyn Progress,
    ) -> Result<Vec<u32>, PartitionError> {
        let mut state = Communities::singletons(level, self.resolution);
        let mut order: Vec<u32> = (0..level.num_nodes() as u32).collect();
        order.shuffle(&mut seed.stream(Stage::Partition, depth));
        let mut due = vec![true; order.len()];
        for _ in 0..self.rounds.max(1) {
            let mut moved = 0;
            for &node in &order {
                if std::mem::take(&mut due[node as usize]) && state.move_to_best(node) {
                    moved += 1;
                    level.row(node).for_each(|(to, _)| due[to as usize] = true);
                }
            }
            progress.advance(moved);
            if progress.is_cancelled() {
                return Err(PartitionError::Cancelled);
            }
            if moved == 0 {
                break;
            }
        }
        Ok(state.community)
    }
}

/// A weighted graph whose nodes stand for groups of nodes; loops are inside the degrees.
struct Level {
    offsets: Vec<usize>,
    targets: Vec<u32>,
    weights: Vec<f64>,
    degrees: Vec<f64>,
}

impl Level {
    fn of(graph: &Graph) -> Self {
        let mut level = Self::with_capacity(graph.num_nodes(), graph.num_directed_edges());
        for node in graph.nodes() {
            let weights = graph.neighbor_weights(node);
            let weight = |position: usize| weights.map_or(1.0, |weights| f64::from(weights[position]));
            let row = graph.neighbors(node).enumerate().map(|(position, to)| (to.0 as u32, weight(position)));
            level.push_row(node.0 as u32, row);
        }
        level
    }

    fn with_capacity(num_nodes: usize, num_entries: usize) -> Self {
        let mut offsets = Vec::with_capacity(num_nodes + 1);
        offsets.push(0);
        Self {
            offsets,
            targets: Vec::with_capacity(num_entries),
            weights: Vec::with_capacity(num_entries),
            degrees: Vec::with_capacity(num_nodes),
        }
    }

    fn push_row(&mut self, node: u32, row: impl Iterator<Item = (u32, f64)>) {
        let mut degree = 0.0;
        for (to, weight) in row {
            degree += weight;
            if to != node {
                self.targets.push(to);
                self.weights.push(weight);
            }
        }
        self.degrees.push(degree);
        self.offsets.push(self.targets.len());
    }

    fn num_nodes(&self) -> usize {
        self.degrees.len()
    }

    fn row(&self, node: u32) -> impl Iterator<Item = (u32, f64)> + '_ {
        let range = self.offsets[node as usize]..self.offsets[node as usize + 1];
        self.targets[range.clone()].iter().copied().zip(self.weights[range].iter().copied())
    }

    /// The graph whose nodes are the groups.
    fn contract(&self, groups: &Partition) -> Self {
        let members = groups.members();
        let mut contracted = Self::with_capacity(groups.num_clusters(), 0);
        let mut sums = vec![0.0; groups.num_clusters()];
        let mut touched = Vec::new();
        for group in 0..groups.num_clusters() as u32 {
            // What stays inside, loops of earlier levels included, only counts as degree.
            let mut inside: f64 = members.of(group).map(|node| self.degrees[node.index()]).sum::<f64>();
            for (to, weight) in members.of(group).flat_map(|node| self.row(node.0 as u32)) {
                let other = groups.clusters()[to as usize];
                if other == group {
                    continue;
                }
                if sums[other as usize] == 0.0 {
                    touched.push(other);
                }
                sums[other as usize] += weight;
                inside -= weight;
            }
            touched.sort_unstable();
            let row = touched.drain(..).map(|other| (other, std::mem::take(&mut sums[other as usize])));
            contracted.push_row(group, std::iter::once((group, inside)).chain(row));
        }
        contracted
    }
}

/// The communities of a level while its nodes move.
struct Communities<'a> {
    level: &'a Level,
    /// `resolution / 2m`.
    scale: f64,
    community: Vec<u32>,
    /// The sum of degrees of each community.
    totals: Vec<f64>,
    /// The weight of the current node's edges into each community.
    sums: ClusterSums<f64>,
}

impl<'a> Communities<'a> {
    fn singletons(level: &'a Level, resolution: f64) -> Self {
        let total: f64 = level.degrees.iter().sum();
        Self {
            level,
            scale: if total > 0.0 { resolution / total } else { 0.0 },
            community: (0..level.num_nodes() as u32).collect(),
            totals: level.degrees.clone(),
            sums: ClusterSums::new(level.num_nodes()),
        }
    }

    /// Moves a node to the community with the largest gain; tells whether it moved.
    fn move_to_best(&mut self, node: u32) -> bool {
        // Gains closer than this are equal but for rounding.
        const TOLERANCE: f64 = 1e-10;
        let home = self.community[node as usize];
        let degree = self.level.degrees[node as usize];
        for (to, weight) in self.level.row(node) {
            self.sums.add(self.community[to as usize], weight);
        }
        self.totals[home as usize] -= degree;
        let gain = |community: u32, sum: f64| sum - self.scale * degree * self.totals[community as usize];
        let mut best = home;
        let mut best_gain = gain(home, self.sums.of(home));
        for (community, sum) in self.sums.iter() {
            let gain = gain(community, sum);
            if gain > best_gain + TOLERANCE * degree {
                (best, best_gain) = (community, gain);
            }
        }
        self.sums.clear();
        self.totals[best as usize] += degree;
        self.community[node as usize] = best;
        best != home
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{BuildOptions, EdgeList, build};

    fn ring_of_cliques(num_cliques: u32, size: u32) -> Graph {
        let mut pairs = Vec::new();
        for clique in 0..num_cliques {
            let first = clique * size;
            pairs.extend((0..size).flat_map(|a| (0..a).map(move |b| [first + a, first + b])));
            pairs.push([first, (first + size) % (num_cliques * size)]);
        }
        build(EdgeList::from_pairs(pairs), (num_cliques * size) as usize, &BuildOptions::default()).graph
    }

    #[test]
    fn cliques_are_communities() {
        let found = Louvain::default()
            .partition(&ring_of_cliques(8, 6), &PartitionTask::silent(48, Seed(2)))
            .unwrap();
        assert_eq!(found.sizes(), [6; 8]);
    }

    #[test]
    fn communities_are_merged_to_the_number_asked_for() {
        let found =
            Louvain::default().partition(&ring_of_cliques(8, 6), &PartitionTask::silent(3, Seed(2))).unwrap();
        assert_eq!(found.num_clusters(), 3);
    }

    #[test]
    fn contraction_keeps_degrees_and_weights() {
        let level = Level::of(&ring_of_cliques(4, 3));
        let contracted = level.contract(&Partition::from_labels((0..12).map(|node| node / 3).collect()));
        assert_eq!(contracted.degrees, [8.0; 4]);
        assert!(contracted.row(0).eq([(1, 1.0), (3, 1.0)]));
    }

    #[test]
    fn a_graph_without_edges_stays_apart() {
        let graph = build(EdgeList::<u32>::new(), 4, &BuildOptions::default()).graph;
        assert_eq!(
            Louvain::default().partition(&graph, &PartitionTask::silent(2, Seed(1))).unwrap().num_clusters(),
            4
        );
    }
}
