//! The experiment of the paper: is an embedding stitched from patches as good as one
//! trained on the whole graph?
//!
//! For each dimension `d`, a graph is embedded in three ways, and each embedding is asked
//! to tell edges from non-edges:
//!
//! ```text
//! full       the best of R runs on the whole graph
//! l2g        the best of R runs on each patch, stitched
//! no-trans   the same patches, averaged without moving them
//! ```
//!
//! `l2g` and `no-trans` come twice, over the same clusters and the same patch graph: in
//! the setting of the paper, where patches cover the nodes and a node goes to the plain
//! mean of its copies, and as set, which is what a run does with the same settings ([`Setting`]).
//! `full` is one patch that holds all nodes. Where the method has a common frame, it is made once
//! for each dimension, and all are sent the same. The score is the reconstruction AUC over all
//! edges and as many non-edges, the same for every embedding.
//!
//! That much is in the paper. Then the same is done for several splits of the edges, by the same
//! code: a tenth of them is held out, what is left gets clusters, patches and embeddings of its
//! own, and these are asked to tell held-out edges from non-edges and, if there are labels, the
//! classes of nodes. The scores are those of the stage `evaluate`; mean and standard deviation
//! over splits stand beside reconstruction. With `splits = 0` there is the paper's experiment alone.
//!
//! Patches are made once, for the largest `d`: overlaps that fix a rotation there fix it
//! in fewer dimensions too. So all dimensions see the same patches, as in the paper.
//!
//! ```text
//! OUT/2-partition/   OUT/paper/3-patches/   OUT/ours/3-patches/
//! OUT/d=016/frame/                                the common frame, for methods that have one
//! OUT/d=016/full/4-embeddings/
//! OUT/d=016/paper/4-embeddings/  5-alignment/     and the same for ours
//! OUT/split-0/                                    all of that for each split
//! OUT/scores.json  table.md  figure.svg           rewritten after every dimension
//! OUT/timings.json                                how long training took
//! OUT/run.toml                                    every setting
//! ```
//!
//! Trained patches are kept by the digest of their inputs, so a rerun does only what is
//! missing. A patch that is the same in both settings is trained once. The same seed gives
//! the same bytes on any number of threads; only `timings.json` differs.
//! Cost: that of training, `R` times for each dimension: the whole graph, and twice about
//! the oversampling ratio as much for the patches; and as much again for each split.
//!
//! Source: section 4.4 of the paper, and its figure.

mod curves;

mod error;

mod named;

mod panel;

mod patch_set;

mod score;

mod setting;

mod split;

pub mod svg;

mod table;

mod trial;

pub use curves::Curves;
pub use error::ExperimentError;
pub use setting::Setting;
pub use split::{HOLD_OUT, SplitSummary};
pub use table::{Row, SettingSummary, Table};

use std::borrow::Cow;
use std::path::Path;

use serde::Serialize;

use crate::config::{Config, ExperimentConfig};
use crate::embed::memory::PatchSize;
use crate::embed::{EmbedConfig, EmbedMethod};
use crate::evaluate::reconstruction::sample_non_edges;
use crate::graph::{Graph, NodeId};
use crate::memory::{self, TooSmall};
use crate::progress::Progress;
use crate::run_dir::{ExperimentFolder, FileError, RunDir, write_atomically, write_json};
use crate::seed::Stage;
use split::make_splits;
use trial::{TrainSeconds, Trials};

/// The dimensions to embed in, ascending, each once.
fn ascending_dims(config: &ExperimentConfig) -> Result<Vec<usize>, ExperimentError> {
    let mut dims = config.dims.clone();
    dims.sort_unstable();
    dims.dedup();
    match dims.first() {
        Some(&first) if first > 0 => Ok(dims),
        _ => Err(ExperimentError::Setting {
            key: "experiment.dims",
            found: format!("{:?}", config.dims),
            needed: "one or more numbers from 1",
        }),
    }
}

/// One dimension that has been dealt with.
#[derive(Clone, Copy, Debug)]
pub struct Finished<'a> {
    /// Its scores.
    pub row: &'a Row,
    /// Patches that were embedded for it now, splits included, a whole graph counting as one.
    pub embedded: usize,
    /// Patches that were there already.
    pub kept: usize,
}

