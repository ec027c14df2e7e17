//! Multinomial logistic regression with an L2 penalty.
//!
//! The classes of a node with coordinates `x` follow from `l = W z + b`, where `z` are the
//! coordinates, standardised with mean and spread of the training nodes. Nodes of one
//! class each: `p = softmax(l)`. Nodes of any number of classes: `p = sigmoid(l)`, one model
//! per class against the rest. The model minimises
//!
//! ```text
//! (Σ -log p(classes of v) + λ/2 ‖W‖²) / n    over the n training nodes, b without penalty
//! ```
//!
//! which with `λ = 1` is the default of scikit-learn. The function is convex; its minimum is
//! found by [L-BFGS](crate::linalg::lbfgs), with the gradient `(p - y) zᵀ`. Rows are cut into
//! pieces whose number depends on that of the nodes alone and summed in order, so threads do
//! not change a bit.
//! Cost: `O(n d c)` time per step in `d` dimensions with `c` classes; coordinates are read
//! where they lie. No randomness.
//!
//! Why not a crate: `linfa-logistic` brings three more libraries of linear algebra and
//! optimisation, and stops with an error of its line search on data that can be separated
//! (its issue 334); others have no softmax with a penalty, or cannot read mapped `f32` rows.
//!
//! Source: C. Bishop, "Pattern recognition and machine learning", section 4.3, 2006.

use rayon::prelude::*;

use super::Coordinates;
use super::scaling::{CHUNK, Scaling, piece_rows, total};
use crate::graph::labels::LabelKind;
use crate::graph::{Labels, NodeId};
use crate::linalg::dense::{multiply, multiply_add, view, view_mut};
use crate::linalg::lanes::squared_norm;
use crate::linalg::lbfgs::{Limits, Minimum, minimise};

/// When a fit counts as done; classes hardly ever change after.
pub const LIMITS: Limits = Limits { tolerance: 1e-5, max_steps: 1000 };

/// A classifier to be fitted: nodes, what is known about them, and the penalty.
#[derive(Clone, Debug)]
pub struct Problem<'a> {
    coordinates: Coordinates<'a>,
    labels: &'a Labels,
    nodes: &'a [NodeId],
    penalty: f64,
    scaling: Scaling,
}

/// A fitted classifier.
#[derive(Clone, Debug)]
pub struct Model<'a> {
    problem: Problem<'a>,
    /// Where the fit ended; `point` are the rows of `W`, each followed by its `b`.
    pub fit: Minimum,
}

impl<'a> Problem<'a> {
    /// A classifier for the given training nodes, all of which have a class.
    pub fn new(coordinates: Coordinates<'a>, labels: &'a Labels, nodes: &'a [NodeId], penalty: f64) -> Self {
        Self { coordinates, labels, nodes, penalty, scaling: Scaling::of(coordinates, nodes) }
    }

    /// Fits the classifier.
    pub fn fit(self, limits: Limits) -> Model<'a> {
        let start = vec![0.0; self.num_weights()];
        let fit = minimise(start, limits, |weights, gradient| self.objective(weights, gradient));
        Model { problem: self, fit }
    }

    /// The number of weights: a row of `dim + 1` for each class.
    pub fn num_weights(&self) -> usize {
        self.labels.num_classes() * (self.coordinates.dim() + 1)
    }

    /// What is minimised, and its gradient.
    pub fn objective(&self, weights: &[f64], gradient: &mut [f64]) -> f64 {
        let pieces: Vec<Vec<f64>> = self
            .nodes
            .par_chunks(piece_rows(self.nodes.len()))
            .map(|piece| self.piece(weights, piece))
            .collect();
        let mut sums = total(pieces, weights.len() + 1);
        let mut loss = sums.pop().expect("the loss comes after the gradient");
        let (width, count) = (self.coordinates.dim() + 1, self.nodes.len() as f64);
        for (sums, weights) in sums.chunks_exact_mut(width).zip(weights.chunks_exact(width)) {
            // The last weight of a row is the intercept.
            let penalised = &weights[..width - 1];
            loss += 0.5 * self.penalty * squared_norm(penalised);
            sums.iter_mut().zip(penalised).for_each(|(sum, weight)| *sum += self.penalty * weight);
        }
        gradient.iter_mut().zip(&sums).for_each(|(entry, sum)| *entry = sum / count);
        loss / count
    }

    /// The gradient over some nodes, without penalty, and after it their loss.
    fn piece(&self, weights: &[f64], nodes: &[NodeId]) -> Vec<f64> {
        let (width, classes) = (self.coordinates.dim() + 1, self.labels.num_classes());
        let mut sums = vec![0.0; weights.len()];
        let mut loss = 0.0;
        for nodes in nodes.chunks(CHUNK) {
            let rows = self.scaling.rows(self.coordinates, nodes);
            let mut logits = self.logits(weights, &rows);
            for (&node, logits) in nodes.iter().zip(logits.chunks_exact_mut(classes)) {
                loss += residual(self.labels, node, logits);
            }
            let residuals = view(&logits, nodes.len(), classes);
            let target = view_mut(&mut sums, classes, width);
            multiply_add(target, residuals.transpose(), view(&rows, nodes.len(), width), 1.0);
        }
        sums.push(loss);
        sums
    }

    /// `W z + b` for standardised rows.
    fn logits(&self, weights: &[f64], rows: &[f64]) -> Vec<f64> {
        let (width, classes) = (self.coordinates.dim() + 1, self.labels.num_classes());
        let count = rows.len() / width;
        let mut logits = vec![0.0; count * classes];
        let weights = view(weights, classes, width);
        multiply(view_mut(&mut logits, count, classes), view(rows, count, width), weights.transpose());
        logits
    }
}

