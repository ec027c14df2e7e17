//! A Parquet table: `id` and `vector`, the form that vector stores load.
//!
//! Ids are signed 64-bit integers, which every reader knows, or text; `vector` is a list
//! of fixed size with 32-bit floats, none of them missing. Columns are packed with
//! Zstandard. A row group is closed when it has grown to some tens of megabytes, so memory
//! does not grow with the number of nodes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, FixedSizeListArray, Float32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::lines::advance;
use super::{ExportError, Vectors};
use crate::graph::NodeIds;
use crate::progress::Progress;
use crate::run_dir::write_atomically;

/// A batch has about this many bytes.
const BATCH_BYTES: usize = 8 << 20;

/// A row group is closed when it has about this many bytes.
const GROUP_BYTES: usize = 64 << 20;

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
    let element: FieldRef = Arc::new(Field::new("element", DataType::Float32, false));
    let (id_type, encoding) = match vectors.ids {
        NodeIds::Strings(_) => (DataType::Utf8, Encoding::DELTA_LENGTH_BYTE_ARRAY),
        _ => (DataType::Int64, Encoding::DELTA_BINARY_PACKED),
    };
    let list = DataType::FixedSizeList(element.clone(), vectors.dim as i32);
    let fields = vec![Field::new("id", id_type, false), Field::new("vector", list, false)];
    let schema = Arc::new(Schema::new(fields));
    let batch_rows = (BATCH_BYTES / (4 * vectors.dim)).max(1);
    write_atomically(path, |file| {
        let mut writer = ArrowWriter::try_new(file, schema.clone(), Some(properties(encoding)))?;
        for first in (0..vectors.num_nodes()).step_by(batch_rows) {
            let end = (first + batch_rows).min(vectors.num_nodes());
            let batch = batch(vectors, first..end, &schema, &element).map_err(std::io::Error::other)?;
            writer.write(&batch)?;
            if writer.in_progress_size() > GROUP_BYTES {
                writer.flush()?;
            }
            advance(progress, end - first)?;
        }
        writer.close()?;
        Ok(())
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

fn properties(id_encoding: Encoding) -> WriterProperties {
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_dictionary_enabled(false)
        .set_column_encoding("id".into(), id_encoding)
        .build()
}

/// Some rows of the table.
fn batch(
    vectors: &Vectors<'_>,
    rows: std::ops::Range<usize>,
    schema: &Arc<Schema>,
    element: &FieldRef,
) -> Result<RecordBatch, ArrowError> {
    let values = vectors.coordinates[rows.start * vectors.dim..rows.end * vectors.dim].to_vec();
    let values: ArrayRef = Arc::new(Float32Array::from(values));
    let list = FixedSizeListArray::try_new(element.clone(), vectors.dim as i32, values, None)?;
    RecordBatch::try_new(schema.clone(), vec![id_column(vectors.ids, rows), Arc::new(list)])
}

fn id_column(ids: &NodeIds, rows: std::ops::Range<usize>) -> ArrayRef {
    match ids {
        NodeIds::Range(_) => Arc::new(Int64Array::from_iter_values(rows.map(|row| row as i64))),
        // That they fit was checked.
        NodeIds::Integers(ids) => {
            Arc::new(Int64Array::from_iter_values(ids[rows].iter().map(|&id| id as i64)))
        }
        NodeIds::Strings(names) => Arc::new(StringArray::from_iter_values(rows.map(|row| names.get(row)))),
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float32Type, Int64Type};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    use super::*;
    use crate::progress::Silent;

    fn round_trip(ids: &NodeIds, values: &[f32], dim: usize) -> Vec<RecordBatch> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        write(&Vectors::new(ids, values, dim).unwrap(), &path, &Silent).unwrap();
        let file = std::fs::File::open(&path).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
        reader.map(Result::unwrap).collect()
    }

    fn vectors(batches: &[RecordBatch]) -> Vec<f32> {
        let rows = batches.iter().map(|batch| batch["vector"].as_fixed_size_list().values().clone());
        rows.flat_map(|values| values.as_primitive::<Float32Type>().values().to_vec()).collect()
    }

    #[test]
    fn integer_ids_and_vectors_come_back() {
        let ids = NodeIds::Integers(vec![9, 2, 5_000_000_000].into());
        let values = [0.5, -1.0, 2.0, 1e-9, f32::MAX, -0.0];
        let batches = round_trip(&ids, &values, 2);
        assert_eq!(batches[0]["id"].as_primitive::<Int64Type>().values(), &[9, 2, 5_000_000_000]);
        assert_eq!(vectors(&batches), values);
        let field = batches[0].schema().field(1).clone();
        assert!(matches!(field.data_type(), DataType::FixedSizeList(_, 2)) && !field.is_nullable());
    }

    #[test]
    fn text_ids_come_back_over_several_batches() {
        let names: Vec<String> = (0..5000).map(|row| format!("node {row}, \"quoted\"")).collect();
        let ids = NodeIds::Strings(names.iter().collect());
        let dim = 1000;
        let values: Vec<f32> = (0..names.len() * dim).map(|value| value as f32).collect();
        let batches = round_trip(&ids, &values, dim);
        let read = batches.iter().flat_map(|batch| batch["id"].as_string::<i32>().iter().flatten());
        assert!(read.eq(names.iter()));
        assert_eq!(vectors(&batches), values);
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
