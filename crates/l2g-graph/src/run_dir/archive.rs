//! Archives of arrays, `.npz`: a zip file with one `.npy` file per array.
//!
//! Arrays are stored as they are, without compression and with the same time for all, so that
//! the same arrays give the same bytes. An archive that travels is compressed by Zstandard, and may
//! hold texts beside arrays.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

use super::atomic::write_privately;
use super::{AtomicSink, FileError, write_atomically};
use crate::npy::{self, Array, ArrayReader, Element, NpyError};

/// What Zstandard is asked for: its fastest level, which is far faster than a network.
const COMPRESSION_LEVEL: i64 = 1;

/// Smaller files are not compressed: setting up takes longer than is gained.
const SMALLEST_COMPRESSED: usize = 1 << 10;

/// An archive in the making.
pub struct ArrayArchive<W: Write + Seek> {
    zip: ZipWriter<W>,
    is_compressed: bool,
}

impl<W: Write + Seek> ArrayArchive<W> {
    /// An archive that travels: compressed.
    pub fn compressed(sink: W) -> Self {
        Self { zip: ZipWriter::new(sink), is_compressed: true }
    }

    /// Completes the archive.
    ///
    /// # Errors
    /// What the system said.
    pub fn finish(self) -> io::Result<()> {
        self.zip.finish().map(|_| ()).map_err(io::Error::other)
    }

    /// Adds a text as a file of this name.
    ///
    /// # Errors
    /// What the system said.
    pub fn add_text(&mut self, name: &str, text: &str) -> io::Result<()> {
        self.begin(name, text.len())?;
        self.zip.write_all(text.as_bytes())
    }

    fn begin(&mut self, name: &str, bytes: usize) -> io::Result<()> {
        let options =
            SimpleFileOptions::default().last_modified_time(DateTime::default()).large_file(bytes > 1 << 31);
        let options = match self.is_compressed && bytes >= SMALLEST_COMPRESSED {
            true => {
                options.compression_method(CompressionMethod::Zstd).compression_level(Some(COMPRESSION_LEVEL))
            }
            false => options.compression_method(CompressionMethod::Stored),
        };
        self.zip.start_file(name, options).map_err(io::Error::other)
    }

    /// Adds an array.
    ///
    /// # Errors
    /// What the system said.
    pub fn add<T: Element>(&mut self, name: &str, shape: &[usize], values: &[T]) -> io::Result<()> {
        self.begin(&format!("{name}.npy"), size_of_val(values))?;
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
    let mut archive = ArrayArchive { zip: ZipWriter::new(sink), is_compressed: false };
    fill(&mut archive)?;
    archive.finish()
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

    /// An array of exactly the type `T`.
    ///
    /// # Errors
    /// As [`ArrayFile::floats`].
    pub fn exact<T: Element>(&mut self, name: &str) -> Result<Array<T>, FileError> {
        Ok(self.read(name, |reader| reader.exact::<T>())?.1)
    }

    /// A text that lies beside the arrays.
    ///
    /// # Errors
    /// As [`ArrayFile::floats`].
    pub fn text(&mut self, name: &str) -> Result<String, FileError> {
        let bytes = self.entry(name, &format!("`{name}`"))?;
        String::from_utf8(bytes).map_err(io::Error::other).map_err(FileError::at("read", &self.path))
    }

    /// All bytes of a file in the archive, whose checksum fits; errors call it `called`.
    fn entry(&mut self, name: &str, called: &str) -> Result<Vec<u8>, FileError> {
        let Self { path, zip } = self;
        let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
            FileError::at("read", path)(io::Error::other(format!("{called}: {error}")))
        };
        let mut bytes = Vec::new();
        let entry = zip.by_name(name).map_err(|error| failed(error.into()))?;
        let size = entry.size();
        entry.take(size + 1).read_to_end(&mut bytes).map_err(|error| failed(error.into()))?;
        Ok(bytes)
    }

    fn read<T>(
        &mut self,
        name: &str,
        take: impl FnOnce(ArrayReader<&[u8]>) -> Result<T, NpyError>,
    ) -> Result<(Vec<usize>, T), FileError> {
        let bytes = self.entry(&format!("{name}.npy"), &format!("array `{name}`"))?;
        let read = ArrayReader::new(&bytes[..]).and_then(|reader| {
            let shape = reader.header().shape.clone();
            Ok((shape, take(reader)?))
        });
        read.map_err(|error| {
            FileError::at("read", &self.path)(io::Error::other(format!("array `{name}`: {error}")))
        })
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

    /// A compressed archive with one long array and a text.
    fn compressed(folder: &Path) -> (PathBuf, Vec<u64>) {
        let path = folder.join("a.l2g");
        let values: Vec<u64> = (0..10_000).map(|k| k * k % 97).collect();
        write_atomically(&path, |sink| {
            let mut archive = ArrayArchive::compressed(sink);
            archive.add("part/nodes", &[values.len()], &values)?;
            archive.add_text("note.json", "{}")?;
            archive.finish()
        })
        .unwrap();
        (path, values)
    }

    #[test]
    fn compressed_archives_are_smaller_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let (path, values) = compressed(folder.path());
        assert!(std::fs::metadata(&path).unwrap().len() < 8 * values.len() as u64 / 4);
        let mut file = ArrayFile::open(&path).unwrap();
        assert_eq!(&file.exact::<u64>("part/nodes").unwrap().values[..], &values[..]);
        assert_eq!(file.text("note.json").unwrap(), "{}");
        assert!(file.exact::<u32>("part/nodes").unwrap_err().to_string().contains("array `part/nodes`"));
    }

    #[test]
    fn a_changed_byte_of_a_compressed_array_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, values) = compressed(folder.path());
        let intact = std::fs::read(&path).unwrap();
        for place in (60..intact.len() - 200).step_by(101) {
            let mut bytes = intact.clone();
            bytes[place] ^= 4;
            std::fs::write(&path, bytes).unwrap();
            let read = ArrayFile::open(&path).and_then(|mut file| file.exact::<u64>("part/nodes"));
            assert!(read.is_err() || read.is_ok_and(|array| array.values[..] == values), "byte {place}");
        }
        std::fs::write(&path, &intact[..intact.len() / 2]).unwrap();
        assert!(ArrayFile::open(&path).is_err());
    }
}
