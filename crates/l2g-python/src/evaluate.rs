//! Stage 6: how good is it.

use local2global::evaluate::reconstruction::{Score, reconstruction_auc as library_auc};
use local2global::seed::{Seed, Stage};
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::graph::Graph;
use crate::work::Work;

/// The probability that an edge scores higher than a non-edge; None without either.
#[pyfunction]
#[pyo3(signature = (graph, embedding, score="inner-product", seed=0, threads=None, progress=None))]
pub(crate) fn reconstruction_auc(
    py: Python<'_>,
    graph: &Graph,
    embedding: PyReadonlyArray2<'_, f32>,
    score: &str,
    seed: u64,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Option<f64>> {
    let score = match score {
        "inner-product" => Score::InnerProduct,
        "distance" => Score::Distance,
        other => {
            let message = format!("score is `{other}`; it must be `inner-product` or `distance`");
            return Err(PyValueError::new_err(message));
        }
    };
    let (rows, dim) = (embedding.shape()[0], embedding.shape()[1]);
    let (graph, nodes) = (&graph.graph, graph.graph.num_nodes());
    if rows != nodes {
        let message = format!("embedding has {rows} rows, but the graph has {nodes} nodes");
        return Err(PyValueError::new_err(message));
    }
    let values = embedding.as_slice()?;
    Work::new(threads, progress).run(py, |_| {
        let mut random = Seed(seed).stream(Stage::Evaluate, 0);
        Ok::<_, PyErr>(library_auc(graph, values, dim, score, &mut random))
    })
}
