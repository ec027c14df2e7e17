//! Settings: a dictionary of tables, as in `run.toml`.

use local2global::config::Config;
use local2global::seed::Seed;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};
use toml::{Table, Value};

use crate::errors::{Raise, caught};
use crate::json::to_python;

/// All settings of a run, checked, defaults filled in.
#[pyclass(frozen, module = "local2global._native")]
pub(crate) struct Settings {
    pub(crate) config: Config,
}

#[pymethods]
impl Settings {
    /// Settings from tables such as `{"embed": {"dim": 16}}`; what is None is left out.
    #[new]
    #[pyo3(signature = (tables=None, seed=0))]
    fn new(tables: Option<&Bound<'_, PyDict>>, seed: u64) -> PyResult<Self> {
        let table = tables.map(table).transpose()?.unwrap_or_default();
        let mut config = caught(|| Config::new(&table.to_string(), &[]).map_err(Raise::raise))?;
        config.seed = Seed(seed);
        Ok(Self { config })
    }

    /// The settings as TOML, as `run.toml` has them.
    fn to_toml(&self) -> String {
        self.config.to_toml()
    }

    /// The settings as a dictionary of tables.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.config)
    }
}

/// The entries of one table as `table.key=value`; what is None is left out.
pub(crate) fn pairs(name: &str, dictionary: &Bound<'_, PyDict>) -> PyResult<Vec<String>> {
    let entries = table(dictionary)?;
    Ok(entries.iter().map(|(key, value)| format!("{name}.{key}={value}")).collect())
}

fn table(dictionary: &Bound<'_, PyDict>) -> PyResult<Table> {
    let mut table = Table::new();
    for (key, item) in dictionary {
        if !item.is_none() {
            table.insert(key.extract()?, value(&item)?);
        }
    }
    Ok(table)
}

fn value(item: &Bound<'_, PyAny>) -> PyResult<Value> {
    if item.is_instance_of::<PyBool>() {
        return Ok(Value::Boolean(item.extract()?));
    }
    if item.is_instance_of::<PyString>() {
        return Ok(Value::String(item.extract()?));
    }
    if item.is_instance_of::<PyInt>() {
        return Ok(Value::Integer(item.extract()?));
    }
    if item.is_instance_of::<PyFloat>() {
        return Ok(Value::Float(item.extract()?));
    }
    if let Ok(dictionary) = item.cast::<PyDict>() {
        return Ok(Value::Table(table(dictionary)?));
    }
    foreign_value(item)
}

/// What is no plain value itself, but stands for one: a path, a NumPy number, a sequence.
fn foreign_value(item: &Bound<'_, PyAny>) -> PyResult<Value> {
    if item.hasattr("__fspath__")? {
        return Ok(Value::String(item.call_method0("__fspath__")?.extract()?));
    }
    if item.hasattr("__index__")? {
        return Ok(Value::Integer(item.extract()?));
    }
    if item.hasattr("__float__")? {
        return Ok(Value::Float(item.extract()?));
    }
    match item.try_iter() {
        Ok(items) => Ok(Value::Array(items.map(|item| value(&item?)).collect::<PyResult<_>>()?)),
        Err(_) => {
            let name = item.get_type().name()?;
            Err(PyTypeError::new_err(format!("a setting cannot be a `{name}`")))
        }
    }
}
