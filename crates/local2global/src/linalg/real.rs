//! The number types that matrices hold and models are trained in.
//!
//! `f64` uses the functions of the standard library. `f32` has its own exponential
//! and logarithm: short polynomials without branches, which the compiler turns into
//! vector code, so that a million of them cost a millisecond. They are exact to a few
//! units in the last place, and give the same bits on every machine.

use std::borrow::Cow;
use std::fmt::Display;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use rayon::prelude::*;

/// A floating-point number: `f32` where speed counts, `f64` where digits do.
pub trait Real:
    faer::traits::ComplexField
    + Copy
    + 'static
    + Default
    + Display
    + PartialOrd
    + Add<Output = Self>
    + AddAssign
    + Sub<Output = Self>
    + SubAssign
    + Mul<Output = Self>
    + MulAssign
    + Div<Output = Self>
    + DivAssign
    + Neg<Output = Self>
    + Sum
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;

    /// The nearest number of this type.
    fn of(value: f64) -> Self;

    /// The same number in double precision.
    fn to_f64(self) -> f64;

    /// The nearest numbers of this type, or the numbers themselves.
    fn of_all(values: &[f64]) -> Cow<'_, [Self]>;

    /// The same numbers in double precision.
    fn all_to_f64(values: &[Self]) -> Cow<'_, [f64]>;

    /// The numbers themselves, if they are of this type.
    fn of_singles(values: &[f32]) -> Option<&[Self]>;

    /// As [`Real::of_singles`].
    fn of_doubles(values: &[f64]) -> Option<&[Self]>;

    /// `e` to the power of the number.
    fn exp(self) -> Self;

    /// The natural logarithm of a positive number.
    fn ln(self) -> Self;

    /// The square root.
    fn sqrt(self) -> Self;

    /// The larger of two numbers. Unlike `f32::max` it is one instruction: if either is NaN, `other`
    /// comes out.
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        if self > other { self } else { other }
    }

    /// The smaller of two numbers, as [`Real::max`].
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        if self < other { self } else { other }
    }

    /// The distance from zero.
    #[inline(always)]
    fn abs(self) -> Self {
        self.max(-self)
    }
}

impl Real for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;

    #[inline(always)]
    fn of(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }

    fn of_all(values: &[f64]) -> Cow<'_, [Self]> {
        values.into()
    }

    fn all_to_f64(values: &[Self]) -> Cow<'_, [f64]> {
        values.into()
    }

    fn of_singles(_: &[f32]) -> Option<&[Self]> {
        None
    }

    fn of_doubles(values: &[f64]) -> Option<&[Self]> {
        Some(values)
    }

    fn exp(self) -> Self {
        self.exp()
    }

    fn ln(self) -> Self {
        self.ln()
    }

    fn sqrt(self) -> Self {
        self.sqrt()
    }
}

impl Real for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;

    #[inline(always)]
    fn of(value: f64) -> Self {
        value as Self
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    fn of_all(values: &[f64]) -> Cow<'_, [Self]> {
        values.par_iter().map(|&value| value as Self).collect::<Vec<Self>>().into()
    }

    fn all_to_f64(values: &[Self]) -> Cow<'_, [f64]> {
        values.iter().map(|&value| f64::from(value)).collect::<Vec<f64>>().into()
    }

    fn of_singles(values: &[f32]) -> Option<&[Self]> {
        Some(values)
    }

    fn of_doubles(_: &[f64]) -> Option<&[Self]> {
        None
    }

    #[inline(always)]
    fn exp(self) -> Self {
        exp(self)
    }

    #[inline(always)]
    fn ln(self) -> Self {
        ln(self)
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        self.sqrt()
    }
}

/// Adding and subtracting 1.5 * 2²³ rounds a small number to the nearest integer.
const ROUND: f32 = 12_582_912.0;
/// ln 2, in two parts: the first has few digits, so that `k * LN2_HIGH` is exact.
const LN2_HIGH: f32 = 0.693_359_4;
const LN2_LOW: f32 = -2.121_944_4e-4;

/// `e^x = 2^k e^r` with `|r| <= ln 2 / 2`; NaN stays NaN, and what is too large or too
/// small becomes about 1.7e38 or 1.2e-38.
#[inline(always)]
fn exp(x: f32) -> f32 {
    let clamped = Real::min(Real::max(x, -87.3), 88.0);
    let shifted = clamped * std::f32::consts::LOG2_E + ROUND;
    let k = shifted - ROUND;
    let r = (clamped - k * LN2_HIGH) - k * LN2_LOW;
    let mut tail = 1.987_569_1e-4;
    for coefficient in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
        tail = tail * r + coefficient;
    }
    let mantissa = tail * r * r + r + 1.0;
    // The last bits of `shifted` are k; a power of two has k + 127 in its exponent.
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23));
    if x.is_nan() { x } else { mantissa * power }
}

/// `ln x = k ln 2 + ln m` with `m` within a factor of sqrt 2 of 1.
#[inline(always)]
fn ln(x: f32) -> f32 {
    const SQRT_HALF_BITS: u32 = 0x3f35_04f3;
    let shifted = x.to_bits().wrapping_sub(SQRT_HALF_BITS);
    let k = ((shifted as i32) >> 23) as f32;
    let r = f32::from_bits((shifted & 0x007f_ffff) + SQRT_HALF_BITS) - 1.0;
    let mut tail = 7.037_683_6e-2;
    for coefficient in [
        -1.151_461e-1,
        1.167_699_9e-1,
        -1.242_014_1e-1,
        1.424_932_3e-1,
        -1.666_805_8e-1,
        2.000_071_5e-1,
        -2.499_999_4e-1,
        3.333_333e-1,
    ] {
        tail = tail * r + coefficient;
    }
    let square = r * r;
    (tail * r * square - 0.5 * square) + r + k * LN2_LOW + k * LN2_HIGH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_exponential_is_close_to_the_exact_one() {
        for step in -8700..8700 {
            let x = step as f32 * 0.01;
            let exact = f64::from(x).exp();
            assert!((f64::from(exp(x)) / exact - 1.0).abs() < 3e-7, "exp({x})");
        }
        assert!(exp(-1000.0) < 2e-38 && exp(1000.0) > 1e38 && exp(f32::NAN).is_nan());
    }

    #[test]
    fn the_short_logarithm_is_close_to_the_exact_one() {
        for step in 1..20_000 {
            let x = (step as f32 * 0.01) * (step as f32 * 0.01);
            let exact = f64::from(x).ln();
            let error = (f64::from(ln(x)) - exact).abs();
            assert!(error < 3e-7 * exact.abs().max(0.5), "ln({x}) is off by {error}");
        }
    }
}
