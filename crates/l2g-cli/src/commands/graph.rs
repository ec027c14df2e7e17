//! `l2g graph GRAPH`: read, clean, keep the largest component, write `1-graph`.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use local2global::config::Config;
use local2global::graph::builtin;
use local2global::graph::external::Workspace;
use local2global::graph::input::{GraphInput, stem_of};
use local2global::graph::io::{Delimiter, EdgeColumns, Format, Weights};
use local2global::graph::load::{Component, DroppedTotals, GraphConfig, GraphSummary, Loaded, WeightRange};
use local2global::graph::store;
use local2global::pipeline::{RunLock, Sharing, StageName};
use local2global::run_dir::{RunDir, remove_work_folders};

use crate::choice::choice;
use crate::context::Context;
use crate::cost::Record;
use crate::output::grouped;
use crate::stage::StageWork;

/// The graph to read, and how.
#[derive(Clone, Debug, Args)]
pub(crate) struct InputArgs {
    /// A file of node features, rows in order or named by `id`: .npy, .npz, .parquet, CSV or TSV
    #[arg(long, value_name = "FILE")]
    features: Option<PathBuf>,

    /// A file of node labels: .npy (in order), .parquet, or text with `id label` in each line
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,

    /// A public part of the graph that every federated site reads along with its own: nodes and edges under the
    /// ids of all sites; its features stand in the table of `--features`
    #[arg(long, value_name = "FILE")]
    reference: Option<String>,

    /// The format of GRAPH, where its name does not tell
    #[arg(long, value_name = "FORMAT")]
    format: Option<FormatArg>,

    /// The columns of an edge, by name or number from 1 [default: by their names, or 1,2[,3]]
    #[arg(long, value_name = "SRC,DST[,WEIGHT]")]
    columns: Option<EdgeColumns>,

    /// What separates columns: a character, tab or space [default: found out]
    #[arg(long, value_name = "CHAR")]
    delimiter: Option<Delimiter>,

    /// Read no weights, whatever a third column or one named weight holds
    #[arg(long)]
    no_weights: bool,

    /// Which part to keep [default: largest]
    #[arg(long, value_name = "PART")]
    component: Option<ComponentArg>,

    /// Keep the direction of edges, instead of putting each into both directions
    #[arg(long)]
    directed: bool,

    /// Hold out this share of the edges for link prediction, before all else [default: 0]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    hold_out: Option<f64>,

    /// Where named data sets lie, as NAME.npz; also $L2G_DATA
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

choice! {
    FormatArg for Format {
        EdgeList, Csv, Tsv, Parquet, Npy, Npz, MatrixMarket, JsonLines,
        #[value(name = "graphml")]
        GraphMl,
        #[value(name = "webgraph")]
        WebGraph,
    }
}

choice! {
    ComponentArg for Component {
        /// The largest connected component
        Largest,
        /// Everything, connected or not
        All,
    }
}

/// Read a graph, clean it, and write it into a run folder.
///
/// GRAPH is the built-in `cora`, another known data set (amazon-photo, citeseer, pubmed)
/// that lies as NAME.npz in `--data DIR`, or a file: an edge list as text, CSV or TSV
/// (`source target [weight]`, `#` comments, .gz and .zst), a Parquet table with the columns
/// src, dst[, weight], a .npy edge index (2 x E or E x 2), a .npz archive (gnn-benchmark,
/// scipy CSR or edge_index), a Matrix Market file, JSON lines (`{"source": 0, "target": 1}`),
/// GraphML, or, if built in, NAME.graph of WebGraph beside NAME.properties. `-` is standard input; from a pipe, the
/// first bytes or `--format` tell the format.
///
/// Several files are read one after the other, as if they were one: name them all, or a folder
/// (all its files, without those that begin with `.` or `_`, and folders such as `year=2024`), or
/// a pattern in quotes. All have weights, or none, and integers as ids, or text.
///
/// Edges are put into both directions, duplicates are merged, self-loops are dropped, and
/// the largest connected component is kept. Node ids, integers or names, are kept beside it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  l2g graph cora\n  l2g graph edges.csv.gz --out runs/mine \
    --features x.npy\n  l2g graph 'edges/part-*.parquet' --memory 1G\n  zcat web.gz | l2g graph - --component all --json")]
pub(crate) struct GraphArgs {
    /// A data set by name, files, folders, or `-` for standard input
    #[arg(required = true)]
    graph: Vec<String>,

