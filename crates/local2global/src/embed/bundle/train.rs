//! A bundle -> the coordinates of its patches, wherever we are.

use std::path::Path;

use super::BundleError;
use super::contents::Contents;
use crate::embed::schedule::{Job, Room, embed_jobs};
use crate::embed::{EmbedError, EmbedSummary};
use crate::graph::NodeId;
use crate::progress::Progress;

/// Embeds the patches of a bundle into a folder, within `limit` bytes of memory, or those that the
/// bundle was made for if there is none. Patches that are there, made from the same inputs, are kept.
///
/// # Errors
/// [`BundleError`] if the file is no bundle of this version, or is damaged; or as
/// [`embed_framed`](crate::embed::embed_framed).
pub fn embed_bundle(
    path: &Path,
    limit: Option<u64>,
    folder: &Path,
    progress: &dyn Progress,
) -> Result<EmbedSummary, BundleError> {
    let Contents { header, frame, parts } = Contents::read(path)?;
    let all: Vec<NodeId> =
        (0..parts.iter().map(|part| part.nodes.len()).max().unwrap_or(0)).map(NodeId::new).collect();
    let jobs = header.patches.iter().zip(&parts).map(|(entry, part)| {
        let frame = frame.for_nodes(part.clusters().to_vec())?;
        let known = (entry.training_bytes, entry.digest.clone());
        Ok(Job::known(entry.patch, part.place(&all), (&header.settings, &frame), known))
    });
    let jobs: Vec<Job<'_>> = jobs.collect::<Result<_, EmbedError>>()?;
    let held = parts.iter().map(super::part::Part::bytes).sum::<u64>();
    let room =
        Room { limit: limit.unwrap_or(header.settings.memory_bytes), taken: frame.memory_bytes() + held };
    Ok(embed_jobs(jobs, room, header.seed, folder, progress)?)
}
