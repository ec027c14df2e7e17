//! For tests: PyTorch's losses, gradients and weights on a tiny graph.
//!
//! `masked_step.npz` has the same with weights on the edges and some of them hidden;
//! `make_masked.py` beside it makes it.

use std::io::Cursor;

use super::Matrix;
use super::train::Model;
use crate::embed::nn::decoder::Decoder;
use crate::embed::nn::edges::Unseen;
use crate::embed::nn::input::Scaling;
use crate::embed::settings::ModelSettings;
use crate::graph::features::DenseFeatures;
use crate::graph::{BuildOptions, EdgeList, Features, Graph, build};
use crate::npy::ArrayReader;

const BYTES: &[u8] = include_bytes!("../../../tests/fixtures/train_step.npz");

const MASKED_BYTES: &[u8] = include_bytes!("../../../tests/fixtures/masked_step.npz");

/// The file `train_step.npz`: one graph, three draws of noise and non-edges, and for
/// each model the first weights and what PyTorch made of them.
pub(crate) struct Fixture;

impl Fixture {
    /// Names that begin with `masked_` are those of the other file.
    fn reader(name: &str) -> ArrayReader<Cursor<Vec<u8>>> {
        let (file, name) = match name.strip_prefix("masked_") {
            Some(name) => (MASKED_BYTES, name),
            None => (BYTES, name),
        };
        let mut archive = zip::ZipArchive::new(Cursor::new(file)).unwrap();
        let mut bytes = Vec::new();
        std::io::copy(&mut archive.by_name(&format!("{name}.npy")).unwrap(), &mut bytes).unwrap();
        ArrayReader::new(Cursor::new(bytes)).unwrap()
    }

    /// A matrix by its name; a vector is one row.
    pub(crate) fn matrix(&self, name: &str) -> Matrix<f64> {
        let reader = Self::reader(name);
        let (rows, columns) = match reader.header().shape[..] {
            [] => (1, 1),
            [columns] => (1, columns),
            [rows, columns] => (rows, columns),
            [steps, rows, columns] => (steps * rows, columns),
            _ => panic!("{name} has too many axes"),
        };
        Matrix::from_values(rows, columns, reader.floats().unwrap())
    }

    pub(crate) fn nodes(&self, name: &str) -> Vec<u32> {
        Self::reader(name).integers().unwrap()
    }

    /// The matrix `PREFIX_NAME`; for the name `a b` two of equal height, side by side.
    pub(crate) fn weights(&self, prefix: &str, name: &str) -> Matrix<f64> {
        let matrix = |name: &str| self.matrix(&format!("{prefix}_{name}"));
        let Some((left, right)) = name.split_once(' ') else { return matrix(name) };
        let (left, right) = (matrix(left), matrix(right));
        let rows = (0..left.num_rows()).flat_map(|row| left.row(row).iter().chain(right.row(row)));
        Matrix::from_values(left.num_rows(), 2 * left.num_columns(), rows.copied().collect())
    }

    pub(crate) fn num_nodes(&self) -> usize {
        self.matrix("x").num_rows()
    }

    /// The graph; its features are `x` in single precision.
    pub(crate) fn graph(&self) -> Graph {
        let edges = self.nodes("edge_index");
        let (from, to) = edges.split_at(edges.len() / 2);
        let pairs = from.iter().zip(to).map(|(&a, &b)| [a, b]).collect();
        let x = self.matrix("x");
        let values: Vec<f32> = x.values().iter().map(|&value| value as f32).collect();
        let features = DenseFeatures::new(x.num_rows(), x.num_columns(), values.into()).unwrap();
        let graph = build(EdgeList::from_pairs(pairs), x.num_rows(), &BuildOptions::default()).graph;
        graph.with_features(Some(Features::Dense(features))).unwrap()
    }

    /// The graph with the weights of the file with hidden edges.
    pub(crate) fn weighted_graph(&self) -> Graph {
        let graph = self.graph();
        let entries = graph.nodes().flat_map(|a| graph.neighbors(a).map(move |b| a.0 + b.0));
        let weights: Vec<f32> = entries.map(|sum| 1.0 + (sum % 3) as f32).collect();
        graph.with_weights(Some(weights.into())).unwrap()
    }

