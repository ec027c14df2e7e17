//! What a stage is made from, and what of it has changed.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{GraphSource, Pipeline, PipelineError, StageName, Stamp};
use crate::config::Config;
use crate::digest::{self, Digest};
use crate::embed::EmbedConfig;
use crate::graph::builtin::{self, Source};
use crate::partition::PartitionMethod;
use crate::run_dir::FileError;

/// So many changes are told one by one.
const TOLD_CHANGES: usize = 3;

/// What a stage is made from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inputs {
    version: String,
    seed: u64,
    /// The settings it depends on, each as `table.key` and its value as JSON.
    settings: BTreeMap<String, String>,
    /// The digest of what each stage that it reads has left.
    stages: BTreeMap<String, String>,
    /// The digest of each file outside the run folder.
    files: BTreeMap<String, String>,
}

impl Inputs {
    /// What is different from earlier inputs, in words.
    pub(super) fn changes_since(&self, old: &Self) -> String {
        let mut changes = Vec::new();
        let mut compare = |name: &str, new: &str, old: &str| {
            if new != old {
                changes.push(format!("{name} is {new}, was {old}"));
            }
        };
        compare("version", &self.version, &old.version);
        compare("seed", &self.seed.to_string(), &old.seed.to_string());
        for (key, value, before) in differing(&self.settings, &old.settings) {
            compare(key, value.unwrap_or("not set"), before.unwrap_or("not set"));
        }
        changes
            .extend(differing(&self.stages, &old.stages).map(|(stage, ..)| format!("{stage} has changed")));
        changes.extend(differing(&self.files, &old.files).map(|(file, ..)| format!("`{file}` has changed")));
        let more = changes.len().saturating_sub(TOLD_CHANGES);
        changes.truncate(TOLD_CHANGES);
        match more {
            0 => changes.join("; "),
            more => format!("{}; and {more} more", changes.join("; ")),
        }
    }

    #[cfg(test)]
    pub(super) fn of_seed(seed: u64) -> Self {
        Self { seed, ..Default::default() }
    }

    /// The digest of what an earlier stage had left when this was made.
    pub(super) fn of_stage(&self, stage: StageName) -> Option<&str> {
        self.stages.get(stage.name()).map(String::as_str)
    }

    /// Adds settings under the name of their table.
    fn add_settings(&mut self, table: &str, settings: &impl Serialize) {
        let value = serde_json::to_value(settings).expect("settings are plain tables");
        self.add_value(table, &value);
    }

    fn add_value(&mut self, key: &str, value: &Value) {
        match value {
            Value::Object(entries) => {
                entries.iter().for_each(|(name, value)| self.add_value(&format!("{key}.{name}"), value));
            }
            Value::String(text) => _ = self.settings.insert(key.into(), text.clone()),
            other => _ = self.settings.insert(key.into(), other.to_string()),
        }
    }

    /// Adds the content of a file. One that cannot be found is told by whoever reads it.
    fn add_file(&mut self, path: &Path) -> Result<(), PipelineError> {
        if path.is_file() {
            let digest = digest::of_file(path).map_err(FileError::at("read", path))?;
            self.files.insert(path.display().to_string(), digest);
        }
        Ok(())
    }
}

/// The keys at which two maps differ, with both values.
fn differing<'a>(
    new: &'a BTreeMap<String, String>,
    old: &'a BTreeMap<String, String>,
) -> impl Iterator<Item = (&'a str, Option<&'a str>, Option<&'a str>)> {
    let gone = old.keys().filter(|key| !new.contains_key(*key));
    let keys = new.keys().chain(gone).filter(|key| new.get(*key) != old.get(*key));
    let value = |map: &'a BTreeMap<String, String>, key| map.get(key).map(String::as_str);
    keys.map(move |key| (key.as_str(), value(new, key), value(old, key)))
}

