//! Records in JSON, each with the version of its schema.
//!
//! Every record of a run folder begins with `"schema": 1`. The number rises when an old program
//! would misunderstand a new record, or a new program an old one. A record without a number was
//! written before there were numbers; its content is that of version 1, so it is read. A higher
//! number than [`SCHEMA`] is refused, whatever the rest looks like.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{FileError, write_atomically};

/// The version that is written, and the highest that is read.
pub const SCHEMA: u32 = 1;

/// A record was written by a newer program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it has schema version {found}, and this program reads versions up to {SCHEMA}")]
pub struct SchemaError {
    /// The version of the file.
    pub found: u32,
}

impl SchemaError {
    /// The error behind a failed [`read_json`], if it is about the version.
    pub fn behind(error: &FileError) -> Option<Self> {
        error.source.get_ref()?.downcast_ref().copied()
    }
}

#[derive(Serialize)]
struct Versioned<'a, T> {
    schema: u32,
    #[serde(flatten)]
    record: &'a T,
}

#[derive(Deserialize)]
struct Version {
    #[serde(default)]
    schema: u32,
}

/// Writes a record, a struct or a map, as indented JSON that begins with the schema version.
///
/// # Errors
/// As [`write_atomically`].
pub fn write_json(path: &Path, record: &impl Serialize) -> Result<(), FileError> {
    write_atomically(path, |sink| {
        serde_json::to_writer_pretty(&mut *sink, &Versioned { schema: SCHEMA, record })?;
        sink.write_all(b"\n")
    })
}

/// Reads a record that [`write_json`] has written.
///
/// # Errors
/// [`FileError`] if the file is missing, is no such record, or was written by a newer program.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, FileError> {
    let bytes = fs::read(path).map_err(FileError::at("read", path))?;
    parse(&bytes).map_err(FileError::at("understand", path))
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> io::Result<T> {
    let Version { schema } = serde_json::from_slice(bytes)?;
    match schema > SCHEMA {
        true => Err(io::Error::other(SchemaError { found: schema })),
        false => Ok(serde_json::from_slice(bytes)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::scratch;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Counts {
        nodes: usize,
    }

    #[test]
    fn records_begin_with_their_version_and_are_read_back() {
        let path = scratch("a.json");
        write_json(&path, &Counts { nodes: 2 }).unwrap();
        write_json(&path, &Counts { nodes: 3 }).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\n  \"schema\": 1,\n  \"nodes\": 3\n}\n");
        assert_eq!(read_json::<Counts>(&path).unwrap(), Counts { nodes: 3 });
    }

    #[test]
    fn a_newer_version_is_refused_in_one_sentence() {
        let path = scratch("a.json");
        fs::write(&path, "{\"schema\": 2, \"knots\": 3}").unwrap();
        let error = read_json::<Counts>(&path).unwrap_err();
        let told = "a.json`: it has schema version 2, and this program reads versions up to 1";
        assert!(error.to_string().ends_with(told), "{error}");
        assert_eq!(SchemaError::behind(&error), Some(SchemaError { found: 2 }));
    }

    #[test]
    fn a_record_from_before_versions_is_read() {
        let path = scratch("a.json");
        fs::write(&path, "{\"nodes\": 3}").unwrap();
        assert_eq!(read_json::<Counts>(&path).unwrap(), Counts { nodes: 3 });
        fs::write(&path, "{\"nodes\": \"three\"}").unwrap();
        let error = read_json::<Counts>(&path).unwrap_err();
        assert!(error.to_string().starts_with("could not understand"), "{error}");
        assert_eq!(SchemaError::behind(&error), None);
    }
}
