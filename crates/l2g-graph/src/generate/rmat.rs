//! Self-similar graphs with heavy-tailed degrees: R-MAT, undirected.
//!
//! A node of `2^s` is a number of `s` bits. An edge chooses the bits of its two ends
//! level by level, top first, from one table:
//!
//! ```text
//!              v: 0   1
//! q(uᵢ, vᵢ) = u: 0 [ a   b ]       a + 2b + d = 1,    p(u, v) = Πᵢ q(uᵢ, vᵢ)
//!                1 [ b   d ]
//! ```
//!
//! The table is symmetric, so that `p` is, and the two directions are one edge. The
//! number of edges between `u < v` is Poisson with mean `2 p(u, v)` times the number
//! of draws. A row then stands by itself: its edges part from `u` at some level `l`
//! where `u` has a 0 and `v` a 1, with mean
//!
//! ```text
//! Π_{i above l} q(uᵢ, uᵢ) · 2b · Π_{i below l} r(uᵢ),     r(0) = a + b,  r(1) = b + d,
//! ```
//!
//! and below that level each bit of `v` is 0 with probability `q(uᵢ, 0) / r(uᵢ)`.
//! Loops are left out and repeated edges count once: with the usual table and 16 draws
//! per node, a tenth or two of the draws. Hubs have low numbers.
//!
//! Cost: `O((n + m) log n)` time; memory for the list of chunks only.
//!
//! Source: Chakrabarti, Zhan, Faloutsos, "R-MAT: a recursive model for graph mining",
//! SDM 2004; the usual table (0.57, 0.19, 0.05) is that of the Graph500 benchmark.

use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use super::{
    CHUNK_EDGES, EdgeSource, GenerateError, Generator, Purpose, SyntheticGraph, check, check_nodes,
    check_share, poisson,
};
use crate::seed::{Seed, Stage};

/// Rows of one chunk at most, where edges are rare.
const MAX_CHUNK_BITS: u32 = 18;

/// Settings of an R-MAT graph. There are no labels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rmat {
    /// The number of nodes, a power of two.
    pub nodes: usize,
    /// The expected number of draws. The graph has fewer edges, because loops are left
    /// out and repeated edges count once.
    pub edges: usize,
    /// The share of edges within the first half of the nodes, on every level.
    pub a: f64,
    /// The share of edges from the first to the second half, and as many back.
    pub b: f64,
}

impl Default for Rmat {
    fn default() -> Self {
        Self { nodes: 1024, edges: 16 * 1024, a: 0.57, b: 0.19 }
    }
}

impl Generator for Rmat {
    fn prepare(&self, seed: Seed) -> Result<SyntheticGraph, GenerateError> {
        check_nodes(self.nodes)?;
        let (below, above) = (self.nodes.next_power_of_two() / 2, self.nodes.next_power_of_two());
        let needed = || format!("a power of two, such as {below} or {above}");
        check(self.nodes.is_power_of_two(), "nodes", self.nodes, needed())?;
        check_share("a", self.a)?;
        let needed = || format!("a number from 0 to (1 - a) / 2 = {}", (1.0 - self.a) / 2.0);
        check(self.b >= 0.0 && self.a + 2.0 * self.b <= 1.0 + 1e-12, "b", self.b, needed())?;
        Ok(SyntheticGraph {
            num_nodes: self.nodes,
            labels: None,
            edges: Box::new(RmatEdges::new(self, seed)),
            features: None,
        })
    }
}

/// The edges of an R-MAT graph, ready to be drawn.
struct RmatEdges {
    table: Table,
    num_bits: u32,
    num_draws: f64,
    chunks: Vec<RowBlock>,
    seed: Seed,
}

/// The table of bit pairs, and what follows from it.
#[derive(Clone, Copy)]
struct Table {
    /// `q(0, 0)` and `q(1, 1)`: both ends take the same bit.
    same: [f64; 2],
    /// `2b`: the ends part.
    part: f64,
    /// `r`: the share of edges whose first end takes this bit.
    row: [f64; 2],
    /// The probability that the second end takes a 0, given the bit of the first, as
    /// a share of 2³².
    zero: [u64; 2],
}

/// All rows that begin with the same bits.
#[derive(Clone, Copy)]
struct RowBlock {
    first: usize,
    num_bits: u32,
    /// `Π q(uᵢ, uᵢ)` over the bits the rows share.
    diagonal: f64,
    /// The mean of edges, per draw, that have already parted from the rows.
    parted: f64,
}

