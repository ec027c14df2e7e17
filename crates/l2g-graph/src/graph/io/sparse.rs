//! Compressed sparse rows in an archive, as scipy and the gnn-benchmark sets keep them.

use std::ops::Range;

use super::archive::Archive;
use super::error::{Problem, ReadError};
use super::raw::{RawEdgesBuilder, RawPairs};
use super::source::array_problem;
use super::text::parse::check_weight;
use crate::graph::features::SparseFeatures;
use crate::npy::ArrayBlocks;

/// Edges are handed over in blocks of this many.
const BLOCK: usize = 1 << 18;

/// The arrays of a sparse matrix, checked to be consistent.
pub(crate) struct SparseMatrix {
    pub(crate) num_rows: usize,
    pub(crate) num_columns: usize,
    offsets: Vec<u64>,
    columns: Vec<u32>,
    /// Empty if all values are 1.
    values: Vec<f32>,
}

impl SparseMatrix {
    /// Reads `{prefix}indptr`, `{prefix}indices`, `{prefix}data` and `{prefix}shape`.
    ///
    /// The short arrays come first, so that long ones that do not fit are refused
    /// before they are unpacked.
    pub(crate) fn read(archive: &mut Archive, prefix: &str) -> Result<Self, ReadError> {
        let name = |part: &str| format!("{prefix}{part}");
        let [num_rows, num_columns] = read_shape(archive, prefix)?;
        let offsets = read_offsets(archive, &name("indptr"), num_rows as usize)?;
        let num_values = offsets.last().map_or(0, |&last| last as usize);
        let columns = read_columns(archive, &name("indices"), num_values, num_columns)?;
        let values = read_values(archive, &name("data"), num_values)?;
        Ok(Self { num_rows: num_rows as usize, num_columns: num_columns as usize, offsets, columns, values })
    }

    fn row(&self, row: usize) -> std::ops::Range<usize> {
        self.offsets[row] as usize..self.offsets[row + 1] as usize
    }

    /// The matrix as features, columns sorted and entries named twice added up.
    pub(crate) fn into_features(self) -> SparseFeatures {
        let mut offsets = vec![0];
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        let mut entries: Vec<(u32, f32)> = Vec::new();
        for row in 0..self.num_rows {
            entries.clear();
            entries
                .extend(self.row(row).map(|k| (self.columns[k], self.values.get(k).copied().unwrap_or(1.0))));
            entries.sort_by_key(|&(column, _)| column);
            for &(column, value) in &entries {
                let row_start = *offsets.last().expect("begins with 0") as usize;
                match columns[row_start..].last() {
                    Some(&last) if last == column => *values.last_mut().expect("as many as columns") += value,
                    _ => {
                        columns.push(column);
                        values.push(value);
                    }
                }
            }
            offsets.push(columns.len() as u64);
        }
        SparseFeatures::new(self.num_columns, offsets.into(), columns.into(), values.into())
            .expect("offsets were counted along the values")
    }
}

/// The number of rows and of columns.
fn read_shape(archive: &mut Archive, prefix: &str) -> Result<[u64; 2], ReadError> {
    let name = format!("{prefix}shape");
    let shape: Vec<u64> = archive.integers(&name)?;
    let &[num_rows, num_columns] = &shape[..] else {
        let problem = format!("matrix shape has {} numbers, needed 2", shape.len());
        return Err(archive.problem(&name, Problem::Inconsistent(problem)));
    };
    if num_columns > u64::from(u32::MAX) || num_rows > u64::from(u32::MAX) {
        let problem = format!("matrix of {num_rows} x {num_columns}; up to 4294967295 are supported");
        return Err(archive.problem(&name, Problem::Inconsistent(problem)));
    }
    Ok([num_rows, num_columns])
}

/// Hands a square matrix over as edges from rows to columns, block by block, or the other way round;
/// returns the number of nodes.
pub(crate) fn push_adjacency(
    archive: &mut Archive,
    prefix: &str,
    reversed: bool,
    builder: &mut RawEdgesBuilder,
) -> Result<usize, ReadError> {
    let name = |part: &str| format!("{prefix}{part}");
    let [rows, columns] = read_shape(archive, prefix)?;
    if rows != columns {
        return Err(archive.problem(&name("shape"), Problem::NotSquare { rows, columns }));
    }
    let mut offsets = Offsets::open(archive, &name("indptr"), rows as usize)?;
    let num_values = offsets.num_values;
    check_length(archive, &name("indices"), num_values)?;
    check_length(archive, &name("data"), num_values)?;
    let indices = archive.blocks(&name("indices"))?;
    let values = Values::open(archive, &name("data"), num_values)?;
    let mut row = 0;
    for start in (0..num_values).step_by(BLOCK) {
        let range = start..(start + BLOCK).min(num_values);
        let at_indices = |problem: Problem| archive.problem(&name("indices"), problem);
        let targets = indices.integers(range.clone()).map_err(|error| at_indices(array_problem(error)))?;
        let mut pairs = Vec::with_capacity(targets.len());
        for (position, &target) in range.clone().zip(&targets) {
            if target >= columns {
                let problem =
                    format!("index {target} at position {position}, but there are {columns} columns");
                return Err(at_indices(Problem::Inconsistent(problem)));
            }
            while offsets.end_of(row).map_err(|problem| archive.problem(&name("indptr"), problem))?
                <= position
            {
                row += 1;
            }
            let pair = [row as u32, target as u32];
            pairs.push(if reversed { [pair[1], pair[0]] } else { pair });
        }
        let weights = values.block(range).map_err(|problem| archive.problem(&name("data"), problem))?;
        builder.push(RawPairs::Narrow(pairs), weights).map_err(|problem| problem.in_file(archive.path()))?;
    }
    Ok(rows as usize)
}

