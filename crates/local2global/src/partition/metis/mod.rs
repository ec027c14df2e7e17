//! Multilevel k-way partitioning by METIS.
//!
//! METIS contracts heavy edges until the graph is small, splits that, and refines the
//! split while it undoes the contraction. It minimises the weight of the cut edges
//! under a bound on the size of clusters. The original C code is compiled by Cargo, if the
//! feature `metis` is on; without it the method can be named, but not used.
//!
//! METIS weighs edges with integers; other weights are scaled, so that their sum uses
//! up to 30 bits and none becomes zero. It draws from the C library's generator, seeded
//! anew for each call. That generator and the signal handlers METIS installs belong to
//! the whole process, so calls wait for each other; the answer depends on the seed
//! alone, on one platform.
//!
//! Cost: `O(m)` time and memory; 4 bytes an entry are copied for METIS.
//!
//! Source: Karypis, Kumar, "A fast and high quality multilevel scheme for partitioning
//! irregular graphs", SIAM J. Sci. Comput. 20, 1998.

#[cfg_attr(not(feature = "metis"), path = "without.rs")]
mod call;

use serde::{Deserialize, Serialize};

/// The settings of METIS.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Metis {
    /// How much larger than the mean a cluster may become: 0.03 is 3 %.
    ///
    /// METIS treats it as a strong wish, not as a promise.
    pub imbalance: f64,
    /// How many partitions are made, of which the best is kept.
    pub attempts: usize,
}

impl Default for Metis {
    fn default() -> Self {
        Self { imbalance: 0.03, attempts: 1 }
    }
}
