//! Stage 1: a graph from a file, from arrays, from a table, or from a run folder.

use std::path::PathBuf;

use local2global::graph::arrays::{EdgeArrays, GraphArrays, load_arrays};
use local2global::graph::external::Workspace;
use local2global::graph::io::ReadError;
use local2global::graph::load::{GraphConfig, Loaded};
use local2global::graph::{Features, NodeId, NodeIds, Targets, builtin, store};
use local2global::progress::Progress;
use local2global::run_dir::RunDir;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::arrays::matrix;
use crate::errors::{Raise, caught};
use crate::json::to_python;
use crate::parts::{self, FeatureArrays, Ids, LabelArrays, classes_to_python};
use crate::pickle;
use crate::settings::Settings;
use crate::table::read_stream;
use crate::work::Work;

/// A graph, cleaned: what stays of the input by the settings.
#[pyclass(frozen, module = "local2global._native")]
pub(crate) struct Graph {
    pub(crate) loaded: Loaded,
}

#[pymethods]
impl Graph {
    /// The graph in some files, folders or patterns, or a data set by name, which is looked for in `folders`.
    #[staticmethod]
    #[pyo3(signature = (names, settings, folders, threads=None, progress=None))]
    fn open(
        py: Python<'_>,
        names: Vec<String>,
        settings: &Settings,
        folders: Vec<PathBuf>,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let work = Work::new(threads, progress);
        Self::make(py, settings, work, |config, progress| {
            builtin::open_within(&names, &folders, config, &Workspace::default(), progress)
        })
    }

    /// The graph of edges given by both their ends.
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "each is a keyword in Python")]
    #[pyo3(signature = (sources, targets, weights, num_nodes, ids, features, labels, settings, threads=None, progress=None))]
    fn from_edges(
        py: Python<'_>,
        sources: PyReadonlyArray1<'_, u64>,
        targets: PyReadonlyArray1<'_, u64>,
        weights: Option<PyReadonlyArray1<'_, f32>>,
        num_nodes: Option<usize>,
        ids: Option<Ids<'_>>,
        features: Option<FeatureArrays<'_>>,
        labels: Option<LabelArrays<'_>>,
        settings: &Settings,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let weights = weights.as_ref().map(|weights| weights.as_slice()).transpose()?.unwrap_or_default();
        let edges = EdgeArrays::Pairs { sources: sources.as_slice()?, targets: targets.as_slice()?, weights };
        let parts = GraphArrays {
            edges,
            num_nodes,
            ids: ids.map(parts::node_ids).transpose()?,
            features: features.map(parts::features).transpose()?,
            labels: labels.map(parts::labels).transpose()?,
        };
        let work = Work::new(threads, progress);
        Self::make(py, settings, work, |config, progress| load_arrays(parts, config, progress))
    }

    /// The graph of a table that speaks Arrow, with the columns `src`, `dst`[, `weight`].
    #[staticmethod]
    #[pyo3(signature = (table, features, labels, settings, threads=None, progress=None))]
    fn from_table(
        py: Python<'_>,
        table: &Bound<'_, PyAny>,
        features: Option<FeatureArrays<'_>>,
        labels: Option<LabelArrays<'_>>,
        settings: &Settings,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let parts = GraphArrays {
            edges: EdgeArrays::Table(Box::new(read_stream(table)?)),
            num_nodes: None,
            ids: None,
            features: features.map(parts::features).transpose()?,
            labels: labels.map(parts::labels).transpose()?,
        };
        let work = Work::new(threads, progress);
        Self::make(py, settings, work, |config, progress| load_arrays(parts, config, progress))
    }

    /// The number of nodes.
    #[getter]
    fn num_nodes(&self) -> usize {
        self.graph().num_nodes()
    }

    /// The number of edges; an undirected one counts once.
    #[getter]
    fn num_edges(&self) -> usize {
        self.graph().num_edges()
    }

    /// Whether edges go both ways.
    #[getter]
    fn is_symmetric(&self) -> bool {
        self.graph().is_symmetric()
    }

    /// Where the row of each node begins in `indices`.
    #[getter]
    fn indptr<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_slice(py, bytemuck::cast_slice::<u64, i64>(self.graph().offsets()))
    }

    /// The neighbours of all nodes, one row after the other.
    #[getter]
    fn indices<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        match self.graph().targets() {
            Targets::Narrow(targets) => PyArray1::from_iter(py, targets.iter().map(|&node| i64::from(node))),
            Targets::Wide(targets) => PyArray1::from_slice(py, bytemuck::cast_slice::<u64, i64>(targets)),
        }
    }

    /// The weight of each entry of `indices`; None if all are 1.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f32>>> {
        self.graph().weights().map(|weights| PyArray1::from_slice(py, weights))
    }

    /// What the nodes are called: an array of integers, or a list of strings.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self.graph().ids() {
            NodeIds::Range(len) => PyArray1::from_iter(py, 0..*len as u64).into_any(),
            NodeIds::Integers(ids) => PyArray1::from_slice(py, ids).into_any(),
            NodeIds::Strings(names) => PyList::new(py, names.iter())?.into_any(),
        })
    }

    /// The features: a matrix, the parts of a sparse one, or None.
    #[getter]
    fn features<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(features) = self.graph().features() else { return Ok(None) };
        Ok(Some(match features {
            Features::Dense(dense) => matrix(py, dense.values().to_vec(), features.width())?.into_any(),
            Features::Sparse(sparse) => {
                let offsets = PyArray1::from_slice(py, bytemuck::cast_slice::<u64, i64>(sparse.offsets()));
                let columns =
                    PyArray1::from_iter(py, sparse.columns().iter().map(|&column| i64::from(column)));
                let values = PyArray1::from_slice(py, sparse.values());
                (offsets, columns, values, features.width()).into_pyobject(py)?.into_any()
            }
        }))
    }

    /// The class of each node, -1 where it is not known; or rows of zeros and ones; or None.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.graph().labels().map(|labels| classes_to_python(py, labels)).transpose()
    }

    /// Counts of the graph, and of what was left out of it.
    #[getter]
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.loaded.summary)
    }

    /// The graph that some nodes induce, given by ascending row numbers.
    fn subgraph(&self, py: Python<'_>, nodes: PyReadonlyArray1<'_, u64>) -> PyResult<Self> {
        let nodes = self.check_nodes(nodes.as_slice()?)?;
        let graph = py.detach(|| caught(|| Ok(self.graph().subgraph(&nodes))))?;
        let summary = self.loaded.summary.of_part(&graph);
        Ok(Self { loaded: Loaded::new(graph, summary) })
    }

    /// How a pickle brings the graph back: [`Graph::restore`], and all there is of the graph.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyDict>,))> {
        let state = pickle::state(slf.py(), &slf.get().loaded)?;
        Ok((slf.get_type().getattr("restore")?, (state,)))
    }

    /// The graph of a pickle.
    #[staticmethod]
    fn restore(state: &Bound<'_, PyDict>) -> PyResult<Self> {
        Ok(Self { loaded: caught(|| pickle::restore(state))? })
    }
}

