//! About how long each stage takes.
//!
//! The work of a stage is counted in units of a few kernels, from the sizes of graph and patches, and
//! multiplied by what a unit takes on this machine (`probe.rs`). The factors below were measured once
//! per stage (`benchmarks/dry_run.py`). Where the folder has a stage that was done before on the same
//! graph, its own seconds count instead, and of the patches only those that are missing.

use rayon::current_num_threads;

use super::estimate::Needs;
use super::probe::Pace;
use super::{Pipeline, PipelineError, Reason, StageName, Stamp};
use crate::embed::{EmbedConfig, EmbedMethod};
use crate::evaluate::Task;
use crate::graph::store;
use crate::partition::PartitionMethod;
use crate::run_dir::{EmbeddingFolder, patch_name, read_json};

/// Work, in units of the kernels of the probe.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Work {
    /// On one thread.
    edges: f64,
    /// On all threads.
    parallel_edges: f64,
    entries: f64,
    flops: f64,
    bytes: f64,
    /// Files that are made.
    files: f64,
}

/// Seconds to make a small file, with its record.
const FILE_SECONDS: f64 = 4e-4;

/// Seconds that a stage takes whatever its size: settings, stamps, digests.
const STAGE_SECONDS: f64 = 0.01;

/// The nodes of the graph that the probe sorts.
const PROBED_NODES: f64 = (1 << 18) as f64;

impl Work {
    /// The seconds that it takes at this pace.
    pub(super) fn seconds(&self, pace: &Pace) -> f64 {
        let threads = current_num_threads().max(1) as f64;
        let parallel = pace.edges(self.parallel_edges) + pace.entries(self.entries) + pace.flops(self.flops);
        let serial = pace.edges(self.edges) + parallel / threads;
        STAGE_SECONDS + serial + pace.bytes(self.bytes) + self.files * FILE_SECONDS
    }
}

