//! Reading `.npy` values into the type that is wanted.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use super::element::{Element, Kind};
use super::header::{ArrayHeader, Dtype};
use super::{Array, NpyError};

/// Values are read and converted in blocks of this many bytes.
const BLOCK_BYTES: usize = 1 << 16;

/// An array whose header has been read, and whose values come next.
#[derive(Debug)]
pub struct ArrayReader<R> {
    header: ArrayHeader,
    source: R,
}

/// Opens a `.npy` file and reads its header.
///
/// # Errors
/// If it cannot be opened, or is not a plain array, or is shorter than it says.
pub fn open(path: &Path) -> Result<ArrayReader<BufReader<File>>, NpyError> {
    let file = File::open(path)?;
    let file_len = file.metadata()?.len();
    let reader = ArrayReader::new(BufReader::with_capacity(BLOCK_BYTES, file))?;
    reader.check_length(file_len)?;
    Ok(reader)
}

/// Reads an array of exactly the type `T`.
///
/// # Errors
/// [`NpyError`] if the file cannot be read, or holds other values.
pub fn read<T: Element>(path: &Path) -> Result<Array<T>, NpyError> {
    open(path)?.exact()
}

impl<R: Read> ArrayReader<R> {
    /// Reads the header; the values stay in `source` until they are asked for.
    ///
    /// # Errors
    /// As [`ArrayHeader::read`].
    pub fn new(mut source: R) -> Result<Self, NpyError> {
        let header = ArrayHeader::read(&mut source)?;
        header.num_values()?;
        Ok(Self { header, source })
    }

    /// What the header says.
    pub fn header(&self) -> &ArrayHeader {
        &self.header
    }

    /// The array, which holds exactly the type `T`.
    ///
    /// # Errors
    /// [`NpyError`] if it holds other values, or fewer than its header says.
    pub fn exact<T: Element>(self) -> Result<Array<T>, NpyError> {
        self.header.check_exact::<T>()?;
        let shape = self.header.shape.clone();
        let values = self.collect(|bytes: &[u8], _| Ok(bytemuck::pod_read_unaligned::<T>(bytes)))?;
        Ok(Array { shape, values: values.into() })
    }

    /// The header alone.
    pub(super) fn into_header(self) -> ArrayHeader {
        self.header
    }

    /// The header, and the source at its first value.
    pub(super) fn into_parts(self) -> (ArrayHeader, R) {
        (self.header, self.source)
    }

    /// Checks that a source of `total_bytes` bytes is long enough, before anything
    /// is read or allocated.
    ///
    /// # Errors
    /// [`NpyError::Truncated`] if it is too short.
    pub fn check_length(&self, total_bytes: u64) -> Result<(), NpyError> {
        let expected = self.header.num_values()?;
        let data_bytes = total_bytes.saturating_sub(self.header.data_start as u64);
        let found = data_bytes / self.header.dtype.size.max(1) as u64;
        if self.header.dtype.size > 0 && found < expected as u64 {
            return Err(NpyError::Truncated { found: found as usize, expected });
        }
        Ok(())
    }

    /// All values as unsigned integers, whatever integer type they are stored in.
    ///
    /// # Errors
    /// [`NpyError::Type`] if they are not integers, [`NpyError::Value`] if one is
    /// negative or too large for `T`.
    pub fn integers<T: TryFrom<i128>>(self) -> Result<Vec<T>, NpyError> {
        let dtype = self.header.dtype;
        if !matches!(dtype.kind, Kind::Int | Kind::Uint | Kind::Bool) {
            return Err(self.wrong_type("integers"));
        }
        self.collect(|bytes, position| {
            let value = integer(dtype, bytes);
            let problem = if value < 0 { "is negative" } else { "is too large" };
            T::try_from(value).map_err(|_| NpyError::Value { value: value.to_string(), position, problem })
        })
    }

    /// All values as floating-point numbers, whatever number type they are stored in.
    ///
    /// # Errors
    /// [`NpyError::Type`] if they are not numbers, [`NpyError::Value`] if one is NaN
    /// or infinite.
    pub fn floats<T: Element + FromF64>(self) -> Result<Vec<T>, NpyError> {
        let dtype = self.header.dtype;
        if matches!(dtype.kind, Kind::Unicode | Kind::Bytes) {
            return Err(self.wrong_type("numbers"));
        }
        self.collect(|bytes, position| {
            let value = float(dtype, bytes);
            let problem = if value.is_finite() { "is too large" } else { "is not finite" };
            T::from_f64(value).ok_or_else(|| NpyError::Value { value: value.to_string(), position, problem })
        })
    }

    /// All values as text.
    ///
    /// # Errors
    /// [`NpyError::Type`] if they are not text, [`NpyError::Value`] if one is not
    /// valid Unicode.
    pub fn strings(self) -> Result<Vec<String>, NpyError> {
        let dtype = self.header.dtype;
        if !matches!(dtype.kind, Kind::Unicode | Kind::Bytes) {
            return Err(self.wrong_type("text"));
        }
        self.collect(|bytes, position| {
            text(dtype, bytes).ok_or_else(|| NpyError::Value {
                value: String::from_utf8_lossy(bytes).into_owned(),
                position,
                problem: "is not valid text",
            })
        })
    }

