//! Compressed sparse rows in an archive, as scipy and the gnn-benchmark sets keep them.

use super::archive::Archive;
use super::error::{Problem, ReadError};
use super::text::parse::check_weight;
use crate::graph::edge_list::{EdgeChunk, EdgeList};
use crate::graph::features::SparseFeatures;

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
        let shape: Vec<u64> = archive.integers(&name("shape"))?;
        let &[num_rows, num_columns] = &shape[..] else {
            let problem = format!("matrix shape has {} numbers, needed 2", shape.len());
            return Err(archive.problem(&name("shape"), Problem::Inconsistent(problem)));
        };
        if num_columns > u64::from(u32::MAX) || num_rows > u64::from(u32::MAX) {
            let problem = format!("matrix of {num_rows} x {num_columns}; up to 4294967295 are supported");
            return Err(archive.problem(&name("shape"), Problem::Inconsistent(problem)));
        }
        let offsets = read_offsets(archive, &name("indptr"), num_rows as usize)?;
        let num_values = offsets.last().map_or(0, |&last| last as usize);
        let columns = read_columns(archive, &name("indices"), num_values, num_columns)?;
        let values = read_values(archive, &name("data"), num_values)?;
        Ok(Self { num_rows: num_rows as usize, num_columns: num_columns as usize, offsets, columns, values })
    }

    fn row(&self, row: usize) -> std::ops::Range<usize> {
        self.offsets[row] as usize..self.offsets[row + 1] as usize
    }

    /// The matrix as edges from rows to columns.
    ///
    /// # Errors
    /// The position and what is wrong there, if a weight is negative.
    pub(crate) fn into_edges(self) -> Result<EdgeList<u32>, Problem> {
        for &weight in &self.values {
            check_weight(weight)?;
        }
        const CHUNK: usize = 1 << 20;
        let mut edges = EdgeList::new();
        let mut chunk = EdgeChunk::default();
        for row in 0..self.num_rows {
            for k in self.row(row) {
                chunk.pairs.push([row as u32, self.columns[k]]);
                chunk.weights.extend(self.values.get(k));
            }
            if chunk.pairs.len() > CHUNK {
                edges.push(std::mem::take(&mut chunk));
            }
        }
        edges.push(chunk);
        Ok(edges)
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
