//! Stage 4: patches -> local coordinates, one file each.

use std::path::PathBuf;

use local2global::graph::NodeId;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use crate::graph::Graph;
use crate::json::to_python;
use crate::settings::Settings;
use crate::work::Work;

/// Embeds patches, given by their nodes, into files `NAME.npy` of a folder; which were
/// embedded now, and which were there already.
#[pyfunction]
#[pyo3(signature = (graph, nodes, settings, folder, threads=None, progress=None))]
pub(crate) fn embed_patches<'py>(
    py: Python<'py>,
    graph: &Graph,
    nodes: Vec<PyReadonlyArray1<'py, u64>>,
    settings: &Settings,
    folder: PathBuf,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let lists = nodes.iter().map(|nodes| graph.check_nodes(nodes.as_slice()?));
    let patches: Vec<Vec<NodeId>> = lists.collect::<PyResult<_>>()?;
    let (graph, config) = (graph.graph(), &settings.config);
    let summary = Work::new(threads, progress).run(py, |progress| {
        let seed = config.seed;
        local2global::embed::embed_patches(graph, &patches, None, &config.embed, seed, &folder, progress)
    })?;
    to_python(py, &summary)
}
