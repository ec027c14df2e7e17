//! Whether moving the patches helps, judged on shared nodes that were left out of fitting.
//!
//! Any rotation that is fitted to noise brings the copies it was fitted to closer together. So a
//! fifth of the nodes of every overlap is left out; the motions are fitted to the others, and judged
//! by their misfit on the left-out nodes (`left_out.rs`).
//!
//! Frames must fit each other, so the choice between no motion, rotations alone, all that is set,
//! and generalised Procrustes is one for all patches: the least misfit, and no motion in case of a
//! tie. After that, a patch whose own motion brings its left-out nodes further away from their copies than
//! they were without it stays where it is, and its overlaps count for next to nothing.
//! The motions that are applied are then fitted to all nodes.
//!
//! An overlap that would keep fewer than `2 (d + 1)` nodes is fitted whole, and does not judge.
//! Cost: one more solution, to a coarse tolerance, and some passes over a fifth of the shared
//! rows. No randomness of its own.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::left_out::{Judge, is_left_out, split};
use super::relative::{NodeWeights, OverlapSource};
use super::robust::MIN_TRUST;
use super::{
    AlignConfig, AlignError, AlignMethod, EdgeWeights, LocalPatch, Overlap, Solution, Transforms,
    generalised, hierarchy,
};
use crate::memory::Room;
use crate::seed::Seed;

/// The tolerance of solutions that are judged and not used.
const COARSE_TOLERANCE: f64 = 1e-3;

/// Patches are sent back in at most this many rounds.
const ROUNDS: usize = 3;

/// How patches are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Motion {
    /// Not at all.
    None,
    /// As set, but not translated.
    WithoutTranslations,
    /// As set.
    AsSet,
    /// As set, then improved by generalised Procrustes.
    Procrustes,
}

/// What the nodes that were left out say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The number of left-out nodes, over all patch edges; if 0, nothing was judged.
    pub left_out: usize,
    /// The patch edges with too few nodes to leave any out.
    pub fitted_whole: usize,
    /// The misfit on left-out nodes for each motion that was tried.
    pub misfits: Vec<(Motion, f64)>,
    /// The motion that was applied.
    pub applied: Motion,
    /// The misfit on left-out nodes with this motion, patches that stay included.
    pub misfit: f64,
    /// The patches that stay where they are.
    pub left_alone: Vec<String>,
}

impl Judgement {
    /// The misfit on left-out nodes before alignment.
    pub fn unmoved(&self) -> f64 {
        self.misfits.iter().find(|(motion, _)| *motion == Motion::None).map_or(0.0, |&(_, misfit)| misfit)
    }
}

/// The patches and what is asked for.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    pub(super) patches: &'a [LocalPatch],
    pub(super) config: &'a AlignConfig,
    pub(super) levels: usize,
    pub(super) seed: Seed,
    /// Whether node weights count.
    pub(super) weighted: bool,
    /// What the centres of generalised Procrustes may take.
    pub(super) centre_room: &'a Room,
}

