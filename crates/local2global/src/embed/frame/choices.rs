//! The decisions that users leave to the program: method, scaling of features, window of walks.
//!
//! All are made on validation edges against degree-matched non-edges ([`Trial`]), with
//! embeddings that are not trained: training takes longer and hardly changes the order.
//! Better links do not always mean better classes, so `hops` gives way to a method with structure
//! only where that is clearly better.

use super::{CENTRE_NODES, Maker};
use crate::embed::both::side_by_side;
use crate::embed::choose::{Choice, Trial};
use crate::embed::hops::features::{FeatureScaling, are_counts};
use crate::embed::hops::{HopsFrame, HopsSettings};
use crate::embed::nn::Matrix;
use crate::embed::walks::{
    ClusterLinks, WalkFrame, WalkSettings, choose_window, fine_clusters, usual_clusters, walk_coordinates,
};
use crate::embed::{EmbedError, EmbedMethod};
use crate::graph::{Features, Graph, NodeId};
use crate::partition::PartitionError;
use crate::patch::landmarks::landmarks;

/// How much higher the AUC of another scaling must be for plain unit rows to give way, and that of
/// another method for `hops`: better links do not always mean better classes. On Amazon Photo
/// `walks` is .023 ahead in links and .02 behind in accuracy.
const CLEARLY_BETTER_SCALING: f64 = 0.013;
const CLEARLY_BETTER_METHOD: f64 = 0.03;
/// The window of walks in a trial of methods; the one that suits the graph is chosen later.
const TRIAL_WINDOW: usize = 5;
/// The shares of structure that are tried for `both`.
const STRUCTURE_WEIGHTS: [f32; 3] = [0.2, 0.4, 0.6];
/// The share of structure where nothing can be tried.
pub(super) const USUAL_STRUCTURE_WEIGHT: f32 = 0.3;

