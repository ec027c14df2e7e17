//! Points in the unit square, joined where they are near: a graph with a shape.
//!
//! Points are spread evenly and independently. Two are joined if their distance is at
//! most `r`, which for two random points has the probability
//!
//! ```text
//! p(r) = π r² - 8/3 r³ + r⁴/2     (0 ≤ r ≤ 1),
//! ```
//!
//! the border taken into account; `r` is the solution of `(n - 1) p(r) = mean degree`.
//! A grid of cells at least `r` wide leaves nine cells to search for each point.
//!
//! Cost: `O(n + m)` time, `O(n)` memory (some 50 bytes a node).
//!
//! Source: Penrose, "Random Geometric Graphs", Oxford 2003; `p(r)` is the classical
//! distribution of the distance between two points of a square (Philip 2007).

use std::f64::consts::PI;
use std::sync::Arc;

use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::{
    EdgeSource, FeatureSource, GenerateError, Generator, Purpose, SyntheticGraph, check, check_nodes,
    rows_per_chunk,
};
use crate::graph::features::SparseFeatures;
use crate::grouping::Grouped;
use crate::seed::{Seed, Stage};

/// Settings of a random geometric graph. There are no labels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Geometric {
    /// The number of nodes.
    pub nodes: usize,
    /// The expected degree, averaged over all nodes.
    pub mean_degree: f64,
    /// Whether the features of a node are its position: two columns, `x` and `y`.
    pub positions: bool,
}

impl Default for Geometric {
    fn default() -> Self {
        Self { nodes: 1000, mean_degree: 10.0, positions: false }
    }
}

/// A position in the unit square.
type Point = [f64; 2];

impl Generator for Geometric {
    fn prepare(&self, seed: Seed) -> Result<SyntheticGraph, GenerateError> {
        check_nodes(self.nodes)?;
        let largest = (self.nodes - 1) as f64 * share_within(1.0);
        let fits = self.mean_degree >= 0.0 && self.mean_degree <= largest;
        let needed = || format!("a number from 0 to {largest}, as for distance 1");
        check(fits, "mean_degree", self.mean_degree, needed())?;

        let mut random = Purpose::Nodes.seed(seed).stream(Stage::Generate, 0);
        let points: Arc<[Point]> = (0..self.nodes).map(|_| [random.random(), random.random()]).collect();
        let features = self.positions.then(|| Box::new(Positions(points.clone())) as Box<dyn FeatureSource>);
        Ok(SyntheticGraph {
            num_nodes: self.nodes,
            labels: None,
            edges: Box::new(Near::new(points, self.mean_degree)),
            features,
        })
    }
}

/// The share of pairs of random points that are at most `radius` apart.
fn share_within(radius: f64) -> f64 {
    PI * radius.powi(2) - 8.0 / 3.0 * radius.powi(3) + radius.powi(4) / 2.0
}

/// The distance at which the share `share` of all pairs is joined.
fn radius_for(share: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let radius = f64::midpoint(low, high);
        match share_within(radius) < share {
            true => low = radius,
            false => high = radius,
        }
    }
    low
}

/// Points, and a grid that finds those near to each other.
struct Near {
    points: Arc<[Point]>,
    radius: f64,
    cells_per_side: usize,
    /// Where each cell begins among the members; one more entry than cells.
    starts: Vec<usize>,
    /// Nodes by cell, ascending within each, with their positions.
    members: Vec<(u32, Point)>,
    rows_per_chunk: usize,
}

impl Near {
    fn new(points: Arc<[Point]>, mean_degree: f64) -> Self {
        let radius = radius_for(mean_degree / (points.len() as f64 - 1.0).max(1.0));
        // No more cells than points, however near they must be.
        let most = (points.len() as f64).sqrt();
        let cells_per_side = (1.0 / radius).min(most).floor().max(1.0) as usize;
        let cell = |&[x, y]: &Point| cell_of(y, cells_per_side) * cells_per_side + cell_of(x, cells_per_side);
        let num_cells = cells_per_side * cells_per_side;
        let (starts, members) = Grouped::new(num_cells, points.iter().map(cell).zip(0_u32..)).into_parts();
        let members = members.into_iter().map(|node| (node, points[node as usize])).collect();
        let rows_per_chunk = rows_per_chunk(mean_degree);
        Self { points, radius, cells_per_side, starts, members, rows_per_chunk }
    }

    /// The members of some neighbouring cells in one row of the grid.
    fn members(&self, grid_row: usize, first_column: usize, last_column: usize) -> &[(u32, Point)] {
        let row_start = grid_row * self.cells_per_side;
        &self.members[self.starts[row_start + first_column]..self.starts[row_start + last_column + 1]]
    }

