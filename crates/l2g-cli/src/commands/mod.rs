//! The subcommands, one file each.

mod graph;

mod run;

use clap::Subcommand;

use crate::context::Context;

/// What to do. The stages are listed in the order of the data.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Go the whole way, from a graph to its global embedding
    Run(run::RunArgs),
    /// Read a graph, clean it, and write it into a run folder
    Graph(graph::GraphArgs),
}

impl Command {
    pub(crate) fn execute(self, context: &Context) -> anyhow::Result<()> {
        match self {
            Self::Run(args) => run::execute(&args, context),
            Self::Graph(args) => graph::execute(&args, context),
        }
    }
}
