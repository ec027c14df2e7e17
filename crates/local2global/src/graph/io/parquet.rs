//! Parquet tables: edges, features, labels.
//!
//! Only the columns that are needed are read, one batch of rows at a time. Ids may be
//! integers of any width or text; a dictionary-encoded column is read as its values.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{DataType, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::columns::FoundColumns;
use super::error::{Place, Problem, ReadError};
use super::raw::{RawEdgesBuilder, RawPairs};
use super::source::Source;
use super::text::parse::check_weight;
use super::{Input, ReadOptions};
use crate::graph::StringTable;
use crate::progress::Progress;

const BATCH_ROWS: usize = 1 << 18;

/// Reads a table of edges, `src, dst[, weight]`.
pub(crate) fn read(
    source: Source,
    options: &ReadOptions,
    progress: &dyn Progress,
) -> Result<Input, ReadError> {
    let name = source.name().to_owned();
    let limit = options.limit();
    let table = Table::open(&name, source.into_file(limit)?, limit)?;
    let mut collector = EdgeCollector::new(&name, table.column_names(), options)?;
    let columns = collector.columns();
    table.for_each_batch(&columns, |batch| collector.push(batch, progress))?;
    collector.finish()
}

/// The edges of a table in memory, `src, dst[, weight]`; messages call it `name`.
pub(crate) fn edges_of_batches(
    name: &Path,
    batches: &mut dyn RecordBatchReader,
    options: &ReadOptions,
    progress: &dyn Progress,
) -> Result<Input, ReadError> {
    let names = batches.schema().fields().iter().map(|field| field.name().clone()).collect();
    let mut collector = EdgeCollector::new(name, names, options)?;
    while let Some(batch) = guarded(name, || batches.next().transpose())? {
        collector.push(&batch, progress)?;
    }
    collector.finish()
}

/// Collects the edges of a table, batch by batch.
struct EdgeCollector<'a> {
    path: &'a Path,
    names: Vec<String>,
    source: usize,
    target: usize,
    weight: Option<usize>,
    first_row: usize,
    builder: RawEdgesBuilder,
}

impl<'a> EdgeCollector<'a> {
    /// Finds the columns by their names.
    fn new(path: &'a Path, names: Vec<String>, options: &ReadOptions) -> Result<Self, ReadError> {
        let spill = options.spill.clone();
        let found = options.columns.find(&names).map_err(|problem| problem.in_file(path))?;
        let FoundColumns { source, target, weight } = found;
        Ok(Self { path, names, source, target, weight, first_row: 0, builder: RawEdgesBuilder::new(spill) })
    }

    /// The columns that are needed.
    fn columns(&self) -> Vec<usize> {
        [Some(self.source), Some(self.target), self.weight].into_iter().flatten().collect()
    }

    fn push(&mut self, batch: &RecordBatch, progress: &dyn Progress) -> Result<(), ReadError> {
        let column = |index: usize| Column::new(self.path, &self.names[index], batch, self.first_row);
        let pairs = pairs(&column(self.source)?, &column(self.target)?)?;
        let weights = match self.weight {
            Some(index) => column(index)?.weights()?,
            None => Vec::new(),
        };
        self.builder.push(pairs, weights).map_err(|error| Problem::from(error).in_file(self.path))?;
        self.first_row += batch.num_rows();
        progress.advance(batch.num_rows() as u64);
        match progress.is_cancelled() {
            true => Err(Problem::Cancelled.in_file(self.path)),
            false => Ok(()),
        }
    }

    fn finish(self) -> Result<Input, ReadError> {
        let edges = self.builder.finish();
        let weights_from = self.weight.map(|column| format!("column `{}`", self.names[column]));
        match edges.len() {
            0 => Err(Problem::NoEdges.in_file(self.path)),
            _ => Ok(Input { weights_from, ..Input::of_edges(edges) }),
        }
    }
}

