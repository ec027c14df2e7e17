//! Graphs in `.npz` archives: the gnn-benchmark layout, and scipy's sparse matrix.
//!
//! Both keep the adjacency matrix as compressed sparse rows. The benchmark layout has
//! `adj_*`, `attr_*` (features), `labels`, `node_names`, `class_names`; scipy has
//! `indptr`, `indices`, `data`, `shape`, `format`. Names of nodes go into `node_names`
//! in both: scipy does not mind.

use std::io::{self, Seek, Write};
use std::path::Path;

use super::archive::ArchiveWriter;
use super::csr::CsrSpool;
use super::{FeatureOutline, GraphSink, Outline, invalid};
use crate::graph::Labels;
use crate::graph::NodeIds;
use crate::graph::edge_list::EdgeChunk;
use crate::graph::features::SparseFeatures;
use crate::graph::labels::LabelKind;

fn adjacency(folder: &Path, outline: &Outline<'_>) -> io::Result<CsrSpool> {
    CsrSpool::new(folder, outline.num_nodes(), outline.num_nodes(), outline.weighted)
}

/// A sparse matrix for scipy in the making.
pub(super) struct ScipySink<'a, W> {
    file: W,
    adjacency: CsrSpool,
    ids: &'a NodeIds,
}

impl<'a, W> ScipySink<'a, W> {
    pub(super) fn new(file: W, folder: &Path, outline: &Outline<'a>) -> io::Result<Self> {
        Ok(Self { file, adjacency: adjacency(folder, outline)?, ids: outline.ids })
    }
}

impl<W: Write + Seek + Send> GraphSink for ScipySink<'_, W> {
    fn push_edges(&mut self, edges: &EdgeChunk<u64>) -> io::Result<()> {
        self.adjacency.push_edges(edges)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        let mut archive = ArchiveWriter::new(self.file);
        archive.byte_string("format", "csr")?;
        self.adjacency.write_into(&mut archive, "")?;
        archive.node_names(self.ids)?;
        archive.finish()
    }
}

/// A graph in the gnn-benchmark layout in the making.
pub(super) struct BenchmarkSink<'a, W> {
    file: W,
    adjacency: CsrSpool,
    features: Option<CsrSpool>,
    dense: Option<(usize, &'a [f32])>,
    labels: Option<&'a Labels>,
    ids: &'a NodeIds,
}

impl<'a, W> BenchmarkSink<'a, W> {
    pub(super) fn new(file: W, folder: &Path, outline: &Outline<'a>) -> io::Result<Self> {
        let adjacency = adjacency(folder, outline)?;
        let (features, dense) = match outline.features {
            FeatureOutline::None => (None, None),
            FeatureOutline::Dense { width, values } => (None, Some((width, values))),
            FeatureOutline::Rows { width } => {
                (Some(CsrSpool::new(folder, outline.num_nodes(), width, true)?), None)
            }
        };
        Ok(Self { file, adjacency, features, dense, labels: outline.labels, ids: outline.ids })
    }
}

impl<W: Write + Seek + Send> GraphSink for BenchmarkSink<'_, W> {
    fn push_edges(&mut self, edges: &EdgeChunk<u64>) -> io::Result<()> {
        self.adjacency.push_edges(edges)
    }

    fn push_features(&mut self, rows: &SparseFeatures) -> io::Result<()> {
        match &mut self.features {
            Some(features) => features.push_rows(rows),
            None => Err(invalid("features were not announced")),
        }
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        let mut archive = ArchiveWriter::new(self.file);
        self.adjacency.write_into(&mut archive, "adj_")?;
        if let Some(features) = self.features {
            features.write_into(&mut archive, "attr_")?;
        }
        if let Some((width, values)) = self.dense {
            archive.array("attr_matrix", &[self.ids.len(), width], values)?;
        }
        if let Some(labels) = self.labels {
            write_labels(&mut archive, labels)?;
        }
        archive.node_names(self.ids)?;
        archive.finish()
    }
}

fn write_labels<W: Write + Seek>(archive: &mut ArchiveWriter<W>, labels: &Labels) -> io::Result<()> {
    match labels.kind() {
        LabelKind::Single(classes) => archive.array("labels", &[classes.len()], classes)?,
        LabelKind::Multi(indicators) => {
            archive.array("labels", &[labels.num_rows(), labels.num_classes()], indicators)?;
        }
    }
    // Numbers say nothing that the labels do not.
    let is_number = |(class, name): (usize, &String)| *name == class.to_string();
    match labels.class_names().iter().enumerate().all(is_number) {
        true => Ok(()),
        false => archive.texts("class_names", labels.class_names().iter().map(String::as_str)),
    }
}
