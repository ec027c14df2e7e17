//! A slice that is in memory, mapped from a file, or lent by somebody else.
//!
//! Arrays of a run folder are `.npy` files whose data start on a 64-byte boundary, so they can be
//! mapped into memory: the system loads the pages that are touched and may drop them again. So a
//! graph may be larger than memory. Arrays of another language are used in place too; their owner is
//! kept alive. [`Buffer`] hides which of the three it is.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::Arc;

use bytemuck::Pod;
use memmap2::{Mmap, MmapMut};

/// An immutable slice of plain values: owned, memory-mapped or lent.
#[derive(Clone)]
pub enum Buffer<T> {
    /// Values in memory.
    Owned(Vec<T>),
    /// Values in a mapped file.
    Mapped(MappedSlice<T>),
    /// Values that somebody else owns and keeps as they are.
    Lent(Arc<dyn AsRef<[T]> + Send + Sync>),
}

/// A part of a mapped file, seen as values of type `T`.
#[derive(Clone)]
pub struct MappedSlice<T> {
    map: Arc<Mmap>,
    start: usize,
    end: usize,
    values: PhantomData<T>,
}

impl<T: Pod> MappedSlice<T> {
    /// Maps `len` values that begin at byte `start` of `file`.
    ///
    /// # Safety
    /// Nobody may change or shorten the file while it is mapped. Replacing it is fine: a rename over
    /// it leaves the mapped bytes alone.
    ///
    /// # Errors
    /// If the file is shorter than that, the data are not aligned for `T`, or the
    /// operating system refuses.
    #[expect(unsafe_code, reason = "memory-mapping a file cannot be checked by the compiler")]
    pub(crate) unsafe fn open(file: &File, start: usize, len: usize) -> io::Result<Self> {
        let bytes = len.checked_mul(size_of::<T>()).and_then(|bytes| bytes.checked_add(start));
        let end = bytes.ok_or_else(|| invalid("mapped size overflows"))?;
        // SAFETY: the mapping is read-only, and the caller promises that the bytes stay as they are.
        let map = unsafe { Mmap::map(file)? };
        let data = map.get(start..end).ok_or_else(|| invalid("file is shorter than its header says"))?;
        bytemuck::try_cast_slice::<u8, T>(data).map_err(|_| invalid("data are not aligned"))?;
        Ok(Self { map: Arc::new(map), start, end, values: PhantomData })
    }
}

impl<T: Pod> Buffer<T> {
    /// The values in memory, to be changed; they are copied first if they lie elsewhere.
    pub(crate) fn to_mut(&mut self) -> &mut Vec<T> {
        if !matches!(self, Self::Owned(_)) {
            *self = Self::Owned(self.to_vec());
        }
        match self {
            Self::Owned(values) => values,
            _ => unreachable!("it was copied"),
        }
    }
}

/// Values on their way into a file without a name, which is then mapped: so they take no memory.
#[derive(Debug)]
pub(crate) struct Spool<T> {
    file: BufWriter<File>,
    len: usize,
    values: PhantomData<T>,
}

impl<T: Pod> Spool<T> {
    /// A file in a folder.
    pub(crate) fn new(folder: &Path) -> io::Result<Self> {
        let file = BufWriter::with_capacity(1 << 20, tempfile::tempfile_in(folder)?);
        Ok(Self { file, len: 0, values: PhantomData })
    }

    /// Appends values.
    pub(crate) fn push(&mut self, values: &[T]) -> io::Result<()> {
        self.len += values.len();
        self.file.write_all(bytemuck::cast_slice(values))
    }

    /// All values, mapped.
    pub(crate) fn finish(self) -> io::Result<Buffer<T>> {
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        if self.len == 0 {
            return Ok(Buffer::default());
        }
        // SAFETY: the file has no name, so nobody else can open it, and it is not written again.
        #[expect(unsafe_code, reason = "memory-mapping a file cannot be checked by the compiler")]
        let mapped = unsafe { MappedSlice::open(&file, 0, self.len)? };
        Ok(Buffer::Mapped(mapped))
    }
}

fn invalid(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

impl<T: Pod> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::Owned(values) => values,
            Self::Mapped(slice) => bytemuck::cast_slice(&slice.map[slice.start..slice.end]),
            Self::Lent(owner) => (**owner).as_ref(),
        }
    }
}

impl<T> From<Vec<T>> for Buffer<T> {
    fn from(values: Vec<T>) -> Self {
        Self::Owned(values)
    }
}

impl<T> Default for Buffer<T> {
    fn default() -> Self {
        Self::Owned(Vec::new())
    }
}

impl<T: Pod + PartialEq> PartialEq for Buffer<T> {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Self::Owned(_) => "owned",
            Self::Mapped(_) => "mapped",
            Self::Lent(_) => "lent",
        };
        write!(f, "{} {kind} values", self.len())
    }
}

