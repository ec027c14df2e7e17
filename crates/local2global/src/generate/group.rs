//! Nodes by group: a counting sort.

/// Nodes sorted by group, ascending within each.
#[derive(Debug)]
pub(super) struct Groups {
    /// Where each group begins among the members; one more entry than groups.
    pub(super) starts: Vec<usize>,
    /// All nodes, one group after the other.
    pub(super) members: Vec<u32>,
}

impl Groups {
    /// Sorts nodes by group, given the group of each.
    pub(super) fn new(num_groups: usize, groups: impl ExactSizeIterator<Item = usize> + Clone) -> Self {
        let mut starts = vec![0; num_groups + 1];
        groups.clone().for_each(|group| starts[group + 1] += 1);
        for group in 0..num_groups {
            starts[group + 1] += starts[group];
        }
        let mut next = starts.clone();
        let mut members = vec![0; groups.len()];
        for (node, group) in groups.enumerate() {
            members[next[group]] = node as u32;
            next[group] += 1;
        }
        Self { starts, members }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_ascend_within_groups() {
        let groups = Groups::new(4, [2, 0, 2, 3, 0].into_iter());
        assert_eq!(groups.starts, [0, 2, 2, 4, 5]);
        assert_eq!(groups.members, [1, 4, 0, 2, 3]);
    }
}
