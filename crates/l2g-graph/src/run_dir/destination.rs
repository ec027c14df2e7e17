//! Where the bytes of a file go: into a new file that takes its name, or into what is there.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// The name of standard output.
const STANDARD_OUTPUT: &str = "-";

/// Longer chains of symbolic links are taken for circles, as by the system.
const MOST_LINKS: usize = 40;

/// Whether a path means standard output. A file of this name is `./-`.
pub fn is_standard_output(path: &Path) -> bool {
    path.as_os_str() == STANDARD_OUTPUT
}

pub(super) enum Destination {
    /// A new file takes this name, in place of the file that may be there.
    Replace(PathBuf),
    /// A device, a pipe or standard output: written to as it is.
    Stream(File),
}

impl Destination {
    /// What a path means. Symbolic links are followed, also one whose target does not exist yet.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        if is_standard_output(path) {
            return standard_output().map(Self::Stream);
        }
        let mut path = path.to_owned();
        for _ in 0..MOST_LINKS {
            let kind = match fs::symlink_metadata(&path) {
                Ok(found) => found.file_type(),
                // What else may be wrong is told when the file is written.
                Err(_) => return Ok(Self::Replace(path)),
            };
            if kind.is_symlink() && !is_open_file(&path) {
                path = parent(&path).join(fs::read_link(&path)?);
            } else if kind.is_file() || kind.is_dir() {
                return Ok(Self::Replace(path));
            } else {
                return OpenOptions::new().append(true).open(&path).map(Self::Stream);
            }
        }
        Err(io::Error::other("too many symbolic links"))
    }
}

/// The folder of a file, which may be the one we are in.
pub(super) fn parent(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether a link stands for a file that this process has open, as `/dev/stdout` does in the end:
/// then bytes belong into that file, which may have another name by now, or none.
fn is_open_file(path: &Path) -> bool {
    path.starts_with("/proc") || path.starts_with("/dev/fd")
}

#[cfg(unix)]
fn standard_output() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(io::stdout().as_fd().try_clone_to_owned()?.into())
}

#[cfg(windows)]
fn standard_output() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(io::stdout().as_handle().try_clone_to_owned()?.into())
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::fs::{FileTypeExt, symlink};

    use super::*;
    use crate::run_dir::{write_array, write_atomically};
    use crate::scratch::scratch;

    #[test]
    fn a_link_is_followed_and_its_target_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("data")).unwrap();
        fs::write(at("data/old"), b"old").unwrap();
        // The first leads to the second, relative to its own folder; the third leads nowhere yet.
        symlink("data/second", at("first")).unwrap();
        symlink("old", at("data/second")).unwrap();
        symlink("data/new", at("third")).unwrap();
        write_atomically(&at("first"), |sink| sink.write_all(b"new")).unwrap();
        write_atomically(&at("third"), |sink| sink.write_all(b"more")).unwrap();
        assert!(at("first").is_symlink() && at("data/second").is_symlink() && at("third").is_symlink());
        assert_eq!(fs::read(at("data/old")).unwrap(), b"new");
        assert_eq!(fs::read(at("data/new")).unwrap(), b"more");
        symlink("circle", at("circle")).unwrap();
        assert!(write_atomically(&at("circle"), |_| Ok(())).unwrap_err().to_string().contains("links"));
    }

    #[test]
    fn a_device_stays_a_device() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("null");
        symlink("/dev/null", &link).unwrap();
        assert!(matches!(Destination::of(&link), Ok(Destination::Stream(_))));
        write_atomically(&link, |sink| sink.write_all(b"gone")).unwrap();
        assert!(link.is_symlink());
        assert!(fs::metadata(&link).unwrap().file_type().is_char_device());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_pipe_is_written_to_and_stays() {
        let pipe = scratch("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&*pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.to_path_buf();
            move || {
                let mut bytes = Vec::new();
                File::open(pipe).unwrap().read_to_end(&mut bytes).unwrap();
                bytes
            }
        });
        write_array(&pipe, &[2], &[1_u64, 2]).unwrap();
        assert!(reader.join().unwrap().starts_with(b"\x93NUMPY"));
        assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
    }
}
