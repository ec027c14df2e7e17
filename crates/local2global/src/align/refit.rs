//! One patch of a finished alignment, updated from files to files.
//!
//! The frame is read back as it was written: transforms and trust from `transforms.npz`, settings
//! and what is known of the patch edges from `alignment.json`. Rows of nodes outside the patch keep
//! their bytes, and the record is written anew, so that the folder is that of an alignment again.
//!
//! Where something else than the mean of copies is the embedding (`embed.late`), it is made anew for
//! all nodes, and rows outside the patch are put back: what it gives there depends a little on every
//! patch, and all others are to be held fixed.

use super::diagnostics::{Diagnostics, diagnose};
use super::judge::Motion;
use super::places::{KeptRows, Places};
use super::read::{global_nodes, read_edges, read_patches, read_transforms, read_trust};
use super::update::{Update, update};
use super::write::write_alignment;
use super::{
    AlignConfig, AlignError, AlignFilesError, AlignPaths, Alignment, LocalPatch, Overlap, Solution,
    Transforms, overlap,
};
use crate::linalg::lanes::squared_distance;
use crate::progress::Progress;
use crate::run_dir::{read_json, write_array, write_json};

/// What an update changed, over all nodes.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct UpdateReport {
    /// The patch.
    pub patch: String,
    /// How it fits.
    #[serde(flatten)]
    pub update: Update,
    /// The number of nodes in the embedding.
    pub nodes: usize,
    /// Nodes that had no place in the embedding before.
    pub new_nodes: usize,
    /// Nodes that have no place any more.
    pub gone_nodes: usize,
    /// Nodes whose row differs from what it was.
    pub changed_nodes: usize,
    /// Root mean square distance by which these moved.
    pub moved: f64,
    /// The largest such distance.
    pub moved_most: f64,
    /// Those of them that are not in the patch: it has lost them, or they were not where the frame
    /// puts them, or the embedding is of another kind than before.
    pub changed_outside: usize,
    /// The largest distance by which one of them moved.
    pub moved_outside: f64,
}

/// Puts one new or changed patch into a finished frame, all others held fixed, with the settings
/// that the frame was made with, or others.
///
/// # Errors
/// [`AlignFilesError`], naming the file or the patch.
pub fn update_files(
    paths: &AlignPaths,
    name: &str,
    config: Option<&AlignConfig>,
    progress: &dyn Progress,
) -> Result<UpdateReport, AlignFilesError> {
    update_files_then(paths, name, config, progress, || Ok(false))
}

/// As [`update_files`]; `finish` is called when all files are written, and may replace the embedding
/// by another one, which it says by returning true. If the embedding before was such a one too, its
/// rows of nodes outside the patch are kept.
///
/// # Errors
/// [`AlignFilesError`], naming the file or the patch, and what `finish` returns.
pub fn update_files_then<E: From<AlignFilesError>>(
    paths: &AlignPaths,
    name: &str,
    config: Option<&AlignConfig>,
    progress: &dyn Progress,
    finish: impl FnOnce() -> Result<bool, E>,
) -> Result<UpdateReport, E> {
    let before = Places::read(&paths.results())?;
    let (patch, found) = write_update(paths, name, config, &before, progress)?;
    let means = Places::read(&paths.results())?;
    // Where means of copies were the embedding before, the update has kept them to the byte.
    if finish()? && means.differs_outside(&patch, &before) {
        keep_outside(paths, &patch, &before)?;
    }
    Ok(compare(&before, &Places::read(&paths.results())?, &patch, found))
}

/// Puts rows of nodes outside a patch back.
fn keep_outside(paths: &AlignPaths, patch: &LocalPatch, before: &Places) -> Result<(), AlignFilesError> {
    let after = Places::read(&paths.results())?;
    let coords = after.with_rows_outside(patch, before);
    let shape = [after.num_nodes(), after.dim()];
    Ok(write_array(&paths.results().embedding(), &shape, &coords)?)
}

