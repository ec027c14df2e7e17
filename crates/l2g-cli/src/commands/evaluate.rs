//! `l2g evaluate RUN`: score the embeddings of a run, into `6-evaluation`.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use local2global::evaluate::{ClassificationScores, EvaluateConfig, PairScores, Scores, Spread, Task};
use local2global::memory;
use local2global::pipeline::{GraphSource, Pipeline, PipelineError, StageName};
use serde::Serialize;

use super::partition::open_stage;
use crate::context::Context;
use crate::output::{bytes, grouped};

/// Score the embedding of a run.
///
/// Compares the stitched embedding (l2g) with the mean over patches without transforms
/// (no-trans) and, if `6-evaluation/full.npy` is there, with one trained on the whole graph
/// (full). Reconstruction tells the edges of the graph from as many non-edges. Link prediction
/// does so for edges held out by `l2g graph --hold-out`. Classification trains logistic
/// regression on some labelled nodes and tests it on the others. Writes
/// `6-evaluation/scores.json`.
///
/// Large graphs are sampled, and the table says so. Settings are those of the table
/// `[evaluate]`, as in `--set evaluate.train_share=0.5`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  l2g evaluate runs/cora\n  l2g evaluate runs/cora --tasks \
    classification --repeats 20\n  l2g evaluate runs/cora --split planetoid.csv --json\n  \
    l2g graph cora --hold-out 0.1 && ... && l2g evaluate runs/cora --tasks link-prediction")]
pub(crate) struct EvaluateArgs {
    /// The run folder, with the embedding in `5-alignment`
    run: PathBuf,

    /// What to score on [default: all that the graph allows]
    #[arg(long, value_name = "TASKS", value_delimiter = ',')]
    tasks: Option<Vec<TaskArg>>,

    /// The most edges, and the most labelled nodes, to use; more are sampled [default: 1000000]
    #[arg(long, value_name = "N")]
    samples: Option<usize>,

    /// How many random splits to classify nodes on [default: 10]
    #[arg(long, value_name = "N", conflicts_with = "split")]
    repeats: Option<usize>,

    /// Classify nodes on this split: `id part` in each line, part being train or test
    #[arg(long, value_name = "FILE")]
    split: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum TaskArg {
    /// Tell the edges of the graph from non-edges
    Reconstruction,
    /// Tell held-out edges from non-edges
    LinkPrediction,
    /// Tell the classes of nodes
    Classification,
}

#[derive(Serialize)]
struct Record<'a> {
    #[serde(flatten)]
    scores: &'a Scores,
    seconds: f64,
    peak_bytes: Option<u64>,
    out: &'a Path,
}

pub(crate) fn execute(args: &EvaluateArgs, context: &Context) -> anyhow::Result<()> {
    let mut work = open_stage(&args.run, StageName::Evaluate, context)?;
    work.config.evaluate = settings(args, &work.config.evaluate);
    let run = work.run.clone();
    let pipeline = Pipeline::new(&run, work.config.clone(), GraphSource::Settings(&[]));
    let scores = pipeline
        .evaluate(&context.progress)
        .map_err(|error| match error {
            PipelineError::Evaluate(error) => anyhow::Error::from(error),
            other => other.into(),
        })
        .with_context(|| format!("could not evaluate run `{}`", args.run.display()))?;
    work.finish(&[], context)?;
    let record = Record {
        scores: &scores,
        seconds: context.started.elapsed().as_secs_f64(),
        peak_bytes: memory::peak_bytes(),
        out: &args.run,
    };
    let mut rows = rows(&scores);
    rows.push(("seconds", format!("{:.2}", record.seconds)));
    rows.extend(record.peak_bytes.map(|peak| ("peak memory", bytes(peak))));
    rows.push(("scores", run.evaluation().join("scores.json").display().to_string()));
    context.output.show(&record, &rows)
}

