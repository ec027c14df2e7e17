//! Sums by key for a few keys at a time: a small hash table that is emptied by what was put in.

/// No group has this number.
const NOBODY: u32 = u32::MAX;

/// The weight of a node's edges into each group around it.
#[derive(Debug, Default)]
pub(super) struct Tally {
    keys: Vec<u32>,
    sums: Vec<f32>,
    /// The slots in use, in the order in which their keys came.
    used: Vec<usize>,
    /// The slots that the current node needs, less one: a power of two, less one.
    mask: usize,
}

impl Tally {
    /// Empties the table, and makes room for up to `keys` keys.
    #[inline]
    pub(super) fn start(&mut self, keys: usize) {
        for slot in self.used.drain(..) {
            self.keys[slot] = NOBODY;
        }
        let slots = (2 * keys).next_power_of_two();
        if slots > self.keys.len() {
            self.keys.resize(slots, NOBODY);
            self.sums.resize(slots, 0.0);
        }
        self.mask = slots - 1;
    }

    /// Adds to the sum of a key.
    #[inline]
    pub(super) fn add(&mut self, key: u32, weight: f32) {
        // Multiplying spreads neighbouring keys; the upper bits are the best mixed.
        let mut slot = (key.wrapping_mul(0x9E37_79B1) >> 7) as usize & self.mask;
        loop {
            match self.keys[slot] {
                found if found == key => return self.sums[slot] += weight,
                NOBODY => break,
                _ => slot = (slot + 1) & self.mask,
            }
        }
        self.keys[slot] = key;
        self.sums[slot] = weight;
        self.used.push(slot);
    }

    /// The keys with their sums, in the order in which the keys came.
    #[inline]
    pub(super) fn sums(&self) -> impl Iterator<Item = (u32, f32)> {
        self.used.iter().map(|&slot| (self.keys[slot], self.sums[slot]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_current_node_alone() {
        let mut tally = Tally::default();
        for round in 1..5_u32 {
            tally.start(100);
            (0..100).for_each(|step| tally.add(round * (step % 10), 0.5));
            let sums: Vec<_> = tally.sums().collect();
            let expected: Vec<_> = (0..10).map(|key| (round * key, 5.0)).collect();
            assert_eq!(sums, expected);
        }
        tally.start(0);
        assert_eq!(tally.sums().count(), 0);
    }
}
