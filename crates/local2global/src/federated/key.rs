//! The key that sites agree on, and ids blinded with it.
//!
//! ```text
//! blinded id = HMAC-SHA-256(key, id as text)
//! ```
//!
//! The same id at two sites gives the same 32 bytes. Who does not hold the key cannot tell which node
//! they stand for; who holds it can blind every id that might be there, and compare.
//!
//! Source: Krawczyk, Bellare, Canetti, "HMAC: Keyed-Hashing for Message Authentication", RFC 2104, 1997.

use std::fs;
use std::path::Path;

use rayon::prelude::*;

use super::FederatedError;
use super::hash::{hex, keyed};
use crate::graph::{NodeId, NodeIds};
use crate::run_dir::FileError;

/// Shorter keys could be found by trying.
const LEAST_BYTES: usize = 16;

/// A blinded node id.
pub type BlindedId = [u8; 32];

/// The key that sites agree on. It is never printed.
#[derive(Clone)]
pub struct Key(Vec<u8>);

impl Key {
    /// A key of any bytes; white space at its end does not count.
    ///
    /// # Errors
    /// [`FederatedError::ShortKey`] if it has fewer than 16 bytes.
    pub fn new(bytes: &[u8]) -> Result<Self, FederatedError> {
        let bytes = bytes.trim_ascii_end();
        match bytes.len() < LEAST_BYTES {
            true => Err(FederatedError::ShortKey { bytes: bytes.len(), needed: LEAST_BYTES }),
            false => Ok(Self(bytes.to_vec())),
        }
    }

    /// The key in a file.
    ///
    /// # Errors
    /// [`FederatedError`] if it cannot be read, or is too short.
    pub fn read(path: &Path) -> Result<Self, FederatedError> {
        Self::new(&fs::read(path).map_err(FileError::at("read", path))?)
    }

    /// The blinded id of a node.
    ///
    /// # Examples
    /// ```
    /// use local2global::federated::Key;
    ///
    /// let key = Key::new(b"a secret of all the sites")?;
    /// let other = Key::new(b"a secret of other sites")?;
    /// assert_eq!(key.blind("7"), key.blind("7"));
    /// assert_ne!(key.blind("7"), other.blind("7"));
    /// # Ok::<(), local2global::federated::FederatedError>(())
    /// ```
    pub fn blind(&self, id: &str) -> BlindedId {
        keyed(&self.0, &[b"local2global node", id.as_bytes()])
    }

    /// What tells whether two sites have the same key, and not which.
    pub fn check(&self) -> String {
        hex(&keyed(&self.0, &[b"local2global key"])[..16])
    }

    /// All blinded ids of a site, ascending, each with its row.
    ///
    /// # Errors
    /// [`FederatedError::DuplicateNode`] if an id stands twice.
    pub(super) fn blind_all(
        &self,
        site: &str,
        ids: &NodeIds,
    ) -> Result<Vec<(BlindedId, usize)>, FederatedError> {
        let name = |row: usize| ids.get(NodeId(row as u64)).to_string();
        let mut blinded: Vec<(BlindedId, usize)> =
            (0..ids.len()).into_par_iter().map(|row| (self.blind(&name(row)), row)).collect();
        blinded.par_sort_unstable();
        match blinded.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(twice) => Err(FederatedError::DuplicateNode { site: site.into(), id: name(twice[0].1) }),
            None => Ok(blinded),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_keys_are_refused_and_a_line_break_at_the_end_does_not_count() {
        let error = Key::new(b"short\n").err().unwrap();
        assert_eq!(error.to_string(), "the key has 5 bytes; needed at least 16 that nobody can guess");
        let (plain, line) = (
            Key::new(&[7; 16]).unwrap(),
            Key::new(b"\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\r\n").unwrap(),
        );
        assert_eq!((plain.check(), plain.blind("a")), (line.check(), line.blind("a")));
        assert_ne!(plain.check(), Key::new(&[8; 16]).unwrap().check());
    }

    #[test]
    fn an_id_is_the_same_as_a_number_and_as_text() {
        let key = Key::new(&[1; 32]).unwrap();
        let numbers = key.blind_all("a", &NodeIds::Integers(vec![12, 7].into())).unwrap();
        let texts = key.blind_all("b", &NodeIds::Strings(["12", "7"].into_iter().collect())).unwrap();
        assert_eq!(numbers, texts);
        assert!(numbers.is_sorted());
        let error = key.blind_all("a", &NodeIds::Integers(vec![3, 7, 3].into())).unwrap_err();
        assert_eq!(error.to_string(), "node `3` stands twice at site `a`");
    }
}
