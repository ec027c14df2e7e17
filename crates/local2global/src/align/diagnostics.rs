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
use serde::{Deserialize, Serialize};

use super::robust::median;
use super::{
    AlignConfig, AlignError, Alignment, Centroid, Judgement, LocalPatch, Motion, Overlap, Transforms,
};
use crate::linalg::eigen::Certificate;
use crate::linalg::lanes::{squared_distance, squared_norm};

/// A patch whose misfit is this many times the typical one does not fit.
const OUTLYING: f64 = 3.0;

/// A misfit below this is never called bad.
const NEGLIGIBLE: f64 = 0.02;

/// Above this typical misfit patches are said to fit loosely, and above that one poorly.
const LOOSE: f64 = 0.25;
const POOR: f64 = 0.7;

/// Nodes whose distance from their centre is less than this part of that from the origin lie at
/// one point.
const ONE_POINT: f64 = 1e-6;

/// Everything that is known about the quality of an alignment: `alignment.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diagnostics {
    /// The result in plain words.
    pub verdict: String,
    /// The number of patches.
    pub patches: usize,
    /// The number of coordinates.
    pub dim: usize,
    /// The number of patch edges.
    pub patch_edges: usize,
    /// How often patches were grouped.
    pub levels: usize,
    /// Which centre of its copies a node was put at.
    pub centroid: Centroid,
    /// The settings.
    pub settings: AlignConfig,
    /// Median over the patch edges of the misfit before alignment.
    pub misfit_before: f64,
    /// Median over the patch edges of the misfit after alignment.
    pub misfit_after: f64,
    /// How far the rotations around the cycles of the patch graph are from closing, from
    /// 0 to 1, over the cycles that a spanning tree leaves.
    pub cycle_inconsistency: Range,
    /// The quality of the eigenvectors, in the worst group.
    pub certificate: Option<Certificate>,
    /// The leading eigenvalues; 1 without noise.
    pub eigenvalues: Vec<f64>,
    /// The patch with the largest misfit.
    pub worst_patch: Option<String>,
    /// What shared nodes say that were left out of fitting; none if it was not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judgement: Option<Judgement>,
    /// One entry per patch.
    pub patch_list: Vec<PatchFit>,
    /// One entry per patch edge.
    pub edge_list: Vec<EdgeFit>,
}

/// The middle and the largest of some values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// The mean.
    pub mean: f64,
    /// The largest.
    pub max: f64,
}

/// How a patch fits its neighbours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PatchFit {
    /// The patch.
    pub patch: String,
    /// Its number of nodes.
    pub nodes: usize,
    /// Its number of neighbours.
    pub neighbors: usize,
    /// Root mean square distance between copies of its shared nodes, after alignment.
    pub residual: f64,
    /// The median misfit of its edges, after alignment.
    pub misfit: f64,
    /// The fraction of its weight that robust alignment left it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trust: Option<f64>,
}

/// How two patches fit each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EdgeFit {
    /// The two patches.
    pub patches: [String; 2],
    /// The number of nodes they share.
    pub overlap: usize,
    /// Root mean square distance between the copies of a node, before alignment.
    pub residual_before: f64,
    /// The same after alignment.
    pub residual_after: f64,
    /// The same by the spread of the shared nodes: 0 is perfect.
    pub misfit: f64,
    /// What is left of it with the rotation that suits these two patches best.
    pub best_misfit: f64,
    /// How far the rotation is from the one measured on this edge, from 0 to 1.
    pub inconsistency: f64,
    /// The number of dimensions in which the overlap fixes the rotation.
    pub rank: usize,
    /// The fraction of its weight that robust alignment left it.
    pub trust: f64,
}

