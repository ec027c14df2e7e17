//! `l2g evaluate RUN`: score the embeddings of a run, into `6-evaluation`.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use local2global::evaluate::link_prediction::LinkRankings;
use local2global::evaluate::{
    ClassificationScores, Contender, EvaluateConfig, LinkScores, PairScores, Score, Scores, Spread, Task,
};
use local2global::pipeline::{GraphSource, Pipeline, PipelineError, StageName};

use super::partition::open_stage;
use crate::choice::choice;
use crate::context::Context;
use crate::cost::Record;
use crate::output::grouped;

/// Score the embedding of a run.
///
/// Compares the stitched embedding with patches that are not aligned, with training on the
/// whole graph (`6-evaluation/full.npy`) and the untrained model (`6-evaluation/untrained.npy`)
/// where those files are there, and with baselines that need no training: features smoothed
/// twice over the graph, raw features, and degrees. Reconstruction tells the edges of the graph
/// from as many non-edges. Link prediction does so for edges held out by `l2g graph --hold-out`,
/// by inner product and by cosine, against uniform non-edges and against ones with the degrees
/// of the edges. Classification trains logistic regression on some labelled nodes and tests it
/// on the others. Writes `6-evaluation/scores.json`, where the stitched embedding is called
/// `l2g`, the unaligned one `no_trans` and that of the whole graph `full`.
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

    /// The most edges, and the most labelled nodes, to use; more are sampled [default: 500000
    /// edges, 50000 nodes]
    #[arg(long, value_name = "N")]
    samples: Option<usize>,

    /// How many random splits to classify nodes on [default: 10, above 20000 nodes 3]
    #[arg(long, value_name = "N", conflicts_with = "split")]
    repeats: Option<usize>,

    /// Classify nodes on this split: `id part` in each line, part being train or test
    #[arg(long, value_name = "FILE")]
    split: Option<PathBuf>,
}

choice! {
    TaskArg for Task {
        /// Tell the edges of the graph from non-edges
        Reconstruction,
        /// Tell held-out edges from non-edges
        LinkPrediction,
        /// Tell the classes of nodes
        Classification,
    }
}

pub(crate) fn execute(args: &EvaluateArgs, context: &Context) -> anyhow::Result<()> {
    let mut work = open_stage(&args.run, StageName::Evaluate, context)?;
    work.config.evaluate = settings(args, &work.config.evaluate);
    if work.config.evaluate.full {
        work.check_commands(context)?;
    }
    work.prepare()?;
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
    let record = Record::new(&scores, &args.run, context);
    let mut rows = rows(&scores);
    rows.extend(record.cost.rows());
    rows.push(("scores", run.evaluation().scores().display().to_string()));
    context.output.show(&record, &rows)
}

/// The settings of the stage, flags included.
fn settings(args: &EvaluateArgs, config: &EvaluateConfig) -> EvaluateConfig {
    let mut config = config.clone();
    let tasks = args.tasks.as_ref().map(|tasks| tasks.iter().map(|&task| task.into()).collect());
    config.tasks = tasks.or(config.tasks);
    config.samples = args.samples.or(config.samples);
    config.repeats = args.repeats.or(config.repeats);
    config.split = args.split.clone().or(config.split);
    config
}

/// The scores, as rows of a table: a block for each task, then what they mean.
pub(crate) fn rows(scores: &Scores) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    // What contenders are is said once, in the first block.
    let mut notes = Notes::Told;
    if let Some(pairs) = &scores.reconstruction {
        rows.extend(named(Task::Reconstruction, pair_lines(pairs, notes)));
        notes = Notes::Known;
    }
    if let Some(links) = &scores.link_prediction {
        rows.extend(named(Task::LinkPrediction, link_lines(links, notes)));
        notes = Notes::Known;
    }
    if let Some(classes) = &scores.classification {
        rows.extend(named(Task::Classification, class_lines(classes, notes)));
        if classes.unfinished_fits > 0 {
            let text = format!("{} classifiers did not reach their optimum", classes.unfinished_fits);
            rows.push(("warning", text));
        }
    }
    rows.extend(scores.left_out.iter().map(|(&task, reason)| (task.name(), left_out(task, reason))));
    rows.extend(scores.notes.iter().map(|note| ("left out", note.clone())));
    let names = std::iter::once("in words").chain(std::iter::repeat(""));
    rows.extend(names.zip(scores.findings.iter().cloned()));
    rows
}

/// Why a task is missing, and how to get it.
fn left_out(task: Task, reason: &str) -> String {
    match task {
        Task::LinkPrediction => format!("left out: {reason}; rerun with --hold-out 0.1"),
        _ => format!("left out: {reason}"),
    }
}

/// Lines under the name of a task.
fn named(task: Task, lines: Vec<String>) -> impl Iterator<Item = (&'static str, String)> {
    std::iter::once(task.name()).chain(std::iter::repeat("")).zip(lines)
}

/// Whether a block says what its contenders are.
#[derive(Clone, Copy, PartialEq)]
enum Notes {
    Told,
    Known,
}

