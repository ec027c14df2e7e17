//! Which patches go into which job.
//!
//! Jobs should take equally long, so patches are dealt by work and not by count: the largest first,
//! each to the job with the least so far. (Graham 1969: the longest job is then at most 4/3 of the
//! shortest possible.) A job is trained with all of its patches in memory, so if one would need more
//! than the limit, there are more jobs.
//!
//! Source: Graham, "Bounds on multiprocessing timing anomalies", SIAM J. Appl. Math. 17, 1969.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::embed::EmbedError;
use crate::embed::schedule::Room;
use crate::run_dir::patch_name;

/// What is known of a patch before it is sent out.
#[derive(Clone, Debug)]
pub(super) struct Load {
    pub(super) patch: usize,
    /// How much work it is, in no particular unit.
    pub(super) work: u64,
    /// Bytes of the patch as a bundle brings it.
    pub(super) held: u64,
    /// Bytes that training takes beside that.
    pub(super) training: u64,
}

/// The patches of one job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Which patches, ascending.
    pub patches: Vec<usize>,
    /// How much work they are, in no particular unit.
    pub work: u64,
    /// Bytes of the patches as a bundle brings them.
    pub(super) held: u64,
    /// Bytes that training the largest takes beside that.
    pub(super) training: u64,
}

impl Share {
    /// Adds a patch.
    pub(super) fn add(&mut self, load: &Load) {
        self.patches.push(load.patch);
        self.work = self.work.saturating_add(load.work);
        self.held += load.held;
        self.training = self.training.max(load.training);
    }

    /// Bytes of memory that the job takes, what all patches share aside.
    pub(super) fn bytes(&self) -> u64 {
        self.held + self.training
    }
}

/// Divides patches among `num_jobs` jobs, or more if the room asks for it; the longest job first.
pub(super) fn share_out(mut loads: Vec<Load>, num_jobs: usize, room: Room) -> Result<Vec<Share>, EmbedError> {
    for load in &loads {
        room.check(&patch_name(load.patch), load.held + load.training)?;
    }
    loads.sort_by_key(|load| (Reverse(load.work), load.patch));
    let mut num_jobs = num_jobs.clamp(1, loads.len().max(1));
    loop {
        let shares = dealt(&loads, num_jobs);
        let fits = |share: &Share| room.check("", share.bytes()).is_ok();
        if num_jobs >= loads.len() || shares.iter().all(fits) {
            return Ok(shares);
        }
        num_jobs = (num_jobs + num_jobs.div_ceil(4)).min(loads.len());
    }
}

/// Deals loads, the largest first, each to the job with the least work so far.
fn dealt(loads: &[Load], num_jobs: usize) -> Vec<Share> {
    let mut shares = vec![Share::default(); num_jobs];
    let mut least: BinaryHeap<_> = (0..num_jobs).map(|job| Reverse((0, job))).collect();
    for load in loads {
        let Some(Reverse((_, job))) = least.pop() else { break };
        shares[job].add(load);
        least.push(Reverse((shares[job].work, job)));
    }
    shares.retain(|share| !share.patches.is_empty());
    shares.iter_mut().for_each(|share| share.patches.sort_unstable());
    shares.sort_by_key(|share| Reverse(share.work));
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loads(work: &[u64]) -> Vec<Load> {
        let load = |(patch, &work)| Load { patch, work, held: work, training: 2 * work };
        work.iter().enumerate().map(load).collect()
    }

    #[test]
    fn jobs_take_equally_long_however_many_patches_they_hold() {
        let unlimited = Room { limit: 0, taken: 0 };
        let shares = share_out(loads(&[1, 9, 1, 1, 1, 8, 1, 1, 1, 2]), 3, unlimited).unwrap();
        assert_eq!(shares.iter().map(|share| share.work).collect::<Vec<_>>(), [9, 9, 8]);
        let mut all: Vec<usize> = shares.iter().flat_map(|share| share.patches.clone()).collect();
        all.sort_unstable();
        assert_eq!(all, (0..10).collect::<Vec<_>>());
        assert_eq!(share_out(loads(&[5, 5]), 100, unlimited).unwrap().len(), 2);
    }

    #[test]
    fn a_job_stays_within_the_limit_of_memory() {
        let room = Room { limit: 40, taken: 10 };
        let shares = share_out(loads(&[8, 4, 4, 4, 4, 4, 4]), 1, room).unwrap();
        assert!(shares.len() > 1 && shares.iter().all(|share| share.bytes() <= 30), "{shares:?}");
        let error = share_out(loads(&[4, 11]), 1, room).unwrap_err().to_string();
        assert!(error.starts_with("patch-00001 needs about"), "{error}");
    }
}
