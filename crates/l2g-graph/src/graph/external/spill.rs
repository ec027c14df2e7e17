//! Pieces of an input, on their way to disk.

use super::super::NodeIndex;
use super::super::builder::{BuildOptions, Dropped, Duplicates, count_dropped, for_each_entry};
use super::super::id_set::{IdSet, Ranks};
use super::Workspace;
use super::buckets::{BucketEntry, EdgeBuckets};
use super::error::ExternalError;
use super::scratch::Scratch;
use super::wide::WideEdges;

/// Edges that go to disk as they come.
#[derive(Debug)]
pub(crate) struct Spill {
    scratch: Scratch,
    options: BuildOptions,
    limit: u64,
    num_listed: usize,
    dropped: Dropped,
    /// Whether edges come with weights.
    listed_weights: bool,
    /// Whether the graph is to have weights.
    weighted: bool,
    edges: Edges,
}

/// The edges on disk, by what their nodes are called.
#[derive(Debug)]
enum Edges {
    /// By integers of 4 bytes; which of them there are shows at the end.
    Integers(EdgeBuckets<u32>, IdSet),
    /// By integers that are too large or too far apart for a bitmap.
    Wide(WideEdges),
}

/// All edges of an input, on disk, and how to number their nodes.
#[derive(Debug)]
pub(crate) struct SpilledEdges {
    pub(super) scratch: Scratch,
    pub(super) options: BuildOptions,
    pub(super) limit: u64,
    pub(super) num_listed: usize,
    pub(super) dropped: Dropped,
    pub(super) lists: Lists,
}

/// Edges in lists by their row, or by the id of their row.
#[derive(Debug)]
pub(super) enum Lists {
    /// By ids, which ascend as rows do.
    Ids(EdgeBuckets<u32>, Ranks),
    /// By rows.
    Rows(EdgeBuckets<u32>, usize),
    /// By rows, more than 2³² of them.
    WideRows(EdgeBuckets<u64>, usize),
}

impl Spill {
    /// No edges yet. `listed_weights` tells whether they will have weights.
    pub(crate) fn new(
        workspace: &Workspace,
        options: BuildOptions,
        listed_weights: bool,
    ) -> Result<Self, ExternalError> {
        let scratch = Scratch::new(&workspace.folder)?;
        let limit = workspace.limit;
        let weighted = match options.duplicates {
            Duplicates::Auto => listed_weights,
            Duplicates::Sum => true,
            Duplicates::One => false,
        };
        let buckets = EdgeBuckets::new(scratch.nameless()?, weighted, limit / 4);
        let edges = Edges::Integers(buckets, IdSet::default());
        let (num_listed, dropped) = (0, Dropped::default());
        Ok(Self { scratch, options, limit, num_listed, dropped, listed_weights, weighted, edges })
    }

    /// The memory there is.
    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    /// Where temporary files go.
    pub(super) fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// Adds edges between integers.
    pub(crate) fn push<I: NodeIndex>(
        &mut self,
        pairs: &[[I; 2]],
        weights: &[f32],
    ) -> Result<(), ExternalError> {
        let largest = pairs.iter().map(|pair| pair[0].max(pair[1])).max();
        if largest.is_some_and(|largest| self.is_too_large(largest.index() as u64)) {
            self.widen()?;
        }
        self.num_listed += pairs.len();
        self.dropped += count_dropped(pairs, weights, &self.options);
        let failed = self.scratch.failed();
        match &mut self.edges {
            Edges::Integers(buckets, ids) => {
                pairs.iter().flatten().for_each(|id| ids.insert(id.index()));
                for_each_entry(pairs, weights, &self.options, |row, target, weight| {
                    let [row, target] = [row, target].map(|id| id.index() as u32);
                    buckets.push(BucketEntry { row, target, weight })
                })
            }
            Edges::Wide(wide) => pairs.iter().enumerate().try_for_each(|(index, pair)| {
                let weight = weights.get(index).copied().unwrap_or(1.0);
                wide.push(pair.map(|id| id.index() as u64), weight)
            }),
        }
        .map_err(failed)
    }

