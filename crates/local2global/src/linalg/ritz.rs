//! The best eigenvectors in a span: Rayleigh and Ritz.
//!
//! A basis `B` is known by its inner products `BᵀB` and energies `BᵀAB`. It is made orthonormal
//! by a Cholesky factor, `T = L⁻ᵀ`, and the small matrix `Tᵀ (BᵀAB) T` decomposed.
//! Cost: `O(m³)` for `m` basis vectors. No randomness.

use super::dense::{DenseError, SymmetricEigen, inverse_cholesky, multiply, symmetric_eigen, view, view_mut};

/// Basis vectors that depend on the others up to this are left out.
const DEPENDENT: f64 = 1e-8;

/// The `wanted` leading Ritz pairs of a basis, from its inner products and energies;
/// the vectors as coefficients of the basis, row-major. If the basis spans less, the last vectors
/// are zero, and have the last value.
pub(super) fn rayleigh_ritz(
    overlaps: &[f64],
    energies: &[f64],
    size: usize,
    wanted: usize,
) -> Result<SymmetricEigen, DenseError> {
    let whitening = orthonormalising(overlaps, size);
    let rank = whitening.len() / size;
    if rank == 0 {
        return Err(DenseError::NotFinite);
    }
    let t = view(&whitening, size, rank);
    let mut half = vec![0.0; size * rank];
    multiply(view_mut(&mut half, size, rank), view(energies, size, size), t);
    let mut reduced = vec![0.0; rank * rank];
    multiply(view_mut(&mut reduced, rank, rank), t.transpose(), view(&half, size, rank));
    let eigen = symmetric_eigen(&reduced, rank)?;
    let found = rank.min(wanted);
    let mut vectors = vec![0.0; size * wanted];
    let target = view_mut(&mut vectors, size, wanted).subcols_mut(0, found);
    multiply(target, t, view(&eigen.vectors, rank, rank).subcols(0, found));
    let mut values = eigen.values[..found].to_vec();
    values.resize(wanted, values[found - 1]);
    Ok(SymmetricEigen { values, vectors })
}

/// A matrix `T` (size x rank) with `Tᵀ G T = 1`, for a matrix `G` of inner products.
///
/// By Cholesky. Of a nearly dependent basis the later vectors are left out, so that the
/// first ones, the current approximation, are kept in full.
fn orthonormalising(overlaps: &[f64], size: usize) -> Vec<f64> {
    // A vector that was left out before is zero, and must stay out.
    let scale = |square: f64| if square > f64::MIN_POSITIVE { 1.0 / square.sqrt() } else { 0.0 };
    let scales: Vec<f64> = (0..size).map(|k| scale(overlaps[k * size + k])).collect();
    let scaled = |i: usize, j: usize| overlaps[i * size + j] * scales[i] * scales[j];
    let mut kept: Vec<usize> = (0..size).collect();
    let inverse = loop {
        let part: Vec<f64> =
            kept.iter().flat_map(|&i| kept.iter().map(move |&j| (i, j))).map(|(i, j)| scaled(i, j)).collect();
        match inverse_cholesky(&part, kept.len(), DEPENDENT) {
            Some(inverse) => break inverse,
            None if kept.len() == size => kept = independent(scaled, size),
            // Rounding made the same test fail once more: do with one vector less.
            None => drop(kept.pop()),
        }
    };
    let rank = kept.len();
    if rank == 0 {
        return Vec::new();
    }
    let mut whole = vec![0.0; size * rank];
    for (row, &k) in inverse.chunks_exact(rank).zip(&kept) {
        whole[k * rank..][..rank].iter_mut().zip(row).for_each(|(target, entry)| *target = entry * scales[k]);
    }
    whole
}

/// The vectors that do not depend on earlier ones, from their inner products: Cholesky
/// by rows, without those whose pivot is small.
fn independent(product: impl Fn(usize, usize) -> f64, size: usize) -> Vec<usize> {
    let mut kept: Vec<usize> = Vec::new();
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for k in 0..size {
        let mut row: Vec<f64> = Vec::with_capacity(kept.len() + 1);
        for (position, &j) in kept.iter().enumerate() {
            let done: f64 = row.iter().zip(&rows[position]).map(|(a, b)| a * b).sum();
            row.push((product(k, j) - done) / rows[position][position]);
        }
        let pivot = product(k, k) - row.iter().map(|entry| entry * entry).sum::<f64>();
        if pivot > 2.0 * DEPENDENT {
            row.push(pivot.sqrt());
            rows.push(row);
            kept.push(k);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependent_basis_is_reduced() {
        let overlaps = [1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        let energies = [2.0, 2.0, 0.0, 2.0, 2.0, 0.0, 0.0, 0.0, 3.0];
        let ritz = rayleigh_ritz(&overlaps, &energies, 3, 2).unwrap();
        assert!((ritz.values[0] - 3.0).abs() < 1e-12 && (ritz.values[1] - 2.0).abs() < 1e-12);
        let all = rayleigh_ritz(&overlaps, &energies, 3, 3).unwrap();
        assert_eq!(all.values[..2], ritz.values[..]);
        assert_eq!(all.values[2], all.values[1]);
        assert!(all.vectors.chunks_exact(3).all(|row| row[2] == 0.0));
        rayleigh_ritz(&[0.0; 4], &[0.0; 4], 2, 1).unwrap_err();
    }
}
