//! Normal numbers, many at a time.
//!
//! Box and Muller: two uniform numbers give two normal ones,
//!
//! ```text
//! r = sqrt(-2 ln u),    r cos 2πt,    r sin 2πt
//! ```
//!
//! with short polynomials for the logarithm and the circle, so that the compiler makes
//! vector code. The uniform numbers come from the streams of [`Seed`]: one stream for
//! each epoch and block of values, so any thread can make any block.
//! Cost: about a nanosecond a number.
//!
//! Source: Box, Muller, "A note on the generation of random normal deviates", Annals
//! of Mathematical Statistics 29, 1958.

use crate::linalg::real::Real;
use rand::Rng;

use super::kernel::{for_blocks, vectorized};
use crate::seed::{Seed, Stage};

/// Values that share one stream.
const BLOCK: usize = 4096;
/// Values made at a time: half from the radii, half from the angles.
const BATCH: usize = 256;

/// What random numbers are for; the highest bits of a stream's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// First weights.
    Weights = 0,
    /// Normal numbers.
    Noise = 1,
    /// Non-edges, or shuffled features.
    Pairs = 2,
    /// Edges that are hidden for an epoch.
    Hidden = 3,
    /// Edges that are kept out of training, and the non-edges beside them.
    Validation = 4,
}

/// The index of a stream: what for, which epoch, which block.
pub fn stream_index(purpose: Purpose, epoch: u32, block: usize) -> u64 {
    (purpose as u64) << 56 | u64::from(epoch) << 24 | block as u64 & 0x00ff_ffff
}

/// Fills `out` with independent normal numbers of mean 0 and variance 1.
pub fn fill_normal<F: Real>(out: &mut [F], seed: Seed, epoch: u32) {
    for_blocks(out, BLOCK, 1, |block, values| {
        let mut random = seed.stream(Stage::Embed, stream_index(Purpose::Noise, epoch, block));
        for batch in values.chunks_mut(BATCH) {
            let mut words = [[0_u8; 4]; BATCH];
            random.fill_bytes(words.as_flattened_mut());
            let mut normal = [0_f32; BATCH];
            vectorized(
                #[inline(always)]
                || box_muller(&words, &mut normal),
            );
            batch.iter_mut().zip(normal).for_each(|(value, normal)| *value = F::of(f64::from(normal)));
        }
    });
}

#[inline(always)]
fn box_muller(words: &[[u8; 4]; BATCH], normal: &mut [f32; BATCH]) {
    const HALF: usize = BATCH / 2;
    for k in 0..HALF {
        // 24 bits are what f32 can hold; the half keeps the logarithm from zero.
        let radius_bits = (u32::from_le_bytes(words[k]) >> 8) as i32;
        let angle_bits = (u32::from_le_bytes(words[k + HALF]) >> 8) as i32;
        let u = (radius_bits as f32 + 0.5) * (1.0 / 16_777_216.0);
        let t = angle_bits as f32 * (1.0 / 16_777_216.0) - 0.5;
        let radius = (-2.0 * Real::ln(u)).sqrt();
        let (sin, cos) = half_turn(t * std::f32::consts::PI);
        normal[k] = radius * (1.0 - 2.0 * sin * sin);
        normal[k + HALF] = radius * (2.0 * sin * cos);
    }
}

/// Sine and cosine between -π/2 and π/2, by their Taylor series.
#[inline(always)]
fn half_turn(angle: f32) -> (f32, f32) {
    let square = angle * angle;
    let mut sin = -2.505_210_8e-8;
    for coefficient in [2.755_731_9e-6, -1.984_127e-4, 8.333_333e-3, -1.666_666_7e-1, 1.0] {
        sin = sin * square + coefficient;
    }
    let mut cos = 2.087_675_7e-9;
    for coefficient in [-2.755_732e-7, 2.480_158_7e-5, -1.388_888_9e-3, 4.166_666_7e-2, -0.5, 1.0] {
        cos = cos * square + coefficient;
    }
    (sin * angle, cos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_a_normal_distribution() {
        let mut values = vec![0_f64; 1 << 20];
        fill_normal(&mut values, Seed(3), 0);
        let moment = |power: i32| values.iter().map(|x| x.powi(power)).sum::<f64>() / values.len() as f64;
        for (power, expected, tolerance) in
            [(1, 0.0, 0.005), (2, 1.0, 0.01), (3, 0.0, 0.02), (4, 3.0, 0.05), (6, 15.0, 0.6)]
        {
            assert!((moment(power) - expected).abs() < tolerance, "moment {power} is {}", moment(power));
        }
        let beyond_two = values.iter().filter(|x| x.abs() > 2.0).count() as f64 / values.len() as f64;
        assert!((beyond_two - 0.0455).abs() < 0.001);
        let neighbours = values.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / values.len() as f64;
        assert!(neighbours.abs() < 0.005);
    }

    #[test]
    fn epochs_have_their_own_numbers() {
        let draw = |epoch| {
            let mut values = [0_f32; 10];
            fill_normal(&mut values, Seed(3), epoch);
            values
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn sine_and_cosine_are_exact_enough() {
        for step in -500..=500 {
            let angle = step as f32 * (std::f32::consts::FRAC_PI_2 / 500.0);
            let (sin, cos) = half_turn(angle);
            assert!((sin - angle.sin()).abs() < 1e-6 && (cos - angle.cos()).abs() < 1e-6, "{angle}");
        }
    }
}
