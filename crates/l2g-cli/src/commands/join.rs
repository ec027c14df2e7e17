//! `l2g join`: the rows of a federated site in the common frame.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use local2global::federated::JoinRecord;
use local2global::federated::files::join_into;
use serde::Serialize;

use super::share::{secret_of, site_data};
use crate::context::Context;
use crate::output::grouped;

/// Move the rows of a federated site into the common frame.
///
/// The frame comes from `l2g align --shares`. The secret of `l2g share` is undone, the motion of the
/// site applied, and all rows are written under the site's own ids: `embedding.npy`, and `ids.npy` or
/// `ids.parquet`. Rows of one node at two sites nearly agree; their mean is the global embedding.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  l2g join runs/north --name north --frame frame --out joined\n  l2g join \
    --nodes nodes.npy --coords coords.npy --name north --secret secret.npz --frame frame --out joined"
)]
pub(crate) struct JoinArgs {
    /// The run folder of the site
    #[arg(required_unless_present = "nodes")]
    run: Option<PathBuf>,

    /// The ids of the site's nodes, as they were shared
    #[arg(long, value_name = "FILE", conflicts_with = "run", requires = "coords")]
    nodes: Option<PathBuf>,

    /// Their coordinates, as they were shared
    #[arg(long, value_name = "FILE", requires = "nodes")]
    coords: Option<PathBuf>,

    /// The name of the site
    #[arg(long, value_name = "SITE")]
    name: String,

    /// The folder that `l2g align --shares` has written
    #[arg(long, value_name = "DIR")]
    frame: PathBuf,

    /// The folder to write into
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// The secret of the site [default: RUN/secret.npz]
    #[arg(long, value_name = "FILE")]
    secret: Option<PathBuf>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Record<'a> {
    #[serde(flatten)]
    joined: &'a JoinRecord,
    out: &'a Path,
}

pub(crate) fn execute(args: &JoinArgs, context: &Context) -> anyhow::Result<()> {
    let site = &args.name;
    let failed = || format!("could not move site `{site}` into the frame of `{}`", args.frame.display());
    let secret = secret_of(args.run.as_deref(), args.secret.as_deref())?;
    let data =
        site_data(args.run.as_deref(), args.nodes.as_deref(), args.coords.as_deref()).with_context(failed)?;
    let joined = join_into(site, &data, &secret, &args.frame, &args.out).with_context(failed)?;
    let mut rows = vec![
        ("site", joined.site.clone()),
        ("nodes", format!("{}, {} of them shared", grouped(joined.nodes), grouped(joined.shared))),
        ("neighbours", format!("{} other sites", grouped(joined.neighbors))),
        (
            "misfit",
            format!("copies of shared nodes are {:.1} % of their spread apart", 100.0 * joined.misfit),
        ),
    ];
    rows.extend(joined.trust.map(|trust| ("trust", format!("{:.1} %", 100.0 * trust))));
    rows.push(("verdict", joined.verdict.clone()));
    rows.push(("joined", args.out.display().to_string()));
    context.output.show(&Record { joined: &joined, out: &args.out }, &rows)
}
