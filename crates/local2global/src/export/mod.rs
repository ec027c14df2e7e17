//! The global embedding in the formats of other programs.
//!
//! | format | files | read by |
//! | --- | --- | --- |
//! | `parquet` | `id` (int64 or text), `vector` (list of f32, of fixed size in Arrow) | vector stores, DuckDB, polars, pandas |
//! | `csv`, `tsv` | a header `id, x0, x1, ...`, a line per node | anything |
//! | `word2vec` | a line `nodes dim`, then `id x0 x1 ...` | gensim, fastText tools |
//! | `projector` | a folder: `vectors.tsv`, `metadata.tsv` | TensorBoard's embedding projector |
//!
//! Row `k` of `5-alignment/embedding.npy` is node `k` of `1-graph`, and leaves under the
//! name the user gave that node. Numbers are written in the shortest form that reads back
//! as the same `f32`. What a format cannot hold, such as a space in a word2vec name, is
//! refused before a file appears; nothing is replaced.
//!
//! With a [layout](crate::layout), Parquet, CSV and TSV have two more columns, `x` and `y`, for programs that draw
//! maps.
//!
//! The embedding is mapped, and rows go out block by block: memory does not grow with
//! the number of nodes, but for text ids, which are read with the graph. Cost: `O(n d)`. The same embedding gives the same bytes, on any
//! number of threads. A file appears complete or not at all.

mod error;

mod lines;

pub mod parquet;

pub mod projector;

pub mod text;

pub mod word2vec;

pub use error::ExportError;

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::graph::{Labels, NodeId, NodeIds, store};
use crate::layout::{LayoutMethod, Point, lay_out};
use crate::npy::{self, NpyError};
use crate::progress::Progress;
use crate::run_dir::RunDir;
use crate::seed::Seed;
use crate::write::Packing;

/// A format that embeddings are exported in.
///
/// To add one, write its file and a variant here; the compiler lists the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ExportFormat {
    /// A Parquet table with the columns `id` and `vector`.
    Parquet,
    /// Text separated by commas, with a header.
    Csv,
    /// Text separated by tabs, with a header.
    Tsv,
    /// The text format of word2vec.
    Word2vec,
    /// The two files of TensorBoard's embedding projector.
    Projector,
}

impl ExportFormat {
    /// All formats.
    pub const ALL: [Self; 5] = [Self::Parquet, Self::Csv, Self::Tsv, Self::Word2vec, Self::Projector];

    /// The name, as in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Word2vec => "word2vec",
            Self::Projector => "projector",
        }
    }

    /// The format the name of a file tells, as in `embedding.csv.gz`.
    ///
    /// Nothing if the ending is not known; the projector's folder has none.
    ///
    /// # Examples
    /// ```
    /// use local2global::export::ExportFormat;
    ///
    /// assert_eq!(ExportFormat::of_name("out/cora.csv.gz".as_ref()), Some(ExportFormat::Csv));
    /// assert_eq!(ExportFormat::of_name("cora.vec".as_ref()), Some(ExportFormat::Word2vec));
    /// assert_eq!(ExportFormat::of_name("cora.parquet.gz".as_ref()), None);
    /// ```
    pub fn of_name(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy().to_lowercase();
        let plain = Packing::strip(&name);
        let (_, extension) = plain.rsplit_once('.')?;
        Some(match extension {
            "csv" => Self::Csv,
            "tsv" => Self::Tsv,
            "vec" | "w2v" | "word2vec" => Self::Word2vec,
            // A table is packed inside, not as a whole.
            "parquet" | "pq" if plain == name => Self::Parquet,
            _ => return None,
        })
    }

    /// About how many bytes of memory writing an embedding of so many bytes takes, besides text ids: lines
    /// of some thousand nodes, or a group of rows of a table, as numbers and packed.
    pub fn memory_bytes(self, embedding_bytes: u64) -> u64 {
        let most = match self {
            Self::Parquet => parquet::GROUP_BYTES as u64,
            Self::Csv | Self::Tsv | Self::Word2vec | Self::Projector => 8 << 20,
        };
        3 * embedding_bytes.min(most)
    }

    /// Whether it has room for the place of each node in the plane.
    pub fn holds_layout(self) -> bool {
        matches!(self, Self::Parquet | Self::Csv | Self::Tsv)
    }

    /// Where the format goes in a run folder, unless told otherwise.
    pub fn default_path(self, run: &RunDir) -> PathBuf {
        match self {
            Self::Parquet => run.export().embedding("parquet"),
            Self::Csv => run.export().embedding("csv"),
            Self::Tsv => run.export().embedding("tsv"),
            Self::Word2vec => run.export().embedding("vec"),
            Self::Projector => run.export().projector(),
        }
    }
}