    fn wrong_type(&self, needed: &'static str) -> NpyError {
        NpyError::Type { found: self.header.type_name.clone(), needed }
    }

    /// Converts the values one by one, in blocks, and puts them into C order.
    fn collect<T>(
        mut self,
        convert: impl Fn(&[u8], usize) -> Result<T, NpyError>,
    ) -> Result<Vec<T>, NpyError> {
        let expected = self.header.num_values()?;
        let size = self.header.dtype.size;
        if size == 0 {
            return Err(NpyError::Header("elements of zero bytes".into()));
        }
        // A header may promise anything: memory is set aside only for what arrives.
        let mut values = Vec::with_capacity(expected.min((16 << 20) / size_of::<T>().max(1)));
        let mut block = vec![0; (BLOCK_BYTES / size).max(1) * size];
        while values.len() < expected {
            let wanted = ((expected - values.len()) * size).min(block.len());
            let found = read_fully(&mut self.source, &mut block[..wanted])?;
            for bytes in block[..found].chunks_exact(size) {
                values.push(convert(bytes, values.len())?);
            }
            if found < wanted {
                return Err(NpyError::Truncated { found: values.len(), expected });
            }
        }
        Ok(self.header.c_ordered(values))
    }
}

impl ArrayHeader {
    /// Turns values as they lie in the file into C order.
    fn c_ordered<T>(&self, values: Vec<T>) -> Vec<T> {
        if !self.fortran_order || self.shape.iter().filter(|&&len| len > 1).count() < 2 {
            return values;
        }
        // How far apart in the file two values are that are neighbours along an axis.
        let strides: Vec<usize> =
            self.shape.iter().scan(1, |next, len| Some(std::mem::replace(next, *next * len))).collect();
        let mut slots: Vec<Option<T>> = values.into_iter().map(Some).collect();
        let place_in_file = |index: usize| {
            let axes = self.shape.iter().zip(&strides).rev();
            axes.fold((0, index), |(place, rest), (len, stride)| (place + rest % len * stride, rest / len)).0
        };
        let in_c_order = (0..slots.len()).map(place_in_file);
        in_c_order.map(|from| slots[from].take().expect("each value is moved once")).collect()
    }
}