    pub(crate) fn settings(&self) -> ModelSettings {
        ModelSettings {
            dim: 5,
            hidden: 2.0,
            decoder: Decoder::InnerProduct,
            scaling: Scaling::None,
            unseen: Unseen::default(),
        }
    }

    pub(crate) fn noise(&self, step: usize) -> Matrix<f64> {
        let all = self.matrix("eps");
        let rows = (0..self.num_nodes()).flat_map(|row| all.row(step * self.num_nodes() + row));
        Matrix::from_values(self.num_nodes(), all.num_columns(), rows.copied().collect())
    }

    pub(crate) fn non_edges(&self, step: usize) -> Vec<[u32; 2]> {
        let all = self.nodes("neg");
        let num_pairs = all.len() / 6;
        let row = |side: usize| &all[(2 * step + side) * num_pairs..][..num_pairs];
        row(0).iter().zip(row(1)).map(|(&a, &b)| [a, b]).collect()
    }
}

#[track_caller]
pub(crate) fn assert_close(found: &Matrix<f64>, expected: &Matrix<f64>, tolerance: f64) {
    assert_eq!((found.num_rows(), found.num_columns()), (expected.num_rows(), expected.num_columns()));
    for (position, (a, b)) in found.values().iter().zip(expected.values()).enumerate() {
        assert!((a - b).abs() < tolerance, "position {position}: found {a}, expected {b}");
    }
}

/// What PyTorch left of a model: `PREFIX_loss`, for each of its parameters `PREFIX_grad_NAME`, and
/// perhaps its coordinates.
pub(crate) struct Reference {
    pub(crate) prefix: &'static str,
    pub(crate) parameters: &'static [&'static str],
    pub(crate) coordinates: Option<&'static str>,
}

impl Reference {
    pub(crate) const fn new(
        prefix: &'static str,
        parameters: &'static [&'static str],
        coordinates: Option<&'static str>,
    ) -> Self {
        Self { prefix, parameters, coordinates }
    }

    /// Checks loss, gradients and coordinates; the gradients against finite differences too.
    #[track_caller]
    pub(crate) fn assert_agrees(&self, model: &mut dyn Model<f64>) {
        let loss = model.loss_and_gradients();
        assert!((loss - Fixture.matrix(&format!("{}_loss", self.prefix)).values()[0]).abs() < 1e-8);
        self.assert_gradients_agree(model);
        if let Some(name) = self.coordinates {
            assert_close(&model.coordinates(), &Fixture.matrix(name), 1e-8);
        }
        assert_gradients_agree(model);
    }

    /// Checks the gradients of the last pass.
    #[track_caller]
    pub(crate) fn assert_gradients_agree(&self, model: &mut dyn Model<f64>) {
        assert_eq!(model.parameters().len(), self.parameters.len());
        for (parameter, name) in model.parameters().iter().zip(self.parameters) {
            assert_close(&parameter.gradient, &Fixture.weights(&format!("{}_grad", self.prefix), name), 1e-8);
        }
    }

    /// Gives a model the weights that it began with, `PREFIX_init_NAME`.
    pub(crate) fn set_first_weights(&self, model: &mut dyn Model<f64>) {
        for (parameter, name) in model.parameters().iter_mut().zip(self.parameters) {
            parameter.value = Fixture.weights(&format!("{}_init", self.prefix), name);
        }
    }
}

/// Checks the gradients of all parameters against finite differences of the loss.
#[track_caller]
pub(crate) fn assert_gradients_agree(model: &mut dyn Model<f64>) {
    model.loss_and_gradients();
    let parameters = model.parameters().to_vec();
    for (index, parameter) in parameters.iter().enumerate() {
        for (k, &expected) in parameter.gradient.values().iter().enumerate() {
            let mut loss_at = |step: f64| {
                model.parameters()[index].value.values_mut()[k] = parameter.value.values()[k] + step;
                model.loss_and_gradients()
            };
            let difference = (loss_at(1e-6) - loss_at(-1e-6)) / 2e-6;
            loss_at(0.0);
            assert!((difference - expected).abs() < 1e-7, "parameter {index}, value {k}");
        }
    }
}
