//! Patches with a known truth, for tests and benchmarks.
//!
//! True points are Gaussian. Every edge of the patch graph owns some nodes, which its
//! two patches share; every patch sees its nodes through a random rigid motion and
//! Gaussian noise. Randomness: one stream per patch and one for the truth.

use rand::{Rng, RngExt};
use rand_distr::StandardNormal;
use rayon::prelude::*;

use super::{Coords, LocalPatch};
use crate::linalg::dense::{multiply, view, view_mut};
use crate::linalg::lanes::squared_distance;
use crate::linalg::polar::{Workspace, random_orthogonal};
use crate::seed::{Seed, Stage};

/// The shape of a synthetic patch graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchLayout {
    /// Each patch overlaps the next, and the last the first.
    Ring,
    /// A square grid, as near as the number allows.
    Grid,
    /// Random edges, five per patch, and a random tree that joins them.
    Random,
}

/// What to make.
#[derive(Clone, Copy, Debug)]
pub struct SyntheticPatches {
    /// The shape of the patch graph.
    pub graph: PatchLayout,
    /// The number of patches.
    pub num_patches: usize,
    /// The number of coordinates.
    pub dim: usize,
    /// The nodes each patch edge owns.
    pub overlap: usize,
    /// The standard deviation of the noise.
    pub noise: f64,
    /// The seed of everything.
    pub seed: Seed,
}

/// Patches, and what they were made from.
#[derive(Clone, Debug)]
pub struct KnownPatches {
    /// The patches.
    pub patches: Vec<LocalPatch>,
    /// The edges of the patch graph; edge `e` owns the nodes from `e * overlap`.
    pub edges: Vec<[u64; 2]>,
    /// The true points, one row per node.
    pub truth: Vec<f64>,
    /// The nodes each edge owns.
    pub overlap: usize,
}

impl SyntheticPatches {
    /// Makes the patches.
    pub fn make(&self) -> KnownPatches {
        let edges = self.edges();
        let mut random = self.seed.stream(Stage::Generate, 0);
        let truth: Vec<f64> =
            (0..edges.len() * self.overlap * self.dim).map(|_| random.sample(StandardNormal)).collect();
        let mut edges_of = vec![Vec::new(); self.num_patches];
        for (edge, ends) in edges.iter().enumerate() {
            ends.iter().for_each(|&end| edges_of[end as usize].push(edge));
        }
        let patches =
            edges_of.par_iter().enumerate().map(|(patch, edges)| self.patch(patch, edges, &truth)).collect();
        KnownPatches { patches, edges, truth, overlap: self.overlap }
    }

    fn edges(&self) -> Vec<[u64; 2]> {
        let p = self.num_patches as u64;
        let mut edges = match self.graph {
            PatchLayout::Ring => (0..p).map(|patch| [patch, (patch + 1) % p]).collect(),
            PatchLayout::Grid => {
                let width = p.isqrt();
                let right = (0..p).filter(|patch| patch % width + 1 < width).map(|patch| [patch, patch + 1]);
                let down = (0..p).map(|patch| [patch, patch + width]);
                right.chain(down).filter(|edge| edge[1] < p).collect()
            }
            PatchLayout::Random => self.random_edges(),
        };
        edges.iter_mut().for_each(|edge| edge.sort_unstable());
        edges.sort_unstable();
        edges.dedup();
        edges.retain(|edge| edge[0] != edge[1]);
        edges
    }

    fn random_edges(&self) -> Vec<[u64; 2]> {
        let mut random = self.seed.stream(Stage::Generate, 1);
        let p = self.num_patches as u64;
        let mut edges: Vec<[u64; 2]> = (1..p).map(|patch| [random.random_range(0..patch), patch]).collect();
        edges.extend((0..p * 3 / 2).map(|_| [random.random_range(0..p), random.random_range(0..p)]));
        edges
    }

    fn patch(&self, index: usize, edges: &[usize], truth: &[f64]) -> LocalPatch {
        let mut random = self.seed.stream(Stage::Generate, 2 + index as u64);
        let own = |edge: &usize| (edge * self.overlap) as u64..((edge + 1) * self.overlap) as u64;
        let nodes: Vec<u64> = edges.iter().flat_map(own).collect();
        let dim = self.dim;
        let points: Vec<f64> =
            nodes.iter().flat_map(|&node| &truth[node as usize * dim..][..dim]).copied().collect();
        let mut coords = moved(&points, &random_orthogonal(dim, &mut random), dim);
        let shift: Vec<f64> = (0..dim).map(|_| 3.0 * random.sample::<f64, _>(StandardNormal)).collect();
        for row in coords.chunks_exact_mut(dim) {
            for (value, shift) in row.iter_mut().zip(&shift) {
                *value += shift + self.noise * random.sample::<f64, _>(StandardNormal);
            }
        }
        LocalPatch::new(crate::run_dir::patch_name(index), nodes.into(), Coords::F64(coords.into()), dim)
            .expect("every edge has its own nodes")
    }
}

