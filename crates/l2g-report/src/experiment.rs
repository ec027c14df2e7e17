//! The page of an experiment: its figure and its tables.
//!
//! Both are files of the experiment's folder. The figure is shown as an image, in which no script runs; the
//! tables are shown as the text that they are.

use std::fs;
use std::path::Path;

use local2global::run_dir::{ExperimentFolder, FileError};

use crate::ReportError;
use crate::base64::base64;
use crate::html::escaped;
use crate::page;

/// Whether a folder is that of an experiment and not of a run.
pub fn is_experiment(folder: &Path) -> bool {
    let folder = ExperimentFolder::at(folder);
    folder.figure().exists() && folder.scores().exists()
}

/// The page.
pub(crate) fn page(folder: &ExperimentFolder) -> Result<String, ReportError> {
    let read = |path: &Path| fs::read(path).map_err(FileError::at("read", path));
    let figure = base64(&read(&folder.figure())?);
    let table = read(&folder.table())?;
    let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned();
    let content = format!(
        "<section><h2>Figures</h2><figure><img class=wide alt=\"scores over dimensions\" \
         src=\"data:image/svg+xml;base64,{figure}\"></figure></section>\n\
         <section><h2>Tables</h2><pre class=tables>{}</pre></section>",
        escaped(&String::from_utf8_lossy(&table))
    );
    Ok(page::plain(&format!("Experiment {name}"), &content))
}
