//! Every setting with its meaning, the values it takes and its default.
//!
//! Keys, meanings and values are written down in `entries.rs`. Defaults are those of
//! [`Config::default`]. Tests compare keys and words with what the settings accept, so that a
//! setting without an entry, or an entry without a setting, fails.

use std::collections::BTreeMap;

use serde_json::Value;

use super::entries::SETTINGS;
use super::setting::Setting;
use super::{Config, ConfigError, ExperimentConfig, TABLES, nearest};
use crate::partition::{Buffered, Fennel, GivenClusters, Louvain, PartitionConfig, PartitionMethod};

impl Config {
    /// All settings there are, table by table.
    pub fn catalogue() -> &'static [Setting] {
        SETTINGS
    }

    /// The setting with this key, or all settings of this table.
    ///
    /// # Errors
    /// [`ConfigError::Unknown`] with the nearest key.
    ///
    /// # Examples
    /// ```
    /// use local2global::config::Config;
    ///
    /// assert_eq!(Config::described("embed.dim")?[0].meaning, "The number of coordinates of a node.");
    /// assert!(Config::described("align")?.len() > 5);
    /// let error = Config::described("dim").unwrap_err().to_string();
    /// assert_eq!(error, "there is no setting `dim`; did you mean `embed.dim`?");
    /// # Ok::<(), local2global::config::ConfigError>(())
    /// ```
    pub fn described(key: &str) -> Result<Vec<&'static Setting>, ConfigError> {
        let found: Vec<&Setting> =
            SETTINGS.iter().filter(|setting| setting.key == key || setting.table() == Some(key)).collect();
        match found.is_empty() {
            true => Err(ConfigError::Unknown { key: key.to_owned(), suggestion: suggestion(key) }),
            false => Ok(found),
        }
    }

    /// The values that are set, by key; defaults are set too.
    pub fn values(&self) -> BTreeMap<String, Value> {
        let mut values = BTreeMap::new();
        let Ok(Value::Object(tables)) = serde_json::to_value(self) else { return values };
        for (table, entry) in tables {
            match entry {
                Value::Object(entries) => {
                    values.extend(entries.into_iter().map(|(key, value)| (format!("{table}.{key}"), value)));
                }
                value => drop(values.insert(table, value)),
            }
        }
        values.retain(|_, value| !value.is_null());
        values
    }

    /// The defaults, by key, those of all partitioners among them.
    pub fn default_values() -> BTreeMap<String, Value> {
        let with = |method: PartitionMethod| Self {
            partition: PartitionConfig { method, ..Default::default() },
            experiment: Some(ExperimentConfig::default()),
            ..Default::default()
        };
        let methods = [
            PartitionMethod::Buffered(Buffered::default()),
            PartitionMethod::Fennel(Fennel::default()),
            PartitionMethod::Louvain(Louvain::default()),
            PartitionMethod::Given(GivenClusters::default()),
            PartitionConfig::default().method,
        ];
        // The last one is the default method itself, and has the last word about `method`.
        methods.into_iter().flat_map(|method| with(method).values()).collect()
    }
}

