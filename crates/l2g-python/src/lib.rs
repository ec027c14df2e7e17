//! `local2global._native`: the library as a Python module.
//!
//! One file per stage, and no algorithm in any of them. A function converts its
//! arguments, lets go of the interpreter, calls the library, and converts back. What
//! users see is the package in `python/local2global`, which is written in Python and
//! calls this.

mod align;

mod arrays;

mod cluster;

mod command_line;

mod embed;

mod errors;

mod evaluate;

mod federated;

mod graph;

mod json;

mod near;

mod partition;

mod parts;

mod patch;

mod pickle;

mod pipeline;

mod report;

mod run_folder;

mod settings;

mod table;

mod work;

/// The engine of local2global; use the package `local2global`, which is made for people.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::{
        align::{Alignment, align},
        cluster::PatchJobs,
        command_line::main,
        embed::embed_patches,
        evaluate::{evaluate, link_auc},
        federated::{Frame, Secret, Share, align_shares, join_coordinates, share_coordinates, share_ids},
        graph::Graph,
        near::{nearest_to_rows, nearest_to_vectors},
        partition::partition,
        patch::{Patches, make_patches},
        pipeline::run,
        report::{report, write_result},
        run_folder::{RunFolder, patch_name, read_coordinates, read_record, write_coordinates},
        settings::Settings,
        work::panic_at_work,
    };

    /// The version of the engine.
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "the name that Python modules give it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
