//! Why a share could not be made, aligned or joined.

use std::path::PathBuf;

use crate::align::{AlignError, AlignFilesError};
use crate::graph::store::StoreError;
use crate::npy::NpyError;
use crate::run_dir::FileError;

/// Why a share could not be made, aligned or joined.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages name the fields")]
pub enum FederatedError {
    /// A file or folder could not be used.
    #[error(transparent)]
    File(#[from] FileError),

    /// An array could not be read.
    #[error("`{}`: {source}", path.display())]
    Array { path: PathBuf, source: NpyError },

    /// The folder of a run is not complete.
    #[error(transparent)]
    Run(#[from] StoreError),

    /// The site has no embedding yet.
    #[error("`{}` does not exist; a share is made of the rows of a finished run", path.display())]
    NoEmbedding { path: PathBuf },

    /// A key that could be guessed.
    #[error("the key has {bytes} bytes; needed at least {needed} that nobody can guess")]
    ShortKey { bytes: usize, needed: usize },

    /// A name that could not be that of a folder.
    #[error("`{name}` is no name of a site; needed letters, digits, `-`, `_` and `.`, not first")]
    Name { name: String },

    /// A node has two rows at a site.
    #[error("node `{id}` stands twice at site `{site}`")]
    DuplicateNode { site: String, id: String },

    /// Rows and ids do not belong together.
    #[error("site `{site}` has {rows} rows of coordinates, but {ids} node ids")]
    Rows { site: String, rows: usize, ids: usize },

    /// A coordinate of a site is NaN or infinite.
    #[error("node `{id}` of site `{site}` has a coordinate that is NaN or infinite")]
    NotFinite { site: String, id: String },

    /// Nobody else holds a node of the site.
    #[error("site `{site}` holds {nodes} nodes, and none of them is known to another site")]
    NothingShared { site: String, nodes: usize },

    /// The folder that leaves the site holds something else.
    #[error("`{}` would leave the site with the share; needed a folder of its own", path.display())]
    Stray { path: PathBuf },

    /// The secret lies where it would leave.
    #[error("the secret `{}` would leave the site with the share; needed another folder", path.display())]
    SecretInShare { path: PathBuf },

    /// The secret belongs to another share.
    #[error("the secret `{}` is of {found}, and this is {needed}", path.display())]
    OtherSecret { path: PathBuf, found: String, needed: String },

    /// The operating system gave no random bytes.
    #[error("the operating system gave no random bytes: {0}")]
    SystemChance(getrandom::Error),

    /// A part of the privacy budget is out of range.
    #[error("{name} is {found}; needed {needed}")]
    Privacy { name: &'static str, found: f64, needed: &'static str },

    /// A folder with neither a share nor a frame.
    #[error("no share in `{}`: neither share.json nor folders with one", path.display())]
    NoShare { path: PathBuf },

    /// A share of the wrong round.
    #[error("the share of site `{site}` holds {found}; needed {needed}")]
    Step { site: String, found: &'static str, needed: &'static str },

    /// Two shares have the same name.
    #[error("two shares are of site `{site}`; each site needs a name of its own")]
    SameSite { site: String },

    /// The sites did not use the same key.
    #[error("site `{site}` blinded its ids with another key than {other}")]
    OtherKey { site: String, other: String },

    /// The sites have different dimensions.
    #[error("site `{site}` has {found} dimensions, but site `{other}` has {needed}")]
    Dimension { site: String, found: usize, other: String, needed: usize },

    /// A blinded id stands twice, or ids are out of order.
    #[error(
        "the blinded ids of site `{site}` are not ascending at row {row}: one stands twice, or rows were moved"
    )]
    ShareOrder { site: String, row: usize },

    /// Files of a share do not belong together.
    #[error("the share of site `{site}` has {found} {what}, but share.json says {needed}")]
    ShareSize { site: String, what: &'static str, found: usize, needed: usize },

    /// A shared coordinate is NaN or infinite.
    #[error("row {row} of the share of site `{site}` has a coordinate that is NaN or infinite")]
    ShareNotFinite { site: String, row: usize },

    /// The files of a share are not those that were written.
    #[error("the share of site `{site}` was changed after it was made: its digest is another one")]
    ShareDigest { site: String },

    /// A share was made with other ids than those of the sites beside it.
    #[error("the share of site `{site}` is of another round: it was made {found} site `{other}`")]
    OtherRound { site: String, found: &'static str, other: String },

    /// Own ids of an earlier round.
    #[error(
        "site `{site}` has other nodes now than in the ids that it has sent; needed ids of the same round"
    )]
    OwnIds { site: String },

    /// There are fewer than two sites.
    #[error("found {found} shares; alignment needs two or more")]
    TooFew { found: usize },

    /// Sites have no frame in common.
    #[error(
        "`align.method` is straighten, which needs a common frame; sites share rows in frames of their own"
    )]
    Straighten,

    /// A share is not the one that the frame was made from.
    #[error("the share of site `{site}` is not the one that the frame was made from")]
    OtherShare { site: String },

    /// A site of the frame sent no share.
    #[error("the frame has site `{site}`, whose share is not there; an addition needs all of them")]
    MissingShare { site: String },

    /// A share that the frame does not know, besides the one that is added.
    #[error("the frame does not know site `{site}`; add one site at a time")]
    UnknownShare { site: String },

    /// A site that is not there.
    #[error("there is no share of site `{site}`")]
    NoSuchSite { site: String },

    /// The files of a frame do not belong together.
    #[error("the frame has {found} {what}, but frame.json tells of {needed}")]
    FrameSize { what: &'static str, found: usize, needed: usize },

    /// The site is not in the frame.
    #[error("site `{site}` is not in the frame, which has {sites}")]
    NotInFrame { site: String, sites: String },

    /// The secret or the rows are others than those that were shared.
    #[error(
        "the frame was made from another share of site `{site}`: its rows or its secret have changed since"
    )]
    Changed { site: String },

    /// The shares cannot be aligned.
    #[error(transparent)]
    Align(#[from] AlignError),

    /// The frame could not be read.
    #[error(transparent)]
    AlignFiles(#[from] AlignFilesError),
}
