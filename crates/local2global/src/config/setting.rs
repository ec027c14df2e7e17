//! What people are told about one setting.

/// A setting, as people are told about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The key, as in `embed.dim`.
    pub key: &'static str,
    /// What it does, in sentences.
    pub meaning: &'static str,
    /// What it may be.
    pub values: SettingValues,
    /// What happens if it is not set, for settings that have no default.
    pub unset: Option<&'static str>,
}

/// The values that a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingValues {
    /// A range in words, as in `1 to 65536`.
    Range(&'static str),
    /// One of these words, each with its meaning.
    Words(&'static [(&'static str, &'static str)]),
}

pub(super) const fn setting(key: &'static str, range: &'static str, meaning: &'static str) -> Setting {
    Setting { key, meaning, values: SettingValues::Range(range), unset: None }
}

pub(super) const fn choice(
    key: &'static str,
    words: &'static [(&'static str, &'static str)],
    meaning: &'static str,
) -> Setting {
    Setting { key, meaning, values: SettingValues::Words(words), unset: None }
}

impl Setting {
    /// The same setting without a default: if it is not set, this happens.
    pub(super) const fn or(self, unset: &'static str) -> Self {
        Self { unset: Some(unset), ..self }
    }

    /// The table that the setting is in; none for the seed.
    pub fn table(&self) -> Option<&'static str> {
        self.key.split_once('.').map(|(table, _)| table)
    }
}