impl KnownPatches {
    /// Replaces the coordinates of some patches by `change`, which gets the patch's
    /// index, a generator and the coordinates.
    pub fn corrupt(&mut self, seed: Seed, change: impl Fn(usize, &mut dyn Rng, &mut Vec<f64>)) {
        for (index, patch) in self.patches.iter_mut().enumerate() {
            let mut random = seed.stream(Stage::Generate, index as u64);
            let mut coords = Vec::new();
            for row in 0..patch.num_nodes() {
                patch.push_row(row, &mut coords).expect("synthetic coordinates are finite");
            }
            change(index, &mut random, &mut coords);
            let nodes = patch.nodes().to_vec();
            *patch = LocalPatch::new(patch.name(), nodes.into(), Coords::F64(coords.into()), patch.dim())
                .expect("the size is the same");
        }
    }
}

impl KnownPatches {
    /// Replaces the relative rotation of some edges by a random one: their nodes are
    /// turned away in the edge's first patch.
    pub fn turn_edges(&mut self, is_bad: impl Fn(usize) -> bool, seed: Seed) {
        let overlap = self.overlap;
        let edges = self.edges.clone();
        self.corrupt(seed, |patch, mut random, coords| {
            let dim = coords.len() / (overlap * edges_of(&edges, patch).count());
            for (position, edge) in edges_of(&edges, patch).enumerate() {
                if is_bad(edge) && edges[edge][0] == patch as u64 {
                    let rows = &mut coords[position * overlap * dim..][..overlap * dim];
                    let turned = moved(rows, &random_orthogonal(dim, &mut random), dim);
                    rows.copy_from_slice(&turned);
                }
            }
        });
    }

    /// Replaces some patches by Gaussian noise.
    pub fn drown_patches(&mut self, is_bad: impl Fn(usize) -> bool, seed: Seed) {
        self.corrupt(seed, |patch, random, coords| {
            if is_bad(patch) {
                coords.iter_mut().for_each(|value| *value = random.sample(StandardNormal));
            }
        });
    }

    /// The error of an embedding where it can be right: on the nodes of good edges between
    /// patches most of whose edges are good, as far as these edges join them.
    pub fn error_on(&self, coords: &[f64], is_good: impl Fn(usize) -> bool) -> f64 {
        let mut balance = vec![0_i32; self.patches.len()];
        for (edge, ends) in self.edges.iter().enumerate() {
            ends.iter().for_each(|&end| balance[end as usize] += if is_good(edge) { 1 } else { -1 });
        }
        let placed =
            |&edge: &usize| is_good(edge) && self.edges[edge].iter().all(|&end| balance[end as usize] > 0);
        let good: Vec<usize> = (0..self.edges.len()).filter(placed).collect();
        let pairs: Vec<(u32, u32)> =
            good.iter().map(|&edge| (self.edges[edge][0] as u32, self.edges[edge][1] as u32)).collect();
        let component = super::tree::component_of(self.patches.len(), &pairs);
        let mut sizes = vec![0; self.patches.len()];
        component.iter().for_each(|&root| sizes[root] += 1);
        let largest =
            (0..sizes.len()).fold(0, |best, root| if sizes[root] > sizes[best] { root } else { best });
        let dim = self.patches[0].dim();
        let block = self.overlap * dim;
        let (mut found, mut truth) = (Vec::new(), Vec::new());
        for edge in good.into_iter().filter(|&edge| component[self.edges[edge][0] as usize] == largest) {
            found.extend_from_slice(&coords[edge * block..][..block]);
            truth.extend_from_slice(&self.truth[edge * block..][..block]);
        }
        distance_up_to_rigid_motion(&found, &truth, dim)
    }
}

/// The edges of a patch, ascending, which is the order of its nodes.
fn edges_of(edges: &[[u64; 2]], patch: usize) -> impl Iterator<Item = usize> {
    edges.iter().enumerate().filter(move |(_, ends)| ends.contains(&(patch as u64))).map(|(edge, _)| edge)
}

/// Row-major points times the transpose of a matrix.
pub fn moved(points: &[f64], rotation: &[f64], dim: usize) -> Vec<f64> {
    let rows = points.len() / dim;
    let mut moved = vec![0.0; points.len()];
    let rotation = view(rotation, dim, dim).transpose();
    multiply(view_mut(&mut moved, rows, dim), view(points, rows, dim), rotation);
    moved
}

/// The relative distance `‖found - truth‖ / ‖truth‖` after the best rigid motion.
pub fn distance_up_to_rigid_motion(found: &[f64], truth: &[f64], dim: usize) -> f64 {
    let mut rotation = vec![0.0; dim * dim];
    let fit =
        super::procrustes::relative_rotation(truth, found, None, &mut Workspace::new(dim), &mut rotation)
            .expect("points are finite");
    let turned = moved(found, &rotation, dim);
    let mean = moved(&fit.centroids[1], &rotation, dim);
    let mut difference = 0.0;
    for (truth, found) in truth.chunks_exact(dim).zip(turned.chunks_exact(dim)) {
        for k in 0..dim {
            difference += (truth[k] - fit.centroids[0][k] - found[k] + mean[k]).powi(2);
        }
    }
    let spread: f64 = truth.chunks_exact(dim).map(|row| squared_distance(row, &fit.centroids[0])).sum();
    (difference / spread).sqrt()
}
