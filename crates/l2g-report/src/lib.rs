//! A run folder as one self-contained HTML page.
//!
//! ```text
//! run folder --story.rs--> records --sections.rs, patches.rs, curves.rs--> tables and charts (SVG)
//!            --nodes.rs--> points and columns of all nodes --pack.rs--> bytes in the page --map.js--> WebGL
//! ```
//!
//! The page needs nothing but a browser: no network, no server, no other file. Its policy (CSP) allows the one
//! script and the one style sheet that it brings, by their SHA-256, and nothing else. Text of the user, such as
//! node ids, is escaped where it is in the page, and set as text where the script shows it.
//!
//! Charts are SVG that is drawn here, so that they are there without a script, on paper and for screen readers.
//! The map is drawn by the page itself, with WebGL and without a library: `regl`, which the known WebGL
//! scatter plots stand on, makes its code with `Function`, which a policy without `unsafe-eval` forbids. Where
//! WebGL is missing, a static picture of some thousand nodes takes its place.
//!
//! Cost: that of the [layout](local2global::layout), and `O(n)`; up to a million nodes have a place in the
//! page, of more a sample that is stratified by patch.

mod base64;

mod charts;

mod curves;

mod error;

mod experiment;

mod html;

mod nodes;

mod pack;

mod page;

mod patches;

mod picture;

mod sections;

mod story;

pub use error::ReportError;
pub use experiment::is_experiment;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use local2global::layout::LayoutMethod;
use local2global::progress::Progress;
use local2global::run_dir::{ExperimentFolder, FileError, RunDir, write_atomically};
use serde::Serialize;

use nodes::Nodes;
use story::Story;

/// A page that was written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reported {
    /// The file.
    pub file: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Nodes of the graph.
    pub nodes: usize,
    /// Nodes on the map.
    pub shown: usize,
    /// How they were put into the plane.
    pub layout: &'static str,
}

/// Writes the report of a run folder.
///
/// # Errors
/// [`ReportError`] if there is no embedding, files do not belong together, or writing fails.
pub fn write_report(
    run: &RunDir,
    method: LayoutMethod,
    out: &Path,
    progress: &dyn Progress,
) -> Result<Reported, ReportError> {
    let (nodes, page) = make(run, method, progress)?;
    let bytes = write_page(&page, out)?;
    let (count, shown) = (nodes.num_nodes, nodes.shown.len());
    Ok(Reported { file: out.to_owned(), bytes, nodes: count, shown, layout: nodes.method.name() })
}

/// The report of a run folder as text.
///
/// # Errors
/// As [`write_report`].
pub fn report(run: &RunDir, method: LayoutMethod, progress: &dyn Progress) -> Result<String, ReportError> {
    Ok(make(run, method, progress)?.1)
}

/// A picture of the map as SVG, of some thousand nodes.
///
/// # Errors
/// As [`write_report`].
pub fn map(run: &RunDir, method: LayoutMethod, progress: &dyn Progress) -> Result<String, ReportError> {
    let nodes = Nodes::read(run, method, nodes::Wanted::Stitched, progress)?;
    Ok(picture::map(&nodes, picture::Colours::Own))
}

/// Writes the report of the folder of an experiment: its tables and its figure.
///
/// # Errors
/// [`ReportError::File`] if a file cannot be read or written.
pub fn write_experiment(folder: &ExperimentFolder, out: &Path) -> Result<u64, ReportError> {
    write_page(&experiment::page(folder)?, out)
}

fn make(run: &RunDir, method: LayoutMethod, progress: &dyn Progress) -> Result<(Nodes, String), ReportError> {
    let story = Story::read(run)?;
    let nodes = Nodes::read(run, method, nodes::Wanted::All, progress)?;
    let page = page::of_run(&story, &nodes);
    Ok((nodes, page))
}

fn write_page(page: &str, out: &Path) -> Result<u64, ReportError> {
    write_atomically(out, |sink| sink.write_all(page.as_bytes()))?;
    Ok(fs::metadata(out).map_err(FileError::at("read", out))?.len())
}
