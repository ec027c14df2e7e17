//! `l2g generate KIND`: synthetic graphs with known truth.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use local2global::generate::{
    BlockModel, ClassFeatures, Degrees, GenerateError, Generator, Geometric, GraphKind, Outputs,
    RingOfCliques, Rmat, Written,
};
use local2global::run_dir::is_standard_output;
use local2global::seed::Seed;
use local2global::write::OutputFormat;
use serde::Serialize;

use crate::choice::choice;
use crate::context::{Context, UsageError};
use crate::cost::Cost;
use crate::output::grouped;

/// Make a synthetic graph with known truth.
///
/// Edges go to the file as they are drawn, so that a graph may be larger than memory. Every
/// undirected edge is listed once, without loops; the same seed gives the same bytes.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    l2g generate block-model --nodes 10000 --communities 20 --features 500 --out graph.npz\n  \
    l2g generate rmat --nodes 4194304 --edges 100000000 --out edges.npy\n  \
    l2g generate ring-of-cliques --out ring.csv --labels-out labels.csv")]
pub(crate) struct GenerateArgs {
    #[command(subcommand)]
    kind: KindArgs,
}

/// The kinds of graphs; the help of each is the documentation of its arguments.
#[derive(Debug, Subcommand)]
enum KindArgs {
    BlockModel(BlockModelArgs),
    Rmat(RmatArgs),
    RingOfCliques(RingOfCliquesArgs),
    Geometric(GeometricArgs),
}

/// Communities with any degrees: the degree-corrected block model.
///
/// Every node has an expected degree and a community. The share 1 - MIXING of its edges stays
/// in the community, the rest goes anywhere. Counts are expectations; labels are communities.
#[derive(Debug, Args)]
struct BlockModelArgs {
    /// Nodes
    #[arg(long, value_name = "N", default_value_t = 1000)]
    nodes: usize,

    /// Communities, equally large
    #[arg(long, value_name = "N", default_value_t = 10)]
    communities: usize,

    /// Expected degree, averaged over all nodes
    #[arg(long, value_name = "DEGREE", default_value_t = 10.0)]
    mean_degree: f64,

    /// Share of edges that ignore communities: 0 none, 1 all
    #[arg(long, value_name = "SHARE", default_value_t = 0.2)]
    mixing: f64,

    /// Draw expected degrees from a power law with this exponent [default: all degrees equal]
    #[arg(long, value_name = "EXPONENT")]
    exponent: Option<f64>,

    /// Largest expected degree of the power law [default: the root of a community's total]
    #[arg(long, value_name = "DEGREE", requires = "exponent")]
    max_degree: Option<f64>,

    #[command(flatten)]
    features: FeatureArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// Self-similar graphs with heavy-tailed degrees: R-MAT.
///
/// An edge chooses the bits of its two ends level by level: both 0 with probability A, one of
/// them 1 with probability 2 B, both 1 with the rest. Hubs have low numbers. Edges drawn again
/// count once, so that there are fewer than drawn.
#[derive(Debug, Args)]
struct RmatArgs {
    /// Nodes, a power of two
    #[arg(long, value_name = "N", default_value_t = 1024)]
    nodes: usize,

    /// Expected number of draws [default: 16 per node]
    #[arg(long, value_name = "N")]
    edges: Option<usize>,

    /// Share of edges within the first half, on every level
    #[arg(long, value_name = "SHARE", default_value_t = 0.57)]
    a: f64,

    /// Share of edges from the first half to the second, and as many back
    #[arg(long, value_name = "SHARE", default_value_t = 0.19)]
    b: f64,

    #[command(flatten)]
    output: OutputArgs,
}

/// Complete graphs in a ring: communities nobody can miss.
///
/// Neighbouring cliques share one edge. Only features are random; labels are cliques.
#[derive(Debug, Args)]
struct RingOfCliquesArgs {
    /// Cliques
    #[arg(long, value_name = "N", default_value_t = 10)]
    cliques: usize,

    /// Nodes of each clique
    #[arg(long, value_name = "N", default_value_t = 20)]
    clique_size: usize,

    #[command(flatten)]
    features: FeatureArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// Points in the unit square, joined where they are near.
///
/// The distance is chosen so that nodes have the mean degree in expectation.
#[derive(Debug, Args)]
struct GeometricArgs {
    /// Nodes
    #[arg(long, value_name = "N", default_value_t = 1000)]
    nodes: usize,

    /// Expected degree, averaged over all nodes
    #[arg(long, value_name = "DEGREE", default_value_t = 10.0)]
    mean_degree: f64,

    /// Give every node its position as features
    #[arg(long)]
    positions: bool,

    #[command(flatten)]
    output: OutputArgs,
}

/// Sparse binary features that tell the class of a node, more or less.
#[derive(Debug, Args)]
struct FeatureArgs {
    /// Give every node sparse binary features, with this many columns
    #[arg(long, value_name = "COLUMNS")]
    features: Option<usize>,

    /// Expected number of ones per node
    #[arg(long, value_name = "N", default_value_t = 16.0, requires = "features")]
    words: f64,