/// Values that are worked on: in memory, or, where they would take too much of it, in a mapped file
/// that has no name and is gone with them.
#[derive(Debug)]
pub enum Working<T> {
    /// Values in memory.
    Owned(Vec<T>),
    /// Values in a mapped file.
    Mapped(MmapMut, PhantomData<T>),
}

impl<T: Pod> Working<T> {
    /// So many zeros, in memory if they take at most `room` bytes, else in a file in `folder`.
    ///
    /// # Errors
    /// If the file cannot be made, or the disk has no room for it.
    #[expect(unsafe_code, reason = "memory-mapping a file cannot be checked by the compiler")]
    pub fn zeros(len: usize, room: u64, folder: &Path) -> io::Result<Self> {
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(|| invalid("mapped size overflows"))? as u64;
        if bytes <= room {
            return Ok(Self::Owned(vec![T::zeroed(); len]));
        }
        let file = tempfile::tempfile_in(folder)?;
        set_aside(&file, bytes)?;
        // SAFETY: the file has no name, so nobody else can change or shorten it.
        Ok(Self::Mapped(unsafe { MmapMut::map_mut(&file)? }, PhantomData))
    }
}

/// Gives a file its size, and the blocks of the disk for it: a disk that is full must be an error now,
/// and not a signal when the mapped pages are written.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the standard library does not set blocks aside")]
fn set_aside(file: &File, bytes: u64) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let len = bytes.try_into().map_err(|_| invalid("mapped size overflows"))?;
    // SAFETY: the call takes numbers only, and the file is open.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, len) } {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

#[cfg(not(target_os = "linux"))]
fn set_aside(file: &File, bytes: u64) -> io::Result<()> {
    file.set_len(bytes)
}

impl<T: Pod> Deref for Working<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::Owned(values) => values,
            Self::Mapped(map, _) => bytemuck::cast_slice(map),
        }
    }
}

impl<T: Pod> DerefMut for Working<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::Owned(values) => values,
            Self::Mapped(map, _) => bytemuck::cast_slice_mut(map),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// Files of these tests have no name, so nobody else can change them.
    #[expect(unsafe_code, reason = "mapping is what is tested")]
    fn open<T: Pod>(file: &File, start: usize, len: usize) -> io::Result<MappedSlice<T>> {
        // SAFETY: see above.
        unsafe { MappedSlice::open(file, start, len) }
    }

    fn file_of(values: &[u32]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytemuck::cast_slice(values)).unwrap();
        file
    }

    #[test]
    fn mapped_and_owned_values_are_equal() {
        let mapped = Buffer::Mapped(open::<u32>(&file_of(&[1, 2, 3]), 4, 2).unwrap());
        assert_eq!(mapped, Buffer::Owned(vec![2, 3]));
        assert_eq!(mapped.clone()[1], 3);
    }

    #[test]
    fn spooled_values_are_mapped() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::<u32>::new(folder.path()).unwrap();
        (0..5).for_each(|part| spool.push(&[part, 2 * part]).unwrap());
        let values = spool.finish().unwrap();
        assert!(matches!(values, Buffer::Mapped(_)));
        assert_eq!(values[..], [0, 0, 1, 2, 2, 4, 3, 6, 4, 8]);
        assert!(Spool::<u32>::new(folder.path()).unwrap().finish().unwrap().is_empty());
    }

    #[test]
    fn lent_values_stay_where_they_are() {
        let owner = Arc::new(vec![2, 3]);
        let lent = Buffer::Lent(Arc::clone(&owner) as Arc<dyn AsRef<[u32]> + Send + Sync>);
        assert_eq!(lent, Buffer::Owned(vec![2, 3]));
        assert_eq!(lent.as_ptr(), owner.as_ptr());
    }

    #[test]
    fn a_short_file_is_refused() {
        assert!(open::<u32>(&file_of(&[1, 2, 3]), 0, 4).is_err());
        assert!(open::<u32>(&file_of(&[1, 2, 3]), 0, usize::MAX).is_err());
    }

    #[test]
    fn misaligned_data_are_refused() {
        assert!(open::<u32>(&file_of(&[1, 2, 3]), 1, 1).is_err());
    }

    #[test]
    fn an_empty_slice_can_be_mapped() {
        let empty = Buffer::Mapped(open::<u64>(&file_of(&[1]), 0, 0).unwrap());
        assert!(empty.is_empty());
    }

    #[test]
    fn working_values_are_zero_at_first_and_kept_wherever_they_lie() {
        let folder = tempfile::tempdir().unwrap();
        for room in [u64::MAX, 799] {
            let mut values = Working::<f64>::zeros(100, room, folder.path()).unwrap();
            assert_eq!(matches!(values, Working::Owned(_)), room == u64::MAX);
            assert!(values.iter().all(|&value| value == 0.0));
            values[99] = 2.5;
            assert_eq!(values[99], 2.5);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(Working::<f64>::zeros(100, 0, std::path::Path::new("nowhere")).is_err());
    }
}