/// Reads until `block` is full or the source ends; returns the bytes read.
fn read_fully(source: &mut impl Read, block: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < block.len() {
        match source.read(&mut block[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// The bytes of one number, least significant first, in a fixed-size array.
fn little_endian<const N: usize>(dtype: Dtype, bytes: &[u8]) -> [u8; N] {
    let mut padded = [0; N];
    padded[..bytes.len()].copy_from_slice(bytes);
    if dtype.big_endian {
        padded[..bytes.len()].reverse();
    }
    padded
}

pub(super) fn integer(dtype: Dtype, bytes: &[u8]) -> i128 {
    let unsigned = u64::from_le_bytes(little_endian(dtype, bytes));
    if dtype.kind != Kind::Int {
        return i128::from(unsigned);
    }
    // Move the sign bit to the top and back, which repeats it over the padding.
    let unused_bits = 64 - 8 * dtype.size as u32;
    i128::from((unsigned << unused_bits) as i64 >> unused_bits)
}

pub(super) fn float(dtype: Dtype, bytes: &[u8]) -> f64 {
    match (dtype.kind, dtype.size) {
        (Kind::Float, 4) => f64::from(f32::from_le_bytes(little_endian(dtype, bytes))),
        (Kind::Float, 8) => f64::from_le_bytes(little_endian(dtype, bytes)),
        (Kind::Float, _) => half_float(u16::from_le_bytes(little_endian(dtype, bytes))),
        _ => integer(dtype, bytes) as f64,
    }
}

/// A 16-bit float: sign, 5 bits of exponent, 10 bits of fraction.
pub(crate) fn half_float(bits: u16) -> f64 {
    let sign = if bits >> 15 == 0 { 1.0 } else { -1.0 };
    let fraction = f64::from(bits & 0x3ff);
    sign * match (bits >> 10) & 0x1f {
        0 => fraction * 2_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        exponent => (1024.0 + fraction) * 2_f64.powi(i32::from(exponent) - 25),
    }
}

fn text(dtype: Dtype, bytes: &[u8]) -> Option<String> {
    let text = match dtype.kind {
        Kind::Bytes => String::from_utf8(bytes.to_vec()).ok()?,
        _ => bytes
            .chunks_exact(4)
            .map(|unit| char::from_u32(u32::from_le_bytes(little_endian(dtype, unit))))
            .collect::<Option<String>>()?,
    };
    Some(text.trim_end_matches('\0').to_owned())
}

/// Floating-point types that values can be converted to.
pub trait FromF64: Sized {
    /// The nearest value, or none if `value` is NaN, infinite or too large.
    fn from_f64(value: f64) -> Option<Self>;
}

impl FromF64 for f32 {
    fn from_f64(value: f64) -> Option<Self> {
        let narrow = value as f32;
        narrow.is_finite().then_some(narrow)
    }
}

impl FromF64 for f64 {
    fn from_f64(value: f64) -> Option<Self> {
        value.is_finite().then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::npy::write;

    fn reader(descr: &str, shape: &str, fortran: &str, data: &[u8]) -> ArrayReader<io::Cursor<Vec<u8>>> {
        let dict = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((dict.len() as u16).to_le_bytes());
        bytes.extend(dict.as_bytes());
        bytes.extend(data);
        ArrayReader::new(io::Cursor::new(bytes)).unwrap()
    }

    #[test]
    fn integers_of_any_width_and_order_are_read() {
        assert_eq!(reader("<i2", "(2,)", "False", &[1, 0, 2, 1]).integers::<u32>().unwrap(), [1, 258]);
        assert_eq!(reader(">i2", "(2,)", "False", &[0, 1, 1, 2]).integers::<u32>().unwrap(), [1, 258]);
        assert_eq!(reader("|i1", "(1,)", "False", &[0xff]).integers::<i32>().unwrap(), [-1]);
        assert_eq!(reader("<u8", "(1,)", "False", &[0xff; 8]).integers::<u64>().unwrap(), [u64::MAX]);
        assert_eq!(reader("|b1", "(2,)", "False", &[0, 1]).integers::<u8>().unwrap(), [0, 1]);
    }

    #[test]
    fn a_negative_value_is_named_with_its_position() {
        let error = reader("<i2", "(2,)", "False", &[1, 0, 0xff, 0xff]).integers::<u32>().unwrap_err();
        assert_eq!(error.to_string(), "value -1 at position 1 is negative");
    }

    #[test]
    fn floats_of_any_width_are_read() {
        assert_eq!(
            reader("<f2", "(3,)", "False", &[0, 0x3c, 0, 0xc0, 1, 0]).floats::<f64>().unwrap(),
            [1.0, -2.0, 2_f64.powi(-24)]
        );
        assert_eq!(reader(">f4", "(1,)", "False", &[0x3f, 0x80, 0, 0]).floats::<f32>().unwrap(), [1.0]);
        assert!(reader("<f2", "(1,)", "False", &[0, 0x7c]).floats::<f32>().is_err());
        let huge = 1e300_f64.to_le_bytes();
        assert!(reader("<f8", "(1,)", "False", &huge).floats::<f32>().is_err());
    }

    #[test]
    fn fortran_order_is_undone() {
        let read = reader("|u1", "(2, 3)", "True", &[1, 4, 2, 5, 3, 6]).integers::<u8>().unwrap();
        assert_eq!(read, [1, 2, 3, 4, 5, 6]);
        // numpy.arange(24).reshape(2, 3, 4, order="F") has 0 + 1 i + 2 j + 6 k at [i, j, k].
        let data: Vec<u8> = (0..24).collect();
        let read = reader("|u1", "(2, 3, 4)", "True", &data).integers::<u8>().unwrap();
        let expected = (0..2).flat_map(|i| (0..3).flat_map(move |j| (0..4).map(move |k| i + 2 * j + 6 * k)));
        assert_eq!(read, expected.collect::<Vec<u8>>());
        let read = reader("|u1", "(1, 3, 2)", "True", &[1, 3, 5, 2, 4, 6]).integers::<u8>().unwrap();
        assert_eq!(read, [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn text_is_read_without_its_padding() {
        let units: Vec<u8> = "ab\0ç\0\0".chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
        assert_eq!(reader("<U3", "(2,)", "False", &units).strings().unwrap(), ["ab", "ç"]);
        assert_eq!(reader("|S3", "(2,)", "False", b"ab\0cde").strings().unwrap(), ["ab", "cde"]);
    }

    #[test]
    fn a_promise_of_many_values_costs_no_memory() {
        let error = reader("<u8", "(1000000000000,)", "False", &[0; 16]).integers::<u64>().unwrap_err();
        assert!(matches!(error, NpyError::Truncated { found: 2, .. }));
    }

    #[test]
    fn wrong_types_are_named() {
        let error = reader("<f8", "(1,)", "False", &[0; 8]).integers::<u64>().unwrap_err();
        assert_eq!(error.to_string(), "array has type <f8, needed integers");
    }

    #[test]
    fn what_was_written_is_read() {
        let mut sink = Vec::new();
        write(&mut sink, &[2, 2], &[1.0_f32, 2.0, 3.0, -4.5]).unwrap();
        assert_eq!(ArrayReader::new(&sink[..]).unwrap().floats::<f32>().unwrap(), [1.0, 2.0, 3.0, -4.5]);
    }
}
