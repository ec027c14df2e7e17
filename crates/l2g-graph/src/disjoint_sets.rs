//! Disjoint sets of the numbers below a length (union-find).
//!
//! Every number points towards a root that stands for its set; paths are halved whenever they
//! are walked. Cost: `O(log n)` amortised for each call, 4 or 8 bytes a number.
//!
//! Source: Tarjan, van Leeuwen, "Worst-case analysis of set union algorithms", J. ACM 31, 1984.

/// An integer that can number the members of sets: `u32`, or `u64` where that is too narrow.
pub trait SetIndex: Copy {
    /// The number as an index.
    fn to_usize(self) -> usize;
    /// The index as a number; it must fit.
    fn of_usize(index: usize) -> Self;
}

impl SetIndex for u32 {
    fn to_usize(self) -> usize {
        self as usize
    }

    fn of_usize(index: usize) -> Self {
        index as Self
    }
}

impl SetIndex for u64 {
    fn to_usize(self) -> usize {
        self as usize
    }

    fn of_usize(index: usize) -> Self {
        index as Self
    }
}

/// Disjoint sets of the numbers below a length.
///
/// # Examples
/// ```
/// use l2g_graph::disjoint_sets::DisjointSets;
///
/// let mut sets = DisjointSets::<u32>::new(5);
/// assert!(sets.join(4, 2) && sets.join(2, 3) && !sets.join(3, 4));
/// assert_eq!(sets.root(4), 2);
/// ```
#[derive(Clone, Debug)]
pub struct DisjointSets<I = u32> {
    parents: Vec<I>,
}

impl<I: SetIndex> DisjointSets<I> {
    /// Every number alone.
    pub fn new(len: usize) -> Self {
        Self { parents: (0..len).map(I::of_usize).collect() }
    }

    /// The number that stands for a set: its smallest, if sets are only joined by
    /// [`DisjointSets::join`].
    pub fn root(&mut self, mut number: usize) -> usize {
        loop {
            let parent = self.parents[number].to_usize();
            if parent == number {
                return number;
            }
            let grandparent = self.parents[parent];
            self.parents[number] = grandparent;
            number = grandparent.to_usize();
        }
    }

    /// Whether the number stands for its set.
    pub fn is_root(&self, number: usize) -> bool {
        self.parents[number].to_usize() == number
    }

    /// Joins two sets, of which the smaller root stays; tells whether they were apart.
    pub fn join(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[a.max(b)] = I::of_usize(a.min(b));
        a != b
    }

    /// Puts the set of one root under another root, which stays.
    ///
    /// # Panics
    /// If one of them is no root.
    pub fn join_into(&mut self, root: usize, target: usize) {
        assert!(self.is_root(root) && self.is_root(target), "only roots are joined");
        self.parents[root] = I::of_usize(target);
    }

    /// The sets, numbered by their first member: the set of each number, and the size of each set.
    ///
    /// # Panics
    /// If there are more than 2³² sets.
    pub fn into_labels(mut self) -> (Vec<u32>, Vec<usize>) {
        const UNSEEN: u32 = u32::MAX;
        let mut labels = vec![UNSEEN; self.parents.len()];
        let mut sizes = Vec::new();
        for number in 0..labels.len() {
            let root = self.root(number);
            if labels[root] == UNSEEN {
                labels[root] = u32::try_from(sizes.len()).expect("at most 2^32 sets");
                sizes.push(0);
            }
            labels[number] = labels[root];
            sizes[labels[number] as usize] += 1;
        }
        (labels, sizes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_number_stands_for_its_set() {
        let mut sets = DisjointSets::<u64>::new(5);
        assert!(sets.join(4, 2) && sets.join(2, 3) && !sets.join(3, 4));
        assert_eq!((sets.root(4), sets.root(3), sets.root(1)), (2, 2, 1));
        assert_eq!(sets.into_labels(), (vec![0, 1, 2, 2, 2], vec![1, 1, 3]));
    }

    #[test]
    fn a_root_can_be_put_under_a_larger_one() {
        let mut sets = DisjointSets::<u32>::new(4);
        sets.join_into(0, 3);
        sets.join_into(1, 3);
        assert_eq!((sets.root(0), sets.is_root(1), sets.is_root(3)), (3, false, true));
        assert_eq!(sets.into_labels(), (vec![0, 0, 1, 0], vec![3, 1]));
    }
}
