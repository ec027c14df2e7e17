//! Tables: rows of named columns, batch by batch.
//!
//! A [`TableReader`] is a Parquet file, or whatever a program has in memory and describes by
//! this trait. Only the columns that are asked for are made. A value that is missing is an
//! error wherever tables are used here, so a column tells the first such row and no more.

#[cfg_attr(not(feature = "parquet"), path = "without_parquet.rs")]
mod parquet;

pub use parquet::{ParquetTable, ParquetWriter};

use super::ids::StringTable;

/// Some rows of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// The number of rows.
    pub num_rows: usize,
    /// The columns that were asked for, in that order.
    pub columns: Vec<TableColumn>,
}

/// One column of some rows.
#[derive(Clone, Debug, PartialEq)]
pub struct TableColumn {
    /// The values, in the order of the rows; if a row is empty, they mean nothing.
    pub values: Values,
    /// What messages call the type of the column, such as `DOUBLE`.
    pub type_name: String,
    /// The first row that is empty, or holds a list with an empty element.
    pub first_null: Option<usize>,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Values {
    /// Integers with a sign, of any width.
    Signed(Vec<i64>),
    /// Integers without a sign, of any width.
    Unsigned(Vec<u64>),
    /// Floats of 32 bits, or fewer.
    Single(Vec<f32>),
    /// Floats of 64 bits.
    Double(Vec<f64>),
    /// True or false.
    Boolean(Vec<bool>),
    /// Text.
    Text(StringTable),
    /// A list of values in each row.
    Lists {
        /// Where the list of each row ends among the elements.
        ends: Vec<usize>,
        /// The elements of all lists, one list after the other.
        elements: Box<Values>,
    },
    /// Something else, which only the name of the type tells.
    Other,
}

/// A table that is read from its first row to its last.
pub trait TableReader: Send {
    /// The names of all columns.
    fn column_names(&self) -> Vec<String>;

    /// The number of rows, if it is known beforehand.
    fn num_rows(&self) -> Option<usize> {
        None
    }

    /// The next rows of some columns, given by their place among the names; nothing after the
    /// last. Every call asks for the same columns.
    ///
    /// # Errors
    /// [`TableError`] if the rows cannot be read.
    fn next_batch(&mut self, columns: &[usize]) -> Result<Option<Batch>, TableError>;
}

/// Why a table could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// What it holds contradicts itself.
    #[error("{0}")]
    Damaged(String),

    /// The feature `parquet` was left out.
    #[error("this program was built without Parquet")]
    WithoutParquet,
}

/// A column of a Parquet file that is written, none of whose rows is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriterColumn {
    /// Signed 64-bit integers, which every reader knows.
    Integers(&'static str),
    /// Text.
    Text(&'static str),
    /// 32-bit floats.
    Floats(&'static str),
    /// A list of so many floats in each row.
    Vectors(&'static str, usize),
}

/// What some rows of a column hold.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "nothing is written"))]
pub enum ColumnData<'a> {
    /// Integers.
    Integers(&'a [i64]),
    /// Text.
    Text(&'a [&'a str]),
    /// The numbers of all rows, one row after the other.
    Floats(&'a [f32]),
}
