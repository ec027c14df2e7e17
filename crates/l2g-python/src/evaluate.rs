//! Stage 6: how good is it.

use local2global::evaluate::link_prediction::auc_of_edges;
use local2global::evaluate::{ByContender, Contender, Coordinates};
use local2global::graph::NodeId;
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::graph::Graph;
use crate::json::to_python;
use crate::settings::Settings;
use crate::work::Work;

/// Scores embeddings of a graph, given with their keys in the scores.
#[pyfunction]
#[pyo3(signature = (graph, embeddings, settings, threads=None, progress=None))]
pub(crate) fn evaluate<'py>(
    py: Python<'py>,
    graph: &Graph,
    embeddings: Vec<(String, PyReadonlyArray2<'py, f32>)>,
    settings: &Settings,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let named = embeddings.iter().map(|(name, array)| Ok((contender(name)?, coordinates(array)?)));
    let embeddings: ByContender<Coordinates<'_>> = named.collect::<PyResult<_>>()?;
    let (graph, config) = (graph.graph(), &settings.config);
    let scores = Work::new(threads, progress).run(py, |progress| {
        local2global::evaluate::evaluate(graph, &embeddings, &config.evaluate, config.seed, progress)
    })?;
    to_python(py, &scores)
}

/// The AUC of an embedding on edges, given by the rows of their ends, against as many pairs that are
/// neither edges of the graph nor given.
#[pyfunction]
#[pyo3(signature = (graph, embedding, edges, settings, threads=None))]
pub(crate) fn link_auc(
    py: Python<'_>,
    graph: &Graph,
    embedding: PyReadonlyArray2<'_, f32>,
    edges: PyReadonlyArray2<'_, u64>,
    settings: &Settings,
    threads: Option<usize>,
) -> PyResult<f64> {
    let (coordinates, edges) = (coordinates(&embedding)?, edges.as_array());
    if edges.ncols() != 2 {
        return Err(PyValueError::new_err(format!(
            "edges have {} columns; they must have two",
            edges.ncols()
        )));
    }
    let pairs: Vec<_> = edges.rows().into_iter().map(|row| [NodeId(row[0]), NodeId(row[1])]).collect();
    let (graph, config) = (graph.graph(), &settings.config);
    Work::new(threads, None)
        .run(py, |_| auc_of_edges(graph, coordinates, &pairs, &config.evaluate, config.seed))
}

fn contender(name: &str) -> PyResult<Contender> {
    let found = Contender::EMBEDDINGS.into_iter().find(|contender| contender.to_string() == name);
    found.ok_or_else(|| PyValueError::new_err(format!("there is no embedding called `{name}`")))
}

/// The rows of an array, where they lie.
pub(crate) fn coordinates<'a>(array: &'a PyReadonlyArray2<'_, f32>) -> PyResult<Coordinates<'a>> {
    match array.shape()[1] {
        0 => Err(PyValueError::new_err("an embedding has no columns")),
        dim => Ok(Coordinates::new(array.as_slice()?, dim)),
    }
}
