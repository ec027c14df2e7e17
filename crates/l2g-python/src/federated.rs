//! Sites that keep their graphs: shares, the common frame, and the way into it.

use std::path::PathBuf;

use local2global::align::Coords;
use local2global::federated::files::{
    read_frame, read_secret, read_share, write_frame, write_secret, write_share,
};
use local2global::federated::{
    self as library, FederatedError, KeptSecret, Key, KnownIds, Privacy, Shares, SiteRows, share_rows,
};
use local2global::graph::NodeIds;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

use crate::arrays::{lend_coordinates, matrix};
use crate::errors::{Raise, caught, class};
use crate::json::to_python;
use crate::settings::Settings;
use crate::work::Work;

/// What leaves a site.
#[pyclass(frozen, module = "local2global._native")]
pub(crate) struct Share {
    share: library::Share,
}

/// What stays at a site.
#[pyclass(frozen, module = "local2global._native")]
pub(crate) struct Secret {
    kept: KeptSecret,
}

/// The common frame of all sites.
#[pyclass(frozen, module = "local2global._native")]
pub(crate) struct Frame {
    frame: library::Frame,
}

#[pymethods]
impl Share {
    /// Reads a share from a folder.
    #[staticmethod]
    fn load(folder: PathBuf) -> PyResult<Self> {
        Ok(Self { share: caught(|| read_share(&folder).map_err(Raise::raise))? })
    }

    /// Writes it into a folder of its own.
    fn save(&self, folder: PathBuf) -> PyResult<()> {
        caught(|| write_share(&folder, &self.share).map_err(Raise::raise))
    }

    /// What it is, as `share.json` has it.
    fn record<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.share.record)
    }

    /// The blinded ids, 32 bytes a row.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u8>>> {
        matrix(py, self.share.ids.as_flattened().to_vec(), 32)
    }

    /// The coordinates of each; no columns in the first round.
    #[getter]
    fn coordinates<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let columns = self.share.record.dim.unwrap_or(0);
        PyArray1::from_slice(py, &self.share.coords).reshape([self.share.ids.len(), columns])
    }
}

#[pymethods]
impl Secret {
    /// Reads a secret from a file.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        Ok(Self { kept: caught(|| read_secret(&path).map_err(Raise::raise))? })
    }

    /// Writes it into a file that only its owner may read.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        caught(|| write_secret(&path, &self.kept).map_err(Raise::raise))
    }

    /// The site that it belongs to.
    #[getter]
    fn site(&self) -> &str {
        &self.kept.site
    }
}

#[pymethods]
impl Frame {
    /// Reads a frame from a folder.
    #[staticmethod]
    fn load(folder: PathBuf) -> PyResult<Self> {
        Ok(Self { frame: caught(|| read_frame(&folder).map_err(Raise::raise))? })
    }

    /// Writes it into a folder.
    fn save(&self, folder: PathBuf) -> PyResult<()> {
        caught(|| write_frame(&folder, &self.frame).map_err(Raise::raise))
    }

    /// What it is, as `frame.json` has it.
    fn record<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.frame.record)
    }

    /// How well the sites fit each other, as `alignment.json` has it.
    fn diagnostics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.frame.diagnostics)
    }

    /// The frame with one site more, the others held fixed.
    fn add(&self, py: Python<'_>, shares: Vec<PyRef<'_, Share>>, site: String) -> PyResult<Self> {
        let shares = shares.iter().map(|share| share.share.clone()).collect();
        let frame = &self.frame;
        let work = Work::new(None, None);
        let added =
            work.run(py, |_| frame.add(&Shares::new(shares)?, &site, None).map(|(frame, _)| frame))?;
        Ok(Self { frame: added })
    }
}

/// The first round: the blinded ids of all nodes of a site.
#[pyfunction]
pub(crate) fn share_ids(py: Python<'_>, site: String, ids: Vec<String>, key: Vec<u8>) -> PyResult<Share> {
    let ids = NodeIds::Strings(ids.iter().collect());
    let share = Work::new(None, None).run(py, |_| library::share_ids(&site, &ids, &Key::new(&key)?))?;
    Ok(Share { share })
}

