//! What is looked for, and by which score.

use serde::{Deserialize, Serialize};

use super::NearError;
use crate::graph::NodeId;
use crate::linalg::lanes::{dot, squared_norm};
use crate::score::Coordinates;

/// How near two rows are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Similarity {
    /// `x · y / (‖x‖ ‖y‖)`, and 0 where one of them is zero: direction without length.
    #[default]
    Cosine,
    /// `x · y`.
    InnerProduct,
}

/// What the neighbours are looked for of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Query<'a> {
    /// A node, which is not a neighbour of itself.
    Node(NodeId),
    /// A vector of as many numbers as the embedding has columns.
    Vector(&'a [f32]),
}

/// A query, ready to be compared with rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prepared<'a> {
    pub(super) row: &'a [f32],
    /// The length of the row; 1 if it is zero, so that it can be divided by.
    pub(super) norm: f64,
    /// The node that is asked about.
    pub(super) own: Option<NodeId>,
}

impl<'a> Prepared<'a> {
    /// Looks a query up; `position` is its place among the queries.
    pub(super) fn new(
        query: Query<'a>,
        coordinates: Coordinates<'a>,
        position: usize,
    ) -> Result<Self, NearError> {
        let (row, own) = match query {
            Query::Node(node) if node.index() < coordinates.num_rows() => (coordinates.row(node), Some(node)),
            Query::Node(node) => return Err(NearError::NoRow { node, rows: coordinates.num_rows() }),
            Query::Vector(row) => (row, None),
        };
        if row.len() != coordinates.dim() {
            return Err(NearError::Dim { position, found: row.len(), needed: coordinates.dim() });
        }
        if !row.iter().all(|value| value.is_finite()) {
            return Err(match own {
                Some(node) => NearError::NotFinite { row: node.index() },
                None => NearError::VectorNotFinite { position },
            });
        }
        Ok(Self { row, norm: length_or_one(row), own })
    }

    /// The same direction, of length 1.
    pub(super) fn direction(&self) -> impl Iterator<Item = f32> {
        self.row.iter().map(|&value| (f64::from(value) / self.norm) as f32)
    }

    /// The score of a row, in double precision.
    pub(super) fn score(&self, row: &[f32], similarity: Similarity) -> f64 {
        let product = dot(self.row, row);
        // Adding zero turns -0 into 0, so that they are equal in the total order too.
        0.0 + match similarity {
            Similarity::InnerProduct => product,
            Similarity::Cosine => product / (self.norm * length_or_one(row)),
        }
    }
}

fn length_or_one(row: &[f32]) -> f64 {
    match squared_norm(row).sqrt() {
        length if length > 0.0 => length,
        _ => 1.0,
    }
}
