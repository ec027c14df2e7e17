//! What is known about each node: a row of numbers, dense or sparse.

use std::io;
use std::path::Path;

use rayon::prelude::*;

use super::NodeId;
use crate::buffer::{Buffer, Spool};

/// One row of features per node.
#[derive(Clone, Debug, PartialEq)]
pub enum Features {
    /// Every value is stored.
    Dense(DenseFeatures),
    /// Only non-zero values are stored.
    Sparse(SparseFeatures),
}

/// Features stored as a full matrix, row after row.
#[derive(Clone, Debug, PartialEq)]
pub struct DenseFeatures {
    width: usize,
    num_rows: usize,
    values: Buffer<f32>,
}

/// Features stored as compressed sparse rows.
///
/// Row `v` has the value `values[k]` in column `columns[k]` for all `k` in
/// `offsets[v]..offsets[v + 1]`. Columns within a row are ascending.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseFeatures {
    width: usize,
    offsets: Buffer<u64>,
    columns: Buffer<u32>,
    values: Buffer<f32>,
}

/// Why arrays are not features.
#[derive(Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages name the fields")]
pub enum FeatureError {
    /// A dense matrix has the wrong number of values.
    #[error("features have {found} values, needed {rows} x {columns}")]
    Length { found: usize, rows: usize, columns: usize },

    /// The offsets do not describe rows.
    #[error("feature offsets are not ascending from 0 to the number of values, {num_values}")]
    Offsets { num_values: usize },

    /// A column does not exist.
    #[error("feature {position} is in column {column}, but there are {width} columns")]
    Column { position: usize, column: u32, width: usize },

    /// A row is not sorted, or names a column twice.
    #[error("feature columns of row {row} are not strictly ascending")]
    Unsorted { row: usize },

    /// A value is NaN or infinite.
    #[error("feature {value} in row {row} is not finite")]
    NotFinite { row: usize, value: f32 },
}

impl DenseFeatures {
    /// Whether the values are mapped from a file.
    pub(crate) fn is_mapped(&self) -> bool {
        matches!(self.values, Buffer::Mapped(_))
    }

    /// A matrix of `num_rows` rows of `width` values each.
    ///
    /// # Errors
    /// [`FeatureError::Length`] if there are more or fewer values.
    pub fn new(num_rows: usize, width: usize, values: Buffer<f32>) -> Result<Self, FeatureError> {
        if num_rows.checked_mul(width) != Some(values.len()) {
            return Err(FeatureError::Length { found: values.len(), rows: num_rows, columns: width });
        }
        Ok(Self { width, num_rows, values })
    }

    /// The values of one node.
    pub fn row(&self, node: NodeId) -> &[f32] {
        &self.values[node.index() * self.width..][..self.width]
    }

    /// All values, row after row.
    pub fn values(&self) -> &[f32] {
        &self.values
    }
}

impl SparseFeatures {
    /// Sparse rows from their arrays.
    ///
    /// Columns must exist and ascend strictly in each row; see
    /// [`SparseFeatures::check_rows`].
    ///
    /// # Errors
    /// [`FeatureError::Offsets`] if first and last offset do not fit the values.
    pub fn new(
        width: usize,
        offsets: Buffer<u64>,
        columns: Buffer<u32>,
        values: Buffer<f32>,
    ) -> Result<Self, FeatureError> {
        let num_values = values.len();
        let rows_fit = offsets.first() == Some(&0) && offsets.last() == Some(&(num_values as u64));
        if !rows_fit || columns.len() != num_values {
            return Err(FeatureError::Offsets { num_values });
        }
        Ok(Self { width, offsets, columns, values })
    }

    /// Checks every row: ascending offsets, strictly ascending columns that exist.
    ///
    /// # Errors
    /// The first violation found.
    pub fn check_rows(&self) -> Result<(), FeatureError> {
        if !self.offsets.is_sorted() {
            return Err(FeatureError::Offsets { num_values: self.values.len() });
        }
        for row in 0..self.offsets.len() - 1 {
            let (columns, _) = self.row(NodeId::new(row));
            if !columns.is_sorted_by(|a, b| a < b) {
                return Err(FeatureError::Unsorted { row });
            }
            if let Some(&column) = columns.last().filter(|&&column| column as usize >= self.width) {
                let position = self.offsets[row + 1] as usize - 1;
                return Err(FeatureError::Column { position, column, width: self.width });
            }
        }
        Ok(())
    }

    /// The columns and values of one node.
    pub fn row(&self, node: NodeId) -> (&[u32], &[f32]) {
        let row = node.index();
        let range = self.offsets[row] as usize..self.offsets[row + 1] as usize;
        (&self.columns[range.clone()], &self.values[range])
    }

    /// Where each row begins; one more entry than rows.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// The columns of all values.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// All stored values.
    pub fn values(&self) -> &[f32] {
        &self.values
    }
}

impl Features {
    /// The number of rows: one per node.
    pub fn num_rows(&self) -> usize {
        match self {
            Self::Dense(dense) => dense.num_rows,
            Self::Sparse(sparse) => sparse.offsets.len() - 1,
        }
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        match self {
            Self::Dense(dense) => dense.width,
            Self::Sparse(sparse) => sparse.width,
        }
    }

    /// The rows of some nodes of a dense matrix, in a file in a folder, mapped; `None` if the matrix is
    /// in memory, where the rows may be too.
    pub(crate) fn select_mapped(
        &self,
        nodes: impl Iterator<Item = NodeId>,
        folder: &Path,
    ) -> Option<io::Result<Self>> {
        let Self::Dense(dense) = self else { return None };
        let select = || {
            let mut spool = Spool::new(folder)?;
            let mut num_rows = 0;
            for node in nodes {
                spool.push(dense.row(node))?;
                num_rows += 1;
            }
            Ok(Self::Dense(DenseFeatures { width: dense.width, num_rows, values: spool.finish()? }))
        };
        dense.is_mapped().then(select)
    }