/// Where rows end, read in blocks.
struct Offsets {
    array: ArrayBlocks,
    num_values: usize,
    /// The first row of the block, and where its rows end.
    first: usize,
    ends: Vec<u64>,
    num_rows: usize,
}

impl Offsets {
    /// Checks all offsets, and goes back to the first.
    fn open(archive: &mut Archive, name: &str, num_rows: usize) -> Result<Self, ReadError> {
        let array = archive.blocks(name)?;
        let at_array = |problem: Problem| problem.in_array(archive.path(), name);
        let len = array.header().shape.iter().product::<usize>();
        if len != num_rows + 1 {
            let problem = format!("found {len} row offsets, needed {}", num_rows + 1);
            return Err(at_array(Problem::Inconsistent(problem)));
        }
        let mut last = 0;
        for start in (0..len).step_by(BLOCK) {
            let block = array.integers(start..(start + BLOCK).min(len));
            let block = block.map_err(|error| at_array(array_problem(error)))?;
            let ascends = block.is_sorted() && block[0] >= last && (start > 0 || block[0] == 0);
            if !ascends {
                return Err(at_array(Problem::Inconsistent("row offsets are not ascending from 0".into())));
            }
            last = block[block.len() - 1];
        }
        Ok(Self { array, num_values: last as usize, first: 0, ends: Vec::new(), num_rows })
    }

    /// Where a row ends; rows are asked for in order.
    fn end_of(&mut self, row: usize) -> Result<usize, Problem> {
        if row >= self.first + self.ends.len() {
            self.first = row;
            let range = row + 1..(row + 1 + BLOCK).min(self.num_rows + 1);
            self.ends = self.array.integers(range).map_err(array_problem)?;
        }
        Ok(self.ends[row - self.first] as usize)
    }
}

/// The values of a matrix, read in blocks; nothing if all are 1.
struct Values(Option<ArrayBlocks>);

impl Values {
    fn open(archive: &mut Archive, name: &str, num_values: usize) -> Result<Self, ReadError> {
        let values = Self(Some(archive.blocks(name)?));
        let mut all_one = true;
        for start in (0..num_values).step_by(BLOCK) {
            let range = start..(start + BLOCK).min(num_values);
            let block = values.block(range).map_err(|problem| archive.problem(name, problem))?;
            all_one &= block.iter().all(|&value| value == 1.0);
        }
        Ok(if all_one { Self(None) } else { values })
    }

    fn block(&self, range: Range<usize>) -> Result<Vec<f32>, Problem> {
        let Some(array) = &self.0 else { return Ok(Vec::new()) };
        let values = array.floats(range).map_err(array_problem)?;
        values.iter().try_for_each(|&value| check_weight(value).map(drop))?;
        Ok(values)
    }
}

fn read_offsets(archive: &mut Archive, name: &str, num_rows: usize) -> Result<Vec<u64>, ReadError> {
    let offsets: Vec<u64> = archive.integers(name)?;
    if offsets.len() != num_rows + 1 {
        let problem = format!("found {} row offsets, needed {}", offsets.len(), num_rows + 1);
        return Err(archive.problem(name, Problem::Inconsistent(problem)));
    }
    if offsets[0] != 0 || !offsets.is_sorted() {
        let problem = "row offsets are not ascending from 0".to_owned();
        return Err(archive.problem(name, Problem::Inconsistent(problem)));
    }
    Ok(offsets)
}

fn read_columns(
    archive: &mut Archive,
    name: &str,
    num_values: usize,
    num_columns: u64,
) -> Result<Vec<u32>, ReadError> {
    check_length(archive, name, num_values)?;
    let columns: Vec<u32> = archive.integers(name)?;
    match columns.iter().position(|&column| u64::from(column) >= num_columns) {
        None => Ok(columns),
        Some(position) => {
            let column = columns[position];
            let problem =
                format!("index {column} at position {position}, but there are {num_columns} columns");
            Err(archive.problem(name, Problem::Inconsistent(problem)))
        }
    }
}

fn read_values(archive: &mut Archive, name: &str, num_values: usize) -> Result<Vec<f32>, ReadError> {
    check_length(archive, name, num_values)?;
    let values = archive.floats(name)?;
    Ok(if values.iter().all(|&value| value == 1.0) { Vec::new() } else { values })
}

/// Looks at the header alone, so that an array of the wrong length is never unpacked.
fn check_length(archive: &mut Archive, name: &str, needed: usize) -> Result<(), ReadError> {
    let found = archive.header(name)?.shape.iter().product::<usize>();
    if found == needed {
        return Ok(());
    }
    let problem = format!("found {found} values, but the row offsets end at {needed}");
    Err(archive.problem(name, Problem::Inconsistent(problem)))
}
