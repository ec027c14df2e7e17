//! `both`: half of the dimensions from features, half from structure.
//!
//! ```text
//! coordinates = [ sqrt(1 - w) unit(hops) | sqrt(w) unit(walks) ]
//! ```
//!
//! Both parts get rows of length 1, so that `w` is the share of structure in every inner product.
//! Cost: that of both methods.

use std::time::Instant;

use rayon::prelude::*;

use super::hops::HopsEmbedder;
use super::hops::features::unit;
use super::memory::PatchSize;
use super::nn::Matrix;
use super::walks::WalkEmbedder;
use super::{EmbedError, EmbedMethod, EmbedTask, Embedder, Embedding, PatchInput};

/// Embeds by features and by structure.
#[derive(Clone, Debug)]
pub struct Both {
    hops: HopsEmbedder,
    walks: WalkEmbedder,
    structure_weight: f32,
}

impl Both {
    /// Joins two embedders, each made for its part of the dimensions.
    pub fn new(hops: HopsEmbedder, walks: WalkEmbedder, structure_weight: f32) -> Self {
        Self { hops, walks, structure_weight }
    }
}

impl Embedder for Both {
    fn embed(&self, patch: &PatchInput<'_>, task: &EmbedTask<'_>) -> Result<Embedding, EmbedError> {
        let started = Instant::now();
        let [of_hops, of_walks] = EmbedMethod::Both.dims(task.dim);
        let mut hops = self.hops.embed(patch, &EmbedTask { dim: of_hops, ..*task })?;
        let walks = self.walks.embed(patch, &EmbedTask { dim: of_walks, ..*task })?;
        hops.coordinates = side_by_side([&hops.coordinates, &walks.coordinates], self.structure_weight);
        hops.record.seconds = started.elapsed().as_secs_f64();
        Ok(hops)
    }

    fn num_steps(&self) -> u64 {
        self.hops.num_steps() + self.walks.num_steps()
    }

    fn memory_bytes(&self, size: &PatchSize, dim: usize) -> u64 {
        let [of_hops, of_walks] = EmbedMethod::Both.dims(dim);
        let walks = self.walks.memory_bytes(size, of_walks);
        self.hops.memory_bytes(size, of_hops).max(walks) + size.coordinate_bytes(2 * dim)
    }
}

/// Two parts side by side, the second with this share of the squared length.
pub fn side_by_side([first, second]: [&Matrix<f32>; 2], second_weight: f32) -> Matrix<f32> {
    let dim = first.num_columns() + second.num_columns();
    let mut joined = Matrix::zeros(first.num_rows(), dim);
    let factors = [(1.0 - second_weight).sqrt(), second_weight.sqrt()];
    joined.values_mut().par_chunks_mut(dim.max(1)).enumerate().for_each(|(node, row)| {
        let (left, right) = row.split_at_mut(first.num_columns());
        for (out, (rows, factor)) in [left, right].into_iter().zip([first, second].into_iter().zip(factors)) {
            out.copy_from_slice(rows.row(node));
            unit(out);
            out.iter_mut().for_each(|x| *x *= factor);
        }
    });
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_has_its_share_of_the_squared_length() {
        let first = Matrix::from_values(2, 2, vec![3.0, 4.0, 0.0, 0.0]);
        let second = Matrix::from_values(2, 1, vec![-7.0, 2.0]);
        let joined = side_by_side([&first, &second], 0.36);
        for (value, expected) in joined.values().iter().zip([0.48, 0.64, -0.6, 0.0, 0.0, 0.6]) {
            assert!((value - expected).abs() < 1e-6);
        }
    }
}
