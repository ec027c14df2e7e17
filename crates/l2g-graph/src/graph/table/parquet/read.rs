//! Parquet files -> batches of values.

use std::fs::File;
use std::io::{BufReader, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::{ByteArray, DataType};
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{ChunkReader, FileReader, Length};
use ::parquet::file::serialized_reader::SerializedFileReader;

use bytes::Bytes;
use rayon::prelude::*;

use super::shape::{Kind, Shape, shapes};
use crate::graph::ids::StringTable;
use crate::graph::table::{Batch, TableColumn, TableError, TableReader, Values};
use crate::npy::half_float;
use crate::positioned::ReaderAt;

/// The rows of a batch.
const BATCH_ROWS: usize = 1 << 18;

/// The rows of a batch if there are lists, whose length nobody knows beforehand.
const LIST_ROWS: usize = 1 << 12;

/// A file whose columns are read by several threads, each from its own place.
struct SharedFile {
    file: Arc<File>,
    len: u64,
}

impl Length for SharedFile {
    fn len(&self) -> u64 {
        self.len
    }
}

impl ChunkReader for SharedFile {
    type T = BufReader<ReaderAt>;

    fn get_read(&self, place: u64) -> Result<Self::T, ParquetError> {
        Ok(BufReader::new(ReaderAt { file: self.file.clone(), place }))
    }

    fn get_bytes(&self, place: u64, length: usize) -> Result<Bytes, ParquetError> {
        let mut bytes = Vec::with_capacity(length);
        let reader = ReaderAt { file: self.file.clone(), place };
        let found = reader.take(length as u64).read_to_end(&mut bytes)?;
        match found == length {
            true => Ok(bytes.into()),
            false => Err(ParquetError::EOF(format!("expected {length} bytes, found {found}"))),
        }
    }
}

/// An open file, and the row group that is being read.
pub struct ParquetTable {
    file: SerializedFileReader<SharedFile>,
    shapes: Vec<Shape>,
    next_group: usize,
    rows_left: usize,
    readers: Vec<ColumnReader>,
}

impl ParquetTable {
    /// Opens a file and reads its description.
    pub fn open(file: File) -> Result<Self, TableError> {
        guarded(|| {
            let len = file.metadata()?.len();
            let file = SerializedFileReader::new(SharedFile { file: Arc::new(file), len })?;
            let shapes = shapes(file.metadata().file_metadata().schema_descr());
            Ok(Self { file, shapes, next_group: 0, rows_left: 0, readers: Vec::new() })
        })
    }

    /// The number of rows.
    pub(crate) fn count_rows(&self) -> usize {
        usize::try_from(self.file.metadata().file_metadata().num_rows()).unwrap_or(0)
    }

    /// The least bytes that the values take: four for each, and for each row and column.
    pub fn least_bytes(&self) -> u64 {
        let metadata = self.file.metadata();
        let count = |number: i64| u64::try_from(number).unwrap_or(u64::MAX);
        let num_columns = metadata.file_metadata().schema_descr().num_columns().max(1) as u64;
        let rows = count(metadata.file_metadata().num_rows()).saturating_mul(num_columns);
        let chunks = metadata.row_groups().iter().flat_map(|group| group.columns());
        let values = chunks.fold(0, |sum: u64, chunk| sum.saturating_add(count(chunk.num_values())));
        rows.max(values).saturating_mul(4)
    }

    /// Goes to the next row group that has rows; says whether there is one.
    fn open_group(&mut self, columns: &[usize]) -> Result<bool, ParquetError> {
        while self.rows_left == 0 {
            if self.next_group == self.file.num_row_groups() {
                return Ok(false);
            }
            let group = self.file.get_row_group(self.next_group)?;
            self.next_group += 1;
            let num_rows = group.metadata().num_rows();
            self.rows_left =
                usize::try_from(num_rows).map_err(|error| ParquetError::External(error.into()))?;
            let readers =
                columns.iter().map(|&column| group.get_column_reader(self.shapes[column].leaf.index));
            self.readers = readers.collect::<Result<_, _>>()?;
        }
        Ok(true)
    }

    fn read_batch(&mut self, columns: &[usize]) -> Result<Option<Batch>, ParquetError> {
        if !self.open_group(columns)? {
            return Ok(None);
        }
        let shapes = &self.shapes;
        let has_lists = columns.iter().any(|&column| shapes[column].leaf.empty_list.is_some());
        let num_rows = self.rows_left.min(if has_lists { LIST_ROWS } else { BATCH_ROWS });
        let readers = columns.par_iter().zip(&mut self.readers);
        let columns = readers.map(|(&column, reader)| read_column(&shapes[column], reader, num_rows));
        let columns = columns.collect::<Result<_, _>>()?;
        self.rows_left -= num_rows;
        Ok(Some(Batch { num_rows, columns }))
    }
}

impl TableReader for ParquetTable {
    fn column_names(&self) -> Vec<String> {
        self.shapes.iter().map(|shape| shape.name.clone()).collect()
    }

    fn num_rows(&self) -> Option<usize> {
        Some(self.count_rows())
    }

    fn next_batch(&mut self, columns: &[usize]) -> Result<Option<Batch>, TableError> {
        guarded(|| self.read_batch(columns))
    }
}

/// Calls into the `parquet` crate, which panics on some damaged files.
fn guarded<T>(call: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, TableError> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(|error| TableError::Damaged(error.to_string())),
        Err(_) => Err(TableError::Damaged("its contents contradict its description".into())),
    }
}

