//! What to do about an error, where that can be said in one line.

use local2global::embed::EmbedError;
use local2global::export::ExportError;
use local2global::graph::io::{Format, Problem, ReadError};
use local2global::graph::write::WriteError;
use local2global::partition::PartitionError;
use local2global::patch::PatchError;

/// A hint for the first error in the chain that has one.
pub(crate) fn for_error(error: &anyhow::Error) -> Option<String> {
    error.chain().find_map(|cause| {
        let read = cause.downcast_ref::<ReadError>().and_then(for_read_error);
        let partition = || cause.downcast_ref::<PartitionError>().and_then(for_partition_error);
        let patch = || cause.downcast_ref::<PatchError>().and_then(for_patch_error);
        let write = || cause.downcast_ref::<WriteError>().and_then(for_write_error);
        let embed = || cause.downcast_ref::<EmbedError>().and_then(EmbedError::hint).map(str::to_owned);
        let export = || cause.downcast_ref::<ExportError>().and_then(ExportError::hint).map(str::to_owned);
        read.or_else(partition).or_else(patch).or_else(write).or_else(embed).or_else(export)
    })
}

fn for_partition_error(error: &PartitionError) -> Option<String> {
    Some(match error {
        PartitionError::TooManyClusters { nodes, .. } => format!("ask for `--clusters {nodes}` or fewer"),
        PartitionError::TooLarge { .. } => "rerun with `--method fennel`, which has no such limit".into(),
        PartitionError::Labels { .. } => "name a file with `--file FILE`".into(),
        PartitionError::Array { .. } | PartitionError::Length { .. } => {
            "rerun `l2g partition` on this run folder".into()
        }
        _ => return None,
    })
}

fn for_patch_error(error: &PatchError) -> Option<String> {
    Some(match error {
        PatchError::ClusterTooSmall { min_overlap, size, .. } => format!(
            "rerun `l2g partition --min-overlap {min_overlap}`, which merges small clusters, or \
             `l2g patch --min-overlap {}`",
            2 * size
        ),
        PatchError::NotConverged { .. } => "rerun with `--sparsify conductance`".into(),
        PatchError::Length { .. } => "rerun `l2g partition` on this run folder".into(),
        _ => return None,
    })
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
        Problem::Missing => {
            "GRAPH is a file, or the name of a data set: cora, amazon-photo, citeseer, pubmed".into()
        }
        Problem::Folder => "name the file inside the folder".into(),
        Problem::UnknownName { .. } => "name the folder with `--data DIR`, or set L2G_DATA".into(),
        Problem::WrongFormat { found, .. } => {
            format!("rename the file, or add `--format {}`", name_of(*found))
        }
        Problem::NotInteger(_) => "if ids are names, add `--set graph.ids=string`".into(),
        Problem::NoHeader(_) => "leave out `graph.header`, or set it to no".into(),
        Problem::TooLarge { .. } => {
            "raise the limit with `--set graph.max_bytes=N` if you trust the file".into()
        }
        Problem::NoColumn { .. } => "edge tables need the columns `src` and `dst`".into(),
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
    }
}
