//! The methods, and what is chosen by method.

use serde::{Deserialize, Serialize};

/// The methods that `method = "..."` can name.
///
/// To add one, write its file and a variant here; the compiler lists the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EmbedMethod {
    /// `hops` for graphs with features, `walks` for others, or what validation prefers clearly.
    #[default]
    Auto,
    /// Directions from the features of nodes two and three steps away.
    Hops,
    /// Random walks to small clusters all over the graph; no features are used.
    Walks,
    /// Half of the dimensions by `hops`, half by `walks`.
    Both,
    /// Variational graph auto-encoder.
    Vgae,
    /// Graph auto-encoder.
    Gae,
    /// Deep Graph Infomax.
    Dgi,
    /// Randomised singular vectors of the normalised adjacency.
    Spectral,
    /// An external program.
    Command,
    /// Coordinates that are already there.
    Given,
}

impl EmbedMethod {
    /// The dimensions of the two parts of a method: features and structure.
    pub(crate) fn dims(self, dim: usize) -> [usize; 2] {
        match self {
            Self::Both => [dim.div_ceil(2), dim / 2],
            Self::Walks => [0, dim],
            _ => [dim, 0],
        }
    }
}

/// Where the first weights of a patch come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// One stream for all patches, which so start equal.
    #[default]
    Common,
    /// A stream for each patch.
    Own,
}
