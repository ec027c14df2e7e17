//! What is compared: embeddings, and what one would have without them.
//!
//! Baselines see the same graph, the same pairs and the same splits as embeddings do:
//!
//! | key | pairs by | classes from |
//! | --- | --- | --- |
//! | `untrained` | the model before training | the same |
//! | `smoothed` | [features smoothed twice](super::smoothed) | the same |
//! | `features` | cosine of the raw features | the raw features |
//! | `degrees` | product of the degrees | - |

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Who is scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Contender {
    /// Trained on the whole graph.
    Full,
    /// Stitched from patches.
    L2g,
    /// The mean over patches without transforms.
    NoTrans,
    /// The model before training.
    Untrained,
    /// The features of a node and its neighbours, smoothed twice.
    Smoothed,
    /// The features of a node.
    Features,
    /// The degree of a node.
    Degrees,
}

/// One value for each contender that is there.
pub type ByContender<T> = BTreeMap<Contender, T>;

impl Contender {
    /// Those that are embeddings, and come from files.
    pub const EMBEDDINGS: [Self; 4] = [Self::Full, Self::L2g, Self::NoTrans, Self::Untrained];

    /// The name for people who have not read the paper.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "whole graph",
            Self::L2g => "stitched",
            Self::NoTrans => "unaligned",
            Self::Untrained => "untrained",
            Self::Smoothed => "smoothed features",
            Self::Features => "raw features",
            Self::Degrees => "degrees",
        }
    }
}

/// The key, as in JSON.
impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "full",
            Self::L2g => "l2g",
            Self::NoTrans => "no_trans",
            Self::Untrained => "untrained",
            Self::Smoothed => "smoothed",
            Self::Features => "features",
            Self::Degrees => "degrees",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_json() {
        let all = [Contender::EMBEDDINGS.to_vec(), vec![Contender::Smoothed, Contender::Features]].concat();
        for contender in all.into_iter().chain([Contender::Degrees]) {
            assert_eq!(serde_json::to_string(&contender).unwrap(), format!("\"{contender}\""));
        }
    }
}
