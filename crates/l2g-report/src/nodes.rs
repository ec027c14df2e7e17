//! What the map shows: where every node lies, and what is known of it.
//!
//! Of more than a million nodes a sample is shown: of every patch its share, evenly spaced in the order of the
//! nodes.

use std::path::Path;

use local2global::evaluate::Contender;
use local2global::graph::{Graph, NodeId, NodeIds, store};
use local2global::layout::{LayoutMethod, Point, lay_out, turn_towards};
use local2global::npy;
use local2global::partition::{Partition, PartitionTask, Partitioner, louvain::Louvain, read_partition};
use local2global::progress::Progress;
use local2global::run_dir::RunDir;
use local2global::seed::Seed;

use crate::ReportError;

/// The most nodes that a page shows.
const MOST_SHOWN: usize = 1_000_000;

/// Communities are looked for in graphs of up to so many entries.
const MOST_FOR_COMMUNITIES: usize = 50_000_000;

/// Edges are drawn where there are no more than so many entries.
const MOST_DRAWN: usize = 200_000;

/// Which embeddings are laid out.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Wanted {
    All,
    Stitched,
}

/// The nodes of a run.
pub(crate) struct Nodes {
    /// How many the graph has.
    pub(crate) num_nodes: usize,
    /// Those that are shown, ascending.
    pub(crate) shown: Vec<NodeId>,
    /// How they were put into the plane.
    pub(crate) method: LayoutMethod,
    /// The stitched embedding first.
    pub(crate) layouts: Vec<Layout>,
    pub(crate) ids: NodeIds,
    pub(crate) degrees: Vec<u32>,
    /// The classes that there are, and for each node 0 or the number of its class from 1 on; of several
    /// classes the first.
    pub(crate) labels: Option<(Vec<String>, Vec<u32>)>,
    /// The patch that is each node's own.
    pub(crate) patches: Option<Vec<u32>>,
    /// Communities, the largest first.
    pub(crate) communities: Option<Vec<u32>>,
    /// How far the copies of a node lie apart; 0 where there is one.
    pub(crate) spread: Option<Vec<f32>>,
    /// Pairs of places in `shown`, where the graph is small.
    pub(crate) edges: Vec<[u32; 2]>,
}

/// The nodes of one embedding in the plane.
pub(crate) struct Layout {
    pub(crate) contender: Contender,
    pub(crate) points: Vec<Point>,
}

impl Nodes {
    /// Reads a run folder and lays its embeddings out.
    pub(crate) fn read(
        run: &RunDir,
        method: LayoutMethod,
        wanted: Wanted,
        progress: &dyn Progress,
    ) -> Result<Self, ReportError> {
        let stitched = run.alignment().embedding();
        if !stitched.exists() {
            return Err(ReportError::NoEmbedding { path: stitched });
        }
        let (graph, _) = store::open(&run.graph())?;
        let method = method.settled(graph.num_nodes());
        let partition = match run.partition().clusters().exists() {
            true => Some(read_partition(run, graph.num_nodes())?),
            false => None,
        };
        let shown = sample(graph.num_nodes(), partition.as_ref());
        let of_shown =
            |values: &[u32]| -> Vec<u32> { shown.iter().map(|node| values[node.index()]).collect() };
        let communities = match wanted == Wanted::All && graph.num_directed_edges() <= MOST_FOR_COMMUNITIES {
            true => communities(&graph, progress)?,
            false => None,
        };
        let layouts = layouts(run, &graph, &shown, (method, wanted), progress)?;
        Ok(Self {
            num_nodes: graph.num_nodes(),
            method,
            layouts,
            ids: match shown.len() == graph.num_nodes() {
                true => graph.ids().clone(),
                false => graph.ids().select(&shown),
            },
            degrees: shown.iter().map(|&node| graph.degree(node) as u32).collect(),
            labels: labels(&graph, &shown),
            patches: partition.map(|partition| of_shown(partition.clusters())),
            communities: communities.map(|communities| of_shown(&communities)),
            spread: spread(run, &graph, &shown)?,
            edges: edges(&graph, &shown),
            shown,
        })
    }

    /// The layout of the stitched embedding.
    pub(crate) fn points(&self) -> &[Point] {
        &self.layouts[0].points
    }
}

/// All nodes, or a sample with the share of every patch.
fn sample(num_nodes: usize, partition: Option<&Partition>) -> Vec<NodeId> {
    sample_of(num_nodes, MOST_SHOWN, partition)
}

fn sample_of(num_nodes: usize, most: usize, partition: Option<&Partition>) -> Vec<NodeId> {
    if num_nodes <= most {
        return (0..num_nodes).map(NodeId::new).collect();
    }
    // The k-th node of a patch is taken where k times the share passes a whole number.
    let mut seen = vec![0_usize; partition.map_or(1, Partition::num_clusters)];
    let taken = |count: usize| count * most / num_nodes;
    let is_taken = |&node: &NodeId| {
        let count = &mut seen[partition.map_or(0, |partition| partition.cluster_of(node) as usize)];
        *count += 1;
        taken(*count) > taken(*count - 1)
    };
    (0..num_nodes).map(NodeId::new).filter(is_taken).collect()
}

