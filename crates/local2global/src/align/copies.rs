//! The copies of some nodes, from all patches: gathered, moved and combined.
//!
//! Copies are gathered and moved patch by patch, so that one matrix product moves all of a patch,
//! and combined node by node, so that a centre is finished while it is in the cache.
//! Cost: `O(d²)` for each copy, and one search in each patch.

use super::centroid::{Block, Combination, Wanted};
use super::{AlignError, Centroid, LocalPatch, Transforms};
use crate::linalg::dense::Real;

/// The copies of the nodes of a block, and the memory for those of the next.
pub(super) struct Copies<F> {
    dim: usize,
    /// The coordinates of each copy.
    coords: Vec<F>,
    /// The rows of one patch, before they are moved.
    rows: Vec<F>,
    /// For each copy the place of its node in the block, and its patch.
    places: Vec<Place>,
    /// The node weight of each copy; empty if there are no weights.
    weights: Vec<f32>,
    /// The copies of each node, one node after the other.
    by_node: Vec<u32>,
    /// Where the copies of each node begin in `by_node`.
    starts: Vec<u32>,
}

#[derive(Clone, Copy)]
struct Place {
    node: u32,
    patch: u32,
}

impl<F: Real> Copies<F> {
    pub(super) fn new(dim: usize) -> Self {
        let (coords, rows) = (Vec::new(), Vec::new());
        let (places, weights) = (Vec::new(), Vec::new());
        Self { dim, coords, rows, places, weights, by_node: Vec::new(), starts: Vec::new() }
    }

    /// Replaces the copies by those of other nodes, and fills a block with what was wanted.
    /// `rotations` are those of the transforms, in the precision of the copies.
    pub(super) fn fill(
        &mut self,
        patches: &[LocalPatch],
        nodes: &[u64],
        wanted: Wanted<'_>,
        rotations: &[F],
        block: &mut Block,
    ) -> Result<(), AlignError> {
        self.gather(patches, nodes)?;
        self.sort_by_node(nodes.len());
        block.unmoved.clear();
        if wanted.unmoved {
            let all_trusted = Combination { trust: None, ..wanted.combination };
            self.combine(all_trusted, &mut block.unmoved, None);
        }
        if let Some(transforms) = wanted.transforms {
            self.move_all(transforms, rotations);
        }
        block.spread.clear();
        self.combine(wanted.combination, &mut block.coords, Some(&mut block.spread));
        Ok(())
    }

    fn gather(&mut self, patches: &[LocalPatch], nodes: &[u64]) -> Result<(), AlignError> {
        self.coords.clear();
        self.places.clear();
        self.weights.clear();
        let (Some(&first), Some(&last)) = (nodes.first(), nodes.last()) else { return Ok(()) };
        for (index, patch) in patches.iter().enumerate() {
            let mut place = 0;
            for position in patch.position_of(first)..patch.num_nodes() {
                let node = patch.node_at(position);
                if node > last {
                    break;
                }
                // Both lists ascend, and every node of a patch is in the list of nodes.
                place += nodes[place..].partition_point(|&other| other < node);
                self.places.push(Place { node: place as u32, patch: index as u32 });
                let row = patch.row_at(position);
                patch.push_row(row, &mut self.coords)?;
                self.weights.extend(patch.weights().map(|weights| weights[row]));
            }
        }
        Ok(())
    }

    /// Moves all copies into the common frame, patch by patch.
    fn move_all(&mut self, transforms: &Transforms, rotations: &[F]) {
        let size = self.dim * self.dim;
        let mut rest = &mut self.coords[..];
        for copies in self.places.chunk_by(|a, b| a.patch == b.patch) {
            let (of_patch, after) = rest.split_at_mut(copies.len() * self.dim);
            rest = after;
            self.rows.clear();
            self.rows.extend_from_slice(of_patch);
            let patch = copies[0].patch as usize;
            transforms.apply_rotation(patch, &rotations[patch * size..][..size], &self.rows, of_patch);
        }
    }

