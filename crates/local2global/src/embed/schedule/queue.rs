//! Which run of which patch is next, within a memory limit.

use std::cmp::Reverse;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// One run of one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) job: usize,
    pub(super) run: u32,
    /// The memory that it needs.
    pub(super) bytes: u64,
}

/// The units that wait to be done, and the memory of those under way.
///
/// Its lock is held only to take a unit or to give its memory back, never while one is done.
pub(super) struct Queue {
    limit_bytes: u64,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// Sorted, so that the largest unit is the last one and is taken first.
    pending: Vec<Unit>,
    bytes_under_way: u64,
    is_closed: bool,
}

/// A unit under way. Its memory is given back when this is dropped, also when its worker panics.
pub(super) struct Taken<'a> {
    pub(super) unit: Unit,
    queue: &'a Queue,
}

impl Queue {
    /// All units that are to be done; a limit of 0 bytes means none.
    pub(super) fn new(mut pending: Vec<Unit>, limit_bytes: u64) -> Self {
        pending.sort_by_key(|unit| (unit.bytes, Reverse((unit.job, unit.run))));
        let limit_bytes = if limit_bytes == 0 { u64::MAX } else { limit_bytes };
        let state = State { pending, bytes_under_way: 0, is_closed: false };
        Self { limit_bytes, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// The number of units that wait.
    pub(super) fn len(&self) -> usize {
        self.lock().pending.len()
    }

    /// Takes the largest unit that fits into memory, and waits while there is none. Gives none
    /// when all units have been taken, or the queue is closed.
    pub(super) fn take(&self) -> Option<Taken<'_>> {
        let mut state = self.lock();
        loop {
            if state.is_closed || state.pending.is_empty() {
                return None;
            }
            let room = self.limit_bytes - state.bytes_under_way;
            if let Some(position) = state.pending.iter().rposition(|unit| unit.bytes <= room) {
                let unit = state.pending.remove(position);
                state.bytes_under_way += unit.bytes;
                return Some(Taken { unit, queue: self });
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Removes the units of a job that wait.
    pub(super) fn remove_job(&self, job: usize) {
        self.lock().pending.retain(|unit| unit.job != job);
        self.changed.notify_all();
    }

    /// Gives out no more units.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change under the lock is a single step, so the state is sound after a panic too.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.queue.lock().bytes_under_way -= self.unit.bytes;
        self.queue.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(job: usize, run: u32, bytes: u64) -> Unit {
        Unit { job, run, bytes }
    }

    #[test]
    fn the_largest_unit_that_fits_is_next() {
        let queue = Queue::new(vec![unit(0, 0, 3), unit(1, 0, 5), unit(1, 1, 5), unit(2, 0, 9)], 12);
        let first = queue.take().unwrap();
        assert_eq!(first.unit, unit(2, 0, 9));
        let second = queue.take().unwrap();
        assert_eq!(second.unit, unit(0, 0, 3));
        drop(first);
        assert_eq!(queue.take().unwrap().unit, unit(1, 0, 5));
        queue.remove_job(1);
        assert!(queue.take().is_none());
    }

    #[test]
    fn who_waits_for_memory_gets_it_from_a_worker_that_panicked() {
        let queue = Queue::new(vec![unit(0, 0, 8), unit(1, 0, 8)], 8);
        let next = std::thread::scope(|scope| {
            let panicking = scope.spawn(|| {
                let _taken = queue.take();
                panic!("as if training had");
            });
            assert!(panicking.join().is_err());
            queue.take().map(|taken| taken.unit)
        });
        assert_eq!(next, Some(unit(1, 0, 8)));
    }

    #[test]
    fn a_closed_queue_gives_nothing() {
        let queue = Queue::new(vec![unit(0, 0, 1)], 0);
        queue.close();
        assert!(queue.take().is_none() && queue.len() == 1);
    }
}
