//! In which patches a node lies.
//!
//! Every node lies in its home patch, which grew from its cluster, and landmarks lie in all. Only
//! the nodes that lie in further patches have a list of them: a bit for every node tells which they
//! are, and the rank of the bit where the list begins.
//!
//! Cost: 1.5 bits a node, 4 bytes a node with a list and 4 an entry.

use super::lists::PatchLists;
use crate::graph::id_set::{IdSet, Ranks};
use crate::graph::{Neighbors, NodeId};

/// Lists longer than this are searched, not scanned.
const LONG: usize = 16;

/// The patches of each node.
pub(super) struct Memberships<'a> {
    homes: &'a [u32],
    landmarks: Ranks,
    /// The nodes that lie in further patches.
    guests: Ranks,
    starts: Starts,
    patches: Vec<u32>,
}

/// Where lists begin, and where the last one ends.
enum Starts {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl Starts {
    fn of(counts: Vec<u32>, num_entries: usize) -> Self {
        match u32::try_from(num_entries) {
            Ok(_) => {
                let mut starts = counts;
                let mut sum = 0;
                starts.iter_mut().for_each(|count| sum += std::mem::replace(count, sum));
                starts.push(sum);
                Self::Narrow(starts)
            }
            Err(_) => {
                let sums = counts.iter().scan(0, |sum, &count| {
                    *sum += u64::from(count);
                    Some(*sum)
                });
                Self::Wide(std::iter::once(0).chain(sums).collect())
            }
        }
    }

    fn get(&self, rank: usize) -> usize {
        match self {
            Self::Narrow(starts) => starts[rank] as usize,
            Self::Wide(starts) => starts[rank] as usize,
        }
    }

    /// Gives the place of the next entry of a list, whose start then lies behind it.
    fn take(&mut self, rank: usize) -> usize {
        match self {
            Self::Narrow(starts) => {
                starts[rank] += 1;
                starts[rank] as usize - 1
            }
            Self::Wide(starts) => {
                starts[rank] += 1;
                starts[rank] as usize - 1
            }
        }
    }

    /// After every list was filled by [`Starts::take`], each start is that of the next list.
    fn shift_back(&mut self) {
        match self {
            Self::Narrow(starts) => {
                starts.rotate_right(1);
                starts[0] = 0;
            }
            Self::Wide(starts) => {
                starts.rotate_right(1);
                starts[0] = 0;
            }
        }
    }
}

impl<'a> Memberships<'a> {
    /// Turns the lists of patches around.
    pub(super) fn of(lists: &PatchLists<'a>) -> Self {
        let mut guests = IdSet::default();
        let each = || (0_u32..).zip(lists.further().iter());
        each().for_each(|(_, nodes)| nodes.for_each(|node| guests.insert(node.index())));
        let guests = guests.into_ranks();
        let mut counts = vec![0_u32; guests.len()];
        each().for_each(|(_, nodes)| nodes.for_each(|node| counts[guests.rank(node.index())] += 1));
        let num_entries = lists.further().num_entries();
        let mut starts = Starts::of(counts, num_entries);
        let mut patches = vec![0; num_entries];
        let fill = |(patch, nodes): (u32, Neighbors<'_>)| {
            nodes.for_each(|node| patches[starts.take(guests.rank(node.index()))] = patch);
        };
        each().for_each(fill);
        // The end of the last list was not taken.
        starts.shift_back();
        let mut landmarks = IdSet::default();
        lists.landmarks().iter().for_each(|node| landmarks.insert(node.index()));
        Self { homes: lists.homes(), landmarks: landmarks.into_ranks(), guests, starts, patches }
    }

    /// The patch that grew from the cluster of the node.
    pub(super) fn home(&self, node: NodeId) -> u32 {
        self.homes[node.index()]
    }

    /// The patches besides its home that the node lies in, ascending, but for those that it lies in
    /// only because it is a landmark.
    pub(super) fn further(&self, node: NodeId) -> &[u32] {
        match self.guests.contains(node.index()) {
            true => {
                let rank = self.guests.rank(node.index());
                &self.patches[self.starts.get(rank)..self.starts.get(rank + 1)]
            }
            false => &[],
        }
    }

    /// Whether some patch holds both nodes.
    pub(super) fn share_a_patch(&self, a: NodeId, b: NodeId) -> bool {
        let homes = [a, b].map(|node| self.home(node));
        if homes[0] == homes[1] {
            return true;
        }
        let [of_a, of_b] = [a, b].map(|node| self.further(node));
        contains(of_a, homes[1])
            || contains(of_b, homes[0])
            || have_common(of_a, of_b)
            || [a, b].iter().any(|node| self.landmarks.contains(node.index()))
    }
}

fn contains(ascending: &[u32], patch: u32) -> bool {
    match ascending.len() <= LONG {
        true => ascending.contains(&patch),
        false => ascending.binary_search(&patch).is_ok(),
    }
}

fn have_common(a: &[u32], b: &[u32]) -> bool {
    let (few, many) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    few.iter().any(|&patch| contains(many, patch))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::Partition;
    use crate::patch::lists::tests::node_lists;

    #[test]
    fn lists_are_turned_around() {
        let partition = Partition::from_labels(vec![0, 0, 1, 1, 2]);
        let further = node_lists(5, &[&[2, 4], &[4], &[0]]);
        let lists = PatchLists::new(&partition, partition.members(), further);
        let memberships = Memberships::of(&lists);
        let found = [0, 1, 2, 3, 4].map(|node| memberships.further(NodeId(node)).to_vec());
        assert_eq!(found, [vec![2], vec![], vec![0], vec![], vec![0, 1]]);
        let shared = |a, b| memberships.share_a_patch(NodeId(a), NodeId(b));
        // By the home of one, by the home of the other, through a third patch, and not.
        assert!(shared(0, 2) && shared(4, 3) && shared(2, 4) && !shared(1, 3));
    }

    #[test]
    fn landmarks_share_a_patch_with_everybody() {
        let partition = Partition::from_labels(vec![0, 1, 2]);
        let further = node_lists(3, &[&[], &[], &[]]);
        let mut lists = PatchLists::new(&partition, partition.members(), further);
        lists.set_landmarks(vec![NodeId(1)]);
        let memberships = Memberships::of(&lists);
        assert!(memberships.share_a_patch(NodeId(0), NodeId(1)));
        assert!(!memberships.share_a_patch(NodeId(0), NodeId(2)));
    }

    #[test]
    fn long_lists_are_searched() {
        let many: Vec<u32> = (0..100).map(|patch| 3 * patch).collect();
        assert!(have_common(&many, &[1, 150]) && !have_common(&[1, 151], &many));
    }
}