    /// Whether a bitmap up to an id would take too much.
    fn is_too_large(&self, id: u64) -> bool {
        matches!(self.edges, Edges::Integers(..))
            && (id > u64::from(u32::MAX) || IdSet::bytes_for(id) > self.limit / 4)
    }

    /// Takes all edges so far for edges between large integers.
    fn widen(&mut self) -> Result<(), ExternalError> {
        let mut wide = WideEdges::new(&self.scratch, self.listed_weights, self.limit / 2)?;
        let failed = self.scratch.failed();
        if let Edges::Integers(buckets, ids) = &self.edges {
            // Nodes whose edges were all left out are nodes still.
            ids.iter().try_for_each(|id| wide.push_node(id)).map_err(&failed)?;
            for bucket in 0..buckets.len() {
                let entries = buckets.read(bucket..bucket + 1).map_err(&failed)?;
                for BucketEntry { row, target, weight } in
                    entries.iter().filter(|entry| self.was_listed(entry))
                {
                    wide.push([row, target].map(u64::from), weight).map_err(&failed)?;
                }
            }
        }
        self.edges = Edges::Wide(wide);
        Ok(())
    }

    /// Whether an entry is a listed edge, and not the same one mirrored. Without weights both look the
    /// same, and one of the two is taken for the listed one.
    fn was_listed(&self, entry: &BucketEntry<u32>) -> bool {
        match (self.options.symmetrise, self.weighted) {
            (false, _) => true,
            (true, true) => entry.weight > 0.0,
            (true, false) => entry.row <= entry.target,
        }
    }

    /// All edges. With `num_rows`, ids below it are rows already, and every row is a node.
    pub(crate) fn finish(self, num_rows: Option<usize>) -> Result<SpilledEdges, ExternalError> {
        let Self { scratch, options, limit, num_listed, dropped, weighted, edges, .. } = self;
        let lists = match edges {
            Edges::Integers(buckets, ids) => {
                let ranks = ids.into_ranks();
                let bound = ranks.bound();
                match num_rows.filter(|&num_rows| bound <= num_rows) {
                    Some(num_rows) => Lists::Rows(buckets, num_rows),
                    None if ranks.len() == bound => Lists::Rows(buckets, bound),
                    None => Lists::Ids(buckets, ranks),
                }
            }
            Edges::Wide(mut wide) => {
                let num_rows = num_rows.map(|num_rows| num_rows as u64).filter(|&rows| wide.bound() <= rows);
                let mut rows = 0..num_rows.unwrap_or(0);
                rows.try_for_each(|row| wide.push_node(row)).map_err(scratch.failed())?;
                numbered(wide, &scratch, options, weighted, limit)?
            }
        };
        Ok(SpilledEdges { scratch, options, limit, num_listed, dropped, lists })
    }
}

/// Numbers the nodes of edges between large integers, and puts the edges into lists.
fn numbered(
    wide: WideEdges,
    scratch: &Scratch,
    options: BuildOptions,
    weighted: bool,
    limit: u64,
) -> Result<Lists, ExternalError> {
    let edges = wide.number(scratch)?;
    let num_nodes = edges.num_nodes;
    match u32::try_from(num_nodes) {
        Ok(_) => {
            let buckets = EdgeBuckets::new(scratch.nameless()?, weighted, limit / 4);
            Ok(Lists::Rows(fill(buckets, edges, options).map_err(scratch.failed())?, num_nodes))
        }
        Err(_) => {
            let buckets = EdgeBuckets::new(scratch.nameless()?, weighted, limit / 4);
            Ok(Lists::WideRows(fill(buckets, edges, options).map_err(scratch.failed())?, num_nodes))
        }
    }
}

fn fill<I: NodeIndex>(
    mut buckets: EdgeBuckets<I>,
    mut edges: super::wide::NumberedEdges,
    options: BuildOptions,
) -> std::io::Result<EdgeBuckets<I>> {
    while let Some((pair, weight)) = edges.next()? {
        let pair = pair.map(|row| I::from_index(row as usize));
        for_each_entry(&[pair], &[weight], &options, |row, target, weight| {
            buckets.push(BucketEntry { row, target, weight })
        })?;
    }
    Ok(buckets)
}
