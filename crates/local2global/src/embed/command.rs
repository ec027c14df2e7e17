//! Any external program, run once per patch.
//!
//! The program is given files in a private folder beside the coordinates, `.work-NAME-...`, which is
//! removed when it ends, and must write one:
//!
//! ```text
//! {edges}     .npy, (E x 2) u64: each edge once, nodes numbered by their row in the patch
//! {features}  .npy, (n x f) f32: one row per node
//! {nodes}     .npy, (n) u64: the nodes in the whole graph
//! {dim}       the number of coordinates
//! {seed}      a number of its own for each patch and run
//! {out}       where to put the coordinates: .npy, (n x dim), numbers of any type
//! ```
//!
//! Files that the command does not mention are not written. No shell is involved. What
//! comes out is checked like everything else; what the program says on its standard
//! error is part of the message if it fails.
//!
//! The program and all that it has started are ended when the work is cancelled, when it takes
//! longer than `embed.command_timeout`, and when the program itself is over ([`super::process`]).

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::given::read_coordinates;
use super::memory::PatchSize;
use super::process::ProcessGroup;
use super::{EmbedError, EmbedTask, Embedder, Embedding, PatchInput, Record};
use crate::graph::{Graph, NodeId};
use crate::run_dir::{FileError, make_work_folder, write_array};
use crate::seed::Seed;

/// How often a running program is asked whether it is done.
const POLL: Duration = Duration::from_millis(20);
/// How much of the end of the program's standard error is quoted.
const QUOTED_BYTES: usize = 400;

/// Runs an external program.
#[derive(Clone, Debug)]
pub struct Command {
    arguments: Vec<String>,
    /// How long it may take.
    limit: Option<Duration>,
}

impl Command {
    /// The program and its arguments, with placeholders, and how many seconds it may take; 0 means
    /// as long as it needs.
    pub fn new(arguments: Vec<String>, limit_seconds: f64) -> Self {
        let limit = Some(limit_seconds).filter(|&seconds| seconds > 0.0);
        // A time beyond what can be counted is no limit.
        Self { arguments, limit: limit.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) }
    }

    fn mentions(&self, placeholder: &str) -> bool {
        self.arguments.iter().any(|argument| argument.contains(placeholder))
    }

    /// Writes the files that the command mentions.
    fn write_inputs(&self, patch: &PatchInput<'_>, folder: &Path) -> Result<(), EmbedError> {
        if self.mentions("{edges}") {
            let edges = edges_once(patch.graph);
            write_array(&folder.join("edges.npy"), &[edges.len() / 2, 2], &edges)?;
        }
        if self.mentions("{nodes}") {
            let nodes: &[u64] = bytemuck::cast_slice(patch.nodes);
            write_array(&folder.join("nodes.npy"), &[nodes.len()], nodes)?;
        }
        if self.mentions("{features}") {
            let features = patch.graph.features().ok_or_else(|| EmbedError::Command {
                patch: patch.name.to_owned(),
                problem: "asks for {features}, but the graph has none".into(),
            })?;
            let shape = [features.num_rows(), features.width()];
            write_array(&folder.join("features.npy"), &shape, &features.filled())?;
        }
        Ok(())
    }

    fn spawn(
        &self,
        patch: &PatchInput<'_>,
        dim: usize,
        seed: Seed,
        folder: &Path,
    ) -> Result<ProcessGroup, EmbedError> {
        let path = |name: &str| folder.join(name).display().to_string();
        let fill = |argument: &String| {
            argument
                .replace("{edges}", &path("edges.npy"))
                .replace("{features}", &path("features.npy"))
                .replace("{nodes}", &path("nodes.npy"))
                .replace("{out}", &path("out.npy"))
                .replace("{dim}", &dim.to_string())
                .replace("{seed}", &seed.0.to_string())
        };
        let path_of_errors = folder.join("stderr");
        let errors = File::create(&path_of_errors).map_err(FileError::at("write", &path_of_errors))?;
        let arguments: Vec<String> = self.arguments.iter().map(fill).collect();
        let failed = |error: std::io::Error| EmbedError::Command {
            patch: patch.name.to_owned(),
            problem: format!("could not be started: `{}`: {error}", arguments[0]),
        };
        let mut command = std::process::Command::new(&arguments[0]);
        command.args(&arguments[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        ProcessGroup::start(&mut command).map_err(failed)
    }

    /// Runs the program to its end, or to its limit, or until somebody asks to stop. However that
    /// ends, nothing that it has started is left.
    fn run(
        &self,
        patch: &PatchInput<'_>,
        task: &EmbedTask<'_>,
        folder: &Path,
    ) -> Result<ExitStatus, EmbedError> {
        let &EmbedTask { dim, seed, progress, .. } = task;
        let started = Instant::now();
        let mut group = self.spawn(patch, dim, seed, folder)?;
        loop {
            let status = group.try_wait().map_err(|error| EmbedError::Command {
                patch: patch.name.to_owned(),
                problem: format!("could not be waited for: {error}"),
            })?;
            if let Some(status) = status {
                return Ok(status);
            }
            if progress.is_cancelled() {
                return Err(EmbedError::Cancelled { done: 0, total: 1 });
            }
            if let Some(limit) = self.limit.filter(|&limit| started.elapsed() >= limit) {
                let seconds = limit.as_secs_f64();
                return Err(EmbedError::CommandTimeout { patch: patch.name.to_owned(), seconds });
            }
            thread::sleep(POLL);
        }
    }
}

impl Embedder for Command {
    fn embed(&self, patch: &PatchInput<'_>, task: &EmbedTask<'_>) -> Result<Embedding, EmbedError> {
        let start = Instant::now();
        let folder: TempDir = make_work_folder(patch.folder, patch.name)?;
        self.write_inputs(patch, folder.path())?;
        let status = self.run(patch, task, folder.path())?;
        if !status.success() {
            let problem = format!("failed ({status}): {}", last_words(&folder.path().join("stderr")));
            return Err(EmbedError::Command { patch: patch.name.to_owned(), problem });
        }
        let coordinates = read_coordinates(&folder.path().join("out.npy"), patch, task.dim)?;
        task.progress.advance(1);
        let record = Record { seconds: start.elapsed().as_secs_f64(), ..Record::default() };
        Ok(Embedding { coordinates, record, encoder: None })
    }

    /// What our own process needs; what the external program needs is not known.
    fn memory_bytes(&self, size: &PatchSize, dim: usize) -> u64 {
        let features = if self.mentions("{features}") { size.dense_feature_bytes() } else { 0 };
        let edges = if self.mentions("{edges}") { 16 * size.num_edges as u64 } else { 0 };
        size.graph_bytes() + (features + edges).max(size.coordinate_bytes(dim))
    }
}

/// The edges of a patch, each once, as pairs of rows.
fn edges_once(graph: &Graph) -> Vec<u64> {
    let once = |u: NodeId, v: NodeId| u <= v || !graph.has_edge(v, u);
    let edges = graph.nodes().flat_map(|u| graph.neighbors(u).map(move |v| (u, v)));
    edges.filter(|&(u, v)| once(u, v)).flat_map(|(u, v)| [u.0, v.0]).collect()
}

/// The end of what a program wrote to its standard error.
fn last_words(path: &Path) -> String {
    let mut bytes = Vec::new();
    if File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)).is_err() || bytes.is_empty() {
        return "it said nothing".into();
    }
    let tail = &bytes[bytes.len().saturating_sub(QUOTED_BYTES)..];
    String::from_utf8_lossy(tail).trim().to_owned()
}
