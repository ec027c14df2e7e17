//! How well the patches fit, in numbers and in one sentence.
//!
//! For every patch edge the root mean square distance between the two copies of its
//! shared nodes is measured, before and after alignment. Divided by the spread of the
//! shared nodes around their centre it can be compared between edges: 0 is a perfect
//! fit, 1 no better than putting all nodes at one point. A patch is judged by the
//! median over its edges, so one bad neighbour does not count against it.
//!
//! Cost: one more pass over the shared rows, `O(n d²)`. No randomness.

use rayon::prelude::*;

use super::cloud::{self, Cloud, clouds, rank_of_all};
use super::outliers::median;
pub use super::record::{Diagnostics, EdgeFit, PatchFit, Range};
use super::{AlignConfig, AlignError, Alignment, LocalPatch, Overlap, Transforms, words};
use crate::linalg::lanes::squared_distance;

/// Distances between the two copies of the nodes of an overlap.
#[derive(Clone, Copy, Debug)]
struct Distances {
    before: f64,
    after: f64,
    spread_before: f64,
    spread_after: f64,
}

/// Measures how well the patches fit.
///
/// # Errors
/// [`AlignError::NotFinite`] if a shared node has a coordinate that is not finite.
pub fn diagnose(
    patches: &[LocalPatch],
    alignment: &Alignment,
    config: &AlignConfig,
) -> Result<Diagnostics, AlignError> {
    let distances: Vec<Distances> = alignment
        .overlaps
        .par_iter()
        .map(|overlap| measure(patches, overlap, &alignment.transforms))
        .collect::<Result<_, _>>()?;
    let edge_list: Vec<EdgeFit> = alignment
        .overlaps
        .iter()
        .enumerate()
        .map(|(edge, overlap)| edge_fit(patches, alignment, edge, overlap, &distances[edge]))
        .collect();
    let clouds = clouds(patches)?;
    let has_collapsed = cloud::collapsed(&clouds, &alignment.transforms);
    let names = patches.iter().map(|patch| patch.name().to_owned());
    let collapsed: Vec<String> =
        names.zip(has_collapsed).filter_map(|(name, is)| is.then_some(name)).collect();
    let rank = rank_of_all(&clouds, &alignment.transforms);
    let patch_list = patch_fits(patches, alignment, &edge_list, &clouds);
    let before: Vec<f64> = distances.iter().map(|d| ratio(d.before, d.spread_before)).collect();
    let after: Vec<f64> = edge_list.iter().map(|edge| edge.misfit).collect();
    let worst =
        patch_list.iter().reduce(|worst, patch| if patch.misfit > worst.misfit { patch } else { worst });
    let solution = &alignment.solution;
    Ok(Diagnostics {
        verdict: match words::collapsed(&collapsed, patches.len()) {
            Some(words) => words,
            None => {
                words::verdict(&patch_list, &edge_list)
                    + &alignment.judgement.as_ref().map_or_else(String::new, words::brought)
                    + &words::flat(&patch_list, &edge_list, alignment.transforms.dim, rank)
                    + words::tie(solution.certificate.as_ref())
                    + &words::inexact(solution.accuracy.as_ref())
            }
        },
        patches: patches.len(),
        dim: alignment.transforms.dim,
        patch_edges: edge_list.len(),
        levels: solution.levels,
        centroid: alignment.centroid,
        settings: config.clone(),
        misfit_before: median(&before),
        misfit_after: median(&after),
        cycle_inconsistency: range(solution.cycles.iter().copied().filter(|&cycle| cycle > 1e-12)),
        certificate: solution.certificate,
        accuracy: solution.accuracy,
        eigenvalues: solution.eigenvalues.clone(),
        collapsed,
        rank,
        worst_patch: worst.map(|patch| patch.patch.clone()),
        judgement: alignment.judgement.clone(),
        updated: Vec::new(),
        patch_list,
        edge_list,
    })
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

fn range(values: impl Iterator<Item = f64>) -> Range {
    let (count, sum, max) = values
        .fold((0.0, 0.0, 0.0), |(count, sum, max), value| (count + 1.0, sum + value, f64::max(max, value)));
    Range { mean: ratio(sum, count), max }
}

fn measure(
    patches: &[LocalPatch],
    overlap: &Overlap,
    transforms: &Transforms,
) -> Result<Distances, AlignError> {
    let dim = transforms.dim;
    let [xi, xj] = overlap.coords(patches)?;
    let moved = |patch: u32, x: &[f64]| {
        let mut moved = vec![0.0; x.len()];
        transforms.apply(patch as usize, x, &mut moved);
        moved
    };
    let (yi, yj) = (moved(overlap.i, &xi), moved(overlap.j, &xj));
    let rms = |sum: f64| (sum / overlap.len() as f64).sqrt();
    let apart = |a: &[f64], b: &[f64]| rms(squared_distance(a, b));
    // The distance between two unrelated points of the cloud is √2 times its radius.
    let spread = |a: &[f64], b: &[f64]| rms(about_centre(a, dim) + about_centre(b, dim));
    Ok(Distances {
        before: apart(&xi, &xj),
        after: apart(&yi, &yj),
        spread_before: spread(&xi, &xj),
        spread_after: spread(&yi, &yj),
    })
}

/// The sum of squared distances from the mean.
fn about_centre(points: &[f64], dim: usize) -> f64 {
    let mut centre = vec![0.0; dim];
    for point in points.chunks_exact(dim) {
        centre.iter_mut().zip(point).for_each(|(sum, x)| *sum += x);
    }
    let count = (points.len() / dim) as f64;
    centre.iter_mut().for_each(|sum| *sum /= count);
    points.chunks_exact(dim).map(|point| squared_distance(point, &centre)).sum()
}

fn edge_fit(
    patches: &[LocalPatch],
    alignment: &Alignment,
    edge: usize,
    overlap: &Overlap,
    distances: &Distances,
) -> EdgeFit {
    let solution = &alignment.solution;
    let name = |patch: u32| patches[patch as usize].name().to_owned();
    EdgeFit {
        patches: [name(overlap.i), name(overlap.j)],
        overlap: overlap.len(),
        residual_before: distances.before,
        residual_after: distances.after,
        misfit: ratio(distances.after, distances.spread_after),
        best_misfit: solution.misfits[edge],
        inconsistency: solution.inconsistencies[edge],
        rank: solution.ranks[edge],
        trust: solution.trust[edge],
    }
}

fn patch_fits(
    patches: &[LocalPatch],
    alignment: &Alignment,
    edges: &[EdgeFit],
    clouds: &[Cloud],
) -> Vec<PatchFit> {
    let mut edges_of = vec![Vec::new(); patches.len()];
    for (overlap, edge) in alignment.overlaps.iter().zip(edges) {
        edges_of[overlap.i as usize].push(edge);
        edges_of[overlap.j as usize].push(edge);
    }
    let trust = alignment.solution.patch_trust.as_ref();
    let fit = |(index, patch): (usize, &LocalPatch)| {
        let own = &edges_of[index];
        let shared: usize = own.iter().map(|edge| edge.overlap).sum();
        let squares: f64 = own.iter().map(|edge| edge.overlap as f64 * edge.residual_after.powi(2)).sum();
        PatchFit {
            patch: patch.name().into(),
            nodes: patch.num_nodes(),
            neighbors: own.len(),
            radius: clouds[index].radius,
            rank: clouds[index].rank,
            residual: ratio(squares, shared as f64).sqrt(),
            misfit: median(&own.iter().map(|edge| edge.misfit).collect::<Vec<_>>()),
            trust: trust.map(|trust| trust[index]),
        }
    };
    patches.iter().enumerate().map(fit).collect()
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::align::align;
    use crate::align::synthetic::{KnownPatches, PatchLayout, SyntheticPatches};
    use crate::progress::Silent;
    use crate::seed::Seed;

    fn patches(noise: f64) -> KnownPatches {
        let graph = PatchLayout::Random;
        SyntheticPatches { graph, num_patches: 12, dim: 3, overlap: 20, noise, seed: Seed(1) }.make()
    }

    fn diagnosed(known: &KnownPatches) -> Diagnostics {
        let config = AlignConfig::default();
        let alignment = align(&known.patches, None, &config, Seed(0), &Silent).unwrap();
        diagnose(&known.patches, &alignment, &config).unwrap()
    }

    #[test]
    fn good_patches_are_said_to_fit() {
        let found = diagnosed(&patches(0.001));
        assert!(found.verdict.starts_with("all 12 patches fit"), "{}", found.verdict);
        assert!(found.misfit_before > 0.5 && found.misfit_after < 0.01);
        assert!(found.edge_list.iter().all(|edge| edge.rank == 3));
        assert_eq!(found.rank_deficient().count(), 0);
    }

    #[test]
    fn what_aligning_brought_is_said_in_words() {
        let found = diagnosed(&patches(0.3)).verdict;
        assert!(found.contains("; aligning brings copies from "), "{found}");
        assert!(
            found.contains(" of their spread apart on nodes left out of fitting, and leaves "),
            "{found}"
        );
    }

    #[test]
    fn collapsed_coordinates_are_not_praised() {
        for value in [0.0, 2.5] {
            let mut known = patches(0.001);
            known.corrupt(Seed(1), |_, _, coords| coords.fill(value));
            let found = diagnosed(&known).verdict;
            assert!(found.starts_with("the coordinates of all patches have collapsed"), "{found}");
        }
        let mut known = patches(0.001);
        known.corrupt(Seed(1), |patch, _, coords| {
            if patch == 3 {
                coords.fill(0.0);
            }
        });
        let found = diagnosed(&known).verdict;
        assert!(found.starts_with("the coordinates of patch-00003 have collapsed"), "{found}");
    }

    #[test]
    fn patches_that_nearly_collapse_or_fill_fewer_dimensions_are_named() {
        let shrunk = |factor: f64| {
            let mut known = patches(0.001);
            known.corrupt(Seed(1), |patch, _, coords| {
                if patch == 3 || patch == 8 {
                    coords.iter_mut().for_each(|value| *value = 2.0 + factor * *value);
                }
            });
            diagnosed(&known)
        };
        let found = shrunk(1e-7);
        assert_eq!(found.collapsed, ["patch-00003", "patch-00008"]);
        let told = "the coordinates of patch-00003 and patch-00008 have collapsed";
        assert!(found.verdict.starts_with(told), "{}", found.verdict);
        assert!(shrunk(1e-3).collapsed.is_empty());
        let mut known = patches(0.001);
        known.corrupt(Seed(1), |patch, _, coords| {
            if patch == 3 {
                coords.chunks_exact_mut(3).for_each(|point| point[2] = point[0] - point[1]);
            }
        });
        let found = diagnosed(&known);
        assert_eq!((found.patch_list[3].rank, found.patch_list[4].rank, found.rank), (2, 3, 3));
        let told = "; the coordinates of patch-00003 fill only 2 of 3 dimensions";
        assert!(found.verdict.contains(told), "{}", found.verdict);
        known.corrupt(Seed(1), |_, _, coords| {
            coords.chunks_exact_mut(3).for_each(|point| point[2] = point[0] - point[1]);
        });
        let config = AlignConfig { rotate: false, translate: false, ..AlignConfig::default() };
        let alignment = align(&known.patches, None, &config, Seed(0), &Silent).unwrap();
        let found = diagnose(&known.patches, &alignment, &config).unwrap();
        assert_eq!(found.rank, 2);
        assert!(found.verdict.contains("; the embedding fills only 2 of 3 dimensions"), "{}", found.verdict);
    }

    #[test]
    fn one_patch_that_has_collapsed_is_named_too() {
        let coords = crate::align::Coords::F64(vec![0.0; 20].into());
        let patch = LocalPatch::new("only", (0..10).collect::<Vec<u64>>().into(), coords, 2).unwrap();
        let config = AlignConfig::default();
        let alignment = align(std::slice::from_ref(&patch), None, &config, Seed(0), &Silent).unwrap();
        let found = diagnose(&[patch], &alignment, &config).unwrap();
        assert_eq!((&found.collapsed[..], found.rank), (&["only".to_owned()][..], 0));
        assert!(found.verdict.starts_with("the coordinates of only have collapsed"), "{}", found.verdict);
    }

    #[test]
    fn a_patch_of_noise_is_named() {
        let mut known = patches(0.001);
        known.corrupt(Seed(2), |patch, random, coords| {
            if patch == 7 {
                coords.iter_mut().for_each(|value| *value = random.random::<f64>() - 0.5);
            }
        });
        let config = AlignConfig { weights: crate::align::EdgeWeights::Robust, ..AlignConfig::default() };
        let alignment = align(&known.patches, None, &config, Seed(0), &Silent).unwrap();
        let found = diagnose(&known.patches, &alignment, &config).unwrap();
        assert!(found.verdict.starts_with("patch patch-00007 does not fit"), "{}", found.verdict);
        assert_eq!(found.worst_patch.as_deref(), Some("patch-00007"));
        assert!(found.patch_list[7].trust.unwrap() < 0.1);
    }

    #[test]
    fn the_record_survives_json() {
        let found = diagnosed(&patches(0.01));
        let text = serde_json::to_string(&found).unwrap();
        assert_eq!(serde_json::from_str::<Diagnostics>(&text).unwrap().verdict, found.verdict);
    }
}
