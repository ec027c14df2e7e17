//! Parquet tables of edges: `src`, `dst` and, if there are weights, `weight`.
//!
//! Ids are signed 64-bit integers, which every reader knows, or strings. Integer
//! columns store differences, packed to as few bits as they need: sources ascend.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::{GraphSink, Outline, invalid};
use crate::graph::NodeIds;
use crate::graph::edge_list::EdgeChunk;

/// A table of edges in the making.
pub(super) struct ParquetSink<'a, W: Write + Send> {
    writer: ArrowWriter<W>,
    schema: Arc<Schema>,
    ids: &'a NodeIds,
}

impl<'a, W: Write + Send> ParquetSink<'a, W> {
    pub(super) fn new(file: W, outline: &Outline<'a>) -> io::Result<Self> {
        let (id_type, encoding) = match outline.ids {
            NodeIds::Strings(_) => (DataType::Utf8, Encoding::DELTA_LENGTH_BYTE_ARRAY),
            _ => (DataType::Int64, Encoding::DELTA_BINARY_PACKED),
        };
        let mut fields = vec![Field::new("src", id_type.clone(), false), Field::new("dst", id_type, false)];
        if outline.weighted {
            fields.push(Field::new("weight", DataType::Float32, false));
        }
        let schema = Arc::new(Schema::new(fields));
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_column_dictionary_enabled("src".into(), false)
            .set_column_dictionary_enabled("dst".into(), false)
            .set_column_encoding("src".into(), encoding)
            .set_column_encoding("dst".into(), encoding)
            .build();
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties)).map_err(failed)?;
        Ok(Self { writer, schema, ids: outline.ids })
    }

    /// The names of the sources, or of the targets.
    fn column(&self, nodes: impl Iterator<Item = u64>) -> io::Result<ArrayRef> {
        let signed = |id| i64::try_from(id).map_err(|_| invalid(format!("node id {id} is above 2^63 - 1")));
        Ok(match self.ids {
            NodeIds::Range(_) => Arc::new(nodes.map(signed).collect::<io::Result<Int64Array>>()?),
            NodeIds::Integers(ids) => {
                let named = nodes.map(|node| signed(ids[node as usize]));
                Arc::new(named.collect::<io::Result<Int64Array>>()?)
            }
            NodeIds::Strings(names) => {
                Arc::new(StringArray::from_iter_values(nodes.map(|node| names.get(node as usize))))
            }
        })
    }
}

fn failed(error: ParquetError) -> io::Error {
    io::Error::other(error)
}

impl<W: Write + Send> GraphSink for ParquetSink<'_, W> {
    fn push_edges(&mut self, edges: &EdgeChunk<u64>) -> io::Result<()> {
        let mut columns = vec![
            self.column(edges.pairs.iter().map(|pair| pair[0]))?,
            self.column(edges.pairs.iter().map(|pair| pair[1]))?,
        ];
        if self.schema.fields().len() == 3 {
            columns.push(Arc::new(Float32Array::from(edges.weights.clone())));
        }
        let batch = RecordBatch::try_new(self.schema.clone(), columns).map_err(io::Error::other)?;
        self.writer.write(&batch).map_err(failed)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.writer.close().map(drop).map_err(failed)
    }
}
