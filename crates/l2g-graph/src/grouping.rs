//! Values by group: a counting sort.
//!
//! Cost: two passes over the values, `O(values + groups)` time and memory. Values keep their order
//! within a group.

use std::ops::Range;

/// Where each group begins if values are sorted by group, and where the last one ends.
///
/// # Panics
/// If a group is not below `num_groups`.
pub fn group_offsets(num_groups: usize, groups: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut offsets = vec![0; num_groups + 1];
    groups.for_each(|group| offsets[group + 1] += 1);
    for group in 0..num_groups {
        offsets[group + 1] += offsets[group];
    }
    offsets
}

/// Values, one group after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grouped<T> {
    offsets: Vec<usize>,
    values: Vec<T>,
}

impl<T: Copy + Default> Grouped<T> {
    /// Sorts values by group; `entries` gives each with its group, and is gone through twice.
    ///
    /// # Panics
    /// If a group is not below `num_groups`.
    ///
    /// # Examples
    /// ```
    /// use l2g_graph::grouping::Grouped;
    ///
    /// let grouped = Grouped::new(3, [(2, 'a'), (0, 'b'), (2, 'c')].into_iter());
    /// assert_eq!(grouped.group(2), ['a', 'c']);
    /// assert!(grouped.group(1).is_empty());
    /// ```
    pub fn new(num_groups: usize, entries: impl Iterator<Item = (usize, T)> + Clone) -> Self {
        let offsets = group_offsets(num_groups, entries.clone().map(|(group, _)| group));
        let mut next = offsets.clone();
        let mut values = vec![T::default(); offsets[num_groups]];
        for (group, value) in entries {
            values[next[group]] = value;
            next[group] += 1;
        }
        Self { offsets, values }
    }
}

impl<T> Grouped<T> {
    /// The number of groups.
    pub fn num_groups(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Where a group lies among all values.
    pub fn range(&self, group: usize) -> Range<usize> {
        self.offsets[group]..self.offsets[group + 1]
    }

    /// The values of a group, in the order they came.
    pub fn group(&self, group: usize) -> &[T] {
        &self.values[self.range(group)]
    }

    /// All values, one group after the other.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Where each group begins, and where the last one ends.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The offsets and the values.
    pub fn into_parts(self) -> (Vec<usize>, Vec<T>) {
        (self.offsets, self.values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_order_within_groups() {
        let grouped = Grouped::new(4, [2, 0, 2, 3, 0].into_iter().zip(0_u32..));
        assert_eq!(grouped.offsets(), [0, 2, 2, 4, 5]);
        assert_eq!(grouped.values(), [1, 4, 0, 2, 3]);
        assert_eq!((grouped.num_groups(), grouped.range(2)), (4, 2..4));
    }
}