impl Graph {
    /// The graph of a run; its arrays are mapped, not read.
    pub(crate) fn stored(run: &RunDir) -> PyResult<Self> {
        let (graph, description) = caught(|| store::open(&run.graph()).map_err(Raise::raise))?;
        Ok(Self { loaded: Loaded::new(graph, description.summary) })
    }

    /// Reads a graph, and holds out what the settings say.
    fn make(
        py: Python<'_>,
        settings: &Settings,
        work: Work,
        read: impl FnOnce(&GraphConfig, &dyn Progress) -> Result<Loaded, ReadError> + Send,
    ) -> PyResult<Self> {
        let config = &settings.config;
        let loaded = work.run(py, |progress| {
            let whole = read(&config.graph, progress).map_err(Raise::raise)?;
            whole.hold_out(config.graph.hold_out, config.seed).map_err(Raise::raise)
        })?;
        Ok(Self { loaded })
    }

    /// The graph itself.
    pub(crate) fn graph(&self) -> &local2global::graph::Graph {
        &self.loaded.graph
    }

    /// The nodes with these row numbers, which must ascend and exist.
    pub(crate) fn check_nodes(&self, nodes: &[u64]) -> PyResult<Vec<NodeId>> {
        let exist = nodes.last().is_none_or(|&last| last < self.graph().num_nodes() as u64);
        match exist && nodes.is_sorted_by(|a, b| a < b) {
            true => Ok(nodes.iter().map(|&node| NodeId(node)).collect()),
            false => {
                let needed = format!("needed nodes below {}, strictly ascending", self.graph().num_nodes());
                Err(PyValueError::new_err(needed))
            }
        }
    }
}
