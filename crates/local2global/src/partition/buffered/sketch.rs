//! The graph of groups, held within a buffer.
//!
//! Edges come in the order of the rows, wait in a list, and are sorted and merged into those that
//! are there whenever the list is full. If more pairs of groups are joined than the buffer holds,
//! they are thinned by a threshold `t`: a pair of weight `w < t` stays with probability `w / t`, and
//! then counts as `t`. So the weight of any cut is right in expectation, heavy pairs stay as they
//! are, and `t` is raised only as far as it takes.
//!
//! Cost: `O(m log b)` time for a buffer of `b` pairs, some 48 bytes a pair at the peak.

use super::super::PartitionError;
use super::super::metis::{Idx, LARGEST_SUM, whole_weights};
use super::super::rows::{GraphRows, ReadAhead, Steps};
use crate::graph::NodeIndex;

/// How far a full buffer is thinned.
const KEPT_SHARE: f64 = 0.75;

/// By what the threshold is raised at a time.
const RAISE: f32 = 1.25;

/// The weight of all edges between two groups.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Link {
    /// The lower group in the upper half, the higher in the lower.
    pair: u64,
    weight: f32,
}

impl Link {
    fn groups(self) -> [usize; 2] {
        [(self.pair >> 32) as usize, self.pair as u32 as usize]
    }
}

/// A graph of groups with at most so many edges.
#[derive(Debug)]
pub(super) struct Sketch {
    /// Ascending, each pair once.
    links: Vec<Link>,
    /// As they came.
    pending: Vec<Link>,
    capacity: usize,
    /// Pairs lighter than that were sampled.
    threshold: f32,
    /// The seed of the next sample.
    seed: u64,
}

impl Sketch {
    /// Adds up the edges between the groups of a graph.
    pub(super) fn of<I: NodeIndex>(
        rows: &GraphRows<'_, I>,
        groups: &[u32],
        capacity: usize,
        seed: u64,
        steps: Steps<'_>,
    ) -> Result<Self, PartitionError> {
        let (mut sketch, mut ahead) = (Self::empty(capacity, seed), ReadAhead::new());
        steps.for_each(|node| {
            ahead.prepare(rows, node, |to| groups[to]);
            rows.for_each_neighbor(node, |to, weight| {
                if to > node && groups[node] != groups[to] {
                    sketch.add(groups[node], groups[to], weight);
                }
            });
        })?;
        sketch.merge();
        Ok(sketch)
    }

    fn empty(capacity: usize, seed: u64) -> Self {
        let pending = Vec::with_capacity(capacity.div_ceil(2));
        Self { links: Vec::new(), pending, capacity, threshold: 0.0, seed }
    }

    #[inline]
    fn add(&mut self, a: u32, b: u32, weight: f32) {
        if self.pending.len() == self.pending.capacity() {
            self.merge();
        }
        let pair = (u64::from(a.min(b)) << 32) | u64::from(a.max(b));
        self.pending.push(Link { pair, weight });
    }

    /// Merges what waits into what is there.
    fn merge(&mut self) {
        self.pending.sort_unstable_by_key(|link| link.pair);
        self.pending.dedup_by(|next, kept| {
            let same = next.pair == kept.pair;
            kept.weight += if same { next.weight } else { 0.0 };
            same
        });
        let mut merged = Vec::with_capacity(self.links.len() + self.pending.len());
        let mut new = self.pending.drain(..).peekable();
        for mut link in std::mem::take(&mut self.links) {
            merged.extend(std::iter::from_fn(|| new.next_if(|other| other.pair < link.pair)));
            link.weight += new.next_if(|other| other.pair == link.pair).map_or(0.0, |same| same.weight);
            merged.push(link);
        }
        merged.extend(new);
        self.links = merged;
        if self.links.len() > self.capacity {
            self.thin();
        }
    }