impl Table {
    fn new(a: f64, b: f64) -> Self {
        let d = (1.0 - a - 2.0 * b).max(0.0);
        let share = |zero: f64, one: f64| (zero / (zero + one) * 2_f64.powi(32)) as u64;
        Self { same: [a, d], part: 2.0 * b, row: [a + b, b + d], zero: [share(a, b), share(b, d)] }
    }

    /// The expected number of edges, per draw, from the rows of a block to larger nodes.
    fn mean(&self, block: &RowBlock) -> f64 {
        let loops = (self.same[0] + self.same[1]).powi(block.num_bits as i32);
        block.diagonal * (1.0 - loops) + block.parted
    }

    /// The rows of a block by their next bit.
    fn halves(&self, block: &RowBlock) -> [RowBlock; 2] {
        let num_bits = block.num_bits - 1;
        let half = |bit: usize, newly_parted: f64| RowBlock {
            first: block.first + (bit << num_bits),
            num_bits,
            diagonal: block.diagonal * self.same[bit],
            parted: block.parted * self.row[bit] + newly_parted,
        };
        [half(0, block.diagonal * self.part), half(1, 0.0)]
    }
}

impl RmatEdges {
    fn new(settings: &Rmat, seed: Seed) -> Self {
        let num_bits = settings.nodes.trailing_zeros();
        let mut edges = Self {
            table: Table::new(settings.a, settings.b),
            num_bits,
            num_draws: settings.edges as f64,
            chunks: Vec::new(),
            seed: Purpose::Edges.seed(seed),
        };
        edges.split(RowBlock { first: 0, num_bits, diagonal: 1.0, parted: 0.0 });
        edges
    }

    /// Splits rows until a block has few enough edges to be a chunk.
    fn split(&mut self, block: RowBlock) {
        let is_small =
            self.num_draws * self.table.mean(&block) <= CHUNK_EDGES && block.num_bits <= MAX_CHUNK_BITS;
        if is_small || block.num_bits == 0 {
            return self.chunks.push(block);
        }
        for half in self.table.halves(&block) {
            self.split(half);
        }
    }

    /// The larger neighbours of one node, ascending, each once.
    fn draw_row(&self, node: usize, random: &mut impl Rng, row: &mut Vec<u32>) {
        let parting = Parting::new(node, self.num_bits, &self.table);
        row.clear();
        for _ in 0..poisson(self.num_draws * parting.mean(), random) {
            let level = parting.level(random.random());
            let mut target = node >> level | 1;
            for below in (0..level).rev() {
                let bit = u64::from(random.next_u32()) >= self.table.zero[node >> below & 1];
                target = target << 1 | usize::from(bit);
            }
            row.push(target as u32);
        }
        row.sort_unstable();
        row.dedup();
    }
}

/// At which level the edges of a row part from its node, counted from the last bit.
struct Parting {
    /// Running sums of the means, from the last level up.
    sums: [f64; 33],
    num_bits: usize,
}

impl Parting {
    fn new(node: usize, num_bits: u32, table: &Table) -> Self {
        let num_bits = num_bits as usize;
        let mut above = [1.0; 33];
        for level in (0..num_bits).rev() {
            above[level] = above[level + 1] * table.same[node >> level & 1];
        }
        let mut sums = [0.0; 33];
        let mut below = 1.0;
        for level in 0..num_bits {
            let bit = node >> level & 1;
            let mean = if bit == 0 { above[level + 1] * table.part * below } else { 0.0 };
            sums[level + 1] = sums[level] + mean;
            below *= table.row[bit];
        }
        Self { sums, num_bits }
    }

    fn mean(&self) -> f64 {
        self.sums[self.num_bits]
    }

    /// The level on which the share `at` of all edges falls; some edge must exist.
    fn level(&self, at: f64) -> usize {
        let value = at * self.mean();
        let mut level = self.num_bits - 1;
        // From the top, where most edges part; a level without edges is never chosen.
        while self.sums[level] > value || self.sums[level] == self.sums[level + 1] {
            level -= 1;
        }
        level
    }
}

impl EdgeSource for RmatEdges {
    fn num_chunks(&self) -> usize {
        self.chunks.len()
    }

