//! Alignment from files to files.
//!
//! In go, for every patch NAME, its node list and its coordinates; out come
//!
//! ```text
//! transforms.npz    scales (p), rotations (p x d x d), translations (p x d)
//! alignment.json    how well the patches fit
//! embedding.npy     one row per node, f32        no_trans.npy   the same without transforms
//! spread.npy        how far the copies of each node lie apart, f32
//! nodes.npy         the node of each row, if nodes are not 0, 1, 2, ...
//! ```
//!
//! Coordinates of exactly `f32` or `f64` are mapped, not read; the embedding is streamed.
//! A run folder is the special case where the node lists lie in `3-patches`, the
//! coordinates in `4-embeddings` and the patch graph in `3-patches/patch_graph.npy`.
//! Every file appears complete or not at all.

use std::fs;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use super::centroid::{self, Block, Wanted};
use super::diagnostics::{Diagnostics, diagnose};
use super::update::{Update, update};
use super::{AlignConfig, AlignError, Alignment, Coords, LocalPatch, Transforms, align};
use crate::buffer::Buffer;
use crate::npy::{self, ArrayReader, Kind, NpyError};
use crate::progress::Progress;
use crate::run_dir::{FileError, RunDir, write_array, write_atomically, write_json};
use crate::seed::Seed;

/// Where patches lie, and where the alignment goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlignPaths {
    /// The folder with a node list `NAME.npy`, and perhaps `NAME.weights.npy`, per patch.
    pub nodes: PathBuf,
    /// The folder with the coordinates `NAME.npy` of each patch.
    pub coords: PathBuf,
    /// The patch edges to use, pairs of positions in the sorted list of names; all
    /// overlaps that are large enough if there is none.
    pub edges: Option<PathBuf>,
    /// The folder for the results.
    pub out: PathBuf,
    /// What the rows of the embedding are.
    pub rows: Rows,
}

/// What the rows of the embedding are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Row `k` is node `k`; the patches must cover all nodes from 0 on.
    EveryNode,
    /// One row per node that stands in a patch, ascending; `nodes.npy` says which.
    Listed,
}

/// Why files could not be aligned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages name the fields")]
pub enum AlignFilesError {
    /// A file or folder could not be used.
    #[error(transparent)]
    File(#[from] FileError),

    /// An array could not be read.
    #[error("`{}`: {source}", path.display())]
    Array { path: PathBuf, source: NpyError },

    /// A patch has not been embedded.
    #[error("patch `{patch}` has no coordinates: `{}` does not exist", path.display())]
    MissingCoords { patch: String, path: PathBuf },

    /// There are no node lists.
    #[error("no node lists `NAME.npy` in `{}`", path.display())]
    NoPatches { path: PathBuf },

    /// The patch to update is not there.
    #[error("no patch named `{patch}` in `{}`", path.display())]
    NoSuchPatch { patch: String, path: PathBuf },

    /// The finished frame belongs to other patches.
    #[error("`{}` has {found} transforms for {needed} patches", path.display())]
    OtherTransforms { path: PathBuf, found: usize, needed: usize },

    /// The patches cannot be aligned.
    #[error(transparent)]
    Align(#[from] AlignError),
}

impl AlignPaths {
    /// The places in a run folder.
    pub fn of_run(run: &RunDir) -> Self {
        let graph = run.patches().join("patch_graph.npy");
        Self {
            nodes: run.patches(),
            coords: run.embeddings(),
            edges: graph.exists().then_some(graph),
            out: run.alignment(),
            rows: Rows::EveryNode,
        }
    }
}

/// Aligns the patches of a run folder.
///
/// # Errors
/// [`AlignFilesError`], naming the file or the patch.
pub fn align_run(
    run: &RunDir,
    config: &AlignConfig,
    seed: Seed,
    progress: &dyn Progress,
) -> Result<Diagnostics, AlignFilesError> {
    align_files(&AlignPaths::of_run(run), config, seed, progress)
}

/// Aligns patches that lie in files, and writes the results.
///
/// # Errors
/// [`AlignFilesError`], naming the file or the patch.
pub fn align_files(
    paths: &AlignPaths,
    config: &AlignConfig,
    seed: Seed,
    progress: &dyn Progress,
) -> Result<Diagnostics, AlignFilesError> {
    let patches = read_patches(paths)?;
    let edges = paths.edges.as_deref().map(read_edges).transpose()?;
    let nodes = global_nodes(&patches, paths.rows)?;
    let alignment = align(&patches, edges.as_deref(), config, seed, progress)?;
    let diagnostics = diagnose(&patches, &alignment, config)?;
    write_alignment(paths, &patches, &nodes, &alignment, progress)?;
    write_json(&paths.out.join("alignment.json"), &diagnostics)?;
    Ok(diagnostics)
}

/// What an update changed.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct UpdateReport {
    /// The patch.
    pub patch: String,
    /// How it fits.
    #[serde(flatten)]
    pub update: Update,
    /// Root mean square distance by which its nodes moved in the embedding.
    pub moved: f64,
    /// The largest such distance.
    pub moved_most: f64,
    /// Its nodes that had no place in the embedding before.
    pub new_nodes: usize,
}

/// Puts one new or changed patch into a finished frame, all others held fixed.
///
/// # Errors
/// [`AlignFilesError`], naming the file or the patch.
pub fn update_files(
    paths: &AlignPaths,
    name: &str,
    config: &AlignConfig,
    progress: &dyn Progress,
) -> Result<UpdateReport, AlignFilesError> {
    let patches = read_patches(paths)?;
    let index = patches
        .iter()
        .position(|patch| patch.name() == name)
        .ok_or_else(|| AlignFilesError::NoSuchPatch { patch: name.into(), path: paths.nodes.clone() })?;
    let mut transforms = read_transforms(&paths.out.join("transforms.npz"))?;
    if transforms.num_patches() + 1 == patches.len() {
        transforms.insert(index);
    }
    if transforms.num_patches() != patches.len() {
        let (found, needed) = (transforms.num_patches(), patches.len());
        let path = paths.out.join("transforms.npz");
        return Err(AlignFilesError::OtherTransforms { path, found, needed });
    }
    let before = Places::read(&paths.out)?;
    let found = update(&patches, index, &mut transforms, config)?;
    let nodes = global_nodes(&patches, paths.rows)?;
    let alignment = Alignment::from_transforms(transforms, &patches, config)?;
    write_alignment(paths, &patches, &nodes, &alignment, progress)?;
    let after = Places::read(&paths.out)?;
    Ok(before.compare(&after, &patches[index], found))
}

/// The places of all nodes, as an alignment left them.
struct Places {
    nodes: Option<Vec<u64>>,
    dim: usize,
    coords: Buffer<f32>,
}

impl Places {
    fn read(out: &Path) -> Result<Self, AlignFilesError> {
        let path = out.join("embedding.npy");
        // Read, not mapped: the file is about to be replaced.
        let array = npy::read::<f32>(&path).map_err(in_array(&path))?;
        let (_, dim) = array.rows_and_columns().map_err(in_array(&path))?;
        let listed = out.join("nodes.npy");
        let nodes = listed.exists().then(|| read_integers(&listed)).transpose()?;
        Ok(Self { nodes, dim, coords: array.values })
    }

