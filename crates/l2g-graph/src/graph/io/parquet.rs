//! Parquet tables: edges, features, labels.
//!
//! Only the columns that are needed are read, one batch of rows at a time. Ids may be
//! integers of any width or text; a dictionary-encoded column is read as its values.

use std::path::Path;

use super::error::{Problem, ReadError};
use super::source::Source;
use super::table::edges_of_table;
use super::{About, Reading};
use crate::graph::table::ParquetTable;

/// Reads a table of edges, `src, dst[, weight]`.
pub(crate) fn read(source: Source, reading: Reading<'_>) -> Result<About, ReadError> {
    let Reading { options, builder, progress } = reading;
    let name = source.name().to_owned();
    let mut table = open(&name, source, options.edge_limit())?;
    edges_of_table(&name, &mut table, options, builder, progress)
}

/// Opens a table and reads its description; its values must fit into `limit` bytes.
pub(crate) fn open(path: &Path, source: Source, limit: u64) -> Result<ParquetTable, ReadError> {
    let at_file = |problem: Problem| problem.in_file(path);
    let table = ParquetTable::open(source.into_file(limit)?).map_err(|error| at_file(error.into()))?;
    match table.least_bytes() {
        bytes if bytes > limit => Err(at_file(Problem::TooLarge { bytes, limit })),
        _ => Ok(table),
    }
}
