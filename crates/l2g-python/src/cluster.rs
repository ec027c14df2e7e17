//! Patches on other machines: bundles out, results back. Who trains them is decided in Python.

use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use local2global::config::{Config, ConfigError};
use local2global::embed::EmbedError;
use local2global::embed::bundle::{BundleError, BundleSource, Share};
use local2global::memory::ByteSize;
use local2global::pipeline::{
    GraphSource, Pipeline, PipelineError, RunLock, Sharing, StageName, Stamp, Unstamped, check_sources,
};
use local2global::run_dir::{FileError, RunDir, write_atomically};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::Raise;
use crate::json::to_python;
use crate::settings::pairs;
use crate::work::Work;

/// The patches of a run that are to be trained elsewhere; the run is in use while this is.
#[pyclass(frozen, module = "local2global._native")]
pub(crate) struct PatchJobs {
    run: RunDir,
    config: Config,
    source: BundleSource,
    started: Instant,
    /// Gone when the work is over.
    in_use: Mutex<Option<(RunLock, Unstamped)>>,
}

/// Why work on a run could not begin.
enum OpenError {
    Config(ConfigError),
    File(FileError),
    Pipeline(PipelineError),
    Bundle(BundleError),
}

impl Raise for OpenError {
    fn raise(self) -> PyErr {
        match self {
            Self::Config(error) => error.raise(),
            Self::File(error) => error.raise(),
            Self::Pipeline(error) => error.raise(),
            Self::Bundle(error) => error.raise(),
        }
    }
}

#[pymethods]
impl PatchJobs {
    /// Takes a run folder into use, with its own settings and these of the table `[embed]`.
    #[staticmethod]
    #[pyo3(signature = (folder, options=None, memory=None, threads=None, progress=None))]
    fn open(
        py: Python<'_>,
        folder: PathBuf,
        options: Option<&Bound<'_, PyDict>>,
        memory: Option<&str>,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let pairs = options.map(|options| pairs("embed", options)).transpose()?.unwrap_or_default();
        let memory: Option<ByteSize> =
            memory.map(str::parse).transpose().map_err(|error: String| PyValueError::new_err(error))?;
        Work::new(threads, progress).run(py, |progress| {
            let run = RunDir::new(folder);
            let path = run.settings();
            let text = match path.exists() {
                true => fs::read_to_string(&path)
                    .map_err(FileError::at("read", &path))
                    .map_err(OpenError::File)?,
                false => String::new(),
            };
            let mut config = Config::new(&text, &pairs).map_err(OpenError::Config)?;
            config.memory = memory.or(config.memory);
            let lock = RunLock::take(&run, Sharing::Shared).map_err(OpenError::Pipeline)?;
            check_sources(&run, StageName::Embed).map_err(OpenError::Pipeline)?;
            let work = Stamp::take_off(&StageName::Embed.folder(&run)).map_err(OpenError::File)?;
            let mut pipeline = Pipeline::new(&run, config, GraphSource::Settings(&[]));
            pipeline.prepare_stage(StageName::Embed).map_err(OpenError::Pipeline)?;
            let config = pipeline.config;
            let embed = config.embed_within_memory();
            let source =
                BundleSource::open(&run, &embed, config.seed, progress).map_err(OpenError::Bundle)?;
            let in_use = Mutex::new(Some((lock, work)));
            Ok::<_, OpenError>(Self { run, config, source, started: Instant::now(), in_use })
        })
    }

    /// How many patches there are.
    #[getter]
    fn num_patches(&self) -> usize {
        self.source.num_patches()
    }

    /// The patches that are not there yet.
    fn waiting(&self, py: Python<'_>) -> PyResult<Vec<usize>> {
        py.detach(|| self.source.waiting(None)).map_err(Raise::raise)
    }

    /// Divides patches among about so many jobs that take equally long.
    fn share_out(&self, patches: Vec<usize>, jobs: usize) -> PyResult<Vec<Vec<usize>>> {
        let shares = self.source.share_out(&patches, jobs).map_err(Raise::raise)?;
        Ok(shares.into_iter().map(|share| share.patches).collect())
    }

    /// The memory that training some patches in one job takes, the program included.
    fn memory_bytes(&self, patches: Vec<usize>) -> PyResult<u64> {
        Ok(self.source.memory_bytes(&self.one_job(&patches)?))
    }

    /// Writes some patches into one bundle.
    fn write(&self, py: Python<'_>, patches: Vec<usize>, path: PathBuf) -> PyResult<()> {
        let job = self.one_job(&patches)?;
        py.detach(|| write_atomically(&path, |sink| self.source.write(&job, sink))).map_err(Raise::raise)
    }

    /// Takes the results that lie in a folder: which were taken, which were there, and which were refused.
    fn collect<'py>(&self, py: Python<'py>, folder: PathBuf) -> PyResult<Bound<'py, PyAny>> {
        let collected =
            Work::new(Some(1), None).run(py, |progress| self.source.collect(&folder, progress))?;
        to_python(py, &collected)
    }

    /// Lets go of the run; if all patches are there, a later run keeps them. Says whether they are.
    fn close(&self, py: Python<'_>) -> PyResult<bool> {
        let in_use = self.in_use.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((_lock, work)) = in_use else { return Ok(false) };
        if !self.waiting(py)?.is_empty() {
            return Ok(false);
        }
        let mut pipeline = Pipeline::new(&self.run, self.config.clone(), GraphSource::Settings(&[]));
        let seconds = self.started.elapsed().as_secs_f64();
        py.detach(|| pipeline.note_done(StageName::Embed, work, seconds)).map_err(Raise::raise)?;
        Ok(true)
    }
}

impl PatchJobs {
    /// Some patches as one job.
    fn one_job(&self, patches: &[usize]) -> PyResult<Share> {
        let num_patches = self.source.num_patches();
        if let Some(&index) = patches.iter().find(|&&patch| patch >= num_patches) {
            return Err(EmbedError::NoSuchIndex { index, num_patches }.raise());
        }
        Ok(self.source.as_one(patches))
    }
}
