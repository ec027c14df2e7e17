//! The copies of some nodes, from all patches: found, moved and combined.
//!
//! Copies are moved patch by patch, so that one matrix product moves all of a patch, and
//! combined node by node, so that a centre is finished while it is in the cache. Rows that lie
//! side by side in a patch, as they do where its nodes ascend, are used where they lie.
//! Cost: `O(d²)` for each copy, and two searches in each patch.

use std::borrow::Cow;

use super::{AlignError, Centroid, LocalPatch, Transforms};
use crate::linalg::lanes::{sum_pairs, vectorized};
use crate::linalg::real::Real;

/// How copies are combined.
#[derive(Clone, Copy, Debug)]
pub struct Combination<'a> {
    /// Which centre is taken.
    pub centroid: Centroid,
    /// A factor for the copies of each patch, from robust alignment.
    pub trust: Option<&'a [f64]>,
}

/// Some consecutive nodes of the global embedding.
#[derive(Clone, Debug, Default)]
pub struct Block<T = f64> {
    /// The coordinates, one row per node.
    pub coords: Vec<T>,
    /// The same if no patch is moved and all are trusted; empty if not asked for.
    pub unmoved: Vec<T>,
    /// For each node the root mean square distance of its copies from the centre.
    pub spread: Vec<f64>,
}

/// What is streamed.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// How patches are moved; copies are combined as they are without.
    pub transforms: Option<&'a Transforms>,
    /// How copies are combined.
    pub combination: Combination<'a>,
    /// Whether the embedding without transforms is wanted too.
    pub unmoved: bool,
}

/// The copies of the nodes of a block, and the memory for those of the next.
pub(super) struct Copies<'a, F: Real> {
    patches: &'a [LocalPatch],
    dim: usize,
    /// The rows of each patch, before they are moved.
    rows: Vec<Cow<'a, [F]>>,
    /// The first copy from each patch.
    firsts: Vec<u32>,
    /// The coordinates of each copy, after it was moved.
    moved: Vec<F>,
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

/// Copies as they are combined.
#[derive(Clone, Copy)]
enum Version {
    Unmoved,
    Moved,
}

impl<'a, F: Real> Copies<'a, F> {
    pub(super) fn new(patches: &'a [LocalPatch]) -> Self {
        Self {
            patches,
            dim: patches[0].dim(),
            rows: Vec::new(),
            firsts: Vec::new(),
            moved: Vec::new(),
            places: Vec::new(),
            weights: Vec::new(),
            by_node: Vec::new(),
            starts: Vec::new(),
        }
    }

    /// Replaces the copies by those of other nodes, and fills a block with what was wanted.
    /// `rotations` are those of the transforms, in the precision of the copies.
    pub(super) fn fill<T: Real>(
        &mut self,
        nodes: &[u64],
        wanted: Wanted<'_>,
        rotations: &[F],
        block: &mut Block<T>,
    ) -> Result<(), AlignError> {
        self.find(nodes);
        self.sort_by_node(nodes.len());
        block.unmoved.clear();
        if wanted.unmoved {
            let all_trusted = Combination { trust: None, ..wanted.combination };
            self.combine(Version::Unmoved, all_trusted, &mut block.unmoved, None);
        }
        let version = match wanted.transforms {
            None => Version::Unmoved,
            Some(transforms) => {
                self.move_all(transforms, rotations);
                Version::Moved
            }
        };
        block.spread.clear();
        // A copy that is NaN or infinite makes the centre NaN or infinite.
        match self.combine(version, wanted.combination, &mut block.coords, Some(&mut block.spread)) {
            true => Ok(()),
            false => self.check_finite(nodes),
        }
    }

    fn find(&mut self, nodes: &[u64]) {
        self.rows.clear();
        self.firsts.clear();
        self.places.clear();
        self.weights.clear();
        let (Some(&first), Some(&last)) = (nodes.first(), nodes.last()) else { return };
        for (index, patch) in (0_u32..).zip(self.patches) {
            self.firsts.push(self.places.len() as u32);
            let positions = patch.positions(first..=last);
            let (patch_nodes, weights) = (patch.nodes(), patch.weights());
            let mut place = 0;
            for position in positions.clone() {
                // Both lists ascend, and every node of a patch is in the list of nodes.
                let row = patch.row_at(position);
                place += nodes[place..].partition_point(|&other| other < patch_nodes[row]);
                self.places.push(Place { node: place as u32, patch: index });
                self.weights.extend(weights.map(|weights| weights[row]));
            }
            self.rows.push(patch.rows_at(positions));
        }
    }

