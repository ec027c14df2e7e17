//! Records that notice when they were damaged.
//!
//! A record that other files are judged by (the stamp of a stage, the record of a patch) ends with a
//! seal: a digest of everything else in it. A single wrong digit is found by it, so the record is not
//! believed and what it speaks of is made again. Records from before there were schema versions have
//! no seal, and are believed.

use std::io;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{FileError, SCHEMA, read_json, write_json};
use crate::digest::Digest;

#[derive(Serialize)]
struct Sealed<'a, T> {
    #[serde(flatten)]
    record: &'a T,
    seal: String,
}

/// Writes a record as [`write_json`] does, with a seal.
///
/// # Errors
/// As [`write_json`].
pub fn write_sealed_json(path: &Path, record: &impl Serialize) -> Result<(), FileError> {
    // By way of the text, so that every number is the one that is read back.
    let read_back =
        || -> Result<Value, serde_json::Error> { serde_json::from_str(&serde_json::to_string(record)?) };
    let mut value = read_back().map_err(io::Error::from).map_err(FileError::at("write", path))?;
    value["schema"] = SCHEMA.into();
    write_json(path, &Sealed { record, seal: seal_of(&value) })
}

/// Reads a record that [`write_sealed_json`] has written.
///
/// # Errors
/// As [`read_json`], and [`FileError`] if the seal does not fit.
pub fn read_sealed_json<T: DeserializeOwned>(path: &Path) -> Result<T, FileError> {
    let mut value: Value = read_json(path)?;
    let seal = value.as_object_mut().and_then(|entries| entries.remove("seal"));
    let is_intact = match &seal {
        Some(seal) => seal.as_str() == Some(&seal_of(&value)),
        None => value.get("schema").is_none(),
    };
    match is_intact {
        true => serde_json::from_value(value).map_err(io::Error::from),
        false => Err(io::Error::other("it is damaged")),
    }
    .map_err(FileError::at("understand", path))
}

fn seal_of(record: &Value) -> String {
    let mut digest = Digest::default();
    digest.add_text(&record.to_string());
    digest.to_string()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;

    type Record = BTreeMap<String, f64>;

    fn written() -> (tempfile::TempDir, std::path::PathBuf, Record) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let record: Record =
            (0..200).map(|k| (format!("score {k}"), f64::from(k).sqrt().sin() * 1e-7)).collect();
        write_sealed_json(&path, &record).unwrap();
        (folder, path, record)
    }

    #[test]
    fn sealed_records_are_read_back() {
        let (_folder, path, record) = written();
        let read: BTreeMap<String, Value> = read_sealed_json(&path).unwrap();
        assert_eq!(read.len(), record.len() + 1);
        assert!((read["score 7"].as_f64().unwrap() - record["score 7"]).abs() < 1e-20);
    }

    #[test]
    fn every_flipped_bit_is_noticed_or_changes_nothing() {
        let (_folder, path, _) = written();
        let intact: Value = read_sealed_json(&path).unwrap();
        let bytes = fs::read(&path).unwrap();
        for place in (0..400).chain(bytes.len() - 60..bytes.len()) {
            for bit in [0, 3, 5] {
                let mut damaged = bytes.clone();
                damaged[place] ^= 1 << bit;
                fs::write(&path, damaged).unwrap();
                // White space tells nothing.
                let read = read_sealed_json::<Value>(&path);
                assert!(read.is_err() || read.is_ok_and(|read| read == intact), "bit {bit} of byte {place}");
            }
        }
    }

    #[test]
    fn records_from_before_versions_are_believed() {
        let (_folder, path, _) = written();
        fs::write(&path, "{\"nodes\": 3.0}").unwrap();
        assert_eq!(read_sealed_json::<Record>(&path).unwrap()["nodes"], 3.0);
        fs::write(&path, "{\"schema\": 1, \"nodes\": 3.0}").unwrap();
        assert!(read_sealed_json::<Record>(&path).is_err());
    }
}
