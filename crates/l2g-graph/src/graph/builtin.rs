//! Graphs known by name.
//!
//! Cora is part of the program, so that the first run needs no download; where it
//! comes from is told in `data/README.md`. Other well-known sets are looked for as
//! `NAME.npz` in the folders the user names.

use std::path::{Path, PathBuf};

use super::external::Workspace;
use super::input::files_of;
use super::io::{Problem, ReadError};
use super::load::{GraphConfig, Loaded, load_built_in, load_files};
use crate::progress::Progress;

/// The Cora citation graph: 2708 papers, 5429 links, 1433 words, 7 subjects.
static CORA: &[u8] = include_bytes!("../../data/cora.npz");

/// The names that are understood; Cora is built in.
pub const NAMES: [&str; 4] = ["cora", "amazon-photo", "citeseer", "pubmed"];

/// Reads the graph that a user names: a built-in set, a set in one of the `folders`,
/// or a file.
///
/// # Errors
/// [`ReadError`] with file, place and reason; for a known name without its file, which
/// file is wanted and where.
///
/// # Examples
/// ```
/// use l2g_graph::graph::{builtin, load::GraphConfig};
/// use l2g_graph::progress::Silent;
///
/// let cora = builtin::open("cora", &[], &GraphConfig::default(), &Silent)?;
/// assert_eq!(cora.graph.num_nodes(), 2485);
/// # Ok::<(), l2g_graph::graph::io::ReadError>(())
/// ```
pub fn open(
    name: &str,
    folders: &[PathBuf],
    config: &GraphConfig,
    progress: &dyn Progress,
) -> Result<Loaded, ReadError> {
    open_within(&[name.to_owned()], folders, config, &Workspace::default(), progress)
}

/// As [`open`], where several names are files, folders or patterns that are read one after the other,
/// and within the memory of a workspace; see [`load_files`].
///
/// # Errors
/// As [`open`].
pub fn open_within(
    names: &[String],
    folders: &[PathBuf],
    config: &GraphConfig,
    workspace: &Workspace,
    progress: &dyn Progress,
) -> Result<Loaded, ReadError> {
    match locate(names, folders)? {
        GraphLocation::BuiltIn(bytes) => load_built_in("built-in cora", bytes, config, progress),
        GraphLocation::Files(files) => load_files(&files, config, workspace, progress),
    }
}

/// Where a graph comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GraphLocation {
    /// It is part of the program.
    BuiltIn(&'static [u8]),
    /// One file or more, in the order in which they are read; one that is named may not exist.
    Files(Vec<PathBuf>),
}

/// The data set that names mean, if they are that of one. A file of that name comes before the data
/// set; a folder does not: one that is called `cora` hides nothing, and is read as `cora/`.
pub fn data_set(names: &[String]) -> Option<&str> {
    match names {
        [name] if NAMES.contains(&&name[..]) && !is_a_file(Path::new(name)) => Some(name),
        _ => None,
    }
}

fn is_a_file(path: &Path) -> bool {
    path.exists() && !path.is_dir()
}

/// Finds the graph that a user names, without reading it.
///
/// # Errors
/// [`ReadError`] for a known name without its file: which file is wanted and where; for a folder or a
/// pattern that stands for no file.
pub fn locate(names: &[String], folders: &[PathBuf]) -> Result<GraphLocation, ReadError> {
    let Some(name) = data_set(names) else { return Ok(GraphLocation::Files(files_of(names)?)) };
    if name == "cora" {
        return Ok(GraphLocation::BuiltIn(CORA));
    }
    let spellings = [format!("{name}.npz"), format!("{}.npz", name.replace('-', "_"))];
    let candidates = folders.iter().flat_map(|folder| spellings.iter().map(move |file| folder.join(file)));
    match candidates.into_iter().find(|file| file.is_file()) {
        Some(file) => Ok(GraphLocation::Files(vec![file])),
        None => {
            let places = folders.iter().map(|folder| folder.display().to_string()).collect();
            let [file, _] = spellings;
            Err(Problem::UnknownName { name: name.to_owned(), file, places }.in_file(Path::new(name)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::io::{Format, Weights};
    use crate::graph::load::Component;
    use crate::progress::Silent;

    #[test]
    fn cora_has_its_known_counts() {
        let all = GraphConfig { component: Component::All, ..Default::default() };
        let whole = open("cora", &[], &all, &Silent).unwrap().summary;
        assert_eq!((whole.nodes, whole.features, whole.classes), (2708, 1433, 7));
        // 5429 citations, of which 151 name a pair of papers again, the other way round.
        assert_eq!(whole.edges + whole.dropped.listed.duplicates, 5429);
        let kept = open("cora", &[], &GraphConfig::default(), &Silent).unwrap().summary;
        assert_eq!((kept.nodes, kept.directed_edges, kept.features), (2485, 10138, 1433));
        assert_eq!((kept.components, kept.dropped.nodes), (78, 2708 - 2485));
    }

    #[test]
    fn what_is_said_about_a_file_is_refused_for_a_graph_without_one() {
        let refused = |config: GraphConfig| open("cora", &[], &config, &Silent).unwrap_err().to_string();
        let expected =
            |what: &str| format!("built-in cora: {what} cannot be chosen in a graph that is built in");
        let plain = GraphConfig::default;
        let columns = "a,b".parse().ok();
        assert_eq!(refused(GraphConfig { columns, ..plain() }), expected("columns"));
        let delimiter = "tab".parse().ok();
        assert_eq!(refused(GraphConfig { delimiter, ..plain() }), expected("a delimiter"));
        assert_eq!(refused(GraphConfig { weights: Weights::None, ..plain() }), expected("weights"));
        let weights = Weights::Column("3".into());
        assert_eq!(refused(GraphConfig { weights, ..plain() }), expected("weights"));
        assert_eq!(refused(GraphConfig { format: Some(Format::Csv), ..plain() }), expected("a format"));
    }

    #[test]
    fn a_known_name_without_its_file_says_what_is_wanted() {
        let error = open("pubmed", &["here".into()], &GraphConfig::default(), &Silent).unwrap_err();
        assert_eq!(
            error.to_string(),
            "pubmed: `pubmed` is not built in; needed the file pubmed.npz in one of: here"
        );
    }
}
