//! The embedding in two dimensions, for pictures.
//!
//! | method | what is near in the picture | cost | default |
//! | --- | --- | --- | --- |
//! | [`pca`] | what is near along the two directions of largest variance | `O(n d²)` | above 200 000 nodes |
//! | [`umap`] | nodes that are among each other's nearest in all dimensions | `O(n² d)` | up to 200 000 nodes |
//!
//! In the first, distances mean something everywhere; in the second, groups stand out, and distances between
//! them mean little. The same embedding and seed give the same bytes, on any number of threads.
//!
//! Kept crates were looked at first: `umap-rs` 0.4 moves points from several threads at once without a
//! lock (Hogwild) and draws from a generator without a seed, so that no two runs agree; `bhtsne` 0.7 brings
//! two crates for Fourier transforms and an older `rand`.

mod nearest;

pub mod pca;

pub mod umap;

use serde::{Deserialize, Serialize};

use crate::linalg::dense::DenseError;
use crate::progress::Progress;
use crate::seed::Seed;

/// Up to so many nodes `auto` looks for neighbours.
pub const MOST_FOR_UMAP: usize = 200_000;

/// How a layout is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LayoutMethod {
    /// UMAP up to 200 000 nodes, else PCA.
    #[default]
    Auto,
    /// The two directions of largest variance.
    Pca,
    /// Nearest neighbours near each other.
    Umap,
}

impl LayoutMethod {
    /// The method itself, where it was left to the number of nodes.
    pub fn settled(self, num_nodes: usize) -> Self {
        match self {
            Self::Auto if num_nodes <= MOST_FOR_UMAP => Self::Umap,
            Self::Auto => Self::Pca,
            method => method,
        }
    }

    /// The name, as in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Pca => "pca",
            Self::Umap => "umap",
        }
    }
}

/// A point of a layout.
pub type Point = [f32; 2];

/// Why there is no layout.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages name the fields")]
pub enum LayoutError {
    /// A coordinate is NaN or infinite.
    #[error("row {row} of the embedding is not finite; a layout needs finite coordinates")]
    NotFinite { row: usize },

