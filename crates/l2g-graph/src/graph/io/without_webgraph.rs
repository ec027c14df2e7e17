//! What stands in for WebGraph where the feature `webgraph` is left out: a sentence.

use super::error::{Problem, ReadError};
use super::source::Source;
use super::{About, Reading};

/// Refuses a BvGraph.
pub(crate) fn read(source: Source, _reading: Reading<'_>) -> Result<About, ReadError> {
    Err(Problem::WithoutWebGraph.in_file(source.name()))
}
