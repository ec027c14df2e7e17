//! What stands in for METIS where the feature `metis` is left out.

use super::Metis;
use crate::graph::Graph;
use crate::partition::{Partition, PartitionError, PartitionTask, Partitioner};

impl Partitioner for Metis {
    fn partition(&self, _graph: &Graph, _task: &PartitionTask<'_>) -> Result<Partition, PartitionError> {
        Err(PartitionError::WithoutMetis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;

    #[test]
    fn without_metis_another_method_is_named() {
        let graph = Graph::from_rows(vec![0, 1, 2].into(), vec![1_u32, 0].into(), true).unwrap();
        let error = Metis::default().partition(&graph, &PartitionTask::silent(2, Seed(1))).unwrap_err();
        let message = "this program was built without METIS; `fennel` partitions without it";
        assert_eq!(error.to_string(), message);
    }
}