/// A heading and a line for each contender, columns under each other.
fn block<'a>(
    heading: &[&str],
    notes: Notes,
    contenders: impl Iterator<Item = &'a Contender>,
    cells: impl Fn(Contender) -> Vec<String>,
) -> Vec<String> {
    let note = |contender| if notes == Notes::Told { meaning(contender) } else { "" };
    let mut lines = vec![("", heading.iter().map(|&text| text.to_owned()).collect::<Vec<_>>(), "")];
    lines.extend(contenders.map(|&contender| (contender.name(), cells(contender), note(contender))));
    let width = lines.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
    let of_column =
        |column: usize| lines.iter().map(move |(_, cells, _)| cells[column].chars().count()).max();
    let widths: Vec<usize> = (0..heading.len()).map(|column| of_column(column).unwrap_or(0)).collect();
    let line = |(name, cells, note): &(&str, Vec<String>, &str)| {
        let cells = cells.iter().zip(&widths).map(|(cell, &width)| format!("  {cell:<width$}"));
        format!("{name:<width$}{}  {note}", cells.collect::<String>()).trim_end().to_owned()
    };
    lines.iter().map(line).collect()
}

/// What a contender is, for people who have not read the paper.
fn meaning(contender: Contender) -> &'static str {
    match contender {
        Contender::Full => "trained on the whole graph at once",
        Contender::L2g => "the result: patches moved into one frame, copies averaged",
        Contender::NoTrans => "the same patches, averaged without moving them",
        Contender::Untrained => "the model before training",
        Contender::Smoothed => "features averaged over neighbours, twice",
        Contender::Features => "features as they are",
        Contender::Degrees => "how many neighbours a node has, nothing else",
    }
}

/// What the figure is.
const AUC: &str = "AUC is how often an edge scores above a non-edge (0.5 is guessing, 1 perfect)";

/// A score to three digits; nothing where there is none.
fn digits(score: Option<&f64>) -> String {
    score.map_or_else(|| "-".to_owned(), |score| format!("{score:.3}"))
}

fn pair_lines(pairs: &PairScores, notes: Notes) -> Vec<String> {
    let mut lines = block(&["AUC", "AP"], notes, pairs.auc.keys(), |contender| {
        vec![digits(pairs.auc.get(&contender)), digits(pairs.average_precision.get(&contender))]
    });
    let edges = sample_of(pairs.edges, pairs.of_edges, "edges");
    lines.push(format!(
        "on {edges} and {} non-edges; {AUC}, AP the average precision",
        grouped(pairs.non_edges)
    ));
    lines
}

fn link_lines(links: &LinkScores, notes: Notes) -> Vec<String> {
    let name = match links.score {
        Score::InnerProduct => "inner product",
        Score::Distance => "distance",
        Score::Cosine => "cosine",
    };
    let sides: Vec<&LinkRankings> = [&links.uniform].into_iter().chain(&links.matched).collect();
    let heading = [name, "cosine", &format!("matched: {name}"), "cosine"];
    let mut lines = block(&heading[..2 * sides.len()], notes, links.uniform.best.keys(), |contender| {
        let both = |side: &LinkRankings| {
            [digits(side.by_score.auc.get(&contender)), digits(side.cosine.auc.get(&contender))]
        };
        sides.iter().flat_map(|side| both(side)).collect()
    });
    let edges = sample_of(links.edges, links.of_edges, "held-out edges");
    let non_edges = grouped(links.uniform.non_edges);
    let matched = links.matched.as_ref().map_or(String::new(), |matched| {
        format!("; matched: {} non-edges with the degrees of the edges", grouped(matched.non_edges))
    });
    lines.push(format!("AUC on {edges} and {non_edges} uniform non-edges{matched}"));
    if notes == Notes::Told {
        lines.push(AUC.to_owned());
    }
    lines
}

/// `5 069 edges`, or `a sample of 1 000 000 of 12 345 678 edges`.
fn sample_of(count: usize, total: usize, what: &str) -> String {
    match count < total {
        true => format!("a sample of {} of {} {what}", grouped(count), grouped(total)),
        false => format!("{} {what}", grouped(count)),
    }
}

fn class_lines(scores: &ClassificationScores, notes: Notes) -> Vec<String> {
    let heading = ["accuracy", "micro F1", "macro F1"];
    let mut lines = block(&heading, notes, scores.accuracy.keys(), |contender| {
        let measures = [&scores.accuracy, &scores.micro_f1, &scores.macro_f1];
        measures.map(|by_contender| spread(&by_contender[&contender])).to_vec()
    });
    let (train, test) = (grouped(scores.train_nodes), grouped(scores.test_nodes));
    let parts = format!("{train} nodes to train on, {test} to test on");
    lines.push(match scores.given_split {
        true => format!("on the given split, {parts}"),
        false => {
            let nodes = sample_of(scores.nodes, scores.of_nodes, "labelled nodes");
            let plural = if scores.repeats == 1 { "" } else { "s" };
            format!(
                "the class of a node from its coordinates, on {nodes}, {} random split{plural}: {parts}",
                scores.repeats
            )
        }
    });
    if scores.multi_label {
        lines.push(format!("nodes have several of {} classes", scores.classes));
    }
    lines
}

/// `0.812 ± 0.009`.
fn spread(spread: &Spread) -> String {
    let std = spread.std.map_or(String::new(), |std| format!(" ± {std:.3}"));
    format!("{:.3}{std}", spread.mean)
}
