//! How a kernel runs: vector instructions where there are any, blocks of rows on all
//! threads.
//!
//! Kernels are plain loops over slices, marked `#[inline(always)]`, that
//! [`vectorized`] turns into vector code.

use crate::linalg::real::Real;
use rayon::prelude::*;

pub(in crate::embed) use crate::linalg::lanes::vectorized;

/// Below this many values, handing work to other threads costs more than it saves.
const MIN_PARALLEL_VALUES: usize = 1 << 13;

/// How many rows one thread should take at a time: a few blocks a thread.
///
/// Only for kernels whose result does not depend on where blocks begin.
pub(in crate::embed) fn rows_per_block(num_rows: usize, work_per_row: usize) -> usize {
    let threads = rayon::current_num_threads();
    if threads == 1 || num_rows * work_per_row < MIN_PARALLEL_VALUES {
        return num_rows.max(1);
    }
    num_rows.div_ceil(4 * threads).max(1)
}

/// Splits `out` into blocks of `block_rows` rows of `width` values, and calls `body`
/// with the first row of each block and the block.
pub(in crate::embed) fn for_blocks<T: Send>(
    out: &mut [T],
    width: usize,
    block_rows: usize,
    body: impl Fn(usize, &mut [T]) + Sync,
) {
    if width == 0 {
        return;
    }
    if out.len() <= block_rows * width || rayon::current_num_threads() == 1 {
        out.chunks_mut(block_rows * width).enumerate().for_each(|(b, block)| body(b * block_rows, block));
        return;
    }
    let blocks = out.par_chunks_mut(block_rows * width).enumerate();
    blocks.for_each(|(b, block)| body(b * block_rows, block));
}

/// As [`for_blocks`], for two outputs with rows of their own widths.
pub(in crate::embed) fn for_blocks_of_two<A: Send, B: Send>(
    (a, a_width): (&mut [A], usize),
    (b, b_width): (&mut [B], usize),
    block_rows: usize,
    body: impl Fn(usize, &mut [A], &mut [B]) + Sync,
) {
    let a = a.par_chunks_mut((block_rows * a_width).max(1));
    let b = b.par_chunks_mut((block_rows * b_width).max(1));
    a.zip(b).enumerate().for_each(|(index, (a, b))| body(index * block_rows, a, b));
}

/// As [`for_blocks`], for three outputs with rows of their own widths.
pub(in crate::embed) fn for_blocks_of_three<A: Send, B: Send, C: Send>(
    (a, a_width): (&mut [A], usize),
    (b, b_width): (&mut [B], usize),
    (c, c_width): (&mut [C], usize),
    block_rows: usize,
    body: impl Fn(usize, &mut [A], &mut [B], &mut [C]) + Sync,
) {
    let a = a.par_chunks_mut((block_rows * a_width).max(1));
    let b = b.par_chunks_mut((block_rows * b_width).max(1));
    let c = c.par_chunks_mut((block_rows * c_width).max(1));
    a.zip(b).zip(c).enumerate().for_each(|(index, ((a, b), c))| body(index * block_rows, a, b, c));
}

/// `ln(1 + e^t)` and its derivative `σ(t)`; not a number if `t` is none, or infinite.
#[inline(always)]
pub(in crate::embed) fn softplus<F: Real>(t: F) -> (F, F) {
    let small = (-t.abs()).exp();
    let loss = t.max(F::ZERO) + (F::ONE + small).ln() + t * F::ZERO;
    (loss, if t >= F::ZERO { F::ONE } else { small } / (F::ONE + small))
}

/// The inner product of two rows, summed in sixteen lanes.
#[inline(always)]
pub(in crate::embed) fn dot<F: Real>(a: &[F], b: &[F]) -> F {
    sum_of_terms(a, b, |a, b| a * b)
}

/// The squared distance of two rows, summed in sixteen lanes.
#[inline(always)]
pub(in crate::embed) fn squared_distance<F: Real>(a: &[F], b: &[F]) -> F {
    sum_of_terms(a, b, |a, b| (a - b) * (a - b))
}

/// The sum of a term for each position of two rows, in sixteen lanes.
#[inline(always)]
fn sum_of_terms<F: Real>(a: &[F], b: &[F], term: impl Fn(F, F) -> F) -> F {
    let (lanes, rest) = sums_of_terms(a, b, term);
    fold(lanes) + rest
}

/// The sums of a term for each position of two rows, in lanes, and that of the last positions.
#[inline(always)]
pub(in crate::embed) fn sums_of_terms<F: Real, const LANES: usize>(
    a: &[F],
    b: &[F],
    term: impl Fn(F, F) -> F,
) -> ([F; LANES], F) {
    let mut lanes = [F::ZERO; LANES];
    let (a_blocks, a_rest) = a.as_chunks::<LANES>();
    let (b_blocks, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a_blocks.iter().zip(b_blocks) {
        for lane in 0..LANES {
            lanes[lane] += term(a[lane], b[lane]);
        }
    }
    let mut rest = F::ZERO;
    for (&a, &b) in a_rest.iter().zip(b_rest) {
        rest += term(a, b);
    }
    (lanes, rest)
}

/// Adds sixteen lanes: the upper half to the lower, then one after the other, an order
/// in which the compiler keeps each half in one register.
#[inline(always)]
fn fold<F: Real>(lanes: [F; 16]) -> F {
    let mut half = [F::ZERO; 8];
    for lane in 0..8 {
        half[lane] = lanes[lane] + lanes[lane + 8];
    }
    half.into_iter().sum()
}