impl Pipeline<'_> {
    /// What a stage is made from now.
    pub(super) fn inputs(&self, stage: StageName) -> Result<Inputs, PipelineError> {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let mut inputs = Inputs { version, seed: self.config.seed.0, ..Default::default() };
        self.add_settings(stage, &mut inputs);
        for earlier in stage.reads() {
            let stamp = Stamp::finished(&earlier.folder(self.run));
            let output = stamp.map(|stamp| stamp.output).unwrap_or_default();
            inputs.stages.insert(earlier.name().into(), output);
        }
        self.add_files(stage, &mut inputs)?;
        Ok(inputs)
    }

    /// The settings that a stage depends on.
    fn add_settings(&self, stage: StageName, inputs: &mut Inputs) {
        let Config { graph, partition, patch, embed, align, evaluate, .. } = &self.config;
        // More memory or fewer patches at a time give the same coordinates.
        let embed = EmbedConfig { memory_bytes: 0, ..embed.settled() };
        let mut patch = patch.clone();
        if let Ok(bounds) = patch.overlap_bounds(embed.dim) {
            (patch.min_overlap, patch.max_overlap) = (Some(bounds.min), Some(bounds.max));
        }
        match stage {
            StageName::Graph => inputs.add_settings("graph", graph),
            StageName::Partition => {
                inputs.add_settings("partition", partition);
                inputs.add_settings("patch.min_overlap", &patch.min_overlap);
            }
            StageName::Patch => inputs.add_settings("patch", &patch),
            StageName::Embed => inputs.add_settings("embed", &embed),
            StageName::Align => inputs.add_settings("align", align),
            StageName::Evaluate => {
                inputs.add_settings("evaluate", evaluate);
                if evaluate.full {
                    inputs.add_settings("embed", &embed);
                }
            }
        }
    }

    /// The content of the files outside the run folder that a stage reads.
    fn add_files(&self, stage: StageName, inputs: &mut Inputs) -> Result<(), PipelineError> {
        let Config { partition, embed, evaluate, .. } = &self.config;
        match stage {
            StageName::Graph => self.add_source(inputs)?,
            StageName::Partition => {
                if let PartitionMethod::Given(given) = &partition.method {
                    given.file.iter().try_for_each(|file| inputs.add_file(file))?;
                }
            }
            StageName::Embed => {
                let mut configs = embed.each();
                configs.try_for_each(|config| config.scripts().try_for_each(|path| inputs.add_file(path)))?;
            }
            StageName::Evaluate => {
                evaluate.split.iter().try_for_each(|split| inputs.add_file(split))?;
            }
            StageName::Patch | StageName::Align => {}
        }
        Ok(())
    }

    /// The content of all files that the graph is read from, or the graph itself.
    fn add_source(&self, inputs: &mut Inputs) -> Result<(), PipelineError> {
        let config = &self.config.graph;
        match self.source {
            GraphSource::Memory(loaded) => {
                inputs.files.insert("graph in memory".into(), loaded.graph.digest());
                return Ok(());
            }
            GraphSource::Settings(folders) => {
                let name = config.input.as_deref().unwrap_or("cora");
                match builtin::locate(name, folders)? {
                    Source::BuiltIn(bytes) => {
                        let mut digest = Digest::default();
                        digest.add_values(bytes);
                        inputs.files.insert(name.into(), digest.to_string());
                    }
                    Source::File(path) => inputs.add_file(&path)?,
                }
            }
        }
        [&config.features, &config.labels].into_iter().flatten().try_for_each(|path| inputs.add_file(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::align::AlignConfig;

    #[test]
    fn what_has_changed_is_told_by_its_name() {
        let mut old = Inputs { seed: 1, ..Default::default() };
        old.add_settings("align", &AlignConfig::default());
        old.stages.insert("embed".into(), "a".into());
        old.files.insert("edges.csv".into(), "b".into());
        assert_eq!(old.changes_since(&old), "");
        let mut new = old.clone();
        new.add_settings("align", &AlignConfig { scale: true, ..Default::default() });
        assert_eq!(new.changes_since(&old), "align.scale is true, was false");
        new.settings.remove("align.weights");
        new.stages.insert("embed".into(), "c".into());
        new.files.insert("edges.csv".into(), "d".into());
        assert_eq!(
            new.changes_since(&old),
            "align.scale is true, was false; align.weights is not set, was overlap; embed has changed; and 1 more"
        );
    }
}
