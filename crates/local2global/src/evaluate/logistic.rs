//! Multinomial logistic regression with an L2 penalty.
//!
//! The classes of a node follow from `l = W z + b`, where `z` is its [row](super::design):
//! coordinates scaled by what the training nodes have of them, or sparse features. Nodes of one
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
//! Large problems are solved in single precision, whose rounding the line search allows for,
//! and to a gradient of 10⁻⁴ instead of 10⁻⁵: next to no node changes its class by it.
//! A fit can start from the weights of another split.
//! Cost: `O(n d c)` time per step in `d` dimensions with `c` classes, for sparse features
//! `O(x c)` with `x` stored values; rows are read where they lie. No randomness.
//!
//! Why not a crate: `linfa-logistic` brings three more libraries of linear algebra and
//! optimisation, and stops with an error of its line search on data that can be separated
//! (its issue 334); others have no softmax with a penalty, or cannot read mapped `f32` rows.
//!
//! Source: C. Bishop, "Pattern recognition and machine learning", section 4.3, 2006.

use rayon::prelude::*;

use super::design::{ClassifierInput, Design};
use super::scaling::{CHUNK, piece_rows, total};
use crate::graph::labels::LabelKind;
use crate::graph::{Labels, NodeId};
use crate::linalg::lanes::squared_norm;
use crate::linalg::lbfgs::{Limits, Minimum, minimise};
use crate::linalg::real::Real;

/// When a fit in double precision counts as done; classes hardly ever change after.
pub const EXACT: Limits = Limits { tolerance: 1e-5, max_steps: 1000, rounding: 1e-14 };

/// When a fit in single precision does.
pub const ROUGH: Limits = Limits { tolerance: 1e-4, max_steps: 300, rounding: 1e-7 };

/// From this many training nodes on, fits are rough.
const ROUGH_NODES: usize = 4000;

/// With more weights than this, a fit works on fewer pieces, each of which sums all weights.
const MANY_WEIGHTS: usize = 1 << 14;

/// A classifier to be fitted: nodes, what is known about them, and the penalty.
#[derive(Clone, Debug)]
pub struct LogisticProblem<'a> {
    design: Design<'a>,
    labels: &'a Labels,
    nodes: &'a [NodeId],
    penalty: f64,
}

/// A fitted classifier.
#[derive(Clone, Debug)]
pub struct LogisticModel<'a> {
    problem: LogisticProblem<'a>,
    /// Where the fit ended; `point` has a row for each column, with a weight for each class, and
    /// last the row of intercepts.
    pub fit: Minimum,
}

impl<'a> LogisticProblem<'a> {
    /// A classifier for the given training nodes, all of which have a class.
    pub fn new(source: ClassifierInput<'a>, labels: &'a Labels, nodes: &'a [NodeId], penalty: f64) -> Self {
        Self { design: Design::new(source, nodes), labels, nodes, penalty }
    }

    /// Fits the classifier, in single precision where there are many nodes, from the weights of
    /// another if there are any.
    pub fn fit(self, start: Option<&[f64]>) -> LogisticModel<'a> {
        match self.nodes.len() < ROUGH_NODES {
            true => self.fit_in::<f64>(start, EXACT),
            false => self.fit_in::<f32>(start, ROUGH),
        }
    }

    /// Fits the classifier in a given precision.
    pub fn fit_in<F: Real>(self, start: Option<&[f64]>, limits: Limits) -> LogisticModel<'a> {
        let start = start.map_or_else(|| vec![0.0; self.num_weights()], <[f64]>::to_vec);
        let fit = minimise(start, limits, |weights, gradient| self.objective::<F>(weights, gradient));
        LogisticModel { problem: self, fit }
    }

    /// The number of weights: for each class one a column, and the intercept.
    pub fn num_weights(&self) -> usize {
        self.labels.num_classes() * self.design.width()
    }

    /// What is minimised, and its gradient; rows are multiplied in the precision of `F`.
    pub fn objective<F: Real>(&self, weights: &[f64], gradient: &mut [f64]) -> f64 {
        let rounded = F::of_all(weights);
        let pieces: Vec<(Vec<F>, f64)> =
            self.nodes.par_chunks(self.piece_rows()).map(|piece| self.piece(&rounded, piece)).collect();
        let (sums, losses): (Vec<_>, Vec<_>) = pieces.into_iter().unzip();
        let mut sums = total(sums, weights.len());
        let (count, intercepts) = (self.nodes.len() as f64, self.labels.num_classes());
        let penalised = &weights[..weights.len() - intercepts];
        sums.iter_mut().zip(penalised).for_each(|(sum, weight)| *sum += self.penalty * weight);
        gradient.iter_mut().zip(&sums).for_each(|(entry, sum)| *entry = sum / count);
        (losses.iter().sum::<f64>() + 0.5 * self.penalty * squared_norm(penalised)) / count
    }

    /// The number of rows in a piece.
    fn piece_rows(&self) -> usize {
        match self.num_weights() > MANY_WEIGHTS {
            true => self.nodes.len().div_ceil(8).max(CHUNK),
            false => piece_rows(self.nodes.len()),
        }
    }

    /// The gradient over some nodes, without penalty, and their loss.
    fn piece<F: Real>(&self, weights: &[F], nodes: &[NodeId]) -> (Vec<F>, f64) {
        let classes = self.labels.num_classes();
        let mut sums = vec![F::default(); weights.len()];
        let mut loss = 0.0;
        for nodes in nodes.chunks(CHUNK) {
            let rows = self.design.rows::<F>(nodes);
            let mut logits = rows.multiply(weights, classes);
            let mut row = vec![0.0; classes];
            for (&node, logits) in nodes.iter().zip(logits.chunks_exact_mut(classes)) {
                row.iter_mut().zip(&*logits).for_each(|(entry, logit)| *entry = logit.to_f64());
                loss += residual(self.labels, node, &mut row);
                logits.iter_mut().zip(&row).for_each(|(logit, &entry)| *logit = F::of(entry));
            }
            rows.add_transposed(&mut logits, classes, &mut sums);
        }
        (sums, loss)
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

impl LogisticModel<'_> {
    /// The classes of some nodes: the likeliest of each, or, where nodes can have any number,
    /// all that are likelier than not. One row of truth values per node.
    pub fn classify(&self, nodes: &[NodeId]) -> Vec<bool> {
        let problem = &self.problem;
        let classes = problem.labels.num_classes();
        let weights = f32::of_all(&self.fit.point);
        let pieces: Vec<Vec<bool>> = nodes
            .par_chunks(CHUNK)
            .map(|nodes| {
                let logits = problem.design.rows(nodes).multiply(&weights, classes);
                logits.chunks_exact(classes).flat_map(|logits| chosen(problem.labels, logits)).collect()
            })
            .collect();
        pieces.concat()
    }
}

