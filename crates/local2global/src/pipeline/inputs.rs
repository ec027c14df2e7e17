//! The record of what a stage was made from, and how two records differ.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{PipelineError, StageName};
use crate::digest;
use crate::graph::io::{is_standard_input, is_stream};
use crate::run_dir::FileError;

/// So many changes are told one by one.
const TOLD_CHANGES: usize = 3;

/// What a stage is made from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inputs {
    pub(super) version: String,
    pub(super) seed: u64,
    /// The settings it depends on, each as `table.key` and its value as JSON.
    pub(super) settings: BTreeMap<String, String>,
    /// The digest of what each stage that it reads has left.
    pub(super) stages: BTreeMap<String, String>,
    /// The digest of each file outside the run folder.
    pub(super) files: BTreeMap<String, String>,
    /// Standard input and pipes, whose content is known only when they have been read. They are in no
    /// stamp, so inputs that have some are never those of a stamp, and the stage is done.
    #[serde(skip)]
    pub(super) streams: Vec<String>,
}

impl Inputs {
    /// The version of the program that did the stage.
    pub fn version(&self) -> &str {
        &self.version
    }

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
        changes.extend(differing(&self.files, &old.files).map(|(file, new, old)| match (new, old) {
            (_, None) => format!("`{file}` is new"),
            (None, _) => format!("`{file}` is gone"),
            _ => format!("`{file}` has changed"),
        }));
        changes.extend(self.streams.iter().map(|stream| format!("{stream} is read anew")));
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
    pub(super) fn add_settings(&mut self, table: &str, settings: &impl Serialize) {
        let value = serde_json::to_value(settings).expect("settings are plain tables");
        self.add_value(table, &value);
    }

    fn add_value(&mut self, key: &str, value: &Value) {
        match value {
            Value::Object(entries) => {
                entries.iter().for_each(|(name, value)| self.add_value(&format!("{key}.{name}"), value));
            }
            // What is not set does not count.
            Value::Null => {}
            Value::String(text) => _ = self.settings.insert(key.into(), text.clone()),
            other => _ = self.settings.insert(key.into(), other.to_string()),
        }
    }

    /// Adds the content of a file, or the name of a pipe. One that cannot be found is told by whoever
    /// reads it.
    pub(super) fn add_file(&mut self, path: &Path) -> Result<(), PipelineError> {
        if is_standard_input(path) {
            self.streams.push("standard input".into());
        } else if is_stream(path) {
            self.streams.push(format!("`{}`", path.display()));
        } else if path.is_file() {
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