impl Needs<'_> {
    /// What a stage has to do.
    pub(super) fn work(&self, stage: StageName) -> Work {
        let shape = &self.shape;
        let entries = shape.graph.num_edges as f64;
        let (copies, patches) = (shape.copies as f64, shape.patches as f64);
        let [disk, temporary] = self.disk(stage).map(|bytes| bytes as f64);
        let bytes = disk + 2.0 * temporary;
        let misses = cache_misses(shape.graph.num_nodes);
        match stage {
            StageName::Graph => {
                let features = shape.graph.num_entries.or(shape.graph.num_features).unwrap_or(0) as f64;
                Work {
                    edges: 18.0 * entries + 8.0 * features,
                    bytes: 2.0 * bytes,
                    files: 6.0,
                    ..Work::default()
                }
            }
            StageName::Partition => {
                // Where neighbours are seldom neighbours of each other, graphs shrink slowly.
                let mixed = 1.0 - (shape.partition.clustering / 0.4).min(1.0);
                let visits = match &self.config.partition.method {
                    PartitionMethod::Auto(_) | PartitionMethod::Metis(_) => 40.0 + 110.0 * mixed,
                    PartitionMethod::Buffered(_) => 45.0 + 60.0 * mixed,
                    PartitionMethod::Fennel(fennel) => 3.0 * fennel.passes as f64,
                    PartitionMethod::Louvain(_) => 40.0,
                    PartitionMethod::Given(_) => 4.0,
                };
                Work { edges: misses * visits * entries, bytes, files: 2.0, ..Work::default() }
            }
            StageName::Patch => Work {
                edges: misses * 4.0 * entries,
                parallel_edges: misses * (10.0 * entries + 20.0 * copies),
                bytes,
                files: 2.0 * patches,
                ..Work::default()
            },
            StageName::Embed => self.embed_work(bytes),
            StageName::Align => self.align_work(bytes),
            StageName::Evaluate => self.evaluate_work(bytes),
        }
    }

    /// Training of all patches, and the frame before it.
    fn embed_work(&self, bytes: f64) -> Work {
        let (shape, embed) = (&self.shape, &self.config.embed);
        let patches = shape.patches as f64;
        let part = shape.graph.part(shape.patch_nodes);
        let mut work = patch_work(embed, shape.method, &part, shape.graph.num_nodes);
        let times = patches * f64::from(embed.runs);
        for count in [&mut work.parallel_edges, &mut work.entries, &mut work.flops] {
            *count *= times;
        }
        let frame = embed.has_common_frame(shape.method) && shape.method != EmbedMethod::Hops;
        if frame {
            let clusters = embed.walk_clusters.unwrap_or((shape.graph.num_nodes / 5).min(1000)) as f64;
            work.flops += 2.0 * 60.0 * clusters.powi(3);
            work.parallel_edges += 30.0 * shape.graph.num_edges as f64;
        }
        work.parallel_edges += 10.0 * part.num_edges as f64 * times;
        Work { bytes, files: 2.0 * patches, ..work }
    }

    /// Rotations, judging, refining and streaming; what patches learned, once more.
    fn align_work(&self, bytes: f64) -> Work {
        let (shape, align) = (&self.shape, &self.config.align);
        let dim = shape.dim as f64;
        let (links, rows, copies) = (shape.links as f64, shape.shared_rows as f64, shape.copies as f64);
        let solutions = if align.judge { 2.0 } else { 1.0 };
        let refined = copies - shape.graph.num_nodes as f64 + shape.shared_nodes as f64;
        let refining = if align.refines() { solutions * 40.0 * refined * dim * dim } else { 0.0 };
        let solving = solutions * (links * 400.0 * dim.powi(3) + 12.0 * rows * dim * dim);
        let streaming = 4.0 * copies * dim * dim + 40.0 * copies * dim;
        let late = self.late_bytes().map_or(0.0, |_| shape.graph.num_edges as f64 * 4.0 * dim);
        let flops = refining + solving + streaming;
        // Every coordinate is read and moved several times: fitted, judged, averaged.
        let moved = 38.0 * copies * dim;
        let parallel_edges = 10.0 * rows + moved;
        Work { flops, entries: late, parallel_edges, bytes, files: 6.0, ..Work::default() }
    }

    /// Pairs of nodes, and classifiers.
    fn evaluate_work(&self, bytes: f64) -> Work {
        let (size, config) = (&self.shape.evaluate, &self.config.evaluate);
        let dim = self.shape.dim as f64;
        let contenders = 3.0 + f64::from(u8::from(size.features > 0)) * 2.0;
        let mut work = Work { bytes, files: 2.0, ..Work::default() };
        work.entries += 2.0 * size.nodes as f64 * dim;
        for task in self.tasks() {
            match task {
                Task::Reconstruction | Task::LinkPrediction => {
                    let pairs = (size.entries as f64 / 2.0).min(config.num_pairs() as f64);
                    work.edges += 250.0 * pairs;
                    work.entries += 8.0 * contenders * pairs * dim;
                }
                Task::Classification => {
                    let nodes = (size.nodes as f64).min(config.num_labelled() as f64);
                    let fits = contenders * config.num_splits(nodes as usize) as f64;
                    let steps = 2.0 * 100.0 * config.train_share + 1.0;
                    // An exponential function for each class takes as long as some 70 coordinates.
                    work.flops += fits * steps * nodes * 4.0 * (dim + 70.0) * size.classes as f64;
                }
            }
        }
        work
    }
}

/// By how much longer an edge takes than in the probe, whose graph the cache holds in part.
fn cache_misses(num_nodes: usize) -> f64 {
    1.0 + 0.3 * (num_nodes as f64 / PROBED_NODES).log2().max(0.0)
}

