//! What came back, checked file by file.

use std::path::Path;

use serde_json::Value;

use crate::digest;
use crate::embed::EmbedConfig;
use crate::npy;
use crate::run_dir::{EmbeddingFolder, read_sealed_json};
use crate::seed::Seed;

/// What a result has to be.
#[derive(Debug)]
pub(super) struct Wanted<'a> {
    pub(super) name: &'a str,
    pub(super) num_nodes: usize,
    pub(super) dim: usize,
    /// The settings of the patch, every one filled in.
    pub(super) settings: EmbedConfig,
    pub(super) seed: Seed,
    /// The digest of everything that it has to be made from.
    pub(super) digest: &'a str,
}

/// Checks the files of a patch; or tells, in words, what is wrong.
pub(super) fn check(folder: &EmbeddingFolder, wanted: &Wanted<'_>) -> Result<(), String> {
    let path = folder.record(wanted.name);
    let record: Value = read_sealed_json(&path)
        .map_err(|error| format!("`{}` is damaged: {}", path.display(), error.source))?;
    let text = |key: &str| record.get(key).and_then(Value::as_str);
    let version = text("version").unwrap_or("an unknown version");
    if version != env!("CARGO_PKG_VERSION") {
        let ours = env!("CARGO_PKG_VERSION");
        return Err(format!("`{}` was made by local2global {version}, and this is {ours}", path.display()));
    }
    if text("digest") != Some(wanted.digest) {
        return Err(format!(
            "`{}` is the result of another bundle: {}",
            path.display(),
            difference(&record, wanted)
        ));
    }
    let coordinates = folder.coordinates(wanted.name);
    check_coordinates(&coordinates, wanted)?;
    check_digest(&coordinates, text("coordinates"))?;
    match text("encoder") {
        Some(digest) => check_digest(&folder.encoder(wanted.name), Some(digest)),
        None => Ok(()),
    }
}

fn check_coordinates(path: &Path, wanted: &Wanted<'_>) -> Result<(), String> {
    let array =
        npy::read::<f32>(path).map_err(|error| format!("`{}` is unusable: {error}", path.display()))?;
    if array.shape != [wanted.num_nodes, wanted.dim] {
        let (found, rows, dim) = (&array.shape, wanted.num_nodes, wanted.dim);
        return Err(format!("`{}` has shape {found:?}, needed [{rows}, {dim}]", path.display()));
    }
    match array.values.iter().position(|value| !value.is_finite()) {
        Some(position) => {
            Err(format!("row {} of `{}` is not finite", position / wanted.dim.max(1), path.display()))
        }
        None => Ok(()),
    }
}

fn check_digest(path: &Path, wanted: Option<&str>) -> Result<(), String> {
    let found =
        digest::of_file(path).map_err(|error| format!("could not read `{}`: {error}", path.display()))?;
    match Some(&found[..]) == wanted {
        true => Ok(()),
        false => Err(format!("`{}` is not what its record says: it is damaged", path.display())),
    }
}

/// What a result was made from that it should not be.
fn difference(record: &Value, wanted: &Wanted<'_>) -> String {
    let seed = &record["seed"];
    if seed.as_u64() != Some(wanted.seed.0) {
        return format!("its seed is {seed}, needed {}", wanted.seed.0);
    }
    let settings = serde_json::to_value(wanted.settings.without_limits()).unwrap_or_default();
    let is_limit = |key: &str| ["memory_bytes", "command_timeout"].contains(&key);
    let differs =
        |(key, value): &(&String, &Value)| !is_limit(key) && record["settings"].get(key) != Some(value);
    match settings.as_object().into_iter().flatten().find(differs) {
        Some((key, value)) => {
            let found = record["settings"].get(key).unwrap_or(&Value::Null);
            format!("its `embed.{key}` is {found}, needed {value}")
        }
        None => "its nodes, edges, features or common frame were others".into(),
    }
}
