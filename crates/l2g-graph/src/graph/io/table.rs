//! Tables: their edges, and their columns as ids, numbers or text.
//!
//! A column is checked as a whole: no row may be empty, ids are not negative, numbers finite.

use std::path::Path;

use super::columns::FoundColumns;
use super::error::{Place, Problem, ReadError};
use super::raw::{Piece, RawEdgesBuilder, RawPairs};
use super::text::parse::check_weight;
use super::{About, ReadOptions};
use crate::graph::StringTable;
use crate::graph::table::{Batch, TableColumn, TableReader, Values};
use crate::progress::Progress;

/// The edges of a table, `src, dst[, weight]`; messages call it `name`.
pub(crate) fn edges_of_table(
    name: &Path,
    table: &mut dyn TableReader,
    options: &ReadOptions,
    builder: &mut RawEdgesBuilder,
    progress: &dyn Progress,
) -> Result<About, ReadError> {
    let mut collector = EdgeCollector::new(name, table, options, builder)?;
    let columns = collector.columns();
    // The next rows are read while those before them are handed over.
    let mut batch = None;
    loop {
        let (next, pushed) = rayon::join(
            || table.next_batch(&columns),
            || batch.take().map_or(Ok(()), |batch| collector.push(batch, progress)),
        );
        pushed?;
        match next.map_err(|error| Problem::from(error).in_file(name))? {
            Some(next) => batch = Some(next),
            None => return collector.finish(),
        }
    }
}

/// Reads some columns, batch by batch.
pub(crate) fn for_each_batch(
    path: &Path,
    table: &mut dyn TableReader,
    columns: &[usize],
    mut visit: impl FnMut(Batch) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    while let Some(batch) = table.next_batch(columns).map_err(|error| Problem::from(error).in_file(path))? {
        visit(batch)?;
    }
    Ok(())
}

/// Collects the edges of a table, batch by batch.
struct EdgeCollector<'a> {
    path: &'a Path,
    names: Vec<String>,
    source: usize,
    target: usize,
    weight: Option<usize>,
    first_row: usize,
    /// The number of rows, if the table tells.
    num_rows: Option<usize>,
    builder: &'a mut RawEdgesBuilder,
}

impl<'a> EdgeCollector<'a> {
    /// Finds the columns by their names.
    fn new(
        path: &'a Path,
        table: &dyn TableReader,
        options: &ReadOptions,
        builder: &'a mut RawEdgesBuilder,
    ) -> Result<Self, ReadError> {
        let (names, num_rows) = (table.column_names(), table.num_rows());
        let found = options.columns.find(&names).map_err(|problem| problem.in_file(path))?;
        let FoundColumns { source, target, weight } = found;
        Ok(Self { path, names, source, target, weight, first_row: 0, num_rows, builder })
    }

    /// The columns that are needed.
    fn columns(&self) -> Vec<usize> {
        [Some(self.source), Some(self.target), self.weight].into_iter().flatten().collect()
    }

    fn push(&mut self, batch: Batch, progress: &dyn Progress) -> Result<(), ReadError> {
        let mut columns = self
            .columns()
            .into_iter()
            .zip(batch.columns)
            .map(|(index, column)| Column::new(self.path, &self.names[index], column, self.first_row));
        let mut next = || columns.next().expect("the column was asked for");
        let pairs = pairs(next()?, next()?)?;
        let weights = match self.weight {
            Some(_) => next()?.weights()?,
            None => Vec::new(),
        };
        self.first_row += batch.num_rows;
        let share = self.num_rows.map(|num_rows| self.first_row as f64 / num_rows.max(1) as f64);
        let piece = Piece { pairs, weights, share };
        self.builder.push_read(piece, progress).map_err(|problem| problem.in_file(self.path))?;
        progress.advance(batch.num_rows as u64);
        match progress.is_cancelled() {
            true => Err(Problem::Cancelled.in_file(self.path)),
            false => Ok(()),
        }
    }

    fn finish(self) -> Result<About, ReadError> {
        let weights_from = self.weight.map(|column| format!("column `{}`", self.names[column]));
        match self.first_row {
            0 => Err(Problem::NoEdges.in_file(self.path)),
            _ => Ok(About::weights_from(weights_from)),
        }
    }
}

/// The ends of all edges of a batch.
fn pairs(source: Column<'_>, target: Column<'_>) -> Result<RawPairs, ReadError> {
    let mixed = target.place.wrong_type("the same kind of ids as the source column");
    match (source.ids()?, target.ids()?) {
        (Ids::Integers(sources), Ids::Integers(targets)) => {
            let pairs = sources.into_iter().zip(targets).map(|(source, target)| [source, target]);
            Ok(RawPairs::narrowest(pairs.collect()))
        }
        (Ids::Strings(sources), Ids::Strings(targets)) => {
            let num_edges = sources.len() as u32;
            let names: StringTable = sources.iter().chain(targets.iter()).collect();
            Ok(RawPairs::Names((0..num_edges).map(|edge| [edge, num_edges + edge]).collect(), names))
        }
        _ => Err(mixed),
    }
}

/// The names in a column of ids.
pub(crate) enum Ids {
    Integers(Vec<u64>),
    Strings(StringTable),
}

