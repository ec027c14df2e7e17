//! Compressed sparse rows on their way into an archive.
//!
//! An archive holds one array after the other, and the length of an array stands
//! before its values. So columns and values wait in files without a name, next to the
//! file that is written, until the last row has come; only the offsets are in memory.

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::path::Path;

use super::archive::ArchiveWriter;
use super::invalid;
use crate::graph::edge_list::EdgeChunk;
use crate::graph::features::SparseFeatures;

/// Values are written in pieces of this many.
const PIECE: usize = 1 << 16;

/// A sparse matrix in the making.
pub(super) struct CsrSpool {
    num_rows: usize,
    num_columns: usize,
    /// Where each row begins that has begun.
    offsets: Vec<u64>,
    columns: BufWriter<File>,
    /// Nothing if all values are 1.
    values: Option<BufWriter<File>>,
    num_values: u64,
}

impl CsrSpool {
    /// A matrix that waits in `folder`; without values, all of them are 1.
    pub(super) fn new(
        folder: &Path,
        num_rows: usize,
        num_columns: usize,
        has_values: bool,
    ) -> io::Result<Self> {
        let spool = || Ok::<_, io::Error>(BufWriter::with_capacity(1 << 18, tempfile::tempfile_in(folder)?));
        let values = if has_values { Some(spool()?) } else { None };
        Ok(Self { num_rows, num_columns, offsets: vec![0], columns: spool()?, values, num_values: 0 })
    }

    /// Appends edges, as entries of the row of their source.
    pub(super) fn push_edges(&mut self, edges: &EdgeChunk<u64>) -> io::Result<()> {
        for &[source, target] in &edges.pairs {
            let row = source as usize;
            if row + 1 < self.offsets.len() {
                return Err(invalid(format!("edge from node {source} comes after a later row")));
            }
            self.offsets.resize(row + 1, self.num_values);
            self.push_column(target)?;
        }
        match &mut self.values {
            Some(values) => values.write_all(bytemuck::cast_slice(&edges.weights)),
            None => Ok(()),
        }
    }

    /// Appends the next rows.
    pub(super) fn push_rows(&mut self, rows: &SparseFeatures) -> io::Result<()> {
        let start = self.num_values;
        // The last of the offsets so far is where these rows begin.
        self.offsets.extend(rows.offsets()[1..].iter().map(|end| start + end));
        for &column in rows.columns() {
            self.push_column(u64::from(column))?;
        }
        match &mut self.values {
            Some(values) => values.write_all(bytemuck::cast_slice(rows.values())),
            None => Ok(()),
        }
    }

    fn push_column(&mut self, column: u64) -> io::Result<()> {
        self.num_values += 1;
        match self.is_narrow() {
            true => self.columns.write_all(&(column as i32).to_le_bytes()),
            false => self.columns.write_all(&(column as i64).to_le_bytes()),
        }
    }

    /// Whether columns fit 4 bytes with a sign.
    fn is_narrow(&self) -> bool {
        self.num_columns <= i32::MAX as usize
    }

    /// Writes `{prefix}indptr`, `{prefix}indices`, `{prefix}data` and `{prefix}shape`.
    pub(super) fn write_into<W: Write + Seek>(
        mut self,
        archive: &mut ArchiveWriter<W>,
        prefix: &str,
    ) -> io::Result<()> {
        self.offsets.resize(self.num_rows + 1, self.num_values);
        let name = |array: &str| format!("{prefix}{array}");
        archive.array(&name("shape"), &[2], &[self.num_rows as i64, self.num_columns as i64])?;
        self.write_offsets(archive, &name("indptr"))?;
        let len = self.num_values as usize;
        let is_narrow = self.is_narrow();
        let mut columns = self.columns.into_inner()?;
        match is_narrow {
            true => archive.spooled::<i32>(&name("indices"), len, &mut columns)?,
            false => archive.spooled::<i64>(&name("indices"), len, &mut columns)?,
        }
        match self.values {
            Some(values) => archive.spooled::<f32>(&name("data"), len, &mut values.into_inner()?),
            None => {
                let ones = (0..len).step_by(PIECE).map(|start| vec![1.0_f32; PIECE.min(len - start)]);
                archive.pieces(&name("data"), len, ones)
            }
        }
    }

    fn write_offsets<W: Write + Seek>(&self, archive: &mut ArchiveWriter<W>, name: &str) -> io::Result<()> {
        let pieces = self.offsets.chunks(PIECE);
        match i32::try_from(self.num_values) {
            Ok(_) => {
                let narrow = pieces.map(|piece| piece.iter().map(|&offset| offset as i32).collect());
                archive.pieces::<i32>(name, self.offsets.len(), narrow)
            }
            Err(_) => {
                let wide = pieces.map(|piece| piece.iter().map(|&offset| offset as i64).collect());
                archive.pieces::<i64>(name, self.offsets.len(), wide)
            }
        }
    }
}
