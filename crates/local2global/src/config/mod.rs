//! All settings of a run, from defaults, a TOML file and `table.key=value` pairs.
//!
//! One struct per stage gives the TOML keys, the flags and the Python keywords.
//! Settings are checked once, here; a key that does not exist is an error that names
//! the nearest one that does.

mod catalogue;

mod entries;

mod experiment;

mod setting;

use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::align::AlignConfig;
use crate::embed::EmbedConfig;
use crate::evaluate::EvaluateConfig;
use crate::graph::load::GraphConfig;
use crate::memory::{self, BASE_BYTES, ByteSize, Room};
use crate::partition::PartitionConfig;
use crate::patch::PatchConfig;
use crate::run_dir::{FileError, write_atomically};
use crate::seed::Seed;

pub use experiment::ExperimentConfig;
pub use setting::{Setting, SettingValues};

/// Every setting of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The seed of all chance.
    pub seed: Seed,
    /// The most memory that a stage may take; what is free if it is not set. Mapped files do not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<ByteSize>,
    /// What to read, and what to keep of it.
    pub graph: GraphConfig,
    /// How to split the graph into clusters.
    pub partition: PartitionConfig,
    /// How to grow clusters into overlapping patches.
    pub patch: PatchConfig,
    /// How patches are embedded.
    pub embed: EmbedConfig,
    /// How patch embeddings are stitched.
    pub align: AlignConfig,
    /// What embeddings are scored on.
    pub evaluate: EvaluateConfig,
    /// What `l2g experiment` varies; other commands leave it alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experiment: Option<ExperimentConfig>,
}

/// The tables that settings are in.
const TABLES: [&str; 7] = ["graph", "partition", "patch", "embed", "align", "evaluate", "experiment"];

/// Why settings were refused.
#[derive(Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages name the fields")]
pub enum ConfigError {
    /// The text is not TOML.
    #[error("settings are not valid TOML: {0}")]
    Syntax(String),

    /// A pair is not `table.key=value`.
    #[error("setting `{0}` is not of the form table.key=value")]
    Pair(String),

    /// There is no such key.
    #[error("there is no setting `{key}`{}", suggestion.as_ref().map_or(String::new(), |name| format!("; did you mean `{name}`?")))]
    Unknown { key: String, suggestion: Option<String> },

    /// A value does not fit its key.
    #[error("setting `{key}`: {problem}")]
    Value { key: String, problem: String },
}

impl Config {
    /// Settings from a TOML text, changed by `table.key=value` pairs.
    ///
    /// # Errors
    /// [`ConfigError`] with the key and what is wrong with it.
    ///
    /// # Examples
    /// ```
    /// use local2global::config::Config;
    ///
    /// let config = Config::new("seed = 7", &["graph.component=all".into()])?;
    /// assert_eq!(config.seed.0, 7);
    /// let error = Config::new("", &["graph.componnent=all".into()]).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "there is no setting `graph.componnent`; did you mean `graph.component`?"
    /// );
    /// # Ok::<(), local2global::config::ConfigError>(())
    /// ```
    pub fn new(text: &str, pairs: &[String]) -> Result<Self, ConfigError> {
        Self::with_preset(None, text, pairs)
    }

    /// As [`Config::new`], where a preset takes the place of the defaults.
    ///
    /// # Errors
    /// As [`Config::new`].
    pub fn with_preset(preset: Option<Preset>, text: &str, pairs: &[String]) -> Result<Self, ConfigError> {
        let parse = |text: &str| {
            text.parse().map_err(|error: toml::de::Error| ConfigError::Syntax(error.to_string()))
        };
        let mut table: Table = parse(preset.map_or("", Preset::text))?;
        merge(&mut table, parse(text)?);
        for pair in pairs {
            set(&mut table, pair)?;
        }
        serde_path_to_error::deserialize(table).map_err(|error| {
            let path = error.path().to_string();
            refusal(&path, &error.into_inner().to_string())
        })
    }

    /// The settings with this key, in whatever table: `embed.dim` for `dim`.
    ///
    /// # Examples
    /// ```
    /// use local2global::config::Config;
    ///
    /// assert_eq!(Config::settings_named("epochs"), ["embed.epochs"]);
    /// assert!(Config::settings_named("ghosts").is_empty());
    /// ```
    pub fn settings_named(key: &str) -> Vec<String> {
        let exists = |setting: &String| {
            !matches!(Self::new("", &[format!("{setting}=0")]), Err(ConfigError::Unknown { .. }))
        };
        TABLES.iter().map(|table| format!("{table}.{key}")).filter(exists).collect()
    }