    /// Moves all copies into the common frame, patch by patch.
    fn move_all(&mut self, transforms: &Transforms, rotations: &[F]) {
        let size = self.dim * self.dim;
        self.moved.resize(self.places.len() * self.dim, F::default());
        let mut rest = &mut self.moved[..];
        for (patch, rows) in self.rows.iter().enumerate() {
            let (moved, after) = rest.split_at_mut(rows.len());
            rest = after;
            transforms.apply_rotation(patch, &rotations[patch * size..][..size], rows, moved);
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

    /// Puts each node into the centre of its copies, and adds how far they lie apart to `spread`;
    /// whether all centres are finite.
    fn combine<T: Real>(
        &self,
        version: Version,
        combination: Combination<'_>,
        coords: &mut Vec<T>,
        mut spread: Option<&mut Vec<f64>>,
    ) -> bool {
        coords.resize((self.starts.len() - 1) * self.dim, T::default());
        let mut centre = vec![0.0; self.dim];
        let mut memory = Vec::new();
        let weight = |copy: usize| match combination.centroid {
            Centroid::Weighted => self.weights.get(copy).map_or(1.0, |&w| f64::from(w)),
            Centroid::Mean | Centroid::Median => 1.0,
        };
        vectorized(
            #[inline(always)]
            || {
                let mut all_finite = true;
                for (target, bounds) in coords.chunks_exact_mut(self.dim).zip(self.starts.windows(2)) {
                    let copies = &self.by_node[bounds[0] as usize..bounds[1] as usize];
                    match combination.centroid {
                        Centroid::Median => self.median(version, copies, &mut centre, &mut memory),
                        Centroid::Mean | Centroid::Weighted => {
                            let weight = |copy: usize| weight(copy) * self.trust(copy, combination);
                            self.mean(version, copies, weight, &mut centre);
                        }
                    }
                    target.iter_mut().zip(&centre).for_each(|(value, &middle)| *value = T::of(middle));
                    if let Some(spread) = &mut spread {
                        spread.push(self.spread(version, copies, &centre));
                    }
                    // Also in the precision of the result, which may have a smaller range.
                    all_finite &= sum_pairs(target, &centre, |value, _| 0.0 * value.to_f64()) == 0.0;
                }
                all_finite
            },
        )
    }

    #[inline(always)]
    fn trust(&self, copy: usize, combination: Combination<'_>) -> f64 {
        combination.trust.map_or(1.0, |trust| trust[self.places[copy].patch as usize])
    }

    /// The coordinates of a copy.
    #[inline(always)]
    fn row(&self, version: Version, copy: u32) -> &[F] {
        let (rows, row) = match version {
            Version::Moved => (&self.moved[..], copy),
            Version::Unmoved => {
                let patch = self.places[copy as usize].patch as usize;
                (&self.rows[patch][..], copy - self.firsts[patch])
            }
        };
        &rows[row as usize * self.dim..][..self.dim]
    }

    #[inline(always)]
    fn mean(&self, version: Version, copies: &[u32], weight: impl Fn(usize) -> f64, centre: &mut [f64]) {
        let total: f64 = copies.iter().map(|&copy| weight(copy as usize)).sum();
        // Where no copy has weight, all have the same.
        let weightless = total <= 0.0;
        let total = if weightless { copies.len() as f64 } else { total };
        centre.fill(0.0);
        for &copy in copies {
            let weight = if weightless { 1.0 } else { weight(copy as usize) };
            let row = self.row(version, copy);
            centre.iter_mut().zip(row).for_each(|(sum, value)| *sum += weight * value.to_f64());
        }
        centre.iter_mut().for_each(|sum| *sum /= total);
    }

    /// The median of each coordinate; NaN if any copy is NaN or infinite.
    fn median(&self, version: Version, copies: &[u32], centre: &mut [f64], values: &mut Vec<f64>) {
        for (k, median) in centre.iter_mut().enumerate() {
            values.clear();
            values.extend(copies.iter().map(|&copy| self.row(version, copy)[k].to_f64()));
            values.sort_unstable_by(f64::total_cmp);
            let middle = (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0;
            *median = middle + 0.0 * (values[0] + values[values.len() - 1]);
        }
    }

    /// Root mean square distance of the copies from the centre.
    #[inline(always)]
    fn spread(&self, version: Version, copies: &[u32], centre: &[f64]) -> f64 {
        if copies.len() == 1 {
            return 0.0;
        }
        let mut squares = 0.0;
        for &copy in copies {
            squares += sum_pairs(self.row(version, copy), centre, |a, b| (a.to_f64() - b) * (a.to_f64() - b));
        }
        (squares / copies.len() as f64).sqrt()
    }

    /// Names the first copy with a coordinate that is not finite, if there is one.
    #[cold]
    fn check_finite(&self, nodes: &[u64]) -> Result<(), AlignError> {
        let finite = |copy| self.row(Version::Unmoved, copy).iter().all(|value| value.to_f64().is_finite());
        match (0_u32..).zip(&self.places).find(|&(copy, _)| !finite(copy)) {
            None => Err(AlignError::TooLarge),
            Some((_, place)) => Err(AlignError::NotFinite {
                patch: self.patches[place.patch as usize].name().into(),
                node: nodes[place.node as usize],
            }),
        }
    }
}
