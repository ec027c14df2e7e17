//! How well the patches fit, in words.

use super::outliers::median;
use super::record::{EdgeFit, LOOSE, PatchFit};
use super::{Accuracy, Judgement, Motion};
use crate::linalg::eigen::Certificate;
use crate::linalg::polar::Precision;

/// A patch whose misfit is this many times the typical one does not fit.
const OUTLYING: f64 = 3.0;

/// A misfit below this is never called bad.
const NEGLIGIBLE: f64 = 0.02;

/// Above this typical misfit patches are said to fit poorly.
const POOR: f64 = 0.7;

/// So many names are listed, and the others counted.
const MAX_NAMES: usize = 5;

/// An angle by which rotations may be off without a remark.
const INEXACT: f64 = 1e-3;

/// The result in one line.
pub(super) fn verdict(patches: &[PatchFit], edges: &[EdgeFit]) -> String {
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

/// What is to be said if the coordinates of some of `num_patches` patches have collapsed: they fit
/// whatever they are compared with, and are of no use.
pub(super) fn collapsed(names: &[String], num_patches: usize) -> Option<String> {
    if names.is_empty() {
        return None;
    }
    let who = match num_patches > 1 && names.len() == num_patches {
        true => "all patches".into(),
        false => listed(names.iter().map(String::as_str)),
    };
    Some(format!(
        "the coordinates of {who} have collapsed: all nodes of a patch lie at one point, or nearly, so that \
         nothing can be aligned by them"
    ))
}

/// Names in a row, of many the first ones and the number of the others.
fn listed<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let more = names.len().saturating_sub(MAX_NAMES);
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    if more > 0 {
        names.truncate(MAX_NAMES);
        names.push(format!("{more} other patches"));
    }
    match names.pop() {
        Some(last) if !names.is_empty() => format!("{} and {last}", names.join(", ")),
        last => last.unwrap_or_default(),
    }
}

/// What aligning brought on nodes that were left out of fitting, and what it leaves.
pub(super) fn brought(judgement: &Judgement) -> String {
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
pub(super) fn tie(certificate: Option<&Certificate>) -> &'static str {
    match certificate {
        Some(certificate) if certificate.angle >= 1.0 => {
            "; overlaps contradict each other so evenly that other rotations fit just as well"
        }
        _ => "",
    }
}

/// A remark about rotations that are computed to a few digits only.
pub(super) fn inexact(accuracy: Option<&Accuracy>) -> String {
    match accuracy {
        Some(accuracy) if accuracy.precision == Precision::Mixed && accuracy.rotations > INEXACT => format!(
            "; rotations are computed partly in single precision, up to an angle of {:.0e}",
            accuracy.rotations
        ),
        _ => String::new(),
    }
}

/// A remark about dimensions that are not used: by the embedding, by some patches, or by overlaps
/// between patches that use them.
pub(super) fn flat(patches: &[PatchFit], edges: &[EdgeFit], dim: usize, rank: usize) -> String {
    let is_flat = |patch: &PatchFit| patch.rank < dim.min(patch.nodes.saturating_sub(1));
    let flat: Vec<&PatchFit> = patches.iter().filter(|patch| is_flat(patch)).collect();
    let Some(least) = flat.iter().map(|patch| patch.rank).min() else { return flat_overlaps(edges, dim) };
    if rank < dim {
        return format!("; the embedding fills only {rank} of {dim} dimensions");
    }
    let who = match flat.len() == patches.len() && flat.len() > 1 {
        true => "all patches".into(),
        false => listed(flat.iter().map(|patch| patch.patch.as_str())),
    };
    format!("; the coordinates of {who} fill only {least} of {dim} dimensions")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_goes_by_the_typical_misfit() {
        let (patch, nodes) = (String::from("a"), 9);
        let fit = |misfit| PatchFit {
            patch: patch.clone(),
            nodes,
            neighbors: 1,
            radius: 1.0,
            rank: 2,
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
}
