//! WebGraph's compressed graphs: `NAME.graph`, with `NAME.properties` beside it.
//!
//! A BvGraph is a stream of bits with one list of successors a node, gaps and differences to earlier lists
//! in place of numbers. Lists are decoded one after the other, from the mapped file, by the crate of the
//! format's authors, and handed over in pieces. Neither offsets (`.offsets`, `.ef`) nor memory for more
//! than one piece are needed. Nodes are numbers already, so those without edges count too.
//!
//! Source: Boldi, Vigna, "The WebGraph framework I: compression techniques", WWW 2004.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use dsi_bitstream::dispatch::factory::CodesReaderFactoryHelper;
use dsi_bitstream::traits::{BE, Endianness, LE};
use lender::Lender;
use webgraph::prelude::{BvGraphSeq, MmapHelper, SequentialLabeling, get_endianness};

use super::error::{Problem, ReadError};
use super::raw::{Piece, RawEdgesBuilder, RawPairs};
use super::source::Source;
use super::{About, Reading};
use crate::progress::Progress;

/// Edges are handed over in pieces of about this many.
const CHUNK: usize = 1 << 18;

/// Reads a BvGraph.
pub(crate) fn read(source: Source, reading: Reading<'_>) -> Result<About, ReadError> {
    let Reading { builder, progress, .. } = reading;
    let path = source.name().to_owned();
    let at_file = |problem: Problem| problem.in_file(&path);
    if source.is_stream() {
        return Err(at_file(Problem::Inconsistent("a pipe has no `.properties` beside it".into())));
    }
    let properties = path.with_extension("properties");
    if !properties.is_file() {
        return Err(Problem::Missing.in_file(&properties));
    }
    drop(source);
    let decode = || match get_endianness(&path).map_err(damaged)?.as_str() {
        "little" => decode::<LE>(&path, builder, progress),
        _ => decode::<BE>(&path, builder, progress),
    };
    // The decoder trusts what it reads, and panics where that makes no sense.
    let decoded = catch_unwind(AssertUnwindSafe(decode));
    let num_nodes = decoded.unwrap_or_else(|_| Err(Problem::Damaged("its bits make no sense".into())));
    Ok(About { num_nodes: Some(num_nodes.map_err(at_file)?), ..About::default() })
}

/// Hands all edges over; gives the number of nodes.
fn decode<E: Endianness>(
    path: &Path,
    builder: &mut RawEdgesBuilder,
    progress: &dyn Progress,
) -> Result<usize, Problem>
where
    MmapHelper<u32>: CodesReaderFactoryHelper<E>,
{
    let graph = BvGraphSeq::with_basename(path).endianness::<E>().load().map_err(damaged)?;
    let (num_nodes, num_arcs) = (graph.num_nodes(), graph.get_num_arcs().unwrap_or(0));
    let mut pairs = Vec::with_capacity(CHUNK);
    let (mut found, mut rows) = (0_u64, graph.iter());
    while let Some((node, successors)) = rows.next() {
        for to in successors {
            if to >= num_nodes {
                let problem = format!("node {node} leads to node {to}, but there are {num_nodes} nodes");
                return Err(Problem::Damaged(problem));
            }
            pairs.push([node as u64, to as u64]);
        }
        if pairs.len() >= CHUNK || node + 1 == num_nodes {
            found += pairs.len() as u64;
            let share = Some((node + 1) as f64 / num_nodes as f64);
            let piece = RawPairs::narrowest(std::mem::replace(&mut pairs, Vec::with_capacity(CHUNK)));
            builder.push_read(Piece { pairs: piece, weights: Vec::new(), share }, progress)?;
            if progress.is_cancelled() {
                return Err(Problem::Cancelled);
            }
        }
    }
    match found {
        0 => Err(Problem::NoEdges),
        _ if found != num_arcs => {
            Err(Problem::Damaged(format!("holds {found} edges, but its properties say {num_arcs}")))
        }
        _ => Ok(num_nodes),
    }
}

/// What the crate says, in one line.
fn damaged(error: impl std::fmt::Display) -> Problem {
    Problem::Damaged(format!("{error:#}"))
}
