//! NumPy arrays as slices of the library, and back.
//!
//! Arrays that the library reads are used where they lie: nothing is copied, and memory
//! maps stay on disk until their rows are needed. The package hands over arrays of the
//! right type in C order, and copies those that are not, once.
//!
//! While an array is lent, it is borrowed for reading: other native code that asks for it for
//! writing is refused. Python code cannot be kept from writing to its own arrays. Whoever changes one
//! while a function works on it gets what numbers happen to be there, as with any function of NumPy
//! that lets go of the interpreter; shapes and sizes were checked before and stay.

use std::mem::{self, ManuallyDrop};
use std::sync::Arc;

use bytemuck::Pod;
use local2global::align::Coords;
use local2global::buffer::Buffer;
use local2global::graph::NodeId;
use numpy::ndarray::Dimension;
use numpy::{Element, PyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// The values of an array, and the borrow of the array itself, so that they stay.
struct Lent<T: Element, D: Dimension> {
    start: *const T,
    len: usize,
    /// Given back with the interpreter held, and not looked at before.
    borrow: ManuallyDrop<PyReadonlyArray<'static, T, D>>,
}

// SAFETY: the values are plain numbers that are only read, and the borrow keeps their array alive;
// the borrow itself is touched only in `drop`, with the interpreter held.
#[expect(unsafe_code, reason = "a pointer says nothing about threads by itself")]
unsafe impl<T: Element + Pod + Send, D: Dimension> Send for Lent<T, D> {}
// SAFETY: as above.
#[expect(unsafe_code, reason = "a pointer says nothing about threads by itself")]
unsafe impl<T: Element + Pod + Sync, D: Dimension> Sync for Lent<T, D> {}

impl<T: Element, D: Dimension> AsRef<[T]> for Lent<T, D> {
    fn as_ref(&self) -> &[T] {
        // SAFETY: `lend` took pointer and length from a slice of the array that `borrow` keeps, and
        // NumPy does not move the values of an array that is referred to.
        #[expect(unsafe_code, reason = "the lifetime of the array is that of `borrow`")]
        unsafe {
            std::slice::from_raw_parts(self.start, self.len)
        }
    }
}

impl<T: Element, D: Dimension> Drop for Lent<T, D> {
    fn drop(&mut self) {
        // An interpreter that is shutting down takes nothing back, and needs nothing back.
        let _ = Python::try_attach(|_| {
            // SAFETY: this is the only place that drops it, and it runs once.
            #[expect(unsafe_code, reason = "the borrow may only be dropped with the interpreter held")]
            unsafe {
                ManuallyDrop::drop(&mut self.borrow);
            }
        });
    }
}

/// The values of an array in C order, where they lie.
pub(crate) fn lend<T, D>(array: &Bound<'_, PyArray<T, D>>) -> PyResult<Buffer<T>>
where
    T: Element + Pod + Send + Sync,
    D: Dimension + 'static,
{
    if !array.is_c_contiguous() {
        return Err(PyValueError::new_err("array is not in C order"));
    }
    let borrow = array.try_readonly()?;
    let (start, len) = {
        let values = borrow.as_slice()?;
        (values.as_ptr(), values.len())
    };
    // SAFETY: the lifetime says that the interpreter is held. `Lent` uses the borrow only in `drop`,
    // where it is held again; the array itself is kept alive by the reference inside.
    #[expect(unsafe_code, reason = "the borrow must outlive this call")]
    let borrow =
        unsafe { mem::transmute::<PyReadonlyArray<'_, T, D>, PyReadonlyArray<'static, T, D>>(borrow) };
    Ok(Buffer::Lent(Arc::new(Lent { start, len, borrow: ManuallyDrop::new(borrow) })))
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