/// What is exported: a name and a row of coordinates for each node.
#[derive(Clone, Copy, Debug)]
pub struct Vectors<'a> {
    ids: &'a NodeIds,
    coordinates: &'a [f32],
    dim: usize,
    labels: Option<&'a Labels>,
    places: Option<&'a [Point]>,
}

impl<'a> Vectors<'a> {
    /// Rows of `dim` numbers, one per name, in the same order.
    ///
    /// # Errors
    /// [`ExportError::Rows`] if there are more or fewer rows than names, or rows of no
    /// numbers.
    pub fn new(ids: &'a NodeIds, coordinates: &'a [f32], dim: usize) -> Result<Self, ExportError> {
        match dim > 0 && coordinates.len() == ids.len() * dim {
            true => Ok(Self { ids, coordinates, dim, labels: None, places: None }),
            false => Err(ExportError::Rows { rows: coordinates.len() / dim.max(1), dim, nodes: ids.len() }),
        }
    }

    /// The same rows with the classes of the nodes, for formats that hold them.
    ///
    /// # Panics
    /// If there is not one row of labels per node.
    pub fn with_labels(self, labels: Option<&'a Labels>) -> Self {
        assert!(labels.is_none_or(|labels| labels.num_rows() == self.num_nodes()), "labels of all nodes");
        Self { labels, ..self }
    }

    /// The same rows with the place of each node in the plane, for formats that hold it.
    ///
    /// # Panics
    /// If there is not one place per node.
    pub fn with_places(self, places: Option<&'a [Point]>) -> Self {
        assert!(places.is_none_or(|places| places.len() == self.num_nodes()), "places of all nodes");
        Self { places, ..self }
    }

    /// The number of rows.
    pub fn num_nodes(&self) -> usize {
        self.ids.len()
    }

    /// The coordinates of a node.
    fn row(&self, node: NodeId) -> &'a [f32] {
        &self.coordinates[node.index() * self.dim..][..self.dim]
    }

    /// Refuses text names for which `problem` finds something.
    fn check_names(
        &self,
        format: &'static str,
        problem: impl Fn(&str) -> Option<&'static str>,
    ) -> Result<(), ExportError> {
        let NodeIds::Strings(names) = self.ids else { return Ok(()) };
        let found = names.iter().find_map(|name| Some((name, problem(name)?)));
        found.map_or(Ok(()), |(name, problem)| Err(ExportError::name(name, problem, format)))
    }
}

/// What was exported, and where to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Exported {
    /// The format.
    pub format: ExportFormat,
    /// The number of nodes.
    pub nodes: usize,
    /// The number of coordinates of a node.
    pub dim: usize,
    /// The files.
    pub files: Vec<PathBuf>,
    /// The size of all files.
    pub bytes: u64,
}

/// What is to be exported, and where to.
#[derive(Clone, Copy, Debug)]
pub struct ExportTask<'a> {
    /// The format.
    pub format: ExportFormat,
    /// How nodes are put into the plane, if their places are wanted too.
    pub layout: Option<LayoutMethod>,
    /// The file, or for the projector the folder.
    pub out: &'a Path,
}