impl Task<'_> {
    /// Finds all motions; patches that `stay` are not moved, and their overlaps count for next to nothing.
    fn solve(&self, overlaps: &[Overlap], stay: &[bool]) -> Result<(Transforms, Solution), AlignError> {
        let node_weights = match self.config.weights {
            EdgeWeights::Robust => NodeWeights::Robust,
            EdgeWeights::Overlap | EdgeWeights::Unit => NodeWeights::Equal,
        };
        let trust: Vec<f64> = stay.iter().map(|&stays| if stays { MIN_TRUST } else { 1.0 }).collect();
        let source = OverlapSource {
            patches: self.patches,
            overlaps,
            frames: None,
            node_weights,
            trust: Some(&trust),
        };
        let nowhere = AlignConfig { rotate: false, translate: false, scale: false, ..self.config.clone() };
        let config = if self.straightens() { &nowhere } else { self.config };
        let (mut transforms, solution) = hierarchy::solve(source, self.levels, config, self.seed)?;
        reset(&mut transforms, stay);
        Ok((transforms, solution))
    }

    fn jury(&self) -> Judge<'_> {
        Judge { patches: self.patches, weighted: self.weighted }
    }

    /// Finds all motions that are asked for, and applies them without judging.
    pub(super) fn solve_all(&self, overlaps: &[Overlap]) -> Result<(Transforms, Solution), AlignError> {
        self.apply(overlaps, self.most(), &vec![false; self.patches.len()], None)
    }

    /// Whether generalised Procrustes is asked for, and the settings leave room for it.
    fn wants_procrustes(&self) -> bool {
        self.config.refines()
    }

    /// Whether patches are only straightened from where they lie.
    fn straightens(&self) -> bool {
        self.config.method == Some(AlignMethod::Straighten) && self.wants_procrustes()
    }

    /// Improves motions by generalised Procrustes, over the nodes that `is_used`.
    fn refine(
        &self,
        transforms: &mut Transforms,
        stay: &[bool],
        is_used: impl Fn(u64) -> bool + Sync,
    ) -> Result<(), AlignError> {
        generalised::refine(self.patches, transforms, stay, self.weighted, self.centre_room, is_used)
    }

    /// Finds all motions, and applies what helps.
    pub(super) fn judge(
        &self,
        overlaps: &[Overlap],
    ) -> Result<(Transforms, Solution, Judgement), AlignError> {
        let (fitted, left_out): (Vec<Overlap>, Vec<Overlap>) =
            overlaps.par_iter().map(|overlap| split(self.patches, overlap)).unzip();
        let count = left_out.iter().map(Overlap::len).sum();
        let fitted_whole = left_out.iter().filter(|overlap| overlap.is_empty()).count();
        let stay = vec![false; self.patches.len()];
        if count == 0 {
            // Patches with a common frame nearly agree; others have to be moved, judged or not.
            let applied = if self.straightens() { Motion::None } else { self.most() };
            let misfits = Vec::new();
            let (transforms, solution) = self.apply(overlaps, applied, &stay, None)?;
            let left_alone = Vec::new();
            let judgement =
                Judgement { left_out: 0, fitted_whole, misfits, applied, misfit: 0.0, left_alone };
            return Ok((transforms, solution, judgement));
        }
        let verdict = self.verdict(&fitted, &left_out, stay)?;
        let start = Some(&verdict.transforms);
        let (transforms, solution) = self.apply(overlaps, verdict.applied, &verdict.stay, start)?;
        let staying = self.patches.iter().zip(&verdict.stay).filter(|(_, stays)| **stays);
        let judgement = Judgement {
            left_out: count,
            fitted_whole,
            misfits: verdict.misfits,
            applied: verdict.applied,
            misfit: verdict.misfit,
            left_alone: staying.map(|(patch, _)| patch.name().to_owned()).collect(),
        };
        Ok((transforms, solution, judgement))
    }

    /// The motion with everything that is asked for.
    fn most(&self) -> Motion {
        if self.wants_procrustes() { Motion::Procrustes } else { Motion::AsSet }
    }

    /// Fits a motion to all nodes; patches that are straightened may `start` where they were judged.
    fn apply(
        &self,
        overlaps: &[Overlap],
        motion: Motion,
        stay: &[bool],
        start: Option<&Transforms>,
    ) -> Result<(Transforms, Solution), AlignError> {
        let (mut transforms, solution) = self.solve(overlaps, stay)?;
        if let Some(start) = start.filter(|_| self.straightens()) {
            transforms = start.clone();
        }
        match motion {
            Motion::None => reset(&mut transforms, &vec![true; stay.len()]),
            Motion::WithoutTranslations => transforms.translations.fill(0.0),
            Motion::AsSet => {}
            Motion::Procrustes => self.refine(&mut transforms, stay, |_| true)?,
        }
        Ok((transforms, solution))
    }

    /// Which motion fits the left-out nodes best, and which patches it does not help.
    fn verdict(
        &self,
        fitted: &[Overlap],
        left_out: &[Overlap],
        mut stay: Vec<bool>,
    ) -> Result<Verdict, AlignError> {
        let coarse =
            AlignConfig { tolerance: self.config.tolerance.max(COARSE_TOLERANCE), ..self.config.clone() };
        let task = Task { config: &coarse, ..*self };
        let mut first: Option<Vec<(Motion, f64)>> = None;
        let mut start = None;
        for round in 0.. {
            let mut candidates = task.candidates(fitted, &stay, start.as_ref())?;
            let misfits: Vec<(Motion, f64)> = candidates
                .iter()
                .map(|(motion, transforms)| Ok((*motion, self.jury().misfit(left_out, transforms)?)))
                .collect::<Result<_, AlignError>>()?;
            // The first of the best: motions are tried from the least to the most.
            let best =
                (0..misfits.len()).fold(0, |best, k| if misfits[k].1 < misfits[best].1 { k } else { best });
            let (applied, misfit) = misfits[best];
            let misfits = first.get_or_insert(misfits).clone();
            let worse = match applied {
                Motion::None => Vec::new(),
                _ => self.jury().not_helped(left_out, &candidates[best].1, &stay)?,
            };
            if worse.is_empty() || round == ROUNDS {
                let transforms = candidates.swap_remove(best).1;
                return Ok(Verdict { applied, misfit, misfits, stay, transforms });
            }
            worse.into_iter().for_each(|patch| stay[patch] = true);
            start = candidates.pop().map(|(_, most)| most);
        }
        unreachable!("the last round returns")
    }

    /// The motions that are tried, from the least to the most. Patches that are straightened go on
    /// from where they were in the round before.
    fn candidates(
        &self,
        fitted: &[Overlap],
        stay: &[bool],
        start: Option<&Transforms>,
    ) -> Result<Vec<(Motion, Transforms)>, AlignError> {
        let unmoved = Transforms::identity(self.patches.len(), self.patches[0].dim());
        if self.straightens() {
            let mut refined = start.unwrap_or(&unmoved).clone();
            reset(&mut refined, stay);
            self.refine(&mut refined, stay, |node| !is_left_out(node))?;
            return Ok(vec![(Motion::None, unmoved), (Motion::Procrustes, refined)]);
        }
        let (full, _) = self.solve(fitted, stay)?;
        let mut all = vec![(Motion::None, unmoved)];
        if self.config.rotate && self.config.translate {
            let mut rotated = full.clone();
            rotated.translations.fill(0.0);
            all.push((Motion::WithoutTranslations, rotated));
        }
        if self.wants_procrustes() {
            let mut refined = full.clone();
            self.refine(&mut refined, stay, |node| !is_left_out(node))?;
            all.extend([(Motion::AsSet, full), (Motion::Procrustes, refined)]);
        } else {
            all.push((Motion::AsSet, full));
        }
        Ok(all)
    }
}

