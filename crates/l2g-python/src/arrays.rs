//! NumPy arrays as slices of the library, and back.
//!
//! Arrays that the library reads are used where they lie: nothing is copied, and memory
//! maps stay on disk until their rows are needed. The package hands over arrays of the
//! right type in C order, and copies those that are not, once.
//!
//! Whoever changes an array while a function works on it gets what numbers happen to be
//! there, as with any function that lets go of the interpreter.

use std::sync::Arc;

use bytemuck::Pod;
use local2global::align::Coords;
use local2global::buffer::Buffer;
use local2global::graph::NodeId;
use numpy::ndarray::Dimension;
use numpy::{Element, PyArray, PyArray1, PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// The values of an array, and the array itself, so that they stay.
struct Lent<T> {
    start: *const T,
    len: usize,
    _owner: Py<PyAny>,
}

// SAFETY: the values are plain numbers that are only read, and the array they belong to is
// kept alive; its reference count is left alone until the interpreter is held again.
#[expect(unsafe_code, reason = "a pointer says nothing about threads by itself")]
unsafe impl<T: Pod + Send> Send for Lent<T> {}
// SAFETY: as above.
#[expect(unsafe_code, reason = "a pointer says nothing about threads by itself")]
unsafe impl<T: Pod + Sync> Sync for Lent<T> {}

impl<T> AsRef<[T]> for Lent<T> {
    fn as_ref(&self) -> &[T] {
        // SAFETY: `lend` took pointer and length from a slice of the array that is kept in
        // `_owner`, and NumPy does not move the values of an array that is referred to.
        #[expect(unsafe_code, reason = "the lifetime of the array is that of `_owner`")]
        unsafe {
            std::slice::from_raw_parts(self.start, self.len)
        }
    }
}

/// The values of an array in C order, where they lie.
pub(crate) fn lend<T, D>(array: &Bound<'_, PyArray<T, D>>) -> PyResult<Buffer<T>>
where
    T: Element + Pod + Send + Sync,
    D: Dimension,
{
    if !array.is_c_contiguous() {
        return Err(PyValueError::new_err("array is not in C order"));
    }
    let borrowed = array.try_readonly()?;
    let values = borrowed.as_slice()?;
    let owner = array.clone().into_any().unbind();
    Ok(Buffer::Lent(Arc::new(Lent { start: values.as_ptr(), len: values.len(), _owner: owner })))
}

/// Coordinates of either precision, and the number of columns.
pub(crate) fn lend_coordinates(array: &Bound<'_, PyAny>) -> PyResult<(Coords, usize)> {
    if let Ok(array) = array.cast::<PyArray2<f32>>() {
        return Ok((Coords::F32(lend(array)?), array.shape()[1]));
    }
    match array.cast::<PyArray2<f64>>() {
        Ok(array) => Ok((Coords::F64(lend(array)?), array.shape()[1])),
        Err(_) => Err(PyTypeError::new_err("coordinates must be an array of float32 or float64, two axes")),
    }
}

/// Nodes as numbers that index arrays.
pub(crate) fn nodes_to_python<'py>(py: Python<'py>, nodes: &[NodeId]) -> Bound<'py, PyArray1<i64>> {
    PyArray1::from_slice(py, bytemuck::cast_slice::<NodeId, i64>(nodes))
}

/// Row-major values as a matrix with this many columns.
pub(crate) fn matrix<T: Element>(
    py: Python<'_>,
    values: Vec<T>,
    columns: usize,
) -> PyResult<Bound<'_, PyArray2<T>>> {
    let rows = values.len() / columns.max(1);
    PyArray1::from_vec(py, values).reshape([rows, columns])
}
