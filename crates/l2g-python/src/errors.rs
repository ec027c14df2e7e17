//! Each error enum of the library is an exception class of its own.
//!
//! The classes are written in Python (`local2global/errors.py`), so that they can also be
//! a `ValueError` or an `OSError`; here they get their messages. An error that only passes
//! another one on is raised as that other one.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};

use l2g_report::ReportError;
use local2global::align::{AlignError, AlignFilesError};
use local2global::config::ConfigError;
use local2global::embed::EmbedError;
use local2global::embed::bundle::BundleError;
use local2global::evaluate::EvaluateError;
use local2global::federated::FederatedError;
use local2global::graph::GraphError;
use local2global::graph::features::FeatureError;
use local2global::graph::held_out::HoldOutError;
use local2global::graph::io::ReadError;
use local2global::graph::store::StoreError;
use local2global::near::NearError;
use local2global::partition::PartitionError;
use local2global::patch::PatchError;
use local2global::pipeline::PipelineError;
use local2global::run_dir::FileError;
use pyo3::{PyErr, PyResult};

/// The classes in Python.
pub(crate) mod class {
    pyo3::import_exception!(local2global.errors, AlignError);
    pyo3::import_exception!(local2global.errors, AlignFilesError);
    pyo3::import_exception!(local2global.errors, BundleError);
    pyo3::import_exception!(local2global.errors, ConfigError);
    pyo3::import_exception!(local2global.errors, EmbedError);
    pyo3::import_exception!(local2global.errors, EvaluateError);
    pyo3::import_exception!(local2global.errors, FeatureError);
    pyo3::import_exception!(local2global.errors, FederatedError);
    pyo3::import_exception!(local2global.errors, FileError);
    pyo3::import_exception!(local2global.errors, GraphError);
    pyo3::import_exception!(local2global.errors, HoldOutError);
    pyo3::import_exception!(local2global.errors, InternalError);
    pyo3::import_exception!(local2global.errors, NearError);
    pyo3::import_exception!(local2global.errors, PartitionError);
    pyo3::import_exception!(local2global.errors, PatchError);
    pyo3::import_exception!(local2global.errors, PipelineError);
    pyo3::import_exception!(local2global.errors, ReadError);
    pyo3::import_exception!(local2global.errors, ReportError);
    pyo3::import_exception!(local2global.errors, StoreError);
}

/// Does something outside of [`Work`](crate::work::Work); a panic is raised as an `InternalError`.
pub(crate) fn caught<T>(job: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    // Nothing that the job has changed is used after a panic.
    panic::catch_unwind(AssertUnwindSafe(job)).unwrap_or_else(|payload| Err(internal_error(&*payload)))
}

/// The exception of a panic: a bug of this library, and no fault of the caller.
pub(crate) fn internal_error(payload: &(dyn Any + Send)) -> PyErr {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("a panic without a message");
    class::InternalError::new_err(format!("this is a bug of local2global: {text}"))
}

/// An error that Python can catch.
pub(crate) trait Raise {
    /// The exception.
    fn raise(self) -> PyErr;
}

/// Errors that are raised as the class of their name, but for variants that pass another error on:
/// those are raised as the other one.
macro_rules! raise_by_name {
    ($($name:ident $(passes on $($variant:ident),*)?;)*) => {
        $(impl Raise for $name {
            fn raise(self) -> PyErr {
                match self {
                    $($(Self::$variant(error) => error.raise(),)*)?
                    error => class::$name::new_err(error.to_string()),
                }
            }
        })*
    };
}

raise_by_name! {
    AlignError;
    AlignFilesError passes on File, Align;
    BundleError passes on Embed, File;
    ConfigError;
    EmbedError passes on File, Graph;
    EvaluateError passes on File, Store;
    FeatureError;
    FederatedError passes on File, Align, AlignFiles, Run;
    FileError;
    GraphError;
    HoldOutError;
    NearError passes on Graph;
    PartitionError passes on File;
    PatchError passes on File;
    PipelineError passes on Graph, HoldOut, Store, Partition, Patch, Embed, Align, Evaluate, File;
    ReadError;
    ReportError passes on File, Graph, Partition;
    StoreError passes on File;
}

impl Raise for PyErr {
    fn raise(self) -> PyErr {
        self
    }
}
