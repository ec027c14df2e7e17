//! `l2g export RUN`: the global embedding in the formats of other programs.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use local2global::export::{ExportError, ExportFormat, ExportTask, Exported, export_run};
use local2global::layout::LayoutMethod;
use local2global::pipeline::{StageName, check_export, check_unchanged};
use local2global::run_dir::{RunDir, is_standard_output};
use serde::Serialize;

use super::report::LayoutArgs;
use crate::choice::choice;
use crate::context::{Context, UsageError};
use crate::cost::Cost;
use crate::output::{bytes, grouped};

/// Write the global embedding of a run in the format of another program.
///
/// The embedding of a run is `5-alignment/embedding.npy`, one row per node of `1-graph`.
/// Here it leaves under your own node ids: as a Parquet table (id, vector), as CSV or TSV
/// with a header, in the text format of word2vec, or as the two files of TensorBoard's
/// embedding projector, with the labels of the graph beside the ids. `--with layout` adds where
/// each node lies in the plane, as columns x and y.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  l2g export runs/cora --format parquet\n  l2g export runs/cora --out \
    cora.csv.gz\n  l2g export runs/cora --format csv --out - | head\n  l2g export runs/cora --format \
    projector --out projector\n  l2g export runs/cora --format parquet --with layout")]
pub(crate) struct ExportArgs {
    /// The run folder, with the embedding in `5-alignment`
    run: PathBuf,

    /// The format; where it is not given, the name of the file tells
    #[arg(long, value_name = "FORMAT", required_unless_present = "out")]
    format: Option<ExportFormatArg>,

    /// The file, or for the projector the folder, to write; `-` is standard output [default:
    /// RUN/export/embedding.FORMAT]
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,

    /// Add columns, to a table
    #[arg(long, value_name = "COLUMNS")]
    with: Vec<Extra>,

    #[command(flatten)]
    layout: LayoutArgs,
}

/// Columns besides id and vector.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Extra {
    /// Where each node lies in the plane: x and y
    Layout,
}

choice! {
    pub(crate) ExportFormatArg for ExportFormat {
        /// A table with the columns id and vector (.parquet)
        Parquet,
        /// Text separated by commas, with a header (.csv, also .gz and .zst)
        Csv,
        /// Text separated by tabs, with a header (.tsv, also .gz and .zst)
        Tsv,
        /// The text format of word2vec (.vec)
        Word2vec,
        /// A folder with vectors.tsv and metadata.tsv
        Projector,
    }
}

#[derive(Serialize)]
struct Record<'a> {
    #[serde(flatten)]
    exported: &'a Exported,
    #[serde(flatten)]
    cost: Cost,
}

pub(crate) fn execute(args: &ExportArgs, context: &Context) -> anyhow::Result<()> {
    let run = RunDir::new(&args.run);
    let format = format(args)?;
    if args.layout.is_given() && args.with.is_empty() {
        anyhow::bail!(UsageError(
            "`--layout` says how places are made; needed `--with layout` beside it".into()
        ));
    }
    let layout = (!args.with.is_empty()).then(|| args.layout.method());
    if args.out.as_deref().is_some_and(is_standard_output) {
        return stream(&run, format, layout, context);
    }
    let exported = export(&run, format, layout, args.out.as_deref(), context)?;
    let record = Record { exported: &exported, cost: Cost::so_far(context) };
    let mut rows = vec![
        ("vectors", format!("{} x {}", grouped(exported.nodes), exported.dim)),
        ("size", bytes(exported.bytes)),
    ];
    rows.extend(record.cost.rows());
    rows.extend(exported.files.iter().map(|file| ("written", file.display().to_string())));
    context.output.show(&record, &rows)
}

/// Exports the embedding of a run to standard output, which holds nothing else then.
fn stream(
    run: &RunDir,
    format: ExportFormat,
    layout: Option<LayoutMethod>,
    context: &Context,
) -> anyhow::Result<()> {
    context.output.give_up_standard_output()?;
    if format == ExportFormat::Projector {
        let problem = "the projector has two files, which standard output cannot hold; needed a folder";
        anyhow::bail!(UsageError(problem.into()));
    }
    let exported = export(run, format, layout, Some(Path::new("-")), context)?;
    let shape = format!("{} x {}", grouped(exported.nodes), exported.dim);
    context.progress.tell(&format!("{shape} vectors written to standard output"), "result", &exported);
    Ok(())
}

/// Exports the embedding of a run; without a path, into the run folder.
pub(crate) fn export(
    run: &RunDir,
    format: ExportFormat,
    layout: Option<LayoutMethod>,
    out: Option<&Path>,
    context: &Context,
) -> anyhow::Result<Exported> {
    let path = out.map_or_else(|| format.default_path(run), Path::to_owned);
    check_unchanged(run, StageName::Align)
        .with_context(|| format!("could not export run `{}`", run.root().display()))?;
    if let Some(limit) = context.config_of(run)?.0.memory {
        check_export(run, format, limit)?;
    }
    export_run(run, &ExportTask { format, layout, out: &path }, &context.progress)
        .with_context(|| format!("could not export run `{}`", run.root().display()))
}

/// The format that is asked for, or else the one the name of the file tells.
fn format(args: &ExportArgs) -> Result<ExportFormat, ExportError> {
    let told = args.format.map(ExportFormat::from);
    let path = args.out.as_deref().unwrap_or(Path::new(""));
    told.or_else(|| ExportFormat::of_name(path))
        .ok_or_else(|| ExportError::UnknownFormat { path: path.to_owned() })
}
