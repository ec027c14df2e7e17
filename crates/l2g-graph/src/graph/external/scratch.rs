//! The temporary folder in which a graph is made, and the arrays of the graph in it.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::super::{Graph, NodeIds, NodeIndex, StringTable, Targets};
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

    /// Begins the text names of all nodes.
    pub(crate) fn names_writer(&self) -> Result<NamesWriter<'_>, ExternalError> {
        let [bytes, ends] = self.name_files();
        Ok(NamesWriter { scratch: self, bytes: self.writer(&bytes)?, ends: self.writer(&ends)?, end: 0 })
    }

    /// The bytes of all text names, and where each ends.
    fn name_files(&self) -> [PathBuf; 2] {
        ["names.npy", "name_ends.npy"].map(|name| self.folder.path().join(name))
    }

    /// An error of a temporary file.
    pub(crate) fn failed(&self) -> impl Fn(io::Error) -> ExternalError + use<> {
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

/// The text names of nodes, in the making.
pub(crate) struct NamesWriter<'a> {
    scratch: &'a Scratch,
    bytes: ArrayWriter<u8>,
    ends: ArrayWriter<u64>,
    end: u64,
}

impl NamesWriter<'_> {
    /// Appends a name.
    pub(crate) fn push(&mut self, name: &str) -> io::Result<()> {
        self.push_bytes(name.as_bytes())
    }

    /// Appends a name, whose bytes are text.
    pub(super) fn push_bytes(&mut self, name: &[u8]) -> io::Result<()> {
        self.end += name.len() as u64;
        self.bytes.push(name)?;
        self.ends.push(&[self.end])
    }

    /// All names, mapped.
    pub(crate) fn finish(self) -> Result<StringTable, ExternalError> {
        let Self { scratch, bytes, ends, .. } = self;
        let finished = bytes.finish().and_then(|_| ends.finish());
        finished.map_err(scratch.failed())?;
        let [bytes, ends] = scratch.name_files();
        let names = StringTable::from_parts(scratch.map(&bytes)?, scratch.map(&ends)?);
        names.map_err(|problem| scratch.failed()(io::Error::other(problem)))
    }
}