    fn row(&self, node: u64) -> Option<&[f32]> {
        let row = match &self.nodes {
            Some(nodes) => nodes.binary_search(&node).ok()?,
            None => usize::try_from(node).ok()?,
        };
        self.coords.get(row * self.dim..(row + 1) * self.dim)
    }

    fn compare(&self, after: &Self, patch: &LocalPatch, update: Update) -> UpdateReport {
        let distance = |(a, b): (&[f32], &[f32])| {
            let parts = a.iter().zip(b).map(|(a, b)| f64::from(a - b));
            parts.map(|part| part * part).sum::<f64>()
        };
        let squares: Vec<f64> = patch
            .nodes()
            .iter()
            .filter_map(|&node| Some(distance((self.row(node)?, after.row(node)?))))
            .collect();
        UpdateReport {
            patch: patch.name().into(),
            update,
            moved: (squares.iter().sum::<f64>() / squares.len().max(1) as f64).sqrt(),
            moved_most: squares.iter().copied().fold(0.0, f64::max).sqrt(),
            new_nodes: patch.num_nodes() - squares.len(),
        }
    }
}

fn in_array(path: &Path) -> impl FnOnce(NpyError) -> AlignFilesError {
    let path = path.to_owned();
    move |source| AlignFilesError::Array { path, source }
}

/// Opens all patches, in the order of their names.
///
/// # Errors
/// [`AlignFilesError`], naming the file or the patch.
pub fn read_patches(paths: &AlignPaths) -> Result<Vec<LocalPatch>, AlignFilesError> {
    let names = patch_names(&paths.nodes)?;
    if names.is_empty() {
        return Err(AlignFilesError::NoPatches { path: paths.nodes.clone() });
    }
    names.into_iter().map(|name| read_patch(paths, name)).collect()
}

/// The names of all node lists in a folder, ascending.
fn patch_names(folder: &Path) -> Result<Vec<String>, FileError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(FileError::at("read", folder))? {
        let name = entry.map_err(FileError::at("read", folder))?.file_name();
        let name = name.to_string_lossy();
        let Some(stem) = name.strip_suffix(".npy") else { continue };
        if !stem.starts_with('.') && !stem.ends_with(".weights") && stem != "patch_graph" {
            names.push(stem.to_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn read_patch(paths: &AlignPaths, name: String) -> Result<LocalPatch, AlignFilesError> {
    let file = format!("{name}.npy");
    let nodes = read_nodes(&paths.nodes.join(&file))?;
    let coords_path = paths.coords.join(&file);
    if !coords_path.exists() {
        return Err(AlignFilesError::MissingCoords { patch: name, path: coords_path });
    }
    let (coords, dim) = read_coords(&coords_path)?;
    let weights_path = paths.nodes.join(format!("{name}.weights.npy"));
    let patch = LocalPatch::new(name, nodes, coords, dim)?;
    if !weights_path.exists() {
        return Ok(patch);
    }
    let weights = npy::open(&weights_path).and_then(ArrayReader::floats::<f32>);
    Ok(patch.with_weights(weights.map_err(in_array(&weights_path))?.into())?)
}

fn read_nodes(path: &Path) -> Result<Buffer<u64>, AlignFilesError> {
    match npy::map::<u64>(path) {
        Ok(array) => Ok(array.values),
        Err(NpyError::Type { .. }) => Ok(read_integers(path)?.into()),
        Err(error) => Err(in_array(path)(error)),
    }
}

fn read_integers(path: &Path) -> Result<Vec<u64>, AlignFilesError> {
    npy::open(path).and_then(ArrayReader::integers::<u64>).map_err(in_array(path))
}

/// The coordinates and the number of columns; mapped if they can be used as they lie.
fn read_coords(path: &Path) -> Result<(Coords, usize), AlignFilesError> {
    let read = || {
        let reader = npy::open(path)?;
        let header = reader.header().clone();
        let [_, columns] = header.shape[..] else {
            return Err(NpyError::Shape { found: header.shape, needed: "two axes".into() });
        };
        let plain = header.dtype.kind == Kind::Float && !header.dtype.big_endian && !header.fortran_order;
        let coords = match header.dtype.size {
            4 if plain => Coords::F32(npy::map::<f32>(path)?.values),
            8 if plain => Coords::F64(npy::map::<f64>(path)?.values),
            _ => Coords::F64(reader.floats::<f64>()?.into()),
        };
        Ok((coords, columns))
    };
    read().map_err(in_array(path))
}

/// The patch edges, one pair per row.
fn read_edges(path: &Path) -> Result<Vec<[u64; 2]>, AlignFilesError> {
    let read = || {
        let reader = npy::open(path)?;
        if !matches!(reader.header().shape[..], [_, 2]) {
            let found = reader.header().shape.clone();
            return Err(NpyError::Shape { found, needed: "two columns".into() });
        }
        reader.integers::<u64>()
    };
    let values = read().map_err(in_array(path))?;
    Ok(values.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect())
}

/// The nodes of the embedding, ascending.
fn global_nodes(patches: &[LocalPatch], rows: Rows) -> Result<Vec<u64>, AlignError> {
    let nodes = centroid::all_nodes(patches);
    let gap = nodes.iter().zip(0..).position(|(&node, row)| node != row);
    match (rows, gap, nodes.last()) {
        (Rows::EveryNode, Some(gap), Some(&last)) => Err(AlignError::Uncovered { node: gap as u64, last }),
        _ => Ok(nodes),
    }
}

/// Writes everything but the diagnostics.
fn write_alignment(
    paths: &AlignPaths,
    patches: &[LocalPatch],
    nodes: &[u64],
    alignment: &Alignment,
    progress: &dyn Progress,
) -> Result<(), AlignFilesError> {
    let out = |name: &str| paths.out.join(name);
    progress.begin("embedding", nodes.len() as u64, "nodes");
    if paths.rows == Rows::Listed {
        write_array(&out("nodes.npy"), &[nodes.len()], nodes)?;
    }
    let mut spread = Vec::with_capacity(nodes.len());
    write_embeddings([&out("embedding.npy"), &out("no_trans.npy")], patches, nodes, alignment, |block| {
        progress.advance(block.spread.len() as u64);
        spread.extend(block.spread.iter().map(|&value| value as f32));
    })?;
    write_array(&out("spread.npy"), &[spread.len()], &spread)?;
    progress.end();
    Ok(write_transforms(&out("transforms.npz"), &alignment.transforms)?)
}

/// An error on the way of a stream: of the patches, or of the file.
enum StreamError {
    Align(AlignError),
    Io(io::Error),
}

impl From<io::Error> for StreamError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<AlignError> for StreamError {
    fn from(error: AlignError) -> Self {
        Self::Align(error)
    }
}

/// Writes the embedding with and without transforms.
fn write_embeddings(
    [path, unmoved_path]: [&Path; 2],
    patches: &[LocalPatch],
    nodes: &[u64],
    alignment: &Alignment,
    mut see: impl FnMut(&Block),
) -> Result<(), AlignFilesError> {
    let dim = patches[0].dim();
    let wanted = Wanted { unmoved: true, ..alignment.wanted() };
    let mut failed = None;
    let written = write_atomically(path, |sink| {
        let mut rows = RowsWriter::new(sink, dim)?;
        let unmoved_written = write_atomically(unmoved_path, |sink| {
            let mut unmoved_rows = RowsWriter::new(sink, dim)?;
            let result = centroid::stream(patches, nodes, wanted, |block| {
                see(block);
                rows.push(&block.coords)?;
                Ok(unmoved_rows.push(&block.unmoved)?)
            });
            match result {
                Ok(()) => unmoved_rows.finish(),
                Err(StreamError::Io(error)) => Err(error),
                Err(StreamError::Align(error)) => {
                    failed = Some(error.into());
                    Err(io::Error::other("the patches cannot be aligned"))
                }
            }
        });
        if let Err(error) = unmoved_written {
            failed.get_or_insert(AlignFilesError::File(error));
            return Err(io::Error::other("the other embedding cannot be written"));
        }
        rows.finish()
    });
    match failed {
        Some(error) => Err(error),
        None => Ok(written?),
    }
}

/// Writes rows in single precision.
struct RowsWriter<W> {
    writer: npy::Writer<f32, W>,
    narrow: Vec<f32>,
}

impl<W: Write + Seek> RowsWriter<W> {
    fn new(sink: W, dim: usize) -> io::Result<Self> {
        Ok(Self { writer: npy::Writer::new(sink, &[dim])?, narrow: Vec::new() })
    }

    fn push(&mut self, rows: &[f64]) -> io::Result<()> {
        self.narrow.clear();
        self.narrow.extend(rows.iter().map(|&value| value as f32));
        self.writer.push(&self.narrow)
    }

    fn finish(self) -> io::Result<()> {
        self.writer.finish().map(|_| ())
    }
}

/// Writes the transforms as an archive of arrays; the same transforms give the same bytes.
///
/// # Errors
/// [`FileError`] if the file cannot be written.
pub fn write_transforms(path: &Path, transforms: &Transforms) -> Result<(), FileError> {
    let (p, d) = (transforms.num_patches(), transforms.dim);
    let arrays: [(&str, &[usize], &[f64]); 3] = [
        ("scales", &[p], &transforms.scales),
        ("rotations", &[p, d, d], &transforms.rotations),
        ("translations", &[p, d], &transforms.translations),
    ];
    let mut archive = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
    let mut fill = || {
        for (name, shape, values) in arrays {
            let options = zip::write::SimpleFileOptions::default()
                .compression_method(zip::CompressionMethod::Stored)
                .last_modified_time(zip::DateTime::default())
                .large_file(values.len() > 1 << 28);
            archive.start_file(format!("{name}.npy"), options).map_err(io::Error::other)?;
            npy::write(&mut archive, shape, values)?;
        }
        Ok(())
    };
    fill().map_err(FileError::at("write", path))?;
    let bytes = archive.finish().map_err(|error| FileError::at("write", path)(io::Error::other(error)))?;
    write_atomically(path, |sink| sink.write_all(bytes.get_ref()))
}

/// Reads transforms back.
///
/// # Errors
/// [`AlignFilesError`] if the file is missing, or is not what [`write_transforms`] writes.
pub fn read_transforms(path: &Path) -> Result<Transforms, AlignFilesError> {
    let file = fs::File::open(path).map_err(FileError::at("read", path))?;
    let broken = |error: zip::result::ZipError| in_array(path)(NpyError::Io(io::Error::other(error)));
    let mut archive = zip::ZipArchive::new(file).map_err(broken)?;
    let scales = read_entry(&mut archive, "scales", path)?;
    let rotations = read_entry(&mut archive, "rotations", path)?;
    let translations = read_entry(&mut archive, "translations", path)?;
    let dim = translations.len() / scales.len().max(1);
    if translations.len() != scales.len() * dim || rotations.len() != scales.len() * dim * dim {
        let found = vec![scales.len(), rotations.len(), translations.len()];
        let needed = "scales p, rotations p x d x d, translations p x d".into();
        return Err(in_array(path)(NpyError::Shape { found, needed }));
    }
    Ok(Transforms { dim, scales, rotations, translations })
}

fn read_entry<R: Read + Seek>(
    archive: &mut zip::ZipArchive<R>,
    name: &str,
    path: &Path,
) -> Result<Vec<f64>, AlignFilesError> {
    let entry = archive
        .by_name(&format!("{name}.npy"))
        .map_err(|error| in_array(path)(NpyError::Io(io::Error::other(error))))?;
    ArrayReader::new(entry).and_then(ArrayReader::floats::<f64>).map_err(in_array(path))
}
