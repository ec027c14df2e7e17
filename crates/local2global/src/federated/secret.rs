//! What stays at a site: the motion that hides its rows, and the key of its noise.
//!
//! The motion is an orthogonal matrix, drawn uniformly, and a shift several times as long as rows are.
//! The key makes two things. Noise is drawn from a seed that is the HMAC of the rows it is added to:
//! the same rows get the same noise, so sharing them again spends nothing more, and changed rows get
//! noise that has nothing to do with the old. And a seal over motion and rows stands in the share, so
//! that a site notices when its rows or its secret are no longer those that it has shared.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use rand_distr::StandardNormal;

use super::FederatedError;
use super::hash::{hex, keyed};
use super::system_chance::unguessable_bytes;
use crate::align::Transforms;
use crate::linalg::lanes::squared_norm;
use crate::linalg::polar::random_orthogonal;

/// The standard deviation of the shift, as a multiple of the length of a typical row.
const SHIFT: f64 = 4.0;

/// The secret of a site.
#[derive(Clone)]
pub struct Secret {
    pub(super) motion: Transforms,
    pub(super) noise_key: [u8; 32],
}

/// The secret of a site, and which of its rows it has shared.
#[derive(Clone)]
pub struct KeptSecret {
    /// The site.
    pub site: String,
    /// The secret.
    pub secret: Secret,
    /// The rows that were shared, in the order of the share.
    pub shared: Vec<u64>,
}

impl Secret {
    /// Draws a secret from the randomness of the operating system, for rows of a typical length.
    ///
    /// # Errors
    /// [`FederatedError::SystemChance`] if the operating system has none.
    pub fn draw(dim: usize, typical_length: f64) -> Result<Self, FederatedError> {
        Ok(Self::from_bytes(unguessable_bytes()?, dim, typical_length))
    }

    /// The secret that follows from some bytes; who knows them knows the secret.
    pub fn from_bytes(bytes: [u8; 32], dim: usize, typical_length: f64) -> Self {
        let mut random = ChaCha20Rng::from_seed(bytes);
        let mut noise_key = [0; 32];
        random.fill(&mut noise_key);
        let mut motion = Transforms::identity(1, dim);
        motion.rotations = random_orthogonal(dim, &mut random);
        let length = if typical_length > 0.0 { SHIFT * typical_length } else { 1.0 };
        motion.translations.fill_with(|| length * random.sample::<f64, _>(StandardNormal));
        Self { motion, noise_key }
    }

    /// The number of coordinates that it moves.
    pub fn dim(&self) -> usize {
        self.motion.dim
    }

    /// Moves rows to where nobody else knows them.
    pub fn hide(&self, rows: &[f64]) -> Vec<f64> {
        let mut moved = vec![0.0; rows.len()];
        self.motion.apply(0, rows, &mut moved);
        moved
    }

    /// The seed of the noise for these rows with this much noise.
    pub(super) fn noise_seed(&self, sigma: f64, rows: &[f64]) -> [u8; 32] {
        let pieces: [&[u8]; 3] = [b"local2global noise", &sigma.to_le_bytes(), bytemuck::cast_slice(rows)];
        keyed(&self.noise_key, &pieces)
    }

    /// A seal over this secret and the rows that were shared; it tells nothing about them.
    pub fn seal(&self, rows: &[f64]) -> String {
        let [rotation, shift, rows] =
            [&self.motion.rotations, &self.motion.translations, rows].map(bytemuck::cast_slice::<f64, u8>);
        hex(&keyed(&self.noise_key, &[b"local2global seal", rotation, shift, rows]))
    }
}

/// The root mean square length of rows.
pub(super) fn typical_length(rows: &[f64], dim: usize) -> f64 {
    (squared_norm(rows) * dim as f64 / rows.len().max(1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::lanes::squared_distance;

    #[test]
    fn hidden_rows_keep_their_distances_and_nothing_else() {
        let secret = Secret::from_bytes([1; 32], 3, 1.0);
        let rows = [1.0, 2.0, 3.0, -1.0, 0.5, 0.0];
        let hidden = secret.hide(&rows);
        let distance = |rows: &[f64]| squared_distance(&rows[..3], &rows[3..]).sqrt();
        assert!((distance(&hidden) - distance(&rows)).abs() < 1e-12);
        assert!(squared_distance(&hidden, &rows) > 1.0, "{hidden:?}");
    }

    #[test]
    fn the_seal_breaks_with_secret_or_rows_and_noise_follows_the_rows() {
        let [first, second] = [1, 2].map(|byte| Secret::from_bytes([byte; 32], 2, 1.0));
        let (rows, others) = ([1.0, 2.0], [1.0, 2.5]);
        assert_eq!(first.seal(&rows), first.clone().seal(&rows));
        assert_ne!(first.seal(&rows), first.seal(&others));
        assert_ne!(first.seal(&rows), second.seal(&rows));
        assert_eq!(first.noise_seed(0.1, &rows), first.noise_seed(0.1, &rows));
        assert_ne!(first.noise_seed(0.1, &rows), first.noise_seed(0.1, &others));
        assert_ne!(first.noise_seed(0.1, &rows), first.noise_seed(0.2, &rows));
    }

    #[test]
    fn the_system_gives_another_secret_each_time() {
        let rows = [1.0, 2.0];
        let [first, second] = [(); 2].map(|()| Secret::draw(2, 1.0).unwrap().hide(&rows));
        assert!(squared_distance(&first, &second) > 1e-6);
    }
}
