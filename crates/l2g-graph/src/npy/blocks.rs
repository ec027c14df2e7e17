//! Arrays that are read in blocks, from any place, rather than as a whole.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::ops::Range;

use super::element::Kind;
use super::header::ArrayHeader;
use super::read::{FromF64, float, integer};
use super::{ArrayReader, NpyError};
use crate::positioned::read_exact_at;

/// An array whose values stay where they are until they are asked for.
#[derive(Debug)]
pub(crate) struct ArrayBlocks {
    header: ArrayHeader,
    bytes: Bytes,
}

#[derive(Debug)]
enum Bytes {
    /// The values begin at this place.
    File(File, u64),
    Memory(Vec<u8>),
}

impl ArrayBlocks {
    /// The array in a file, which is as long as it should be.
    ///
    /// # Errors
    /// As [`ArrayHeader::read`]; [`NpyError::Truncated`] if the file is too short.
    pub(crate) fn of_file(mut file: File) -> Result<Self, NpyError> {
        file.rewind()?;
        let len = file.metadata()?.len();
        let reader = ArrayReader::new(&mut file)?;
        reader.check_length(len)?;
        let header = reader.into_header();
        let start = header.data_start as u64;
        Ok(Self { header, bytes: Bytes::File(file, start) })
    }

    /// What is left of a source, copied into `file`, or kept in memory if there is none.
    ///
    /// # Errors
    /// [`NpyError::Io`] if it cannot be copied, [`NpyError::Truncated`] if it ends too early.
    pub(crate) fn copied<R: Read>(reader: ArrayReader<R>, file: Option<File>) -> Result<Self, NpyError> {
        let (header, mut source) = reader.into_parts();
        let (bytes, len) = match file {
            Some(mut file) => {
                let len = io::copy(&mut source, &mut file)?;
                (Bytes::File(file, 0), len)
            }
            None => {
                let mut bytes = Vec::new();
                let len = source.read_to_end(&mut bytes)? as u64;
                (Bytes::Memory(bytes), len)
            }
        };
        let (found, expected) = ((len / header.dtype.size.max(1) as u64) as usize, header.num_values()?);
        match found < expected {
            true => Err(NpyError::Truncated { found, expected }),
            false => Ok(Self { header, bytes }),
        }
    }

    /// What the header says.
    pub(crate) fn header(&self) -> &ArrayHeader {
        &self.header
    }

    /// Some values, in the order of the file, as integers that are not negative.
    ///
    /// # Errors
    /// As [`ArrayReader::integers`].
    pub(crate) fn integers(&self, range: Range<usize>) -> Result<Vec<u64>, NpyError> {
        let dtype = self.header.dtype;
        if !matches!(dtype.kind, Kind::Int | Kind::Uint | Kind::Bool) {
            return Err(NpyError::Type { found: self.header.type_name.clone(), needed: "integers" });
        }
        self.convert(range, |bytes, position| {
            let value = match <[u8; 8]>::try_from(bytes) {
                // What NumPy writes by default; all else goes the long way.
                Ok(bytes) if !dtype.big_endian && dtype.kind == Kind::Int => i64::from_le_bytes(bytes).into(),
                _ => integer(dtype, bytes),
            };
            let problem = "is negative";
            u64::try_from(value).map_err(|_| NpyError::Value { value: value.to_string(), position, problem })
        })
    }

    /// Some values, in the order of the file, as finite numbers.
    ///
    /// # Errors
    /// As [`ArrayReader::floats`].
    pub(crate) fn floats(&self, range: Range<usize>) -> Result<Vec<f32>, NpyError> {
        let dtype = self.header.dtype;
        if matches!(dtype.kind, Kind::Unicode | Kind::Bytes) {
            return Err(NpyError::Type { found: self.header.type_name.clone(), needed: "numbers" });
        }
        self.convert(range, |bytes, position| {
            let value = float(dtype, bytes);
            let problem = if value.is_finite() { "is too large" } else { "is not finite" };
            f32::from_f64(value).ok_or_else(|| NpyError::Value {
                value: value.to_string(),
                position,
                problem,
            })
        })
    }

    fn convert<T>(
        &self,
        range: Range<usize>,
        convert: impl Fn(&[u8], usize) -> Result<T, NpyError>,
    ) -> Result<Vec<T>, NpyError> {
        let size = self.header.dtype.size;
        let mut block = Vec::new();
        let bytes = match &self.bytes {
            Bytes::Memory(bytes) => &bytes[range.start * size..range.end * size],
            Bytes::File(file, start) => {
                block.resize(range.len() * size, 0);
                read_exact_at(file, &mut block, start + (range.start * size) as u64)?;
                &block
            }
        };
        bytes
            .chunks_exact(size)
            .zip(range.start..)
            .map(|(bytes, position)| convert(bytes, position))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::npy::write;

    #[test]
    fn blocks_of_a_file_and_of_memory_are_the_values() {
        let values: Vec<i64> = (0..100).collect();
        let mut file = tempfile::tempfile().unwrap();
        write(&mut file, &[2, 50], &values).unwrap();
        let mut bytes = Vec::new();
        write(&mut bytes, &[2, 50], &values).unwrap();
        let copied = |file| ArrayBlocks::copied(ArrayReader::new(&bytes[..]).unwrap(), file).unwrap();
        let spooled = copied(Some(tempfile::tempfile().unwrap()));
        for blocks in [ArrayBlocks::of_file(file).unwrap(), copied(None), spooled] {
            assert_eq!(blocks.header().shape, [2, 50]);
            assert_eq!(blocks.integers(50..53).unwrap(), [50, 51, 52]);
            assert_eq!(blocks.floats(98..100).unwrap(), [98.0, 99.0]);
        }
    }

    #[test]
    fn a_short_array_and_a_negative_value_are_refused() {
        let mut bytes = Vec::new();
        write(&mut bytes, &[3], &[1_i64, -2, 3]).unwrap();
        let blocks = ArrayBlocks::copied(ArrayReader::new(&bytes[..]).unwrap(), None).unwrap();
        let error = blocks.integers(0..3).unwrap_err();
        assert_eq!(error.to_string(), "value -2 at position 1 is negative");
        bytes.truncate(bytes.len() - 9);
        let cut = ArrayBlocks::copied(ArrayReader::new(&bytes[..]).unwrap(), None);
        assert!(matches!(cut, Err(NpyError::Truncated { found: 1, expected: 3 })));
    }
}
