//! Communities with any degrees: the degree-corrected block model.
//!
//! Node `u` has an expected degree `θᵤ` and a community `g(u)`. The number of edges
//! between `u` and `v` is Poisson with mean
//!
//! ```text
//! λᵤᵥ = θᵤ θᵥ · ( (1-μ) · [g(u) = g(v)] / κ_g  +  μ / κ ),
//! ```
//!
//! with `κ_g` the total `θ` of a community and `κ` of all nodes. So a node has degree
//! `θᵤ` in expectation; the share `1-μ` of its edges stays in its community, and the
//! share `μ`, the mixing, goes anywhere in proportion to `θ`, which includes its own
//! community: the share of edges between communities is `μ (1 - Σ_g (κ_g/κ)²)`.
//!
//! Node `u` draws its edges to all `v > u` at once: their number is Poisson with mean
//! `Σ_{v>u} λᵤᵥ`, and each chooses its end in proportion to `λᵤᵥ`. Loops are left out
//! and repeated edges count once, so that counts are a little below expectation, most
//! for hubs. Communities are equally large, up to one node, and spread at random over
//! the node numbers.
//!
//! Cost: `O(n + m)` time, `O(n)` memory (some 40 bytes a node).
//!
//! Source: Karrer, Newman, "Stochastic blockmodels and community structure in
//! networks", Phys. Rev. E 83, 2011 (with the mixture of its equation 29).

use std::sync::Arc;

use rand::seq::SliceRandom;
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use super::cumulative::Cumulative;
use super::{
    ClassFeatures, Degrees, EdgeSource, FeatureSource, GenerateError, Generator, Purpose, SyntheticGraph,
    check, check_nodes, check_share, poisson, rows_per_chunk,
};
use crate::graph::Labels;
use crate::grouping::Grouped;
use crate::seed::{Seed, Stage};

/// Settings of a degree-corrected block model. Labels are the communities.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BlockModel {
    /// The number of nodes.
    pub nodes: usize,
    /// The number of communities, equally large.
    pub communities: usize,
    /// The expected degree, averaged over all nodes.
    pub mean_degree: f64,
    /// The share of edges that ignore communities: 0 keeps all edges inside, 1 leaves
    /// no trace of the communities.
    pub mixing: f64,
    /// How degrees are spread over the nodes.
    pub degrees: Degrees,
    /// Features that tell the community, if any.
    pub features: Option<ClassFeatures>,
}

impl Default for BlockModel {
    fn default() -> Self {
        Self {
            nodes: 1000,
            communities: 10,
            mean_degree: 10.0,
            mixing: 0.2,
            degrees: Degrees::Uniform,
            features: None,
        }
    }
}

impl Generator for BlockModel {
    fn prepare(&self, seed: Seed) -> Result<SyntheticGraph, GenerateError> {
        check_nodes(self.nodes)?;
        let communities_fit = (1..=self.nodes.min(i32::MAX as usize)).contains(&self.communities);
        let needed = || format!("a number from 1 to the number of nodes, {}", self.nodes);
        check(communities_fit, "communities", self.communities, needed())?;
        check_share("mixing", self.mixing)?;

        let mut random = Purpose::Nodes.seed(seed).stream(Stage::Generate, 0);
        let communities = self.draw_communities(&mut random);
        let community_degree = self.mean_degree * self.nodes as f64 / self.communities as f64;
        let theta = self.degrees.draw(self.nodes, self.mean_degree, community_degree.sqrt(), &mut random)?;
        let features = match &self.features {
            Some(settings) => Some(settings.prepare(communities.clone(), self.communities, seed)?),
            None => None,
        };
        let labels: Vec<i32> = communities.iter().map(|&community| community as i32).collect();
        Ok(SyntheticGraph {
            num_nodes: self.nodes,
            labels: Some(Labels::single(labels.into(), Vec::new())),
            edges: Box::new(BlockEdges::new(self, communities, &theta, seed)),
            features: features.map(|words| Box::new(words) as Box<dyn FeatureSource>),
        })
    }
}