    /// Share of ones that lie in the columns of the node's class
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, requires = "features")]
    signal: f64,
}

/// Where the graph goes.
#[derive(Debug, Args)]
struct OutputArgs {
    /// The file to write: .txt .csv .tsv (also .gz, .zst), .parquet, .npy, .npz, .mtx; `-` is
    /// standard output, for text and Parquet
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    /// Divide the edges into N files of the folder FILE, part-00000.parquet and so on (with
    /// `--format` .txt, .csv, .tsv or .npy), which `l2g graph FILE` reads as one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=99_999))]
    parts: Option<u32>,

    /// The format, where the name does not tell, or for scipy's own .npz
    #[arg(long, value_name = "FORMAT")]
    format: Option<FormatArg>,

    /// A file for the features, .npz (sparse) or .npy (dense); only .npz graphs hold them
    #[arg(long, value_name = "FILE")]
    features_out: Option<PathBuf>,

    /// A file for the labels, `id,label` as text; only .npz graphs hold them
    #[arg(long, value_name = "FILE")]
    labels_out: Option<PathBuf>,
}

choice! {
    FormatArg for OutputFormat {
        EdgeList, Csv, Tsv, Parquet, Npy, Npz, ScipyNpz, MatrixMarket,
    }
}

#[derive(Serialize)]
struct Record<'a> {
    #[serde(flatten)]
    settings: Settings<'a>,
    #[serde(flatten)]
    written: &'a Written,
    #[serde(flatten)]
    cost: Cost,
}

#[derive(Serialize)]
struct Settings<'a> {
    settings: &'a GraphKind,
    seed: Seed,
}

pub(crate) fn execute(args: GenerateArgs, context: &Context) -> anyhow::Result<()> {
    let (kind, output) = args.kind.into_settings();
    let seed = context.config.seed;
    let streams = is_standard_output(&output.out);
    if streams {
        context.output.give_up_standard_output()?;
    }
    let written = kind.prepare(seed).map_err(usage_error)?.write(&output.into(), &context.progress)?;
    if streams {
        let (nodes, edges) = (grouped(written.nodes), grouped(written.edges));
        let line = format!("{nodes} nodes, {edges} edges written to standard output");
        context.progress.tell(&line, "result", &written);
        return Ok(());
    }
    let record = Record {
        settings: Settings { settings: &kind, seed },
        written: &written,
        cost: Cost::so_far(context),
    };
    let mut rows = vec![
        ("nodes", grouped(written.nodes)),
        ("edges", grouped(written.edges)),
        ("features", grouped(written.features)),
        ("classes", grouped(written.classes)),
    ];
    rows.extend(record.cost.rows());
    rows.extend(written.files.iter().map(|file| ("written", file.display().to_string())));
    context.output.show(&record, &rows)
}

/// Names the flag instead of the setting.
fn usage_error(error: GenerateError) -> anyhow::Error {
    match error {
        GenerateError::Setting { name, found, needed } => {
            let flag = match name {
                "features.width" => "features".to_owned(),
                _ => name.trim_start_matches("features.").replace('_', "-"),
            };
            UsageError(format!("--{flag} is {found}, needed {needed}")).into()
        }
        error => error.into(),
    }
}

impl KindArgs {
    fn into_settings(self) -> (GraphKind, OutputArgs) {
        match self {
            Self::BlockModel(args) => {
                let degrees = match args.exponent {
                    Some(exponent) => Degrees::PowerLaw { exponent, max_degree: args.max_degree },
                    None => Degrees::Uniform,
                };
                let (nodes, communities) = (args.nodes, args.communities);
                let (mean_degree, mixing, features) = (args.mean_degree, args.mixing, args.features.into());
                let model = BlockModel { nodes, communities, mean_degree, mixing, degrees, features };
                (GraphKind::BlockModel(model), args.output)
            }
            Self::Rmat(RmatArgs { nodes, edges, a, b, output }) => {
                let edges = edges.unwrap_or(nodes.saturating_mul(16));
                (GraphKind::Rmat(Rmat { nodes, edges, a, b }), output)
            }
            Self::RingOfCliques(RingOfCliquesArgs { cliques, clique_size, features, output }) => {
                let ring = RingOfCliques { cliques, clique_size, features: features.into() };
                (GraphKind::RingOfCliques(ring), output)
            }
            Self::Geometric(GeometricArgs { nodes, mean_degree, positions, output }) => {
                (GraphKind::Geometric(Geometric { nodes, mean_degree, positions }), output)
            }
        }
    }
}

impl From<FeatureArgs> for Option<ClassFeatures> {
    fn from(args: FeatureArgs) -> Self {
        args.features.map(|width| ClassFeatures { width, words: args.words, signal: args.signal })
    }
}

impl From<OutputArgs> for Outputs {
    fn from(args: OutputArgs) -> Self {
        Self {
            graph: args.out,
            format: args.format.map(Into::into),
            parts: args.parts.map(|parts| parts as usize),
            features: args.features_out,
            labels: args.labels_out,
        }
    }
}