/// Turns the logits of a node into `p - y`, and returns its loss.
fn residual(labels: &Labels, node: NodeId, logits: &mut [f64]) -> f64 {
    match labels.kind() {
        LabelKind::Single(classes) => {
            let class = classes[node.index()] as usize;
            let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let of_class = logits[class] - largest;
            logits.iter_mut().for_each(|logit| *logit = (*logit - largest).exp());
            let sum: f64 = logits.iter().sum();
            logits.iter_mut().for_each(|part| *part /= sum);
            logits[class] -= 1.0;
            sum.ln() - of_class
        }
        LabelKind::Multi(indicators) => {
            let row = &indicators[node.index() * logits.len()..][..logits.len()];
            let mut loss = 0.0;
            for (logit, &has) in logits.iter_mut().zip(row) {
                let (value, has) = (*logit, f64::from(has != 0));
                // log(1 + exp(l)) without overflow.
                loss += value.max(0.0) + (-value.abs()).exp().ln_1p() - has * value;
                *logit = 1.0 / (1.0 + (-value).exp()) - has;
            }
            loss
        }
    }
}

impl Model<'_> {
    /// The classes of some nodes: the likeliest of each, or, where nodes can have any number,
    /// all that are likelier than not. One row of truth values per node.
    pub fn classify(&self, nodes: &[NodeId]) -> Vec<bool> {
        let problem = &self.problem;
        let classes = problem.labels.num_classes();
        let pieces: Vec<Vec<bool>> = nodes
            .par_chunks(CHUNK)
            .map(|nodes| {
                let rows = problem.scaling.rows(problem.coordinates, nodes);
                let logits = problem.logits(&self.fit.point, &rows);
                logits.chunks_exact(classes).flat_map(|logits| chosen(problem.labels, logits)).collect()
            })
            .collect();
        pieces.concat()
    }
}

