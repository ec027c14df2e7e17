//! Writing `.npy` files, whole or piece by piece.
//!
//! Slices go out as they lie in memory, and [`Writer`] fills in the length at the end,
//! so that an array can be streamed.

use std::io::{self, Seek, SeekFrom, Write};

use super::element::Element;

/// The header of a C-ordered array, 128 bytes for all shapes in use; `descr` is the
/// element type as NumPy spells it.
pub(crate) fn header(descr: &str, shape: &[usize]) -> Vec<u8> {
    let axes: Vec<String> = shape.iter().map(usize::to_string).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    let axes = axes.join(", ");
    let dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({axes}{comma}), }}");
    // Signature, version and length take 10 bytes, the final line break one.
    let padded = (10 + dict.len() + 1).next_multiple_of(64).max(128);
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(((padded - 10) as u16).to_le_bytes());
    bytes.extend(dict.as_bytes());
    bytes.resize(padded - 1, b' ');
    bytes.push(b'\n');
    bytes
}

/// Writes an array of the given shape.
///
/// # Errors
/// If writing fails.
///
/// # Panics
/// If `shape` does not multiply to the number of values.
pub fn write<T: Element>(sink: &mut impl Write, shape: &[usize], values: &[T]) -> io::Result<()> {
    assert_eq!(shape.iter().product::<usize>(), values.len(), "shape must match the number of values");
    sink.write_all(&header(T::DESCR, shape))?;
    sink.write_all(bytemuck::cast_slice(values))
}

/// Writes an array row by row, when the number of rows shows only at the end.
#[derive(Debug)]
pub struct Writer<T, W> {
    sink: W,
    row_shape: Vec<usize>,
    num_values: usize,
    element: std::marker::PhantomData<T>,
}

impl<T: Element, W: Write + Seek> Writer<T, W> {
    /// Begins an array whose rows have the given shape: `&[]` for a flat array.
    ///
    /// # Errors
    /// If writing fails.
    pub fn new(mut sink: W, row_shape: &[usize]) -> io::Result<Self> {
        let mut empty = vec![0];
        empty.extend(row_shape);
        sink.write_all(&header(T::DESCR, &empty))?;
        Ok(Self { sink, row_shape: row_shape.to_vec(), num_values: 0, element: Default::default() })
    }

    /// Appends values, in whole rows or not.
    ///
    /// # Errors
    /// If writing fails.
    pub fn push(&mut self, values: &[T]) -> io::Result<()> {
        self.num_values += values.len();
        self.sink.write_all(bytemuck::cast_slice(values))
    }

    /// Fills in the number of rows and hands the sink back.
    ///
    /// # Errors
    /// If writing fails or the last row is incomplete.
    pub fn finish(mut self) -> io::Result<W> {
        let row_len = self.row_shape.iter().product::<usize>().max(1);
        if !self.num_values.is_multiple_of(row_len) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the last row is incomplete"));
        }
        let end = self.sink.stream_position()?;
        self.sink.rewind()?;
        let header = header(T::DESCR, &self.shape());
        self.sink.write_all(&header)?;
        self.sink.seek(SeekFrom::Start(end))?;
        self.sink.flush()?;
        Ok(self.sink)
    }

    fn shape(&self) -> Vec<usize> {
        let row_len = self.row_shape.iter().product::<usize>().max(1);
        let mut shape = vec![self.num_values / row_len];
        shape.extend(&self.row_shape);
        shape
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::npy::ArrayReader;

    #[test]
    fn data_begin_on_a_64_byte_boundary() {
        for shape in [vec![], vec![0], vec![usize::MAX, usize::MAX], vec![1, 2, 3, 4]] {
            assert_eq!(header(f32::DESCR, &shape).len() % 64, 0);
        }
    }

    #[test]
    fn a_streamed_array_equals_one_written_at_once() {
        let mut whole = Cursor::new(Vec::new());
        write(&mut whole, &[3, 2], &[1_u32, 2, 3, 4, 5, 6]).unwrap();
        let mut writer = Writer::new(Cursor::new(Vec::new()), &[2]).unwrap();
        writer.push(&[1_u32, 2, 3]).unwrap();
        writer.push(&[4, 5, 6]).unwrap();
        let streamed = writer.finish().unwrap();
        assert_eq!(streamed.into_inner(), whole.get_ref()[..]);
    }

    #[test]
    fn a_scalar_array_has_no_axes() {
        let mut sink = Vec::new();
        write(&mut sink, &[], &[1.5_f64]).unwrap();
        let reader = ArrayReader::new(&sink[..]).unwrap();
        assert!(reader.header().shape.is_empty());
        assert_eq!(reader.floats::<f64>().unwrap(), [1.5]);
    }
}
