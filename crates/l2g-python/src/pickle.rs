//! Graphs in pickles: by content, so that a pickle needs neither a file nor a run folder.
//!
//! The arrays go as NumPy arrays of their own. So whoever keeps large arrays out of pickles, as
//! joblib does with memory maps, keeps these out too, and a graph that comes back uses them where
//! they lie. Nothing is believed: a graph from a pickle is checked as any other.

use local2global::buffer::Buffer;
use local2global::graph::load::{GraphSummary, Loaded};
use local2global::graph::sample::Pair;
use local2global::graph::{Features, Graph, HeldOut, NodeIds, Targets};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::arrays::{lend, matrix};
use crate::errors::Raise;
use crate::parts::{self, FeatureArrays, Ids, LabelArrays};

/// All there is of a graph; what it does not have is left out.
pub(crate) fn state<'py>(py: Python<'py>, loaded: &Loaded) -> PyResult<Bound<'py, PyDict>> {
    let (graph, state) = (&loaded.graph, PyDict::new(py));
    let summary = serde_json::to_string(&loaded.summary);
    state.set_item("summary", summary.map_err(|error| PyValueError::new_err(error.to_string()))?)?;
    state.set_item("symmetric", graph.is_symmetric())?;
    state.set_item("offsets", PyArray1::from_slice(py, graph.offsets()))?;
    match graph.targets() {
        Targets::Narrow(targets) => state.set_item("targets", PyArray1::from_slice(py, targets))?,
        Targets::Wide(targets) => state.set_item("targets", PyArray1::from_slice(py, targets))?,
    }
    if let Some(weights) = graph.weights() {
        state.set_item("weights", PyArray1::from_slice(py, weights))?;
    }
    match graph.ids() {
        NodeIds::Range(_) => {}
        NodeIds::Integers(ids) => state.set_item("ids", PyArray1::from_slice(py, ids))?,
        NodeIds::Strings(names) => state.set_item("ids", PyList::new(py, names.iter())?)?,
    }
    match graph.features() {
        None => {}
        Some(Features::Dense(dense)) => {
            let width = graph.features().map_or(0, Features::width);
            state.set_item("features", matrix(py, dense.values().to_vec(), width)?)?;
        }
        Some(features @ Features::Sparse(sparse)) => {
            let offsets = PyArray1::from_slice(py, sparse.offsets());
            let columns = PyArray1::from_slice(py, sparse.columns());
            let values = PyArray1::from_slice(py, sparse.values());
            state.set_item("features", (offsets, columns, values, features.width()))?;
        }
    }
    if let Some(labels) = graph.labels() {
        let names = labels.class_names().to_vec();
        state.set_item("labels", (parts::classes_to_python(py, labels)?, names))?;
    }
    if let Some(held_out) = graph.held_out() {
        let ends = |pairs: &[Pair]| PyArray1::from_slice(py, bytemuck::cast_slice::<Pair, u64>(pairs));
        state.set_item("held_out", (ends(held_out.edges()), ends(held_out.non_edges())))?;
    }
    Ok(state)
}

/// The graph of such a state.
pub(crate) fn restore(state: &Bound<'_, PyDict>) -> PyResult<Loaded> {
    let summary: String = needed(state, "summary")?;
    let summary: GraphSummary =
        serde_json::from_str(&summary).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let offsets = numbers(&needed(state, "offsets")?)?;
    let targets: Bound<'_, PyAny> = needed(state, "targets")?;
    let targets = match targets.cast::<PyArray1<u32>>() {
        Ok(narrow) => Targets::Narrow(lend(narrow)?),
        Err(_) => Targets::Wide(numbers(&targets)?),
    };
    let graph = Graph::from_rows(offsets, targets, needed(state, "symmetric")?).map_err(Raise::raise)?;
    let graph = attached(graph, state)?;
    Ok(Loaded::new(graph, summary))
}

/// The graph with what belongs to its nodes and edges.
fn attached(mut graph: Graph, state: &Bound<'_, PyDict>) -> PyResult<Graph> {
    if let Some(ids) = state.get_item("ids")? {
        graph = graph.with_ids(parts::node_ids(ids.extract::<Ids<'_>>()?)?).map_err(Raise::raise)?;
    }
    if let Some(weights) = state.get_item("weights")? {
        graph = graph.with_weights(Some(lend(weights.cast::<PyArray1<f32>>()?)?)).map_err(Raise::raise)?;
    }
    if let Some(features) = state.get_item("features")? {
        let features = parts::features(features.extract::<FeatureArrays<'_>>()?)?;
        graph = graph.with_features(Some(features)).map_err(Raise::raise)?;
    }
    if let Some(labels) = state.get_item("labels")? {
        let labels = parts::labels(labels.extract::<LabelArrays<'_>>()?)?;
        graph = graph.with_labels(Some(labels)).map_err(Raise::raise)?;
    }
    if let Some(pairs) = state.get_item("held_out")? {
        let (edges, non_edges): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pairs.extract()?;
        let held_out = HeldOut::new(numbers(&edges)?, numbers(&non_edges)?).map_err(Raise::raise)?;
        graph = graph.with_held_out(Some(held_out));
    }
    Ok(graph)
}

fn numbers(array: &Bound<'_, PyAny>) -> PyResult<Buffer<u64>> {
    lend(array.cast::<PyArray1<u64>>()?)
}

fn needed<'py, T>(state: &Bound<'py, PyDict>, key: &str) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
{
    let item = state.get_item(key)?;
    let item = item.ok_or_else(|| PyValueError::new_err(format!("a pickled graph has no `{key}`")))?;
    item.extract().map_err(Into::into)
}
