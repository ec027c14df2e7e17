//! Folders for the temporary files of other programs.
//!
//! They lie beside the files that the programs are asked for, and not in the temporary folder of
//! the system: what is in them may be as large as a patch, and as private as the graph.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::FileError;

const PREFIX: &str = ".work-";

/// Makes a folder `.work-NAME-...` that only this user may read, with an absolute path. It is removed
/// when it is dropped; one that was left behind is removed by the next run.
///
/// # Errors
/// [`FileError`] if it cannot be made.
pub fn make_work_folder(folder: &Path, name: &str) -> Result<TempDir, FileError> {
    fs::create_dir_all(folder).map_err(FileError::at("create", folder))?;
    let absolute = std::path::absolute(folder).map_err(FileError::at("find", folder))?;
    let prefix = format!("{PREFIX}{name}-");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o700));
    }
    builder.tempdir_in(absolute).map_err(FileError::at("write in", folder))
}

/// Removes the work folders in a folder that a run has left behind. Nobody else may be working there.
///
/// # Errors
/// [`FileError`] if one cannot be removed.
pub fn remove_work_folders(folder: &Path) -> Result<(), FileError> {
    if !folder.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(folder).map_err(FileError::at("read", folder))? {
        let entry = entry.map_err(FileError::at("read", folder))?;
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && entry.file_name().to_string_lossy().starts_with(PREFIX) {
            let path = entry.path();
            fs::remove_dir_all(&path).map_err(FileError::at("remove", &path))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_folders_are_private_and_gone_when_dropped() {
        let outer = tempfile::tempdir().unwrap();
        let work = make_work_folder(outer.path(), "patch-00001").unwrap();
        let name = work.path().file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with(".work-patch-00001-"), "{name}");
        assert!(work.path().is_absolute());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(work.path().metadata().unwrap().permissions().mode() & 0o777, 0o700);
        }
        fs::write(work.path().join("out.npy"), b"half").unwrap();
        drop(work);
        assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 0);
    }

    #[test]
    fn work_folders_that_were_left_behind_are_removed() {
        let outer = tempfile::tempdir().unwrap();
        fs::create_dir(outer.path().join("full")).unwrap();
        let left = make_work_folder(outer.path(), "patch-00001").unwrap().keep();
        fs::write(left.join("out.npy"), b"half").unwrap();
        remove_work_folders(outer.path()).unwrap();
        assert!(!left.exists() && outer.path().join("full").exists());
        remove_work_folders(&outer.path().join("nowhere")).unwrap();
    }
}
