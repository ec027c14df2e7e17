//! What to do about an error, where that can be said in one line.

use l2g_report::ReportError;
use local2global::align::{AlignError, AlignFilesError};
use local2global::embed::EmbedError;
use local2global::embed::bundle::BundleError;
use local2global::evaluate::EvaluateError;
use local2global::experiment::ExperimentError;
use local2global::export::ExportError;
use local2global::federated::FederatedError;
use local2global::graph::held_out::HoldOutError;
use local2global::graph::io::{Format, Problem, ReadError};
use local2global::graph::store::StoreError;
use local2global::near::NearError;
use local2global::partition::PartitionError;
use local2global::patch::PatchError;
use local2global::pipeline::PipelineError;
use local2global::run_dir::SchemaError;
use local2global::write::WriteError;

use crate::commands::show::NoRun;
use crate::trust::NotTrusted;

/// A hint for the first error in the chain that has one.
pub(crate) fn for_error(error: &anyhow::Error) -> Option<String> {
    error.chain().find_map(|cause| {
        let read = cause.downcast_ref::<ReadError>().and_then(for_read_error);
        let partition = || cause.downcast_ref::<PartitionError>().and_then(for_partition_error);
        let patch = || cause.downcast_ref::<PatchError>().and_then(for_patch_error);
        let store = || cause.downcast_ref::<StoreError>().and_then(for_store_error);
        let write = || cause.downcast_ref::<WriteError>().and_then(for_write_error);
        let embed = || cause.downcast_ref::<EmbedError>().and_then(EmbedError::hint).map(str::to_owned);
        let bundle = || cause.downcast_ref::<BundleError>().and_then(BundleError::hint).map(str::to_owned);
        let evaluate = || cause.downcast_ref::<EvaluateError>().and_then(for_evaluate_error);
        let hold_out = || cause.downcast_ref::<HoldOutError>().and_then(for_hold_out_error);
        let export = || cause.downcast_ref::<ExportError>().and_then(ExportError::hint).map(str::to_owned);
        let report = || cause.downcast_ref::<ReportError>().and_then(ReportError::hint).map(str::to_owned);
        let near = || cause.downcast_ref::<NearError>().and_then(for_near_error);
        let align = || cause.downcast_ref::<AlignError>().and_then(for_align_error);
        let files = || cause.downcast_ref::<AlignFilesError>().and_then(for_align_files_error);
        let run = || cause.downcast_ref::<PipelineError>().and_then(for_pipeline_error);
        let experiment = || cause.downcast_ref::<ExperimentError>().and_then(for_experiment_error);
        let trust =
            || cause.is::<NotTrusted>().then(|| "read the command, and add `--trust` to run it".into());
        let federated = || cause.downcast_ref::<FederatedError>().and_then(for_federated_error);
        let no_run = || {
            cause
                .is::<NoRun>()
                .then(|| "name the folder of a run, such as runs/cora; `l2g run GRAPH` makes one".into())
        };
        let schema = || for_schema_error(cause.downcast_ref::<std::io::Error>()?);
        let stages = read
            .or_else(schema)
            .or_else(partition)
            .or_else(patch)
            .or_else(embed)
            .or_else(bundle)
            .or_else(align)
            .or_else(files);
        let scores = stages.or_else(evaluate).or_else(hold_out);
        let told = scores.or_else(store).or_else(write).or_else(export).or_else(report).or_else(near);
        told.or_else(experiment).or_else(run).or_else(federated).or_else(trust).or_else(no_run)
    })
}

fn for_store_error(error: &StoreError) -> Option<String> {
    match error {
        StoreError::Unfinished { .. } => Some(
            "name the folder of a run, such as runs/cora; `l2g graph GRAPH` or `l2g run GRAPH` makes one"
                .into(),
        ),
        _ => None,
    }
}

fn for_near_error(error: &NearError) -> Option<String> {
    match error {
        NearError::Graph(error) => for_store_error(error),
        error => error.hint().map(str::to_owned),
    }
}

fn for_schema_error(error: &std::io::Error) -> Option<String> {
    let newer = error.get_ref()?.is::<SchemaError>();
    newer.then(|| {
        "use the newer program that wrote the folder, or make the folder again in another place".into()
    })
}

fn for_evaluate_error(error: &EvaluateError) -> Option<String> {
    Some(match error {
        EvaluateError::NoEmbedding { .. } | EvaluateError::Rows { .. } => {
            "run `l2g align` on this run folder".into()
        }
        EvaluateError::NothingHeldOut | EvaluateError::HeldOutNode { .. } => {
            "read the graph again with `l2g graph GRAPH --hold-out 0.1`, then repeat the stages after it"
                .into()
        }
        EvaluateError::Split(error) => return for_read_error(error),
        EvaluateError::NoLabels => "read the graph again with `l2g graph GRAPH --labels FILE`".into(),
        _ => return None,
    })
}

