//! Single `.npy` arrays: edge indices, features, labels.

use std::io::Read;

use super::Input;
use super::error::{Problem, ReadError};
use super::raw::{RawEdges, RawEdgesBuilder, RawPairs};
use super::source::{Source, array_problem};
use crate::graph::Labels;
use crate::graph::labels::UNKNOWN;
use crate::npy::{ArrayReader, NpyError};

/// Edges are handed over in pieces of this many.
const CHUNK: usize = 1 << 20;

/// An array whose header has been read.
pub(crate) type OpenArray = ArrayReader<Box<dyn Read + Send>>;

/// Reads an edge index: 2 x E, as PyTorch Geometric has it, or E x 2.
pub(crate) fn read(source: Source, limit: u64) -> Result<Input, ReadError> {
    let name = source.name().to_owned();
    let edges = with_reader(source, limit, edge_pairs)?;
    match edges.len() {
        0 => Err(Problem::NoEdges.in_file(&name)),
        _ => Ok(Input::of_edges(edges)),
    }
}

/// Opens an array, and checks its length and its size.
pub(crate) fn open(source: Source, limit: u64) -> Result<OpenArray, ReadError> {
    let name = source.name().to_owned();
    let num_bytes = source.num_bytes();
    let opened = ArrayReader::new(source.into_reader()).and_then(|reader| {
        num_bytes.map_or(Ok(()), |num_bytes| reader.check_length(num_bytes))?;
        let bytes = reader.header().num_values()? as u128 * reader.header().dtype.size as u128;
        match bytes > u128::from(limit) {
            true => Err(NpyError::TooLarge { bytes, limit }),
            false => Ok(reader),
        }
    });
    opened.map_err(|error| array_problem(error).in_file(&name))
}

/// Opens an array and reads it.
pub(crate) fn with_reader<T>(
    source: Source,
    limit: u64,
    convert: impl FnOnce(OpenArray) -> Result<T, NpyError>,
) -> Result<T, ReadError> {
    let name = source.name().to_owned();
    convert(open(source, limit)?).map_err(|error| array_problem(error).in_file(&name))
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
        let pushed = builder.push(wrap((start..end).map(pair).collect()), Vec::new());
        pushed.expect("without a limit, edges stay in memory");
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
            match classes.iter().position(|&class| class < UNKNOWN) {
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
