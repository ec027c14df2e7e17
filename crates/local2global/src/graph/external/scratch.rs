//! The temporary folder in which a graph is made, and the arrays of the graph in it.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

use tempfile::TempDir;

use super::super::{Graph, NodeIds, NodeIndex, Targets};
use super::error::ExternalError;
use crate::buffer::Buffer;
use crate::npy::{self, Element};
use crate::run_dir::{GraphFolder, make_work_folder};

/// A folder that is removed when it is dropped, with the arrays of a graph.
#[derive(Debug)]
pub struct Scratch {
    folder: TempDir,
}

/// An array in the making.
pub(super) type ArrayWriter<T> = npy::Writer<T, BufWriter<File>>;

impl Scratch {
    /// A new folder in another one.
    pub(super) fn new(parent: &Path) -> Result<Self, ExternalError> {
        Ok(Self { folder: make_work_folder(parent, "graph")? })
    }

    /// A new folder beside this one.
    pub(super) fn beside(&self) -> Result<Self, ExternalError> {
        Self::new(self.folder.path().parent().expect("it was made in a folder"))
    }

    /// The arrays, named as in the folder of a graph.
    pub(crate) fn arrays(&self) -> GraphFolder {
        GraphFolder::at(self.folder.path())
    }

    /// A file without a name, which is gone when it is closed.
    pub(super) fn nameless(&self) -> Result<File, ExternalError> {
        tempfile::tempfile_in(self.folder.path()).map_err(self.failed())
    }

    /// Begins an array.
    pub(super) fn writer<T: Element>(&self, path: &Path) -> Result<ArrayWriter<T>, ExternalError> {
        let writer = File::create(path)
            .and_then(|file| npy::Writer::new(BufWriter::with_capacity(1 << 20, file), &[]));
        writer.map_err(self.failed())
    }

    /// Writes the names of all nodes.
    pub(super) fn write_ids(&self, ids: impl Iterator<Item = u64>) -> io::Result<()> {
        let file = BufWriter::with_capacity(1 << 20, File::create(self.arrays().ids())?);
        let mut writer = npy::Writer::new(file, &[])?;
        ids.into_iter().try_for_each(|id| writer.push(&[id]))?;
        writer.finish().map(drop)
    }

    /// An error of a temporary file.
    pub(super) fn failed(&self) -> impl Fn(io::Error) -> ExternalError + use<> {
        let path = self.folder.path().to_owned();
        move |error| ExternalError::File { path: path.clone(), error }
    }

    /// The graph whose arrays are here, mapped; nodes are called 0, 1, 2, ... if no names are here.
    pub(super) fn graph<I: NodeIndex>(&self, symmetric: bool) -> Result<Graph, ExternalError> {
        let arrays = self.arrays();
        let weights = arrays.weights().exists().then(|| self.map(&arrays.weights())).transpose()?;
        let targets = match size_of::<I>() {
            4 => Targets::Narrow(self.map(&arrays.indices())?),
            _ => Targets::Wide(self.map(&arrays.indices())?),
        };
        let ids = arrays.ids().exists().then(|| self.map(&arrays.ids())).transpose()?;
        Graph::from_rows_unchecked(self.map(&arrays.indptr())?, targets, symmetric)
            .and_then(|graph| graph.with_weights(weights))
            .and_then(|graph| match ids {
                Some(ids) => graph.with_ids(NodeIds::Integers(ids)),
                None => Ok(graph),
            })
            .map_err(|error| self.failed()(io::Error::other(error)))
    }

    fn map<T: Element>(&self, path: &Path) -> Result<Buffer<T>, ExternalError> {
        let mapped = npy::map(path).map_err(|error| self.failed()(io::Error::other(error)))?;
        Ok(mapped.values)
    }
}
