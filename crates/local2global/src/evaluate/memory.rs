//! How much memory scoring takes, and how much of it fits into a limit.
//!
//! Embeddings and graph are mapped. What is held grows with the sample, and with the nodes: degrees, the
//! lengths of feature rows, and the list of labelled nodes. Only the baseline of smoothed features, and
//! the embedding before training, are matrices of all nodes. Within a limit, samples are smaller, and
//! these two are left out; the scores say so.

use super::{EvaluateConfig, EvaluateLimits, Task};
use crate::graph::{Features, Graph};

/// About the bytes of a pair with an edge and the pair without one that it is compared with: both, the
/// sets that tell whether they were drawn before, and their scores, sorted.
const PAIR_BYTES: u64 = 130;

/// The bytes of a held-out edge: degree-matched pairs must not hit one.
const HELD_OUT_BYTES: u64 = 40;

/// Fewer pairs or nodes than this tell nothing.
const LEAST_SAMPLE: usize = 1000;

/// The counts on which the memory of the stage depends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EvaluateSize {
    /// The number of nodes.
    pub nodes: u64,
    /// The number of entries of all rows, every edge in both directions.
    pub entries: u64,
    /// The number of coordinates.
    pub dim: u64,
    /// The number of held-out edges.
    pub held_out: u64,
    /// The columns of features.
    pub features: u64,
    /// Whether features are stored sparsely.
    pub sparse: bool,
    /// The number of classes.
    pub classes: u64,
    /// The bytes that the embedding before training takes while it is made; none if there is none.
    pub untrained_bytes: Option<u64>,
}

impl EvaluateSize {
    /// The size of a graph and embeddings of it in `dim` dimensions.
    pub fn of(graph: &Graph, dim: usize, untrained_bytes: Option<u64>) -> Self {
        let both_ways = if graph.is_symmetric() { 1 } else { 2 };
        Self {
            nodes: graph.num_nodes() as u64,
            entries: (both_ways * graph.num_directed_edges()) as u64,
            dim: dim as u64,
            held_out: graph.held_out().map_or(0, |held_out| held_out.edges().len()) as u64,
            features: graph.features().map_or(0, Features::width) as u64,
            sparse: matches!(graph.features(), Some(Features::Sparse(_))),
            classes: graph.labels().map_or(0, |labels| labels.num_classes()) as u64,
            untrained_bytes,
        }
    }

    /// What is held whatever the sample: degrees, lengths of feature rows, and what is drawn from.
    fn held_bytes(&self, tasks: &[Task]) -> u64 {
        let mut bytes = 4 * self.nodes;
        if tasks.iter().any(|&task| task != Task::Reconstruction) && self.features > 0 {
            bytes += 4 * self.nodes;
        }
        bytes
    }

    /// Features smoothed over the graph: two matrices of all nodes, and the propagation.
    fn smoothed_bytes(&self) -> u64 {
        let columns = self.dim.min(self.features);
        self.nodes * (8 * columns + 40) + 12 * self.entries
    }

    /// One task, with a sample of so many.
    fn task_bytes(&self, task: Task, count: u64) -> u64 {
        match task {
            Task::Reconstruction => PAIR_BYTES * count,
            Task::LinkPrediction => (PAIR_BYTES + HELD_OUT_BYTES) * count + HELD_OUT_BYTES * self.held_out,
            Task::Classification => {
                let threads = rayon::current_num_threads() as u64;
                let width = 1 + if self.sparse { self.features.max(self.dim) } else { self.dim };
                // The weights of a fit and of its last steps, the sums of its pieces, and the classes of
                // test nodes, true and found.
                let fit = self.classes * width * 8 * (24 + 8) + 2 * count * self.classes;
                8 * self.nodes + 40 * count + threads * fit
            }
        }
    }

    /// The fewest bytes with which the tasks can be done.
    pub fn smallest_need(&self, config: &EvaluateConfig, tasks: &[Task]) -> u64 {
        let limits =
            EvaluateLimits { pairs: LEAST_SAMPLE, labelled: LEAST_SAMPLE, smoothed: false, untrained: false };
        self.memory_bytes(&EvaluateConfig { limits, ..config.clone() }, tasks)
    }

