//! An edge index: one array, E x 2, of sources and targets.
//!
//! Ids take 4 bytes if they fit, else 8, with a sign, as NumPy's own indices. Two edges
//! are 2 x 2, which readers take for 2 x E; so they are written that way.

use std::io::{self, Seek, SeekFrom, Write};

use super::{GraphSink, Outline, invalid};
use crate::graph::NodeIds;
use crate::graph::edge_list::EdgeChunk;
use crate::npy::{Element, Writer, header};

/// Opens an edge index whose type fits the names of all nodes.
pub(super) fn open<'a, W: Write + Seek + Send + 'a>(
    file: W,
    outline: &Outline<'a>,
) -> io::Result<Box<dyn GraphSink + 'a>> {
    let largest = match outline.ids {
        NodeIds::Integers(ids) => ids.iter().copied().max().unwrap_or(0),
        ids => ids.len() as u64,
    };
    Ok(match (i32::try_from(largest), i64::try_from(largest)) {
        (Ok(_), _) => Box::new(EdgeIndex::<i32, W>::new(file, outline)?),
        (_, Ok(_)) => Box::new(EdgeIndex::<i64, W>::new(file, outline)?),
        _ => return Err(invalid(format!("node id {largest} is above 2^63 - 1"))),
    })
}

/// An edge index in the making.
struct EdgeIndex<'a, T, W> {
    writer: Writer<T, W>,
    ids: &'a NodeIds,
    num_values: usize,
    /// The first values, to be turned round if there are no more.
    first: Vec<T>,
}

impl<'a, T: Element, W: Write + Seek> EdgeIndex<'a, T, W> {
    fn new(file: W, outline: &Outline<'a>) -> io::Result<Self> {
        Ok(Self { writer: Writer::new(file, &[2])?, ids: outline.ids, num_values: 0, first: Vec::new() })
    }
}

impl<T, W> GraphSink for EdgeIndex<'_, T, W>
where
    T: Element + TryFrom<u64> + Send,
    W: Write + Seek + Send,
{
    fn push_edges(&mut self, edges: &EdgeChunk<u64>) -> io::Result<()> {
        let id = |&node: &u64| match self.ids {
            NodeIds::Integers(ids) => ids[node as usize],
            _ => node,
        };
        let narrow = |id| T::try_from(id).ok().expect("the type was chosen for the largest id");
        let values: Vec<T> = edges.pairs.as_flattened().iter().map(id).map(narrow).collect();
        self.num_values += values.len();
        self.first.extend(values.iter().take(4 - self.first.len()));
        self.writer.push(&values)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        let mut file = self.writer.finish()?;
        if let ([a, b, c, d], 4) = (&self.first[..], self.num_values) {
            file.seek(SeekFrom::Start(header(T::DESCR, &[2, 2]).len() as u64))?;
            file.write_all(bytemuck::cast_slice(&[*a, *c, *b, *d]))?;
        }
        file.flush()
    }
}
