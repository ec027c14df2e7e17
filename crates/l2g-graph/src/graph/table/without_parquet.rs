//! What stands in for Parquet where the feature `parquet` is left out: nothing is read or
//! written, and messages say why.

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Write};
use std::marker::PhantomData;

use super::{Batch, ColumnData, TableError, TableReader, WriterColumn};

/// There are no such tables.
pub struct ParquetTable(Infallible);

impl ParquetTable {
    pub fn open(_file: File) -> Result<Self, TableError> {
        Err(TableError::WithoutParquet)
    }

    pub(crate) fn count_rows(&self) -> usize {
        match self.0 {}
    }

    pub fn least_bytes(&self) -> u64 {
        match self.0 {}
    }
}

impl TableReader for ParquetTable {
    fn column_names(&self) -> Vec<String> {
        match self.0 {}
    }

    fn next_batch(&mut self, _columns: &[usize]) -> Result<Option<Batch>, TableError> {
        match self.0 {}
    }
}

/// There are no such files.
pub struct ParquetWriter<W>(Infallible, PhantomData<W>);

impl<W: Write + Send> ParquetWriter<W> {
    pub fn new(_file: W, _columns: &[WriterColumn]) -> io::Result<Self> {
        Err(io::Error::new(io::ErrorKind::Unsupported, TableError::WithoutParquet))
    }

    pub fn write_group(&mut self, _columns: &[ColumnData<'_>]) -> io::Result<()> {
        match self.0 {}
    }

    pub fn close(self) -> io::Result<()> {
        match self.0 {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::io::Problem;
    use crate::graph::load::{GraphConfig, load};
    use crate::graph::store;
    use crate::progress::Silent;

    const MESSAGE: &str = "this program was built without Parquet";

    #[test]
    fn without_parquet_tables_are_refused_in_one_sentence() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("edges.parquet");
        std::fs::write(&path, b"PAR1").unwrap();
        let error = load(&path, &GraphConfig::default(), &Silent).unwrap_err();
        assert!(matches!(*error.problem, Problem::WithoutParquet));
        assert!(error.to_string().ends_with(MESSAGE), "{error}");
    }

    #[test]
    fn without_parquet_text_ids_cannot_be_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("edges.txt");
        std::fs::write(&path, "ann bob\nbob eve\n").unwrap();
        let loaded = load(&path, &GraphConfig::default(), &Silent).unwrap();
        let error = store::write(folder.path(), &loaded.graph, &loaded.summary).unwrap_err();
        assert!(error.to_string().contains(MESSAGE), "{error}");
    }
}