/// The ends of all edges of a batch.
fn pairs(source: &Column<'_>, target: &Column<'_>) -> Result<RawPairs, ReadError> {
    match (source.ids()?, target.ids()?) {
        (Ids::Integers(sources), Ids::Integers(targets)) => {
            let pairs = sources.into_iter().zip(targets).map(|(source, target)| [source, target]);
            let pairs: Vec<[u64; 2]> = pairs.collect();
            match pairs.iter().flatten().all(|&id| id <= u64::from(u32::MAX)) {
                true => Ok(RawPairs::Narrow(pairs.iter().map(|pair| pair.map(|id| id as u32)).collect())),
                false => Ok(RawPairs::Wide(pairs)),
            }
        }
        (Ids::Strings(sources), Ids::Strings(targets)) => {
            let num_edges = sources.len() as u32;
            let names: StringTable = sources.iter().chain(targets.iter()).collect();
            Ok(RawPairs::Names((0..num_edges).map(|edge| [edge, num_edges + edge]).collect(), names))
        }
        _ => {
            let needed = "the same kind of ids as the source column";
            Err(target.problem(Problem::ColumnType { found: target.array.data_type().to_string(), needed }))
        }
    }
}

/// The names in a column of ids.
pub(crate) enum Ids {
    Integers(Vec<u64>),
    Strings(StringTable),
}

/// An open table.
pub(crate) struct Table<'a> {
    path: &'a Path,
    builder: ParquetRecordBatchReaderBuilder<File>,
}

impl<'a> Table<'a> {
    /// Opens a table and reads its description; its rows must fit into `limit` bytes.
    pub(crate) fn open(path: &'a Path, file: File, limit: u64) -> Result<Self, ReadError> {
        let builder = guarded(path, || ParquetRecordBatchReaderBuilder::try_new(file))?;
        let metadata = builder.metadata().file_metadata();
        let rows = u64::try_from(metadata.num_rows()).unwrap_or(u64::MAX);
        // Four bytes for each value is the least the finished data take.
        let bytes = rows.saturating_mul(4 * metadata.schema_descr().num_columns().max(1) as u64);
        if bytes > limit {
            return Err(Problem::TooLarge { bytes, limit }.in_file(path));
        }
        Ok(Self { path, builder })
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        self.builder.schema()
    }

    pub(crate) fn column_names(&self) -> Vec<String> {
        self.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    pub(crate) fn num_rows(&self) -> usize {
        usize::try_from(self.builder.metadata().file_metadata().num_rows()).unwrap_or(0)
    }

    /// Reads some columns, batch by batch.
    pub(crate) fn for_each_batch(
        self,
        columns: &[usize],
        mut visit: impl FnMut(&RecordBatch) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let path = self.path;
        let mask = ProjectionMask::roots(self.builder.parquet_schema(), columns.iter().copied());
        let builder = self.builder.with_projection(mask).with_batch_size(BATCH_ROWS);
        let mut batches = guarded(path, || builder.build())?;
        while let Some(batch) = guarded(path, || batches.next().transpose())? {
            visit(&batch)?;
        }
        Ok(())
    }
}

/// Calls into the `parquet` crate, which panics on some damaged files.
fn guarded<T, E: std::fmt::Display>(
    path: &Path,
    call: impl FnOnce() -> Result<T, E>,
) -> Result<T, ReadError> {
    let damaged = |message: String| Problem::Damaged(message).in_file(path);
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(|error| damaged(error.to_string())),
        Err(_) => Err(damaged("its contents contradict its description".into())),
    }
}

/// A column of a batch, with its place for messages.
pub(crate) struct Column<'a> {
    path: &'a Path,
    name: &'a str,
    array: ArrayRef,
    first_row: usize,
}

impl<'a> Column<'a> {
    /// The column of that name, without empty rows.
    pub(crate) fn new(
        path: &'a Path,
        name: &'a str,
        batch: &RecordBatch,
        first_row: usize,
    ) -> Result<Self, ReadError> {
        let array = batch.column_by_name(name).expect("the column was asked for").clone();
        let column = Self { path, name, array, first_row };
        match column.array.logical_nulls().and_then(|nulls| nulls.iter().position(|valid| !valid)) {
            None => Ok(column),
            Some(row) => Err(column.problem(Problem::NullValue { row: first_row + row })),
        }
    }

    pub(crate) fn problem(&self, problem: Problem) -> ReadError {
        problem.at(self.path, Place::Column(self.name.to_owned()))
    }

    fn wrong_type(&self, needed: &'static str) -> ReadError {
        self.problem(Problem::ColumnType { found: self.array.data_type().to_string(), needed })
    }

    fn at_row(&self, row: usize, problem: Problem) -> ReadError {
        self.problem(Problem::Value { row: self.first_row + row, problem: Box::new(problem) })
    }

