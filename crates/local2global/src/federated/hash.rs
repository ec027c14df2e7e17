//! SHA-256, with and without a key, over several pieces.
//!
//! Every piece is preceded by its length, so that no two lists of pieces are the same bytes.

use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};

/// HMAC-SHA-256 of some pieces; the first tells what it is for.
pub(super) fn keyed(key: &[u8], pieces: &[&[u8]]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    for piece in pieces {
        mac.update(&(piece.len() as u64).to_le_bytes());
        mac.update(piece);
    }
    mac.finalize().into_bytes().into()
}

/// SHA-256 of some pieces, as hexadecimal digits; the first tells what it is for.
pub(super) fn plain(pieces: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for piece in pieces {
        hash.update((piece.len() as u64).to_le_bytes());
        hash.update(piece);
    }
    hex(&hash.finalize())
}

/// Bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_do_not_run_into_each_other() {
        assert_ne!(plain(&[b"ab", b"c"]), plain(&[b"a", b"bc"]));
        assert_ne!(keyed(b"key", &[b"ab", b"c"]), keyed(b"key", &[b"a", b"bc"]));
        assert_ne!(keyed(b"key", &[b"ab"]), keyed(b"other", &[b"ab"]));
        assert_eq!(hex(&[0, 255]), "00ff");
    }
}
