//! `l2g align --shares`: the common frame of sites that keep their graphs.

use std::path::Path;

use anyhow::Context as _;
use local2global::align::update::Update;
use local2global::config::Config;
use local2global::federated::Frame;
use local2global::federated::files::{read_frame, read_round, write_frame};
use serde::Serialize;

use super::align;
use crate::context::Context;
use crate::output::grouped;

/// What `--json` prints of an addition.
#[derive(Serialize)]
struct UpdateRecord<'a> {
    site: &'a str,
    #[serde(flatten)]
    update: Update,
    verdict: &'a str,
    out: &'a Path,
}

/// Aligns shares, or adds one site to a finished frame.
pub(super) fn execute(
    shares: &Path,
    out: &Path,
    added: Option<&str>,
    context: &Context,
) -> anyhow::Result<()> {
    match added {
        None => {
            let failed = || format!("could not align the shares in `{}`", shares.display());
            let found = align_shares(shares, out, context).with_context(failed)?;
            align::show(&found.diagnostics, out, context)
        }
        Some(site) => add(shares, out, site, context)
            .with_context(|| format!("could not put site `{site}` into the frame of `{}`", out.display())),
    }
}

fn align_shares(shares: &Path, out: &Path, context: &Context) -> anyhow::Result<Frame> {
    let config = &context.config;
    let frame = Frame::align(&read_round(shares)?, &config.align, config.seed, &context.progress)?;
    write_frame(out, &frame)?;
    Ok(frame)
}

/// Adds one site with the settings that the frame was made with, changed by `--set`.
fn add(shares: &Path, out: &Path, site: &str, context: &Context) -> anyhow::Result<()> {
    let frame = read_frame(out)?;
    let made_with = Config { align: frame.diagnostics.settings.clone(), ..Config::default() };
    let config = context.config_over(&made_with)?;
    let (frame, update) = frame.add(&read_round(shares)?, site, Some(&config.align))?;
    write_frame(out, &frame)?;
    let verdict = &frame.diagnostics.verdict;
    let rows = [
        ("site", site.to_owned()),
        ("shared nodes", grouped(update.shared)),
        (
            "misfit",
            format!("copies of shared nodes are {:.1} % of their spread apart", 100.0 * update.misfit),
        ),
        ("verdict", verdict.clone()),
        ("frame", out.display().to_string()),
    ];
    context.output.show(&UpdateRecord { site, update, verdict, out }, &rows)
}
