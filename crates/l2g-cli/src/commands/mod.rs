//! The subcommands, one file each.

mod generate;

mod graph;

mod partition;

mod patch;

mod align;

mod frame;

mod share;

mod join;

mod embed;

mod bundle;

mod collect;

mod cluster;

mod evaluate;

mod export;

mod report;

mod near;

pub(crate) mod show;

mod experiment;

mod run;

mod closing;

mod settings;

mod completions;

mod man;

use clap::Subcommand;

use crate::context::Context;

/// What to do: `run`, then the stages in the order of the data, then what helps. The help of each is
/// the documentation of its arguments.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(run::RunArgs),
    Graph(graph::GraphArgs),
    Partition(partition::PartitionArgs),
    Patch(patch::PatchArgs),
    Embed(embed::EmbedArgs),
    Bundle(bundle::BundleArgs),
    Collect(collect::CollectArgs),
    Cluster(cluster::ClusterArgs),
    Align(align::AlignArgs),
    Evaluate(evaluate::EvaluateArgs),
    Share(share::ShareArgs),
    Join(join::JoinArgs),
    Export(export::ExportArgs),
    Report(report::ReportArgs),
    Near(near::NearArgs),
    Show(show::ShowArgs),
    Experiment(experiment::ExperimentArgs),
    Generate(generate::GenerateArgs),
    Settings(settings::SettingsArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

impl Command {
    pub(crate) fn execute(self, context: &Context) -> anyhow::Result<()> {
        match self {
            Self::Run(args) => run::execute(&args, context),
            Self::Graph(args) => graph::execute(&args, context),
            Self::Partition(args) => partition::execute(&args, context),
            Self::Patch(args) => patch::execute(&args, context),
            Self::Embed(args) => embed::execute(&args, context),
            Self::Bundle(args) => bundle::execute(&args, context),
            Self::Collect(args) => collect::execute(&args, context),
            Self::Cluster(args) => cluster::execute(&args, context),
            Self::Align(args) => align::execute(&args, context),
            Self::Evaluate(args) => evaluate::execute(&args, context),
            Self::Share(args) => share::execute(&args, context),
            Self::Join(args) => join::execute(&args, context),
            Self::Export(args) => export::execute(&args, context),
            Self::Report(args) => report::execute(&args, context),
            Self::Near(args) => near::execute(&args, context),
            Self::Show(args) => show::execute(&args, context),
            Self::Experiment(args) => experiment::execute(&args, context),
            Self::Generate(args) => generate::execute(args, context),
            Self::Settings(args) => settings::execute(&args, context),
            Self::Completions(args) => completions::execute(&args),
            Self::Man(args) => man::execute(&args),
        }
    }
}
