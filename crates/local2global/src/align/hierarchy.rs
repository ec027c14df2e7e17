//! Many patches: align groups, then groups of groups.
//!
//! Aligning `p` patches at once takes `O(p d²)` memory for the eigenvectors and as much
//! again for the rotations. With two levels, patches are gathered into connected groups of some `√p`,
//! each group is aligned by itself, and then the groups, as if they were patches: the
//! overlap of two groups is the union of all overlaps between their patches. With
//! `L` levels, groups have some `p^(1/L)` members. Without noise the result is the same;
//! with noise, a relative rotation between groups rests on more nodes than one
//! between patches, but errors inside a group are no longer spread over the others.
//!
//! Groups grow breadth first along the heaviest links, from the lowest index. A group
//! that stays smaller than half joins the neighbour it shares most nodes with.
//! Memory: that of the largest group, or of the last level. No randomness of its own.

use std::collections::BTreeMap;

use super::relative::{Link, OverlapSource, Relatives, one_link_each};
use super::solution::{Solution, synchronise};
use super::{AlignConfig, AlignError, Transforms};
use crate::seed::Seed;

/// Above this many bytes, patches are not aligned all at once.
const FLAT_BYTES: usize = 5 << 29;

/// The number of levels for so many patches, links and dimensions, if it is not given.
pub fn choose_levels(num_patches: usize, num_links: usize, dim: usize) -> usize {
    // One rotation per link; six tall matrices in the eigen-solver.
    let bytes = 8 * dim * dim * (num_links + 6 * num_patches);
    if bytes <= FLAT_BYTES { 1 } else { 2 }
}

/// Finds all transforms over the given number of levels.
///
/// # Errors
/// As [`align`](super::align).
pub(super) fn solve(
    source: OverlapSource<'_>,
    levels: usize,
    config: &AlignConfig,
    seed: Seed,
) -> Result<(Transforms, Solution), AlignError> {
    let num_patches = source.patches.len();
    let mut transforms = Transforms::identity(num_patches, source.patches[0].dim());
    let mut solution = Solution::unsolved(source.overlaps.len());
    solution.levels = levels;
    let group_size = (num_patches as f64).powf(1.0 / levels as f64).ceil() as usize;
    let mut unit_of: Vec<usize> = (0..num_patches).collect();
    for level in 1..=levels {
        let num_units = unit_of.iter().max().map_or(0, |last| last + 1);
        let links = links_between(source, &unit_of, level);
        let groups = match level == levels {
            true => vec![0; num_units],
            false => grow_groups(num_units, &links, source, group_size),
        };
        let frames = transforms.clone();
        let source = OverlapSource { frames: (level > 1).then_some(&frames), ..source };
        for group in 0..groups.iter().max().map_or(0, |last| last + 1) {
            let members: Vec<usize> = (0..num_units).filter(|&unit| groups[unit] == group).collect();
            solve_group(source, &links, &members, config, seed).map(|found| {
                found.record(&links, &unit_of, &mut transforms, &mut solution);
            })?;
        }
        unit_of.iter_mut().for_each(|unit| *unit = groups[*unit]);
    }
    Ok((transforms, solution))
}

/// The links between units: overlaps of patches that belong to different ones.
fn links_between(source: OverlapSource<'_>, unit_of: &[usize], level: usize) -> Vec<Link> {
    if level == 1 {
        return one_link_each(source.overlaps);
    }
    let mut links: BTreeMap<(u32, u32), Vec<(u32, bool)>> = BTreeMap::new();
    for (index, overlap) in (0_u32..).zip(source.overlaps) {
        let [a, b] = [overlap.i, overlap.j].map(|patch| unit_of[patch as usize] as u32);
        if a != b {
            links.entry((a.min(b), a.max(b))).or_default().push((index, a > b));
        }
    }
    links.into_iter().map(|(ends, overlaps)| Link { ends, overlaps }).collect()
}

/// What a group of units found out.
struct GroupSolution {
    /// The units of the group, ascending.
    members: Vec<usize>,
    /// The links that were used, by index.
    links: Vec<usize>,
    transforms: Transforms,
    solution: Solution,
}

fn solve_group(
    source: OverlapSource<'_>,
    links: &[Link],
    members: &[usize],
    config: &AlignConfig,
    seed: Seed,
) -> Result<GroupSolution, AlignError> {
    let local = |unit: u32| members.binary_search(&(unit as usize)).ok().map(|index| index as u32);
    let mut inside = Vec::new();
    let mut used = Vec::new();
    for (index, link) in links.iter().enumerate() {
        if let (Some(i), Some(j)) = (local(link.ends.0), local(link.ends.1)) {
            inside.push(Link { ends: (i, j), overlaps: link.overlaps.clone() });
            used.push(index);
        }
    }
    let relatives = Relatives::measure(source, members.len(), &inside)?;
    let (transforms, solution) = synchronise(relatives, config, seed)?;
    Ok(GroupSolution { members: members.to_vec(), links: used, transforms, solution })
}

