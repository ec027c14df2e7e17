//! A run folder as a page for a browser, and its map as a picture.

use std::path::PathBuf;

use local2global::graph::store;
use local2global::layout::LayoutMethod;
use local2global::run_dir::{FileError, RunDir, write_array, write_json};
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::Raise;
use crate::graph::Graph;
use crate::work::Work;

/// A run folder as a page (`form` is "page"), or its map as SVG ("picture").
#[pyfunction]
#[pyo3(signature = (folder, form, layout, threads=None, progress=None))]
pub(crate) fn report(
    py: Python<'_>,
    folder: PathBuf,
    form: &str,
    layout: &str,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let make = if form == "picture" { l2g_report::map } else { l2g_report::report };
    let method = [LayoutMethod::Auto, LayoutMethod::Pca, LayoutMethod::Umap]
        .into_iter()
        .find(|method| method.name() == layout)
        .ok_or_else(|| {
            PyValueError::new_err(format!("layout is '{layout}'; it must be 'auto', 'pca' or 'umap'"))
        })?;
    let run = RunDir::new(folder);
    Work::new(threads, progress).run(py, |progress| make(&run, method, progress))
}

/// Writes what a model holds where a report looks for it: the graph, the embedding, and, as JSON, what the
/// stages found.
#[pyfunction]
pub(crate) fn write_result(
    py: Python<'_>,
    folder: PathBuf,
    graph: &Graph,
    embedding: PyReadonlyArray2<'_, f32>,
    diagnostics: &str,
    patches: &str,
) -> PyResult<()> {
    let run = RunDir::new(folder);
    let parsed = |text: &str| -> PyResult<serde_json::Value> {
        serde_json::from_str(text).map_err(|error| PyValueError::new_err(error.to_string()))
    };
    let (diagnostics, patches) = (parsed(diagnostics)?, parsed(patches)?);
    let (shape, values) = (embedding.shape().to_vec(), embedding.as_slice()?.to_vec());
    let write = || -> Result<(), FileError> {
        store::write_loaded(&run.graph(), &graph.loaded)?;
        write_array(&run.alignment().embedding(), &shape, &values)?;
        write_json(&run.alignment().report(), &diagnostics)?;
        write_json(&run.patches().report(), &patches)
    };
    py.detach(write).map_err(Raise::raise)
}
