//! A synthetic graph straight into files, without ever being in memory.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::SyntheticGraph;
use crate::graph::NodeIds;
use crate::progress::Progress;
use crate::run_dir::{UnfinishedFolder, is_standard_output};
use crate::write::{
    FeatureOutline, GraphSink, Outline, OutputFormat, WriteError, format_for, write_features_with,
    write_labels, write_with,
};

/// Where the parts of a graph go.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    /// The edges and all else the format holds; or a folder, if there are parts.
    pub graph: PathBuf,
    /// The format; if not given, the name tells. Parts are Parquet tables unless it or the name says
    /// otherwise.
    pub format: Option<OutputFormat>,
    /// How many files the edges are divided into, `part-00000.parquet` and so on; all in one if not
    /// given.
    pub parts: Option<usize>,
    /// Features, as `.npy` or `.npz`; needed where the format does not hold them.
    pub features: Option<PathBuf>,
    /// Labels, as comma-separated text.
    pub labels: Option<PathBuf>,
}

/// What has been written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Written {
    /// The number of nodes, with or without edges.
    pub nodes: usize,
    /// The number of undirected edges.
    pub edges: usize,
    /// The number of features per node.
    pub features: usize,
    /// The number of classes.
    pub classes: usize,
    /// All files, the graph first.
    pub files: Vec<PathBuf>,
}

impl SyntheticGraph {
    /// Generates the graph into files.
    ///
    /// # Errors
    /// [`WriteError::FeaturesHomeless`] if features have no place to go,
    /// [`WriteError::Refused`] if a file is asked for what the graph does not have,
    /// [`WriteError::File`] if writing fails or `progress` asks to stop. No file appears
    /// unless it is complete.
    pub fn write(&self, outputs: &Outputs, progress: &dyn Progress) -> Result<Written, WriteError> {
        let format = match outputs.parts {
            None => format_for(&outputs.graph, outputs.format)?,
            Some(_) => {
                let named = outputs.format.or_else(|| OutputFormat::of_name(&outputs.graph));
                named.unwrap_or(OutputFormat::Parquet)
            }
        };
        self.check(format, outputs)?;
        let edges = match outputs.parts {
            None => self.write_graph(&outputs.graph, format, progress)?,
            Some(num_parts) => self.write_parts(&outputs.graph, format, num_parts, progress)?,
        };
        if let (Some(path), Some(width)) = (&outputs.features, self.num_features()) {
            write_features_with(path, self.num_nodes, width, |sink| {
                self.for_each_feature_chunk(progress, |rows| stop_or(progress, || sink.push(&rows)))
            })?;
        }
        if let (Some(path), Some(labels)) = (&outputs.labels, &self.labels) {
            write_labels(labels, &NodeIds::Range(self.num_nodes), path)?;
        }
        let others = [&outputs.features, &outputs.labels].into_iter().flatten();
        Ok(Written {
            nodes: self.num_nodes,
            edges,
            features: self.num_features().unwrap_or(0),
            classes: self.labels.as_ref().map_or(0, |labels| labels.num_classes()),
            files: [&outputs.graph].into_iter().chain(others).cloned().collect(),
        })
    }

    fn check(&self, format: OutputFormat, outputs: &Outputs) -> Result<(), WriteError> {
        let refuse = |path: &Path, problem: &str| {
            Err(WriteError::Refused { path: path.to_owned(), problem: problem.into() })
        };
        match (&outputs.features, &self.features, &outputs.labels, &self.labels) {
            (Some(path), None, _, _) => refuse(path, "the graph has no features"),
            (_, _, Some(path), None) => refuse(path, "the graph has no labels"),
            (None, Some(_), _, _) if !format.holds_attributes() => {
                Err(WriteError::FeaturesHomeless { path: outputs.graph.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Writes edges and all else the format holds; returns the number of edges.
    fn write_graph(
        &self,
        path: &Path,
        format: OutputFormat,
        progress: &dyn Progress,
    ) -> Result<usize, WriteError> {
        let features = match self.num_features().filter(|_| format.holds_attributes()) {
            Some(width) => FeatureOutline::Rows { width },
            None => FeatureOutline::None,
        };
        let ids = NodeIds::Range(self.num_nodes);
        let labels = self.labels.as_ref();
        let outline = Outline { ids: &ids, labels, features, weighted: false, undirected: true };
        let mut num_edges = 0;
        write_with(path, format, &outline, |sink: &mut dyn GraphSink| {
            self.for_each_edge_chunk(progress, |chunk| {
                num_edges += chunk.pairs.len();
                stop_or(progress, || sink.push_edges(&chunk))
            })?;
            match features {
                FeatureOutline::Rows { .. } => self
                    .for_each_feature_chunk(progress, |rows| stop_or(progress, || sink.push_features(&rows))),
                _ => Ok(()),
            }
        })?;
        Ok(num_edges)
    }
}

impl SyntheticGraph {
    /// Writes the edges into several files of a folder, which appears complete or not at all; returns
    /// the number of edges.
    fn write_parts(
        &self,
        folder: &Path,
        format: OutputFormat,
        num_parts: usize,
        progress: &dyn Progress,
    ) -> Result<usize, WriteError> {
        let refuse = |problem: String| Err(WriteError::Refused { path: folder.to_owned(), problem });
        let Some(extension) = format.part_extension() else {
            return refuse("this format cannot be divided into parts; needed text, Parquet or .npy".into());
        };
        if num_parts == 0 || is_standard_output(folder) {
            return refuse("parts are files of a folder, at least one".into());
        }
        if folder.exists() && !is_empty_folder(folder) {
            return refuse("it exists already; parts need a new or an empty folder".into());
        }
        let ids = NodeIds::Range(self.num_nodes);
        let features = FeatureOutline::None;
        let outline = Outline { ids: &ids, labels: None, features, weighted: false, undirected: true };
        let unfinished = UnfinishedFolder::new(folder)?;
        let mut num_edges = 0;
        for part in 0..num_parts {
            let path = unfinished.path().join(format!("part-{part:05}.{extension}"));
            write_with(&path, format, &outline, |sink: &mut dyn GraphSink| {
                self.for_each_edge_chunk_of(part, num_parts, progress, |chunk| {
                    num_edges += chunk.pairs.len();
                    stop_or(progress, || sink.push_edges(&chunk))
                })
            })?;
        }
        unfinished.finish()?;
        Ok(num_edges)
    }
}

fn is_empty_folder(path: &Path) -> bool {
    path.read_dir().is_ok_and(|mut entries| entries.next().is_none())
}

/// Goes on, unless the person has asked to stop.
fn stop_or(progress: &dyn Progress, work: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    match progress.is_cancelled() {
        true => Err(io::Error::new(io::ErrorKind::Interrupted, "stopped on request")),
        false => work(),
    }
}
