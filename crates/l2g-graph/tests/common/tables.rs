//! Parquet files for tests, in any form that other programs write.

#![allow(dead_code, reason = "each test file uses some of them")]
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail loudly")]

use std::sync::Arc;

use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
    FloatType, Int32Type, Int64Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;

/// The values of a column, as they are stored.
#[derive(Clone, Debug)]
pub(crate) enum Data {
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Boolean(Vec<bool>),
    Bytes(Vec<&'static [u8]>),
    Fixed(Vec<Vec<u8>>),
}

/// Values, and the levels that tell which are missing and where lists begin.
#[derive(Clone, Debug)]
pub(crate) struct Chunk {
    pub(crate) data: Data,
    pub(crate) definition: Option<Vec<i16>>,
    pub(crate) repetition: Option<Vec<i16>>,
}

impl From<Data> for Chunk {
    fn from(data: Data) -> Self {
        Self { data, definition: None, repetition: None }
    }
}

/// A file of one row group; `fields` as in `REQUIRED INT64 src;`.
pub(crate) fn table(fields: &str, chunks: &[Chunk]) -> Vec<u8> {
    table_of_groups(fields, &[chunks])
}

/// A file of several row groups.
pub(crate) fn table_of_groups(fields: &str, groups: &[&[Chunk]]) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(&format!("message table {{ {fields} }}")).unwrap());
    let mut bytes = Vec::new();
    let properties = Arc::new(WriterProperties::default());
    let mut file = SerializedFileWriter::new(&mut bytes, schema, properties).unwrap();
    for chunks in groups {
        let mut group = file.next_row_group().unwrap();
        for chunk in *chunks {
            let mut column = group.next_column().unwrap().unwrap();
            write(&mut column, chunk);
            column.close().unwrap();
        }
        group.close().unwrap();
    }
    file.close().unwrap();
    bytes
}

/// A file of edges with integer ids.
pub(crate) fn edge_table(src: &[i64], dst: &[i64]) -> Vec<u8> {
    let columns = [Data::Int64(src.to_vec()).into(), Data::Int64(dst.to_vec()).into()];
    table("REQUIRED INT64 src; REQUIRED INT64 dst;", &columns)
}

fn write(column: &mut SerializedColumnWriter<'_>, chunk: &Chunk) {
    match &chunk.data {
        Data::Int32(values) => write_as::<Int32Type>(column, values, chunk),
        Data::Int64(values) => write_as::<Int64Type>(column, values, chunk),
        Data::Float(values) => write_as::<FloatType>(column, values, chunk),
        Data::Double(values) => write_as::<DoubleType>(column, values, chunk),
        Data::Boolean(values) => write_as::<BoolType>(column, values, chunk),
        Data::Bytes(values) => {
            let values: Vec<ByteArray> = values.iter().map(|&value| value.into()).collect();
            write_as::<ByteArrayType>(column, &values, chunk);
        }
        Data::Fixed(values) => {
            let values: Vec<FixedLenByteArray> = values.iter().map(|value| value.clone().into()).collect();
            write_as::<FixedLenByteArrayType>(column, &values, chunk);
        }
    }
}

fn write_as<T: DataType>(column: &mut SerializedColumnWriter<'_>, values: &[T::T], chunk: &Chunk) {
    let levels = (chunk.definition.as_deref(), chunk.repetition.as_deref());
    column.typed::<T>().write_batch(values, levels.0, levels.1).unwrap();
}
