//! What stands in for METIS where the feature `metis` is left out.

use super::{Idx, MetisGraph};
use crate::partition::PartitionError;

impl MetisGraph {
    /// Tells that there is no METIS.
    pub(in crate::partition) fn split(
        &self,
        _num_clusters: usize,
        _seed: Idx,
        _attempts: Idx,
        _thousandths: Idx,
    ) -> Result<Vec<Idx>, PartitionError> {
        Err(PartitionError::WithoutMetis)
    }
}

#[cfg(test)]
mod tests {
    use crate::graph::Graph;
    use crate::partition::{Buffered, Metis, PartitionTask, Partitioner};
    use crate::seed::Seed;

    #[test]
    fn without_metis_another_method_is_named() {
        let graph = Graph::from_rows(vec![0, 1, 2].into(), vec![1_u32, 0].into(), true).unwrap();
        let methods: [&dyn Partitioner; 2] = [&Metis::default(), &Buffered::default()];
        for method in methods {
            let error = method.partition(&graph, &PartitionTask::silent(2, Seed(1))).unwrap_err();
            let message = "this program was built without METIS; `fennel` partitions without it";
            assert_eq!(error.to_string(), message);
        }
    }
}
