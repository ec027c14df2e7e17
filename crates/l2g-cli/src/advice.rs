//! What to change where a result could be better, with the option that does it.

use local2global::align::diagnostics::Diagnostics;
use local2global::config::Config;
use local2global::embed::{EmbedMethod, FrameKind};
use local2global::patch::PatchReport;

use crate::output::grouped;

/// Where patches hold more than this share of the nodes on average, one patch does as well.
const MOST_OF_THE_GRAPH: f64 = 2.0 / 3.0;

/// All advice about a finished run.
pub(crate) fn on_run(config: &Config, patches: &PatchReport, found: &Diagnostics) -> Vec<String> {
    let advice = [
        on_sizes(patches, "--patches 1"),
        on_dimension(patches.nodes, config.embed.dim),
        on_fit(config, patches, found),
    ];
    advice.into_iter().flatten().collect()
}

/// Patches so large that they are pointless; one patch is made by `remedy`.
pub(crate) fn on_sizes(patches: &PatchReport, remedy: &str) -> Option<String> {
    let count = patches.patches;
    let share = patches.copies() / count.max(1) as f64;
    (count > 1 && share > MOST_OF_THE_GRAPH).then(|| {
        format!(
            "{} patches that hold {:.0} % of the {} nodes each are more work than training on the whole \
             graph, which `{remedy}` does",
            grouped(count),
            100.0 * share,
            grouped(patches.nodes)
        )
    })
}

/// More coordinates than the nodes can fill.
fn on_dimension(nodes: usize, dim: usize) -> Option<String> {
    let enough = (nodes / 2).max(2);
    let enough = 1 << enough.ilog2();
    (dim >= nodes && enough < dim).then(|| {
        format!("{dim} coordinates are more than {} nodes can fill: `--dim {enough}`", grouped(nodes))
    })
}

/// Patches that fit loosely, where nothing is known of how they were made.
pub(crate) fn on_any_fit(found: &Diagnostics) -> Option<String> {
    let more = "patches that share more nodes fit better: a larger `--min-overlap` of `l2g patch`";
    found.is_loose().then(|| more.to_owned())
}

/// Patches of a run that fit loosely.
fn on_fit(config: &Config, patches: &PatchReport, found: &Diagnostics) -> Option<String> {
    use EmbedMethod::{Auto, Both, Hops, Walks};
    let can_be_framed = matches!(config.embed.method, Auto | Hops | Walks | Both);
    let by_frame = match (can_be_framed, config.embed.frame) {
        (true, FrameKind::Common) => "",
        (true, FrameKind::None) => ", and so do patches with a common frame: `--set embed.frame=common`",
        (false, _) => ", and so do methods with a common frame: `--method auto`",
    };
    let worth = if config.evaluate.full { "" } else { "; `--full` tells what a perfect fit would be worth" };
    let (now, more) = (patches.overlap.needed, 2 * patches.overlap.needed);
    found.is_loose().then(|| {
        format!(
            "patches that share more nodes fit better: `--min-overlap {more}` ({now} now){by_frame}{worth}"
        )
    })
}

#[cfg(test)]
mod tests {
    use local2global::patch::{EdgeCover, NodeCover, OverlapReport};

    use super::*;

    fn report(nodes: usize, sizes: &[usize]) -> PatchReport {
        PatchReport {
            patches: sizes.len(),
            nodes,
            sizes: sizes.to_vec(),
            oversampling: 1.0,
            patch_edges: 0,
            mean_degree: 0.0,
            overlaps: vec![],
            overlap: OverlapReport { needed: 129, limit: 256, found: 129 },
            node_cover: NodeCover { covered: nodes, uncovered: 0, copies: sizes.iter().sum() },
            edges_in_no_patch: EdgeCover { count: 0, share: 0.0 },
            connected: true,
            groups: vec![],
            bridges: vec![],
            landmarks: 0,
            landmark_edges: vec![],
            dropped_pairs: 0,
            cut: 0.0,
            balance: 1.0,
        }
    }

    #[test]
    fn patches_that_hold_most_of_the_graph_are_called_pointless() {
        let told = on_sizes(&report(600, &[480, 470, 549, 421]), "--patches 1").unwrap();
        assert!(told.starts_with("4 patches that hold 80 % of the 600 nodes each"), "{told}");
        assert!(told.contains("`--patches 1`"), "{told}");
        assert_eq!(on_sizes(&report(600, &[600]), ""), None);
        assert_eq!(on_sizes(&report(2485, &[760; 10]), ""), None);
    }

    #[test]
    fn more_coordinates_than_nodes_are_told() {
        assert_eq!(
            on_dimension(30, 128).unwrap(),
            "128 coordinates are more than 30 nodes can fill: `--dim 8`"
        );
        assert!(on_dimension(3, 128).unwrap().ends_with("`--dim 2`"));
        assert_eq!(on_dimension(129, 128), None);
        assert_eq!(on_dimension(2, 2), None);
    }
}