    fn cast(&self, to: &DataType, needed: &'static str) -> Result<ArrayRef, ReadError> {
        let options = arrow_cast::CastOptions { safe: false, ..Default::default() };
        guarded(self.path, || arrow_cast::cast_with_options(&self.array, to, &options))
            .map_err(|_| self.wrong_type(needed))
    }

    /// The kind of values, looking through dictionaries.
    fn value_type(&self) -> &DataType {
        match self.array.data_type() {
            DataType::Dictionary(_, values) => values,
            plain => plain,
        }
    }

    /// The values as node ids.
    pub(crate) fn ids(&self) -> Result<Ids, ReadError> {
        match self.value_type() {
            DataType::UInt64 => {
                let integers = self.cast(&DataType::UInt64, "integers or text")?;
                Ok(Ids::Integers(integers.as_primitive::<UInt64Type>().values().to_vec()))
            }
            integer if integer.is_integer() => {
                let integers = self.cast(&DataType::Int64, "integers or text")?;
                let ids =
                    integers.as_primitive::<Int64Type>().values().iter().enumerate().map(|(row, &id)| {
                        u64::try_from(id).map_err(|_| self.at_row(row, Problem::NegativeId(id.to_string())))
                    });
                Ok(Ids::Integers(ids.collect::<Result<_, _>>()?))
            }
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
                Ok(Ids::Strings(self.strings()?.into_iter().collect()))
            }
            _ => Err(self.wrong_type("integers or text")),
        }
    }

    /// The values as text.
    pub(crate) fn strings(&self) -> Result<Vec<String>, ReadError> {
        let texts = self.cast(&DataType::LargeUtf8, "text")?;
        Ok(texts.as_string::<i64>().iter().flatten().map(str::to_owned).collect())
    }

    /// The values as finite numbers.
    pub(crate) fn floats(&self) -> Result<Vec<f32>, ReadError> {
        if !self.value_type().is_numeric() && self.value_type() != &DataType::Boolean {
            return Err(self.wrong_type("numbers"));
        }
        let floats = self.cast(&DataType::Float32, "numbers")?;
        let values = floats.as_primitive::<Float32Type>().values();
        match values.iter().position(|value| !value.is_finite()) {
            None => Ok(values.to_vec()),
            Some(row) => {
                let problem =
                    Problem::FeatureNotFinite { row: self.first_row + row, value: values[row].to_string() };
                Err(self.problem(problem))
            }
        }
    }

    /// The values as weights: finite and not negative.
    fn weights(&self) -> Result<Vec<f32>, ReadError> {
        let values = self.floats()?;
        for (row, &weight) in values.iter().enumerate() {
            check_weight(weight).map_err(|problem| self.at_row(row, problem))?;
        }
        Ok(values)
    }

    /// The values as rows of finite numbers, all of the same length.
    pub(crate) fn vectors(&self) -> Result<(usize, Vec<f32>), ReadError> {
        let lists = match self.array.data_type() {
            DataType::FixedSizeList(_, width) => {
                let values = self.array.as_fixed_size_list().values().clone();
                return Ok((*width as usize, self.inner(values)?.floats()?));
            }
            DataType::List(field) | DataType::LargeList(field) => {
                self.cast(&DataType::LargeList(field.clone()), "lists of numbers")?
            }
            _ => return Err(self.wrong_type("lists of numbers")),
        };
        let lists = lists.as_list::<i64>();
        let offsets = lists.value_offsets();
        let width = offsets.windows(2).next().map_or(0, |ends| ends[1] - ends[0]);
        if let Some(row) = offsets.windows(2).position(|ends| ends[1] - ends[0] != width) {
            let found = (offsets[row + 1] - offsets[row]) as usize;
            let problem = Problem::Fields { needed: width.to_string(), found };
            return Err(self.at_row(row, problem));
        }
        let (start, end) = (offsets[0] as usize, offsets[offsets.len() - 1] as usize);
        let values = lists.values().slice(start, end - start);
        Ok((width as usize, self.inner(values)?.floats()?))
    }

    /// The numbers inside lists, as a column without empty rows.
    fn inner(&self, array: ArrayRef) -> Result<Self, ReadError> {
        let inner = Self { path: self.path, name: self.name, array, first_row: 0 };
        match inner.array.null_count() {
            0 => Ok(inner),
            _ => Err(inner.problem(Problem::NullValue { row: self.first_row })),
        }
    }
}
