//! What belongs to the nodes of a graph, from Python: names, features and labels.

use local2global::graph::features::{DenseFeatures, SparseFeatures};
use local2global::graph::labels::LabelKind;
use local2global::graph::{Features, Labels, NodeIds};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::arrays::{lend, matrix};
use crate::errors::{Raise, class};

/// What the caller says about the nodes.
#[derive(FromPyObject)]
pub(crate) enum Ids<'py> {
    Integers(PyReadonlyArray1<'py, u64>),
    Names(Vec<String>),
}

/// Features: a matrix, or the parts of a sparse one and its number of columns.
#[derive(FromPyObject)]
pub(crate) enum FeatureArrays<'py> {
    Dense(Bound<'py, PyArray2<f32>>),
    Sparse(Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<f32>>, usize),
}

/// Labels, and the names of the classes, if they have any.
#[derive(FromPyObject)]
pub(crate) struct LabelArrays<'py>(ClassArrays<'py>, Vec<String>);

/// A class for each node, or a row of zeros and ones.
#[derive(FromPyObject)]
enum ClassArrays<'py> {
    Single(PyReadonlyArray1<'py, i32>),
    Multi(PyReadonlyArray2<'py, u8>),
}

pub(crate) fn node_ids(ids: Ids<'_>) -> PyResult<NodeIds> {
    Ok(match ids {
        Ids::Integers(ids) => NodeIds::Integers(ids.as_slice()?.to_vec().into()),
        Ids::Names(names) => NodeIds::Strings(names.iter().collect()),
    })
}

pub(crate) fn features(features: FeatureArrays<'_>) -> PyResult<Features> {
    match features {
        FeatureArrays::Dense(values) => {
            let &[rows, columns] = values.shape() else { unreachable!("the array has two axes") };
            let dense = DenseFeatures::new(rows, columns, lend(&values)?).map_err(Raise::raise)?;
            Ok(Features::Dense(dense))
        }
        FeatureArrays::Sparse(offsets, columns, values, width) => {
            let sparse = SparseFeatures::new(width, lend(&offsets)?, lend(&columns)?, lend(&values)?)
                .map_err(Raise::raise)?;
            sparse.check_rows().map_err(Raise::raise)?;
            Ok(Features::Sparse(sparse))
        }
    }
}

pub(crate) fn labels(LabelArrays(labels, names): LabelArrays<'_>) -> PyResult<Labels> {
    match labels {
        ClassArrays::Single(classes) => Ok(Labels::single(classes.as_slice()?.to_vec().into(), names)),
        ClassArrays::Multi(rows) => {
            let num_classes = rows.shape()[1];
            if num_classes == 0 {
                return Err(class::GraphError::new_err("labels have no columns"));
            }
            if names.len() > num_classes {
                let message = format!("found {} names of classes, needed {num_classes}", names.len());
                return Err(class::GraphError::new_err(message));
            }
            Ok(Labels::multi(rows.as_slice()?.to_vec().into(), num_classes, names))
        }
    }
}

/// The class of each node, or rows of zeros and ones.
pub(crate) fn classes_to_python<'py>(py: Python<'py>, labels: &Labels) -> PyResult<Bound<'py, PyAny>> {
    Ok(match labels.kind() {
        LabelKind::Single(classes) => PyArray1::from_slice(py, classes).into_any(),
        LabelKind::Multi(rows) => matrix(py, rows.to_vec(), labels.num_classes())?.into_any(),
    })
}
