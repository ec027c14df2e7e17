//! Values -> Parquet files.
//!
//! Columns are packed with Zstandard. Integers are stored as differences, packed to as few bits
//! as they need, and text without repeating its lengths; floats as they are. A list of floats
//! has the standard form of three levels, and a note about its fixed size for Arrow readers.

use std::io::{self, Write};
use std::sync::Arc;

use ::parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel};
use ::parquet::data_type::{ByteArray, ByteArrayType, FloatType, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use ::parquet::schema::types::{ColumnPath, Type};

use super::arrow_schema;
use crate::graph::table::{ColumnData, WriterColumn};

/// Lists are handed over in pieces of about this many floats.
const PIECE: usize = 1 << 20;

/// A Parquet file in the making; `W` takes it from beginning to end.
pub struct ParquetWriter<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    columns: Vec<WriterColumn>,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Begins a file.
    pub fn new(file: W, columns: &[WriterColumn]) -> io::Result<Self> {
        let fields: Result<Vec<_>, _> = columns.iter().map(|&column| Ok(Arc::new(field(column)?))).collect();
        let schema = Type::group_type_builder("schema").with_fields(fields.map_err(failed)?).build();
        let schema = Arc::new(schema.map_err(failed)?);
        let properties = Arc::new(properties(columns));
        let writer = SerializedFileWriter::new(file, schema, properties).map_err(failed)?;
        Ok(Self { writer, columns: columns.to_vec() })
    }

    /// Writes rows as a row group.
    ///
    /// # Panics
    /// If the data are not those of the columns.
    pub fn write_group(&mut self, data: &[ColumnData<'_>]) -> io::Result<()> {
        assert_eq!(data.len(), self.columns.len(), "data for every column");
        let mut group = self.writer.next_row_group().map_err(failed)?;
        for (&column, &data) in self.columns.iter().zip(data) {
            let mut writer = group.next_column().map_err(failed)?.expect("a writer for every column");
            write_column(&mut writer, column, data).map_err(failed)?;
            writer.close().map_err(failed)?;
        }
        group.close().map_err(failed)?;
        Ok(())
    }

    /// Writes what is left.
    pub fn close(self) -> io::Result<()> {
        self.writer.close().map(drop).map_err(failed)
    }
}

fn failed(error: ParquetError) -> io::Error {
    io::Error::other(error)
}

fn name(column: WriterColumn) -> &'static str {
    match column {
        WriterColumn::Integers(name) | WriterColumn::Text(name) => name,
        WriterColumn::Floats(name) | WriterColumn::Vectors(name, _) => name,
    }
}

fn field(column: WriterColumn) -> Result<Type, ParquetError> {
    let primitive = |physical, logical| {
        Type::primitive_type_builder(name(column), physical)
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(logical)
            .build()
    };
    match column {
        WriterColumn::Integers(_) => primitive(Physical::INT64, None),
        WriterColumn::Text(_) => primitive(Physical::BYTE_ARRAY, Some(LogicalType::String)),
        WriterColumn::Floats(_) => primitive(Physical::FLOAT, None),
        WriterColumn::Vectors(name, _) => {
            let element = Type::primitive_type_builder("element", Physical::FLOAT)
                .with_repetition(Repetition::REQUIRED)
                .build()?;
            let list = Type::group_type_builder("list")
                .with_repetition(Repetition::REPEATED)
                .with_fields(vec![Arc::new(element)])
                .build()?;
            Type::group_type_builder(name)
                .with_repetition(Repetition::REQUIRED)
                .with_logical_type(Some(LogicalType::List))
                .with_fields(vec![Arc::new(list)])
                .build()
        }
    }
}

fn properties(columns: &[WriterColumn]) -> WriterProperties {
    let note = KeyValue::new(arrow_schema::KEY.to_owned(), arrow_schema::describe(columns));
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_dictionary_enabled(false)
        .set_key_value_metadata(Some(vec![note]));
    for &column in columns {
        let path = ColumnPath::from(name(column));
        properties = match column {
            WriterColumn::Integers(_) => properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
            WriterColumn::Text(_) => properties.set_column_encoding(path, Encoding::DELTA_LENGTH_BYTE_ARRAY),
            // Weights are often all alike, or few different ones.
            WriterColumn::Floats(_) => properties.set_column_dictionary_enabled(path, true),
            WriterColumn::Vectors(..) => properties,
        };
    }
    properties.build()
}

fn write_column(
    writer: &mut SerializedColumnWriter<'_>,
    column: WriterColumn,
    data: ColumnData<'_>,
) -> Result<(), ParquetError> {
    match (column, data) {
        (WriterColumn::Integers(_), ColumnData::Integers(values)) => {
            writer.typed::<Int64Type>().write_batch(values, None, None)?;
        }
        (WriterColumn::Text(_), ColumnData::Text(texts)) => {
            writer.typed::<ByteArrayType>().write_batch(&byte_arrays(texts), None, None)?;
        }
        (WriterColumn::Floats(_), ColumnData::Floats(values)) => {
            writer.typed::<FloatType>().write_batch(values, None, None)?;
        }
        (WriterColumn::Vectors(_, width), ColumnData::Floats(values)) => {
            write_vectors(writer, width, values)?;
        }
        _ => {
            let message = format!("column {column:?} has values of another type");
            return Err(ParquetError::General(message));
        }
    }
    Ok(())
}

/// Texts as slices of one block of memory.
fn byte_arrays(texts: &[&str]) -> Vec<ByteArray> {
    let block = ByteArray::from(texts.concat().into_bytes());
    let mut start = 0;
    let slices = texts.iter().map(|text| {
        start += text.len();
        block.slice(start - text.len(), text.len())
    });
    slices.collect()
}

/// Lists of `width` floats, all of them there: the first of a row has repetition level 0.
fn write_vectors(
    writer: &mut SerializedColumnWriter<'_>,
    width: usize,
    values: &[f32],
) -> Result<(), ParquetError> {
    let rows = (PIECE / width).max(1).min(values.len() / width);
    let definition = vec![1; rows * width];
    let mut repetition = vec![1; rows * width];
    repetition.iter_mut().step_by(width).for_each(|level| *level = 0);
    for piece in values.chunks(rows.max(1) * width) {
        let levels = (&definition[..piece.len()], &repetition[..piece.len()]);
        writer.typed::<FloatType>().write_batch(piece, Some(levels.0), Some(levels.1))?;
    }
    Ok(())
}
