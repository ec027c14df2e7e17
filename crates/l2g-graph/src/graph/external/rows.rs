//! Edges on disk -> the arrays of a graph on disk.
//!
//! Neighbouring lists are read back together, as many as fit, and sorted into rows, several groups at
//! a time on all threads; finished groups are appended to the arrays in their order, while the next are
//! being sorted.

use std::io;
use std::ops::Range;

use super::super::builder::{Built, Entry, Plain, Weighted, fill_rows};
use super::super::id_set::Ranks;
use super::super::{Graph, NodeIndex};
use super::buckets::EdgeBuckets;
use super::error::ExternalError;
use super::scratch::Scratch;
use super::spill::{Lists, SpilledEdges};
use super::writer::{RowWriter, Rows};
use crate::progress::Progress;

/// What row an id is.
enum RowMap<'a> {
    /// Ids are rows.
    Same(usize),
    /// Rows are the ids that there are, ascending.
    Ranks(&'a Ranks),
}

impl RowMap<'_> {
    /// The number of nodes.
    fn num_rows(&self) -> usize {
        match self {
            Self::Same(num_rows) => *num_rows,
            Self::Ranks(ranks) => ranks.len(),
        }
    }

    /// The row of an id; of one that is no node, the row of the next.
    #[inline]
    fn row(&self, id: usize) -> usize {
        match self {
            Self::Same(num_rows) => id.min(*num_rows),
            Self::Ranks(ranks) => ranks.rank(id),
        }
    }
}

/// Makes the graph of edges on disk. Its arrays lie in the folder that comes with it.
pub(crate) fn build_on_disk(
    spilled: SpilledEdges,
    progress: &dyn Progress,
) -> Result<(Built, Scratch), ExternalError> {
    let SpilledEdges { scratch, options, limit, num_listed, mut dropped, lists } = spilled;
    let graph = match lists {
        Lists::Ids(buckets, ranks) => {
            scratch.write_ids(ranks.iter()).map_err(scratch.failed())?;
            write_graph(&scratch, buckets, &RowMap::Ranks(&ranks), options.symmetrise, limit, progress)
        }
        Lists::Rows(buckets, num_rows) => {
            write_graph(&scratch, buckets, &RowMap::Same(num_rows), options.symmetrise, limit, progress)
        }
        Lists::WideRows(buckets, num_rows) => {
            write_graph(&scratch, buckets, &RowMap::Same(num_rows), options.symmetrise, limit, progress)
        }
    }?;
    let graph = if options.self_loops { graph } else { graph.with_self_loops(0) };
    dropped.duplicates = num_listed - dropped.self_loops - dropped.zero_weights - graph.num_edges();
    Ok((Built { graph, dropped }, scratch))
}

fn write_graph<I: NodeIndex>(
    scratch: &Scratch,
    buckets: EdgeBuckets<I>,
    map: &RowMap<'_>,
    symmetric: bool,
    limit: u64,
    progress: &dyn Progress,
) -> Result<Graph, ExternalError> {
    match buckets.is_weighted() {
        false => write_rows::<I, Plain<I>>(scratch, &buckets, map, limit, progress)?,
        true => write_rows::<I, Weighted<I>>(scratch, &buckets, map, limit, progress)?,
    }
    drop(buckets);
    scratch.graph::<I>(symmetric)
}

fn write_rows<I: NodeIndex, E: Entry<I>>(
    scratch: &Scratch,
    buckets: &EdgeBuckets<I>,
    map: &RowMap<'_>,
    limit: u64,
    progress: &dyn Progress,
) -> Result<(), ExternalError> {
    let threads = rayon::current_num_threads();
    // Each group is in memory as listed and as sorted; groups of two rounds are there at a time.
    let entry_bytes = (2 * size_of::<I>() + 4 + size_of::<E>() + size_of::<I>() + 4) as u64;
    let most = (limit / 2 / (2 * threads as u64) / entry_bytes) as usize;
    let groups = groups(buckets, most);
    let mut writer = RowWriter::<I>::new(scratch, buckets.is_weighted())?;
    progress.begin("sorting the edges", groups.len() as u64, "parts");
    let sorted = |group: &Range<usize>| sorted_rows::<I, E>(buckets, map, group.clone());
    writer.append_all(&groups, sorted, scratch.failed(), progress)?;
    // A graph whose weights are all 1 has none.
    let drop_weights = buckets.is_weighted() && writer.all_one;
    let finished = writer.finish().and_then(|()| match drop_weights {
        true => std::fs::remove_file(scratch.arrays().weights()),
        false => Ok(()),
    });
    progress.end();
    finished.map_err(scratch.failed())
}

/// Groups neighbouring lists that have at most `most` entries together, or are alone.
fn groups<I: NodeIndex>(buckets: &EdgeBuckets<I>, most: usize) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut len = 0;
    for bucket in 0..buckets.len() {
        let more = buckets.len_of(bucket);
        match groups.last_mut() {
            Some(group) if len + more <= most => {
                group.end = bucket + 1;
                len += more;
            }
            _ => {
                groups.push(bucket..bucket + 1);
                len = more;
            }
        }
    }
    groups
}

fn sorted_rows<I: NodeIndex, E: Entry<I>>(
    buckets: &EdgeBuckets<I>,
    map: &RowMap<'_>,
    group: Range<usize>,
) -> io::Result<Rows<I>> {
    let first = map.row(buckets.first_row(group.start));
    let end = match group.end == buckets.len() {
        true => map.num_rows(),
        false => map.row(buckets.first_row(group.end)),
    };
    let entries = buckets.read(group)?;
    let mut region = vec![E::default(); entries.len()];
    let lens = fill_rows(
        &mut region,
        end - first,
        entries.iter().map(|entry| {
            let target = I::from_index(map.row(entry.target.index()));
            (map.row(entry.row.index()) - first, target, entry.weight)
        }),
    );
    drop(entries);
    region.truncate(lens.iter().map(|&len| len as usize).sum());
    let targets = region.iter().map(|entry| entry.target()).collect();
    let weights = region.iter().map_while(|entry| entry.weight()).collect();
    Ok(Rows { lens, targets, weights })
}