    /// About how many bytes the stage takes.
    pub fn memory_bytes(&self, config: &EvaluateConfig, tasks: &[Task]) -> u64 {
        let telling = tasks.iter().any(|&task| task != Task::Reconstruction);
        let smoothed = config.limits.smoothed && telling && self.features > 0;
        let baseline = if smoothed { 4 * self.nodes * self.dim.min(self.features) } else { 0 };
        let of_task = |&task: &Task| {
            let count = match task {
                Task::Reconstruction => (config.num_pairs() as u64).min(self.entries / 2),
                Task::LinkPrediction => (config.num_pairs() as u64).min(self.held_out),
                Task::Classification => (config.num_labelled() as u64).min(self.nodes),
            };
            self.task_bytes(task, count)
        };
        let tasks = self.held_bytes(tasks) + baseline + tasks.iter().map(of_task).max().unwrap_or(0);
        let making = if smoothed { self.smoothed_bytes() } else { 0 };
        let untrained = self.untrained_bytes.filter(|_| config.limits.untrained).unwrap_or(0);
        tasks.max(making).max(untrained)
    }

    /// What of the stage fits into so many bytes.
    pub fn within(&self, config: &EvaluateConfig, tasks: &[Task], limit: u64) -> EvaluateLimits {
        let mut config = EvaluateConfig { limits: EvaluateLimits::default(), ..config.clone() };
        config.limits.untrained = self.untrained_bytes.is_none_or(|bytes| bytes <= limit);
        let fits = |config: &EvaluateConfig, task: Task| self.memory_bytes(config, &[task]) <= limit;
        config.limits.smoothed = {
            let least = EvaluateLimits { pairs: LEAST_SAMPLE, labelled: LEAST_SAMPLE, ..config.limits };
            self.memory_bytes(&EvaluateConfig { limits: least, ..config.clone() }, tasks) <= limit
        };
        let largest = |usual: usize, fits: &dyn Fn(usize) -> bool| {
            let halves = std::iter::successors(Some(usual), |&count| (count > 1).then_some(count / 2));
            halves.take_while(|&count| count >= LEAST_SAMPLE).find(|&count| fits(count))
        };
        let pairs_fit = |pairs: usize| {
            let limits = EvaluateLimits { pairs, ..config.limits };
            let config = EvaluateConfig { limits, ..config.clone() };
            tasks.iter().filter(|&&task| task != Task::Classification).all(|&task| fits(&config, task))
        };
        let labelled_fit = |labelled: usize| {
            let limits = EvaluateLimits { labelled, ..config.limits };
            let config = EvaluateConfig { limits, ..config.clone() };
            tasks.iter().filter(|&&task| task == Task::Classification).all(|&task| fits(&config, task))
        };
        let pairs = config.num_pairs();
        let labelled = config.num_labelled();
        let found = [largest(pairs, &pairs_fit), largest(labelled, &labelled_fit)];
        let or_least = |found: Option<usize>, usual: usize| match found {
            Some(count) if count == usual => usize::MAX,
            Some(count) => count,
            None if usual <= LEAST_SAMPLE => usize::MAX,
            None => LEAST_SAMPLE,
        };
        EvaluateLimits {
            pairs: or_least(found[0], pairs),
            labelled: or_least(found[1], labelled),
            ..config.limits
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size() -> EvaluateSize {
        EvaluateSize {
            nodes: 1_000_000,
            entries: 20_000_000,
            dim: 64,
            features: 100,
            classes: 10,
            ..EvaluateSize::default()
        }
    }

    #[test]
    fn an_ample_limit_changes_nothing_and_a_smaller_one_is_kept() {
        let (size, config) = (size(), EvaluateConfig::default());
        let tasks = [Task::Reconstruction, Task::Classification];
        let needed = size.memory_bytes(&config, &tasks);
        assert_eq!(size.within(&config, &tasks, needed), EvaluateLimits::default());
        let least = size.smallest_need(&config, &tasks);
        assert!(10 * least < needed, "{least} {needed}");
        for limit in [least, 2 * least, 4 * least, needed / 2, needed - 1] {
            let limits = size.within(&config, &tasks, limit);
            assert_ne!(limits, EvaluateLimits::default());
            let within = EvaluateConfig { limits, ..config.clone() };
            assert!(size.memory_bytes(&within, &tasks) <= limit, "{limit}: {limits:?}");
        }
    }

    #[test]
    fn what_takes_matrices_of_all_nodes_is_left_out_first() {
        let size = EvaluateSize { untrained_bytes: Some(2 << 30), ..size() };
        let limits = size.within(&EvaluateConfig::default(), &[Task::Classification], 300 << 20);
        assert_eq!((limits.smoothed, limits.untrained, limits.labelled), (false, false, usize::MAX));
    }
}
