//! Stage 3: clusters -> overlapping patches.

use local2global::partition::Partition;
use local2global::patch::PatchReport;
use numpy::{PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use crate::arrays::{matrix, nodes_to_python};
use crate::graph::Graph;
use crate::json::to_python;
use crate::settings::Settings;
use crate::work::Work;

/// Overlapping patches, and which of them may be aligned with each other.
#[pyclass(frozen, module = "local2global._native")]
pub(crate) struct Patches {
    patches: local2global::patch::Patches,
    report: PatchReport,
}

#[pymethods]
impl Patches {
    fn __len__(&self) -> usize {
        self.patches.num_patches()
    }

    /// The nodes of a patch, ascending: rows of the graph.
    fn nodes<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyArray1<i64>>> {
        Ok(nodes_to_python(py, &self.patch(index)?.nodes))
    }

    /// For each node of a patch the share of its edges that lie inside the patch.
    fn weights<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyArray1<f32>>> {
        Ok(PyArray1::from_slice(py, &self.patch(index)?.weights))
    }

    /// The pairs of patches that are joined, one a row.
    #[getter]
    fn edges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let pairs = self.patches.graph().edges().iter().flatten().map(|patch| i64::from(patch.0));
        matrix(py, pairs.collect(), 2)
    }

    /// The nodes that every patch holds because they are landmarks, ascending: rows of the graph.
    #[getter]
    fn landmarks<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        nodes_to_python(py, self.patches.landmarks())
    }

    /// What the patches are like.
    #[getter]
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.report)
    }
}

impl Patches {
    /// Patches with what is known about them.
    pub(crate) fn new(patches: local2global::patch::Patches, report: PatchReport) -> Self {
        Self { patches, report }
    }

    fn patch(&self, index: usize) -> PyResult<&local2global::patch::Patch> {
        let missing = || PyIndexError::new_err(format!("there is no patch {index}"));
        self.patches.patches().get(index).ok_or_else(missing)
    }
}

/// Grows clusters into overlapping patches.
#[pyfunction]
#[pyo3(signature = (graph, clusters, settings, threads=None, progress=None))]
pub(crate) fn make_patches(
    py: Python<'_>,
    graph: &Graph,
    clusters: PyReadonlyArray1<'_, u32>,
    settings: &Settings,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Patches> {
    let (graph, config) = (graph.graph(), &settings.config);
    let clusters = Partition::from_labels(clusters.as_slice()?.to_vec());
    let (patches, report) = Work::new(threads, progress).run(py, |progress| {
        let (dim, seed) = (config.embed.dim, config.seed);
        local2global::patch::make_patches(graph, &clusters, &config.patch, dim, seed, progress)
    })?;
    Ok(Patches { patches, report })
}
