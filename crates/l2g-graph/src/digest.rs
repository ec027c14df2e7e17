//! A short text that changes when what it was made from changes.
//!
//! XXH3 with 128 bits: good against accidents, not against malice, and about as fast as
//! memory. Numbers and texts are told apart by their lengths, so that no two lists of parts
//! give the same bytes.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use twox_hash::XxHash3_128;

/// Bytes of a file that are read at a time.
const CHUNK: usize = 1 << 20;

/// A digest under way: parts are added, and its text tells it.
///
/// # Examples
/// ```
/// use l2g_graph::digest::Digest;
///
/// let digest = |parts: [&str; 2]| {
///     let mut digest = Digest::default();
///     parts.iter().for_each(|part| digest.add_text(part));
///     digest.to_string()
/// };
/// assert_eq!(digest(["ab", "c"]), digest(["ab", "c"]));
/// assert_ne!(digest(["ab", "c"]), digest(["a", "bc"]));
/// ```
#[derive(Clone, Default)]
pub struct Digest(XxHash3_128);

impl Digest {
    /// Adds a number.
    pub fn add(&mut self, number: u64) {
        self.0.write(&number.to_le_bytes());
    }

    /// Adds a text, and its length.
    pub fn add_text(&mut self, text: &str) {
        self.add(text.len() as u64);
        self.0.write(text.as_bytes());
    }

    /// Adds numbers that are bytes in memory, and how many bytes they are.
    pub fn add_values<T: bytemuck::NoUninit>(&mut self, values: &[T]) {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        self.add(bytes.len() as u64);
        self.0.write(bytes);
    }

    /// Adds the content of a file.
    ///
    /// # Errors
    /// What the system says.
    pub fn add_file(&mut self, path: &Path) -> io::Result<()> {
        let mut file = File::open(path)?;
        let mut chunk = vec![0; CHUNK];
        loop {
            match file.read(&mut chunk)? {
                0 => return Ok(()),
                count => self.0.write(&chunk[..count]),
            }
        }
    }
}

/// The digest of the content of a file.
///
/// # Errors
/// What the system says.
pub fn of_file(path: &Path) -> io::Result<String> {
    let mut digest = Digest::default();
    digest.add_file(path)?;
    Ok(digest.to_string())
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0.finish_128())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::scratch;

    #[test]
    fn a_changed_byte_changes_the_digest_of_a_file() {
        let path = scratch("file");
        let digest_of = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            of_file(&path).unwrap()
        };
        let mut bytes = vec![7; 3 * CHUNK + 5];
        let first = digest_of(&bytes);
        assert_eq!(first, digest_of(&bytes));
        bytes[2 * CHUNK] ^= 1;
        assert_ne!(first, digest_of(&bytes));
        assert_eq!(first.len(), 32);
    }

    #[test]
    fn values_and_numbers_are_told_apart_by_length() {
        let mut list = Digest::default();
        list.add_values(&[1_u64, 2]);
        let mut numbers = Digest::default();
        numbers.add(1);
        numbers.add(2);
        assert_ne!(list.to_string(), numbers.to_string());
    }
}