fn for_hold_out_error(error: &HoldOutError) -> Option<String> {
    match error {
        HoldOutError::Connected { edges, spare, .. } if *spare > 0 => {
            let share = (*spare as f64 / *edges as f64 * 1000.0).floor() / 1000.0;
            Some(format!("hold out at most `--hold-out {share}`"))
        }
        _ => None,
    }
}

fn for_partition_error(error: &PartitionError) -> Option<String> {
    Some(match error {
        PartitionError::TooManyClusters { nodes, .. } => {
            format!("ask for fewer with `--set partition.clusters={nodes}`")
        }
        PartitionError::TooLarge { method: "metis", .. } => {
            "rerun with `--set partition.method=buffered`, which takes more".into()
        }
        PartitionError::TooLarge { .. } => {
            "rerun with `--set partition.method=fennel`, which has no such limit".into()
        }
        PartitionError::WithoutMetis => "rerun with `--set partition.method=fennel`".into(),
        PartitionError::Read(error) => return for_read_error(error),
        PartitionError::Labels { .. } => "name a file with `--set partition.file=FILE`".into(),
        PartitionError::Array { .. } | PartitionError::Length { .. } => {
            "rerun `l2g partition` on this run folder".into()
        }
        _ => return None,
    })
}

fn for_patch_error(error: &PatchError) -> Option<String> {
    Some(match error {
        PatchError::ClusterTooSmall { min_overlap, size, .. } => format!(
            "rerun `l2g partition --min-overlap {min_overlap}`, which merges small clusters that touch \
             others; leave small parts out with `--component largest`; or `l2g patch --min-overlap {}`",
            2 * size
        ),
        PatchError::Setting { key: "min_overlap" | "max_overlap", .. } => {
            "a run.toml sets both overlaps: set them anew with `--set patch.min_overlap=N --set \
             patch.max_overlap=M`, or leave them out, and they follow from `embed.dim`"
                .into()
        }
        PatchError::NotConverged { .. } => "rerun with `--set patch.sparsify=conductance`".into(),
        PatchError::Length { .. } => "rerun `l2g partition` on this run folder".into(),
        PatchError::Limit { needed, .. } => {
            format!("allow `--memory {needed}`, or fewer guests by a smaller `patch.cover_budget`")
        }
        _ => return None,
    })
}

fn for_align_error(error: &AlignError) -> Option<String> {
    Some(match error {
        AlignError::OverlapTooSmall { dim, .. } => format!(
            "rerun `l2g patch --min-overlap {}`, embed in fewer dimensions, or leave this pair of patches out",
            dim + 1
        ),
        AlignError::Disconnected { .. } => {
            "make patches anew without `--no-bridge`, or align the parts on their own".into()
        }
        AlignError::Rotations { .. } => {
            "loosen it with `--set align.tolerance=1e-5`, or try `--set align.weights=robust`".into()
        }
        _ => return None,
    })
}

fn for_align_files_error(error: &AlignFilesError) -> Option<String> {
    Some(match error {
        AlignFilesError::Align(error) => return for_align_error(error),
        AlignFilesError::MissingCoords { .. } => "run `l2g embed` on this run folder first".into(),
        AlignFilesError::Patches(_) => "run `l2g patch` on this run folder first".into(),
        AlignFilesError::OtherTransforms { .. }
        | AlignFilesError::OtherPatches { .. }
        | AlignFilesError::OtherCentroid { .. }
        | AlignFilesError::OtherDimensions { .. }
        | AlignFilesError::OtherRows { .. } => "align the whole run anew: `l2g align RUN`".into(),
        _ => return None,
    })
}

fn for_federated_error(error: &FederatedError) -> Option<String> {
    Some(match error {
        FederatedError::NoEmbedding { .. } => "finish the run of the site with `l2g run` first".into(),
        FederatedError::ShortKey { .. } => "make one with `openssl rand -hex 32 > key`".into(),
        FederatedError::Step { .. } => {
            "first shares are made with `--ids-only`, second shares with `--with` and the first shares of the \
             others"
                .into()
        }
        FederatedError::OtherRound { .. } | FederatedError::OwnIds { .. } => {
            "let all sites send their ids again with `l2g share --ids-only`, and then their rows".into()
        }
        FederatedError::OtherKey { .. } => "give all sites the same key file".into(),
        FederatedError::NothingShared { .. } => {
            "train all sites together with a public reference set: `l2g graph GRAPH --reference FILE`".into()
        }
        FederatedError::OtherSecret { .. } => "name another file with `--secret`".into(),
        FederatedError::Changed { .. } | FederatedError::OtherShare { .. } => {
            "share the site again, and add it with `l2g align --shares DIR --out FRAME --update SITE`".into()
        }
        FederatedError::UnknownShare { site } | FederatedError::NotInFrame { site, .. } => {
            format!("add it with `l2g align --shares DIR --out FRAME --update {site}`")
        }
        FederatedError::Align(AlignError::Disconnected { .. } | AlignError::UpdateTooSmall { .. }) => {
            "share in fewer dimensions, or train all sites together with a public reference set: `l2g graph \
             GRAPH --reference FILE`"
                .into()
        }
        _ => return None,
    })
}