    /// The larger neighbours of one node, ascending.
    fn find_row(&self, node: usize, row: &mut Vec<u32>) {
        let [x, y] = self.points[node];
        let last = self.cells_per_side - 1;
        let (column, grid_row) = (cell_of(x, self.cells_per_side), cell_of(y, self.cells_per_side));
        row.clear();
        for near_row in grid_row.saturating_sub(1)..=(grid_row + 1).min(last) {
            let near = self.members(near_row, column.saturating_sub(1), (column + 1).min(last));
            let is_near = |&&(other, [other_x, other_y]): &&(u32, Point)| {
                let squared = (x - other_x).powi(2) + (y - other_y).powi(2);
                other as usize > node && squared <= self.radius * self.radius
            };
            row.extend(near.iter().filter(is_near).map(|&(other, _)| other));
        }
        row.sort_unstable();
    }
}

impl EdgeSource for Near {
    fn num_chunks(&self) -> usize {
        self.points.len().div_ceil(self.rows_per_chunk)
    }

    fn chunk(&self, index: usize) -> Vec<[u64; 2]> {
        let first = index * self.rows_per_chunk;
        let last = self.points.len().min(first + self.rows_per_chunk);
        let (mut pairs, mut row) = (Vec::new(), Vec::new());
        for node in first..last {
            self.find_row(node, &mut row);
            pairs.extend(row.iter().map(|&target| [node as u64, u64::from(target)]));
        }
        pairs
    }
}

/// The cell of a coordinate from 0 to 1.
fn cell_of(coordinate: f64, cells_per_side: usize) -> usize {
    ((coordinate * cells_per_side as f64) as usize).min(cells_per_side - 1)
}

/// The positions of all nodes, as features.
struct Positions(Arc<[Point]>);

impl Positions {
    const ROWS_PER_CHUNK: usize = 1 << 16;
}

impl FeatureSource for Positions {
    fn width(&self) -> usize {
        2
    }

    fn num_chunks(&self) -> usize {
        self.0.len().div_ceil(Self::ROWS_PER_CHUNK)
    }

    fn chunk(&self, index: usize) -> SparseFeatures {
        let first = index * Self::ROWS_PER_CHUNK;
        let points = &self.0[first..self.0.len().min(first + Self::ROWS_PER_CHUNK)];
        let offsets: Vec<u64> = (0..=points.len() as u64).map(|row| 2 * row).collect();
        let columns: Vec<u32> = points.iter().flat_map(|_| [0, 1]).collect();
        let values: Vec<f32> = points.as_flattened().iter().map(|&value| value as f32).collect();
        SparseFeatures::new(2, offsets.into(), columns.into(), values.into())
            .expect("every point has two coordinates")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;
    use crate::graph::NodeId;

    #[test]
    fn all_near_pairs_are_found_and_no_others() {
        for (num_nodes, mean_degree) in [(2, 0.5), (50, 3.0), (300, 8.0), (100, 60.0), (40, 38.0)] {
            let mut random = Seed(9).stream(Stage::Generate, 0);
            let points: Arc<[Point]> = (0..num_nodes).map(|_| [random.random(), random.random()]).collect();
            let near = Near::new(points.clone(), mean_degree);
            let mut expected = Vec::new();
            for u in 0..num_nodes {
                for v in u + 1..num_nodes {
                    let distance = (points[u][0] - points[v][0]).hypot(points[u][1] - points[v][1]);
                    if distance <= near.radius {
                        expected.push([u as u64, v as u64]);
                    }
                }
            }
            assert_eq!(near.chunk(0), expected, "{num_nodes} nodes, degree {mean_degree}");
        }
    }

    #[test]
    fn the_mean_degree_is_as_asked_also_with_the_border() {
        for mean_degree in [2.0, 12.0, 400.0] {
            let graph = generate(&Geometric { nodes: 4000, mean_degree, positions: false }, Seed(2)).unwrap();
            let mean = graph.num_directed_edges() as f64 / 4000.0;
            assert!((mean / mean_degree - 1.0).abs() < 0.05, "{mean}, needed {mean_degree}");
        }
    }

    #[test]
    fn positions_are_features_on_request() {
        let graph = generate(&Geometric { positions: true, ..Default::default() }, Seed(2)).unwrap();
        let features = graph.features().unwrap();
        assert_eq!((features.num_rows(), features.width()), (1000, 2));
        assert!(features.values().iter().all(|value| (0.0..=1.0).contains(value)));
        assert!(generate(&Geometric::default(), Seed(2)).unwrap().features().is_none());
    }

    #[test]
    fn nobody_is_near_at_degree_zero() {
        let graph = generate(&Geometric { nodes: 1, mean_degree: 0.0, positions: false }, Seed(2)).unwrap();
        assert_eq!(graph.degree(NodeId(0)), 0);
        let refused = Geometric { nodes: 10, mean_degree: 9.0, positions: false }.prepare(Seed(0));
        assert!(refused.unwrap_err().to_string().starts_with("mean_degree is 9, needed"));
    }
}
