//! Stage 6: how good is it.

use local2global::evaluate::{ByScenario, Coordinates, Scenario};
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::graph::Graph;
use crate::json::to_python;
use crate::settings::Settings;
use crate::work::Work;

/// Scores embeddings of a graph, given with the names of their scenarios.
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
    let named = embeddings.iter().map(|(name, array)| Ok((scenario(name)?, coordinates(array)?)));
    let embeddings: ByScenario<Coordinates<'_>> = named.collect::<PyResult<_>>()?;
    let (graph, config) = (graph.graph(), &settings.config);
    let scores = Work::new(threads, progress).run(py, |progress| {
        local2global::evaluate::evaluate(graph, &embeddings, &config.evaluate, config.seed, progress)
    })?;
    to_python(py, &scores)
}

fn scenario(name: &str) -> PyResult<Scenario> {
    match name {
        "full" => Ok(Scenario::Full),
        "l2g" => Ok(Scenario::L2g),
        "no_trans" => Ok(Scenario::NoTrans),
        other => Err(PyValueError::new_err(format!("there is no scenario `{other}`"))),
    }
}

fn coordinates<'a>(array: &'a PyReadonlyArray2<'_, f32>) -> PyResult<Coordinates<'a>> {
    match array.shape()[1] {
        0 => Err(PyValueError::new_err("an embedding has no columns")),
        dim => Ok(Coordinates::new(array.as_slice()?, dim)),
    }
}
