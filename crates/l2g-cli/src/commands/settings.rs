//! `l2g settings [KEY]`: every setting, what it means and what it is.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use local2global::config::{Config, Setting, SettingValues};
use local2global::run_dir::RunDir;
use serde::Serialize;
use serde_json::Value;

use crate::context::{Context, UsageError};
use crate::output;

/// Lines are at most this long, where words allow it.
const WIDTH: usize = 100;

/// Tell what settings there are, what they mean, and what they are set to.
///
/// Without KEY all settings are told. What a setting is set to follows from `--config`, `--preset`
/// and `--set`; with `--run`, from the settings that a run was made with.
///
/// Settings are changed on the command line by `--set embed.epochs=50`, in a TOML file that
/// `--config` names by `epochs = 50` in the table `[embed]`, and in Python by
/// `settings={"embed.epochs": 50}`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  l2g settings\n  l2g settings embed\n  l2g settings embed.dim --run \
    runs/cora\n  l2g settings align --preset paper --json")]
pub(crate) struct SettingsArgs {
    /// A setting such as embed.dim, or a table: graph, partition, patch, embed, align, evaluate or
    /// experiment
    key: Option<String>,

    /// Tell the settings that this run was made with
    #[arg(long, value_name = "RUN")]
    run: Option<PathBuf>,

    /// Print all settings with their defaults as a Markdown page
    #[arg(long, conflicts_with_all = ["key", "run"])]
    markdown: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Record<'a> {
    settings: Vec<Told<'a>>,
}

/// A setting and what it is set to.
#[derive(Serialize)]
struct Told<'a> {
    key: &'a str,
    meaning: &'a str,
    /// The values it takes, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<&'a str>,
    /// The words it may be, with their meanings.
    #[serde(skip_serializing_if = "Option::is_none")]
    words: Option<Vec<Word<'a>>>,
    default: Option<&'a Value>,
    /// What happens if it is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    unset: Option<&'a str>,
    value: Option<&'a Value>,
}

#[derive(Serialize)]
struct Word<'a> {
    word: &'a str,
    meaning: &'a str,
}

pub(crate) fn execute(args: &SettingsArgs, context: &Context) -> anyhow::Result<()> {
    if args.markdown {
        return output::print(&markdown());
    }
    let config = match &args.run {
        Some(run) => context.config_of(&existing(run)?)?.0,
        None => context.config.clone(),
    };
    let settings = match &args.key {
        Some(key) => Config::described(key)?,
        None => Config::catalogue().iter().collect(),
    };
    let (values, defaults) = (config.values(), Config::default_values());
    let told = settings.into_iter().map(|setting| Told::of(setting, &values, &defaults));
    let record = Record { settings: told.collect() };
    let page: Vec<String> = record.settings.iter().map(Told::page).collect();
    context.output.show_page(&record, &page.join("\n"))
}

/// A run folder with settings of its own.
fn existing(run: &std::path::Path) -> Result<RunDir, UsageError> {
    let folder = RunDir::new(run);
    match folder.settings().exists() {
        true => Ok(folder),
        false => Err(UsageError(format!("`{}` is no run folder: it has no run.toml", run.display()))),
    }
}

impl<'a> Told<'a> {
    fn of(
        setting: &'a Setting,
        values: &'a BTreeMap<String, Value>,
        defaults: &'a BTreeMap<String, Value>,
    ) -> Self {
        let (range, words) = match setting.values {
            SettingValues::Range(range) => (Some(range), None),
            SettingValues::Words(words) => {
                (None, Some(words.iter().map(|&(word, meaning)| Word { word, meaning }).collect()))
            }
        };
        let Setting { key, meaning, unset, .. } = *setting;
        // A method's own settings are at their defaults while another method is set.
        let (value, default) = (values.get(key), defaults.get(key));
        Self { key, meaning, range, words, default, unset, value: value.or(default) }
    }

    /// The setting for people: what it is, what it means, what it may be.
    fn page(&self) -> String {
        let mut page = match (self.value, self.default) {
            (None, _) => format!("{}: not set ({})\n", self.key, self.unset.unwrap_or_default()),
            (Some(value), Some(default)) if value != default => {
                format!("{} = {value}  (default: {default})\n", self.key)
            }
            (Some(value), _) => format!("{} = {value}\n", self.key),
        };
        page += &wrapped(self.meaning, 4);
        match (self.range, &self.words) {
            (_, Some(words)) => {
                let width = words.iter().map(|word| word.word.len()).max().unwrap_or(0);
                let line = |Word { word, meaning }: &Word<'_>| format!("      {word:width$}  {meaning}\n");
                page.extend(words.iter().map(line));
            }
            (Some(range), None) => page += &format!("      {range}\n"),
            (None, None) => {}
        }
        page
    }
}

