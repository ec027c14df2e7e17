//! Stage 5: local coordinates -> one frame.
//!
//! Node lists and coordinates are used where they lie; the embedding is written straight
//! into an array of the caller.

use std::time::Instant;

use local2global::align::centroid::{self, Block, Combination, Wanted};
use local2global::align::{AlignConfig, AlignError, LocalPatch, Overlap, diagnose, overlap};
use local2global::progress::Progress;
use numpy::{
    Element, PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray2, PyReadwriteArray2,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::arrays::{lend, lend_coordinates, matrix};
use crate::errors::{Raise, class};
use crate::json::to_python;
use crate::settings::Settings;
use crate::work::Work;

/// One patch as Python has it: name, nodes, coordinates, and perhaps node weights.
type PatchArrays<'py> =
    (String, Bound<'py, PyArray1<u64>>, Bound<'py, PyAny>, Option<Bound<'py, PyArray1<f32>>>);

/// How all patches lie in the common frame.
#[pyclass(frozen, module = "local2global._native")]
pub(crate) struct Alignment {
    patches: Vec<LocalPatch>,
    alignment: local2global::align::Alignment,
    config: AlignConfig,
    nodes: Vec<u64>,
    seconds: f64,
}

/// Patches that have been checked, before they are aligned.
struct Problem<'a> {
    patches: &'a [LocalPatch],
    edges: Option<Vec<[u64; 2]>>,
    min_overlap: Option<usize>,
}

/// Finds the motion of every patch into one common frame.
#[pyfunction]
#[pyo3(signature = (patches, edges, min_overlap, settings, threads=None, progress=None))]
pub(crate) fn align(
    py: Python<'_>,
    patches: Vec<PatchArrays<'_>>,
    edges: Option<PyReadonlyArray2<'_, u64>>,
    min_overlap: Option<usize>,
    settings: &Settings,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Alignment> {
    let patches: Vec<LocalPatch> = patches.into_iter().map(local_patch).collect::<PyResult<_>>()?;
    let edges = edges.map(|edges| edges.as_array().rows().into_iter().map(|row| [row[0], row[1]]).collect());
    let config = &settings.config;
    let problem = Problem { patches: &patches, edges, min_overlap };
    let (alignment, nodes, seconds) = Work::new(threads, progress).run(py, |progress| {
        let started = Instant::now();
        let overlaps = problem.overlaps(progress)?;
        let (settings, seed) = (&config.align, config.seed);
        let alignment = local2global::align::align_overlaps(&patches, overlaps, settings, seed, progress)
            .map_err(Raise::raise)?;
        let nodes = centroid::all_nodes(&patches);
        Ok::<_, PyErr>((alignment, nodes, started.elapsed().as_secs_f64()))
    })?;
    Ok(Alignment { patches, alignment, config: config.align.clone(), nodes, seconds })
}

fn local_patch((name, nodes, coordinates, weights): PatchArrays<'_>) -> PyResult<LocalPatch> {
    let (coords, dim) = lend_coordinates(&coordinates)?;
    let patch = LocalPatch::new(name, lend(&nodes)?, coords, dim).map_err(Raise::raise)?;
    match weights {
        None => Ok(patch),
        Some(weights) => patch.with_weights(lend(&weights)?).map_err(Raise::raise),
    }
}

impl Problem<'_> {
    /// The overlaps to use: those of the given edges, or all that are large enough.
    fn overlaps(&self, progress: &dyn Progress) -> PyResult<Vec<Overlap>> {
        progress.begin("overlaps", 0, "edges");
        let least = self.min_overlap.unwrap_or(0);
        let overlaps = match &self.edges {
            None => {
                let mut overlaps = overlap::of_all_pairs(self.patches);
                overlaps.retain(|overlap| overlap.len() >= least);
                overlaps
            }
            Some(edges) => {
                let overlaps = overlap::of_edges(self.patches, edges).map_err(Raise::raise)?;
                match overlaps.iter().find(|overlap| overlap.len() < least) {
                    None => overlaps,
                    Some(small) => return Err(self.too_small(small, least)),
                }
            }
        };
        progress.end();
        Ok(overlaps)
    }

    fn too_small(&self, overlap: &Overlap, least: usize) -> PyErr {
        let name = |patch: u32| self.patches[patch as usize].name();
        class::AlignError::new_err(format!(
            "patches `{}` and `{}` share {} nodes, but min_overlap is {least}",
            name(overlap.i),
            name(overlap.j),
            overlap.len()
        ))
    }
}

#[pymethods]
impl Alignment {
    /// One positive number per patch.
    #[getter]
    fn scales<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.alignment.transforms.scales)
    }

    /// One orthogonal matrix per patch: `aligned = scale * X @ rotation + translation`.
    #[getter]
    fn rotations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let transforms = &self.alignment.transforms;
        let shape = [transforms.num_patches(), transforms.dim, transforms.dim];
        PyArray1::from_slice(py, &transforms.rotations).reshape(shape)
    }

    /// One row per patch.
    #[getter]
    fn translations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let transforms = &self.alignment.transforms;
        matrix(py, transforms.translations.clone(), transforms.dim)
    }

    /// The nodes of the embedding, ascending.
    #[getter]
    fn nodes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        PyArray1::from_slice(py, &self.nodes)
    }

    /// The number of nodes of the embedding.
    #[getter]
    fn num_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// The number of coordinates.
    #[getter]
    fn dim(&self) -> usize {
        self.alignment.transforms.dim
    }

    /// How long the library worked to find the motions.
    #[getter]
    fn seconds(&self) -> f64 {
        self.seconds
    }

    /// The pairs of patches that were used, one a row.
    #[getter]
    fn edges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let pairs = self.alignment.overlaps.iter().flat_map(|overlap| [overlap.i, overlap.j]);
        matrix(py, pairs.map(i64::from).collect(), 2)
    }

    /// Measures how well the patches fit.
    #[pyo3(signature = (threads=None))]
    fn diagnostics<'py>(&self, py: Python<'py>, threads: Option<usize>) -> PyResult<Bound<'py, PyAny>> {
        let work = Work::new(threads, None);
        let found = work.run(py, |_| diagnose(&self.patches, &self.alignment, &self.config))?;
        to_python(py, &found)
    }

    /// Writes the row of each node into `out`, an array of float32 or float64; without
    /// `transform`, the centre of the copies as they were. Returns the seconds it took.
    #[pyo3(signature = (out, transform=true, threads=None, progress=None))]
    fn embedding(
        &self,
        py: Python<'_>,
        out: &Bound<'_, PyAny>,
        transform: bool,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<f64> {
        let work = Work::new(threads, progress);
        if let Ok(out) = out.cast::<PyArray2<f32>>() {
            return self.write_into(py, out.try_readwrite()?, transform, &work, |value| value as f32);
        }
        match out.cast::<PyArray2<f64>>() {
            Ok(out) => self.write_into(py, out.try_readwrite()?, transform, &work, |value| value),
            Err(_) => Err(PyTypeError::new_err("`out` must be an array of float32 or float64, two axes")),
        }
    }
}

