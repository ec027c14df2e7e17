//! The splits of the edges: graphs with some of them held out, to be predicted.
//!
//! Each split has a seed of its own, which decides about everything in it: the edges held out, the
//! clusters, the patches, training, and the nodes that classifiers are trained on. So a split in the
//! largest dimension is what `l2g run --hold-out 0.1 --seed SEED` does, and the spread over splits
//! is that of whole runs.

use std::borrow::Cow;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::ExperimentError;
use super::trial::Trials;
use crate::config::Config;
use crate::evaluate::Stream;
use crate::graph::Graph;
use crate::graph::held_out::{HeldOut, hold_out};
use crate::progress::Progress;
use crate::seed::{Seed, Stage};

/// The share of the edges that a split holds out.
pub const HOLD_OUT: f64 = 0.1;

/// What a split is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitSummary {
    /// The seed of all chance in it.
    pub seed: Seed,
    /// The edges that were held out.
    pub held_out: usize,
}

/// The seed of a split, one that settings and flags can name: TOML has no larger numbers.
fn seed_of_split(seed: Seed, split: u32) -> Seed {
    Seed(seed.child(Stage::Evaluate, Stream::EdgeSplits as u64 + u64::from(split)).0 >> 1)
}

/// Refuses settings that mean nothing where there are splits.
pub(super) fn check(graph: &Graph, config: &Config) -> Result<(), ExperimentError> {
    let refuse = |key, found: String, needed| Err(ExperimentError::Setting { key, found, needed });
    if graph.held_out().is_some() {
        let needed = "0, since each split holds out edges of the whole graph";
        return refuse("graph.hold_out", config.graph.hold_out.to_string(), needed);
    }
    if let Some(name) = config.embed.patches.keys().next() {
        let needed = "no settings of single patches, since each split has patches of its own";
        return refuse("embed.patches", format!("one of `{name}`"), needed);
    }
    Ok(config.evaluate.check()?)
}

/// The splits of a graph with their patches, each in a folder of its own.
pub(super) fn make_splits(
    graph: &Graph,
    config: &Config,
    count: u32,
    folder: &Path,
    progress: &dyn Progress,
) -> Result<Vec<Trials<'static>>, ExperimentError> {
    let make = |split| {
        let config = Config { seed: seed_of_split(config.seed, split), ..config.clone() };
        let training = hold_out(graph.clone(), HOLD_OUT, config.seed)?;
        config.evaluate.check_for(&training)?;
        let folder = folder.join(format!("split-{split}"));
        Trials::new(Cow::Owned(training), config, &folder, progress)
    };
    (0..count).map(make).collect()
}

impl SplitSummary {
    /// Of one split.
    pub(super) fn of(split: &Trials<'_>) -> Self {
        let held_out = split.graph().held_out().map_or(0, |pairs: &HeldOut| pairs.edges().len());
        Self { seed: split.seed(), held_out }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_split_of_every_seed_has_a_seed_of_its_own() {
        let seeds = (0..4).flat_map(|seed| (0..8).map(move |split| seed_of_split(Seed(seed), split).0));
        let mut seeds: Vec<u64> = seeds.collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 32);
        assert!(seeds.iter().all(|&seed| i64::try_from(seed).is_ok()));
    }
}
