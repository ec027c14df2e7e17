//! Pairs of nodes: by block, as they are drawn, and by node, as the decoder wants them.
//!
//! The nodes are cut into blocks, and a pair belongs to the group of its two blocks. Pairs
//! are drawn group by group, and then sorted by node, block by block, so that both stay in
//! the cache however large the graph is. By block a pair stands once, the node of the earlier
//! block first; by node it stands twice, once for each.
//!
//! Convention: blocks depend on the numbers of nodes and pairs alone. Cost: `O(pairs)`.

use rayon::prelude::*;

/// About how many pairs a group should have at least, to be worth going from one to the next.
const PAIRS_PER_GROUP: usize = 64;
/// The fewest blocks of a large graph, for the threads to share.
const MIN_BLOCKS: usize = 32;

/// How nodes are cut into blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    num_nodes: usize,
    rows: usize,
}

impl Blocks {
    /// Blocks for some pairs of nodes.
    pub fn new(num_nodes: usize, num_pairs: usize) -> Self {
        let most = (2 * num_pairs / PAIRS_PER_GROUP).isqrt().max(1);
        let pairs_per_node = num_pairs / num_nodes.max(1);
        let wanted = pairs_per_node.max(MIN_BLOCKS).min(most);
        Self { num_nodes, rows: num_nodes.div_ceil(wanted).max(1) }
    }

    /// The number of blocks.
    pub fn len(self) -> usize {
        self.num_nodes.div_ceil(self.rows)
    }

    /// Whether there are no nodes.
    pub fn is_empty(self) -> bool {
        self.num_nodes == 0
    }

    /// The number of nodes of each block but the last.
    pub fn rows(self) -> usize {
        self.rows
    }

    /// The first node of a block.
    pub fn first(self, block: usize) -> usize {
        block * self.rows
    }

    /// The number of nodes of one block.
    pub fn size(self, block: usize) -> usize {
        self.rows.min(self.num_nodes - self.first(block))
    }

    /// The block of a node.
    pub fn of(self, node: u32) -> usize {
        node as usize / self.rows
    }
}

/// The pairs of one block with itself and with later blocks.
#[derive(Clone, Debug, Default)]
pub struct BlockPairs {
    pairs: Vec<[u32; 2]>,
    /// Where each group ends, beginning with that of the block with itself.
    ends: Vec<usize>,
}

impl BlockPairs {
    /// Forgets all pairs.
    pub fn clear(&mut self) {
        self.pairs.clear();
        self.ends.clear();
    }

    /// Adds a pair to the group that is being filled.
    pub fn push(&mut self, pair: [u32; 2]) {
        self.pairs.push(pair);
    }

    /// Ends the group that is being filled, and begins the next.
    pub fn end_group(&mut self) {
        self.ends.push(self.pairs.len());
    }

    fn group(&self, index: usize) -> &[[u32; 2]] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.pairs[start..self.ends[index]]
    }
}

/// Pairs of nodes, by the blocks of both.
#[derive(Clone, Debug)]
pub struct Pairs {
    blocks: Blocks,
    of_block: Vec<BlockPairs>,
}

impl Pairs {
    /// No pairs yet, with room for `num_pairs` pairs of `num_nodes` nodes.
    pub fn new(num_nodes: usize, num_pairs: usize) -> Self {
        let blocks = Blocks::new(num_nodes, num_pairs);
        let of_block = (0..blocks.len()).map(|block| {
            let later_groups = 2 * (blocks.len() - block) - 1;
            let share = num_pairs as f64 * later_groups as f64 / (blocks.len() * blocks.len()) as f64;
            let room = (share + 6.0 * share.sqrt()) as usize + 16;
            BlockPairs { pairs: Vec::with_capacity(room), ends: Vec::with_capacity(blocks.len() - block) }
        });
        Self { blocks, of_block: of_block.collect() }
    }

    /// How nodes are cut into blocks.
    pub fn blocks(&self) -> Blocks {
        self.blocks
    }

    /// The pairs of each block with itself and later ones, to be filled anew: one group for
    /// each of these blocks, in order.
    pub fn fill(&mut self) -> &mut [BlockPairs] {
        &mut self.of_block
    }

    /// Some pairs of `num_nodes` nodes, in at least so many blocks as there are pairs.
    #[cfg(test)]
    pub(crate) fn listed(num_nodes: usize, pairs: &[[u32; 2]]) -> Self {
        let mut grouped = Self::new(num_nodes, PAIRS_PER_GROUP * pairs.len() * pairs.len());
        grouped.set(pairs);
        grouped
    }

    /// Replaces the pairs by listed ones.
    pub fn set(&mut self, listed: &[[u32; 2]]) {
        let blocks = self.blocks;
        let mut sorted: Vec<[u32; 2]> =
            listed.iter().map(|&[a, b]| if blocks.of(a) <= blocks.of(b) { [a, b] } else { [b, a] }).collect();
        sorted.sort_by_key(|pair| pair.map(|node| blocks.of(node)));
        let mut rest = &sorted[..];
        for (block, of_block) in self.of_block.iter_mut().enumerate() {
            of_block.clear();
            for other in block..blocks.len() {
                let count = rest.partition_point(|pair| pair.map(|node| blocks.of(node)) <= [block, other]);
                of_block.pairs.extend_from_slice(&rest[..count]);
                of_block.end_group();
                rest = &rest[count..];
            }
        }
    }