impl GroupSolution {
    /// Moves all patches of the group, and notes for each overlap what its link said.
    fn record(
        &self,
        links: &[Link],
        unit_of: &[usize],
        transforms: &mut Transforms,
        solution: &mut Solution,
    ) {
        for (patch, unit) in unit_of.iter().enumerate() {
            let Ok(index) = self.members.binary_search(unit) else { continue };
            transforms.then(patch, &self.transforms, index);
            if let Some(trust) = &self.solution.patch_trust {
                solution.patch_trust.get_or_insert_with(|| vec![1.0; unit_of.len()])[patch] *= trust[index];
            }
        }
        for (position, &link) in self.links.iter().enumerate() {
            for &(overlap, _) in &links[link].overlaps {
                solution.copy_edge(overlap as usize, &self.solution, position);
            }
        }
        solution.keep_worst(&self.solution);
    }
}

/// Gathers units into connected groups of some `size` members; the group of each unit.
fn grow_groups(num_units: usize, links: &[Link], source: OverlapSource<'_>, size: usize) -> Vec<usize> {
    let mut neighbors = vec![Vec::new(); num_units];
    for link in links {
        let shared: usize =
            link.overlaps.iter().map(|&(index, _)| source.overlaps[index as usize].len()).sum();
        neighbors[link.ends.0 as usize].push((link.ends.1 as usize, shared));
        neighbors[link.ends.1 as usize].push((link.ends.0 as usize, shared));
    }
    for list in &mut neighbors {
        list.sort_unstable_by_key(|&(unit, shared)| (std::cmp::Reverse(shared), unit));
    }
    let mut group_of = vec![usize::MAX; num_units];
    let mut num_groups = 0;
    for seed in 0..num_units {
        if group_of[seed] != usize::MAX {
            continue;
        }
        let members = grow(seed, num_groups, &neighbors, &mut group_of, size);
        // A small remainder joins a neighbouring group, if there is one.
        let neighbor = members
            .iter()
            .flat_map(|&unit| &neighbors[unit])
            .filter(|(unit, _)| group_of[*unit] < num_groups)
            .max_by_key(|(unit, shared)| (*shared, std::cmp::Reverse(*unit)));
        match neighbor {
            Some(&(unit, _)) if members.len() < size.div_ceil(2) => {
                let group = group_of[unit];
                members.iter().for_each(|&member| group_of[member] = group);
            }
            _ => num_groups += 1,
        }
    }
    group_of
}

/// Collects free units around `seed`, breadth first.
fn grow(
    seed: usize,
    group: usize,
    neighbors: &[Vec<(usize, usize)>],
    group_of: &mut [usize],
    size: usize,
) -> Vec<usize> {
    let mut members = vec![seed];
    group_of[seed] = group;
    let mut next = 0;
    while next < members.len() && members.len() < size {
        for &(unit, _) in &neighbors[members[next]] {
            if group_of[unit] == usize::MAX && members.len() < size {
                group_of[unit] = group;
                members.push(unit);
            }
        }
        next += 1;
    }
    members
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::align::relative::NodeWeights;
    use crate::align::synthetic::{PatchLayout, SyntheticPatches, distance_up_to_rigid_motion};
    use crate::align::{align, overlap};
    use crate::progress::Silent;

    fn ring_of(num_patches: usize, noise: f64) -> crate::align::synthetic::KnownPatches {
        let graph = PatchLayout::Random;
        SyntheticPatches { graph, num_patches, dim: 4, overlap: 10, noise, seed: Seed(3) }.make()
    }

    #[test]
    fn groups_are_connected_and_of_similar_size() {
        let known = ring_of(100, 0.0);
        let overlaps = overlap::of_all_pairs(&known.patches);
        let source = OverlapSource {
            patches: &known.patches,
            overlaps: &overlaps,
            frames: None,
            node_weights: NodeWeights::Equal,
            trust: None,
        };
        let groups = grow_groups(100, &one_link_each(&overlaps), source, 10);
        let num_groups = groups.iter().max().unwrap() + 1;
        for group in 0..num_groups {
            let members: Vec<usize> = (0..100).filter(|&unit| groups[unit] == group).collect();
            assert!((1..=25).contains(&members.len()), "{}", members.len());
        }
        assert!(num_groups >= 5);
    }

    #[test]
    fn levels_do_not_change_a_noise_free_result() {
        let known = ring_of(150, 0.0);
        for levels in [1, 2, 3] {
            let config = AlignConfig { levels, ..AlignConfig::default() };
            let alignment = align(&known.patches, None, &config, Seed(0), &Silent).unwrap();
            assert_eq!(alignment.solution.levels, levels);
            let (_, coords) = alignment.embedding(&known.patches).unwrap();
            let error = distance_up_to_rigid_motion(&coords, &known.truth, 4);
            assert!(error < 1e-9, "{levels} levels: {error}");
        }
    }

    #[test]
    fn levels_cost_little_accuracy() {
        let known = ring_of(150, 0.01);
        let error = |levels| {
            let config = AlignConfig { levels, ..AlignConfig::default() };
            let alignment = align(&known.patches, None, &config, Seed(0), &Silent).unwrap();
            let (_, coords) = alignment.embedding(&known.patches).unwrap();
            distance_up_to_rigid_motion(&coords, &known.truth, 4)
        };
        let (flat, two) = (error(1), error(2));
        assert!(two < 2.0 * flat, "{flat} {two}");
    }
}
