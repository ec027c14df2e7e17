//! Matrix Market coordinate files: `row column [value]`, counted from 1.
//!
//! The number of entries stands before them but is known after them; its place is kept
//! free. An undirected graph is a symmetric matrix, of which the lower half is listed.

use std::io::{self, Seek, SeekFrom, Write};

use super::{GraphSink, Outline};
use crate::graph::edge_list::EdgeChunk;

/// A matrix in the making.
pub(super) struct MatrixMarketSink<W> {
    file: W,
    num_nodes: usize,
    undirected: bool,
    size_position: u64,
    num_entries: u64,
}

impl<W: Write + Seek> MatrixMarketSink<W> {
    pub(super) fn new(mut file: W, outline: &Outline<'_>) -> io::Result<Self> {
        let values = if outline.weighted { "real" } else { "pattern" };
        let symmetry = if outline.undirected { "symmetric" } else { "general" };
        writeln!(file, "%%MatrixMarket matrix coordinate {values} {symmetry}")?;
        let size_position = file.stream_position()?;
        let (num_nodes, undirected) = (outline.num_nodes(), outline.undirected);
        let mut sink = Self { file, num_nodes, undirected, size_position, num_entries: 0 };
        sink.write_size()?;
        Ok(sink)
    }

    /// The line with the size of the matrix, as long for any number of entries.
    fn write_size(&mut self) -> io::Result<()> {
        writeln!(self.file, "{0} {0} {1:<20}", self.num_nodes, self.num_entries)
    }
}

impl<W: Write + Seek + Send> GraphSink for MatrixMarketSink<W> {
    fn push_edges(&mut self, edges: &EdgeChunk<u64>) -> io::Result<()> {
        let mut lines = Vec::with_capacity(20 * edges.pairs.len());
        let mut digits = itoa::Buffer::new();
        for (index, &[source, target]) in edges.pairs.iter().enumerate() {
            let (row, column) =
                if self.undirected && source < target { (target, source) } else { (source, target) };
            lines.extend_from_slice(digits.format(row + 1).as_bytes());
            lines.push(b' ');
            lines.extend_from_slice(digits.format(column + 1).as_bytes());
            if let Some(weight) = edges.weights.get(index) {
                write!(lines, " {weight}")?;
            }
            lines.push(b'\n');
        }
        self.num_entries += edges.pairs.len() as u64;
        self.file.write_all(&lines)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.size_position))?;
        self.write_size()?;
        self.file.seek(SeekFrom::End(0))?;
        self.file.flush()
    }
}
