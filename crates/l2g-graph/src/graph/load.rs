//! A file -> the graph to embed, and an account of what was left out.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Deserializer, Serialize};

use super::builder::{BuildOptions, Built, Dropped, build};
use super::component::Components;
use super::external::{ExternalError, Scratch, Workspace, build_on_disk, keep_nodes};
use super::held_out::{HoldOutError, hold_out};
use super::input::GraphInput;
use super::io::{
    self, ColumnOptions, Delimiter, EdgeColumns, FeatureTable, HeaderRow, IdKind, Input, LabelTable,
    Numbered, NumberedEdges, Problem, ReadError, Weights,
};
use super::{Duplicates, Features, Graph, NodeId, NodeIds};
use crate::progress::Progress;
use crate::seed::Seed;

pub use super::io::Format;

/// The settings of the graph stage: the table `[graph]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GraphConfig {
    /// The graph: the name of a data set, files, folders or patterns, or `-` for standard input.
    pub input: Option<GraphInput>,
    /// The format of the file; if not given, its name tells.
    pub format: Option<Format>,
    /// The columns of the ends of an edge and, if it has one, of its weight, by name or by number,
    /// counted from 1.
    pub columns: Option<EdgeColumns>,
    /// What separates the fields of a text; if not given, the first line shows it.
    pub delimiter: Option<Delimiter>,
    /// Where the weights of edges come from: `auto`, `none`, or a column.
    #[serde(skip_serializing_if = "is_auto")]
    pub weights: Weights,
    /// Which part of the graph to keep.
    pub component: Component,
    /// Put every edge into both directions.
    pub symmetrise: bool,
    /// Keep edges from a node to itself.
    pub self_loops: bool,
    /// What happens to an edge that is listed more than once.
    pub duplicates: Duplicates,
    /// Whether the first line of a text file names its columns.
    pub header: HeaderRow,
    /// Whether the node ids of a text file are integers or text.
    pub ids: IdKind,
    /// A file of node features.
    pub features: Option<PathBuf>,
    /// A file of node labels.
    pub labels: Option<PathBuf>,
    /// The share of edges to hold out for link prediction: what [`Loaded::hold_out`] is to
    /// be given, together with the seed. Reading alone holds nothing out.
    #[serde(deserialize_with = "share")]
    pub hold_out: f64,
    /// The most bytes to unpack or set aside for one file.
    pub max_bytes: Option<u64>,
}

impl Default for GraphConfig {
    fn default() -> Self {
        let BuildOptions { symmetrise, self_loops, duplicates } = BuildOptions::default();
        Self {
            input: None,
            format: None,
            columns: None,
            delimiter: None,
            weights: Weights::Auto,
            component: Component::Largest,
            symmetrise,
            self_loops,
            duplicates,
            header: HeaderRow::Auto,
            ids: IdKind::Auto,
            features: None,
            labels: None,
            hold_out: 0.0,
            max_bytes: None,
        }
    }
}

impl GraphConfig {
    /// What to read: what is set, or else the built-in Cora.
    pub fn graph_input(&self) -> GraphInput {
        self.input.clone().unwrap_or_else(GraphInput::usual)
    }

    fn build_options(&self) -> BuildOptions {
        let Self { symmetrise, self_loops, duplicates, .. } = *self;
        BuildOptions { symmetrise, self_loops, duplicates }
    }

    /// How to read files: edges that do not fit into memory go to the workspace.
    pub(super) fn read_options(&self, workspace: &Workspace) -> io::ReadOptions {
        let Self { format, delimiter, header, ids, max_bytes, .. } = *self;
        let columns = ColumnOptions { columns: self.columns.clone(), weights: self.weights.clone() };
        let keep_directions = !self.symmetrise;
        let drop_weights = self.weights == Weights::None;
        let spill =
            io::SpillOptions { workspace: workspace.clone(), build: self.build_options(), drop_weights };
        io::ReadOptions { format, columns, delimiter, header, ids, keep_directions, max_bytes, spill }
    }
}

/// A number from 0 to below 1.
fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let found = f64::deserialize(deserializer)?;
    match (0.0..1.0).contains(&found) {
        true => Ok(found),
        false => Err(serde::de::Error::custom(format!("found {found}, needed at least 0 and below 1"))),
    }
}

/// Which part of a graph to keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Component {
    /// The largest connected component.
    #[default]
    Largest,
    /// Everything, connected or not.
    All,
}

/// A graph, ready for the next stage, and what became of the input.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The graph.
    pub graph: Graph,
    /// Counts of the graph and of what was left out.
    pub summary: GraphSummary,
    /// How long it took.
    pub seconds: LoadSeconds,
    /// The folder with the arrays of the graph, if it was made on disk.
    pub(super) scratch: Option<Arc<Scratch>>,
}