    /// The stored values, whichever way they are stored.
    pub fn values(&self) -> &[f32] {
        match self {
            Self::Dense(dense) => &dense.values,
            Self::Sparse(sparse) => &sparse.values,
        }
    }

    /// All values, row after row, zeros included.
    pub fn filled(&self) -> Vec<f32> {
        match self {
            Self::Dense(dense) => dense.values.to_vec(),
            Self::Sparse(sparse) => sparse.filled(),
        }
    }

    /// Checks that no value is NaN or infinite.
    ///
    /// # Errors
    /// [`FeatureError::NotFinite`] with the row of the first such value.
    pub fn check_finite(&self) -> Result<(), FeatureError> {
        let Some(position) = self.values().par_iter().position_first(|value| !value.is_finite()) else {
            return Ok(());
        };
        let row = match self {
            Self::Dense(dense) => position / dense.width,
            Self::Sparse(sparse) => sparse.offsets.partition_point(|&start| start as usize <= position) - 1,
        };
        Err(FeatureError::NotFinite { row, value: self.values()[position] })
    }

    /// The rows of some nodes, in their order.
    pub fn select(&self, nodes: &[NodeId]) -> Self {
        match self {
            Self::Dense(dense) => {
                let (num_rows, width) = (nodes.len(), dense.width);
                let mut values = Vec::with_capacity(num_rows * width);
                nodes.iter().for_each(|&node| values.extend_from_slice(dense.row(node)));
                Self::Dense(DenseFeatures { width, num_rows, values: values.into() })
            }
            Self::Sparse(sparse) => Self::Sparse(sparse.select(nodes)),
        }
    }
}

impl SparseFeatures {
    fn filled(&self) -> Vec<f32> {
        let mut values = vec![0.0; (self.offsets.len() - 1) * self.width];
        for (row, filled) in values.chunks_exact_mut(self.width.max(1)).enumerate() {
            let (columns, entries) = self.row(NodeId::new(row));
            columns.iter().zip(entries).for_each(|(&column, &value)| filled[column as usize] = value);
        }
        values
    }

    /// For tests: rows of ones in the columns that `words` names, in any order and perhaps more than once.
    #[doc(hidden)]
    pub fn of_words(width: usize, num_rows: usize, mut words: impl FnMut(usize) -> Vec<u32>) -> Self {
        let (mut offsets, mut columns) = (vec![0_u64], Vec::new());
        for row in 0..num_rows {
            let mut words = words(row);
            words.sort_unstable();
            words.dedup();
            columns.extend(words);
            offsets.push(columns.len() as u64);
        }
        let values = vec![1.0; columns.len()];
        Self::new(width, offsets.into(), columns.into(), values.into()).expect("columns below the width")
    }

    fn select(&self, nodes: &[NodeId]) -> Self {
        let num_values = nodes.iter().map(|&node| self.row(node).0.len()).sum();
        let mut offsets = Vec::with_capacity(nodes.len() + 1);
        offsets.push(0);
        let mut columns = Vec::with_capacity(num_values);
        let mut values = Vec::with_capacity(num_values);
        for &node in nodes {
            let row = self.row(node);
            columns.extend_from_slice(row.0);
            values.extend_from_slice(row.1);
            offsets.push(values.len() as u64);
        }
        Self { width: self.width, offsets: offsets.into(), columns: columns.into(), values: values.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sparse() -> SparseFeatures {
        SparseFeatures::new(3, vec![0, 2, 2, 3].into(), vec![0, 2, 1].into(), vec![1.0, 2.0, 3.0].into())
            .unwrap()
    }

    #[test]
    fn rows_are_selected_in_order() {
        let selected = Features::Sparse(sparse()).select(&[NodeId(2), NodeId(1)]);
        let Features::Sparse(rows) = &selected else { panic!("still sparse") };
        assert_eq!(rows.row(NodeId(0)), (&[1_u32][..], &[3.0_f32][..]));
        assert_eq!((selected.num_rows(), selected.width()), (2, 3));

        let dense = DenseFeatures::new(2, 2, vec![1.0, 2.0, 3.0, 4.0].into()).unwrap();
        assert_eq!(Features::Dense(dense).select(&[NodeId(1)]).values(), [3.0, 4.0]);
    }

    #[test]
    fn values_that_are_not_finite_are_found() {
        let dense = DenseFeatures::new(2, 2, vec![1.0, 2.0, 3.0, f32::NAN].into()).unwrap();
        let error = Features::Dense(dense).check_finite().unwrap_err();
        assert!(matches!(error, FeatureError::NotFinite { row: 1, .. }));
        let with_infinity = SparseFeatures { values: vec![1.0, 2.0, f32::INFINITY].into(), ..sparse() };
        let error = Features::Sparse(with_infinity).check_finite().unwrap_err();
        assert!(matches!(error, FeatureError::NotFinite { row: 2, .. }));
    }

    #[test]
    fn broken_rows_are_refused() {
        assert!(DenseFeatures::new(2, 2, vec![1.0].into()).is_err());
        assert!(SparseFeatures::new(3, vec![0, 2].into(), vec![0].into(), vec![1.0].into()).is_err());
        let outside = SparseFeatures { columns: vec![0, 3, 1].into(), ..sparse() };
        assert_eq!(outside.check_rows(), Err(FeatureError::Column { position: 1, column: 3, width: 3 }));
        let unsorted = SparseFeatures { columns: vec![2, 0, 1].into(), ..sparse() };
        assert_eq!(unsorted.check_rows(), Err(FeatureError::Unsorted { row: 0 }));
    }
}
