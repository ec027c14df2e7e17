//! Archives of arrays, `.npz`: a zip file with one `.npy` file per array.
//!
//! Arrays are stored as they are, without compression and with the same time for all, so that
//! the same arrays give the same bytes.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

use super::atomic::write_privately;
use super::{AtomicSink, FileError, write_atomically};
use crate::npy::{self, ArrayReader, Element, NpyError};

/// An archive in the making.
pub struct ArrayArchive<W: Write + Seek> {
    zip: ZipWriter<W>,
}

impl<W: Write + Seek> ArrayArchive<W> {
    /// Adds an array.
    ///
    /// # Errors
    /// What the system said.
    pub fn add<T: Element>(&mut self, name: &str, shape: &[usize], values: &[T]) -> io::Result<()> {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .last_modified_time(DateTime::default())
            .large_file(size_of_val(values) > 1 << 31);
        self.zip.start_file(format!("{name}.npy"), options).map_err(io::Error::other)?;
        npy::write(&mut self.zip, shape, values)
    }
}

/// Writes the arrays that `fill` adds into one file.
///
/// # Errors
/// As [`write_atomically`].
pub fn write_arrays(
    path: &Path,
    fill: impl FnOnce(&mut ArrayArchive<&mut AtomicSink<'_, '_>>) -> io::Result<()>,
) -> Result<(), FileError> {
    write_atomically(path, |sink| write_zip(sink, fill))
}

/// As [`write_arrays`], into a file that nobody but its owner may read.
///
/// # Errors
/// As [`write_atomically`].
pub fn write_private_arrays(
    path: &Path,
    fill: impl FnOnce(&mut ArrayArchive<&mut AtomicSink<'_, '_>>) -> io::Result<()>,
) -> Result<(), FileError> {
    write_privately(path, |sink| write_zip(sink, fill))
}

fn write_zip<'a, 'scope, 'env>(
    sink: &'a mut AtomicSink<'scope, 'env>,
    fill: impl FnOnce(&mut ArrayArchive<&'a mut AtomicSink<'scope, 'env>>) -> io::Result<()>,
) -> io::Result<()> {
    let mut archive = ArrayArchive { zip: ZipWriter::new(sink) };
    fill(&mut archive)?;
    archive.zip.finish().map(|_| ()).map_err(io::Error::other)
}

/// An archive that is read.
#[derive(Debug)]
pub struct ArrayFile {
    path: PathBuf,
    zip: ZipArchive<File>,
}

impl ArrayFile {
    /// Opens an archive.
    ///
    /// # Errors
    /// [`FileError`] if it cannot be read, or is none.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let file = File::open(path).map_err(FileError::at("read", path))?;
        let zip =
            ZipArchive::new(file).map_err(|error| FileError::at("read", path)(io::Error::other(error)))?;
        Ok(Self { path: path.to_owned(), zip })
    }

    /// Whether there is an array of this name.
    pub fn has(&self, name: &str) -> bool {
        self.zip.index_for_name(&format!("{name}.npy")).is_some()
    }

    /// The shape and the values of an array of `f32`.
    ///
    /// # Errors
    /// [`FileError`] if it is not there, or is damaged.
    pub fn floats(&mut self, name: &str) -> Result<(Vec<usize>, Vec<f32>), FileError> {
        self.read(name, |reader| reader.floats::<f32>())
    }

    /// The shape and the values of an array of `f64`.
    ///
    /// # Errors
    /// As [`ArrayFile::floats`].
    pub fn doubles(&mut self, name: &str) -> Result<(Vec<usize>, Vec<f64>), FileError> {
        self.read(name, |reader| reader.floats::<f64>())
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The shape and the values of an array of whole numbers.
    ///
    /// # Errors
    /// As [`ArrayFile::floats`].
    pub fn integers(&mut self, name: &str) -> Result<(Vec<usize>, Vec<u32>), FileError> {
        self.read(name, |reader| reader.integers::<u32>())
    }

    /// The values of an array of whole numbers that may be large.
    ///
    /// # Errors
    /// As [`ArrayFile::floats`].
    pub fn long_integers(&mut self, name: &str) -> Result<Vec<u64>, FileError> {
        Ok(self.read(name, |reader| reader.integers::<u64>())?.1)
    }

    /// The values of an array of bytes.
    ///
    /// # Errors
    /// As [`ArrayFile::floats`].
    pub fn bytes(&mut self, name: &str) -> Result<Vec<u8>, FileError> {
        Ok(self.read(name, |reader| reader.integers::<u8>())?.1)
    }

    fn read<T>(
        &mut self,
        name: &str,
        take: impl FnOnce(ArrayReader<zip::read::ZipFile<'_, File>>) -> Result<Vec<T>, NpyError>,
    ) -> Result<(Vec<usize>, Vec<T>), FileError> {
        let Self { path, zip } = self;
        let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
            FileError::at("read", path)(io::Error::other(format!("array `{name}`: {error}")))
        };
        let entry = zip.by_name(&format!("{name}.npy")).map_err(|error| failed(error.into()))?;
        let reader = ArrayReader::new(entry).map_err(|error| failed(error.into()))?;
        let shape = reader.header().shape.clone();
        Ok((shape, take(reader).map_err(|error| failed(error.into()))?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_read_back_and_the_same_arrays_give_the_same_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let paths = [folder.path().join("a.npz"), folder.path().join("b.npz")];
        for path in &paths {
            write_arrays(path, |archive| {
                archive.add("basis", &[2, 2], &[1.0_f32, 2.0, 3.0, 4.0])?;
                archive.add("clusters", &[3], &[7_u32, 8, 9])
            })
            .unwrap();
        }
        let mut file = ArrayFile::open(&paths[0]).unwrap();
        assert_eq!(file.floats("basis").unwrap(), (vec![2, 2], vec![1.0, 2.0, 3.0, 4.0]));
        assert_eq!(file.integers("clusters").unwrap(), (vec![3], vec![7, 8, 9]));
        assert!(file.has("basis") && !file.has("other"));
        assert!(file.floats("other").unwrap_err().to_string().contains("array `other`"));
        assert_eq!(std::fs::read(&paths[0]).unwrap(), std::fs::read(&paths[1]).unwrap());
    }
}
