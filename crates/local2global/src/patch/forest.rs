//! Disjoint sets of patches, for spanning trees and connected groups.

/// Disjoint sets of the numbers below a length.
#[derive(Clone, Debug)]
pub(super) struct Forest {
    parents: Vec<u32>,
}

impl Forest {
    /// Every number alone.
    pub(super) fn new(len: usize) -> Self {
        Self { parents: (0..len as u32).collect() }
    }

    /// The smallest number of a set, by one of its numbers.
    pub(super) fn root(&mut self, mut number: u32) -> u32 {
        while self.parents[number as usize] != number {
            let grandparent = self.parents[self.parents[number as usize] as usize];
            self.parents[number as usize] = grandparent;
            number = grandparent;
        }
        number
    }

    /// Joins two sets; tells whether they were apart.
    pub(super) fn join(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[a.max(b) as usize] = a.min(b);
        a != b
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_number_stands_for_its_set() {
        let mut forest = Forest::new(5);
        assert!(forest.join(4, 2) && forest.join(2, 3) && !forest.join(3, 4));
        assert_eq!((forest.root(4), forest.root(3), forest.root(1)), (2, 2, 1));
    }
}