    /// The number of pairs.
    pub fn num_pairs(&self) -> usize {
        self.of_block.iter().map(|block| block.pairs.len()).sum()
    }

    /// Calls `visit` with each node of the block and each of its partners.
    fn for_entries(&self, block: usize, mut visit: impl FnMut(u32, u32)) {
        let own = &self.of_block[block];
        for &[a, b] in own.group(0) {
            visit(a, b);
            visit(b, a);
        }
        own.pairs[own.ends[0]..].iter().for_each(|&[a, b]| visit(a, b));
        for (earlier, pairs) in self.of_block[..block].iter().enumerate() {
            pairs.group(block - earlier).iter().for_each(|&[a, b]| visit(b, a));
        }
    }

    /// How often [`Pairs::for_entries`] calls.
    fn num_entries(&self, block: usize) -> usize {
        let own = &self.of_block[block];
        let earlier = self.of_block[..block].iter().enumerate();
        let earlier: usize = earlier.map(|(earlier, pairs)| pairs.group(block - earlier).len()).sum();
        own.pairs.len() + own.group(0).len() + earlier
    }
}

/// For each node the nodes it was paired with.
#[derive(Clone, Debug, Default)]
pub struct Partners {
    offsets: Vec<usize>,
    nodes: Vec<u32>,
}

impl Partners {
    /// Sorts pairs by node: each pair stands in the rows of both its nodes.
    pub fn sort(&mut self, pairs: &Pairs) {
        let blocks = pairs.blocks();
        self.offsets.resize(blocks.num_nodes + 1, 0);
        self.nodes.resize(2 * pairs.num_pairs(), 0);
        let (mut start, mut offsets, mut nodes) = (0, &mut self.offsets[1..], &mut self.nodes[..]);
        let mut tasks = Vec::with_capacity(blocks.len());
        for block in 0..blocks.len() {
            let count = pairs.num_entries(block);
            let (block_offsets, block_nodes);
            (block_offsets, offsets) = offsets.split_at_mut(blocks.size(block));
            (block_nodes, nodes) = nodes.split_at_mut(count);
            tasks.push((start, block_offsets, block_nodes));
            start += count;
        }
        tasks.into_par_iter().enumerate().for_each(|(block, (start, offsets, nodes))| {
            sort_block(pairs, block, start, offsets, nodes);
        });
    }

    /// Where the partners of each node begin in [`Partners::nodes`].
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The partners of all nodes, one after the other.
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// The number of pairs.
    pub fn num_pairs(&self) -> usize {
        self.nodes.len() / 2
    }
}

/// Sorts the entries of one block by counting. `offsets`, one per row of the block, become
/// the ends of the rows; entries begin at `start`.
fn sort_block(pairs: &Pairs, block: usize, start: usize, offsets: &mut [usize], nodes: &mut [u32]) {
    let first = pairs.blocks().first(block);
    offsets.fill(0);
    pairs.for_entries(block, |node, _| offsets[node as usize - first] += 1);
    let mut next = start;
    for offset in &mut *offsets {
        next += std::mem::replace(offset, next);
    }
    pairs.for_entries(block, |node, partner| {
        let slot = &mut offsets[node as usize - first];
        nodes[*slot - start] = partner;
        *slot += 1;
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_stands_in_the_rows_of_both_its_nodes() {
        let num_nodes = 4000;
        let node = |k: usize| (k * 7919 % num_nodes) as u32;
        let listed: Vec<[u32; 2]> = (0..5000).map(|k| [node(k), node(3 * k + 1)]).collect();
        let mut pairs = Pairs::new(num_nodes, listed.len());
        assert!(pairs.blocks().len() > 5);
        pairs.set(&listed);
        let mut partners = Partners::default();
        partners.sort(&pairs);
        assert_eq!((pairs.num_pairs(), partners.num_pairs()), (5000, 5000));
        let row = |node: usize| &partners.nodes[partners.offsets[node]..partners.offsets[node + 1]];
        let mut found: Vec<[u32; 2]> = (0..num_nodes)
            .flat_map(|node| row(node).iter().map(move |&other| [node as u32, other]))
            .collect();
        let mut expected: Vec<[u32; 2]> = listed.iter().flat_map(|&[a, b]| [[a, b], [b, a]]).collect();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }

    #[test]
    fn pairs_can_be_replaced() {
        let mut partners = Partners::default();
        let mut pairs = Pairs::listed(3, &[[0, 2], [2, 1], [0, 2]]);
        partners.sort(&pairs);
        assert_eq!((partners.offsets(), partners.nodes()), (&[0, 2, 3, 6][..], &[2, 2, 2, 0, 0, 1][..]));
        pairs.set(&[]);
        partners.sort(&pairs);
        assert_eq!((partners.offsets(), partners.num_pairs()), (&[0; 4][..], 0));
    }
}