impl Loaded {
    /// A graph that is there already.
    pub fn new(graph: Graph, summary: GraphSummary) -> Self {
        Self { graph, summary, seconds: LoadSeconds::default(), scratch: None }
    }

    /// The same, with a share of the edges held out before anything else sees them.
    ///
    /// # Errors
    /// As [`hold_out`].
    pub fn hold_out(self, share: f64, seed: Seed) -> Result<Self, HoldOutError> {
        if share == 0.0 {
            return Ok(self);
        }
        let graph = hold_out(self.graph, share, seed)?;
        let summary = self.summary.of_part(&graph);
        Ok(Self { graph, summary, seconds: self.seconds, scratch: None })
    }
}

/// How long the steps of loading took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LoadSeconds {
    /// Reading and parsing the file.
    pub read: f64,
    /// Numbering the nodes, sorting and merging the edges.
    pub build: f64,
    /// Finding the components and keeping the largest.
    pub component: f64,
}

/// Counts: what is in the graph, and what was left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphSummary {
    /// Nodes of the graph.
    pub nodes: usize,
    /// Edges of the graph; an undirected one counts once.
    pub edges: usize,
    /// Stored edges: an undirected one counts twice.
    pub directed_edges: usize,
    /// Whether edges go both ways.
    pub symmetric: bool,
    /// Whether edges have weights.
    pub weighted: bool,
    /// The weights, if edges have some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<WeightRange>,
    /// Columns of features, 0 without features.
    pub features: usize,
    /// Classes, 0 without labels.
    pub classes: usize,
    /// The names of the classes.
    pub class_names: Vec<String>,
    /// Connected components of the input.
    pub components: usize,
    /// Neighbours of a node: fewest, mean, most.
    pub degree: DegreeRange,
    /// Nodes without neighbours.
    pub isolated_nodes: usize,
    /// Edges held out for link prediction, which the graph does not have.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub held_out_edges: usize,
    /// What the input had and the graph has not.
    pub dropped: DroppedTotals,
}

fn is_auto(weights: &Weights) -> bool {
    *weights == Weights::Auto
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The weights of edges.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WeightRange {
    /// The smallest.
    pub min: f32,
    /// The mean.
    pub mean: f64,
    /// The largest.
    pub max: f32,
    /// Where they come from, as in ``column `weight` ``, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl WeightRange {
    fn of(weights: &[f32]) -> Self {
        let min = weights.iter().copied().fold(f32::INFINITY, f32::min);
        let max = weights.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
        Self { min, mean: sum / weights.len() as f64, max, source: None }
    }
}

/// Neighbours of a node.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct DegreeRange {
    pub min: usize,
    pub mean: f64,
    pub max: usize,
}

/// What the input had and the graph has not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DroppedTotals {
    /// Nodes outside the largest component.
    pub nodes: usize,
    /// Edges outside the largest component.
    pub edges: usize,
    /// Labels of nodes that are not in the input.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub labels: usize,
    /// Listed edges that did not become edges of their own.
    #[serde(flatten)]
    pub listed: Dropped,
}

/// Reads a graph from a file, a pipe or standard input (`-`), with its features and labels, and
/// cleans it.
///
/// # Errors
/// [`ReadError`] with file, place and reason.
pub fn load(path: &Path, config: &GraphConfig, progress: &dyn Progress) -> Result<Loaded, ReadError> {
    load_within(path, config, &Workspace::default(), progress)
}

/// As [`load`], within the memory of a workspace: a graph that does not fit is made on disk, to the
/// same bytes, and its arrays are mapped.
///
/// # Errors
/// [`ReadError`] with file, place and reason.
pub fn load_within(
    path: &Path,
    config: &GraphConfig,
    workspace: &Workspace,
    progress: &dyn Progress,
) -> Result<Loaded, ReadError> {
    load_files(&[path.to_owned()], config, workspace, progress)
}

/// As [`load_within`], from several files, which are read one after the other as if they were one. All
/// have to have weights, or none; and integers as ids of nodes, or text.
///
/// # Errors
/// [`ReadError`] with file, place and reason.
pub fn load_files(
    paths: &[PathBuf],
    config: &GraphConfig,
    workspace: &Workspace,
    progress: &dyn Progress,
) -> Result<Loaded, ReadError> {
    let started = Instant::now();
    let name = io::label_of(paths);
    let files = paths.iter().chain(&config.features).chain(&config.labels);
    if files.filter(|path| io::is_standard_input(path)).count() > 1 {
        let problem = "graph, features and labels cannot all come from standard input, only one of them";
        return Err(Problem::Inconsistent(problem.into()).in_file(&name));
    }
    let options = config.read_options(workspace);
    let input = io::read(paths, &options, progress)?;
    finish(input, &name, config, &options, started, progress)
}