    fn chunk(&self, index: usize) -> Vec<[u64; 2]> {
        let block = self.chunks[index];
        let mut random = self.seed.stream(Stage::Generate, index as u64);
        let (mut pairs, mut row) = (Vec::new(), Vec::new());
        for node in block.first..block.first + (1 << block.num_bits) {
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

    /// The probability of one directed draw.
    fn probability(settings: &Rmat, u: usize, v: usize) -> f64 {
        let (a, b) = (settings.a, settings.b);
        let table = [[a, b], [b, 1.0 - a - 2.0 * b]];
        (0..settings.nodes.trailing_zeros()).map(|level| table[u >> level & 1][v >> level & 1]).product()
    }

    #[test]
    fn means_of_rows_and_blocks_agree_with_the_table() {
        let settings = Rmat { nodes: 64, ..Default::default() };
        let edges = RmatEdges::new(&settings, Seed(0));
        let mut total = 0.0;
        for u in 0..64 {
            let expected: f64 = (u + 1..64).map(|v| 2.0 * probability(&settings, u, v)).sum();
            let mean = Parting::new(u, 6, &edges.table).mean();
            assert!((mean - expected).abs() < 1e-12, "row {u}: {mean}, needed {expected}");
            total += expected;
        }
        let blocks: f64 = edges.chunks.iter().map(|block| edges.table.mean(block)).sum();
        assert!((blocks - total).abs() < 1e-12);
    }

    #[test]
    fn edges_are_drawn_in_proportion_to_the_table() {
        // Few draws per pair, so that almost none is repeated, and many seeds.
        let settings = Rmat { nodes: 16, edges: 2, a: 0.5, b: 0.15 };
        let mut counts = [[0_u32; 16]; 16];
        let num_seeds = 60_000;
        for seed in 0..num_seeds {
            for [u, v] in RmatEdges::new(&settings, Seed(seed)).chunk(0) {
                counts[u as usize][v as usize] += 1;
            }
        }
        for (u, v) in (0..16).flat_map(|u| (u + 1..16).map(move |v| (u, v))) {
            // An edge that is drawn at least once.
            let expected = num_seeds as f64 * (1.0 - (-4.0 * probability(&settings, u, v)).exp());
            let found = f64::from(counts[u][v]);
            let tolerance = 5.0 * expected.sqrt() + 1.0;
            assert!((found - expected).abs() < tolerance, "{u}-{v}: {found}, needed {expected}");
        }
    }

    #[test]
    fn chunks_cover_all_rows_in_order_and_stay_small() {
        let settings = Rmat { nodes: 1 << 20, edges: 16 << 20, ..Default::default() };
        let edges = RmatEdges::new(&settings, Seed(0));
        let mut next = 0;
        for block in &edges.chunks {
            assert_eq!(block.first, next);
            next += 1 << block.num_bits;
            assert!(edges.num_draws * edges.table.mean(block) <= CHUNK_EDGES || block.num_bits == 0);
        }
        assert_eq!(next, 1 << 20);
        assert!(edges.chunks.len() < 1000, "{} chunks", edges.chunks.len());
    }

    #[test]
    fn hubs_come_first() {
        let graph = generate(&Rmat::default(), Seed(1)).unwrap();
        let degrees: Vec<usize> = graph.nodes().map(|node| graph.degree(node)).collect();
        assert!(degrees[..32].iter().sum::<usize>() > 10 * degrees[992..].iter().sum::<usize>());
        assert!((8_000..16_000).contains(&graph.num_edges()), "{} edges", graph.num_edges());
    }

    #[test]
    fn degenerate_settings_work() {
        for settings in [
            Rmat { nodes: 1, edges: 5, ..Default::default() },
            Rmat { nodes: 2, edges: 5, ..Default::default() },
            Rmat { edges: 0, ..Default::default() },
            Rmat { a: 1.0, b: 0.0, ..Default::default() },
            Rmat { a: 0.0, b: 0.5, ..Default::default() },
            Rmat { a: 0.0, b: 0.0, ..Default::default() },
        ] {
            assert_eq!(generate(&settings, Seed(0)).unwrap().num_nodes(), settings.nodes);
        }
    }

    #[test]
    fn impossible_settings_are_refused() {
        let refused = |settings: Rmat| settings.prepare(Seed(0)).unwrap_err().to_string();
        assert_eq!(
            refused(Rmat { nodes: 1000, ..Default::default() }),
            "nodes is 1000, needed a power of two, such as 512 or 1024"
        );
        assert!(refused(Rmat { a: 0.6, b: 0.3, ..Default::default() }).starts_with("b is 0.3, needed"));
        assert!(refused(Rmat { a: f64::NAN, ..Default::default() }).starts_with("a is NaN"));
    }
}
