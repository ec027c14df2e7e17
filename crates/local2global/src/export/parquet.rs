//! A Parquet table: `id` and `vector`, the form that vector stores load; with a layout, also `x` and `y`.
//!
//! Ids are signed 64-bit integers, which every reader knows, or text; `vector` is a list of 32-bit
//! floats, none of them missing, which Arrow readers see as a list of fixed size. Columns are packed
//! with Zstandard. A row group has some tens of megabytes, so memory does not grow with the
//! number of nodes.

use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::lines::advance;
use super::{ExportError, Vectors};
use crate::graph::NodeIds;
use crate::graph::table::{ColumnData, ParquetWriter, WriterColumn};
use crate::progress::Progress;
use crate::run_dir::write_atomically;

/// A row group has about this many bytes of coordinates.
pub(super) const GROUP_BYTES: usize = 64 << 20;

/// Writes vectors as a Parquet table.
///
/// # Errors
/// [`ExportError::Name`] for an id above 2⁶³ - 1, [`ExportError::File`] if writing fails.
pub fn write(
    vectors: &Vectors<'_>,
    path: &Path,
    progress: &dyn Progress,
) -> Result<Vec<PathBuf>, ExportError> {
    check_integers(vectors)?;
    let id = match vectors.ids {
        NodeIds::Strings(_) => WriterColumn::Text("id"),
        _ => WriterColumn::Integers("id"),
    };
    let mut columns = vec![id, WriterColumn::Vectors("vector", vectors.dim)];
    if vectors.places.is_some() {
        columns.extend([WriterColumn::Floats("x"), WriterColumn::Floats("y")]);
    }
    let group_rows = (GROUP_BYTES / (4 * vectors.dim)).max(1);
    write_atomically(path, |file| {
        let mut writer = ParquetWriter::new(file, &columns)?;
        for first in (0..vectors.num_nodes()).step_by(group_rows) {
            let rows = first..(first + group_rows).min(vectors.num_nodes());
            let num_rows = rows.len();
            write_group(&mut writer, vectors, rows)?;
            advance(progress, num_rows)?;
        }
        writer.close()
    })?;
    Ok(vec![path.to_owned()])
}

fn check_integers(vectors: &Vectors<'_>) -> Result<(), ExportError> {
    let NodeIds::Integers(ids) = vectors.ids else { return Ok(()) };
    match ids.iter().find(|&&id| i64::try_from(id).is_err()) {
        None => Ok(()),
        Some(id) => Err(ExportError::Name {
            what: "node id",
            name: id.to_string(),
            problem: "is above 2^63 - 1",
            format: "a Parquet column of signed integers",
        }),
    }
}

/// Some rows of the table.
fn write_group<W: Write + Send>(
    writer: &mut ParquetWriter<W>,
    vectors: &Vectors<'_>,
    rows: Range<usize>,
) -> io::Result<()> {
    let floats = ColumnData::Floats(&vectors.coordinates[rows.start * vectors.dim..rows.end * vectors.dim]);
    let places = vectors.places.map(|places| &places[rows.clone()]);
    let along = places.map(|places| [0, 1].map(|axis| places.iter().map(|p| p[axis]).collect::<Vec<f32>>()));
    let mut write = |ids: ColumnData<'_>| {
        let mut data = vec![ids, floats];
        data.extend(along.iter().flatten().map(|values| ColumnData::Floats(values)));
        writer.write_group(&data)
    };
    let mut integers = |ids: Vec<i64>| write(ColumnData::Integers(&ids));
    match vectors.ids {
        NodeIds::Range(_) => integers(rows.map(|row| row as i64).collect()),
        // That they fit was checked.
        NodeIds::Integers(ids) => integers(ids[rows].iter().map(|&id| id as i64).collect()),
        NodeIds::Strings(names) => {
            let texts: Vec<&str> = rows.map(|row| names.get(row)).collect();
            write(ColumnData::Text(&texts))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::table::{ParquetTable, TableReader, Values};
    use crate::progress::Silent;

    /// The ids, and the vectors one after the other, as they are read again.
    fn round_trip(ids: &NodeIds, values: &[f32], dim: usize) -> (Vec<Values>, Vec<f32>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        write(&Vectors::new(ids, values, dim).unwrap(), &path, &Silent).unwrap();
        let mut table = ParquetTable::open(std::fs::File::open(&path).unwrap()).unwrap();
        assert_eq!(table.column_names(), ["id", "vector"]);
        let (mut ids, mut floats) = (Vec::new(), Vec::new());
        while let Some(batch) = table.next_batch(&[0, 1]).unwrap() {
            let [id, vector] = <[_; 2]>::try_from(batch.columns).unwrap();
            let Values::Lists { ends, elements } = vector.values else { panic!("{vector:?}") };
            assert!(ends.iter().copied().eq((1..=batch.num_rows).map(|row| row * dim)));
            let Values::Single(elements) = *elements else { panic!("{elements:?}") };
            floats.extend(elements);
            ids.push(id.values);
        }
        (ids, floats)
    }

    #[test]
    fn places_are_two_more_columns() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        let ids = NodeIds::Range(2);
        let vectors =
            Vectors::new(&ids, &[0.5, 1.0], 1).unwrap().with_places(Some(&[[1.0, 2.0], [-3.5, 4.0]]));
        write(&vectors, &path, &Silent).unwrap();
        let mut table = ParquetTable::open(std::fs::File::open(&path).unwrap()).unwrap();
        assert_eq!(table.column_names(), ["id", "vector", "x", "y"]);
        let batch = table.next_batch(&[2, 3]).unwrap().unwrap();
        let found: Vec<Values> = batch.columns.into_iter().map(|column| column.values).collect();
        assert_eq!(found, [Values::Single(vec![1.0, -3.5]), Values::Single(vec![2.0, 4.0])]);
    }

    #[test]
    fn integer_ids_and_vectors_come_back() {
        let ids = NodeIds::Integers(vec![9, 2, 5_000_000_000].into());
        let values = [0.5, -1.0, 2.0, 1e-9, f32::MAX, -0.0];
        let (found, vectors) = round_trip(&ids, &values, 2);
        assert_eq!(found, [Values::Signed(vec![9, 2, 5_000_000_000])]);
        assert_eq!(vectors, values);
    }

    #[test]
    fn text_ids_come_back_over_several_groups() {
        let names: Vec<String> = (0..20_000).map(|row| format!("node {row}, \"quoted\"")).collect();
        let ids = NodeIds::Strings(names.iter().collect());
        let dim = 1000;
        let values: Vec<f32> = (0..names.len() * dim).map(|value| value as f32).collect();
        let (found, vectors) = round_trip(&ids, &values, dim);
        let texts = found.into_iter().flat_map(|values| match values {
            Values::Text(texts) => texts.iter().map(str::to_owned).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        });
        assert!(texts.eq(names));
        assert!(vectors == values);
    }

    #[test]
    fn ids_beyond_signed_integers_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        let ids = NodeIds::Integers(vec![1 << 63].into());
        let error = write(&Vectors::new(&ids, &[1.0], 1).unwrap(), &path, &Silent).unwrap_err().to_string();
        assert!(error.starts_with("node id 9223372036854775808 is above 2^63 - 1;"), "{error}");
        assert!(!path.exists());
    }
}