/// The settings of the stage, flags included.
fn settings(args: &EvaluateArgs, config: &EvaluateConfig) -> EvaluateConfig {
    let mut config = config.clone();
    let tasks = args.tasks.as_ref().map(|tasks| tasks.iter().map(|&task| task.into()).collect());
    config.tasks = tasks.or(config.tasks);
    config.samples = args.samples.unwrap_or(config.samples);
    config.repeats = args.repeats.unwrap_or(config.repeats);
    config.split = args.split.clone().or(config.split);
    config
}

/// The scores, as rows of a table.
pub(crate) fn rows(scores: &Scores) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    if let Some(pairs) = &scores.reconstruction {
        rows.push(("reconstruction", rankings(pairs)));
        rows.push(("", counts(pairs, "edges")));
    }
    if let Some(pairs) = &scores.link_prediction {
        rows.push(("link prediction", rankings(pairs)));
        rows.push(("", counts(pairs, "held-out edges")));
    }
    if let Some(classes) = &scores.classification {
        rows.extend(class_rows(classes));
    }
    rows.extend(scores.left_out.iter().map(|(task, reason)| (task.name(), format!("left out: {reason}"))));
    rows
}

/// `l2g AUC 0.994 AP 0.993; no-trans AUC 0.871 AP 0.866`.
fn rankings(pairs: &PairScores) -> String {
    let each = pairs.auc.iter().map(|(scenario, auc)| {
        format!("{scenario} AUC {auc:.3} AP {:.3}", pairs.average_precision[scenario])
    });
    each.collect::<Vec<_>>().join("; ")
}

fn counts(pairs: &PairScores, what: &str) -> String {
    let edges = sample_of(pairs.edges, pairs.of_edges, what);
    format!("on {edges} and {} non-edges", grouped(pairs.non_edges))
}

/// `5 069 edges`, or `a sample of 1 000 000 of 12 345 678 edges`.
fn sample_of(count: usize, total: usize, what: &str) -> String {
    match count < total {
        true => format!("a sample of {} of {} {what}", grouped(count), grouped(total)),
        false => format!("{} {what}", grouped(count)),
    }
}

fn class_rows(scores: &ClassificationScores) -> Vec<(&'static str, String)> {
    let quality = |(scenario, accuracy): (_, &Spread)| {
        let micro = spread(&scores.micro_f1[scenario]);
        let macros = spread(&scores.macro_f1[scenario]);
        format!("{scenario} accuracy {}, micro F1 {micro}, macro F1 {macros}", spread(accuracy))
    };
    let names = std::iter::once("classification").chain(std::iter::repeat(""));
    let mut rows: Vec<_> = names.zip(scores.accuracy.iter().map(quality)).collect();
    let (train, test) = (grouped(scores.train_nodes), grouped(scores.test_nodes));
    let parts = format!("{train} nodes to train on, {test} to test on");
    rows.push(match scores.given_split {
        true => ("", format!("on the given split, {parts}")),
        false => {
            let nodes = sample_of(scores.nodes, scores.of_nodes, "labelled nodes");
            let plural = if scores.repeats == 1 { "" } else { "s" };
            ("", format!("on {nodes}, {} random split{plural}: {parts}", scores.repeats))
        }
    });
    if scores.multi_label {
        rows.push(("", format!("nodes have several of {} classes", scores.classes)));
    }
    if scores.unfinished_fits > 0 {
        let text = format!("{} classifiers did not reach their optimum", scores.unfinished_fits);
        rows.push(("warning", text));
    }
    rows
}

/// `0.812 ± 0.009`.
fn spread(spread: &Spread) -> String {
    let std = spread.std.map_or(String::new(), |std| format!(" ± {std:.3}"));
    format!("{:.3}{std}", spread.mean)
}

impl From<TaskArg> for Task {
    fn from(task: TaskArg) -> Self {
        match task {
            TaskArg::Reconstruction => Self::Reconstruction,
            TaskArg::LinkPrediction => Self::LinkPrediction,
            TaskArg::Classification => Self::Classification,
        }
    }
}
