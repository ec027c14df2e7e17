//! Single `.npy` arrays: edge indices, features, labels.

use std::io::Read;

use super::error::{Problem, ReadError};
use super::raw::{Piece, RawEdgesBuilder, RawPairs};
use super::source::{Source, array_problem};
use super::{About, Reading};
use crate::graph::Labels;
use crate::graph::labels::UNKNOWN;
use crate::npy::{ArrayBlocks, ArrayHeader, ArrayReader, NpyError};
use crate::progress::Progress;

/// Edges are handed over in pieces of this many.
const CHUNK: usize = 1 << 18;

/// An array whose header has been read.
pub(crate) type OpenArray = ArrayReader<Box<dyn Read + Send>>;

/// Reads an edge index: 2 x E, as PyTorch Geometric has it, or E x 2.
pub(crate) fn read(source: Source, reading: Reading<'_>) -> Result<About, ReadError> {
    let Reading { options, builder, progress } = reading;
    let name = source.name().to_owned();
    let at_file = |problem: Problem| problem.in_file(&name);
    let limit = options.edge_limit();
    let array = ArrayBlocks::of_file(source.into_file(limit)?)
        .and_then(|array| check_size(array.header(), limit).map(|()| array))
        .map_err(|error| at_file(array_problem(error)))?;
    match push_edges(&array, builder, progress).map_err(at_file)? {
        0 => Err(at_file(Problem::NoEdges)),
        _ => Ok(About::default()),
    }
}

/// Opens an array, and checks its length and its size.
pub(crate) fn open(source: Source, limit: u64) -> Result<OpenArray, ReadError> {
    let name = source.name().to_owned();
    let num_bytes = source.num_bytes();
    let opened = ArrayReader::new(source.into_reader()).and_then(|reader| {
        num_bytes.map_or(Ok(()), |num_bytes| reader.check_length(num_bytes))?;
        check_size(reader.header(), limit)?;
        Ok(reader)
    });
    opened.map_err(|error| array_problem(error).in_file(&name))
}

fn check_size(header: &ArrayHeader, limit: u64) -> Result<(), NpyError> {
    let bytes = header.num_values()? as u128 * header.dtype.size as u128;
    match bytes > u128::from(limit) {
        true => Err(NpyError::TooLarge { bytes, limit }),
        false => Ok(()),
    }
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

/// Hands the edges of an edge index over, block by block; returns their number. A 2 x 2 array is taken
/// as 2 x E.
pub(crate) fn push_edges(
    array: &ArrayBlocks,
    builder: &mut RawEdgesBuilder,
    progress: &dyn Progress,
) -> Result<usize, Problem> {
    let header = array.header();
    let (num_edges, rows_are_ends) = match header.shape[..] {
        [2, num_edges] => (num_edges, true),
        [num_edges, 2] => (num_edges, false),
        _ => {
            let (found, needed) = (header.shape.clone(), "2 x edges or edges x 2".into());
            return Err(NpyError::Shape { found, needed }.into());
        }
    };
    // In the file, the ends of an edge stand side by side, or all sources before all targets.
    let apart = rows_are_ends != header.fortran_order;
    for start in (0..num_edges).step_by(CHUNK) {
        let end = (start + CHUNK).min(num_edges);
        let pairs: Vec<[u64; 2]> = match apart {
            true => {
                let sources = array.integers(start..end).map_err(array_problem)?;
                let targets = array.integers(num_edges + start..num_edges + end).map_err(array_problem)?;
                sources.into_iter().zip(targets).map(|(source, target)| [source, target]).collect()
            }
            false => {
                let ends = array.integers(2 * start..2 * end).map_err(array_problem)?;
                ends.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect()
            }
        };
        if progress.is_cancelled() {
            return Err(Problem::Cancelled);
        }
        let share = Some(end as f64 / num_edges as f64);
        builder
            .push_read(Piece { pairs: RawPairs::narrowest(pairs), weights: Vec::new(), share }, progress)?;
    }
    Ok(num_edges)
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
