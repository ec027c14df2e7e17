//! Loops over plain slices that become vector code.
//!
//! The binary is built for any x86-64; what the processor really has is found out at run
//! time. A closure given to [`vectorized`] is compiled once more for AVX2 and FMA, so kernels
//! are plain loops that the compiler turns into vector code. Multiplications and additions
//! are never fused and sums are never reordered, so both versions give the same bits. Sums
//! that are to be fast are written as several sums side by side, which is an order too.

use super::real::Real;

/// Runs `body`, which must be marked `#[inline(always)]`, as must be all it calls, with the
/// best instructions of this processor.
#[inline(always)]
pub(crate) fn vectorized<R>(body: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(body)
}

/// The sum of a term for each pair of entries, in eight sums side by side.
#[inline(always)]
pub(crate) fn sum_pairs<A: Copy, B: Copy>(a: &[A], b: &[B], term: impl Fn(A, B) -> f64) -> f64 {
    const LANES: usize = 8;
    let mut lanes = [0.0; LANES];
    let (a_blocks, a_rest) = a.as_chunks::<LANES>();
    let (b_blocks, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a_blocks.iter().zip(b_blocks) {
        for lane in 0..LANES {
            lanes[lane] += term(a[lane], b[lane]);
        }
    }
    let mut sum = 0.0;
    for (&a, &b) in a_rest.iter().zip(b_rest) {
        sum += term(a, b);
    }
    lanes.into_iter().sum::<f64>() + sum
}

/// The inner product.
#[inline(always)]
pub(crate) fn dot<F: Real>(a: &[F], b: &[F]) -> f64 {
    vectorized(
        #[inline(always)]
        || sum_pairs(a, b, |a, b| a.to_f64() * b.to_f64()),
    )
}

/// The inner product in single precision, in 32 sums side by side: as fast as memory gives the numbers, and off by
/// at most `d 2⁻²⁴ ‖a‖ ‖b‖` in `d` dimensions. To be called inside of [`vectorized`].
#[inline(always)]
pub(crate) fn rough_dot(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 32;
    let mut lanes = [0.0; LANES];
    let (a_blocks, a_rest) = a.as_chunks::<LANES>();
    let (b_blocks, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a_blocks.iter().zip(b_blocks) {
        for lane in 0..LANES {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(&a, &b)| a * b).sum();
    lanes.into_iter().sum::<f32>() + rest
}

/// The sum of squares.
#[inline(always)]
pub(crate) fn squared_norm<F: Real>(values: &[F]) -> f64 {
    dot(values, values)
}

/// The sum of squared differences.
#[inline(always)]
pub(crate) fn squared_distance<F: Real>(a: &[F], b: &[F]) -> f64 {
    vectorized(
        #[inline(always)]
        || {
            sum_pairs(a, b, |a, b| {
                let difference = a.to_f64() - b.to_f64();
                difference * difference
            })
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rough_product_is_off_by_no_more_than_single_precision() {
        for len in [0, 1, 31, 32, 33, 100] {
            let a: Vec<f32> = (0..len).map(|at| (at as f32 * 0.37).sin()).collect();
            let b: Vec<f32> = (0..len).map(|at| (at as f32 * 0.61).cos()).collect();
            let bound = len as f64 * 2_f64.powi(-24) * (squared_norm(&a) * squared_norm(&b)).sqrt();
            assert!((f64::from(rough_dot(&a, &b)) - dot(&a, &b)).abs() <= bound, "{len}");
        }
    }

    #[test]
    fn sums_are_those_of_the_terms() {
        for len in [0, 1, 7, 8, 19] {
            let a: Vec<f64> = (0..len).map(f64::from).collect();
            let b: Vec<f64> = a.iter().map(|value| 2.0 - value).collect();
            let sum = |term: fn(f64, f64) -> f64| a.iter().zip(&b).map(|(&a, &b)| term(a, b)).sum::<f64>();
            assert_eq!(dot(&a, &b), sum(|a, b| a * b));
            assert_eq!(squared_norm(&b), sum(|_, b| b * b));
            assert_eq!(squared_distance(&a, &b), sum(|a, b| (a - b) * (a - b)));
        }
    }
}