/// Reads a graph that is part of the program, and cleans it.
pub(super) fn load_built_in(
    name: &str,
    bytes: &'static [u8],
    config: &GraphConfig,
    progress: &dyn Progress,
) -> Result<Loaded, ReadError> {
    let started = Instant::now();
    let options = config.read_options(&Workspace::default());
    let input = io::read_built_in(name, bytes, &options)?;
    finish(input, Path::new(name), config, &options, started, progress)
}

pub(super) fn finish(
    input: Input,
    path: &Path,
    config: &GraphConfig,
    options: &io::ReadOptions,
    started: Instant,
    progress: &dyn Progress,
) -> Result<Loaded, ReadError> {
    let features = config.features.as_deref().map(|path| io::read_features(path, options)).transpose()?;
    let labels = config.labels.as_deref().map(|path| io::read_labels(path, options)).transpose()?;
    if progress.is_cancelled() {
        return Err(Problem::Cancelled.in_file(path));
    }
    let read = started.elapsed().as_secs_f64();
    progress.begin("building the graph", 0, "edges");
    let io::About { weights_from, num_nodes, ids: names, features: inside, labels: classes } = input.about;
    let num_rows = num_nodes.or_else(|| rows_in_order(&features, &labels));
    let (built, ids, scratch) = number_and_build(num_rows, input.edges, config, progress)
        .map_err(|error| Problem::from(error).in_file(path))?;
    let build = started.elapsed().as_secs_f64() - read;
    let graph = match names.or(ids) {
        Some(ids) => built.graph.with_ids(ids).map_err(|error| inconsistent(error, path))?,
        None => built.graph,
    };
    let features = match features {
        Some(table) => Some(table.attach(graph.ids())?),
        None => inside,
    };
    let (labels, num_foreign) = match labels {
        Some(table) => {
            let (labels, num_foreign) = table.attach(graph.ids(), options.limit())?;
            (Some(labels), num_foreign)
        }
        None => (classes, 0),
    };
    let graph = graph
        .with_features(features)
        .and_then(|graph| graph.with_labels(labels))
        .map_err(|error| inconsistent(error, path))?;
    if graph.num_nodes() == 0 || graph.num_edges() == 0 {
        return Err(Problem::NoEdges.in_file(path));
    }
    let (graph, scratch, mut summary) =
        keep_component(graph, scratch, built.dropped, config.component, &options.spill.workspace, progress)
            .map_err(|error| Problem::from(error).in_file(path))?;
    summary.dropped.labels = num_foreign;
    if let Some(weights) = &mut summary.weights {
        weights.source = weights_from;
    }
    progress.end();
    let component = started.elapsed().as_secs_f64() - read - build;
    let seconds = LoadSeconds { read, build, component };
    Ok(Loaded { graph, summary, seconds, scratch: scratch.map(Arc::new) })
}

fn inconsistent(error: super::GraphError, path: &Path) -> ReadError {
    Problem::Inconsistent(error.to_string()).in_file(path)
}

/// The number of nodes, where features or labels tell it.
fn rows_in_order(features: &Option<FeatureTable>, labels: &Option<LabelTable>) -> Option<usize> {
    let from_features = features.as_ref().and_then(FeatureTable::rows_in_order);
    from_features.or_else(|| labels.as_ref().and_then(LabelTable::rows_in_order))
}

/// The graph of all edges, the names of its nodes unless they are in the graph, and the folder of its
/// arrays if it was made on disk.
fn number_and_build(
    num_rows: Option<usize>,
    edges: io::RawEdges,
    config: &GraphConfig,
    progress: &dyn Progress,
) -> Result<(Built, Option<NodeIds>, Option<Scratch>), ExternalError> {
    let (spill, names) = match edges {
        io::RawEdges::Spilled(spill) => (spill, None),
        io::RawEdges::SpilledNames(spill, names) => (spill, Some(NodeIds::Strings(names))),
        io::RawEdges::WaitingNames(mut spill, known, waiting) => {
            let names = waiting.number(known, &mut spill)?;
            (spill, Some(NodeIds::Strings(names)))
        }
        in_memory => {
            let Numbered { edges, ids } = io::number(in_memory, num_rows);
            let built = match edges {
                NumberedEdges::Narrow(edges) => build(edges, ids.len(), &config.build_options()),
                NumberedEdges::Wide(edges) => build(edges, ids.len(), &config.build_options()),
            };
            return Ok((built, Some(ids), None));
        }
    };
    let num_rows = names.as_ref().map(NodeIds::len).or(num_rows);
    let (built, scratch) = build_on_disk(spill.finish(num_rows)?, progress)?;
    Ok((built, names, Some(scratch)))
}