    /// The run folder to write into [default: runs/NAME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    #[command(flatten)]
    input: InputArgs,
}

pub(crate) fn execute(args: &GraphArgs, context: &Context) -> anyhow::Result<()> {
    let input = GraphInput::from(args.graph.clone());
    let out = args.out.clone().unwrap_or_else(|| default_folder(&input));
    let run = RunDir::new(&out);
    let lock = RunLock::take(&run, Sharing::Alone)?;
    remove_work_folders(run.root())?;
    let loaded = args.input.load(&args.input.settings(&input, context), run.root(), context)?;
    let mut work = StageWork::begin_locked(run, lock, StageName::Graph, context)?;
    let folder = work.run.graph();
    store::write_loaded(&folder, &loaded)?;
    work.config = Config { graph: args.input.settings(&input, context), ..context.config.clone() };
    work.finish(&args.input.data_folders(), context)?;
    let record = Record::new(&loaded.summary, &out, context);
    let mut rows = rows(&loaded.summary);
    rows.extend(record.cost.rows());
    rows.push(("graph", folder.display().to_string()));
    context.output.show(&record, &rows)
}

impl InputArgs {
    /// The settings of the graph stage, flags included.
    pub(crate) fn settings(&self, graph: &GraphInput, context: &Context) -> GraphConfig {
        let mut config = context.config.graph.clone();
        let known = graph.names();
        let reference = self.reference.iter().filter(|file| !known.contains(file));
        config.input = Some(known.iter().chain(reference).cloned().collect::<Vec<_>>().into());
        config.format = self.format.map(Into::into).or(config.format);
        config.columns = self.columns.clone().or(config.columns);
        config.delimiter = self.delimiter.or(config.delimiter);
        if self.no_weights {
            config.weights = Weights::None;
        }
        config.features = self.features.clone().or(config.features);
        config.labels = self.labels.clone().or(config.labels);
        config.component = self.component.map_or(config.component, Into::into);
        config.symmetrise &= !self.directed;
        config.hold_out = self.hold_out.unwrap_or(config.hold_out);
        config
    }

    /// Reads the graph that the settings name. What does not fit into memory goes to a folder in
    /// `room`.
    pub(crate) fn load(
        &self,
        config: &GraphConfig,
        room: &Path,
        context: &Context,
    ) -> anyhow::Result<Loaded> {
        let name = config.graph_input();
        let workspace = Workspace { limit: context.config.memory_limit(), folder: room.to_owned() };
        let folders = self.data_folders();
        let loaded = builtin::open_within(name.names(), &folders, config, &workspace, &context.progress)
            .with_context(|| format!("could not read the graph `{name}`"))?;
        loaded
            .hold_out(config.hold_out, context.config.seed)
            .with_context(|| format!("could not hold out edges of `{name}`"))
    }

    /// Where named data sets are looked for.
    pub(crate) fn data_folders(&self) -> Vec<PathBuf> {
        let from_environment = std::env::var_os("L2G_DATA").map(PathBuf::from);
        let folders: Vec<PathBuf> = self.data.clone().into_iter().chain(from_environment).collect();
        match folders.is_empty() {
            true => vec![PathBuf::from(".")],
            false => folders,
        }
    }
}

/// A number from 0 to below 1.
fn share(text: &str) -> Result<f64, String> {
    let found = text.parse().ok().filter(|share| (0.0..1.0).contains(share));
    found.ok_or_else(|| "needed a number of at least 0 and below 1".to_owned())
}

/// `runs/cora` for `cora`, `runs/edges` for `some/edges.csv.gz` and for `edges/part-*.csv`, `runs/stdin`
/// for `-`; the first of several names counts.
pub(crate) fn default_folder(graph: &GraphInput) -> PathBuf {
    let name = match graph.names().first().map(String::as_str) {
        Some("-") => Some("stdin".to_owned()),
        Some(name) => stem_of(name),
        None => None,
    };
    Path::new("runs").join(name.unwrap_or_else(|| "graph".to_owned()))
}

/// The graph that the command line names, or else the settings.
pub(crate) fn input_of(names: &[String], config: &Config) -> GraphInput {
    match names.is_empty() {
        true => config.graph.graph_input(),
        false => names.to_vec().into(),
    }
}

/// The counts, as rows of a table.
pub(crate) fn rows(summary: &GraphSummary) -> Vec<(&'static str, String)> {
    let degree = &summary.degree;
    let mut rows = vec![
        ("nodes", grouped(summary.nodes)),
        ("edges", grouped(summary.edges)),
        (
            "degree",
            format!("{} to {} neighbours, {:.1} on average", degree.min, grouped(degree.max), degree.mean),
        ),
        ("features", grouped(summary.features)),
        ("classes", grouped(summary.classes)),
        ("components", grouped(summary.components)),
    ];
    if let Some(WeightRange { min, mean, max, source }) = &summary.weights {
        let source = source.as_ref().map(|source| format!(", from {source}")).unwrap_or_default();
        rows.insert(3, ("weights", format!("{min} to {max}, mean {mean:.3}{source}")));
    }
    if summary.isolated_nodes > 0 {
        rows.push(("isolated", format!("{} nodes", grouped(summary.isolated_nodes))));
    }
    if summary.held_out_edges > 0 {
        rows.push(("held out", format!("{} edges, for link prediction", grouped(summary.held_out_edges))));
    }
    let left_out = left_out(&summary.dropped);
    if !left_out.is_empty() {
        rows.push(("left out", left_out.join(", ")));
    }
    rows
}

/// What the input had and the graph has not, in words.
fn left_out(dropped: &DroppedTotals) -> Vec<String> {
    let DroppedTotals { nodes, edges, labels, listed } = dropped;
    let outside =
        format!("{} nodes and {} edges outside the largest component", grouped(*nodes), grouped(*edges));
    let counted = |count: usize, what: &str| (count > 0).then(|| format!("{} {what}", grouped(count)));
    [
        (*nodes > 0).then_some(outside),
        counted(listed.duplicates, "edges listed again"),
        counted(listed.self_loops, "self-loops"),
        counted(listed.zero_weights, "edges of weight 0"),
        counted(*labels, "labels of other nodes"),
    ]
    .into_iter()
    .flatten()
    .collect()
}