/// A column of a batch, with its place for messages.
pub(crate) struct Column<'a> {
    place: ColumnPlace<'a>,
    values: Values,
}

/// What messages say of a column.
struct ColumnPlace<'a> {
    path: &'a Path,
    name: &'a str,
    type_name: String,
    first_row: usize,
}

impl ColumnPlace<'_> {
    fn problem(&self, problem: Problem) -> ReadError {
        problem.at(self.path, Place::Column(self.name.to_owned()))
    }

    fn wrong_type(&self, needed: &'static str) -> ReadError {
        self.problem(Problem::ColumnType { found: self.type_name.clone(), needed })
    }

    fn at_row(&self, row: usize, problem: Problem) -> ReadError {
        self.problem(Problem::Value { row: self.first_row + row, problem: Box::new(problem) })
    }

    /// Finite numbers, so many in each row.
    fn numbers(&self, values: Values, per_row: usize) -> Result<Vec<f32>, ReadError> {
        let numbers = match values {
            Values::Single(values) => values,
            Values::Double(values) => values.into_iter().map(|value| value as f32).collect(),
            Values::Signed(values) => values.into_iter().map(|value| value as f32).collect(),
            Values::Unsigned(values) => values.into_iter().map(|value| value as f32).collect(),
            Values::Boolean(values) => values.into_iter().map(f32::from).collect(),
            Values::Text(_) | Values::Lists { .. } | Values::Other => return Err(self.wrong_type("numbers")),
        };
        match numbers.iter().position(|number| !number.is_finite()) {
            None => Ok(numbers),
            Some(at) => {
                let row = self.first_row + at / per_row.max(1);
                Err(self.problem(Problem::FeatureNotFinite { row, value: numbers[at].to_string() }))
            }
        }
    }
}

impl<'a> Column<'a> {
    /// The column of that name, without empty rows.
    pub(crate) fn new(
        path: &'a Path,
        name: &'a str,
        column: TableColumn,
        first_row: usize,
    ) -> Result<Self, ReadError> {
        let TableColumn { values, type_name, first_null } = column;
        let place = ColumnPlace { path, name, type_name, first_row };
        match first_null {
            None => Ok(Self { place, values }),
            Some(row) => Err(place.problem(Problem::NullValue { row: first_row + row })),
        }
    }

    /// The values as node ids.
    pub(crate) fn ids(self) -> Result<Ids, ReadError> {
        match self.values {
            Values::Signed(integers) => {
                let ids = integers.into_iter().enumerate().map(|(row, id)| {
                    let negative = |_| self.place.at_row(row, Problem::NegativeId(id.to_string()));
                    u64::try_from(id).map_err(negative)
                });
                Ok(Ids::Integers(ids.collect::<Result<_, _>>()?))
            }
            Values::Unsigned(integers) => Ok(Ids::Integers(integers)),
            Values::Text(texts) => Ok(Ids::Strings(texts)),
            _ => Err(self.place.wrong_type("integers or text")),
        }
    }

    /// The values as text.
    pub(crate) fn strings(self) -> Result<Vec<String>, ReadError> {
        fn each<T>(values: Vec<T>, text: impl Fn(T) -> String) -> Vec<String> {
            values.into_iter().map(text).collect()
        }
        match self.values {
            Values::Text(texts) => Ok(texts.iter().map(str::to_owned).collect()),
            Values::Signed(values) => Ok(each(values, |value| value.to_string())),
            Values::Unsigned(values) => Ok(each(values, |value| value.to_string())),
            Values::Boolean(values) => Ok(each(values, |value| value.to_string())),
            // With a point, which tells them from integers: 1.0.
            Values::Single(values) => Ok(each(values, |value| format!("{value:?}"))),
            Values::Double(values) => Ok(each(values, |value| format!("{value:?}"))),
            Values::Lists { .. } | Values::Other => Err(self.place.wrong_type("text")),
        }
    }

    /// The values as finite numbers.
    pub(crate) fn floats(self) -> Result<Vec<f32>, ReadError> {
        self.place.numbers(self.values, 1)
    }

    /// The values as weights: finite and not negative.
    fn weights(self) -> Result<Vec<f32>, ReadError> {
        let weights = self.place.numbers(self.values, 1)?;
        for (row, &weight) in weights.iter().enumerate() {
            check_weight(weight).map_err(|problem| self.place.at_row(row, problem))?;
        }
        Ok(weights)
    }

    /// The values as rows of finite numbers, all of the same length: one number a row if there
    /// are no lists.
    pub(crate) fn vectors(self) -> Result<(usize, Vec<f32>), ReadError> {
        let Values::Lists { ends, elements } = self.values else { return Ok((1, self.floats()?)) };
        let width = ends.first().copied().unwrap_or(0);
        let starts = std::iter::once(&0).chain(&ends);
        let mut lengths = starts.zip(&ends).map(|(start, end)| end - start).enumerate();
        if let Some((row, found)) = lengths.find(|&(_, length)| length != width) {
            return Err(self.place.at_row(row, Problem::Fields { needed: width.to_string(), found }));
        }
        Ok((width, self.place.numbers(*elements, width)?))
    }
}