/// What was found out before all nodes are fitted.
struct Verdict {
    applied: Motion,
    misfit: f64,
    misfits: Vec<(Motion, f64)>,
    stay: Vec<bool>,
    /// The motions that were judged.
    transforms: Transforms,
}

/// Takes the motion of some patches back.
fn reset(transforms: &mut Transforms, stay: &[bool]) {
    let identity = Transforms::identity(1, transforms.dim);
    for (patch, _) in stay.iter().enumerate().filter(|(_, stays)| **stays) {
        transforms.set(patch, 1.0, &identity.rotations, &identity.translations);
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand_distr::StandardNormal;

    use super::*;
    use crate::align::synthetic::{KnownPatches, PatchLayout, SyntheticPatches, distance_up_to_rigid_motion};
    use crate::align::{Alignment, align};
    use crate::progress::Silent;

    fn patches(noise: f64, seed: u64) -> KnownPatches {
        let graph = PatchLayout::Random;
        SyntheticPatches { graph, num_patches: 12, dim: 3, overlap: 40, noise, seed: Seed(seed) }.make()
    }

    fn aligned(known: &KnownPatches, config: &AlignConfig) -> Alignment {
        align(&known.patches, None, config, Seed(0), &Silent).unwrap()
    }

    fn judgement(alignment: &Alignment) -> &Judgement {
        alignment.judgement.as_ref().unwrap()
    }

    #[test]
    fn what_fits_is_moved_as_if_nobody_judged() {
        for (seed, noise) in [(1, 0.0), (2, 0.01), (3, 0.3)] {
            let known = patches(noise, seed);
            let judged = aligned(&known, &AlignConfig::default());
            let plain = aligned(&known, &AlignConfig { judge: false, ..Default::default() });
            assert_eq!(judged.transforms, plain.transforms, "seed {seed}");
            assert_eq!(judgement(&judged).applied, Motion::AsSet);
            assert!(plain.judgement.is_none());
        }
    }

    #[test]
    fn noise_free_patches_are_stitched_exactly_by_procrustes_too() {
        let known = patches(0.0, 4);
        let config = AlignConfig { method: Some(AlignMethod::Procrustes), ..Default::default() };
        for judge in [true, false] {
            let alignment = aligned(&known, &AlignConfig { judge, ..config.clone() });
            let (_, coords) = alignment.embedding(&known.patches).unwrap();
            assert!(distance_up_to_rigid_motion(&coords, &known.truth, 3) < 1e-9);
        }
    }

    #[test]
    fn procrustes_over_all_copies_fits_left_out_nodes_no_worse() {
        for seed in 0..6 {
            let known = patches(0.5, seed);
            let config = AlignConfig { method: Some(AlignMethod::Procrustes), ..Default::default() };
            let alignment = aligned(&known, &config);
            let found = judgement(&alignment);
            let of = |wanted| found.misfits.iter().find(|(motion, _)| *motion == wanted).unwrap().1;
            assert!(of(Motion::Procrustes) < 1.02 * of(Motion::AsSet), "seed {seed}: {found:?}");
            assert!(found.misfit <= of(Motion::AsSet) && found.misfit < of(Motion::None));
        }
    }

    #[test]
    fn patches_that_lie_right_already_are_not_moved_by_noise() {
        // Few shared nodes, much noise, one common frame: rotations can only do harm.
        for seed in 0..4 {
            let mut known = patches(0.0, seed);
            let (truth, nodes): (Vec<f64>, Vec<Vec<u64>>) =
                (known.truth.clone(), known.patches.iter().map(|patch| patch.nodes().to_vec()).collect());
            known.corrupt(Seed(seed), |patch, random, coords| {
                for (row, node) in coords.chunks_exact_mut(3).zip(&nodes[patch]) {
                    for (k, value) in row.iter_mut().enumerate() {
                        *value =
                            0.2 * truth[*node as usize * 3 + k] + random.sample::<f64, _>(StandardNormal);
                    }
                }
            });
            let alignment = aligned(&known, &AlignConfig::default());
            let found = judgement(&alignment);
            assert_eq!(found.applied, Motion::None, "seed {seed}: {found:?}");
            assert_eq!(alignment.transforms, Transforms::identity(12, 3));
        }
    }

    #[test]
    fn translations_that_hurt_are_left_out() {
        // Rotated about the origin, never shifted, and with noise in the means of overlaps.
        let mut hurt = 0;
        for seed in 0..8 {
            let mut known = patches(0.0, seed);
            known.corrupt(Seed(seed), |_, random, coords| {
                let centre: Vec<f64> = (0..3).map(|k| coords[k..].iter().step_by(3).sum::<f64>()).collect();
                let rows = coords.len() as f64 / 3.0;
                for row in coords.chunks_exact_mut(3) {
                    for (value, sum) in row.iter_mut().zip(&centre) {
                        *value += 1.0 * random.sample::<f64, _>(StandardNormal) - sum / rows;
                    }
                }
            });
            let alignment = aligned(&known, &AlignConfig::default());
            let found = judgement(&alignment);
            let of = |wanted| found.misfits.iter().find(|(motion, _)| *motion == wanted).unwrap().1;
            let no_shift = of(Motion::WithoutTranslations) < of(Motion::AsSet);
            assert_eq!(found.applied == Motion::WithoutTranslations, no_shift, "seed {seed}: {found:?}");
            let shifted = alignment.transforms.translations.iter().any(|&value| value != 0.0);
            assert_eq!(shifted, !no_shift && found.applied != Motion::None);
            hurt += usize::from(no_shift);
        }
        assert!(hurt > 0, "some translations hurt");
    }

    #[test]
    fn a_patch_of_noise_that_stays_does_not_spoil_others() {
        let mut stayed = 0;
        for seed in 0..6 {
            let mut known = patches(0.001, seed);
            known.drown_patches(|patch| patch == 7, Seed(seed));
            let alignment = aligned(&known, &AlignConfig::default());
            let (_, coords) = alignment.embedding(&known.patches).unwrap();
            let found = judgement(&alignment);
            assert_eq!(found.applied, Motion::AsSet);
            assert!(found.left_alone.iter().all(|name| name == "patch-00007"), "{found:?}");
            let edges = known.edges.clone();
            let error = known.error_on(&coords, |edge| !edges[edge].contains(&7));
            if !found.left_alone.is_empty() {
                stayed += 1;
                assert!(error < 0.01, "seed {seed}: {error}");
            }
        }
        assert!(stayed > 0);
    }

    #[test]
    fn overlaps_too_small_to_leave_nodes_out_are_fitted_whole() {
        let graph = PatchLayout::Ring;
        let known =
            SyntheticPatches { graph, num_patches: 6, dim: 4, overlap: 10, noise: 0.1, seed: Seed(1) }.make();
        let alignment = aligned(&known, &AlignConfig::default());
        let found = judgement(&alignment);
        assert!(found.fitted_whole > 0);
        let tiny =
            SyntheticPatches { graph, num_patches: 6, dim: 4, overlap: 6, noise: 0.1, seed: Seed(1) }.make();
        let alignment = aligned(&tiny, &AlignConfig::default());
        assert_eq!((judgement(&alignment).left_out, judgement(&alignment).fitted_whole), (0, 6));
        assert_eq!(judgement(&alignment).applied, Motion::AsSet);
    }

    #[test]
    fn one_node_in_five_is_left_out() {
        let count = (0..10_000).filter(|&node| is_left_out(node)).count();
        assert!((1900..2100).contains(&count), "{count}");
    }
}
