//! Tables that speak Arrow, by the PyCapsule interface: pyarrow, polars, pandas and others.

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatchReader};
use local2global::graph::StringTable;
use local2global::graph::table::{Batch, TableColumn, TableError, TableReader, Values};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};

/// The batches of a table.
pub(crate) fn read_stream(table: &Bound<'_, PyAny>) -> PyResult<ArrowTable> {
    let capsule = table.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of that name holds a pointer to such a stream. It is moved out, and
    // what is left behind is marked as released, so that the capsule does not release it too.
    #[expect(unsafe_code, reason = "the interface is one of C")]
    let reader = unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr()) };
    reader.map(ArrowTable).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// An Arrow stream as the library reads tables.
pub(crate) struct ArrowTable(RecordBatchStreamReader);

impl TableReader for ArrowTable {
    fn column_names(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn next_batch(&mut self, columns: &[usize]) -> Result<Option<Batch>, TableError> {
        let batch = self.0.next().transpose().map_err(|error| TableError::Damaged(error.to_string()))?;
        Ok(batch.map(|batch| Batch {
            num_rows: batch.num_rows(),
            columns: columns.iter().map(|&index| column(batch.column(index))).collect(),
        }))
    }
}

fn column(array: &dyn Array) -> TableColumn {
    let type_name = array.data_type().to_string();
    let first_null = array.logical_nulls().and_then(|nulls| nulls.iter().position(|valid| !valid));
    let values = match first_null {
        None => values(array),
        Some(_) => Values::Other,
    };
    TableColumn { values, type_name, first_null }
}

/// The values of an array; those of a dictionary are looked up.
fn values(array: &dyn Array) -> Values {
    if let Some(dictionary) = array.as_any_dictionary_opt() {
        return match dictionary.values().is_empty() {
            true => values(dictionary.values()),
            false => select(values(dictionary.values()), &dictionary.normalized_keys()),
        };
    }
    integers(array).or_else(|| floats(array)).or_else(|| text(array)).unwrap_or(Values::Other)
}

fn primitive<T: ArrowPrimitiveType, V>(array: &dyn Array, make: impl Fn(T::Native) -> V) -> Option<Vec<V>> {
    Some(array.as_primitive_opt::<T>()?.values().iter().copied().map(make).collect())
}

fn integers(array: &dyn Array) -> Option<Values> {
    let signed = primitive::<Int64Type, _>(array, |value| value)
        .or_else(|| primitive::<Int32Type, _>(array, i64::from))
        .or_else(|| primitive::<Int16Type, _>(array, i64::from))
        .or_else(|| primitive::<Int8Type, _>(array, i64::from));
    let unsigned = || {
        primitive::<UInt64Type, _>(array, |value| value)
            .or_else(|| primitive::<UInt32Type, _>(array, u64::from))
            .or_else(|| primitive::<UInt16Type, _>(array, u64::from))
            .or_else(|| primitive::<UInt8Type, _>(array, u64::from))
    };
    signed.map(Values::Signed).or_else(|| unsigned().map(Values::Unsigned))
}

fn floats(array: &dyn Array) -> Option<Values> {
    let single = primitive::<Float32Type, _>(array, |value| value)
        .or_else(|| primitive::<Float16Type, _>(array, |value| value.to_f32()));
    let double = || primitive::<Float64Type, _>(array, |value| value);
    let boolean = || Some(array.as_boolean_opt()?.values().iter().collect());
    single
        .map(Values::Single)
        .or_else(|| double().map(Values::Double))
        .or_else(|| boolean().map(Values::Boolean))
}

fn text(array: &dyn Array) -> Option<Values> {
    let short = || Some(array.as_string_opt::<i32>()?.iter().flatten().collect::<StringTable>());
    let large = || Some(array.as_string_opt::<i64>()?.iter().flatten().collect());
    let view = || Some(array.as_string_view_opt()?.iter().flatten().collect());
    short().or_else(large).or_else(view).map(Values::Text)
}

/// The values at the given places.
fn select(values: Values, places: &[usize]) -> Values {
    fn each<T: Copy>(values: &[T], places: &[usize]) -> Vec<T> {
        places.iter().map(|&place| values[place]).collect()
    }
    match values {
        Values::Signed(values) => Values::Signed(each(&values, places)),
        Values::Unsigned(values) => Values::Unsigned(each(&values, places)),
        Values::Single(values) => Values::Single(each(&values, places)),
        Values::Double(values) => Values::Double(each(&values, places)),
        Values::Boolean(values) => Values::Boolean(each(&values, places)),
        Values::Text(texts) => Values::Text(places.iter().map(|&place| texts.get(place)).collect()),
        _ => Values::Other,
    }
}