impl Alignment {
    fn write_into<T: Element + Send>(
        &self,
        py: Python<'_>,
        mut out: PyReadwriteArray2<'_, T>,
        transform: bool,
        work: &Work,
        narrow: impl Fn(f64) -> T + Sync,
    ) -> PyResult<f64> {
        let needed = [self.nodes.len(), self.dim()];
        if out.shape() != needed || !out.is_c_contiguous() {
            let message = format!("`out` has shape {:?}, needed {needed:?} in C order", out.shape());
            return Err(PyValueError::new_err(message));
        }
        let mut rest = out.as_slice_mut()?;
        work.run(py, |progress| {
            let started = Instant::now();
            progress.begin("embedding", self.nodes.len() as u64, "nodes");
            self.stream(transform, |block| {
                let (rows, after) = std::mem::take(&mut rest).split_at_mut(block.coords.len());
                rows.iter_mut().zip(&block.coords).for_each(|(row, &value)| *row = narrow(value));
                rest = after;
                progress.advance(block.spread.len() as u64);
                Ok(())
            })?;
            progress.end();
            Ok::<_, AlignError>(started.elapsed().as_secs_f64())
        })
    }

    fn stream(
        &self,
        transform: bool,
        sink: impl FnMut(&mut Block) -> Result<(), AlignError>,
    ) -> Result<(), AlignError> {
        if transform {
            return self.alignment.stream(&self.patches, &self.nodes, sink);
        }
        let combination = Combination { trust: None, ..self.alignment.combination() };
        let plain = Wanted { transforms: None, combination, unmoved: false };
        centroid::stream(&self.patches, &self.nodes, plain, sink)
    }
}
