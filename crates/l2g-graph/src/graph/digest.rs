//! Digests of graphs and their parts: they change when anything changes that later stages see.

use super::labels::LabelKind;
use super::{Features, Graph, Labels, NodeId, NodeIds};
use crate::digest::Digest;

impl Graph {
    /// The digest of all there is: edges, weights, features, labels, names, held-out edges.
    pub fn digest(&self) -> String {
        let mut digest = Digest::default();
        digest.add(self.num_nodes() as u64);
        digest.add(u64::from(self.is_symmetric()));
        digest.add(self.features().map_or(0, Features::width) as u64);
        self.nodes().for_each(|node| self.add_row(node, &mut digest));
        digest.add(u64::from(self.labels().is_some()));
        if let Some(labels) = self.labels() {
            labels.add_to(&mut digest);
        }
        self.ids().add_to(&mut digest);
        if let Some(held_out) = self.held_out() {
            digest.add_values(held_out.edges());
            digest.add_values(held_out.non_edges());
        }
        digest.to_string()
    }

    /// Adds what there is about one node: its neighbours, their weights, its features.
    pub fn add_row(&self, node: NodeId, digest: &mut Digest) {
        digest.add(self.degree(node) as u64);
        self.neighbors(node).for_each(|neighbor| digest.add(neighbor.0));
        digest.add_values(self.neighbor_weights(node).unwrap_or_default());
        match self.features() {
            None => {}
            Some(Features::Dense(dense)) => digest.add_values(dense.row(node)),
            Some(Features::Sparse(sparse)) => {
                let (columns, values) = sparse.row(node);
                digest.add_values(columns);
                digest.add_values(values);
            }
        }
    }
}

impl Labels {
    /// Adds the classes of all nodes, and their names.
    pub fn add_to(&self, digest: &mut Digest) {
        digest.add(self.num_classes() as u64);
        match self.kind() {
            LabelKind::Single(classes) => digest.add_values(classes),
            LabelKind::Multi(indicators) => digest.add_values(indicators),
        }
        self.class_names().iter().for_each(|name| digest.add_text(name));
    }
}

impl NodeIds {
    /// Adds the names of all nodes.
    pub fn add_to(&self, digest: &mut Digest) {
        match self {
            Self::Range(count) => digest.add(*count as u64),
            Self::Integers(numbers) => digest.add_values(numbers),
            Self::Strings(strings) => strings.iter().for_each(|name| digest.add_text(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_differs_changes_the_digest() {
        let graph = || Graph::from_rows(vec![0, 1, 3, 4].into(), vec![1_u32, 0, 2, 1].into(), true).unwrap();
        let labelled = |classes: [i32; 3], names: [&str; 2]| {
            let labels = Labels::single(classes.to_vec().into(), names.map(String::from).to_vec());
            graph().with_labels(Some(labels)).unwrap().digest()
        };
        let named =
            |ids: [u64; 3]| graph().with_ids(NodeIds::Integers(ids.to_vec().into())).unwrap().digest();
        let weighted = graph().with_weights(Some(vec![1.0, 1.0, 2.0, 2.0].into())).unwrap();
        let all = [
            graph().digest(),
            weighted.digest(),
            labelled([0, 1, 1], ["a", "b"]),
            labelled([0, 1, 0], ["a", "b"]),
            labelled([0, 1, 1], ["a", "c"]),
            named([0, 1, 2]),
            named([5, 6, 7]),
            named([5, 6, 8]),
        ];
        for (index, one) in all.iter().enumerate() {
            assert!(!all[..index].contains(one), "{index}");
        }
        assert_eq!(graph().digest(), graph().digest());
    }

    /// Large arrays are shown with their middle left out, and are still told apart.
    #[test]
    fn one_label_among_thousands_counts() {
        let digest = |odd: usize| {
            let graph = Graph::from_rows(vec![0_u64; 5001].into(), Vec::<u32>::new().into(), true).unwrap();
            let classes: Vec<i32> = (0..5000).map(|node| i32::from(node == odd)).collect();
            graph.with_labels(Some(Labels::single(classes.into(), Vec::new()))).unwrap().digest()
        };
        assert_ne!(digest(2500), digest(2501));
    }
}