/// Updates all files; the patch, and what became of it.
fn write_update(
    paths: &AlignPaths,
    name: &str,
    config: Option<&AlignConfig>,
    before: &Places,
    progress: &dyn Progress,
) -> Result<(LocalPatch, Update), AlignFilesError> {
    let patches = read_patches(paths)?;
    let index = patches
        .iter()
        .position(|patch| patch.name() == name)
        .ok_or_else(|| AlignFilesError::NoSuchPatch { patch: name.into(), path: paths.nodes.clone() })?;
    let record = read_json::<Diagnostics>(&paths.results().report())?;
    let settings = config.unwrap_or(&record.settings);
    check_settings(paths, settings, &record)?;
    let mut alignment = read_frame(paths, &patches, index, &record)?;
    if before.dim() != alignment.transforms.dim {
        let (found, needed) = (before.dim(), alignment.transforms.dim);
        return Err(AlignFilesError::OtherDimensions { path: paths.results().embedding(), found, needed });
    }
    let found = update(&patches, index, &mut alignment, settings)?;
    let nodes = global_nodes(&patches, paths.rows)?;
    let kept = KeptRows::outside(&patches[index], before);
    write_alignment(paths, &patches, &nodes, &alignment, Some(&kept), progress)?;
    let diagnostics = diagnose_updated(&patches, &mut alignment, index, &record, found)?;
    write_json(&paths.results().report(), &diagnostics)?;
    Ok((patches[index].clone(), found))
}

/// How well the patches fit after one of them was updated; `record` is from before.
///
/// # Errors
/// [`AlignError::NotFinite`] if a shared node has a coordinate that is not finite.
pub fn diagnose_updated(
    patches: &[LocalPatch],
    alignment: &mut Alignment,
    updated: usize,
    record: &Diagnostics,
    found: Update,
) -> Result<Diagnostics, AlignError> {
    let name = patches[updated].name();
    note_motion(alignment, name, found.applied);
    let mut diagnostics = diagnose(patches, alignment, &record.settings)?;
    // What the patch edges alone do not tell is as the whole alignment has left it.
    diagnostics.cycle_inconsistency = record.cycle_inconsistency;
    diagnostics.updated = record.updated.iter().filter(|updated| *updated != name).cloned().collect();
    diagnostics.updated.push(name.to_owned());
    Ok(diagnostics)
}

/// Checks that an update is possible with these settings.
fn check_settings(
    paths: &AlignPaths,
    settings: &AlignConfig,
    record: &Diagnostics,
) -> Result<(), AlignFilesError> {
    settings.check()?;
    if settings.centroid == record.settings.centroid {
        return Ok(());
    }
    let [found, needed] =
        [settings.centroid, record.settings.centroid].map(|centroid| format!("{centroid:?}").to_lowercase());
    Err(AlignFilesError::OtherCentroid { path: paths.out.clone(), found, needed })
}

/// The alignment as it was left, with room for a patch that is new.
fn read_frame(
    paths: &AlignPaths,
    patches: &[LocalPatch],
    updated: usize,
    record: &Diagnostics,
) -> Result<Alignment, AlignFilesError> {
    let path = paths.results().transforms();
    let (mut transforms, mut patch_trust) = (read_transforms(&path)?, read_trust(&path)?);
    let known: Vec<&str> = record.patch_list.iter().map(|patch| patch.patch.as_str()).collect();
    if let Some(gone) = known.iter().find(|name| !patches.iter().any(|patch| patch.name() == **name)) {
        let path = paths.results().report();
        return Err(AlignFilesError::OtherPatches { path, patch: (*gone).to_owned() });
    }
    if !known.contains(&patches[updated].name()) && transforms.num_patches() == known.len() {
        transforms.insert(updated);
        patch_trust = patch_trust.map(|mut trust| {
            trust.insert(updated, 1.0);
            trust
        });
    }
    if transforms.num_patches() != patches.len() {
        let (found, needed) = (transforms.num_patches(), patches.len());
        return Err(AlignFilesError::OtherTransforms { path, found, needed });
    }
    let overlaps = overlaps(paths, patches, updated)?;
    Ok(restored_over(patches, overlaps, transforms, patch_trust, record))
}

/// An alignment over all overlaps that are large enough, as its transforms, the trust of its patches
/// and its record left it.
pub fn restored(
    patches: &[LocalPatch],
    transforms: Transforms,
    patch_trust: Option<Vec<f64>>,
    record: &Diagnostics,
) -> Alignment {
    restored_over(patches, overlap::of_all_pairs(patches), transforms, patch_trust, record)
}

