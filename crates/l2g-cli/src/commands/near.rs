//! `l2g near RUN ID...`: the nodes nearest to some nodes, or to vectors.

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use local2global::evaluate::Contender;
use local2global::graph::NodeId;
use local2global::graph::ids::IdRef;
use local2global::graph::io::open_stream;
use local2global::near::files::NamedRows;
use local2global::near::{Neighbor, Query, Search, Similarity, names, vectors};
use local2global::pipeline::{StageName, check_lineage};
use local2global::run_dir::RunDir;
use local2global::write::push_field;
use serde::Serialize;
use serde_json::Value;

use crate::choice::choice;
use crate::context::Context;
use crate::cost::Cost;
use crate::output::{ListRecord, columns, print};

/// Find the nodes nearest to some nodes, or to vectors, in the embedding of a run.
///
/// The search is exact: every row of the embedding is compared, in parallel, and the answer is the
/// same on any number of threads. Nodes are named as in your input. A file of ids is answered as it
/// is read, one line for each neighbour: what was asked for, rank, id, score and label, separated by
/// tabs.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  l2g near runs/cora 35 -k 5\n  l2g near runs/mine ann bob --score inner-product --json\n  \
    cut -f1 people.tsv | l2g near runs/mine --ids - > near.tsv\n  l2g near runs/cora --vector centre.npy"
)]
pub(crate) struct NearArgs {
    /// The run folder, with the embedding in `5-alignment`
    run: PathBuf,

    /// Ids of nodes, as in the input
    #[arg(value_name = "ID", required_unless_present_any = ["ids", "vector"])]
    nodes: Vec<String>,

    /// A file with the id of a node in each line; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "nodes")]
    ids: Option<PathBuf>,

    /// A file of vectors to look for: .npy, or text with the numbers of one vector a line; `-` is
    /// standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["nodes", "ids"])]
    vector: Option<PathBuf>,

    /// How many neighbours of each
    #[arg(short, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u32).range(1..))]
    k: u32,

    /// How nearness is measured
    #[arg(long, value_name = "SCORE", default_value = "cosine")]
    score: ScoreArg,

    /// Which embedding of the run
    #[arg(long, value_name = "NAME", default_value = "l2g")]
    embedding: EmbeddingArg,
}

choice! {
    pub(crate) ScoreArg for Similarity {
        /// By direction alone: the inner product of rows of length 1
        Cosine,
        /// By direction and length
        InnerProduct,
    }
}

choice! {
    pub(crate) EmbeddingArg for Contender {
        /// The stitched one, the result of a run
        L2g,
        /// The same patches, averaged without moving them
        NoTrans,
        /// The one trained on the whole graph, by `l2g run --full`
        Full,
        /// The model before training, where the method has one
        Untrained,
    }
}

/// What `--json` says once, before the neighbours.
#[derive(Serialize)]
struct Head {
    score: Similarity,
    embedding: Contender,
    k: u32,
    nodes: usize,
    dim: usize,
}

/// What was asked for, and its neighbours.
#[derive(Serialize)]
struct Answer {
    query: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    nearest: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    id: Value,
    score: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
}

pub(crate) fn execute(args: &NearArgs, context: &Context) -> anyhow::Result<()> {
    let run = RunDir::new(&args.run);
    let could_not = || format!("could not search run `{}`", args.run.display());
    let contender = args.embedding.into();
    check_lineage(&run, stage_of(contender)).with_context(could_not)?;
    let rows = NamedRows::open(&run, contender).with_context(could_not)?;
    let asked = Asked { args, rows: &rows, context };
    match (&args.ids, &args.vector) {
        (Some(path), _) => asked.about_file(path),
        (_, Some(path)) => asked.about_vectors(path),
        _ => asked.about_nodes(&args.nodes),
    }
}

/// The stage that leaves an embedding.
fn stage_of(contender: Contender) -> StageName {
    match contender {
        Contender::L2g | Contender::NoTrans => StageName::Align,
        _ => StageName::Evaluate,
    }
}

/// A search, and how it is told.
struct Asked<'a> {
    args: &'a NearArgs,
    rows: &'a NamedRows,
    context: &'a Context,
}

