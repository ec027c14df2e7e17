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