impl BlockModel {
    fn draw_communities(&self, random: &mut impl Rng) -> Arc<[u32]> {
        let mut communities: Vec<u32> =
            (0..self.nodes).map(|node| (node % self.communities) as u32).collect();
        communities.shuffle(random);
        communities.into()
    }
}

/// The edges of a block model, ready to be drawn.
struct BlockEdges {
    /// The community of each node.
    communities: Arc<[u32]>,
    /// Nodes by community, ascending within each.
    members: Vec<u32>,
    /// Where each community begins among the members; one more entry than communities.
    starts: Vec<usize>,
    /// Expected degrees in the order of the members.
    inside: Cumulative,
    /// Expected degrees in the order of the nodes.
    anywhere: Cumulative,
    mixing: f64,
    rows_per_chunk: usize,
    seed: Seed,
}

impl BlockEdges {
    fn new(model: &BlockModel, communities: Arc<[u32]>, theta: &[f64], seed: Seed) -> Self {
        let by_community = communities.iter().map(|&community| community as usize);
        let (starts, members) = Grouped::new(model.communities, by_community.zip(0_u32..)).into_parts();
        Self {
            communities,
            inside: Cumulative::new(members.iter().map(|&node| theta[node as usize])),
            anywhere: Cumulative::new(theta.iter().copied()),
            members,
            starts,
            mixing: model.mixing,
            rows_per_chunk: rows_per_chunk(model.mean_degree),
            seed: Purpose::Edges.seed(seed),
        }
    }

    /// The larger neighbours of one node, ascending, each once.
    fn draw_row(&self, node: usize, random: &mut impl Rng, row: &mut Vec<u32>) {
        let community = self.communities[node] as usize;
        let (start, end) = (self.starts[community], self.starts[community + 1]);
        let later = start + self.members[start..end].partition_point(|&member| member as usize <= node);
        let num_nodes = self.communities.len();

        let theta = self.anywhere.weight(node);
        let share_inside = self.inside.weight_between(later, end) / self.inside.weight_between(start, end);
        let share_anywhere =
            self.anywhere.weight_between(node + 1, num_nodes) / self.anywhere.weight_between(0, num_nodes);
        let mean_inside = theta * (1.0 - self.mixing) * share_inside;
        let mean_anywhere = theta * self.mixing * share_anywhere;

        row.clear();
        for _ in 0..poisson(mean_inside + mean_anywhere, random) {
            let at = random.random::<f64>() * (mean_inside + mean_anywhere);
            row.push(match at < mean_inside || mean_anywhere == 0.0 {
                true => self.members[self.inside.choose(later, end, at / mean_inside)],
                false => self.anywhere.choose(node + 1, num_nodes, (at - mean_inside) / mean_anywhere) as u32,
            });
        }
        row.sort_unstable();
        row.dedup();
    }
}

impl EdgeSource for BlockEdges {
    fn num_chunks(&self) -> usize {
        self.communities.len().div_ceil(self.rows_per_chunk)
    }