/// The work of one run of one patch.
fn patch_work(
    embed: &EmbedConfig,
    method: EmbedMethod,
    part: &crate::embed::memory::PatchSize,
    num_nodes: usize,
) -> Work {
    let (nodes, edges, dim) = (part.num_nodes as f64, part.num_edges as f64, embed.dim as f64);
    let epochs = f64::from(embed.training().epochs);
    let features = part.num_features.unwrap_or(0) as f64;
    match method {
        EmbedMethod::Spectral => {
            let (columns, times) = (dim + 10.0, f64::from(embed.power_iterations) + 1.0);
            let flops = 34.0 * times * nodes * columns * columns;
            Work { entries: 2.9 * times * edges * columns, flops, ..Work::default() }
        }
        EmbedMethod::Hops | EmbedMethod::Auto => {
            let width = features.min(embed.basis as f64);
            let flops = epochs * 24.0 * nodes * width * dim;
            Work { entries: epochs * 40.0 * edges * dim, flops, ..Work::default() }
        }
        EmbedMethod::Walks => {
            let clusters = embed.walk_clusters.unwrap_or((num_nodes / 5).min(1000)) as f64;
            let window = embed.window.unwrap_or(10) as f64;
            let flops = 6.5 * nodes * clusters * dim + 190.0 * nodes * clusters;
            Work { entries: 3.3 * window * edges * clusters, flops, ..Work::default() }
        }
        EmbedMethod::Both => {
            let [hops, walks] = method.dims(embed.dim);
            let of = |method, dim| patch_work(&EmbedConfig { dim, ..embed.clone() }, method, part, num_nodes);
            let [a, b] = [of(EmbedMethod::Hops, hops), of(EmbedMethod::Walks, walks)];
            Work { entries: a.entries + b.entries, flops: a.flops + b.flops, ..Work::default() }
        }
        EmbedMethod::Vgae | EmbedMethod::Gae | EmbedMethod::Dgi => {
            let hidden = embed.hidden * dim;
            let input = part.num_entries.map_or(nodes * features.max(1.0), |entries| entries as f64);
            let entries =
                epochs * (9.0 * edges * (hidden + 2.0 * dim) + 9.0 * edges * dim + 7.0 * input * hidden);
            Work { entries, flops: epochs * 27.0 * nodes * hidden * dim, ..Work::default() }
        }
        // Nobody knows what another program does.
        EmbedMethod::Command | EmbedMethod::Given => Work::default(),
    }
}

impl Pipeline<'_> {
    /// About how many seconds training of all patches takes a single thread of this machine; patches are
    /// there already.
    ///
    /// # Errors
    /// [`PipelineError`] if the graph of the run cannot be opened.
    pub fn training_seconds(&self) -> Result<f64, PipelineError> {
        let graph = store::open(&self.run.graph())?.0;
        let needs = Needs::of(&self.config, &graph, self.patch_report().as_ref())?;
        let seconds = needs.work(StageName::Embed).seconds(&Pace::probe(self.run.root()));
        Ok(seconds * current_num_threads().max(1) as f64)
    }

    /// The seconds that each stage would take; 0 for those that are kept.
    pub(super) fn seconds(&self, needs: &Needs<'_>, reasons: &[(StageName, Option<Reason>)]) -> Vec<f64> {
        if reasons.iter().all(|(_, reason)| reason.is_none()) {
            return vec![0.0; reasons.len()];
        }
        let pace = Pace::probe(self.run.root());
        let same_graph = reasons.iter().any(|(stage, why)| *stage == StageName::Graph && why.is_none());
        let of_stage = |(stage, reason): &(StageName, Option<Reason>)| {
            if reason.is_none() {
                return 0.0;
            }
            let told = needs.work(*stage).seconds(&pace);
            let before = Stamp::read(&stage.folder(self.run)).filter(|_| same_graph);
            let unchanged =
                matches!(reason, Some(Reason::Damaged(_) | Reason::After(_) | Reason::Unfinished));
            match (stage, before) {
                (StageName::Embed, _) => self.embed_seconds(needs, told, reason.as_ref()),
                (_, Some(stamp)) if unchanged && stamp.seconds > 0.0 => stamp.seconds,
                _ => told,
            }
        };
        reasons.iter().map(of_stage).collect()
    }

    /// Patches whose records are there are kept, if nothing they depend on has changed; the others take
    /// as long as those did.
    fn embed_seconds(&self, needs: &Needs<'_>, told: f64, reason: Option<&Reason>) -> f64 {
        if !matches!(reason, Some(Reason::Unfinished | Reason::Damaged(_))) {
            return told;
        }
        let folder: EmbeddingFolder = self.run.embeddings();
        let seconds = |index: usize| {
            let record: serde_json::Value = read_json(&folder.record(&patch_name(index))).ok()?;
            record.get("seconds")?.as_f64()
        };
        let patches = needs.shape.patches;
        let done: Vec<f64> = (0..patches).filter_map(seconds).collect();
        if done.is_empty() {
            return told;
        }
        let mean = done.iter().sum::<f64>() / done.len() as f64;
        let threads = current_num_threads().min(patches).max(1) as f64;
        mean * (patches - done.len().min(patches)) as f64 / threads
    }
}
