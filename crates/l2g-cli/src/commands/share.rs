//! `l2g share`: what leaves a federated site.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use local2global::federated::files::{
    SharePlan, SiteData, ids_of_run, read_ids, share_rows_into, write_share,
};
use local2global::federated::{Key, Privacy, ShareRecord, share_ids};
use local2global::run_dir::RunDir;
use serde::Serialize;

use crate::context::{Context, UsageError};
use crate::output::grouped;

/// Write what leaves a site that keeps its graph: blinded ids, then rows of nodes that others hold too.
///
/// In the first round, with `--ids-only`, a share holds the ids of all nodes of the site, blinded with
/// a key that all sites have agreed on. In the second round, given the blinded ids of the others by
/// `--with`, it holds the rows of the nodes that are among them, turned and shifted by a secret that
/// stays at the site. `share.json` says in words what a share holds and what it tells.
///
/// RUN is the site's own finished run, by any method; rows from elsewhere are given by `--nodes` and
/// `--coords`. `l2g align --shares` finds the common frame, and `l2g join` moves the site into it.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  l2g share runs/north --name north --key key --ids-only --out ids/north\n  \
    l2g share runs/north --name north --key key --with ids --out shares/north\n  l2g share runs/north --name \
    north --key key --with ids --out shares/north --epsilon 4 --delta 1e-6 --clip 2"
)]
pub(crate) struct ShareArgs {
    /// The run folder of the site
    #[arg(required_unless_present = "nodes")]
    run: Option<PathBuf>,

    /// The ids of the site's nodes: .npy, or text with one in each line
    #[arg(long, value_name = "FILE", conflicts_with = "run")]
    nodes: Option<PathBuf>,

    /// Their coordinates, row by row, as .npy
    #[arg(long, value_name = "FILE", requires = "nodes")]
    coords: Option<PathBuf>,

    /// The name of the site
    #[arg(long, value_name = "SITE")]
    name: String,

    /// The key that all sites have agreed on: a file of 16 bytes or more that nobody can guess
    #[arg(long, value_name = "FILE")]
    key: PathBuf,

    /// The first round: blinded ids, and nothing else
    #[arg(long, conflicts_with_all = ["with", "epsilon", "delta", "clip", "coords", "secret"])]
    ids_only: bool,

    /// The second round: ids that others hold, as a folder of their first shares, a frame, or a file of
    /// plain ids; may be given several times
    #[arg(long, value_name = "PATH", required_unless_present = "ids_only")]
    with: Vec<PathBuf>,

    /// The folder that leaves the site
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Where the secret of the site stays; one that is there is used again [default: RUN/secret.npz]
    #[arg(long, value_name = "FILE")]
    secret: Option<PathBuf>,

    /// Add Gaussian noise that spends this epsilon on the row of one node
    #[arg(long, value_name = "NUMBER", requires_all = ["delta", "clip"])]
    epsilon: Option<f64>,

    /// The probability with which the promise of epsilon may fail
    #[arg(long, value_name = "NUMBER", requires = "epsilon")]
    delta: Option<f64>,

    /// Pull rows back to this length before noise is added
    #[arg(long, value_name = "LENGTH", requires = "epsilon")]
    clip: Option<f64>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Record<'a> {
    #[serde(flatten)]
    share: &'a ShareRecord,
    /// The nodes of the site.
    site_nodes: usize,
    /// Rows that were pulled back; this stays at the site.
    #[serde(skip_serializing_if = "Option::is_none")]
    clipped: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<&'a Path>,
    out: &'a Path,
}

pub(crate) fn execute(args: &ShareArgs, context: &Context) -> anyhow::Result<()> {
    let site = &args.name;
    share(args, context).with_context(|| format!("could not make the share of site `{site}`"))
}

fn share(args: &ShareArgs, context: &Context) -> anyhow::Result<()> {
    let key = Key::read(&args.key)?;
    if args.ids_only {
        let ids = match (&args.run, &args.nodes) {
            (Some(run), _) => ids_of_run(&RunDir::new(run))?,
            (None, Some(nodes)) => read_ids(nodes)?,
            (None, None) => return Err(UsageError("name a run folder, or --nodes".into()).into()),
        };
        let share = share_ids(&args.name, &ids, &key)?;
        write_share(&args.out, &share)?;
        return show(&share.record, ids.len(), None, args, context);
    }
    let data = site_data(args.run.as_deref(), args.nodes.as_deref(), args.coords.as_deref())?;
    let secret = secret_of(args.run.as_deref(), args.secret.as_deref())?;
    let privacy = match (args.epsilon, args.delta, args.clip) {
        (Some(epsilon), Some(delta), Some(clip)) => Some(Privacy { epsilon, delta, clip }),
        _ => None,
    };
    let plan = SharePlan { site: &args.name, known: &args.with, privacy, out: &args.out, secret: &secret };
    let shared = share_rows_into(&plan, &data, &key)?;
    let kept = Kept { secret: &secret, clipped: shared.clipped };
    show(&shared.share.record, data.ids.len(), Some(&kept), args, context)
}

/// What stays at the site.
struct Kept<'a> {
    secret: &'a Path,
    clipped: usize,
}

/// The rows of a site, from its run or from files.
pub(super) fn site_data(
    run: Option<&Path>,
    nodes: Option<&Path>,
    coords: Option<&Path>,
) -> anyhow::Result<SiteData> {
    match (run, nodes, coords) {
        (Some(run), None, None) => Ok(SiteData::of_run(&RunDir::new(run))?),
        (None, Some(nodes), Some(coords)) => Ok(SiteData::of_files(nodes, coords)?),
        _ => Err(UsageError("name a run folder, or --nodes and --coords".into()).into()),
    }
}

/// Where the secret of a site is.
pub(super) fn secret_of(run: Option<&Path>, secret: Option<&Path>) -> anyhow::Result<PathBuf> {
    let of_run = || run.map(|run| RunDir::new(run).secret());
    let secret = secret.map(Path::to_owned).or_else(of_run);
    Ok(secret.ok_or_else(|| {
        UsageError("with --nodes and --coords, say where the secret is: --secret FILE".into())
    })?)
}

fn show(
    share: &ShareRecord,
    site_nodes: usize,
    kept: Option<&Kept<'_>>,
    args: &ShareArgs,
    context: &Context,
) -> anyhow::Result<()> {
    let (secret, out) = (kept.map(|kept| kept.secret), args.out.as_path());
    let noisy = kept.filter(|_| share.privacy.is_some());
    let record = Record { share, site_nodes, clipped: noisy.map(|kept| kept.clipped), secret, out };
    let mut rows = vec![
        ("site", share.site.clone()),
        ("shared nodes", format!("{} of {}", grouped(share.nodes), grouped(site_nodes))),
    ];
    for (key, words) in [("holds", &share.holds), ("holds no", &share.does_not_hold), ("tells", &share.tells)]
    {
        rows.extend(words.iter().map(|line| (key, line.clone())));
    }
    if let Some(kept) = noisy {
        rows.push(("clipped", format!("{} rows; this number stays here", grouped(kept.clipped))));
    }
    rows.extend(secret.map(|path| ("stays", path.display().to_string())));
    rows.push(("leaves", out.display().to_string()));
    context.output.show(&record, &rows)
}
