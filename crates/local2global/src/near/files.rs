//! The search in a run folder: an embedding that is mapped, and the user's names of its rows.
//!
//! ```text
//! 1-graph/ids.npy | ids.parquet, labels.npy    who the rows are
//! 5-alignment/embedding.npy                    the rows, or another embedding of the run
//! ```
//!
//! The edges of the graph are not looked at, so that one query on a large graph is a matter of
//! reading the embedding once.

use super::NearError;
use crate::evaluate::Contender;
use crate::evaluate::files::{embedding_path, read_embedding};
use crate::graph::store::{self, NodeNames};
use crate::npy::Array;
use crate::run_dir::RunDir;
use crate::score::Coordinates;

/// An embedding of a run, and who its rows are.
#[derive(Debug)]
pub struct NamedRows {
    /// The names and classes of the rows.
    pub names: NodeNames,
    array: Array<f32>,
    dim: usize,
}

impl NamedRows {
    /// Opens one of the embeddings of a run.
    ///
    /// # Errors
    /// [`NearError`] if it is not there, or has not one row for each node of the graph.
    pub fn open(run: &RunDir, contender: Contender) -> Result<Self, NearError> {
        let names = store::open_names(&run.graph())?;
        let path = embedding_path(run, contender);
        if !path.exists() {
            return Err(NearError::NoEmbedding { path });
        }
        let (dim, array) = read_embedding(&path).map_err(|source| NearError::Array { path, source })?;
        let found = Self { names, array, dim };
        match (found.coordinates().num_rows(), found.names.ids.len()) {
            (rows, nodes) if rows == nodes => Ok(found),
            (rows, nodes) => Err(NearError::Rows { rows, nodes }),
        }
    }

    /// The rows.
    pub fn coordinates(&self) -> Coordinates<'_> {
        Coordinates::new(&self.array.values, self.dim)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::load::GraphConfig;
    use crate::graph::{NodeId, builtin};
    use crate::near::{Query, Similarity, nearest};
    use crate::progress::Silent;
    use crate::run_dir::write_array;

    #[test]
    fn every_embedding_of_a_run_can_be_searched() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::new(folder.path());
        let cora = builtin::open("cora", &[], &GraphConfig::default(), &Silent).unwrap();
        store::write(&run.graph(), &cora.graph, &cora.summary).unwrap();
        let error = NamedRows::open(&run, Contender::L2g).unwrap_err();
        assert!(error.to_string().contains("embedding.npy` does not exist"), "{error}");
        let ascending: Vec<f32> = (0..2485).map(|row| row as f32).collect();
        write_array(&embedding_path(&run, Contender::L2g), &[2485, 1], &ascending).unwrap();
        let descending: Vec<f64> = (0..2485).map(|row| -f64::from(row)).collect();
        write_array(&embedding_path(&run, Contender::Full), &[2485, 1], &descending).unwrap();
        for (contender, best) in [(Contender::L2g, 2484), (Contender::Full, 0)] {
            let rows = NamedRows::open(&run, contender).unwrap();
            let found =
                nearest(rows.coordinates(), &[Query::Vector(&[1.0])], 1, Similarity::InnerProduct, &Silent);
            assert_eq!(found.unwrap()[0][0].node, NodeId(best));
        }
        write_array(&embedding_path(&run, Contender::NoTrans), &[1, 2485], &ascending).unwrap();
        let error = NamedRows::open(&run, Contender::NoTrans).unwrap_err();
        assert_eq!(error.to_string(), "embedding has 1 rows, but the graph has 2485 nodes");
    }
}
