//! Edge lists as text: one edge a line, with any of the usual separators.

pub(crate) mod layout;

pub(crate) mod parse;

use super::error::{Problem, ReadError};
use super::lines::{LineBlocks, at_line, for_each_block};
use super::raw::{Piece, RawEdgesBuilder};
use super::source::Source;
use crate::progress::Progress;
use layout::{LayoutOptions, detect, is_comment};
use parse::parse_block;

/// Reads an edge list, and says which column its weights come from.
pub(crate) fn read_edge_list(
    source: Source,
    options: &LayoutOptions,
    builder: &mut RawEdgesBuilder,
    progress: &dyn Progress,
) -> Result<Option<String>, ReadError> {
    let name = source.name().to_owned();
    let no_edges = || Problem::NoEdges.in_file(&name);
    let mut blocks = LineBlocks::new(source)?;
    let start = blocks.first_data(is_comment)?.ok_or_else(no_edges)?;
    if memchr::memchr(0, &start.bytes).is_some() {
        return Err(Problem::NotText.in_file(&name));
    }
    let layout = detect(&start, options)
        .map_err(|(line, problem)| at_line(&name, start.first_line + line, problem))?;
    blocks.put_back(start);
    let mut num_edges = 0;
    let parse = |block: &_| parse_block(block, &layout);
    for_each_block(blocks, progress, parse, |parsed, share| {
        num_edges += parsed.pairs.len();
        let piece = Piece { pairs: parsed.pairs, weights: parsed.weights, share };
        builder.push_read(piece, progress).map_err(|problem| problem.in_file(&name))
    })?;
    match num_edges {
        0 => Err(no_edges()),
        _ => Ok(layout.weights_from),
    }
}
