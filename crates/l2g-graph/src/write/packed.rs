//! Text that is packed on its way to the file.

use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

/// How a file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Packing {
    None,
    Gzip,
    Zstd,
}

impl Packing {
    /// The packing the name of a file tells.
    pub fn of_name(path: &Path) -> Self {
        match path.extension().map(|extension| extension.to_string_lossy().to_lowercase()).as_deref() {
            Some("gz") => Self::Gzip,
            Some("zst") => Self::Zstd,
            _ => Self::None,
        }
    }

    /// A name without the ending that tells the packing.
    pub fn strip(name: &str) -> &str {
        [".gz", ".zst"].into_iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
    }
}

/// A file that packs what is written to it.
#[expect(missing_docs, reason = "the names say it")]
pub enum Packed<W: Write> {
    Plain(W),
    Gzip(GzEncoder<W>),
    Zstd(zstd::Encoder<'static, W>),
}

impl<W: Write> Packed<W> {
    /// Begins to pack.
    ///
    /// # Errors
    /// If the packer cannot be set up.
    pub fn new(file: W, packing: Packing) -> io::Result<Self> {
        Ok(match packing {
            Packing::None => Self::Plain(file),
            Packing::Gzip => Self::Gzip(GzEncoder::new(file, Compression::default())),
            Packing::Zstd => Self::Zstd(zstd::Encoder::new(file, zstd::DEFAULT_COMPRESSION_LEVEL)?),
        })
    }

    /// Packs and writes bytes.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.write_all(bytes),
            Self::Gzip(encoder) => encoder.write_all(bytes),
            Self::Zstd(encoder) => encoder.write_all(bytes),
        }
    }

    /// Writes what the packer still holds.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(self) -> io::Result<()> {
        match self {
            Self::Plain(mut file) => file.flush(),
            Self::Gzip(encoder) => encoder.finish()?.flush(),
            Self::Zstd(encoder) => encoder.finish()?.flush(),
        }
    }
}
