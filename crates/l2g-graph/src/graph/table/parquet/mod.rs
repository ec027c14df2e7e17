//! Parquet files, column by column.
//!
//! A file has row groups, a row group has a chunk of each column. Beside the values a chunk has
//! two numbers for each of them: the definition level, which tells whether it is there, and the
//! repetition level, which tells whether it begins a row or goes on with a list. `shape` tells
//! what columns there are, `read` makes values of levels and chunks, `write` the reverse.

mod arrow_schema;

mod read;

mod shape;

mod write;

pub use read::ParquetTable;
pub use write::ParquetWriter;