/// Distances between the two copies of the nodes of an overlap.
#[derive(Clone, Copy, Debug)]
struct Distances {
    before: f64,
    after: f64,
    spread_before: f64,
    spread_after: f64,
    /// Whether all copies of each patch lie at one point.
    at_one_point: [bool; 2],
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
    let patch_list = patch_fits(patches, alignment, &edge_list);
    let before: Vec<f64> = distances.iter().map(|d| ratio(d.before, d.spread_before)).collect();
    let after: Vec<f64> = edge_list.iter().map(|edge| edge.misfit).collect();
    let worst =
        patch_list.iter().reduce(|worst, patch| if patch.misfit > worst.misfit { patch } else { worst });
    let solution = &alignment.solution;
    Ok(Diagnostics {
        verdict: match collapsed(patches, alignment, &distances) {
            Some(words) => words,
            None => {
                verdict(&patch_list, &edge_list)
                    + &alignment.judgement.as_ref().map_or_else(String::new, brought)
                    + &flat_overlaps(&edge_list, alignment.transforms.dim)
                    + tie(alignment.solution.certificate.as_ref())
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
        eigenvalues: solution.eigenvalues.clone(),
        worst_patch: worst.map(|patch| patch.patch.clone()),
        judgement: alignment.judgement.clone(),
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
        at_one_point: [&xi, &xj].map(|x| about_centre(x, dim) <= ONE_POINT * ONE_POINT * squared_norm(x)),
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

fn patch_fits(patches: &[LocalPatch], alignment: &Alignment, edges: &[EdgeFit]) -> Vec<PatchFit> {
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
            residual: ratio(squares, shared as f64).sqrt(),
            misfit: median(&own.iter().map(|edge| edge.misfit).collect::<Vec<_>>()),
            trust: trust.map(|trust| trust[index]),
        }
    };
    patches.iter().enumerate().map(fit).collect()
}

/// The result in one line.
fn verdict(patches: &[PatchFit], edges: &[EdgeFit]) -> String {
    let misfits: Vec<f64> = patches.iter().map(|patch| patch.misfit).collect();
    let typical = median(&misfits);
    let mut bad: Vec<&PatchFit> =
        patches.iter().filter(|patch| patch.misfit > (OUTLYING * typical).max(NEGLIGIBLE)).collect();
    bad.sort_by(|a, b| b.misfit.total_cmp(&a.misfit));
    let percent = |value: f64| format!("{:.1} %", 100.0 * value);
    let rest = match bad.len() {
        0 | 1 => String::new(),
        more => format!("; so do {} others", more - 1),
    };
    match bad.first() {
        Some(worst) => format!(
            "patch {} does not fit its neighbours: its shared nodes end up {} of their spread apart, where {} is typical{rest}",
            worst.patch,
            percent(worst.misfit),
            percent(typical)
        ),
        None if edges.is_empty() => "there is one patch, and nothing to align".into(),
        None if typical > POOR => format!(
            "patches agree poorly: copies of shared nodes end up {} of their spread apart",
            percent(typical)
        ),
        None => format!(
            "all {} patches fit{}: copies of shared nodes end up {} of their spread apart",
            patches.len(),
            if typical > LOOSE { " loosely" } else { "" },
            percent(typical)
        ),
    }
}

/// What is to be said if the coordinates of some patches have collapsed: they fit whatever they are
/// compared with, and are of no use.
fn collapsed(patches: &[LocalPatch], alignment: &Alignment, distances: &[Distances]) -> Option<String> {
    let mut spread_out = vec![false; patches.len()];
    let mut seen = vec![false; patches.len()];
    for (overlap, distances) in alignment.overlaps.iter().zip(distances) {
        for (patch, at_one_point) in [overlap.i, overlap.j].into_iter().zip(distances.at_one_point) {
            seen[patch as usize] = true;
            spread_out[patch as usize] |= !at_one_point;
        }
    }
    let mut names = (0..patches.len()).filter(|&k| seen[k] && !spread_out[k]).map(|k| patches[k].name());
    let first = names.next()?;
    let others = names.count();
    let who = match others {
        0 => format!("the coordinates of {first} have collapsed"),
        _ if others + 1 == patches.len() => "the coordinates of all patches have collapsed".into(),
        more => format!("the coordinates of {first} and {more} other patches have collapsed"),
    };
    Some(format!("{who}: all shared nodes lie at one point, so that nothing can be aligned by them"))
}

/// What aligning brought on nodes that were left out of fitting, and what it leaves.
fn brought(judgement: &Judgement) -> String {
    let percent = |value: f64| format!("{:.0} %", 100.0 * value);
    if judgement.left_out == 0 {
        let stay = match judgement.applied {
            Motion::None => ", so patches stay where their common frame puts them",
            _ => "",
        };
        return format!("; overlaps are too small to judge this on nodes left out of fitting{stay}");
    }
    let (before, after) = (percent(judgement.unmoved()), percent(judgement.misfit));
    if judgement.applied == Motion::None {
        return format!(
            "; patches stay where they are, since on nodes left out of fitting moving them brings copies \
             no closer than the {before} of their spread that they are apart"
        );
    }
    let how = match judgement.applied {
        Motion::WithoutTranslations => "rotating, without shifting,",
        _ => "aligning",
    };
    let unexplained = percent(judgement.misfit.powi(2).min(1.0));
    let left_alone = match &judgement.left_alone[..] {
        [] => String::new(),
        [one] => format!("; {one} stays where it is, since moving it does not help"),
        [one, more @ ..] => {
            format!("; {one} and {} others stay where they are, since moving them does not help", more.len())
        }
    };
    format!(
        "; {how} brings copies from {before} to {after} of their spread apart on nodes left out of fitting, \
         and leaves {unexplained} of their variance unexplained{left_alone}"
    )
}

/// A remark about rotations that could as well have been others.
fn tie(certificate: Option<&Certificate>) -> &'static str {
    match certificate {
        Some(certificate) if certificate.angle >= 1.0 => {
            "; overlaps contradict each other so evenly that other rotations fit just as well"
        }
        _ => "",
    }
}

/// A remark about overlaps that leave the rotation open in some dimension.
fn flat_overlaps(edges: &[EdgeFit], dim: usize) -> String {
    let mut flat = edges.iter().filter(|edge| edge.rank < dim);
    let Some(first) = flat.next() else { return String::new() };
    let [a, b] = &first.patches;
    let others = match flat.count() {
        0 => String::new(),
        more => format!(", and {more} other overlaps are flat too"),
    };
    format!(
        "; the overlap of {a} and {b} fixes the rotation in {} of {dim} dimensions only{others}",
        first.rank
    )
}

impl Diagnostics {
    /// The patch edges whose overlap does not fix the rotation in all dimensions.
    pub fn rank_deficient(&self) -> impl Iterator<Item = &EdgeFit> {
        self.edge_list.iter().filter(|edge| edge.rank < self.dim)
    }
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
    fn the_verdict_goes_by_the_typical_misfit() {
        let (patch, nodes) = (String::from("a"), 9);
        let fit = |misfit| PatchFit {
            patch: patch.clone(),
            nodes,
            neighbors: 1,
            residual: 1.0,
            misfit,
            trust: None,
        };
        let edge = EdgeFit {
            patches: ["a".into(), "b".into()],
            overlap: 9,
            residual_before: 1.0,
            residual_after: 1.0,
            misfit: 0.5,
            best_misfit: 0.5,
            inconsistency: 0.0,
            rank: 2,
            trust: 1.0,
        };
        let cases = [
            (0.1, "all 3 patches fit:"),
            (0.5, "all 3 patches fit loosely:"),
            (0.9, "patches agree poorly:"),
        ];
        for (misfit, words) in cases {
            let found = verdict(&[misfit; 3].map(fit), std::slice::from_ref(&edge));
            assert!(found.starts_with(words), "{found}");
        }
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