/// Exports the global embedding of a run folder to a file, or, for the projector, a folder.
///
/// This is what `l2g export` does, and `l2g run --export` after the last stage, with
/// [`ExportFormat::default_path`] for `out`.
///
/// # Errors
/// [`ExportError`] if there is no embedding, it does not fit the graph, the format cannot
/// hold it, or writing fails.
pub fn export_run(
    run: &RunDir,
    task: &ExportTask<'_>,
    progress: &dyn Progress,
) -> Result<Exported, ExportError> {
    let &ExportTask { format, layout, out } = task;
    if layout.is_some() && !format.holds_layout() {
        return Err(ExportError::NoLayout { format: format.name() });
    }
    let path = run.alignment().embedding();
    if !path.exists() {
        return Err(ExportError::NoEmbedding { path });
    }
    let (graph, _) = store::open(&run.graph())?;
    let unreadable = |source: NpyError| ExportError::Array { path: path.clone(), source };
    let embedding = npy::map::<f32>(&path).map_err(unreadable)?;
    let (rows, dim) = embedding.rows_and_columns().map_err(unreadable)?;
    if rows != graph.num_nodes() {
        return Err(ExportError::Rows { rows, dim, nodes: graph.num_nodes() });
    }
    let vectors = Vectors::new(graph.ids(), &embedding.values, dim)?.with_labels(graph.labels());
    let lay_out = |method| lay_out(&embedding.values, dim, method, Seed(0), progress);
    let places = layout.map(lay_out).transpose()?;
    export(&vectors.with_places(places.as_deref()), format, out, progress)
}

/// Exports vectors to a file, or, for the projector, a folder.
///
/// # Errors
/// [`ExportError`] if the format cannot hold the names, or writing fails.
///
/// # Examples
/// ```
/// use local2global::export::{ExportFormat, Vectors, export};
/// use local2global::graph::NodeIds;
/// use local2global::progress::Silent;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("two.csv");
/// let ids = NodeIds::Strings(["ann", "bob, jr"].into_iter().collect());
/// let vectors = Vectors::new(&ids, &[0.5, -1.0, 2.0, 1e-9], 2)?;
/// export(&vectors, ExportFormat::Csv, &path, &Silent)?;
/// assert_eq!(std::fs::read_to_string(&path)?, "id,x0,x1\nann,0.5,-1.0\n\"bob, jr\",2.0,1e-9\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn export(
    vectors: &Vectors<'_>,
    format: ExportFormat,
    out: &Path,
    progress: &dyn Progress,
) -> Result<Exported, ExportError> {
    progress.begin("export", vectors.num_nodes() as u64, "nodes");
    let files = match format {
        ExportFormat::Parquet => parquet::write(vectors, out, progress)?,
        ExportFormat::Csv => text::write(vectors, b',', out, progress)?,
        ExportFormat::Tsv => text::write(vectors, b'\t', out, progress)?,
        ExportFormat::Word2vec => word2vec::write(vectors, out, progress)?,
        ExportFormat::Projector => projector::write(vectors, out, progress)?,
    };
    progress.end();
    let bytes = files.iter().filter_map(|file| Some(fs::metadata(file).ok()?.len())).sum();
    Ok(Exported { format, nodes: vectors.num_nodes(), dim: vectors.dim, files, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;

    #[test]
    fn rows_that_do_not_fit_are_refused() {
        let error = Vectors::new(&NodeIds::Range(3), &[1.0, 2.0], 1).unwrap_err();
        assert_eq!(error.to_string(), "embedding has 2 rows of 1 numbers, but the graph has 3 nodes");
        assert!(Vectors::new(&NodeIds::Range(0), &[], 0).is_err());
    }

    #[test]
    fn every_format_has_a_place_that_tells_it() {
        let run = RunDir::new("r");
        for format in ExportFormat::ALL {
            let told = ExportFormat::of_name(&format.default_path(&run));
            assert_eq!(told, (format != ExportFormat::Projector).then_some(format));
        }
    }

    #[test]
    fn formats_without_room_for_places_are_named() {
        let run = RunDir::new("r");
        let task = ExportTask {
            format: ExportFormat::Word2vec,
            layout: Some(LayoutMethod::Pca),
            out: "a.vec".as_ref(),
        };
        let error = export_run(&run, &task, &Silent).unwrap_err();
        assert_eq!(error.to_string(), "word2vec has no columns for a layout; parquet, csv and tsv have");
    }

    #[test]
    fn a_run_without_an_embedding_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::new(folder.path());
        let out = ExportFormat::Csv.default_path(&run);
        let task = ExportTask { format: ExportFormat::Csv, layout: None, out: &out };
        let error = export_run(&run, &task, &Silent).unwrap_err();
        assert!(matches!(error, ExportError::NoEmbedding { .. }), "{error}");
        assert!(!run.export().exists());
    }
}