fn for_pipeline_error(error: &PipelineError) -> Option<String> {
    Some(match error {
        PipelineError::Locked { .. } => {
            "wait for the other run, or choose another folder with `--out`".into()
        }
        PipelineError::Outdated { .. } => {
            "bring the folder up to date with `l2g run`, or repeat the stages in between".into()
        }
        PipelineError::Damaged { .. } => {
            "repeat its stage, or remove `stage.json` beside it if the file is your own".into()
        }
        PipelineError::Cancelled { .. } => "run the same command again to do the rest".into(),
        PipelineError::Parts { .. } => {
            "keep the largest part with `--component largest`, or leave out `patch.bridge=false`".into()
        }
        PipelineError::Memory { help, .. } | PipelineError::Limit { help, .. } if !help.is_empty() => {
            format!("it would take less with {help}")
        }
        _ => return None,
    })
}

/// The hints of the stages speak of run folders, which the experiment has not.
fn for_experiment_error(error: &ExperimentError) -> Option<String> {
    match error {
        ExperimentError::Patch(PatchError::Setting { key: "min_overlap", .. }) => {
            Some("set a larger `patch.min_overlap`, leave it out, or ask for fewer dimensions".into())
        }
        ExperimentError::Partition(PartitionError::TooManyClusters { nodes, .. }) => {
            Some(format!("set `partition.clusters` to {nodes} or fewer"))
        }
        other => other.hint().map(str::to_owned),
    }
}

fn for_write_error(error: &WriteError) -> Option<String> {
    match error {
        WriteError::UnknownFormat { .. } => Some("say it with `--format`, or change the name".into()),
        WriteError::FeaturesHomeless { .. } => {
            Some("add `--features-out FILE.npz`, or write the graph as .npz".into())
        }
        _ => None,
    }
}

fn for_read_error(error: &ReadError) -> Option<String> {
    Some(match &*error.problem {
        Problem::Missing => "GRAPH is a file, or the name of a data set: cora, amazon-photo, citeseer, \
            pubmed; other options name files"
            .into(),
        Problem::Fields { needed, .. } if needed == "2 or 3" => {
            "say which columns are the nodes with `--columns 1,2`, or name them in a first line".into()
        }
        Problem::Fields { .. } | Problem::NoEdges => {
            "an edge list has `source target`, or `source target weight`, in each line".into()
        }
        Problem::NotNumber(_) => {
            "the third column is taken for weights: if it holds none, add `--no-weights`, or say which column \
             does with `--columns`; if the first line names the columns, add `--set graph.header=yes`"
                .into()
        }
        Problem::Terminal | Problem::EmptyStream => {
            "pipe the graph in, as in `cat edges.txt | l2g run -`; a run that was piped in must be piped in again"
                .into()
        }
        Problem::UselessForBuiltIn { .. } => "leave the option or setting out, or name a file".into(),
        Problem::Folder => "name the file inside the folder".into(),
        Problem::StrayFolder { .. } => {
            "name the files by a pattern in quotes, such as `'edges/*.csv'`, or the folder inside".into()
        }
        Problem::EmptyFolder => "files whose names begin with `.` or `_` are left out; name them one by one".into(),
        Problem::NoMatch => "a pattern such as `'edges/part-*.parquet'` is read from where you are".into(),
        Problem::UnknownName { .. } => "name the folder with `--data DIR`, or set L2G_DATA".into(),
        Problem::WrongFormat { found, .. } => {
            format!("rename the file, or add `--format {}`", name_of(*found))
        }
        Problem::WithoutWebGraph => {
            "build it with `cargo install --path crates/l2g-cli --features webgraph`; if the file is text, add \
             `--format edge-list`"
                .into()
        }
        Problem::NotInteger(_) => "if ids are names, add `--set graph.ids=string`".into(),
        Problem::NoHeader(_) => "leave out `graph.header`, or set it to no".into(),
        Problem::TooLarge { .. } => {
            "raise the limit with `--set graph.max_bytes=N` if you trust the file".into()
        }
        Problem::NoColumn { .. } => "label tables need the columns `id` and `label`".into(),
        Problem::MissingColumn { .. } => {
            "name the columns of an edge with `--columns SOURCE,TARGET`, by name or by number".into()
        }
        Problem::Array(local2global::npy::NpyError::Pickled) => {
            "save the array again as numbers or text, without `dtype=object`".into()
        }
        Problem::Rows { .. } => {
            "rows in order need one row per node of the file; otherwise name the nodes in a column `id`"
                .into()
        }
        _ => return None,
    })
}

/// The format as `--format` spells it.
fn name_of(format: Format) -> &'static str {
    match format {
        Format::EdgeList => "edge-list",
        Format::Csv => "csv",
        Format::Tsv => "tsv",
        Format::Parquet => "parquet",
        Format::Npy => "npy",
        Format::Npz => "npz",
        Format::MatrixMarket => "matrix-market",
        Format::JsonLines => "json-lines",
        Format::GraphMl => "graphml",
        Format::WebGraph => "webgraph",
    }
}