fn read_column(
    shape: &Shape,
    reader: &mut ColumnReader,
    num_rows: usize,
) -> Result<TableColumn, ParquetError> {
    let (values, levels) = match (reader, shape.kind) {
        (_, Kind::Other) => return Ok(other(shape)),
        (ColumnReader::Int32ColumnReader(reader), Kind::Unsigned) => {
            // A number above 2^31 is stored as a negative one.
            read(reader, num_rows, |all| {
                Values::Unsigned(all.iter().map(|&x| u64::from(x as u32)).collect())
            })?
        }
        (ColumnReader::Int32ColumnReader(reader), _) => {
            read(reader, num_rows, |all| Values::Signed(all.into_iter().map(i64::from).collect()))?
        }
        (ColumnReader::Int64ColumnReader(reader), Kind::Unsigned) => {
            read(reader, num_rows, |all| Values::Unsigned(all.into_iter().map(|x| x as u64).collect()))?
        }
        (ColumnReader::Int64ColumnReader(reader), _) => read(reader, num_rows, Values::Signed)?,
        (ColumnReader::FloatColumnReader(reader), _) => read(reader, num_rows, Values::Single)?,
        (ColumnReader::DoubleColumnReader(reader), _) => read(reader, num_rows, Values::Double)?,
        (ColumnReader::BoolColumnReader(reader), _) => read(reader, num_rows, Values::Boolean)?,
        (ColumnReader::ByteArrayColumnReader(reader), _) => {
            let (texts, levels) = read(reader, num_rows, |all| texts(&all))?;
            (Values::Text(texts?), levels)
        }
        (ColumnReader::FixedLenByteArrayColumnReader(reader), Kind::Half) => {
            let half = |bytes: &[u8]| half_float(u16::from_le_bytes([bytes[0], bytes[1]])) as f32;
            read(reader, num_rows, |all| Values::Single(all.iter().map(|x| half(x.data())).collect()))?
        }
        _ => return Ok(other(shape)),
    };
    match shape.leaf.empty_list {
        None => {
            let first_null = levels.definition.iter().position(|&level| level < shape.leaf.full);
            Ok(TableColumn { values, type_name: shape.type_name.clone(), first_null })
        }
        Some(empty_list) => lists(shape, empty_list, values, &levels, num_rows),
    }
}

/// A column whose values are not read.
fn other(shape: &Shape) -> TableColumn {
    TableColumn { values: Values::Other, type_name: shape.type_name.clone(), first_null: None }
}

/// The levels of some rows.
#[derive(Default)]
struct Levels {
    definition: Vec<i16>,
    repetition: Vec<i16>,
}

/// The values of so many rows, made into something else, and their levels.
fn read<T: DataType, V>(
    reader: &mut ColumnReaderImpl<T>,
    num_rows: usize,
    make: impl FnOnce(Vec<T::T>) -> V,
) -> Result<(V, Levels), ParquetError> {
    let mut values = Vec::new();
    let mut levels = Levels::default();
    let mut found = 0;
    while found < num_rows {
        let (definition, repetition) = (Some(&mut levels.definition), Some(&mut levels.repetition));
        match reader.read_records(num_rows - found, definition, repetition, &mut values)? {
            (0, ..) => {
                let message = format!("a column ends after {found} of {num_rows} rows");
                return Err(ParquetError::EOF(message));
            }
            (more, ..) => found += more,
        }
    }
    Ok((make(values), levels))
}

fn texts(values: &[ByteArray]) -> Result<StringTable, ParquetError> {
    let mut table = StringTable::new();
    for value in values {
        let text = std::str::from_utf8(value.data());
        table.push(text.map_err(|_| ParquetError::General("found bytes that are not UTF-8".into()))?);
    }
    Ok(table)
}

/// A column of lists, which the levels tell apart.
fn lists(
    shape: &Shape,
    empty_list: i16,
    elements: Values,
    levels: &Levels,
    num_rows: usize,
) -> Result<TableColumn, ParquetError> {
    let mut ends: Vec<usize> = Vec::with_capacity(num_rows);
    let mut first_null = None;
    let mut num_elements = 0;
    for (&definition, &repetition) in levels.definition.iter().zip(&levels.repetition) {
        if repetition == 0 {
            ends.push(num_elements);
        }
        num_elements += usize::from(definition == shape.leaf.full);
        if definition < shape.leaf.full && definition != empty_list {
            first_null = first_null.or(Some(ends.len().saturating_sub(1)));
        }
        if let Some(end) = ends.last_mut() {
            *end = num_elements;
        }
    }
    if ends.len() != num_rows {
        let message = format!("found {} lists in {num_rows} rows", ends.len());
        return Err(ParquetError::General(message));
    }
    let values = Values::Lists { ends, elements: Box::new(elements) };
    Ok(TableColumn { values, type_name: shape.type_name.clone(), first_null })
}
