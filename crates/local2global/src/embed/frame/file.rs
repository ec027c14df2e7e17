//! A frame on disk: `frame.npz` and `frame.json`.
//!
//! ```text
//! hops   factors, shift, basis, centre, turn, mean_weight
//! walks  clusters, volumes, transitions, factor, walk_settings (window, shift)
//! both   all of these, and structure_weight
//! ```

use std::io::{Seek, Write};
use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use serde::{Deserialize, Serialize};

use super::Frame;
use crate::digest;
use crate::embed::EmbedError;
use crate::embed::choose::Choice;
use crate::embed::hops::HopsFrame;
use crate::embed::hops::features::FeatureMap;
use crate::embed::nn::Matrix;
use crate::embed::walks::WalkFrame;
use crate::run_dir::{
    ArrayArchive, ArrayFile, EmbeddingFolder, FileError, read_sealed_json, write_arrays, write_sealed_json,
};

/// The file `frame.json`: what was chosen, and what the frame was made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrameRecord {
    /// What the program chose for the user, and why.
    pub choices: Vec<Choice>,
    /// The digest of what the frame was made from.
    pub(super) inputs: String,
    /// The digest of `frame.npz`.
    arrays: String,
}

impl FrameRecord {
    /// The record in a folder, if there is one.
    pub fn read(folder: &Path) -> Option<Self> {
        read_sealed_json(&EmbeddingFolder::at(folder).frame_record()).ok()
    }
}

/// Writes a frame, and what it was made from.
pub(super) fn write(
    frame: &Frame,
    choices: Vec<Choice>,
    inputs: String,
    folder: &Path,
) -> Result<(), FileError> {
    let folder = EmbeddingFolder::at(folder);
    let path = folder.frame();
    write_arrays(&path, |archive| frame.add_to(archive))?;
    let arrays = digest::of_file(&path).map_err(FileError::at("read", &path))?;
    write_sealed_json(&folder.frame_record(), &FrameRecord { choices, inputs, arrays })
}

/// The frame that lies in a folder, if there is one, with its digest.
pub(super) fn read(folder: &Path) -> Result<Option<Frame>, EmbedError> {
    let path = EmbeddingFolder::at(folder).frame();
    if !path.exists() {
        return Ok(None);
    }
    let frame = Frame::read_from(&mut ArrayFile::open(&path)?)?;
    let digest = digest::of_file(&path).map_err(FileError::at("read", &path))?;
    Ok(Some(Frame { digest: Some(digest), ..frame }))
}

impl Frame {
    /// Adds the arrays of the frame to an archive.
    pub(in crate::embed) fn add_to<W: Write + Seek>(&self, archive: &mut ArrayArchive<W>) -> io::Result<()> {
        let matrix = |matrix: &Matrix<f32>| [matrix.num_rows(), matrix.num_columns()];
        if let Some(HopsFrame { map, centre, mean_weight, turn }) = self.hops.as_deref() {
            archive.add("factors", &[map.factors.len()], &map.factors)?;
            archive.add("shift", &[map.shift.len()], &map.shift)?;
            archive.add("basis", &matrix(&map.basis), map.basis.values())?;
            archive.add("centre", &[centre.len()], centre)?;
            archive.add("turn", &matrix(turn), turn.values())?;
            archive.add("mean_weight", &[1], &[*mean_weight])?;
        }
        if let Some(walks) = self.walks.as_deref() {
            archive.add("clusters", &[walks.clusters().len()], walks.clusters())?;
            archive.add("volumes", &[walks.volumes().len()], walks.volumes())?;
            archive.add("transitions", &matrix(walks.transitions()), walks.transitions().values())?;
            archive.add("factor", &matrix(walks.factor()), walks.factor().values())?;
            archive.add("walk_settings", &[2], &[walks.window() as f64, walks.shift()])?;
        }
        archive.add("structure_weight", &[1], &[self.structure_weight])
    }

    /// The frame whose arrays are in an archive, without its digest.
    pub(in crate::embed) fn read_from(file: &mut ArrayFile) -> Result<Self, EmbedError> {
        let hops = if file.has("basis") { Some(Arc::new(read_hops(file)?)) } else { None };
        let walks = if file.has("factor") { Some(Arc::new(read_walks(file)?)) } else { None };
        let structure_weight = file.floats("structure_weight")?.1.first().copied().unwrap_or(0.0);
        Ok(Self { hops, walks, structure_weight, ..Self::default() })
    }
}

/// The frame that lies in a folder, if it was made from these inputs and is undamaged.
pub(super) fn read_current(folder: &Path, inputs: &str) -> Option<Frame> {
    let record = FrameRecord::read(folder).filter(|record| record.inputs == inputs)?;
    let found = digest::of_file(&EmbeddingFolder::at(folder).frame()).ok()?;
    if found == record.arrays { read(folder).ok()? } else { None }
}

/// Removes a frame that is not used any more, so that nobody takes it for current.
pub(super) fn remove(folder: &Path) -> Result<(), FileError> {
    let folder = EmbeddingFolder::at(folder);
    for path in [folder.frame(), folder.frame_record()].iter().filter(|path| path.exists()) {
        fs::remove_file(path).map_err(FileError::at("remove", path))?;
    }
    Ok(())
}

fn read_hops(file: &mut ArrayFile) -> Result<HopsFrame, EmbedError> {
    let map = FeatureMap {
        factors: file.floats("factors")?.1,
        shift: file.floats("shift")?.1,
        basis: read_matrix(file, "basis")?,
    };
    let mean_weight = file.floats("mean_weight")?.1.first().copied().unwrap_or(1.0);
    Ok(HopsFrame { map, centre: file.floats("centre")?.1, mean_weight, turn: read_matrix(file, "turn")? })
}

fn read_walks(file: &mut ArrayFile) -> Result<WalkFrame, EmbedError> {
    let (_, settings) = file.doubles("walk_settings")?;
    let &[window, shift] = &settings[..] else { return Err(not_understood(file).into()) };
    let clusters = file.integers("clusters")?.1;
    let volumes = file.doubles("volumes")?.1;
    let (transitions, factor) = (read_matrix(file, "transitions")?, read_matrix(file, "factor")?);
    WalkFrame::from_parts((window as usize, shift), clusters, volumes, transitions, factor)
}

fn read_matrix(file: &mut ArrayFile, name: &str) -> Result<Matrix<f32>, FileError> {
    match file.floats(name)? {
        (shape, values) if shape.len() == 2 => Ok(Matrix::from_values(shape[0], shape[1], values)),
        _ => Err(not_understood(file)),
    }
}

fn not_understood(file: &ArrayFile) -> FileError {
    FileError::at("understand", file.path())(io::ErrorKind::InvalidData.into())
}