/// Lays out the embeddings that are there, each turned towards the first.
fn layouts(
    run: &RunDir,
    graph: &Graph,
    shown: &[NodeId],
    (method, wanted): (LayoutMethod, Wanted),
    progress: &dyn Progress,
) -> Result<Vec<Layout>, ReportError> {
    let files = [
        (Contender::L2g, run.alignment().embedding()),
        (Contender::NoTrans, run.alignment().unaligned()),
        (Contender::Full, run.evaluation().embedding("full")),
    ];
    let count = if wanted == Wanted::All { files.len() } else { 1 };
    let mut layouts: Vec<Layout> = Vec::new();
    for (contender, path) in files.into_iter().take(count).filter(|(_, path)| path.exists()) {
        let mut points = points(&path, graph, shown, method, progress)?;
        if let Some(first) = layouts.first() {
            turn_towards(&mut points, &first.points);
        }
        layouts.push(Layout { contender, points });
    }
    Ok(layouts)
}

/// The nodes of one embedding in the plane.
fn points(
    path: &Path,
    graph: &Graph,
    shown: &[NodeId],
    method: LayoutMethod,
    progress: &dyn Progress,
) -> Result<Vec<Point>, ReportError> {
    let unreadable = |source| ReportError::Array { path: path.to_owned(), source };
    let array = npy::map::<f32>(path).map_err(unreadable)?;
    let (rows, dim) = array.rows_and_columns().map_err(unreadable)?;
    check_rows(path, rows, graph)?;
    let points = lay_out(&array.values, dim, method, Seed(0), progress)
        .map_err(|source| ReportError::Layout { path: path.to_owned(), source })?;
    Ok(match shown.len() == rows {
        true => points,
        false => shown.iter().map(|node| points[node.index()]).collect(),
    })
}

fn check_rows(path: &Path, found: usize, graph: &Graph) -> Result<(), ReportError> {
    match found == graph.num_nodes() {
        true => Ok(()),
        false => Err(ReportError::Rows { path: path.to_owned(), found, nodes: graph.num_nodes() }),
    }
}

fn labels(graph: &Graph, shown: &[NodeId]) -> Option<(Vec<String>, Vec<u32>)> {
    let labels = graph.labels()?;
    let class = |&node: &NodeId| labels.classes_of(node).next().map_or(0, |class| class as u32 + 1);
    Some((labels.class_names().to_vec(), shown.iter().map(class).collect()))
}

/// Communities of high modularity, numbered by size; none in a directed graph.
fn communities(graph: &Graph, progress: &dyn Progress) -> Result<Option<Vec<u32>>, ReportError> {
    if !graph.is_symmetric() || graph.num_nodes() < 2 {
        return Ok(None);
    }
    let task = PartitionTask { num_clusters: graph.num_nodes(), seed: Seed(0), progress };
    let found = Louvain::default().partition(graph, &task)?;
    let mut by_size: Vec<usize> = (0..found.num_clusters()).collect();
    by_size.sort_by_key(|&cluster| (usize::MAX - found.sizes()[cluster], cluster));
    let mut places = vec![0; by_size.len()];
    by_size.iter().enumerate().for_each(|(place, &cluster)| places[cluster] = place as u32);
    Ok(Some(found.clusters().iter().map(|&cluster| places[cluster as usize]).collect()))
}

fn spread(run: &RunDir, graph: &Graph, shown: &[NodeId]) -> Result<Option<Vec<f32>>, ReportError> {
    let path = run.alignment().spread();
    if !path.exists() {
        return Ok(None);
    }
    let unreadable = |source| ReportError::Array { path: path.clone(), source };
    let spread: Vec<f32> = npy::open(&path).and_then(|reader| reader.floats()).map_err(unreadable)?;
    check_rows(&path, spread.len(), graph)?;
    Ok(Some(shown.iter().map(|node| spread[node.index()]).collect()))
}

/// All edges, once, of a small graph of which all nodes are shown.
fn edges(graph: &Graph, shown: &[NodeId]) -> Vec<[u32; 2]> {
    if graph.num_directed_edges() > MOST_DRAWN || shown.len() < graph.num_nodes() {
        return Vec::new();
    }
    let of_node = |node: NodeId| graph.neighbors(node).map(move |other| [node, other]);
    let all = graph.nodes().flat_map(of_node).filter(|[a, b]| a < b || !graph.is_symmetric());
    all.map(|ends| ends.map(|node| node.index() as u32)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_patch_has_its_share_of_a_sample() {
        let partition = Partition::from_labels((0..900).map(|node| u32::from(node % 9 == 0)).collect());
        let sample = sample_of(900, 90, Some(&partition));
        assert_eq!(sample.len(), 90);
        assert_eq!(sample.iter().filter(|node| partition.cluster_of(**node) == 1).count(), 10);
        assert!(sample.is_sorted());
        assert_eq!(sample_of(900, 900, Some(&partition)).len(), 900);
        assert_eq!(sample_of(900, 300, None).len(), 300);
    }
}
