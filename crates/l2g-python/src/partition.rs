//! Stage 2: graph -> disjoint clusters.

use local2global::partition::PartitionReport;
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::errors::Raise;
use crate::graph::Graph;
use crate::json::to_python;
use crate::settings::Settings;
use crate::work::Work;

/// The cluster of each node, and how good the clusters are.
#[pyfunction]
#[pyo3(signature = (graph, settings, threads=None, progress=None))]
pub(crate) fn partition<'py>(
    py: Python<'py>,
    graph: &Graph,
    settings: &Settings,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Bound<'py, PyArray1<u32>>, Bound<'py, PyAny>)> {
    let (graph, config) = (graph.graph(), &settings.config);
    let bounds = config.patch.overlap_bounds(config.embed.dim).map_err(Raise::raise)?;
    let (clusters, report) = Work::new(threads, progress).run(py, |progress| {
        let seed = config.seed;
        local2global::partition::partition(graph, &config.partition, bounds.half_min(), seed, progress).map(
            |clusters| {
                let report = PartitionReport::of(graph, &clusters);
                (clusters, report)
            },
        )
    })?;
    Ok((PyArray1::from_slice(py, clusters.clusters()), to_python(py, &report)?))
}