    /// The bytes of memory that a stage may take: what is set, or else what is free.
    pub fn memory_limit(&self) -> u64 {
        self.memory.map(|size| size.0).or_else(memory::free_bytes).unwrap_or(u64::MAX)
    }

    /// The bytes that a stage may take by the limit that is set, without the program itself; no limit if
    /// none is set.
    pub fn memory_room(&self) -> u64 {
        self.memory.map_or(u64::MAX, |limit| limit.0.saturating_sub(BASE_BYTES).max(1))
    }

    /// How patches are embedded, within the memory that is set for all stages if embedding has no limit
    /// of its own.
    pub fn embed_within_memory(&self) -> EmbedConfig {
        let mut embed = self.embed.clone();
        if let (0, Some(_)) = (embed.memory_bytes, self.memory) {
            embed.memory_bytes = self.memory_room();
        }
        embed
    }

    /// How patches are aligned, within the memory that is set; what does not fit may go to a file in
    /// `folder`, which is there.
    pub fn align_within_memory(&self, folder: &Path) -> AlignConfig {
        AlignConfig {
            room: Room { memory: self.memory_room(), folder: folder.to_owned() },
            ..self.align.clone()
        }
    }

    /// Writes the settings, defaults filled in, so that `l2g COMMAND` can be repeated.
    ///
    /// # Errors
    /// As [`write_atomically`].
    pub fn write(&self, path: &Path, command: &str) -> Result<(), FileError> {
        let version = env!("CARGO_PKG_VERSION");
        write_atomically(path, |sink| {
            writeln!(sink, "# local2global {version}; repeat with `l2g {command} --config run.toml`")?;
            writeln!(sink, "{}", self.to_toml())
        })
    }

    /// The settings as TOML, defaults filled in.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("settings are plain tables")
    }
}

/// Settings that belong together, known by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// The paper to the letter.
    Paper,
}

impl Preset {
    /// The settings, as TOML.
    fn text(self) -> &'static str {
        match self {
            Self::Paper => include_str!("paper.toml"),
        }
    }
}

/// Puts the entries of a table over those of another, table by table.
fn merge(under: &mut Table, over: Table) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(Value::Table(under)), Value::Table(over)) => merge(under, over),
            (_, value) => drop(under.insert(key, value)),
        }
    }
}

/// Puts one `table.key=value` into a table; the value may leave out its quotes.
fn set(table: &mut Table, pair: &str) -> Result<(), ConfigError> {
    let malformed = || ConfigError::Pair(pair.to_owned());
    let (path, text) = pair.split_once('=').ok_or_else(malformed)?;
    let mut keys: Vec<&str> = path.trim().split('.').collect();
    let last = keys.pop().filter(|key| !key.is_empty()).ok_or_else(malformed)?;
    let mut inner = table;
    for key in keys {
        let entry = inner.entry(key).or_insert_with(|| Value::Table(Table::new()));
        inner = entry.as_table_mut().ok_or_else(malformed)?;
    }
    inner.insert(last.to_owned(), parse_value(text.trim()));
    Ok(())
}

fn parse_value(text: &str) -> Value {
    let as_toml = format!("value = {text}").parse::<Table>().ok();
    as_toml.and_then(|mut table| table.remove("value")).unwrap_or_else(|| Value::String(text.to_owned()))
}

/// Makes a readable error of what serde says about the value at `path`.
fn refusal(path: &str, message: &str) -> ConfigError {
    // The place, which some errors add, is known already.
    let message = message.lines().next().unwrap_or_default();
    let mut quoted = message.split('`').skip(1).step_by(2);
    match quoted.next() {
        Some(unknown) if message.starts_with("unknown field") => {
            let parent = path.strip_suffix(unknown).unwrap_or(path);
            let parent = if parent.is_empty() || parent.ends_with('.') {
                parent.to_owned()
            } else {
                format!("{parent}.")
            };
            let elsewhere = if parent.is_empty() { Config::settings_named(unknown) } else { Vec::new() };
            let suggestion = match &elsewhere[..] {
                [] => nearest(unknown, quoted).map(|name| format!("{parent}{name}")),
                settings => Some(settings.join("` or `")),
            };
            ConfigError::Unknown { key: format!("{parent}{unknown}"), suggestion }
        }
        Some(unknown) if message.starts_with("unknown variant") => {
            let known: Vec<&str> = quoted.collect();
            let suggestion = nearest(unknown, known.iter().copied());
            let suggestion = suggestion.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
            let problem = format!("`{unknown}` is none of {}{suggestion}", known.join(", "));
            ConfigError::Value { key: path.to_owned(), problem }
        }
        _ => ConfigError::Value { key: path.to_owned(), problem: in_plain_words(message) },
    }
}