/// What somebody may have meant: a key without its table, or one that is spelt much the same.
fn suggestion(key: &str) -> Option<String> {
    let name_of = |setting: &Setting| setting.key.rsplit('.').next().unwrap_or(setting.key);
    let named = |name: &str| {
        let keys = SETTINGS.iter().filter(|setting| name_of(setting) == name).map(|setting| setting.key);
        keys.collect::<Vec<_>>().join("` or `")
    };
    if key.contains('.') {
        return nearest(key, SETTINGS.iter().map(|setting| setting.key)).map(str::to_owned);
    }
    let names = SETTINGS.iter().map(name_of);
    match nearest(key, names.chain(TABLES))? {
        table if TABLES.contains(&table) => Some(table.to_owned()),
        name => Some(named(name)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::setting::SettingValues;
    use super::*;

    /// The keys that serde would accept in place of one that does not exist.
    fn accepted(toml: &str) -> BTreeSet<String> {
        let error = toml::from_str::<Config>(toml).unwrap_err().to_string();
        let message = error.lines().find(|line| line.contains("unknown field")).unwrap_or(&error);
        message.split('`').skip(1).step_by(2).filter(|name| *name != "ghost").map(str::to_owned).collect()
    }

    #[test]
    fn every_setting_has_an_entry_and_every_entry_a_setting() {
        let mut keys = BTreeSet::from(["seed", "memory"].map(str::to_owned));
        for table in TABLES.into_iter().filter(|table| *table != "partition") {
            let names = accepted(&format!("[{table}]\nghost = 0\n"));
            assert!(names.len() > 2, "{table}: {names:?}");
            keys.extend(names.into_iter().map(|name| format!("{table}.{name}")));
        }
        for method in ["auto", "metis", "buffered", "fennel", "louvain", "given"] {
            let names = accepted(&format!("[partition]\nmethod = \"{method}\"\nghost = 0\n"));
            assert!(!names.is_empty(), "{method}");
            keys.extend(names.into_iter().map(|name| format!("partition.{name}")));
        }
        // Read by hand, see `PartitionConfig`.
        keys.extend(["method", "clusters", "patch_size"].map(|name| format!("partition.{name}")));
        let told: BTreeSet<String> = SETTINGS.iter().map(|setting| setting.key.to_owned()).collect();
        assert_eq!(told, keys);
        assert_eq!(told.len(), SETTINGS.len(), "no key is told twice");
    }

    #[test]
    fn words_are_those_that_are_accepted() {
        for setting in SETTINGS {
            // The one word among the settings of a method that is not the default.
            let method = if setting.key == "partition.order" { "fennel" } else { "metis" };
            let pairs = [format!("{}=ghost", setting.key), format!("partition.method={method}")];
            let refused =
                Config::new("", if setting.key == "partition.method" { &pairs[..1] } else { &pairs });
            let needed = match refused {
                Err(ConfigError::Value { problem, .. }) => problem,
                _ => String::new(),
            };
            let words = needed.strip_prefix("`ghost` is none of ").map(|list| list.split(';').next());
            let told = match setting.values {
                SettingValues::Words(words) => words.iter().map(|(word, _)| *word).collect(),
                SettingValues::Range(_) => Vec::new(),
            };
            let accepted = words.flatten().map_or(Vec::new(), |list| list.split(", ").collect());
            assert_eq!(told, accepted, "{}: {needed}", setting.key);
        }
    }

    #[test]
    fn a_setting_has_a_default_or_tells_what_happens_without() {
        let defaults = Config::default_values();
        for setting in SETTINGS {
            assert_ne!(defaults.contains_key(setting.key), setting.unset.is_some(), "{}", setting.key);
            assert!(setting.meaning.ends_with('.') && !setting.meaning.contains('\n'), "{}", setting.key);
        }
        assert_eq!(defaults["partition.method"], "auto");
        assert_eq!(defaults["embed.dim"], 128);
    }

    #[test]
    fn values_outside_their_range_are_refused() {
        let accepts = |key: &str, value: &str| {
            let mut pairs = vec![format!("{key}={value}")];
            if key.starts_with("patch.max") {
                pairs.push("patch.min_overlap=200".into());
            }
            Config::new("", &pairs).is_ok_and(|config| {
                config.embed.check().is_ok()
                    && config.evaluate.check().is_ok()
                    && config.align.check().is_ok()
                    && config.patch.check(config.embed.dim).is_ok()
                    && config.partition.num_clusters(1 << 40, 1).is_ok()
            })
        };
        let outside = |range: &str| match range {
            "at least 0, below 1" => &["-0.1", "1", "nan"][..],
            "above 0, below 1" => &["0", "1", "nan"],
            "above 0, below 0.1" => &["0", "0.1"],
            "above 0, at most 1000" => &["0", "1001", "inf"],
            "0 to 8" => &["-1", "9"],
            "true or false" => &["1", "maybe"],
            "a number from 0, or inf" => &["-0.1", "nan"],
            "a whole number from 0" => &["-1", "0.5"],
            "from embed.dim + 1" => &["128"],
            "from patch.min_overlap" => &["199"],
            _ => &[],
        };
        for setting in SETTINGS {
            let SettingValues::Range(range) = setting.values else { continue };
            for value in outside(range) {
                assert!(!accepts(setting.key, value), "{} = {value}, but needs {range}", setting.key);
            }
        }
        for key in ["embed.epochs", "embed.runs", "embed.window", "embed.basis", "evaluate.samples"] {
            assert!(!accepts(key, "0") && accepts(key, "1"), "{key}");
        }
    }

    #[test]
    fn misspelt_keys_name_the_nearest() {
        let error = |key: &str| Config::described(key).unwrap_err().to_string();
        assert_eq!(error("embed.dmi"), "there is no setting `embed.dmi`; did you mean `embed.dim`?");
        assert_eq!(error("epcohs"), "there is no setting `epcohs`; did you mean `embed.epochs`?");
        assert_eq!(error("alling"), "there is no setting `alling`; did you mean `align`?");
        assert_eq!(error("zzzzzzzzzzzz"), "there is no setting `zzzzzzzzzzzz`");
    }
}
