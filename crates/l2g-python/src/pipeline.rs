//! The stages joined, in a run folder.
//!
//! What `l2g run` does, up to the stitched embedding, with a graph that is there already, and
//! with room for an embedder that is written in Python: it is called when the patches are made,
//! and puts its coordinates where the settings of the embed stage look for them.

use std::path::PathBuf;

use local2global::pipeline::{GraphSource, Pipeline, StageName};
use local2global::run_dir::RunDir;
use pyo3::prelude::*;

use crate::graph::Graph;
use crate::json::to_python;
use crate::settings::Settings;
use crate::work::Work;

/// From the graph to the patches, and from the patches to the embedding.
const HALVES: [&[StageName]; 2] =
    [&[StageName::Graph, StageName::Partition, StageName::Patch], &[StageName::Embed, StageName::Align]];

/// Goes from the graph to the stitched embedding in a run folder, keeping what is there; what
/// became of each stage. `embed` is called between patch and embed, if it is given.
#[pyfunction]
#[pyo3(signature = (graph, settings, folder, embed=None, threads=None, progress=None))]
pub(crate) fn run<'py>(
    py: Python<'py>,
    graph: &Graph,
    settings: &Settings,
    folder: PathBuf,
    embed: Option<Bound<'py, PyAny>>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (run, work) = (RunDir::new(folder), Work::new(threads, progress));
    let mut pipeline = Pipeline::new(&run, settings.config.clone(), GraphSource::Memory(&graph.loaded));
    let [split, stitch] = HALVES;
    let mut reports = work.run(py, |progress| pipeline.run_stages(split, progress, |_| {}))?;
    if let Some(embed) = embed {
        embed.call0()?;
    }
    reports.extend(work.run(py, |progress| pipeline.run_stages(stitch, progress, |_| {}))?);
    to_python(py, &reports)
}
