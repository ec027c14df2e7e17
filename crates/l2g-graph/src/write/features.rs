//! Features in a file of their own: `.npy` (dense) or `.npz` (scipy's sparse matrix).

use std::io::{self, Seek, Write};
use std::path::Path;

use super::archive::ArchiveWriter;
use super::csr::CsrSpool;
use super::{WriteError, invalid};
use crate::graph::features::SparseFeatures;
use crate::graph::{Features, NodeId};
use crate::npy::{self, Writer};
use crate::run_dir::write_atomically;

/// Takes features, some rows at a time.
pub trait FeatureSink: Send {
    /// Appends the features of the next nodes.
    ///
    /// # Errors
    /// If writing fails.
    fn push(&mut self, rows: &SparseFeatures) -> io::Result<()>;
}

/// Writes features that `fill` pushes some rows at a time.
///
/// The rows are those of nodes 0, 1, 2, ... up to `num_rows`. A name that ends in
/// `.npy` asks for a dense array, `.npz` for a sparse matrix.
///
/// # Errors
/// [`WriteError`] if the name ends otherwise, or `fill` or writing fails; then no file
/// appears.
pub fn write_features_with(
    path: &Path,
    num_rows: usize,
    width: usize,
    fill: impl FnOnce(&mut dyn FeatureSink) -> io::Result<()>,
) -> Result<(), WriteError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match Kind::of_name(path)? {
        Kind::Dense => write_atomically(path, |file| {
            let mut dense = DenseSink { writer: Writer::new(file, &[width])?, width };
            fill(&mut dense)?;
            dense.writer.finish().map(drop)
        })?,
        Kind::Sparse => write_atomically(path, |file| {
            let mut sparse = SparseSink(CsrSpool::new(folder, num_rows, width, true)?);
            fill(&mut sparse)?;
            let mut archive = ArchiveWriter::new(file);
            archive.byte_string("format", "csr")?;
            sparse.0.write_into(&mut archive, "")?;
            archive.finish()
        })?,
    }
    Ok(())
}

/// Writes the features of all nodes, in their order.
///
/// A name that ends in `.npy` asks for a dense array, `.npz` for a sparse matrix;
/// features are stored that way whichever way they are kept.
///
/// # Errors
/// [`WriteError`] if the name ends otherwise, or writing fails.
pub fn write_features(features: &Features, path: &Path) -> Result<(), WriteError> {
    match (features, Kind::of_name(path)?) {
        (Features::Dense(dense), Kind::Dense) => {
            let shape = [features.num_rows(), features.width()];
            Ok(write_atomically(path, |file| npy::write(file, &shape, dense.values()))?)
        }
        _ => write_features_with(path, features.num_rows(), features.width(), |sink| match features {
            Features::Sparse(rows) => sink.push(rows),
            Features::Dense(_) => {
                (0..features.num_rows()).try_for_each(|row| sink.push(&sparse_row(features, row)))
            }
        }),
    }
}

/// Whether zeros are stored.
#[derive(Clone, Copy)]
enum Kind {
    Dense,
    Sparse,
}

impl Kind {
    fn of_name(path: &Path) -> Result<Self, WriteError> {
        match path.extension().map(|extension| extension.to_ascii_lowercase()) {
            Some(extension) if extension == "npy" => Ok(Self::Dense),
            Some(extension) if extension == "npz" => Ok(Self::Sparse),
            _ => Err(WriteError::Refused {
                path: path.to_owned(),
                problem: "features are written as .npy (dense) or .npz (sparse)".into(),
            }),
        }
    }
}

/// What is not zero in one row of dense features.
fn sparse_row(features: &Features, row: usize) -> SparseFeatures {
    let width = features.width();
    let values = &features.values()[row * width..][..width];
    let (columns, values): (Vec<u32>, Vec<f32>) =
        (0..).zip(values.iter().copied()).filter(|&(_, value)| value != 0.0).unzip();
    SparseFeatures::new(width, vec![0, values.len() as u64].into(), columns.into(), values.into())
        .expect("one row ends with its last value")
}

struct DenseSink<W> {
    writer: Writer<f32, W>,
    width: usize,
}

impl<W: Write + Seek + Send> FeatureSink for DenseSink<W> {
    fn push(&mut self, rows: &SparseFeatures) -> io::Result<()> {
        let mut dense = vec![0.0; self.width];
        for row in 0..rows.offsets().len() - 1 {
            let (columns, values) = rows.row(NodeId::new(row));
            for (&column, &value) in columns.iter().zip(values) {
                *dense.get_mut(column as usize).ok_or_else(|| invalid("a column does not exist"))? = value;
            }
            self.writer.push(&dense)?;
            dense.fill(0.0);
        }
        Ok(())
    }
}

struct SparseSink(CsrSpool);

impl FeatureSink for SparseSink {
    fn push(&mut self, rows: &SparseFeatures) -> io::Result<()> {
        self.0.push_rows(rows)
    }
}
