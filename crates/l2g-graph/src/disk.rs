//! How much room there is on a disk.

use std::path::Path;

/// The bytes that a user may still write where a folder lies, if the system tells.
#[cfg(unix)]
pub(crate) fn free_bytes(folder: &Path) -> Option<u64> {
    let told = nix::sys::statvfs::statvfs(folder).ok()?;
    // Types differ between systems; all are wide enough for 64 bits.
    (told.blocks_available() as u64).checked_mul(told.fragment_size() as u64)
}

/// The bytes that a user may still write where a folder lies, if the system tells.
#[cfg(not(unix))]
pub(crate) fn free_bytes(_: &Path) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    #[test]
    #[cfg(unix)]
    fn the_room_of_a_folder_is_told() {
        let folder = tempfile::tempdir().unwrap();
        assert!(super::free_bytes(folder.path()).unwrap() > 0);
        assert_eq!(super::free_bytes(&folder.path().join("nowhere")), None);
    }
}
