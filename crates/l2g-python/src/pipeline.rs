//! The stages joined, in a run folder.
//!
//! What `l2g run` does, with a graph that is there already, and with room for an embedder
//! that is written in Python: it is called between the two halves, and puts its coordinates
//! into `4-embeddings` as any other embedder does.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use local2global::align::{AlignFilesError, Diagnostics, align_run};
use local2global::config::Config;
use local2global::embed::{EmbedError, Summary, embed_run};
use local2global::graph::store;
use local2global::partition::{PartitionError, PartitionReport, partition, write_partition};
use local2global::patch::{PatchError, PatchReport, make_patches, write_patches};
use local2global::progress::Progress;
use local2global::run_dir::{FileError, RunDir, write_atomically};
use pyo3::prelude::*;
use serde::Serialize;

use crate::errors::Raise;
use crate::graph::Graph;
use crate::json::to_python;
use crate::settings::Settings;
use crate::work::Work;

/// What a run did, and how long each stage took.
#[derive(Serialize)]
struct Report {
    partition: PartitionReport,
    patch: PatchReport,
    embed: Option<Summary>,
    align: Diagnostics,
    seconds: Seconds,
}

#[derive(Default, Serialize)]
struct Seconds {
    split: f64,
    embed: f64,
    align: f64,
}

/// What can go wrong on the way.
enum RunError {
    File(FileError),
    Partition(PartitionError),
    Patch(PatchError),
    Embed(EmbedError),
    Align(AlignFilesError),
}

/// Goes the whole way in a run folder: from the graph to the stitched embedding.
///
/// `embed` is called with nothing in place of the embed stage, if it is given.
#[pyfunction]
#[pyo3(signature = (graph, settings, folder, embed=None, threads=None, progress=None))]
pub(crate) fn run<'py>(
    py: Python<'py>,
    graph: &Graph,
    settings: &Settings,
    folder: PathBuf,
    embed: Option<Bound<'py, PyAny>>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (run, config, work) = (RunDir::new(folder), &settings.config, Work::new(threads, progress));
    let mut seconds = Seconds::default();
    let (partition, patch) =
        timed(&mut seconds.split, || work.run(py, |progress| split(&run, graph, config, progress)))?;
    let embed = timed(&mut seconds.embed, || match embed {
        Some(embed) => embed.call0().map(|_| None),
        None => work.run(py, |progress| {
            embed_run(&run, &config.embed, None, config.seed, progress).map(Some).map_err(RunError::Embed)
        }),
    })?;
    let align = timed(&mut seconds.align, || {
        work.run(py, |progress| {
            align_run(&run, &config.align, config.seed, progress).map_err(RunError::Align)
        })
    })?;
    to_python(py, &Report { partition, patch, embed, align, seconds })
}

/// Graph -> clusters -> patches, and all three onto disk.
fn split(
    run: &RunDir,
    graph: &Graph,
    config: &Config,
    progress: &dyn Progress,
) -> Result<(PartitionReport, PatchReport), RunError> {
    let Config { seed, embed, patch, .. } = config;
    let Graph { graph, summary } = graph;
    write_settings(run, config)?;
    store::write(&run.graph(), graph, summary)?;
    let smallest = patch.overlap_bounds(embed.dim)?.half_min();
    let clusters = partition(graph, &config.partition, smallest, *seed, progress)?;
    let quality = PartitionReport::of(graph, &clusters);
    write_partition(run, &clusters, &quality)?;
    let (patches, report) = make_patches(graph, &clusters, patch, embed.dim, *seed, progress)?;
    write_patches(run, &patches, &report)?;
    Ok((quality, report))
}

/// Writes the settings, so that the run can be repeated.
fn write_settings(run: &RunDir, config: &Config) -> Result<(), FileError> {
    let version = env!("CARGO_PKG_VERSION");
    write_atomically(&run.settings(), |sink| {
        writeln!(sink, "# local2global {version}; settings of a run from Python\n{}", config.to_toml())
    })
}

/// Does some work and notes how long it took.
fn timed<T>(seconds: &mut f64, work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let started = Instant::now();
    let result = work();
    *seconds = started.elapsed().as_secs_f64();
    result
}

impl Raise for RunError {
    fn raise(self) -> PyErr {
        match self {
            Self::File(error) => error.raise(),
            Self::Partition(error) => error.raise(),
            Self::Patch(error) => error.raise(),
            Self::Embed(error) => error.raise(),
            Self::Align(error) => error.raise(),
        }
    }
}

impl From<FileError> for RunError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

impl From<PartitionError> for RunError {
    fn from(error: PartitionError) -> Self {
        Self::Partition(error)
    }
}

impl From<PatchError> for RunError {
    fn from(error: PatchError) -> Self {
        Self::Patch(error)
    }
}