/// Text in lines of at most [`WIDTH`] characters, each indented.
fn wrapped(text: &str, indent: usize) -> String {
    let mut lines = vec![" ".repeat(indent)];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is a line from the start");
        match line.len() + 1 + word.len() > WIDTH {
            true => lines.push(" ".repeat(indent) + word),
            false if line.trim().is_empty() => line.push_str(word),
            false => line.extend([" ", word]),
        }
    }
    lines.iter().map(|line| line.clone() + "\n").collect()
}

/// What the settings of a table are about.
fn about(table: &str) -> &'static str {
    match table {
        "graph" => "What is read, and what is kept of it.",
        "partition" => "How the graph is split into clusters.",
        "patch" => "How clusters grow into overlapping patches.",
        "embed" => "How every patch is embedded.",
        "align" => "How patches are stitched together.",
        "evaluate" => "What the embedding is scored on.",
        _ => "What `l2g experiment` compares; other commands leave it alone.",
    }
}

/// All settings with their defaults: the page `docs/settings.md`.
fn markdown() -> String {
    let defaults = Config::default_values();
    let mut page = "# Settings\n\n\
        Every setting of a run. This page is made by `l2g settings --markdown`; `l2g settings KEY` tells \
        one of them,\nand with `--run RUN` what a run was made with.\n\n\
        A setting is changed on the command line by `--set embed.epochs=50`, in a TOML file that \
        `--config` names by\n`epochs = 50` in the table `[embed]`, and in Python by \
        `settings={\"embed.epochs\": 50}`. Where there is no default, the\npage says in brackets what \
        happens if the setting is left out.\n"
        .to_owned();
    let mut table = "";
    for setting in Config::catalogue() {
        let own = setting.table().unwrap_or("");
        if own != table || setting.table().is_none() {
            table = own;
            let heading =
                if own.is_empty() { String::new() } else { format!("## {own}\n\n{}\n\n", about(own)) };
            page +=
                &format!("\n{heading}| setting | default | values | meaning |\n| --- | --- | --- | --- |\n");
        }
        page += &row(setting, defaults.get(setting.key));
    }
    page
}

/// One line of a Markdown table.
fn row(setting: &Setting, default: Option<&Value>) -> String {
    let default = match default {
        Some(value) => format!("`{value}`"),
        None => format!("({})", setting.unset.unwrap_or_default()),
    };
    let (values, meanings) = match setting.values {
        SettingValues::Range(range) => (range.to_owned(), String::new()),
        SettingValues::Words(words) => {
            let names: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
            let told: Vec<String> = words.iter().map(|(word, told)| format!("`{word}`: {told}")).collect();
            (names.join(", "), format!("<br>{}", told.join("<br>")))
        }
    };
    format!("| `{}` | {default} | {values} | {}{meanings} |\n", setting.key, setting.meaning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_in_docs_is_what_is_printed() {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.md");
        let page = std::fs::read_to_string(path).unwrap();
        assert!(page == markdown(), "make it anew: l2g settings --markdown > docs/settings.md");
    }

    #[test]
    fn a_setting_is_told_with_its_value_and_its_default() {
        let config = Config::new("", &["embed.dim=64".into(), "align.weights=robust".into()]).unwrap();
        let (values, defaults) = (config.values(), Config::default_values());
        let page = |key: &str| {
            let setting = Config::described(key).unwrap()[0];
            Told::of(setting, &values, &defaults).page()
        };
        assert!(page("embed.dim").starts_with("embed.dim = 64  (default: 128)\n    The number of"));
        assert!(page("embed.epochs").starts_with("embed.epochs: not set (20 for hops"));
        assert!(
            page("align.weights").contains("\n      unit     all the same\n"),
            "{}",
            page("align.weights")
        );
        assert!(page("partition.passes").starts_with("partition.passes = "));
        assert!(page("embed.command").lines().all(|line| line.chars().count() <= WIDTH));
    }
}
