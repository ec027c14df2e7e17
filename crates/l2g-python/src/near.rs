//! The rows nearest to a row, or to a vector.

use local2global::graph::NodeId;
use local2global::near::{Neighbor, Query, Similarity, nearest};
use numpy::{PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::matrix;
use crate::evaluate::coordinates;
use crate::work::Work;

type Found<'py> = (Bound<'py, PyArray2<i64>>, Bound<'py, PyArray2<f64>>);

/// The `k` rows nearest to some rows, which are not neighbours of themselves: their numbers, and their scores.
#[pyfunction]
#[pyo3(signature = (embedding, rows, k, score, threads=None))]
pub(crate) fn nearest_to_rows<'py>(
    py: Python<'py>,
    embedding: PyReadonlyArray2<'py, f32>,
    rows: PyReadonlyArray1<'py, u64>,
    k: usize,
    score: &str,
    threads: Option<usize>,
) -> PyResult<Found<'py>> {
    let queries: Vec<Query<'_>> = rows.as_slice()?.iter().map(|&row| Query::Node(NodeId(row))).collect();
    let others = embedding.shape()[0].saturating_sub(1);
    find(py, &embedding, &queries, (k, others), score, threads)
}

/// The `k` rows nearest to some vectors: their numbers, and their scores.
#[pyfunction]
#[pyo3(signature = (embedding, vectors, k, score, threads=None))]
pub(crate) fn nearest_to_vectors<'py>(
    py: Python<'py>,
    embedding: PyReadonlyArray2<'py, f32>,
    vectors: PyReadonlyArray2<'py, f32>,
    k: usize,
    score: &str,
    threads: Option<usize>,
) -> PyResult<Found<'py>> {
    let width = vectors.shape()[1].max(1);
    let queries: Vec<Query<'_>> = vectors.as_slice()?.chunks_exact(width).map(Query::Vector).collect();
    find(py, &embedding, &queries, (k, embedding.shape()[0]), score, threads)
}

/// Rows of `k` neighbours each, or of all there can be.
fn find<'py>(
    py: Python<'py>,
    embedding: &PyReadonlyArray2<'py, f32>,
    queries: &[Query<'_>],
    (k, most): (usize, usize),
    score: &str,
    threads: Option<usize>,
) -> PyResult<Found<'py>> {
    let (coordinates, similarity) = (coordinates(embedding)?, similarity(score)?);
    let work = |progress: &dyn local2global::progress::Progress| {
        nearest(coordinates, queries, k, similarity, progress)
    };
    let found: Vec<Neighbor> = Work::new(threads, None).run(py, work)?.into_iter().flatten().collect();
    let columns = k.min(most);
    let rows = found.iter().map(|near| near.node.0.cast_signed()).collect();
    let scores = found.iter().map(|near| near.score).collect();
    Ok((shaped(py, rows, queries.len(), columns)?, shaped(py, scores, queries.len(), columns)?))
}

/// As [`matrix`], also without columns.
fn shaped<T: numpy::Element>(
    py: Python<'_>,
    values: Vec<T>,
    rows: usize,
    columns: usize,
) -> PyResult<Bound<'_, PyArray2<T>>> {
    match columns {
        0 => Ok(PyArray2::zeros(py, [rows, 0], false)),
        columns => matrix(py, values, columns),
    }
}

fn similarity(score: &str) -> PyResult<Similarity> {
    match score {
        "cosine" => Ok(Similarity::Cosine),
        "inner-product" => Ok(Similarity::InnerProduct),
        other => {
            Err(PyValueError::new_err(format!("score is {other:?}; it must be 'cosine' or 'inner-product'")))
        }
    }
}