    /// Lists the copies of each node, in the order of the patches.
    fn sort_by_node(&mut self, num_nodes: usize) {
        self.starts.clear();
        self.starts.resize(num_nodes + 1, 0);
        self.places.iter().for_each(|place| self.starts[place.node as usize + 1] += 1);
        (0..num_nodes).for_each(|node| self.starts[node + 1] += self.starts[node]);
        self.by_node.clear();
        self.by_node.resize(self.places.len(), 0);
        // Each start moves to the end of its node, which is where the next one starts.
        for (copy, place) in (0_u32..).zip(&self.places) {
            let slot = &mut self.starts[place.node as usize];
            self.by_node[*slot as usize] = copy;
            *slot += 1;
        }
        self.starts.rotate_right(1);
        self.starts[0] = 0;
    }

    /// Puts each node into the centre of its copies, and adds how far they lie apart to `spread`.
    fn combine(
        &self,
        combination: Combination<'_>,
        coords: &mut Vec<f64>,
        mut spread: Option<&mut Vec<f64>>,
    ) {
        let num_nodes = self.starts.len() - 1;
        coords.resize(num_nodes * self.dim, 0.0);
        let mut memory = Vec::new();
        for (node, centre) in coords.chunks_exact_mut(self.dim).enumerate() {
            let copies = &self.by_node[self.starts[node] as usize..self.starts[node + 1] as usize];
            match combination.centroid {
                Centroid::Median => self.median(copies, centre, &mut memory),
                Centroid::Mean => self.mean(copies, |copy| self.trust(copy, combination), centre),
                Centroid::Weighted => {
                    let weight = |copy: usize| self.weights.get(copy).map_or(1.0, |&w| f64::from(w));
                    self.mean(copies, |copy| weight(copy) * self.trust(copy, combination), centre);
                }
            }
            if let Some(spread) = &mut spread {
                spread.push(self.spread(copies, centre));
            }
        }
    }

    fn trust(&self, copy: usize, combination: Combination<'_>) -> f64 {
        combination.trust.map_or(1.0, |trust| trust[self.places[copy].patch as usize])
    }

    fn rows<'a>(&'a self, copies: &'a [u32]) -> impl Iterator<Item = (usize, &'a [F])> {
        copies.iter().map(|&copy| (copy as usize, &self.coords[copy as usize * self.dim..][..self.dim]))
    }

    fn mean(&self, copies: &[u32], weight: impl Fn(usize) -> f64, centre: &mut [f64]) {
        let total: f64 = copies.iter().map(|&copy| weight(copy as usize)).sum();
        // Where no copy has weight, all have the same.
        let weightless = total <= 0.0;
        let total = if weightless { copies.len() as f64 } else { total };
        centre.fill(0.0);
        for (copy, row) in self.rows(copies) {
            let weight = if weightless { 1.0 } else { weight(copy) };
            centre.iter_mut().zip(row).for_each(|(sum, value)| *sum += weight * value.to_f64());
        }
        centre.iter_mut().for_each(|sum| *sum /= total);
    }

    fn median(&self, copies: &[u32], centre: &mut [f64], values: &mut Vec<f64>) {
        for (k, median) in centre.iter_mut().enumerate() {
            values.clear();
            values.extend(self.rows(copies).map(|(_, row)| row[k].to_f64()));
            values.sort_unstable_by(f64::total_cmp);
            *median = (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0;
        }
    }

    /// Root mean square distance of the copies from the centre.
    fn spread(&self, copies: &[u32], centre: &[f64]) -> f64 {
        if copies.len() == 1 {
            return 0.0;
        }
        let distance = |(_, row): (usize, &[F])| {
            let differences = row.iter().zip(centre).map(|(a, b)| a.to_f64() - b);
            differences.map(|difference| difference * difference).sum::<f64>()
        };
        (self.rows(copies).map(distance).sum::<f64>() / copies.len() as f64).sqrt()
    }
}
