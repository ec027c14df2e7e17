//! The page about one patch: what it holds, how it was trained, what it shares, how it fits.

use local2global::align::diagnostics::{Diagnostics, EdgeFit, PatchFit};
use local2global::patch::PatchReport;
use local2global::run_dir::{RunDir, patch_name};
use serde::{Deserialize, Serialize};

use super::page::{fit_text, read_if_there};
use crate::context::Context;
use crate::output::{columns, grouped};

/// So many losses are told: of a longer course, those at even distances.
const LOSSES: usize = 8;

/// What training has left about a patch; other programs leave less, or nothing.
#[derive(Debug, Default, Deserialize, Serialize)]
struct Training {
    edges: Option<usize>,
    auc: Option<f64>,
    loss: Option<f64>,
    seconds: Option<f64>,
    run: Option<u32>,
    #[serde(default)]
    losses: Vec<f64>,
}

/// A patch that shares nodes with this one.
#[derive(Debug, Serialize)]
struct Neighbor<'a> {
    patch: String,
    shared: usize,
    /// How the two fit, if they were aligned.
    #[serde(skip_serializing_if = "Option::is_none")]
    fit: Option<&'a EdgeFit>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Record<'a> {
    patch: &'a str,
    nodes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    training: Option<&'a Training>,
    neighbors: &'a [Neighbor<'a>],
    #[serde(skip_serializing_if = "Option::is_none")]
    fit: Option<&'a PatchFit>,
}

pub(super) fn show(run: &RunDir, number: usize, context: &Context) -> anyhow::Result<()> {
    let Some(report) = read_if_there::<PatchReport>(&run.patches().report())? else {
        anyhow::bail!("there are no patches yet: `{}` does not exist", run.patches().report().display());
    };
    let Some(&nodes) = report.sizes.get(number) else {
        anyhow::bail!(
            "there is no patch {number}; the run has patches 0 to {}",
            report.patches.saturating_sub(1)
        );
    };
    let name = patch_name(number);
    let training: Option<Training> = read_if_there(&run.embeddings().record(&name))?;
    let found: Option<Diagnostics> = read_if_there(&run.alignment().report())?;
    let fit = found.as_ref().and_then(|found| found.patch_list.iter().find(|fit| fit.patch == name));
    let neighbors = neighbors(&report, number, found.as_ref());
    let record = Record { patch: &name, nodes, training: training.as_ref(), neighbors: &neighbors, fit };
    context.output.show(&record, &rows(&record))
}

/// The patches that are joined with this one, those that share most first.
fn neighbors<'a>(report: &PatchReport, number: usize, found: Option<&'a Diagnostics>) -> Vec<Neighbor<'a>> {
    let name = patch_name(number);
    let joined = report.overlaps.iter().filter_map(|&(a, b, shared)| match (a.index(), b.index()) {
        (a, b) if a == number => Some((patch_name(b), shared)),
        (a, b) if b == number => Some((patch_name(a), shared)),
        _ => None,
    });
    let fit = |other: &String| {
        let mut edges = found?.edge_list.iter();
        edges.find(|edge| edge.patches.contains(&name) && edge.patches.contains(other))
    };
    let mut neighbors: Vec<Neighbor<'a>> =
        joined.map(|(patch, shared)| Neighbor { fit: fit(&patch), patch, shared }).collect();
    neighbors.sort_by(|a, b| b.shared.cmp(&a.shared).then_with(|| a.patch.cmp(&b.patch)));
    neighbors
}

/// For people.
fn rows(record: &Record<'_>) -> Vec<(&'static str, String)> {
    let mut rows = vec![("patch", record.patch.to_owned()), ("nodes", grouped(record.nodes))];
    match record.training {
        None => rows.push(("training", "no record: not trained yet, or by another program".into())),
        Some(training) => rows.extend(training_rows(training)),
    }
    rows.extend(record.fit.map(|fit| ("fit", fit_text(fit))));
    rows.extend(record.fit.map(|fit| {
        (
            "coordinates",
            format!(
                "{:.4} from their centre in the mean square, filling {} dimensions",
                fit.radius, fit.rank
            ),
        )
    }));
    let heading = ["neighbour", "shared nodes", "misfit"].map(str::to_owned).to_vec();
    let line = |neighbor: &Neighbor<'_>| {
        let misfit =
            neighbor.fit.map_or_else(|| "-".to_owned(), |fit| format!("{:.1} %", 100.0 * fit.misfit));
        vec![neighbor.patch.clone(), grouped(neighbor.shared), misfit]
    };
    let lines: Vec<Vec<String>> = std::iter::once(heading).chain(record.neighbors.iter().map(line)).collect();
    let names = std::iter::once("overlaps").chain(std::iter::repeat(""));
    rows.extend(names.zip(columns(&lines).lines().map(str::to_owned)));
    rows
}

fn training_rows(training: &Training) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    rows.extend(training.edges.map(|edges| ("edges", grouped(edges))));
    rows.extend(training.seconds.map(|seconds| ("trained", format!("in {seconds:.2} s"))));
    rows.extend(training.auc.map(|auc| ("AUC", format!("{auc:.4} on its own edges"))));
    if !training.losses.is_empty() {
        let losses = sampled(&training.losses).iter().map(|loss| format!("{loss:.4}")).collect::<Vec<_>>();
        rows.push(("losses", format!("{} over {} epochs", losses.join(" "), grouped(training.losses.len()))));
    }
    rows
}

/// The first, the last, and some at even distances between them.
fn sampled(losses: &[f64]) -> Vec<f64> {
    let count = losses.len().min(LOSSES);
    (0..count).map(|at| losses[at * (losses.len() - 1) / (count - 1).max(1)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_course_of_losses_keeps_its_ends() {
        assert_eq!(sampled(&[3.0]), [3.0]);
        assert_eq!(sampled(&[3.0, 2.0]), [3.0, 2.0]);
        let long: Vec<f64> = (0..1000).map(f64::from).collect();
        let sampled = sampled(&long);
        assert_eq!((sampled.len(), sampled[0], sampled[7]), (8, 0.0, 999.0));
    }
}
