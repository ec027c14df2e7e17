//! NumPy's `.npy` files: the arrays of a run folder and of many inputs.
//!
//! A file is a short header (type, shape, order), padded to 64 bytes, and the raw
//! values. [`ArrayHeader`] reads the header, after its length has been checked, so that an
//! absurd one costs nothing; [`read`] turns the values
//! into the type that is wanted, one block at a time, so that memory grows only with
//! what is really there; `map` uses them where they lie; [`write()`] writes them.
//! Pickled Python objects are never loaded.

mod blocks;

mod element;

mod header;

mod read;

mod write;

pub(crate) use blocks::ArrayBlocks;
pub use element::{Element, Kind};
pub use header::{ArrayHeader, Dtype};
#[cfg(feature = "parquet")]
pub(crate) use read::half_float;
pub use read::{ArrayReader, open, read};
pub(crate) use write::header;
pub use write::{Writer, write};

use std::fs::File;
use std::path::Path;

use crate::buffer::{Buffer, MappedSlice};

/// Why an array could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages name the fields")]
pub enum NpyError {
    /// The file could not be read or written at all.
    #[error("{0}")]
    Io(#[from] std::io::Error),

    /// The header is not one NumPy writes.
    #[error("not a NumPy array: {0}")]
    Header(String),

    /// The file ends before the last value.
    #[error("array ends after {found} of {expected} values")]
    Truncated { found: usize, expected: usize },

    /// The array has the wrong element type.
    #[error("array has type {found}, needed {needed}")]
    Type { found: String, needed: &'static str },

    /// The array holds pickled objects.
    #[error("array holds pickled Python objects, which are never loaded")]
    Pickled,

    /// The array has the wrong shape.
    #[error("array has shape {found:?}, needed {needed}")]
    Shape { found: Vec<usize>, needed: String },

    /// A value does not fit the type that is needed.
    #[error("value {value} at position {position} {problem}")]
    Value { value: String, position: usize, problem: &'static str },

    /// The array is larger than the memory of the machine.
    #[error("array of {bytes} bytes does not fit the limit of {limit} bytes")]
    TooLarge { bytes: u128, limit: u64 },
}

/// An array: its shape, and its values in C order.
#[derive(Clone, Debug, PartialEq)]
pub struct Array<T: bytemuck::Pod> {
    /// The length of each axis.
    pub shape: Vec<usize>,
    /// All values, the last axis running fastest.
    pub values: Buffer<T>,
}

impl<T: bytemuck::Pod> Array<T> {
    /// The number of rows and columns of a two-dimensional array.
    ///
    /// # Errors
    /// [`NpyError::Shape`] if it has another number of axes.
    pub fn rows_and_columns(&self) -> Result<(usize, usize), NpyError> {
        match self.shape[..] {
            [rows, columns] => Ok((rows, columns)),
            _ => Err(NpyError::Shape { found: self.shape.clone(), needed: "two axes".into() }),
        }
    }
}

/// Maps an array of exactly the type `T` into memory, without reading it.
///
/// Only for files of run folders and of the folders that `align` is given. Their contract is that a
/// file is replaced as a whole and never changed in place; this program keeps to it
/// (`run_dir::write_atomically`), and other programs that write there are told to. So this function
/// is for the crates of this project alone. Every other file is read, not mapped.
///
/// # Errors
/// [`NpyError::Type`] if the file holds another type, another byte order or, with
/// more than one axis, Fortran order; and the errors of reading a header.
#[doc(hidden)]
pub fn map<T: Element>(path: &Path) -> Result<Array<T>, NpyError> {
    let mut file = File::open(path)?;
    let header = ArrayHeader::read(&mut file)?;
    header.check_exact::<T>()?;
    let len = header.num_values()?;
    let available = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    let found = available.saturating_sub(header.data_start) / size_of::<T>();
    if found < len {
        return Err(NpyError::Truncated { found, expected: len });
    }
    // Mapping nothing is refused by some systems.
    let values = match len {
        0 => Buffer::default(),
        _ => {
            // SAFETY: by the contract above, nobody changes the file in place.
            #[expect(unsafe_code, reason = "what other programs do cannot be checked by the compiler")]
            let mapped = unsafe { MappedSlice::open(&file, header.data_start, len)? };
            Buffer::Mapped(mapped)
        }
    };
    Ok(Array { shape: header.shape, values })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::scratch;

    #[test]
    fn a_written_array_is_mapped_and_read_back() {
        let path = scratch("a.npy");
        let values: Vec<f32> = (0..12).map(|i| i as f32).collect();
        write(&mut File::create(&path).unwrap(), &[3, 4], &values).unwrap();

        let mapped = map::<f32>(&path).unwrap();
        assert_eq!(mapped.rows_and_columns().unwrap(), (3, 4));
        assert_eq!(&mapped.values[..], &values[..]);
        assert_eq!(read::<f32>(&path).unwrap(), mapped);
        assert!(matches!(map::<f64>(&path), Err(NpyError::Type { .. })));
    }

    #[test]
    fn an_empty_array_is_mapped() {
        let path = scratch("a.npy");
        write::<u64>(&mut File::create(&path).unwrap(), &[0], &[]).unwrap();
        assert!(map::<u64>(&path).unwrap().values.is_empty());
    }

    #[test]
    fn a_cut_file_is_refused() {
        let path = scratch("a.npy");
        write(&mut File::create(&path).unwrap(), &[4], &[1_u64, 2, 3, 4]).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(128 + 17).unwrap();
        assert!(matches!(map::<u64>(&path), Err(NpyError::Truncated { found: 2, expected: 4 })));
        assert!(matches!(read::<u64>(&path), Err(NpyError::Truncated { found: 2, expected: 4 })));
    }
}