/// What serde says about a value of the wrong type, without the names of types.
fn in_plain_words(message: &str) -> String {
    let wrong = message.strip_prefix("invalid type: ").or(message.strip_prefix("invalid value: "));
    let Some((found, expected)) = wrong.and_then(|wrong| wrong.rsplit_once(", expected ")) else {
        return message.to_owned();
    };
    let needed = match expected {
        "usize" | "u64" | "u32" => "a whole number",
        "f64" | "f32" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list such as [\"a\", \"b\"]",
        _ if expected.starts_with("struct") => "a table",
        _ if expected.contains("string") => "text",
        other => other,
    };
    format!("found {found}, needed {needed}")
}

/// The most similar of the known names, if any is similar at all.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|&(distance, candidate)| distance <= candidate.len().max(3) / 2)
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::load::Component;

    #[test]
    fn pairs_override_the_text() {
        let config = Config::new(
            "[graph]\ncomponent = \"largest\"\nself_loops = false",
            &["graph.component=all".into(), "graph.self_loops=true".into()],
        )
        .unwrap();
        assert_eq!(config.graph.component, Component::All);
        assert!(config.graph.self_loops);
    }

    #[test]
    fn a_preset_gives_way_to_what_is_set() {
        let paper = Config::with_preset(Some(Preset::Paper), "[embed]\ndim = 16", &["patch.degree=5".into()]);
        let paper = paper.unwrap();
        assert_eq!((paper.embed.dim, paper.embed.epochs, paper.patch.degree), (16, Some(200), 5.0));
        assert!(!paper.align.judge);
    }

    #[test]
    fn written_settings_are_read_back() {
        let config = Config::new("seed = 3", &["graph.features=x.npy".into()]).unwrap();
        assert_eq!(Config::new(&config.to_toml(), &[]).unwrap(), config);
        let pairs = ["partition.method=fennel".into(), "patch.degree=5".into()];
        let staged = Config::new("[partition]\npasses = 3\npatch_size = 50", &pairs).unwrap();
        assert_eq!(Config::new(&staged.to_toml(), &[]).unwrap(), staged);
        let pairs = ["graph.hold_out=0.1".into(), "evaluate.tasks=[\"link-prediction\"]".into()];
        let scored = Config::new("[evaluate]\nsamples = 50", &pairs).unwrap();
        assert_eq!((scored.graph.hold_out, scored.evaluate.samples), (0.1, Some(50)));
        assert_eq!(Config::new(&scored.to_toml(), &[]).unwrap(), scored);
    }

    #[test]
    fn misspelt_keys_name_the_nearest() {
        let error = |text: &str| Config::new(text, &[]).unwrap_err().to_string();
        assert_eq!(error("sead = 1"), "there is no setting `sead`; did you mean `seed`?");
        assert_eq!(error("dim = 1"), "there is no setting `dim`; did you mean `embed.dim`?");
        assert_eq!(
            error("method = \"vgae\""),
            "there is no setting `method`; did you mean `partition.method` or `embed.method` or `align.method`?"
        );
        assert_eq!(
            error("[graph]\nsymetrise = true"),
            "there is no setting `graph.symetrise`; did you mean `graph.symmetrise`?"
        );
        assert_eq!(
            error("[partition]\nmethod = \"fennel\"\npases = 3"),
            "there is no setting `partition.pases`; did you mean `partition.passes`?"
        );
        assert_eq!(error("[zzzzzzzzzz]\n"), "there is no setting `zzzzzzzzzz`");
    }

    #[test]
    fn bad_values_name_their_key() {
        let error = Config::new("", &["graph.component=enormous".into()]).unwrap_err().to_string();
        assert_eq!(error, "setting `graph.component`: `enormous` is none of largest, all");
        let error = |pair: &str| Config::new("", &[pair.into()]).unwrap_err().to_string();
        assert!(
            error("embed.method=vgea").ends_with("; did you mean `vgae`?"),
            "{}",
            error("embed.method=vgea")
        );
        assert_eq!(
            error("embed.dim=many"),
            "setting `embed.dim`: found string \"many\", needed a whole number"
        );
        assert_eq!(error("embed=3"), "setting `embed`: found integer `3`, needed a table");
        assert!(error("evaluate.tasks=classification").contains("needed a list such as [\"a\", \"b\"]"));
        let error = Config::new("", &["graph.hold_out=1.5".into()]).unwrap_err().to_string();
        assert!(error.starts_with("setting `graph.hold_out`: found 1.5, needed at least 0"), "{error}");
        assert_eq!(Config::new("", &["graph".into()]).unwrap_err(), ConfigError::Pair("graph".into()));
        assert!(matches!(Config::new("seed = ", &[]), Err(ConfigError::Syntax(_))));
    }
}
