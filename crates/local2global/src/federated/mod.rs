//! Sites that keep their graphs, and share only what alignment needs.
//!
//! Each site trains alone, with any method. Alignment needs the coordinates of nodes that several
//! sites hold, and nothing else, so that is what leaves a site: blinded ids and moved rows.
//!
//! ```text
//! site         ids.npy    = HMAC-SHA-256(key, id) of all its nodes                      first round
//!              coords.npy = clip(X) Q + t + noise, for nodes that others hold too       second round
//! coordinator  aligned    = s (coords R) + T     one motion (s, R, T) for each site, from shares alone
//! site         joined     = s ((X Q + t) R) + T  all its rows, under its own ids
//! ```
//!
//! The orthogonal matrix `Q` and the vector `t` are secrets of the site. The coordinator finds the
//! motions of the moved rows, so a site that knows `Q` and `t` finds its place, and nobody else learns
//! where its rows lay. Distances between shared rows stay what they were; noise of the Gaussian
//! mechanism blurs them, if it is asked for.
//!
//! The origin of the frame is the mean of all shared rows: where secrets had put it says nothing.
//! A site that comes later is put into the finished frame without moving the others. Sites and
//! coordinator are assumed to keep to the protocol, and to be curious. `docs/federated.md` says what
//! they can learn.
//!
//! Chance: `system_chance` takes 32 bytes from the operating system when a secret is drawn; here
//! alone the same seed does not give the same bytes. Everything else follows from the secret: the
//! same secret and the same shared rows give the same share.

mod error;

mod hash;

pub mod key;

mod system_chance;

pub mod privacy;

pub mod secret;

mod words;

pub mod share;

pub mod shares;

pub mod frame;

pub mod join;

pub mod files;

pub use error::FederatedError;
pub use frame::{Frame, FrameRecord, FrameSite};
pub use join::{JoinRecord, join};
pub use key::{BlindedId, Key};
pub use privacy::{Privacy, PrivacySpent};
pub use secret::{KeptSecret, Secret};
pub use share::{Known, KnownIds, Share, ShareRecord, SiteRows, Step, share_ids, share_rows};
pub use shares::Shares;