fn keep_component(
    graph: Graph,
    scratch: Option<Scratch>,
    listed: Dropped,
    component: Component,
    workspace: &Workspace,
    progress: &dyn Progress,
) -> Result<(Graph, Option<Scratch>, GraphSummary), ExternalError> {
    let components = Components::of(&graph);
    let (nodes_before, edges_before) = (graph.num_nodes(), graph.num_edges());
    let num_components = components.len();
    let is_part = component == Component::Largest && num_components > 1;
    // Features that are mapped do not fit, and neither may those of a part.
    let mapped = match is_part {
        true => select_mapped(&graph, &components, workspace)?,
        false => None,
    };
    let graph = match mapped {
        Some(_) => graph.with_features(None).expect("no features fit any graph"),
        None => graph,
    };
    let (graph, scratch) = match (component, scratch) {
        (Component::Largest, scratch) if num_components > 1 => {
            let largest = components.largest();
            match scratch {
                None => (graph.subgraph(&components.nodes_of(largest)), None),
                Some(scratch) => {
                    let (graph, scratch) = keep_on_disk(&graph, &scratch, components, progress)?;
                    (graph, Some(scratch))
                }
            }
        }
        (_, scratch) => (graph, scratch),
    };
    let graph = match mapped {
        Some(features) => graph.with_features(Some(features)).expect("rows were selected for these nodes"),
        None => graph,
    };
    let dropped = DroppedTotals {
        nodes: nodes_before - graph.num_nodes(),
        edges: edges_before - graph.num_edges(),
        labels: 0,
        listed,
    };
    let summary = GraphSummary::of(&graph, num_components, dropped);
    Ok((graph, scratch, summary))
}

/// The features of the largest component, mapped, if those of the graph are.
fn select_mapped(
    graph: &Graph,
    components: &Components,
    workspace: &Workspace,
) -> Result<Option<Features>, ExternalError> {
    let largest = components.largest();
    let nodes = components.labels().iter().enumerate().filter(|&(_, &label)| label == largest);
    let nodes = nodes.map(|(node, _)| NodeId::new(node));
    let selected = graph.features().and_then(|features| features.select_mapped(nodes, &workspace.folder));
    let path = &workspace.folder;
    selected.transpose().map_err(|error| ExternalError::File { path: path.clone(), error })
}

/// The largest component of a graph on disk.
fn keep_on_disk(
    graph: &Graph,
    scratch: &Scratch,
    components: Components,
    progress: &dyn Progress,
) -> Result<(Graph, Scratch), ExternalError> {
    let kept = components.into_largest();
    let (part, scratch) = keep_nodes(scratch, graph, &kept, progress)?;
    let part = match graph.ids() {
        NodeIds::Strings(names) => {
            let mut writer = scratch.names_writer()?;
            let mut kept_names = kept.iter().map(|node| names.get(node as usize));
            kept_names.try_for_each(|name| writer.push(name)).map_err(scratch.failed())?;
            part.with_ids(NodeIds::Strings(writer.finish()?)).expect("there is a name for every node")
        }
        _ => part,
    };
    if graph.features().is_none() && graph.labels().is_none() {
        return Ok((part, scratch));
    }
    let nodes: Vec<NodeId> = kept.iter().map(NodeId).collect();
    let part = part
        .with_features(graph.features().map(|all| all.select(&nodes)))
        .and_then(|part| part.with_labels(graph.labels().map(|all| all.select(&nodes))))
        .expect("everything was selected for these nodes");
    Ok((part, scratch))
}

impl GraphSummary {
    /// The summary of a part of the graph.
    pub fn of_part(&self, part: &Graph) -> Self {
        let mut summary = Self::of(part, self.components, self.dropped);
        if let (Some(weights), Some(whole)) = (&mut summary.weights, &self.weights) {
            weights.source.clone_from(&whole.source);
        }
        summary
    }

    fn of(graph: &Graph, components: usize, dropped: DroppedTotals) -> Self {
        let degrees = || graph.nodes().map(|node| graph.degree(node));
        let degree = DegreeRange {
            min: degrees().min().unwrap_or(0),
            mean: graph.num_directed_edges() as f64 / graph.num_nodes().max(1) as f64,
            max: degrees().max().unwrap_or(0),
        };
        let class_names = graph.labels().map_or(Vec::new(), |labels| labels.class_names().to_vec());
        Self {
            nodes: graph.num_nodes(),
            edges: graph.num_edges(),
            directed_edges: graph.num_directed_edges(),
            symmetric: graph.is_symmetric(),
            weighted: graph.weights().is_some(),
            weights: graph.weights().filter(|weights| !weights.is_empty()).map(WeightRange::of),
            features: graph.features().map_or(0, super::Features::width),
            classes: class_names.len(),
            class_names,
            components,
            degree,
            isolated_nodes: degrees().filter(|&degree| degree == 0).count(),
            held_out_edges: graph.held_out().map_or(0, |pairs| pairs.edges().len()),
            dropped,
        }
    }
}