    fn chunk(&self, index: usize) -> Vec<[u64; 2]> {
        let mut random = self.seed.stream(Stage::Generate, index as u64);
        let first = index * self.rows_per_chunk;
        let last = self.communities.len().min(first + self.rows_per_chunk);
        let (mut pairs, mut row) = (Vec::new(), Vec::new());
        for node in first..last {
            self.draw_row(node, &mut random, &mut row);
            pairs.extend(row.iter().map(|&target| [node as u64, u64::from(target)]));
        }
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;
    use crate::graph::labels::LabelKind;
    use crate::graph::{Graph, NodeId};

    fn classes(graph: &Graph) -> Vec<i32> {
        match graph.labels().unwrap().kind() {
            LabelKind::Single(classes) => classes.to_vec(),
            LabelKind::Multi(_) => panic!("communities are disjoint"),
        }
    }

    /// The share of edges that join two communities.
    fn share_between(graph: &Graph) -> f64 {
        let classes = classes(graph);
        let between = |node: NodeId| {
            let class = classes[node.index()];
            graph.neighbors(node).filter(|other| classes[other.index()] != class).count()
        };
        graph.nodes().map(between).sum::<usize>() as f64 / graph.num_directed_edges() as f64
    }

    #[test]
    fn degree_and_mixing_are_as_expected() {
        for (mixing, degrees) in [
            (0.0, Degrees::Uniform),
            (0.3, Degrees::Uniform),
            (0.3, Degrees::PowerLaw { exponent: 2.5, max_degree: None }),
            (1.0, Degrees::Uniform),
        ] {
            let model = BlockModel {
                nodes: 20_000,
                communities: 5,
                mean_degree: 12.0,
                mixing,
                degrees,
                features: None,
            };
            let graph = generate(&model, Seed(3)).unwrap();
            let mean = graph.num_directed_edges() as f64 / 20_000.0;
            assert!((mean - 12.0).abs() < 0.35, "mixing {mixing}, {degrees:?}: mean degree {mean}");
            let between = share_between(&graph);
            let expected = mixing * (1.0 - 1.0 / 5.0);
            assert!((between - expected).abs() < 0.01, "mixing {mixing}, {degrees:?}: {between} between");
        }
    }

    #[test]
    fn a_node_has_its_expected_degree() {
        // Averaged over many seeds, early and late nodes alike.
        let model =
            BlockModel { nodes: 60, communities: 3, mean_degree: 6.0, mixing: 0.5, ..Default::default() };
        let mut degrees = vec![0; 60];
        for seed in 0..400 {
            let graph = generate(&model, Seed(seed)).unwrap();
            graph.nodes().for_each(|node| degrees[node.index()] += graph.degree(node));
        }
        // Loops and repeats cost up to a tenth in so small a graph; all nodes the same.
        let mean = degrees.iter().sum::<usize>() as f64 / 60.0;
        assert!((5.2..5.9).contains(&(mean / 400.0)), "mean {}", mean / 400.0);
        for (node, &degree) in degrees.iter().enumerate() {
            assert!((degree as f64 / mean - 1.0).abs() < 0.08, "node {node}: {degree}, mean {mean}");
        }
    }

    #[test]
    fn communities_are_equally_large_and_spread_over_the_numbers() {
        let model = BlockModel { nodes: 1003, communities: 10, ..Default::default() };
        let classes = classes(&generate(&model, Seed(4)).unwrap());
        let size = |class| classes.iter().filter(|&&found| found == class).count();
        assert!((0..10).all(|class| (100..=101).contains(&size(class))));
        let first_half = |class| classes[..500].iter().filter(|&&found| found == class).count();
        assert!((0..10).all(|class| (25..=75).contains(&first_half(class))));
    }

    #[test]
    fn degenerate_sizes_work() {
        for (nodes, communities) in [(1, 1), (2, 1), (2, 2), (3, 3)] {
            let model = BlockModel { nodes, communities, mean_degree: 1.0, ..Default::default() };
            assert_eq!(generate(&model, Seed(0)).unwrap().num_nodes(), nodes);
        }
    }

    #[test]
    fn impossible_settings_are_refused() {
        let refused = |model: BlockModel| model.prepare(Seed(0)).unwrap_err().to_string();
        let model = BlockModel::default();
        assert_eq!(
            refused(BlockModel { nodes: 0, ..model.clone() }),
            "nodes is 0, needed a number from 1 to 2^32"
        );
        assert_eq!(
            refused(BlockModel { communities: 1001, ..model.clone() }),
            "communities is 1001, needed a number from 1 to the number of nodes, 1000"
        );
        assert_eq!(
            refused(BlockModel { mixing: 1.5, ..model }),
            "mixing is 1.5, needed a number from 0 to 1"
        );
    }
}
