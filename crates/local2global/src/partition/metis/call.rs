//! Calls into METIS.

use std::sync::{Mutex, PoisonError};

use ::metis::option;

use super::{Idx, MetisGraph, int};
use crate::partition::PartitionError;

/// Held while METIS runs: see the notes on shared state in the module above.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

impl MetisGraph {
    /// The cluster of each node. A cluster may exceed the mean by so many thousandths.
    pub(in crate::partition) fn split(
        &self,
        num_clusters: usize,
        seed: Idx,
        attempts: Idx,
        thousandths: Idx,
    ) -> Result<Vec<Idx>, PartitionError> {
        let mut clusters: Vec<Idx> = vec![0; self.offsets.len() - 1];
        let mut problem =
            ::metis::Graph::new(1, int("clusters", num_clusters)?, &self.offsets, &self.targets)
                .map_err(|error| PartitionError::Metis(::metis::Error::from(error).to_string()))?
                .set_option(option::Seed(seed))
                .set_option(option::NCuts(attempts))
                .set_option(option::UFactor(thousandths));
        if let Some(weights) = &self.weights {
            problem = problem.set_adjwgt(weights);
        }
        if let Some(weights) = &self.node_weights {
            problem = problem.set_vwgt(weights);
        }
        let guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let handlers = SignalHandlers::now();
        let outcome = problem.part_kway(&mut clusters);
        handlers.restore();
        drop(guard);
        outcome.map_err(|error| PartitionError::Metis(error.to_string()))?;
        Ok(clusters)
    }
}

/// What the process does at the two signals that METIS handles itself while it runs. It puts the old
/// handlers back by `signal`, and so forgets their flags: they would be called once, and never again.
#[cfg(unix)]
struct SignalHandlers([(libc::c_int, libc::sigaction); 2]);

#[cfg(unix)]
#[expect(unsafe_code, reason = "no safe function reads a handler and puts it back as it was")]
impl SignalHandlers {
    fn now() -> Self {
        Self([libc::SIGTERM, libc::SIGABRT].map(|signal| {
            // SAFETY: a zeroed `sigaction` is valid, and with no new action it is only written to.
            let old = unsafe {
                let mut old = std::mem::zeroed();
                libc::sigaction(signal, std::ptr::null(), &mut old);
                old
            };
            (signal, old)
        }))
    }

    fn restore(&self) {
        for (signal, action) in &self.0 {
            // SAFETY: the action was in force before, and nothing is written to.
            unsafe { libc::sigaction(*signal, action, std::ptr::null_mut()) };
        }
    }
}

/// Where there are no such handlers, nothing is to be kept.
#[cfg(not(unix))]
struct SignalHandlers;

#[cfg(not(unix))]
impl SignalHandlers {
    fn now() -> Self {
        Self
    }

    fn restore(&self) {}
}