/// Runs the experiment on a graph, into a folder.
///
/// When settings are checked and patches made, the settings are written to `run.toml`. After each
/// dimension, files are rewritten and `finished` is called.
///
/// # Errors
/// [`ExperimentError`] for settings that make no sense, before anything is trained, or
/// with the dimension and the patches that failed. What has been trained stays on disk.
///
/// # Examples
/// ```
/// use local2global::config::Config;
/// use local2global::experiment::experiment;
/// use local2global::graph::{BuildOptions, EdgeList, build};
/// use local2global::progress::Silent;
///
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// // A ring of 120 nodes in which every node knows the next three.
/// let edges = (0..120_u32).flat_map(|node| (1..4).map(move |step| [node, (node + step) % 120]));
/// let graph = build(EdgeList::from_pairs(edges.collect()), 120, &BuildOptions::default()).graph;
/// let settings = "[embed]\nmethod = \"spectral\"\n[experiment]\ndims = [2, 4]\nruns = 1";
/// let config = Config::new(settings, &["partition.clusters=3".into()])?;
/// let table = experiment(&graph, &config, folder, &Silent, |_| ())?;
/// assert_eq!(table.rows.len(), 2);
/// let row = table.rows[1];
/// assert!(row.reconstruction.l2g > row.reconstruction.no_trans);
/// assert!(row.link_prediction.is_some_and(|auc| auc.l2g.mean > 0.5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn experiment(
    graph: &Graph,
    config: &Config,
    folder: &Path,
    progress: &dyn Progress,
    mut finished: impl FnMut(&Finished<'_>),
) -> Result<Table, ExperimentError> {
    let settings = config.experiment.clone().unwrap_or_default();
    let dims = ascending_dims(&settings)?;
    let embed = EmbedConfig { runs: settings.runs, ..config.embed.clone() };
    check(graph, config, &embed, &dims)?;
    if settings.splits > 0 {
        split::check(graph, config)?;
    }
    let dim = *dims.last().expect("there is at least one dimension");
    let all = Config { embed: EmbedConfig { dim, ..embed }, ..config.clone() };
    let whole = Trials::new(Cow::Borrowed(graph), all.clone(), folder, progress)?;
    let splits = make_splits(graph, &all, settings.splits, folder, progress)?;
    config.write(&RunDir::new(folder).settings(), "experiment")?;
    let mut table = Table::new(graph, &all, &whole.sets, &splits);
    let mut timings = Vec::new();
    for (index, &dim) in dims.iter().enumerate() {
        let place = format!("d = {dim} ({} of {})", index + 1, dims.len());
        let trained = whole.train(dim, &place, progress)?;
        let (mut embedded, mut kept) = (trained.embedded, trained.kept);
        let reconstruction = whole.reconstruction(dim)?;
        timings.push(trained.seconds);
        let mut scores = Vec::new();
        for (index, split) in splits.iter().enumerate() {
            let place = format!("{place}, split {} of {}", index + 1, splits.len());
            let trained = split.train(dim, &place, progress)?;
            (embedded, kept) = (embedded + trained.embedded, kept + trained.kept);
            timings.push(TrainSeconds { split: Some(index), ..trained.seconds });
            scores.push(split.split_scores(dim, progress)?);
        }
        table.push(dim, trained.chosen, reconstruction, &scores);
        save(folder, &table, &timings)?;
        finished(&Finished { row: &table.rows[index], embedded, kept });
    }
    Ok(table)
}

/// Refuses what would fail after hours of training.
fn check(graph: &Graph, config: &Config, embed: &EmbedConfig, dims: &[usize]) -> Result<(), ExperimentError> {
    let largest = dims.last().copied().unwrap_or_default();
    let whole: Vec<NodeId> = graph.nodes().collect();
    let training = embed.embedder().memory_bytes(&PatchSize::new(graph, &whole), largest);
    // At least two patches have a rotation each.
    let needed = training.saturating_add((16 * largest as u64).saturating_mul(largest as u64));
    if let Some(TooSmall { there, .. }) = memory::machine_too_small_for(needed) {
        return Err(ExperimentError::Memory { dim: largest, needed: needed >> 30, there: there >> 30 });
    }
    if embed.each().any(|embed| embed.method == EmbedMethod::Given) {
        let needed = "a method that embeds, since every dimension is embedded anew";
        return Err(ExperimentError::Setting { key: "embed.method", found: "given".into(), needed });
    }
    for &dim in dims {
        let embed = EmbedConfig { dim, ..embed.clone() };
        embed.check().map_err(|source| ExperimentError::Prepare { dim, source: Box::new(source) })?;
    }
    let mut random = config.seed.stream(Stage::Evaluate, 0);
    match graph.num_edges() == 0 || sample_non_edges(graph, 1, &mut random).is_empty() {
        true => Err(ExperimentError::NoScore),
        false => Ok(()),
    }
}

/// How long training took, for `timings.json`.
#[derive(Serialize)]
struct Timings<'a> {
    version: &'static str,
    threads: usize,
    train_seconds: &'a [TrainSeconds],
}

/// Writes what is known so far.
fn save(folder: &Path, table: &Table, train_seconds: &[TrainSeconds]) -> Result<(), FileError> {
    let (version, threads) = (env!("CARGO_PKG_VERSION"), rayon::current_num_threads());
    let folder = ExperimentFolder::at(folder);
    write_json(&folder.timings(), &Timings { version, threads, train_seconds })?;
    write_text(&folder.table(), &table.to_markdown())?;
    write_text(&folder.figure(), &table.figure())?;
    write_json(&folder.scores(), table)
}

fn write_text(path: &Path, text: &str) -> Result<(), FileError> {
    use std::io::Write;
    write_atomically(path, |sink| sink.write_all(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_are_put_in_order() {
        let dims =
            |dims: &[usize]| ascending_dims(&ExperimentConfig { dims: dims.to_vec(), ..Default::default() });
        assert_eq!(dims(&[8, 2, 8, 4]).unwrap(), [2, 4, 8]);
        let error = dims(&[4, 0]).unwrap_err().to_string();
        assert_eq!(error, "setting `experiment.dims` is [4, 0]; needed one or more numbers from 1");
        assert!(dims(&[]).is_err());
    }
}
