//! Some rows of the embedding, scored roughly against all queries.
//!
//! With directions `q` of length 1, a row `x` may be among the best of a query only if
//!
//! ```text
//! x · q + slack ≥ threshold · weight,    weight = ‖x‖ for the cosine, 1 for the inner product
//! ```
//!
//! where `slack` bounds what single precision may be off by: `2⁻²² (d + 16) ‖x‖`, more than twice what
//! the sums, the lengths and the threshold can lose. Rows so long or so short that squares
//! overflow or vanish have an infinite slack, and are always scored again. A row of zeros has the exact
//! score 0, hence weight 1 and no slack.

use super::{NearError, Similarity};
use crate::linalg::dense::{multiply, view, view_mut};
use crate::linalg::lanes::{rough_dot, vectorized};

/// A block has about this many bytes of coordinates, so that it stays in the cache of a core.
const BLOCK_BYTES: usize = 256 << 10;

/// So many queries are multiplied with a block at a time.
const TILE: usize = 128;

/// Fewer queries are scored row by row, which a product of matrices would do no faster.
const FEW: usize = 4;

/// Rows are compared with the threshold in groups of this size.
const GROUP: usize = 32;

/// Squared lengths between which single precision neither overflows nor loses digits.
const SAFE: std::ops::RangeInclusive<f32> = 1e-28..=1e32;

/// The number of rows of a block.
pub(super) fn rows_of_block(dim: usize) -> usize {
    (BLOCK_BYTES / (4 * dim)).next_multiple_of(GROUP)
}

/// Memory for one block.
#[derive(Debug)]
pub(super) struct Block {
    dim: usize,
    similarity: Similarity,
    weights: Vec<f32>,
    slacks: Vec<f32>,
    /// The rough scores of a tile of queries, those of one query after those of the other.
    scores: Vec<f32>,
}

impl Block {
    pub(super) fn new(dim: usize, similarity: Similarity) -> Self {
        Self { dim, similarity, weights: Vec::new(), slacks: Vec::new(), scores: Vec::new() }
    }

    /// Measures the rows, of which the first is row `first` of the embedding.
    pub(super) fn measure(&mut self, rows: &[f32], first: usize) -> Result<(), NearError> {
        let dim = self.dim;
        self.weights.resize(rows.len() / dim, 0.0);
        self.slacks.resize(rows.len() / dim, 0.0);
        let squares = &mut self.weights;
        vectorized(
            #[inline(always)]
            || {
                for (square, row) in squares.iter_mut().zip(rows.chunks_exact(dim)) {
                    *square = rough_dot(row, row);
                }
            },
        );
        let error = 2_f32.powi(-22) * (dim + 16) as f32;
        for (index, row) in rows.chunks_exact(dim).enumerate() {
            let square = self.weights[index];
            let (length, slack) = match SAFE.contains(&square) {
                true => (square.sqrt(), error * square.sqrt()),
                false if row.iter().all(|&value| value == 0.0) => (1.0, 0.0),
                false if row.iter().all(|value| value.is_finite()) => (1.0, f32::INFINITY),
                false => return Err(NearError::NotFinite { row: first + index }),
            };
            self.weights[index] = if self.similarity == Similarity::Cosine { length } else { 1.0 };
            self.slacks[index] = slack;
        }
        Ok(())
    }

    /// Calls `candidate` with a query and a row of the block, for every pair that may be among the best. It
    /// returns the threshold of the query from there on; `thresholds` are those to begin with.
    pub(super) fn scan(
        &mut self,
        rows: &[f32],
        directions: &[f32],
        thresholds: impl Fn(usize) -> f32,
        mut candidate: impl FnMut(usize, usize) -> f32,
    ) {
        let num_rows = rows.len() / self.dim;
        for (tile, directions) in directions.chunks(TILE * self.dim).enumerate() {
            let num_queries = directions.len() / self.dim;
            self.scores.resize(num_rows * num_queries, 0.0);
            rough_scores(&mut self.scores, rows, directions, self.dim);
            for (index, scores) in self.scores.chunks_exact(num_rows).enumerate() {
                let query = TILE * tile + index;
                pass(scores, &self.weights, &self.slacks, thresholds(query), |row| candidate(query, row));
            }
        }
    }
}

/// The products of all rows and all directions, those of one direction after those of the other.
fn rough_scores(scores: &mut [f32], rows: &[f32], directions: &[f32], dim: usize) {
    let (num_rows, num_queries) = (rows.len() / dim, directions.len() / dim);
    if num_queries > FEW {
        let rows = view(rows, num_rows, dim);
        let target = view_mut(scores, num_queries, num_rows).transpose_mut();
        return multiply(target, rows, view(directions, num_queries, dim).transpose());
    }
    vectorized(
        #[inline(always)]
        || {
            for (direction, scores) in directions.chunks_exact(dim).zip(scores.chunks_exact_mut(num_rows)) {
                for (score, row) in scores.iter_mut().zip(rows.chunks_exact(dim)) {
                    *score = rough_dot(row, direction);
                }
            }
        },
    );
}

/// Calls `candidate` for every row that may reach the threshold, which follows what it returns.
fn pass(
    scores: &[f32],
    weights: &[f32],
    slacks: &[f32],
    mut threshold: f32,
    mut candidate: impl FnMut(usize) -> f32,
) {
    let mut first = 0;
    while first < scores.len() {
        first += vectorized(
            #[inline(always)]
            || groups_below(&scores[first..], &weights[first..], &slacks[first..], threshold),
        );
        for row in first..(first + GROUP).min(scores.len()) {
            if may_reach(scores[row], weights[row], slacks[row], threshold) {
                threshold = candidate(row);
            }
        }
        first += GROUP;
    }
}

/// Whether a row may reach the threshold; what overflows may.
#[inline(always)]
fn may_reach(score: f32, weight: f32, slack: f32, threshold: f32) -> bool {
    // Written so that NaN, which infinite parts can give, counts as reaching it.
    let is_below = score + slack < threshold * weight;
    !is_below
}

/// The number of rows, in whole groups, before the first group of which one may reach the threshold.
#[inline(always)]
fn groups_below(scores: &[f32], weights: &[f32], slacks: &[f32], threshold: f32) -> usize {
    let (scores, weights, slacks) =
        (scores.as_chunks::<GROUP>().0, weights.as_chunks::<GROUP>().0, slacks.as_chunks::<GROUP>().0);
    for (group, ((scores, weights), slacks)) in scores.iter().zip(weights).zip(slacks).enumerate() {
        let mut reaching = 0;
        for row in 0..GROUP {
            reaching |= u32::from(may_reach(scores[row], weights[row], slacks[row], threshold));
        }
        if reaching != 0 {
            return GROUP * group;
        }
    }
    GROUP * scores.len()
}
