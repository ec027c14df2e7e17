//! Why patches could not be sent out, trained elsewhere, or taken back.

use std::path::PathBuf;

use crate::embed::EmbedError;
use crate::run_dir::{BatchError, FileError};

/// Why patches could not be sent out, trained elsewhere, or taken back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages name the fields")]
pub enum BundleError {
    /// The method needs more than the patch.
    #[error("method `{method}` needs programs or files of this machine, and cannot be bundled")]
    Method { method: &'static str },

    /// There is nothing to train.
    #[error("`{}` is no bundle, or is damaged: {problem}", path.display())]
    Damaged { path: PathBuf, problem: String },

    /// Another program has made it.
    #[error("`{}` was made by local2global {found}, and this is {}", path.display(), env!("CARGO_PKG_VERSION"))]
    Version { path: PathBuf, found: String },

    /// A folder that results should be in.
    #[error("there are no results in `{}`: needed NAME.npy and NAME.json of a patch", folder.display())]
    NoResults { folder: PathBuf },

    /// Somebody asked to stop.
    #[error("cancelled; what was done before is kept")]
    Cancelled,

    /// The patches could not be prepared or trained.
    #[error(transparent)]
    Embed(#[from] EmbedError),

    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
}

impl BundleError {
    /// What the user can do about it, if there is something.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Method { .. } => Some("train these patches here, with `l2g embed`"),
            Self::Damaged { .. } => Some("copy it again, or write it again with `l2g bundle`"),
            Self::Version { .. } => Some("install the same version on all machines"),
            Self::NoResults { .. } => Some("train a bundle with `l2g embed --bundle FILE --out DIR` first"),
            Self::Embed(error) => error.hint(),
            Self::Cancelled | Self::File(_) => None,
        }
    }
}

impl From<BatchError> for BundleError {
    fn from(error: BatchError) -> Self {
        match error {
            BatchError::File(error) => error.into(),
            BatchError::Cancelled => Self::Cancelled,
        }
    }
}
