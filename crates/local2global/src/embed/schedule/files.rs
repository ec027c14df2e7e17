//! The files of a patch: `NAME.npy`, `NAME.json` and, for methods that learn an encoder,
//! `NAME.encoder.npz`.
//!
//! The record holds a digest of everything that the coordinates were made from, and one of each
//! file beside it, and is sealed: a damaged record is no record. Coordinates without a record were made by another program.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::super::best_of::{Candidate, RunRecord};
use super::super::nn::clock::Clock;
use super::super::{EmbedConfig, EmbedError};
use super::job::Job;
use crate::digest;
use crate::run_dir::{
    EmbeddingFolder, FileError, read_sealed_json, write_array, write_json, write_sealed_json,
};
use crate::seed::Seed;

/// The file `NAME.json`.
#[derive(Debug, Serialize)]
struct PatchRecord<'a> {
    patch: &'a str,
    /// The version of the program.
    version: &'static str,
    nodes: usize,
    edges: usize,
    dim: usize,
    auc: Option<f64>,
    loss: Option<f64>,
    /// The run that was kept.
    run: u32,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds_per_part: Option<Clock>,
    losses: &'a [f64],
    runs: &'a [RunRecord],
    settings: &'a EmbedConfig,
    seed: Seed,
    /// The digest of what it was made from.
    digest: &'a str,
    /// The digest of the file with the coordinates.
    coordinates: String,
    /// The digest of the file with the encoder, for methods that keep it.
    #[serde(skip_serializing_if = "Option::is_none")]
    encoder: Option<String>,
}

/// Coordinates that are there without a record: another program made them.
pub(in crate::embed) fn foreign(folder: &Path, name: &str) -> Option<PathBuf> {
    let folder = EmbeddingFolder::at(folder);
    let coordinates = folder.coordinates(name);
    (coordinates.exists() && !folder.record(name).exists()).then_some(coordinates)
}

/// Begins the files of a patch: if we are killed before the record is written, the coordinates must not
/// look as if another program had made them.
pub(in crate::embed) fn begin(folder: &Path, name: &str) -> Result<(), FileError> {
    let path = EmbeddingFolder::at(folder).record(name);
    if path.exists() { Ok(()) } else { write_json(&path, &serde_json::json!({ "patch": name })) }
}

/// Whether the files of a patch are there, made from the inputs that have this digest, and undamaged.
pub(in crate::embed) fn is_made_from(folder: &Path, name: &str, digest: &str) -> bool {
    let record = read_record(folder, name);
    let found = record.as_ref().and_then(|record| record.get("digest")?.as_str());
    found == Some(digest) && is_own(folder, name)
}

/// Whether the files of a patch have the digests that its record holds: the coordinates, and the
/// encoder if there is one.
pub(in crate::embed) fn is_own(folder: &Path, name: &str) -> bool {
    let record = read_record(folder, name);
    let text = |key: &str| record.as_ref().and_then(|record| record.get(key)?.as_str());
    let intact = |key: &str, path: &Path| digest::of_file(path).is_ok_and(|found| text(key) == Some(&found));
    let folder = EmbeddingFolder::at(folder);
    intact("coordinates", &folder.coordinates(name))
        && (text("encoder").is_none() || intact("encoder", &folder.encoder(name)))
}

fn read_record(folder: &Path, name: &str) -> Option<serde_json::Value> {
    read_sealed_json(&EmbeddingFolder::at(folder).record(name)).ok()
}

/// Writes the best run of a patch, the record last.
pub(super) fn write(
    folder: &Path,
    job: &Job<'_>,
    (best, runs): (&Candidate, &[RunRecord]),
    seed: Seed,
) -> Result<(), EmbedError> {
    begin(folder, &job.name)?;
    let folder = EmbeddingFolder::at(folder);
    let record_path = folder.record(&job.name);
    let coordinates = &best.embedding.coordinates;
    let coordinates_path = folder.coordinates(&job.name);
    let shape = [coordinates.num_rows(), coordinates.num_columns()];
    write_array(&coordinates_path, &shape, coordinates.values())?;
    let encoder_path = folder.encoder(&job.name);
    let encoder = best.embedding.encoder.as_ref().map(|encoder| {
        encoder.write(&encoder_path)?;
        digest_of(&encoder_path)
    });
    let record = PatchRecord {
        patch: &job.name,
        version: env!("CARGO_PKG_VERSION"),
        nodes: job.place.nodes.len(),
        edges: job.place.num_edges(),
        dim: job.config.dim,
        auc: best.auc,
        loss: best.loss(),
        run: best.run,
        seconds: runs.iter().map(|run| run.seconds).sum(),
        seconds_per_part: best.embedding.record.seconds_per_part,
        losses: &best.embedding.record.losses,
        runs,
        settings: &job.config,
        seed,
        digest: &job.digest,
        coordinates: digest_of(&coordinates_path)?,
        encoder: encoder.transpose()?,
    };
    Ok(write_sealed_json(&record_path, &record)?)
}

fn digest_of(path: &Path) -> Result<String, FileError> {
    digest::of_file(path).map_err(FileError::at("read", path))
}
