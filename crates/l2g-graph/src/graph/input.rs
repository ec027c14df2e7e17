//! What a user calls the graph, and the files that this stands for.
//!
//! A name is a file, a folder (all files in it, in the order of their names), or a pattern such as
//! `edges/part-*.parquet`; several names are read one after the other, as if their files were one. In a
//! folder, files whose names begin with `.` or `_` are left out, as Spark and others mark what is no
//! data; folders such as `year=2024`, the parts of a partitioned table, are read with what is in them,
//! and any other folder is refused, since nobody can tell whether it belongs to the graph.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::io::{Problem, ReadError, is_standard_input};

/// The graph to read: a data set by name, or the names of files, folders and patterns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "OneOrMany", into = "OneOrMany")]
pub struct GraphInput(Vec<String>);

/// How settings have it: `input = "a"`, or `input = ["a", "b"]`.
#[derive(Clone, Serialize, Deserialize)]
#[serde(untagged, expecting = "needed a name, a path, or a list of paths")]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl TryFrom<OneOrMany> for GraphInput {
    type Error = &'static str;

    fn try_from(names: OneOrMany) -> Result<Self, Self::Error> {
        match names {
            OneOrMany::One(name) => Ok(Self(vec![name])),
            OneOrMany::Many(names) if names.is_empty() => Err("found an empty list, needed a name"),
            OneOrMany::Many(names) => Ok(Self(names)),
        }
    }
}

impl From<GraphInput> for OneOrMany {
    fn from(input: GraphInput) -> Self {
        match <[String; 1]>::try_from(input.0) {
            Ok([name]) => Self::One(name),
            Err(names) => Self::Many(names),
        }
    }
}

impl From<&str> for GraphInput {
    fn from(name: &str) -> Self {
        Self(vec![name.to_owned()])
    }
}

impl From<Vec<String>> for GraphInput {
    fn from(names: Vec<String>) -> Self {
        Self(names)
    }
}

impl GraphInput {
    /// The graph that is read if nothing is said: the built-in Cora.
    pub fn usual() -> Self {
        "cora".into()
    }

    /// All names.
    pub fn names(&self) -> &[String] {
        &self.0
    }
}

impl fmt::Display for GraphInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0[..] {
            [] => f.write_str("nothing"),
            [name] => f.write_str(name),
            [first, others @ ..] => write!(f, "{first} and {} more", others.len()),
        }
    }
}

/// The files that names stand for, in the order in which they are read.
///
/// # Errors
/// [`ReadError`] for a folder without files, a pattern that matches nothing, a file that is named
/// twice, and folders that cannot be read. A file that does not exist is left to whoever reads it.
pub(crate) fn files_of(names: &[String]) -> Result<Vec<PathBuf>, ReadError> {
    let mut files = Vec::new();
    for name in names {
        let path = Path::new(name);
        match name_kind(path) {
            NameKind::Folder => add_folder(path, &mut files)?,
            NameKind::Pattern => add_matches(name, &mut files)?,
            NameKind::File => files.push(path.to_owned()),
        }
    }
    let mut sorted: Vec<&PathBuf> = files.iter().collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Problem::NamedTwice.in_file(pair[0])),
        None => Ok(files),
    }
}

/// The same name, wherever the program is started; one that leads nowhere is left as people know it.
///
/// # Errors
/// If the folder that the program was started in is not known.
pub fn absolute(name: &str) -> io::Result<String> {
    let path = Path::new(name);
    match name_kind(path) {
        NameKind::Pattern if path.is_relative() => {
            let here = glob::Pattern::escape(&std::env::current_dir()?.display().to_string());
            Ok(Path::new(&here).join(path).display().to_string())
        }
        NameKind::Pattern => Ok(name.to_owned()),
        _ if path.exists() && !is_standard_input(path) => {
            Ok(std::path::absolute(path)?.display().to_string())
        }
        _ => Ok(name.to_owned()),
    }
}

/// The last part of a name that tells something: `edges` for `edges/part-*.parquet`.
pub fn stem_of(name: &str) -> Option<String> {
    let parts = Path::new(name).components().rev().filter_map(|part| match part {
        Component::Normal(part) => Some(part.to_string_lossy().into_owned()),
        _ => None,
    });
    let mut plain = parts.filter(|part| Path::new(name).exists() || !has_wildcards(part));
    let part = plain.next()?;
    part.split('.').next().filter(|stem| !stem.is_empty()).map(str::to_owned)
}

enum NameKind {
    File,
    Folder,
    Pattern,
}

fn name_kind(path: &Path) -> NameKind {
    match path.metadata() {
        Ok(data) if data.is_dir() => NameKind::Folder,
        Err(_) if path.to_str().is_some_and(has_wildcards) => NameKind::Pattern,
        _ => NameKind::File,
    }
}

fn has_wildcards(name: &str) -> bool {
    name.contains(['*', '?', '['])
}

/// Adds all files of a folder that hold data.
fn add_folder(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), ReadError> {
    let before = files.len();
    add_entries(folder, files)?;
    match files.len() > before {
        true => Ok(()),
        false => Err(Problem::EmptyFolder.in_file(folder)),
    }
}

