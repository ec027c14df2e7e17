//! Any external program, run once per patch.
//!
//! The program is given files in a temporary folder and must write one:
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

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::given::read_coordinates;
use super::memory::PatchSize;
use super::{EmbedError, EmbedTask, Embedder, Embedding, PatchInput, Record};
use crate::graph::{Features, Graph, NodeId};
use crate::progress::Progress;
use crate::run_dir::{FileError, write_array};
use crate::seed::Seed;

/// How often a running program is asked whether it is done.
const POLL: Duration = Duration::from_millis(20);
/// How much of the program's last words is quoted.
const QUOTED_BYTES: usize = 400;

/// Runs an external program.
#[derive(Clone, Debug)]
pub struct Command {
    arguments: Vec<String>,
}

impl Command {
    /// The program and its arguments, with placeholders.
    pub fn new(arguments: Vec<String>) -> Self {
        Self { arguments }
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
            write_array(&folder.join("features.npy"), &shape, &filled(features))?;
        }
        Ok(())
    }

    fn spawn(
        &self,
        patch: &PatchInput<'_>,
        dim: usize,
        seed: Seed,
        folder: &Path,
    ) -> Result<Child, EmbedError> {
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
        let words = folder.join("stderr");
        let words = File::create(&words).map_err(FileError::at("write", &words))?;
        let arguments: Vec<String> = self.arguments.iter().map(fill).collect();
        let failed = |error: std::io::Error| EmbedError::Command {
            patch: patch.name.to_owned(),
            problem: format!("could not be started: `{}`: {error}", arguments[0]),
        };
        std::process::Command::new(&arguments[0])
            .args(&arguments[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(words)
            .spawn()
            .map_err(failed)
    }
}

impl Embedder for Command {
    fn embed(&self, patch: &PatchInput<'_>, task: &EmbedTask<'_>) -> Result<Embedding, EmbedError> {
        let &EmbedTask { dim, seed, progress, .. } = task;
        let start = Instant::now();
        let temporary = std::env::temp_dir();
        let folder = tempfile::Builder::new()
            .prefix("l2g-embed-")
            .tempdir()
            .map_err(FileError::at("write in", &temporary))?;
        self.write_inputs(patch, folder.path())?;
        let status = wait(self.spawn(patch, dim, seed, folder.path())?, patch, progress)?;
        if !status.success() {
            let problem = format!("failed ({status}): {}", last_words(&folder.path().join("stderr")));
            return Err(EmbedError::Command { patch: patch.name.to_owned(), problem });
        }
        let coordinates = read_coordinates(&folder.path().join("out.npy"), patch, dim)?;
        progress.advance(1);
        let record = Record { seconds: start.elapsed().as_secs_f64(), ..Record::default() };
        Ok(Embedding { coordinates, record, encoder: None })
    }

    /// What this program needs; what the other one needs is not known.
    fn memory_bytes(&self, size: &PatchSize, dim: usize) -> u64 {
        let features = if self.mentions("{features}") { size.dense_feature_bytes() } else { 0 };
        let edges = if self.mentions("{edges}") { 16 * size.num_edges as u64 } else { 0 };
        size.graph_bytes() + (features + edges).max(size.coordinate_bytes(dim))
    }
}

/// Waits for a program; when somebody asks to stop, it is stopped too.
fn wait(mut child: Child, patch: &PatchInput<'_>, progress: &dyn Progress) -> Result<ExitStatus, EmbedError> {
    loop {
        let status = child.try_wait().map_err(|error| EmbedError::Command {
            patch: patch.name.to_owned(),
            problem: format!("could not be waited for: {error}"),
        })?;
        if let Some(status) = status {
            return Ok(status);
        }
        if progress.is_cancelled() {
            // It may have ended by itself meanwhile: then there is nothing to stop.
            child.kill().and_then(|()| child.wait()).ok();
            return Err(EmbedError::Cancelled { done: 0, total: 1 });
        }
        thread::sleep(POLL);
    }
}

/// The edges of a patch, each once, as pairs of rows.
fn edges_once(graph: &Graph) -> Vec<u64> {
    let once = |u: NodeId, v: NodeId| u <= v || !graph.has_edge(v, u);
    let edges = graph.nodes().flat_map(|u| graph.neighbors(u).map(move |v| (u, v)));
    edges.filter(|&(u, v)| once(u, v)).flat_map(|(u, v)| [u.0, v.0]).collect()
}

/// All feature values, zeros included.
fn filled(features: &Features) -> Vec<f32> {
    match features {
        Features::Dense(dense) => dense.values().to_vec(),
        Features::Sparse(sparse) => {
            let width = features.width();
            let mut values = vec![0.0; features.num_rows() * width];
            for row in 0..features.num_rows() {
                let (columns, entries) = sparse.row(NodeId::new(row));
                for (&column, &entry) in columns.iter().zip(entries) {
                    values[row * width + column as usize] = entry;
                }
            }
            values
        }
    }
}

/// The end of what a program said.
fn last_words(path: &Path) -> String {
    let mut bytes = Vec::new();
    if File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)).is_err() || bytes.is_empty() {
        return "it said nothing".into();
    }
    let tail = &bytes[bytes.len().saturating_sub(QUOTED_BYTES)..];
    String::from_utf8_lossy(tail).trim().to_owned()
}
