//! What the jobs of a run need.

use local2global::embed::EmbedError;
use local2global::embed::bundle::{BundleSource, Share};
use local2global::memory::ByteSize;
use serde::Serialize;

/// A job is given so many times the time that it should take.
const TIME_MARGIN: f64 = 3.0;

/// The least time that is asked for: starting up and reading files take some, however short training is.
const LEAST_SECONDS: u64 = 600;

/// What is asked for beside: pages of the program and of files count for clusters, and so does a shell.
const PROGRAM_MEGABYTES: u64 = 64;

/// What the jobs of a run need.
#[derive(Debug, Serialize)]
pub(super) struct Figures {
    /// Patches that are to be trained.
    pub(super) patches: usize,
    jobs: usize,
    /// Threads of a job.
    threads: usize,
    /// The memory of the largest job.
    memory_bytes: u64,
    /// How long the longest job takes, about.
    seconds: f64,
}

impl Figures {
    /// The figures for about so many jobs; all patches take so many seconds on one thread.
    pub(super) fn of(
        source: &BundleSource,
        jobs: usize,
        (seconds, threads): (f64, usize),
    ) -> Result<Self, EmbedError> {
        let work = |shares: &[Share]| shares.iter().map(|share| share.work as f64).sum::<f64>();
        let all: Vec<usize> = (0..source.num_patches()).collect();
        let whole = work(&[source.as_one(&all)]);
        let waiting = source.waiting(None)?;
        // A script may be wanted for later, too.
        let patches = if waiting.is_empty() { all } else { waiting };
        let shares = source.share_out(&patches, jobs)?;
        let longest = shares.first().map_or(0.0, |share| share.work as f64);
        Ok(Self {
            patches: patches.len(),
            jobs: shares.len(),
            threads,
            memory_bytes: shares.iter().map(|share| source.memory_bytes(share)).max().unwrap_or(0),
            seconds: seconds * longest / whole.max(1.0) / threads as f64,
        })
    }

    /// The seconds that are asked for.
    fn asked_seconds(&self) -> u64 {
        ((self.seconds * TIME_MARGIN).ceil() as u64).max(LEAST_SECONDS)
    }

    /// What the places of a script are filled with.
    pub(super) fn places(&self) -> Vec<(&'static str, String)> {
        let megabytes = (self.memory_bytes + self.memory_bytes / 4).div_ceil(1 << 20) + PROGRAM_MEGABYTES;
        let asked = self.asked_seconds();
        vec![
            ("PATCHES", self.patches.to_string()),
            ("JOBS", self.jobs.to_string()),
            ("LAST", self.jobs.saturating_sub(1).to_string()),
            ("THREADS", self.threads.to_string()),
            ("MEMORY", ByteSize(self.memory_bytes).rounded_up()),
            ("MEGABYTES", megabytes.to_string()),
            ("TIME", in_words(self.seconds)),
            ("CLOCK", clock(asked)),
            ("SECONDS", asked.to_string()),
            // Pods may have to wait for each other.
            ("ALL_SECONDS", asked.saturating_mul(self.jobs as u64).to_string()),
        ]
    }
}

/// A time as people say it.
fn in_words(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{} s", s.ceil().max(1.0)),
        s if s < 5400.0 => format!("{} min", (s / 60.0).ceil()),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// A time as Slurm writes it: days-hours:minutes:seconds.
fn clock(seconds: u64) -> String {
    let minutes = seconds.div_ceil(60);
    let (days, hours) = (minutes / 1440, minutes / 60 % 24);
    let day = if days > 0 { format!("{days}-") } else { String::new() };
    format!("{day}{hours:02}:{:02}:00", minutes % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_slurm_and_people_do() {
        assert_eq!([600, 3601, 100_000].map(clock), ["00:10:00", "01:01:00", "1-03:47:00"]);
        assert_eq!([0.2, 100.0, 7200.0].map(in_words), ["1 s", "2 min", "2.0 h"]);
    }
}