fn add_entries(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), ReadError> {
    let failed = |error: io::Error| Problem::Io(error).in_file(folder);
    let entries: io::Result<Vec<OsString>> =
        fs::read_dir(folder).map_err(failed)?.map(|entry| Ok(entry?.file_name())).collect();
    let mut names = entries.map_err(failed)?;
    names.sort_unstable();
    for name in names.iter().filter(|name| !is_marker(name)) {
        let path = folder.join(name);
        match path.is_dir() {
            false => files.push(path),
            true if name.to_string_lossy().contains('=') => add_entries(&path, files)?,
            true => {
                let name = name.to_string_lossy().into_owned();
                return Err(Problem::StrayFolder { name }.in_file(folder));
            }
        }
    }
    Ok(())
}

/// Whether a file is no data: `_SUCCESS`, `.part-0.crc`.
fn is_marker(name: &OsStr) -> bool {
    matches!(name.as_encoded_bytes().first(), Some(b'.' | b'_'))
}

/// Adds all files and folders that match a pattern, in the order of their names.
fn add_matches(pattern: &str, files: &mut Vec<PathBuf>) -> Result<(), ReadError> {
    let at_pattern = |problem: Problem| problem.in_file(Path::new(pattern));
    let options = glob::MatchOptions { require_literal_leading_dot: true, ..Default::default() };
    let found = glob::glob_with(pattern, options).map_err(|error| at_pattern(Problem::Pattern(error.msg)))?;
    let before = files.len();
    for path in found {
        let path = path.map_err(|error| {
            let path = error.path().to_owned();
            Problem::Io(error.into()).in_file(&path)
        })?;
        match path.is_dir() {
            true => add_folder(&path, files)?,
            false if path.file_name().is_some_and(is_marker) => {}
            false => files.push(path),
        }
    }
    match files.len() > before {
        true => Ok(()),
        false => Err(at_pattern(Problem::NoMatch)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with some empty files.
    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        folder
    }

    fn found(folder: &Path, names: &[&str]) -> Result<Vec<String>, String> {
        let inside = |name: &&str| folder.join(name).display().to_string();
        let names: Vec<String> = names.iter().map(inside).collect();
        let short = |path: &PathBuf| path.strip_prefix(folder).unwrap().display().to_string();
        let folder = format!("{}/", folder.display());
        match files_of(&names) {
            Ok(files) => Ok(files.iter().map(short).collect()),
            Err(error) => Err(error.to_string().replace(&folder, "")),
        }
    }

    #[test]
    fn a_folder_is_its_files_in_the_order_of_their_names() {
        let files = ["e/b.csv", "e/a=2/y=1/c.csv", "e/a=10/d.csv", "e/_SUCCESS", "e/.b.csv.crc", "e/a.csv"];
        let folder = folder(&files);
        let expected = ["e/a.csv", "e/a=10/d.csv", "e/a=2/y=1/c.csv", "e/b.csv"];
        assert_eq!(found(folder.path(), &["e"]).unwrap(), expected);
    }

    #[test]
    fn a_pattern_is_what_it_matches_and_names_keep_their_order() {
        let folder = folder(&["p/part-2.csv", "p/part-10.csv", "p/other.csv", "p/.part-3.csv", "a.csv"]);
        let expected = ["p/part-10.csv", "p/part-2.csv", "a.csv"];
        assert_eq!(found(folder.path(), &["p/part-*.csv", "a.csv"]).unwrap(), expected);
        assert_eq!(found(folder.path(), &["missing.csv"]).unwrap(), ["missing.csv"]);
    }

    #[test]
    fn what_stands_for_no_file_is_told_in_a_sentence() {
        let folder = folder(&["e/_SUCCESS", "nested/deep/a.csv", "a.csv"]);
        let error = |names: &[&str]| found(folder.path(), names).unwrap_err();
        assert_eq!(error(&["e"]), "e: this folder holds no files that are read");
        assert_eq!(error(&["b-*.csv"]), "b-*.csv: no file matches this pattern");
        assert_eq!(error(&["a.csv", "a.csv"]), "a.csv: this file is named twice");
        assert_eq!(
            error(&["nested"]),
            "nested: this folder holds the folder `deep`, needed files, or folders such as `year=2024`"
        );
    }

    #[test]
    fn names_become_absolute_and_patterns_stay_patterns() {
        assert_eq!(absolute("nowhere.csv").unwrap(), "nowhere.csv");
        assert_eq!(absolute("-").unwrap(), "-");
        let pattern = absolute("e/*.csv").unwrap();
        assert!(Path::new(&pattern).is_absolute() && pattern.ends_with("e/*.csv"), "{pattern}");
        assert!(Path::new(&absolute("src").unwrap()).is_absolute());
    }

    #[test]
    fn one_name_and_several_go_through_settings() {
        let parsed = |text: &str| toml::from_str::<std::collections::BTreeMap<String, GraphInput>>(text);
        assert_eq!(parsed("input = 'a'").unwrap()["input"], "a".into());
        let several = parsed("input = ['a', 'b']").unwrap();
        assert_eq!(several["input"].names(), ["a", "b"]);
        assert_eq!(toml::to_string(&several).unwrap().trim(), r#"input = ["a", "b"]"#);
        assert!(parsed("input = 3").unwrap_err().to_string().contains("a list of paths"));
    }

    #[test]
    fn the_stem_of_a_pattern_is_its_folder() {
        assert_eq!(stem_of("x/edges.csv.gz").as_deref(), Some("edges"));
        assert_eq!(stem_of("x/edges/part-*.parquet").as_deref(), Some("edges"));
        assert_eq!(stem_of("x/edges/").as_deref(), Some("edges"));
        assert_eq!(stem_of("*.csv"), None);
    }
}