/// Which classes the logits of a node speak for; of equals, the first.
fn chosen(labels: &Labels, logits: &[f64]) -> Vec<bool> {
    match labels.kind() {
        LabelKind::Multi(_) => logits.iter().map(|&logit| logit > 0.0).collect(),
        LabelKind::Single(_) => {
            let mut chosen = vec![false; logits.len()];
            let best = (1..logits.len()).fold(0, |best, k| if logits[k] > logits[best] { k } else { best });
            chosen[best] = true;
            chosen
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::seed::{Seed, Stage};

    const TIGHT: Limits = Limits { tolerance: 1e-10, max_steps: 2000 };

    fn all(count: usize) -> Vec<NodeId> {
        (0..count).map(NodeId::new).collect()
    }

    /// Random coordinates, with columns of different size, and random labels of both kinds.
    fn random_data(seed: u64) -> (Vec<f32>, [Labels; 2]) {
        let mut random = Seed(seed).stream(Stage::Evaluate, 0);
        let values: Vec<f32> =
            (0..50 * 4).map(|i| (random.random::<f32>() - 0.3) * [1.0, 30.0, 0.01, 5.0][i % 4]).collect();
        let single = (0..50).map(|_| random.random_range(0..3)).collect::<Vec<i32>>();
        let multi = (0..150).map(|_| random.random_range(0..2)).collect::<Vec<u8>>();
        (values, [Labels::single(single.into(), vec![]), Labels::multi(multi.into(), 3, vec![])])
    }

    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        for seed in 0..4 {
            let (values, kinds) = random_data(seed);
            let nodes = all(50);
            for labels in &kinds {
                let problem = Problem::new(Coordinates::new(&values, 4), labels, &nodes, 0.7);
                let mut random = Seed(seed).stream(Stage::Evaluate, 9);
                let weights: Vec<f64> =
                    (0..problem.num_weights()).map(|_| random.random::<f64>() - 0.5).collect();
                let mut gradient = vec![0.0; weights.len()];
                problem.objective(&weights, &mut gradient);
                let mut unused = gradient.clone();
                let mut value_at = |k: usize, step: f64| {
                    let mut moved = weights.clone();
                    moved[k] += step;
                    problem.objective(&moved, &mut unused)
                };
                for (k, &slope) in gradient.iter().enumerate() {
                    let estimate = (value_at(k, 1e-5) - value_at(k, -1e-5)) / 2e-5;
                    assert!((estimate - slope).abs() < 1e-8, "seed {seed}, weight {k}: {estimate} {slope}");
                }
            }
        }
    }

    #[test]
    fn at_the_optimum_the_gradient_is_zero_and_every_move_leads_up() {
        for seed in 0..4 {
            let (values, kinds) = random_data(seed);
            let nodes = all(50);
            for labels in &kinds {
                let problem = Problem::new(Coordinates::new(&values, 4), labels, &nodes, 1.0);
                let model = problem.clone().fit(TIGHT);
                assert!(model.fit.converged && model.fit.gradient <= 1e-10, "{:?}", model.fit);
                let mut gradient = vec![0.0; problem.num_weights()];
                for k in 0..gradient.len() {
                    for step in [-0.01, 0.01] {
                        let mut moved = model.fit.point.clone();
                        moved[k] += step;
                        assert!(problem.objective(&moved, &mut gradient) > model.fit.value);
                    }
                }
            }
        }
    }

    #[test]
    fn two_points_have_the_optimum_that_follows_by_hand() {
        // Points ±1, n of each, of classes 0 and 1: by symmetry the weights are ∓w with
        // 2n log(1 + exp(-2w)) + λ w² least, that is, λ w = 2n σ(-2w).
        let values: Vec<f32> = (0..20).map(|k| if k < 10 { -1.0 } else { 1.0 }).collect();
        let labels = Labels::single((0..20).map(|k| i32::from(k >= 10)).collect::<Vec<_>>().into(), vec![]);
        let nodes = all(20);
        for penalty in [0.1, 1.0, 10.0] {
            let fit = Problem::new(Coordinates::new(&values, 1), &labels, &nodes, penalty).fit(TIGHT).fit;
            let (mut low, mut high) = (0.0, 1000.0);
            for _ in 0..200 {
                let w: f64 = 0.5 * (low + high);
                let too_small = penalty * w < 20.0 / (1.0 + (2.0 * w).exp());
                *if too_small { &mut low } else { &mut high } = w;
            }
            let expected = [-low, 0.0, low, 0.0];
            assert!(fit.point.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-7), "{:?}", fit.point);
        }
    }

    #[test]
    fn separate_blobs_are_told_apart_whatever_their_scale() {
        let mut random = Seed(5).stream(Stage::Evaluate, 0);
        let centres = [[0.0, 0.0], [6.0, 0.0], [0.0, 6000.0]];
        let values: Vec<f32> = (0..300)
            .flat_map(|k| {
                let [x, y] = centres[k % 3];
                [x + random.random::<f32>(), y + 1000.0 * random.random::<f32>()]
            })
            .collect();
        let labels = Labels::single((0..300).map(|k| k % 3).collect::<Vec<_>>().into(), vec![]);
        let nodes = all(300);
        let model = Problem::new(Coordinates::new(&values, 2), &labels, &nodes[..30], 1.0).fit(LIMITS);
        assert!(model.fit.converged);
        let classes = model.classify(&nodes);
        assert!(classes.iter().enumerate().all(|(place, &has)| has == (place % 3 == place / 3 % 3)));
    }

    #[test]
    fn independent_classes_are_learnt_one_by_one() {
        // Class k has the nodes whose coordinate k is positive.
        let values: Vec<f32> =
            (0..64_u32).flat_map(|k| [k & 1, k >> 1 & 1]).map(|b| b as f32 - 0.5).collect();
        let indicators: Vec<u8> = values.iter().map(|&x| u8::from(x > 0.0)).collect();
        let labels = Labels::multi(indicators.clone().into(), 2, vec![]);
        let nodes = all(64);
        let model = Problem::new(Coordinates::new(&values, 2), &labels, &nodes, 0.1).fit(LIMITS);
        assert!(model.classify(&nodes).iter().zip(&indicators).all(|(&has, &should)| has == (should == 1)));
    }

    #[test]
    fn a_constant_column_changes_nothing() {
        let (values, [labels, _]) = random_data(3);
        let nodes = all(50);
        let widened: Vec<f32> = values.chunks_exact(4).flat_map(|row| [row, &[7.0]].concat()).collect();
        let value = |values: &[f32], dim| {
            Problem::new(Coordinates::new(values, dim), &labels, &nodes, 1.0).fit(TIGHT).fit.value
        };
        assert!((value(&values, 4) - value(&widened, 5)).abs() < 1e-12);
    }
}