fn restored_over(
    patches: &[LocalPatch],
    overlaps: Vec<Overlap>,
    transforms: Transforms,
    patch_trust: Option<Vec<f64>>,
    record: &Diagnostics,
) -> Alignment {
    let solution = solution(patches, &overlaps, patch_trust, record);
    let (judgement, blocks_at_once) = (record.judgement.clone(), super::centroid::blocks_at_once());
    Alignment { transforms, overlaps, solution, centroid: record.centroid, judgement, blocks_at_once }
}

/// The patch edges. Those of the updated patch count only where it still shares enough nodes.
fn overlaps(
    paths: &AlignPaths,
    patches: &[LocalPatch],
    updated: usize,
) -> Result<Vec<Overlap>, AlignFilesError> {
    let Some(path) = &paths.edges else { return Ok(overlap::of_all_pairs(patches)) };
    let mut edges = read_edges(path)?;
    let is_small = |&[a, b]: &[u64; 2]| {
        let ends = [a, b].map(|end| usize::try_from(end).ok().filter(|&end| end < patches.len()));
        matches!(ends, [Some(a), Some(b)] if (a == updated || b == updated)
            && overlap::shared_rows(patches, a as u32, b as u32).len() <= patches[a].dim())
    };
    edges.retain(|edge| !is_small(edge));
    Ok(overlap::of_edges(patches, &edges)?)
}

/// What the record knows about the patch edges.
fn solution(
    patches: &[LocalPatch],
    overlaps: &[Overlap],
    patch_trust: Option<Vec<f64>>,
    record: &Diagnostics,
) -> Solution {
    let mut solution = Solution::unsolved(overlaps.len());
    let mut known: Vec<_> = record.edge_list.iter().collect();
    known.sort_unstable_by(|a, b| a.patches.cmp(&b.patches));
    for (edge, overlap) in overlaps.iter().enumerate() {
        let names = [overlap.i, overlap.j].map(|patch| patches[patch as usize].name());
        let place = known.binary_search_by(|fit| fit.patches.each_ref().map(String::as_str).cmp(&names));
        if let Ok(place) = place {
            let fit = known[place];
            solution.misfits[edge] = fit.best_misfit;
            solution.ranks[edge] = fit.rank;
            solution.inconsistencies[edge] = fit.inconsistency;
            solution.trust[edge] = fit.trust;
        }
    }
    solution.patch_trust = patch_trust;
    solution.eigenvalues.clone_from(&record.eigenvalues);
    solution.certificate = record.certificate;
    solution.accuracy = record.accuracy;
    solution.levels = record.levels;
    solution
}

/// Notes whether the patch stays where it is.
fn note_motion(alignment: &mut Alignment, name: &str, applied: Motion) {
    if let Some(judgement) = &mut alignment.judgement {
        judgement.left_alone.retain(|patch| patch != name);
        if applied == Motion::None && judgement.applied != Motion::None {
            judgement.left_alone.push(name.to_owned());
        }
    }
}

/// Compares all places before and after.
fn compare(before: &Places, after: &Places, patch: &LocalPatch, update: Update) -> UpdateReport {
    let mut report = UpdateReport {
        patch: patch.name().into(),
        update,
        nodes: after.num_nodes(),
        new_nodes: 0,
        gone_nodes: 0,
        changed_nodes: 0,
        moved: 0.0,
        moved_most: 0.0,
        changed_outside: 0,
        moved_outside: 0.0,
    };
    let mut squares = 0.0;
    for (node, place) in after.all() {
        let Some(old) = before.place_of(node) else {
            report.new_nodes += 1;
            continue;
        };
        if old == place {
            continue;
        }
        let square = squared_distance(old, place);
        squares += square;
        report.changed_nodes += 1;
        report.moved_most = report.moved_most.max(square.sqrt());
        if !patch.contains(node) {
            report.changed_outside += 1;
            report.moved_outside = report.moved_outside.max(square.sqrt());
        }
    }
    report.gone_nodes = before.num_nodes() + report.new_nodes - after.num_nodes();
    report.moved = (squares / report.changed_nodes.max(1) as f64).sqrt();
    report
}