    /// Samples light pairs until the buffer has room again.
    fn thin(&mut self) {
        self.raise_threshold();
        let (threshold, seed) = (self.threshold, mixed(self.seed));
        self.seed = seed;
        self.links.retain_mut(|link| {
            let chance = (mixed(link.pair ^ seed) >> 40) as f32 / (1_u64 << 24) as f32;
            let kept = link.weight > chance * threshold;
            link.weight = link.weight.max(threshold);
            kept
        });
        tracing::debug!(threshold, kept = self.links.len(), "thinned the graph of groups");
    }

    fn raise_threshold(&mut self) {
        let room = KEPT_SHARE * self.capacity as f64;
        let weights = || self.links.iter().map(|link| link.weight);
        let lightest = weights().filter(|&weight| weight > 0.0).fold(f32::INFINITY, f32::min);
        let mut threshold = self.threshold.max(lightest);
        let expected =
            |threshold: f32| weights().map(|weight| f64::from((weight / threshold).min(1.0))).sum::<f64>();
        while threshold.is_finite() && expected(threshold) > room {
            threshold *= RAISE;
        }
        self.threshold = threshold;
    }

    /// The graph as METIS reads it: where rows begin, targets, weights.
    pub(super) fn into_rows(self, num_groups: usize) -> (Vec<Idx>, Vec<Idx>, Vec<Idx>) {
        let Self { links, pending, .. } = self;
        drop(pending);
        let mut offsets: Vec<Idx> = vec![0; num_groups + 1];
        links.iter().flat_map(|link| link.groups()).for_each(|group| offsets[group + 1] += 1);
        (0..num_groups).for_each(|group| offsets[group + 1] += offsets[group]);
        let mut next = offsets.clone();
        let [mut targets, mut weights] = [(); 2].map(|()| vec![0; 2 * links.len()]);
        // Half of what METIS counts up to, since every edge stands in two rows.
        let whole = whole_weights(links.iter().map(|link| link.weight), LARGEST_SUM / 2.0);
        for (link, weight) in links.iter().zip(whole) {
            let [a, b] = link.groups();
            for (from, to) in [(a, b), (b, a)] {
                let place = next[from] as usize;
                (targets[place], weights[place]) = (to as Idx, weight);
                next[from] += 1;
            }
        }
        (offsets, targets, weights)
    }
}

/// A number that looks random but follows from `value` (the last step of SplitMix64).
fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(sketch: &Sketch) -> f32 {
        sketch.links.iter().map(|link| link.weight).sum()
    }

    #[test]
    fn edges_between_the_same_groups_add_up() {
        let mut sketch = Sketch::empty(3, 1);
        for (a, b, weight) in [(4, 2, 1.0), (2, 4, 2.0), (0, 4, 0.5), (2, 4, 4.0), (0, 2, 1.0)] {
            sketch.add(a, b, weight);
        }
        sketch.merge();
        let (offsets, targets, weights) = sketch.into_rows(5);
        assert_eq!(offsets, [0, 2, 2, 4, 4, 6]);
        assert_eq!(targets, [2, 4, 0, 4, 0, 2]);
        assert!(weights[3] == weights[5] && weights[3] > 13 * weights[1]);
    }

    #[test]
    fn a_full_buffer_is_thinned_without_bias() {
        let mut sum = 0.0;
        for seed in 0..20 {
            let mut sketch = Sketch::empty(1000, seed);
            for pair in 0..10_000_u32 {
                let weight = if pair % 100 == 0 { 500.0 } else { 1.0 };
                sketch.add(pair, 20_000, weight);
            }
            sketch.merge();
            assert!(sketch.links.len() <= 1000, "{}", sketch.links.len());
            let heavy = sketch.links.iter().filter(|link| link.weight >= 500.0).count();
            assert_eq!(heavy, 100, "heavy pairs stay");
            sum += total(&sketch) / 20.0;
        }
        let expected = 100.0 * 500.0 + 9900.0;
        assert!((sum - expected).abs() < 0.02 * expected, "{sum}");
    }
}
