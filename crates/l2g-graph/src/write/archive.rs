//! Archives of NumPy arrays, `.npz`: a zip file with one `.npy` file per array.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use zip::write::{SimpleFileOptions, ZipWriter};
use zip::{CompressionMethod, DateTime};

use crate::graph::NodeIds;
use crate::npy::{self, Element, header};

/// An archive in the making.
pub(super) struct ArchiveWriter<W: Write + Seek> {
    zip: ZipWriter<W>,
}

impl<W: Write + Seek> ArchiveWriter<W> {
    pub(super) fn new(file: W) -> Self {
        Self { zip: ZipWriter::new(file) }
    }

    /// Begins an array; its bytes follow.
    fn begin(&mut self, name: &str) -> io::Result<()> {
        // The same time for all, so that the same arrays give the same bytes.
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(DateTime::default())
            .large_file(true);
        Ok(self.zip.start_file(format!("{name}.npy"), options)?)
    }

    /// Writes a whole array.
    pub(super) fn array<T: Element>(&mut self, name: &str, shape: &[usize], values: &[T]) -> io::Result<()> {
        self.begin(name)?;
        npy::write(&mut self.zip, shape, values)
    }

    /// Writes an array of one axis, made piece by piece.
    pub(super) fn pieces<T: Element>(
        &mut self,
        name: &str,
        len: usize,
        pieces: impl Iterator<Item = Vec<T>>,
    ) -> io::Result<()> {
        self.begin(name)?;
        self.zip.write_all(&header(T::DESCR, &[len]))?;
        for piece in pieces {
            self.zip.write_all(bytemuck::cast_slice(&piece))?;
        }
        Ok(())
    }

    /// Writes an array of one axis whose values lie in a file.
    pub(super) fn spooled<T: Element>(&mut self, name: &str, len: usize, spool: &mut File) -> io::Result<()> {
        self.begin(name)?;
        self.zip.write_all(&header(T::DESCR, &[len]))?;
        spool.seek(SeekFrom::Start(0))?;
        let copied = io::copy(&mut spool.take((len * size_of::<T>()) as u64), &mut self.zip)?;
        match copied == (len * size_of::<T>()) as u64 {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Writes a single byte string.
    pub(super) fn byte_string(&mut self, name: &str, text: &str) -> io::Result<()> {
        self.begin(name)?;
        self.zip.write_all(&header(&format!("|S{}", text.len()), &[]))?;
        self.zip.write_all(text.as_bytes())
    }

    /// Writes texts, padded to the longest.
    pub(super) fn texts<'t>(
        &mut self,
        name: &str,
        texts: impl ExactSizeIterator<Item = &'t str> + Clone,
    ) -> io::Result<()> {
        let width = texts.clone().map(|text| text.chars().count()).max().unwrap_or(0).max(1);
        self.begin(name)?;
        self.zip.write_all(&header(&format!("<U{width}"), &[texts.len()]))?;
        for text in texts {
            let mut characters: Vec<u32> = text.chars().map(u32::from).collect();
            characters.resize(width, 0);
            self.zip.write_all(bytemuck::cast_slice(&characters))?;
        }
        Ok(())
    }

    /// Writes the names of all nodes, unless they are just numbered.
    pub(super) fn node_names(&mut self, ids: &NodeIds) -> io::Result<()> {
        match ids {
            NodeIds::Range(_) => Ok(()),
            NodeIds::Integers(ids) => self.array("node_names", &[ids.len()], ids),
            NodeIds::Strings(names) => self.texts("node_names", (0..names.len()).map(|node| names.get(node))),
        }
    }

    /// Writes the list of arrays.
    pub(super) fn finish(self) -> io::Result<()> {
        self.zip.finish()?.flush()
    }
}
