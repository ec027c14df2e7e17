//! The nearest neighbours of every row, exactly.
//!
//! Squared distances `|x|² + |y|² - 2 x·y` of a block of rows to all others come from one product of
//! matrices, tile by tile; of each row the smallest are kept, sorted. Of equal distances the row that comes
//! first is nearer. Cost: `O(n² d)` time, some megabytes a thread. No randomness.

use rayon::prelude::*;

use super::LayoutError;
use crate::linalg::dense::{multiply, view, view_mut};
use crate::linalg::lanes::squared_norm;
use crate::progress::Progress;

/// Rows whose neighbours are looked for together.
const BLOCK: usize = 128;

/// Rows that they are compared with at a time.
const TILE: usize = 2048;

/// The neighbours of all rows: `count` for each, nearest first.
pub(super) struct Nearest {
    pub(super) count: usize,
    pub(super) rows: Vec<u32>,
    /// Distances, not squared.
    pub(super) distances: Vec<f32>,
}

/// Finds the `count` nearest rows of each row, without itself; fewer where there are fewer.
pub(super) fn nearest(
    rows: &[f32],
    dim: usize,
    count: usize,
    progress: &dyn Progress,
) -> Result<Nearest, LayoutError> {
    let num_rows = rows.len() / dim;
    let count = count.min(num_rows.saturating_sub(1));
    let norms: Vec<f32> = rows.par_chunks_exact(dim).map(|row| squared_norm(row) as f32).collect();
    let mut found =
        Nearest { count, rows: vec![0; num_rows * count], distances: vec![0.0; num_rows * count] };
    if count == 0 {
        return Ok(found);
    }
    progress.begin("layout (neighbours)", num_rows as u64, "nodes");
    let (indices, distances) = (&mut found.rows, &mut found.distances);
    indices
        .par_chunks_mut(BLOCK * count)
        .zip(distances.par_chunks_mut(BLOCK * count))
        .enumerate()
        .try_for_each(|(block, (indices, distances))| {
            if progress.is_cancelled() {
                return Err(LayoutError::Cancelled);
            }
            let mut heaps = Heaps { count, indices, distances };
            search(rows, dim, &norms, block * BLOCK, &mut heaps);
            progress.advance((heaps.indices.len() / count) as u64);
            Ok(())
        })?;
    progress.end();
    Ok(found)
}

/// The nearest rows found so far, sorted, for a block of rows.
struct Heaps<'a> {
    count: usize,
    indices: &'a mut [u32],
    distances: &'a mut [f32],
}

impl Heaps<'_> {
    /// Puts a row among the nearest of another, if it is.
    fn offer(&mut self, of: usize, index: u32, distance: f32) {
        let range = of * self.count..(of + 1) * self.count;
        let (indices, distances) = (&mut self.indices[range.clone()], &mut self.distances[range]);
        let mut place = self.count - 1;
        while place > 0 && distances[place - 1] > distance {
            distances[place] = distances[place - 1];
            indices[place] = indices[place - 1];
            place -= 1;
        }
        distances[place] = distance;
        indices[place] = index;
    }

    fn farthest(&self, of: usize) -> f32 {
        self.distances[(of + 1) * self.count - 1]
    }
}

/// Compares a block of rows, from `first` on, with all rows.
fn search(rows: &[f32], dim: usize, norms: &[f32], first: usize, heaps: &mut Heaps<'_>) {
    let block = heaps.indices.len() / heaps.count;
    heaps.distances.fill(f32::INFINITY);
    let queries = view(&rows[first * dim..(first + block) * dim], block, dim);
    let mut products = vec![0.0_f32; block * TILE];
    for (tile, others) in rows.chunks(TILE * dim).enumerate() {
        let width = others.len() / dim;
        let products = &mut products[..block * width];
        multiply(view_mut(products, block, width), queries, view(others, width, dim).transpose());
        for (of, products) in products.chunks_exact(width).enumerate() {
            let mut farthest = heaps.farthest(of);
            let own = norms[first + of];
            for (offset, product) in products.iter().enumerate() {
                let other = tile * TILE + offset;
                let distance = own + norms[other] - 2.0 * product;
                if distance < farthest && other != first + of {
                    heaps.offer(of, other as u32, distance);
                    farthest = heaps.farthest(of);
                }
            }
        }
    }
    heaps.distances.iter_mut().for_each(|distance| *distance = distance.max(0.0).sqrt());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::lanes::squared_distance;
    use crate::progress::Silent;

    #[test]
    fn neighbours_are_those_of_a_plain_search() {
        let (dim, num_rows) = (5, 2500);
        let rows: Vec<f32> = (0..dim * num_rows).map(|k| ((k * k) as f64 * 0.731).sin() as f32).collect();
        let found = nearest(&rows, dim, 7, &Silent).unwrap();
        let row = |k: usize| &rows[k * dim..][..dim];
        for of in (0..num_rows).step_by(61) {
            let mut all: Vec<(f64, usize)> = (0..num_rows)
                .filter(|&k| k != of)
                .map(|k| (squared_distance(row(of), row(k)).sqrt(), k))
                .collect();
            all.sort_by(|a, b| a.0.total_cmp(&b.0));
            for (place, (distance, _)) in all[..7].iter().enumerate() {
                let told = f64::from(found.distances[of * 7 + place]);
                assert!((told - distance).abs() < 1e-3, "{of}, {place}: {told}, {distance}");
            }
            assert!(found.rows[of * 7..][..7].iter().all(|&k| k as usize != of));
        }
    }

    #[test]
    fn of_equal_rows_the_first_are_nearest() {
        let found = nearest(&[1.0; 8], 2, 2, &Silent).unwrap();
        assert_eq!(found.rows, [1, 2, 0, 2, 0, 1, 0, 1]);
        assert_eq!(nearest(&[1.0, 2.0], 2, 5, &Silent).unwrap().count, 0);
    }
}