impl Asked<'_> {
    /// About nodes on the command line: everything is answered, or nothing.
    fn about_nodes(&self, ids: &[String]) -> anyhow::Result<()> {
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        self.show(&self.answers_for_ids(&self.search()?, &ids)?)
    }

    fn about_vectors(&self, path: &Path) -> anyhow::Result<()> {
        let vectors = vectors::read(path).context("could not read vectors")?;
        let queries: Vec<Query<'_>> = vectors.iter().map(|vector| Query::Vector(vector)).collect();
        let found = self.search()?.nearest(&queries, &self.context.progress)?;
        let answer = |(number, found): (usize, Vec<Neighbor>)| Answer {
            query: Value::from(number + 1),
            label: None,
            nearest: found.into_iter().map(|near| self.row(near)).collect(),
        };
        self.show(&found.into_iter().enumerate().map(answer).collect::<Vec<_>>())
    }

    /// About the nodes of a file, as it is read.
    fn about_file(&self, path: &Path) -> anyhow::Result<()> {
        let search = self.search()?;
        // The hints for files of edges do not suit a file of ids.
        let source = open_stream(path).map_err(|error| anyhow::anyhow!("could not read ids: {error}"))?;
        let mut lines = Lines { reader: BufReader::with_capacity(1 << 16, source), line: 0 };
        let mut list =
            self.context.output.json.then(|| ListRecord::begin(&self.head(), "queries")).transpose()?;
        if list.is_none() {
            print(&tabbed(&[self.heading()]))?;
        }
        let outcome = self.answer_lines(&search, &mut lines, list.as_mut());
        match list {
            Some(list) => list.end(&Cost::so_far(self.context), outcome),
            None => outcome,
        }
    }

    fn answer_lines(
        &self,
        search: &Search<'_>,
        lines: &mut Lines<impl Read>,
        mut list: Option<&mut ListRecord>,
    ) -> anyhow::Result<()> {
        loop {
            let first = lines.line + 1;
            let batch = lines.next_batch(search.queries_at_once()).context("could not read ids")?;
            if batch.is_empty() {
                return Ok(());
            }
            let ids: Vec<&str> = batch.iter().map(String::as_str).collect();
            let answers = self.answers_for_ids(search, &ids);
            let answers =
                answers.with_context(|| format!("could not answer lines {first} to {}", lines.line))?;
            match &mut list {
                Some(list) => answers.iter().try_for_each(|answer| list.push(answer))?,
                None => {
                    print(&tabbed(&answers.iter().flat_map(|answer| self.lines(answer)).collect::<Vec<_>>()))?
                }
            }
        }
    }

    fn search(&self) -> anyhow::Result<Search<'_>> {
        Ok(Search::new(self.rows.coordinates(), self.args.score.into(), self.args.k as usize)?)
    }

    fn answers_for_ids(&self, search: &Search<'_>, ids: &[&str]) -> anyhow::Result<Vec<Answer>> {
        let nodes = names::find(&self.rows.names.ids, ids)?;
        let queries: Vec<Query<'_>> = nodes.iter().map(|&node| Query::Node(node)).collect();
        let found = search.nearest(&queries, &self.context.progress)?;
        let answer = |(&node, found): (&NodeId, Vec<Neighbor>)| Answer {
            query: self.id(node),
            label: self.label(node),
            nearest: found.into_iter().map(|near| self.row(near)).collect(),
        };
        Ok(nodes.iter().zip(found).map(answer).collect())
    }

    fn row(&self, near: Neighbor) -> Row {
        Row { id: self.id(near.node), score: near.score, label: self.label(near.node) }
    }

    fn id(&self, node: NodeId) -> Value {
        match self.rows.names.ids.get(node) {
            IdRef::Integer(id) => id.into(),
            IdRef::String(id) => id.into(),
        }
    }

    fn label(&self, node: NodeId) -> Option<String> {
        let labels = self.rows.names.labels.as_ref()?;
        let names: Vec<&str> =
            labels.classes_of(node).map(|class| labels.class_names()[class].as_str()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    fn head(&self) -> Head {
        Head {
            score: self.args.score.into(),
            embedding: self.args.embedding.into(),
            k: self.args.k,
            nodes: self.rows.names.ids.len(),
            dim: self.rows.coordinates().dim(),
        }
    }

    /// Shows all answers at once.
    fn show(&self, answers: &[Answer]) -> anyhow::Result<()> {
        #[derive(Serialize)]
        struct Record<'a> {
            #[serde(flatten)]
            head: Head,
            queries: &'a [Answer],
            #[serde(flatten)]
            cost: Cost,
        }
        let record = Record { head: self.head(), queries: answers, cost: Cost::so_far(self.context) };
        let rows = answers.iter().flat_map(|answer| self.lines(answer));
        let lines: Vec<Vec<String>> = std::iter::once(self.heading()).chain(rows).collect();
        self.context.output.show_page(&record, &columns(&lines))
    }

    /// The names of the columns; the last one only if nodes have labels.
    fn heading(&self) -> Vec<String> {
        let label = self.rows.names.labels.is_some().then_some("label");
        ["query", "rank", "id", "score"].into_iter().chain(label).map(str::to_owned).collect()
    }

    /// A line for each neighbour.
    fn lines(&self, answer: &Answer) -> Vec<Vec<String>> {
        let has_labels = self.rows.names.labels.is_some();
        let line = |(rank, row): (usize, &Row)| {
            // Single precision is what the numbers were made from.
            let cells = [
                field(&answer.query),
                (rank + 1).to_string(),
                field(&row.id),
                (row.score as f32).to_string(),
            ];
            let label = has_labels.then(|| row.label.as_deref().map_or_else(String::new, quoted));
            cells.into_iter().chain(label).collect()
        };
        answer.nearest.iter().enumerate().map(line).collect()
    }
}

/// The id of a node, or the number of a vector, as a field of a line.
fn field(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), quoted)
}

/// Text as a field of a line, in quotes where it is not plain.
fn quoted(text: &str) -> String {
    let mut field = Vec::new();
    push_field(&mut field, text, b'\t');
    String::from_utf8_lossy(&field).into_owned()
}

/// Lines of fields separated by tabs.
fn tabbed(lines: &[Vec<String>]) -> String {
    lines.iter().map(|fields| fields.join("\t") + "\n").collect()
}

/// The ids of a file, one a line.
struct Lines<R> {
    reader: BufReader<R>,
    /// The number of lines that were read.
    line: usize,
}

impl<R: Read> Lines<R> {
    /// The next ids, `most` at most. Waits for one, and takes what has arrived with it, so that whoever asks
    /// line by line is answered line by line. Empty lines are skipped; none are left at the end.
    fn next_batch(&mut self, most: usize) -> io::Result<Vec<String>> {
        let mut batch = Vec::new();
        while batch.len() < most && (batch.is_empty() || self.reader.buffer().contains(&b'\n')) {
            let mut line = String::new();
            if self.reader.read_line(&mut line)? == 0 {
                break;
            }
            self.line += 1;
            let id = line.trim();
            if !id.is_empty() {
                batch.push(id.to_owned());
            }
        }
        Ok(batch)
    }
}
