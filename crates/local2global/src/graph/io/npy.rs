//! Single `.npy` arrays: edge indices, features, labels.

use std::io::Read;
use std::path::Path;

use super::Input;
use super::error::{Problem, ReadError};
use super::npz::check_class;
use super::raw::{RawEdges, RawEdgesBuilder, RawPairs};
use super::source::open_file;
use crate::graph::Labels;
use crate::npy::{ArrayReader, NpyError};

/// Edges are handed over in pieces of this many.
const CHUNK: usize = 1 << 20;

/// Reads an edge index: 2 x E, as PyTorch Geometric has it, or E x 2.
pub(crate) fn read(path: &Path, limit: u64) -> Result<Input, ReadError> {
    let edges = with_reader(path, limit, edge_pairs)?;
    match edges.len() {
        0 => Err(Problem::NoEdges.in_file(path)),
        _ => Ok(Input { edges, num_nodes: None, ids: None, features: None, labels: None }),
    }
}

/// Opens an array, checks its length and its size, and reads it.
pub(crate) fn with_reader<T>(
    path: &Path,
    limit: u64,
    convert: impl FnOnce(ArrayReader<std::io::BufReader<std::fs::File>>) -> Result<T, NpyError>,
) -> Result<T, ReadError> {
    open_file(path)?;
    let checked = crate::npy::open(path).and_then(|reader| {
        let bytes = reader.header().num_values()? as u128 * reader.header().dtype.size as u128;
        match bytes > u128::from(limit) {
            true => Err(NpyError::TooLarge { bytes, limit }),
            false => convert(reader),
        }
    });
    checked.map_err(|error| match error {
        NpyError::Io(error) => Problem::Io(error).in_file(path),
        error => Problem::Array(error).in_file(path),
    })
}

/// The edges of an edge index. A 2 x 2 array is taken as 2 x E.
pub(crate) fn edge_pairs<R: Read>(reader: ArrayReader<R>) -> Result<RawEdges, NpyError> {
    let shape = reader.header().shape.clone();
    let by_column = match shape[..] {
        [2, _] => true,
        [_, 2] => false,
        _ => return Err(NpyError::Shape { found: shape, needed: "2 x edges or edges x 2".into() }),
    };
    // Narrow types are read narrow; wide ones almost always hold small numbers.
    match reader.header().dtype.size {
        ..=4 => Ok(pairs_of(&reader.integers::<u32>()?, by_column, RawPairs::Narrow)),
        _ => {
            let values = reader.integers::<u64>()?;
            match values.iter().all(|&id| id <= u64::from(u32::MAX)) {
                true => Ok(pairs_of(&values, by_column, |pairs: Vec<[u64; 2]>| {
                    RawPairs::Narrow(pairs.into_iter().map(|pair| pair.map(|id| id as u32)).collect())
                })),
                false => Ok(pairs_of(&values, by_column, RawPairs::Wide)),
            }
        }
    }
}

fn pairs_of<I: Copy>(values: &[I], by_column: bool, wrap: impl Fn(Vec<[I; 2]>) -> RawPairs) -> RawEdges {
    let num_edges = values.len() / 2;
    let pair = |edge: usize| match by_column {
        true => [values[edge], values[num_edges + edge]],
        false => [values[2 * edge], values[2 * edge + 1]],
    };
    let mut builder = RawEdgesBuilder::default();
    for start in (0..num_edges).step_by(CHUNK) {
        let end = (start + CHUNK).min(num_edges);
        builder.push(wrap((start..end).map(pair).collect()), Vec::new());
    }
    builder.finish()
}

/// Labels: one class number per node, negative where unknown, or a row of zeros and
/// ones per node.
pub(crate) fn labels<R: Read>(reader: ArrayReader<R>, class_names: Vec<String>) -> Result<Labels, NpyError> {
    let shape = reader.header().shape.clone();
    match shape[..] {
        [_] | [_, 1] => {
            let classes: Vec<i32> = reader.integers()?;
            match classes.iter().position(|&class| !check_class(class)) {
                None => Ok(Labels::single(classes.into(), class_names)),
                Some(position) => Err(NpyError::Value {
                    value: classes[position].to_string(),
                    position,
                    problem: "is not a class; -1 means unknown",
                }),
            }
        }
        [_, num_classes] if num_classes > 0 => {
            let indicators: Vec<u8> = reader.integers()?;
            match indicators.iter().position(|&indicator| indicator > 1) {
                None => Ok(Labels::multi(indicators.into(), num_classes, class_names)),
                Some(position) => Err(NpyError::Value {
                    value: indicators[position].to_string(),
                    position,
                    problem: "is neither 0 nor 1",
                }),
            }
        }
        _ => Err(NpyError::Shape { found: shape, needed: "one axis, or nodes x classes".into() }),
    }
}
