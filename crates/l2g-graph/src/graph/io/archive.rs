//! `.npz` archives: a zip file of `.npy` arrays.
//!
//! Nothing an archive claims is believed before it is checked: every array must be as
//! long as its shape says, and the arrays asked for together must stay below a limit,
//! so that a small file cannot unpack to more than the machine holds.

use std::io::{BufReader, Cursor, Read, Seek};
use std::path::{Path, PathBuf};

use zip::ZipArchive;
use zip::read::ZipFile;

use super::error::{Problem, ReadError};
use super::source::{Source, array_problem, temporary_file};
use crate::npy::{ArrayBlocks, ArrayHeader, ArrayReader, NpyError};

/// What an archive is read from: a file, or bytes that are built in.
pub(crate) trait ReadSeek: Read + Seek + Send {}

impl<T: Read + Seek + Send> ReadSeek for T {}

/// An open `.npz` archive.
pub(crate) struct Archive {
    path: PathBuf,
    zip: ZipArchive<Box<dyn ReadSeek>>,
    names: Vec<String>,
    /// Bytes that may still be unpacked.
    budget: u64,
    limit: u64,
    /// Where arrays that are large are unpacked to, if not where the system has temporary files.
    room: Option<PathBuf>,
}

/// Arrays that are read in blocks are unpacked into memory up to this size, and into files above.
const BLOCKS_IN_MEMORY: u64 = 1 << 22;

impl Archive {
    /// Opens an archive; at most `limit` bytes will be unpacked from it.
    pub(crate) fn open(source: Source, limit: u64) -> Result<Self, ReadError> {
        let name = source.name().to_owned();
        let room = source.room().map(Path::to_owned);
        let archive = Self::new(&name, Box::new(BufReader::new(source.into_file(limit)?)), limit)?;
        Ok(Self { room, ..archive })
    }

    /// Opens an archive that is part of the program; `path` is what errors call it.
    pub(crate) fn built_in(path: &Path, bytes: &'static [u8]) -> Result<Self, ReadError> {
        Self::new(path, Box::new(Cursor::new(bytes)), u64::MAX)
    }

    fn new(path: &Path, source: Box<dyn ReadSeek>, limit: u64) -> Result<Self, ReadError> {
        let damaged = |error: zip::result::ZipError| Problem::Damaged(error.to_string()).in_file(path);
        let zip = ZipArchive::new(source).map_err(damaged)?;
        let names = zip
            .file_names_raw()
            .filter_map(|name| std::str::from_utf8(name).ok()?.strip_suffix(".npy"))
            .map(str::to_owned)
            .collect();
        Ok(Self { path: path.to_owned(), zip, names, budget: limit, limit, room: None })
    }

    /// The file, for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The names of all arrays.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether there is an array of that name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    /// What the header of an array says, without unpacking its values.
    pub(crate) fn header(&mut self, name: &str) -> Result<ArrayHeader, ReadError> {
        self.open_array(name, 0).map(|reader| reader.header().clone())
    }

    /// Reads an array with one of the methods of [`ArrayReader`].
    pub(crate) fn read<T>(
        &mut self,
        name: &str,
        convert: impl FnOnce(ArrayReader<ZipFile<'_, Box<dyn ReadSeek>>>) -> Result<T, NpyError>,
    ) -> Result<T, ReadError> {
        let path = self.path.clone();
        let budget = self.budget;
        let reader = self.open_array(name, budget)?;
        let converted = convert(reader);
        converted.map_err(|error| array_problem(error).in_array(&path, name))
    }

    /// An array that is read in blocks. It is unpacked, but not into memory if it is large.
    pub(crate) fn blocks(&mut self, name: &str) -> Result<ArrayBlocks, ReadError> {
        let (path, budget, room) = (self.path.clone(), self.budget, self.room.clone());
        let reader = self.open_array(name, budget)?;
        let bytes = reader.header().num_values().unwrap_or(0) * reader.header().dtype.size;
        let file = match bytes as u64 > BLOCKS_IN_MEMORY {
            true => Some(temporary_file(room.as_deref())).transpose(),
            false => Ok(None),
        };
        let blocks = file.map_err(NpyError::Io).and_then(|file| ArrayBlocks::copied(reader, file));
        blocks.map_err(|error| array_problem(error).in_array(&path, name))
    }

    /// Opens an array and takes its bytes, up to `budget`, out of what may be unpacked.
    fn open_array(
        &mut self,
        name: &str,
        budget: u64,
    ) -> Result<ArrayReader<ZipFile<'_, Box<dyn ReadSeek>>>, ReadError> {
        let place = |problem: Problem| problem.in_array(&self.path, name);
        if !self.names.iter().any(|known| known == name) {
            return Err(place(Problem::NoArray { found: self.names.clone() }));
        }
        let entry = self.zip.by_name(&format!("{name}.npy"));
        let entry = entry.map_err(|error| place(Problem::Damaged(error.to_string())))?;
        let bytes = entry.size();
        if bytes > self.budget {
            return Err(place(Problem::TooLarge { bytes, limit: self.limit }));
        }
        self.budget -= bytes.min(budget);
        let checked = ArrayReader::new(entry).and_then(|reader| {
            reader.check_length(bytes)?;
            Ok(reader)
        });
        checked.map_err(|error| place(array_problem(error)))
    }

    /// An array of integers that are not negative, and its shape.
    pub(crate) fn integers<T: TryFrom<i128>>(&mut self, name: &str) -> Result<Vec<T>, ReadError> {
        self.read(name, |reader| reader.integers())
    }

    /// An array of finite numbers.
    pub(crate) fn floats(&mut self, name: &str) -> Result<Vec<f32>, ReadError> {
        self.read(name, |reader| reader.floats())
    }

    /// The shape of an array and its values as finite numbers.
    pub(crate) fn shaped_floats(&mut self, name: &str) -> Result<(Vec<usize>, Vec<f32>), ReadError> {
        self.read(name, |reader| {
            let shape = reader.header().shape.clone();
            Ok((shape, reader.floats()?))
        })
    }

    /// A problem with one of the arrays.
    pub(crate) fn problem(&self, name: &str, problem: impl Into<Problem>) -> ReadError {
        problem.into().in_array(&self.path, name)
    }
}
