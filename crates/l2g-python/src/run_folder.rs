//! The run folder: Python asks here for its files, and knows none of their names.

use std::path::PathBuf;

use local2global::align::diagnostics::Diagnostics;
use local2global::npy;
use local2global::partition::PartitionReport;
use local2global::patch::{PatchError, read_patches, read_report};
use local2global::run_dir::{self, EmbeddingFolder, RunDir, read_json, write_array, write_json};
use numpy::{PyArray2, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::matrix;
use crate::errors::{Raise, caught, class};
use crate::graph::Graph;
use crate::json::to_python;
use crate::patch::Patches;

/// A run folder, whether it exists or not.
#[pyclass(frozen, module = "local2global._native")]
pub(crate) struct RunFolder {
    run: RunDir,
}

#[pymethods]
impl RunFolder {
    #[new]
    fn new(folder: PathBuf) -> Self {
        Self { run: RunDir::new(folder) }
    }

    /// The graph; its arrays are mapped, not read.
    fn graph(&self) -> PyResult<Graph> {
        Graph::stored(&self.run)
    }

    /// What `partition` found.
    fn partition_report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let report: PartitionReport = read_json(&self.run.partition().report()).map_err(Raise::raise)?;
        to_python(py, &report)
    }

    /// The patches, and what `patch` found.
    fn patches(&self, py: Python<'_>) -> PyResult<Patches> {
        let read = || -> Result<_, PatchError> { Ok((read_patches(&self.run)?, read_report(&self.run)?)) };
        let (patches, report) = py.detach(|| caught(|| read().map_err(Raise::raise)))?;
        Ok(Patches::new(patches, report))
    }

    /// What `patch` found.
    fn patch_report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &read_report(&self.run).map_err(Raise::raise)?)
    }

    /// How well the patches fit.
    fn diagnostics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let found: Diagnostics = read_json(&self.run.alignment().report()).map_err(Raise::raise)?;
        to_python(py, &found)
    }

    /// The stitched embedding.
    fn embedding<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        read_matrix(py, self.run.alignment().embedding())
    }

    /// The folder for the coordinates that an embedder in Python makes.
    #[getter]
    fn given_coordinates(&self) -> PathBuf {
        self.run.given_coordinates().into()
    }

    /// The file for clusters that the caller gives, by their digest.
    fn given_clusters(&self, digest: &str) -> PathBuf {
        self.run.given_clusters(digest)
    }
}

/// The name of a patch in a run folder.
#[pyfunction]
pub(crate) fn patch_name(index: usize) -> String {
    run_dir::patch_name(index)
}

/// Writes the coordinates of a patch, and a record of them, given as JSON.
#[pyfunction]
pub(crate) fn write_coordinates(
    folder: PathBuf,
    name: &str,
    rows: PyReadonlyArray2<'_, f32>,
    record: &str,
) -> PyResult<()> {
    let folder = EmbeddingFolder::at(folder);
    let record: serde_json::Value =
        serde_json::from_str(record).map_err(|error| PyValueError::new_err(error.to_string()))?;
    write_array(&folder.coordinates(name), rows.shape(), rows.as_slice()?).map_err(Raise::raise)?;
    write_json(&folder.record(name), &record).map_err(Raise::raise)
}

/// The coordinates of a patch.
#[pyfunction]
pub(crate) fn read_coordinates<'py>(
    py: Python<'py>,
    folder: PathBuf,
    name: &str,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    read_matrix(py, EmbeddingFolder::at(folder).coordinates(name))
}

/// The record of a patch; None if there is none that can be read.
#[pyfunction]
pub(crate) fn read_record<'py>(
    py: Python<'py>,
    folder: PathBuf,
    name: &str,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let record: Option<serde_json::Value> = read_json(&EmbeddingFolder::at(folder).record(name)).ok();
    record.map(|record| to_python(py, &record)).transpose()
}

fn read_matrix(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyArray2<f32>>> {
    let read = || {
        let array = npy::read::<f32>(&path)?;
        let (_, columns) = array.rows_and_columns()?;
        Ok((array.values.to_vec(), columns))
    };
    let (values, columns) = py.detach(read).map_err(|error: npy::NpyError| {
        class::FileError::new_err(format!("could not read `{}`: {error}", path.display()))
    })?;
    matrix(py, values, columns)
}