impl Maker<'_> {
    /// How columns of features are weighed: as set, or as does best.
    pub(super) fn choose_scaling(
        &self,
        dim: usize,
        choices: &mut Vec<Choice>,
    ) -> Result<FeatureScaling, EmbedError> {
        if let Some(scaling) = self.config.scaling {
            return Ok(scaling);
        }
        let features = self.sources.graph.features().ok_or(EmbedError::NoFeatures)?;
        let mut by_rule = |reason| {
            choices.push(Choice::by_rule("scaling", "unit", reason));
            Ok(FeatureScaling::Unit)
        };
        let other = match (are_counts(features), features) {
            (true, _) => FeatureScaling::Idf,
            (false, Features::Dense(_)) => FeatureScaling::Standard,
            (false, Features::Sparse(_)) => return by_rule("sparse features that are no counts"),
        };
        let Some(trial) = self.trial() else {
            return by_rule("the graph cannot spare enough edges to try others");
        };
        let candidates = [FeatureScaling::Unit, other];
        let score = |&scaling: &FeatureScaling| {
            let coordinates = self.untrained(&trial.graph, scaling, dim)?;
            Ok((scaling.name().to_owned(), trial.score(&coordinates)))
        };
        let scores: Vec<_> = candidates.iter().map(score).collect::<Result<_, EmbedError>>()?;
        let clear = scores[1].1 > scores[0].1 + CLEARLY_BETTER_SCALING;
        let chosen = candidates[usize::from(clear)];
        choices.push(Choice::of("scaling", chosen.name(), scores).clearly(CLEARLY_BETTER_SCALING));
        Ok(chosen)
    }

    fn trial(&self) -> Option<Trial> {
        Trial::new(self.sources.graph, self.sources.clusters, self.seed)
    }

    /// The graph of a trial by `hops`, before training.
    fn untrained(
        &self,
        graph: &Graph,
        scaling: FeatureScaling,
        dim: usize,
    ) -> Result<Matrix<f32>, EmbedError> {
        let sample = landmarks(graph, CENTRE_NODES, self.seed);
        // Before training only the first directions of the basis are used.
        let settings = HopsSettings { scaling, basis: dim, ..HopsSettings::of(self.config) };
        Ok(HopsFrame::new(graph, &sample, &settings, dim, self.seed)?.untrained(graph))
    }

    /// Which method `auto` stands for, and the share of structure where there are both.
    pub(super) fn choose_method(
        &self,
        method: EmbedMethod,
        choices: &mut Vec<Choice>,
    ) -> Result<(EmbedMethod, f32), EmbedError> {
        let asked = self.config.method;
        if asked == EmbedMethod::Auto && method == EmbedMethod::Walks {
            choices.push(Choice::by_rule("method", "walks", "the graph has no features"));
        }
        let open = (asked == EmbedMethod::Auto && method == EmbedMethod::Hops) || asked == EmbedMethod::Both;
        if !open {
            return Ok((method, 0.0));
        }
        let Some(trial) = self.trial() else {
            choices.push(Choice::by_rule(
                "method",
                if asked == EmbedMethod::Both { "both" } else { "hops" },
                "the graph has features, and cannot spare enough edges to try others",
            ));
            return Ok((method, USUAL_STRUCTURE_WEIGHT));
        };
        let mut scores = self.method_scores(&trial)?;
        let rule = asked == EmbedMethod::Auto;
        // With `both` asked for, only the weight is open; with `auto`, others must clearly win.
        scores.retain(|(method, ..)| rule || *method == EmbedMethod::Both);
        let merit = |&(method, _, score): &(EmbedMethod, f32, f64)| {
            if rule && method != EmbedMethod::Hops { score - CLEARLY_BETTER_METHOD } else { score }
        };
        let best = scores
            .iter()
            .fold(scores[0], |best, other| if merit(other) > merit(&best) { *other } else { best });
        let named: Vec<_> =
            scores.iter().map(|&(method, weight, score)| (name(method, weight), score)).collect();
        let choice = Choice::of("method", &name(best.0, best.1), named);
        choices.push(if rule { choice.clearly(CLEARLY_BETTER_METHOD) } else { choice });
        Ok((best.0, best.1))
    }

    /// The scores of all methods on a trial: `hops` first.
    fn method_scores(&self, trial: &Trial) -> Result<Vec<(EmbedMethod, f32, f64)>, EmbedError> {
        let dim = self.config.dim;
        let scaling = self.config.scaling.unwrap_or_default();
        let by_hops = |dim| self.untrained(&trial.graph, scaling, dim);
        let mut scores = vec![(EmbedMethod::Hops, 0.0, trial.score(&by_hops(dim)?))];
        let [of_hops, of_walks] = EmbedMethod::Both.dims(dim);
        if of_hops > 1 && of_walks > 0 {
            let parts = [by_hops(of_hops)?, self.walk(&trial.graph, of_walks)?];
            scores.push((EmbedMethod::Walks, 1.0, trial.score(&parts[1])));
            for weight in STRUCTURE_WEIGHTS {
                let both = side_by_side([&parts[0], &parts[1]], weight);
                scores.push((EmbedMethod::Both, weight, trial.score(&both)));
            }
        }
        Ok(scores)
    }

    /// The graph of a trial by `walks`.
    fn walk(&self, graph: &Graph, dim: usize) -> Result<Matrix<f32>, EmbedError> {
        let clusters =
            fine_clusters(graph, None, usual_clusters(graph.num_nodes()), self.seed, self.progress)
                .map_err(partition_failed)?;
        let settings = WalkSettings::new(self.config.window.unwrap_or(TRIAL_WINDOW), dim);
        let frame = WalkFrame::new(graph, &clusters, &settings, self.seed, self.progress)?;
        let nodes: Vec<NodeId> = graph.nodes().collect();
        walk_coordinates(graph, &nodes, &frame, self.progress)
    }

    /// The frame of `walks`: clusters split further, and the window as set, or as does best.
    pub(super) fn make_walks(&self, dim: usize, choices: &mut Vec<Choice>) -> Result<WalkFrame, EmbedError> {
        let graph = self.sources.graph;
        let num_clusters = self.config.walk_clusters.unwrap_or_else(|| usual_clusters(graph.num_nodes()));
        let clusters = fine_clusters(graph, self.sources.clusters, num_clusters, self.seed, self.progress)
            .map_err(partition_failed)?;
        let links = ClusterLinks::of(graph, &clusters);
        let window = match self.config.window {
            Some(window) => window,
            None => {
                let found = choose_window(graph, &clusters, &links, dim, self.seed, self.progress)?;
                let scores: Vec<_> =
                    found.scores.iter().map(|(window, score)| (window.to_string(), *score)).collect();
                let window = found.window.to_string();
                choices.push(match scores.is_empty() {
                    true => Choice::by_rule("window", &window, "the graph cannot spare edges to try others"),
                    false => Choice::of("window", &window, scores),
                });
                found.window
            }
        };
        let settings = WalkSettings::new(window, dim);
        WalkFrame::from_links(&links, clusters.clusters().to_vec(), &settings, self.seed, self.progress)
    }
}

fn name(method: EmbedMethod, weight: f32) -> String {
    match method {
        EmbedMethod::Both => format!("both, {:.0} % structure", 100.0 * weight),
        EmbedMethod::Walks => "walks".into(),
        _ => "hops".into(),
    }
}

fn partition_failed(error: PartitionError) -> EmbedError {
    match error {
        PartitionError::Cancelled => EmbedError::Cancelled { done: 0, total: 1 },
        error => EmbedError::Clusters(error.to_string()),
    }
}