/// Which classes the logits of a node speak for; of equals, the first.
fn chosen(labels: &Labels, logits: &[f32]) -> Vec<bool> {
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
    use crate::evaluate::Coordinates;
    use crate::evaluate::feature_rows::FeatureRows;
    use crate::evaluate::scaling::Scale;
    use crate::graph::Features;
    use crate::graph::features::SparseFeatures;
    use crate::seed::{Seed, Stage};

    const TIGHT: Limits = Limits { tolerance: 1e-10, max_steps: 2000, rounding: 1e-14 };

    fn dense(values: &[f32], dim: usize) -> ClassifierInput<'_> {
        ClassifierInput::Dense(Coordinates::new(values, dim), Scale::Columns)
    }

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

    /// Calls `check` with problems of both kinds over several seeds.
    fn for_random_problems(penalty: f64, check: impl Fn(u64, &LogisticProblem<'_>)) {
        for seed in 0..4 {
            let (values, kinds) = random_data(seed);
            for labels in &kinds {
                check(seed, &LogisticProblem::new(dense(&values, 4), labels, &all(50), penalty));
            }
        }
    }

    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        for_random_problems(0.7, |seed, problem| {
            let mut random = Seed(seed).stream(Stage::Evaluate, 9);
            let weights: Vec<f64> =
                (0..problem.num_weights()).map(|_| random.random::<f64>() - 0.5).collect();
            let mut gradient = vec![0.0; weights.len()];
            problem.objective::<f64>(&weights, &mut gradient);
            let mut unused = gradient.clone();
            let mut value_at = |k: usize, step: f64| {
                let mut moved = weights.clone();
                moved[k] += step;
                problem.objective::<f64>(&moved, &mut unused)
            };
            for (k, &slope) in gradient.iter().enumerate() {
                let estimate = (value_at(k, 1e-5) - value_at(k, -1e-5)) / 2e-5;
                assert!((estimate - slope).abs() < 1e-8, "seed {seed}, weight {k}: {estimate} {slope}");
            }
        });
    }

    #[test]
    fn at_the_optimum_the_gradient_is_zero_and_every_move_leads_up() {
        for_random_problems(1.0, |_, problem| {
            let model = problem.clone().fit_in::<f64>(None, TIGHT);
            assert!(model.fit.converged && model.fit.gradient <= 1e-10, "{:?}", model.fit);
            let mut gradient = vec![0.0; problem.num_weights()];
            for k in 0..gradient.len() {
                for step in [-0.01, 0.01] {
                    let mut moved = model.fit.point.clone();
                    moved[k] += step;
                    assert!(problem.objective::<f64>(&moved, &mut gradient) > model.fit.value);
                }
            }
        });
    }

    #[test]
    fn two_points_have_the_optimum_that_follows_by_hand() {
        // Points ±1, n of each, of classes 0 and 1: by symmetry the weights are ∓w with
        // 2n log(1 + exp(-2w)) + λ w² least, that is, λ w = 2n σ(-2w).
        let values: Vec<f32> = (0..20).map(|k| if k < 10 { -1.0 } else { 1.0 }).collect();
        let labels = Labels::single((0..20).map(|k| i32::from(k >= 10)).collect::<Vec<_>>().into(), vec![]);
        let nodes = all(20);
        for penalty in [0.1, 1.0, 10.0] {
            let fit = LogisticProblem::new(dense(&values, 1), &labels, &nodes, penalty)
                .fit_in::<f64>(None, TIGHT)
                .fit;
            let (mut low, mut high) = (0.0, 1000.0);
            for _ in 0..200 {
                let w: f64 = 0.5 * (low + high);
                let too_small = penalty * w < 20.0 / (1.0 + (2.0 * w).exp());
                *if too_small { &mut low } else { &mut high } = w;
            }
            let expected = [-low, low, 0.0, 0.0];
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
        let model = LogisticProblem::new(dense(&values, 2), &labels, &nodes[..30], 1.0).fit(None);
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
        let model = LogisticProblem::new(dense(&values, 2), &labels, &nodes, 0.1).fit(None);
        assert!(model.classify(&nodes).iter().zip(&indicators).all(|(&has, &should)| has == (should == 1)));
    }

    #[test]
    fn a_rotation_changes_nothing_under_a_common_scale() {
        let (values, [labels, _]) = random_data(3);
        let nodes = all(50);
        let turned: Vec<f32> = values
            .chunks_exact(4)
            .flat_map(|row| [0.6 * row[0] - 0.8 * row[1], 0.8 * row[0] + 0.6 * row[1], row[3], -row[2]])
            .collect();
        let value = |values: &[f32]| {
            let source = ClassifierInput::Dense(Coordinates::new(values, 4), Scale::Common);
            LogisticProblem::new(source, &labels, &nodes, 1.0).fit_in::<f64>(None, TIGHT).fit.value
        };
        assert!((value(&values) - value(&turned)).abs() < 1e-6);
    }

    /// Rows of 3 to 8 of 50 words, most of them words of the class of the row.
    fn words(rows: usize, seed: u64) -> (Features, Labels) {
        let mut random = Seed(seed).stream(Stage::Evaluate, 0);
        let features = SparseFeatures::of_words(50, rows, |row| {
            let word = |_| match random.random_range(0..3) {
                0 => random.random_range(0..50),
                _ => (row % 5 * 10) as u32 + random.random_range(0..10),
            };
            (0..3 + row % 6).map(word).collect()
        });
        let labels = Labels::single((0..rows as i32).map(|row| row % 5).collect::<Vec<_>>().into(), vec![]);
        (Features::Sparse(features), labels)
    }

    #[test]
    fn sparse_rows_have_the_gradient_of_finite_differences_and_are_learnt() {
        let (features, labels) = words(400, 1);
        let rows = FeatureRows::new(&features);
        let nodes = all(400);
        let problem = LogisticProblem::new(ClassifierInput::of_features(&rows), &labels, &nodes[..200], 1.0);
        let weights: Vec<f64> = (0..problem.num_weights()).map(|k| (k as f64).sin()).collect();
        let mut gradient = vec![0.0; weights.len()];
        problem.objective::<f64>(&weights, &mut gradient);
        let mut unused = gradient.clone();
        for k in (0..weights.len()).step_by(17).chain([weights.len() - 1]) {
            let mut value_at = |step: f64| {
                let mut moved = weights.clone();
                moved[k] += step;
                problem.objective::<f64>(&moved, &mut unused)
            };
            let estimate = (value_at(1e-5) - value_at(-1e-5)) / 2e-5;
            assert!((estimate - gradient[k]).abs() < 1e-8, "weight {k}");
        }
        let found = problem.fit(None).classify(&nodes[200..]);
        let right = (0..200).filter(|row| found[row * 5 + row % 5]).count();
        assert!(right > 150, "{right}");
    }

    #[test]
    fn single_precision_and_a_warm_start_give_the_same_classes() {
        let (features, labels) = words(6000, 2);
        let rows = FeatureRows::new(&features);
        let nodes = all(6000);
        let problem = |from: usize| {
            LogisticProblem::new(
                ClassifierInput::of_features(&rows),
                &labels,
                &nodes[from..from + ROUGH_NODES],
                1.0,
            )
        };
        let exact = problem(0).fit_in::<f64>(None, EXACT);
        let rough = problem(0).fit(None);
        let warm = problem(0).fit(Some(&problem(2000).fit(None).fit.point));
        assert!(rough.fit.converged && warm.fit.converged && warm.fit.steps < rough.fit.steps);
        let expected = exact.classify(&nodes);
        for model in [rough, warm] {
            let found = model.classify(&nodes);
            let other = found.iter().zip(&expected).filter(|(a, b)| a != b).count();
            assert!(other < 60, "{other} of 30000 differ");
        }
    }

    #[test]
    fn a_constant_column_changes_nothing() {
        let (values, [labels, _]) = random_data(3);
        let nodes = all(50);
        let widened: Vec<f32> = values.chunks_exact(4).flat_map(|row| [row, &[7.0]].concat()).collect();
        let value = |values: &[f32], dim| {
            LogisticProblem::new(dense(values, dim), &labels, &nodes, 1.0)
                .fit_in::<f64>(None, TIGHT)
                .fit
                .value
        };
        assert!((value(&values, 4) - value(&widened, 5)).abs() < 1e-12);
    }
}
