//! The header of a `.npy` file: element type, shape, order.
//!
//! The header is the text of a Python dictionary with three known keys. The parser
//! is written by hand because general ones are unsafe here: `py_literal`, which the
//! `npyz` crate uses, takes exponential time on a row of opening brackets, and
//! `npyz` sets aside whatever length the first bytes claim.

use std::io::Read;

use super::NpyError;
use super::element::{Element, Kind};

/// Headers of plain arrays take some 100 bytes; a longer one describes a record type,
/// or wants to exhaust memory.
const MAX_HEADER_BYTES: usize = 1024;

/// The type of one element: its kind, its size and its byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dtype {
    /// What the values are.
    pub kind: Kind,
    /// Bytes of one element.
    pub size: usize,
    /// Whether the most significant byte comes first.
    pub big_endian: bool,
}

/// What the header of a `.npy` file says.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayHeader {
    /// The element type.
    pub dtype: Dtype,
    /// The element type as NumPy spells it, for messages.
    pub type_name: String,
    /// The length of each axis.
    pub shape: Vec<usize>,
    /// Whether the first axis runs fastest.
    pub fortran_order: bool,
    /// The byte at which the values begin.
    pub data_start: usize,
}

impl ArrayHeader {
    /// Reads the header and leaves `source` at the first value.
    ///
    /// # Errors
    /// [`NpyError::Header`] if these are not the first bytes of a plain array, and
    /// [`NpyError::Pickled`] if the array holds objects.
    pub fn read(source: &mut impl Read) -> Result<Self, NpyError> {
        let (text, data_start) = header_text(source)?;
        let fields =
            Fields::parse(&text).ok_or_else(|| NpyError::Header(format!("unreadable header `{text}`")))?;
        let dtype = Dtype::parse(&fields.descr)?;
        let Fields { descr: type_name, fortran_order, shape } = fields;
        Ok(Self { dtype, type_name, shape, fortran_order, data_start })
    }

    /// The number of values the shape asks for.
    ///
    /// # Errors
    /// [`NpyError::Header`] if their bytes cannot be counted.
    pub fn num_values(&self) -> Result<usize, NpyError> {
        let count = self.shape.iter().try_fold(1_usize, |product, &len| product.checked_mul(len));
        count
            .filter(|count| {
                count.checked_mul(self.dtype.size.max(1)).is_some_and(|b| b < isize::MAX as usize)
            })
            .ok_or_else(|| NpyError::Header(format!("shape {:?} is absurdly large", self.shape)))
    }

    /// Checks that the values can be used as they lie.
    pub(super) fn check_exact<T: Element>(&self) -> Result<(), NpyError> {
        let type_fits = self.dtype == Dtype { kind: T::KIND, size: size_of::<T>(), big_endian: false };
        let order_fits = !self.fortran_order || self.shape.len() < 2;
        if type_fits && order_fits {
            return Ok(());
        }
        let order = if order_fits { "" } else { " in Fortran order" };
        Err(NpyError::Type { found: format!("{}{order}", self.type_name), needed: T::NAME })
    }
}

/// The text of the header, read only after its length has been checked, and the byte
/// at which the values begin.
fn header_text(source: &mut impl Read) -> Result<(String, usize), NpyError> {
    let mut take = |len: usize| {
        let mut bytes = vec![0; len];
        let too_short = |_| NpyError::Header("file is too short for a header".into());
        source.read_exact(&mut bytes).map(|()| bytes).map_err(too_short)
    };
    let start = take(8)?;
    if &start[..6] != b"\x93NUMPY" {
        return Err(NpyError::Header("it does not begin with the NumPy signature".into()));
    }
    let length_bytes = if start[6] == 1 { 2 } else { 4 };
    let length = take(length_bytes)?.iter().rev().fold(0, |length, &byte| length << 8 | usize::from(byte));
    if length > MAX_HEADER_BYTES {
        return Err(NpyError::Header(format!("header of {length} bytes; a plain array needs some 100")));
    }
    let text = String::from_utf8(take(length)?).map_err(|_| NpyError::Header("header is not text".into()))?;
    Ok((text, 8 + length_bytes + length))
}

/// The three entries of the header.
struct Fields {
    descr: String,
    fortran_order: bool,
    shape: Vec<usize>,
}