/// The name of a site and the ids of its nodes.
type NamedIds = (String, Vec<String>);

/// The first shares of other sites, and plain ids that may be shared.
type Others<'py> = (Vec<PyRef<'py, Share>>, Vec<String>);

/// The second round: the rows of nodes that others may hold too, and what stays at the site. An earlier
/// secret is used again; without one, a new one is drawn.
#[pyfunction]
#[pyo3(signature = (site, coordinates, key, others, privacy=None, secret=None))]
pub(crate) fn share_coordinates(
    py: Python<'_>,
    site: NamedIds,
    coordinates: &Bound<'_, PyAny>,
    key: Vec<u8>,
    others: Others<'_>,
    privacy: Option<(f64, f64, f64)>,
    secret: Option<PyRef<'_, Secret>>,
) -> PyResult<(Share, Secret)> {
    let site = Site::new(site, coordinates)?;
    let firsts: Vec<library::Share> = others.0.iter().map(|share| share.share.clone()).collect();
    let listed = NodeIds::Strings(others.1.iter().collect());
    let privacy = privacy.map(|(epsilon, delta, clip)| Privacy { epsilon, delta, clip });
    let earlier = secret.map(|secret| site.own(&secret.kept)).transpose()?;
    let shared = Work::new(None, None).run(py, |_| {
        let key = Key::new(&key)?;
        let mut known: Vec<KnownIds> =
            firsts.into_iter().map(KnownIds::of_share).collect::<Result<_, _>>()?;
        if !listed.is_empty() {
            known.push(KnownIds::of_list("list", &listed, &key)?);
        }
        let find_secret = |length| earlier.map_or_else(|| library::Secret::draw(site.dim, length), Ok);
        share_rows(&site.rows(), &key, &known, privacy.as_ref(), find_secret)
    })?;
    Ok((Share { share: shared.share }, Secret { kept: shared.kept }))
}

/// The motions of all sites, from shares alone.
#[pyfunction]
#[pyo3(signature = (shares, settings, threads=None, progress=None))]
pub(crate) fn align_shares(
    py: Python<'_>,
    shares: Vec<PyRef<'_, Share>>,
    settings: &Settings,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Frame> {
    let shares = shares.iter().map(|share| share.share.clone()).collect();
    let config = &settings.config;
    let frame = Work::new(threads, progress).run(py, |progress| {
        library::Frame::align(&Shares::new(shares)?, &config.align, config.seed, progress)
    })?;
    Ok(Frame { frame })
}

/// The rows of a site in the common frame.
#[pyfunction]
pub(crate) fn join_coordinates<'py>(
    py: Python<'py>,
    site: NamedIds,
    coordinates: &Bound<'py, PyAny>,
    secret: &Secret,
    frame: &Frame,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let site = Site::new(site, coordinates)?;
    let joined = Work::new(None, None).run(py, |_| {
        let mut joined = Vec::new();
        library::join::<FederatedError>(&site.rows(), &secret.kept, &frame.frame, |rows| {
            joined.extend_from_slice(rows);
            Ok(())
        })?;
        Ok::<_, FederatedError>(joined)
    })?;
    matrix(py, joined, site.dim)
}

/// A site as the library sees it.
struct Site {
    name: String,
    ids: NodeIds,
    coords: Coords,
    dim: usize,
}

impl Site {
    fn new((name, ids): NamedIds, coordinates: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (coords, dim) = lend_coordinates(coordinates)?;
        Ok(Self { name, ids: NodeIds::Strings(ids.iter().collect()), coords, dim })
    }

    /// An earlier secret, which must be of this site and dimension.
    fn own(&self, kept: &KeptSecret) -> PyResult<library::Secret> {
        if kept.site == self.name && kept.secret.dim() == self.dim {
            return Ok(kept.secret.clone());
        }
        Err(class::FederatedError::new_err(format!(
            "the secret is of site `{}` in {} dimensions, and this is site `{}` in {} dimensions",
            kept.site,
            kept.secret.dim(),
            self.name,
            self.dim
        )))
    }

    fn rows(&self) -> SiteRows<'_> {
        SiteRows { site: &self.name, ids: &self.ids, coords: &self.coords, dim: self.dim }
    }
}