    /// The leading directions were not found.
    #[error(transparent)]
    Dense(#[from] DenseError),

    /// Somebody asked to stop.
    #[error("the layout was cancelled")]
    Cancelled,
}

/// Puts every row of an embedding into the plane.
///
/// # Errors
/// [`LayoutError`] if a coordinate is not finite, or somebody asked to stop.
///
/// # Examples
/// ```
/// use local2global::layout::{LayoutMethod, lay_out};
/// use local2global::progress::Silent;
/// use local2global::seed::Seed;
///
/// // Four points on a line, in three dimensions.
/// let rows: Vec<f32> = (0..4).flat_map(|k| [k as f32, 2.0 * k as f32, 0.0]).collect();
/// let points = lay_out(&rows, 3, LayoutMethod::Pca, Seed(0), &Silent)?;
/// assert!((points[3][0] - points[0][0] - 3.0 * 5.0_f32.sqrt()).abs() < 1e-4);
/// # Ok::<(), local2global::layout::LayoutError>(())
/// ```
pub fn lay_out(
    rows: &[f32],
    dim: usize,
    method: LayoutMethod,
    seed: Seed,
    progress: &dyn Progress,
) -> Result<Vec<Point>, LayoutError> {
    match method.settled(rows.len() / dim.max(1)) {
        LayoutMethod::Umap => umap::lay_out(rows, dim, seed, progress),
        _ => pca::lay_out(rows, dim, progress),
    }
}

/// Turns, mirrors and scales a layout so that it lies as near to another of the same nodes as it can.
///
/// With points as complex numbers about their centres, the best turn is `conj(Σ p̄ q)` over its length, and a
/// mirrored one the same for `p̄`; the better of both is taken.
pub fn turn_towards(points: &mut [Point], reference: &[Point]) {
    let (from, to) = (centre(points), centre(reference));
    let mut sums = [0.0_f64; 5];
    for (p, q) in points.iter().zip(reference) {
        let [px, py] = [f64::from(p[0]) - from[0], f64::from(p[1]) - from[1]];
        let [qx, qy] = [f64::from(q[0]) - to[0], f64::from(q[1]) - to[1]];
        let terms = [px * qx + py * qy, px * qy - py * qx, px * qx - py * qy, px * qy + py * qx];
        sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
        sums[4] += px * px + py * py;
    }
    let [a, b, c, d, size] = sums;
    let is_mirrored = c.hypot(d) > a.hypot(b);
    let [cos, sin] = if is_mirrored { [c, d] } else { [a, b] };
    if !(size > 0.0 && cos.hypot(sin) > 0.0) {
        return;
    }
    let [cos, sin] = [cos / size, sin / size];
    let sign = if is_mirrored { -1.0 } else { 1.0 };
    for p in points {
        let [x, y] = [f64::from(p[0]) - from[0], sign * (f64::from(p[1]) - from[1])];
        *p = [(to[0] + cos * x - sin * y) as f32, (to[1] + sin * x + cos * y) as f32];
    }
}

fn centre(points: &[Point]) -> [f64; 2] {
    let count = points.len().max(1) as f64;
    let sum = points.iter().fold([0.0; 2], |sum, p| [sum[0] + f64::from(p[0]), sum[1] + f64::from(p[1])]);
    sum.map(|sum| sum / count)
}

/// Refuses coordinates that are not finite.
fn check_finite(rows: &[f32], dim: usize) -> Result<(), LayoutError> {
    use rayon::prelude::*;
    match rows.par_iter().position_first(|value| !value.is_finite()) {
        Some(at) => Err(LayoutError::NotFinite { row: at / dim }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;

    #[test]
    fn what_is_not_finite_is_named() {
        let error = lay_out(&[0.0, 1.0, 2.0, f32::NAN], 2, LayoutMethod::Auto, Seed(0), &Silent).unwrap_err();
        assert_eq!(
            error.to_string(),
            "row 1 of the embedding is not finite; a layout needs finite coordinates"
        );
    }

    #[test]
    fn large_graphs_are_laid_out_by_pca() {
        assert_eq!(LayoutMethod::Auto.settled(MOST_FOR_UMAP), LayoutMethod::Umap);
        assert_eq!(LayoutMethod::Auto.settled(MOST_FOR_UMAP + 1), LayoutMethod::Pca);
        assert_eq!(LayoutMethod::Umap.settled(MOST_FOR_UMAP + 1), LayoutMethod::Umap);
    }

    #[test]
    fn a_turned_and_a_mirrored_layout_come_back() {
        let reference = [[0.0, 0.0], [3.0, 0.0], [0.0, 1.0], [5.0, -2.0]];
        let moved = |mirror: f32| reference.map(|[x, y]| [7.0 - 2.0 * y * mirror, 2.0 * x - 1.0]);
        for mirror in [1.0, -1.0] {
            let mut points = moved(mirror);
            turn_towards(&mut points, &reference);
            let near = points.iter().zip(&reference).all(|(p, q)| (p[0] - q[0]).hypot(p[1] - q[1]) < 1e-5);
            assert!(near, "{points:?}");
        }
        let mut same = [[1.0, 1.0]; 4];
        turn_towards(&mut same, &reference);
        assert_eq!(same, [[1.0, 1.0]; 4]);
    }

    #[test]
    fn nothing_and_a_single_node_have_layouts() {
        for method in [LayoutMethod::Pca, LayoutMethod::Umap] {
            assert!(lay_out(&[], 3, method, Seed(0), &Silent).unwrap().is_empty());
            for nodes in 1..4 {
                let points = lay_out(&vec![1.0; 3 * nodes], 3, method, Seed(0), &Silent).unwrap();
                assert!(points.len() == nodes && points.iter().flatten().all(|x| x.is_finite()));
            }
        }
    }

    #[test]
    fn one_thread_and_three_give_the_same_bytes() {
        let rows: Vec<f32> = (0..9000).map(|k| ((k * k) as f32 * 0.37).sin()).collect();
        let bits = |threads: usize, method| -> Vec<u32> {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let points = pool.install(|| lay_out(&rows, 9, method, Seed(4), &Silent)).unwrap();
            points.iter().flatten().map(|x| x.to_bits()).collect()
        };
        for method in [LayoutMethod::Pca, LayoutMethod::Umap] {
            assert!(bits(1, method) == bits(3, method), "{method:?}");
        }
    }
}