impl Fields {
    /// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, entries in
    /// any order.
    fn parse(text: &str) -> Option<Self> {
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        let mut rest = text.trim().strip_prefix('{')?.trim_start();
        while !rest.starts_with('}') {
            let (key, after_key) = quoted(rest)?;
            let value = after_key.trim_start().strip_prefix(':')?.trim_start();
            let after = match key {
                "descr" if value.starts_with('[') => {
                    // A record type: named in the error message, not understood.
                    let end = value.rfind(']')? + 1;
                    descr = Some(value[..end].to_owned());
                    &value[end..]
                }
                "descr" => {
                    let (name, after) = quoted(value)?;
                    descr = Some(name.to_owned());
                    after
                }
                "fortran_order" => {
                    let order = [("True", true), ("False", false)];
                    let (word, is_fortran) = order.into_iter().find(|(word, _)| value.starts_with(word))?;
                    fortran_order = Some(is_fortran);
                    &value[word.len()..]
                }
                "shape" => {
                    let (inside, after) = value.strip_prefix('(')?.split_once(')')?;
                    let axes = inside.split(',').map(str::trim).filter(|axis| !axis.is_empty());
                    shape = Some(axes.map(|axis| axis.parse().ok()).collect::<Option<Vec<usize>>>()?);
                    after
                }
                _ => return None,
            };
            rest = after.trim_start();
            rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
        }
        Some(Self { descr: descr?, fortran_order: fortran_order?, shape: shape? })
    }
}

/// Splits a quoted word off the front of `text`.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
    text[1..].split_once(quote)
}

impl Dtype {
    /// Understands a type as NumPy spells it, such as `<f4`.
    fn parse(descr: &str) -> Result<Self, NpyError> {
        let unsupported = || NpyError::Type { found: descr.to_owned(), needed: "numbers or text" };
        let mut chars = descr.chars();
        let big_endian = match chars.next() {
            Some('>') => true,
            Some('<' | '|' | '=') => false,
            _ => return Err(unsupported()),
        };
        let code = chars.next().ok_or_else(unsupported)?;
        if code == 'O' {
            return Err(NpyError::Pickled);
        }
        let size: usize = chars.as_str().parse().map_err(|_| unsupported())?;
        let (kind, size) = match (code, size) {
            ('i', 1 | 2 | 4 | 8) => (Kind::Int, size),
            ('u', 1 | 2 | 4 | 8) => (Kind::Uint, size),
            ('f', 2 | 4 | 8) => (Kind::Float, size),
            ('b', 1) => (Kind::Bool, size),
            ('S', _) => (Kind::Bytes, size),
            ('U', _) => (Kind::Unicode, size.checked_mul(4).ok_or_else(unsupported)?),
            _ => return Err(unsupported()),
        };
        Ok(Self { kind, size, big_endian })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> Result<ArrayHeader, NpyError> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
        ArrayHeader::read(&mut &bytes[..])
    }

    #[test]
    fn type_shape_and_order_are_read() {
        let read = header("{'descr': '>i4', 'fortran_order': True, 'shape': (2, 5), }\n").unwrap();
        assert_eq!(read.dtype, Dtype { kind: Kind::Int, size: 4, big_endian: true });
        assert_eq!(read.shape, [2, 5]);
        assert!(read.fortran_order);
    }

    #[test]
    fn pickled_objects_are_refused() {
        let error = header("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }\n").unwrap_err();
        assert!(matches!(error, NpyError::Pickled));
    }

    #[test]
    fn an_absurd_shape_is_refused() {
        let text = "{'descr': '<i8', 'fortran_order': False, 'shape': (4611686018427387904, 4), }\n";
        assert!(header(text).unwrap().num_values().is_err());
    }

    #[test]
    fn an_absurd_header_length_is_refused_before_it_is_read() {
        let bytes = b"\x93NUMPY\x02\x00\xff\xff\xff\xff{";
        let error = ArrayHeader::read(&mut &bytes[..]).unwrap_err();
        assert!(error.to_string().contains("4294967295 bytes"), "{error}");
    }

    #[test]
    fn nonsense_is_refused() {
        for text in
            ["", "{", "{}", "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "{'descr': '<f4'}", "{'shape': (1}"]
        {
            assert!(header(text).is_err(), "{text}");
        }
        for descr in ["<f3", "", "<", "f4", "<U99999999999999999999", "<i16", "<c8", "|V4"] {
            let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (), }}");
            assert!(header(&text).is_err(), "{descr}");
        }
    }

    #[test]
    fn record_types_are_named_in_the_error() {
        let text = "{'descr': [('a', '<i4'), ('b', '<f4')], 'fortran_order': False, 'shape': (1,), }";
        let error = header(text).unwrap_err();
        assert!(error.to_string().contains("[('a', '<i4'), ('b', '<f4')]"), "{error}");
    }
}
