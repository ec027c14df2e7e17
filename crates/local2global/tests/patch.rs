//! The conditions of section 3 of the paper, over random graphs and seeds.

#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "tests may fail, and say what they found")]

mod common;

use common::{blocks, cora, data_set, on_threads, ring, scattered};
use local2global::graph::component::Components;
use local2global::graph::{Graph, NodeId};
use local2global::memory::ByteSize;
use local2global::partition::{
    ClusterGraph, Fennel, NumClusters, Partition, PartitionConfig, PartitionMethod, partition,
};
use local2global::patch::{
    Cover, Landmarks, PatchConfig, PatchId, PatchReport, PatchTask, Patches, Sparsify, make_patch_files,
    make_patches, write_patches,
};
use local2global::progress::Silent;
use local2global::run_dir::RunDir;
use local2global::seed::Seed;

/// A graph, its clusters, and the settings to make patches with.
struct Case {
    graph: Graph,
    partition: Partition,
    config: PatchConfig,
    seed: u64,
}

impl Case {
    fn new(graph: Graph, clusters: usize, config: PatchConfig, seed: u64) -> Self {
        let half = config.overlap_bounds(2).unwrap().half_min();
        let mut partitioning = PartitionConfig::with_clusters(clusters);
        if seed % 2 == 1 {
            partitioning.method = PartitionMethod::Fennel(Fennel { passes: 2, ..Default::default() });
        }
        let partition = partition(&graph, &partitioning, half, Seed(seed), &Silent).unwrap();
        Self { graph, partition, config, seed }
    }

    fn run(&self) -> (Patches, PatchReport) {
        make_patches(&self.graph, &self.partition, &self.config, 2, Seed(self.seed), &Silent).unwrap()
    }
}

/// Every way to sparsify and to cover, on graphs from sparse to dense.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for seed in 0..24_u64 {
        let sparsify = [Sparsify::Resistance, Sparsify::Conductance, Sparsify::Nearest, Sparsify::None];
        let config = PatchConfig {
            degree: [2.0, 3.5, 5.0][seed as usize % 3],
            min_overlap: Some(4 + seed as usize % 5),
            max_overlap: Some(9 + 2 * (seed as usize % 4)),
            cover: Some(if seed % 2 == 0 { Cover::Nodes } else { Cover::Edges }),
            cover_budget: f64::INFINITY,
            sparsify: sparsify[seed as usize / 2 % 4],
            ..Default::default()
        };
        let graph = match seed % 4 {
            0 => ring(120),
            part => blocks(150 + 20 * seed as u32, 7, 150 * part as usize * part as usize, seed),
        };
        cases.push(Case::new(graph, 6 + seed as usize % 7, config, seed));
    }
    cases
}

fn contains(nodes: &[NodeId], node: NodeId) -> bool {
    nodes.binary_search(&node).is_ok()
}

#[test]
fn patches_cover_all_nodes_and_contain_their_clusters() {
    for case in cases() {
        let (patches, report) = case.run();
        let members = case.partition.members();
        for (index, patch) in patches.patches().iter().enumerate() {
            assert!(patch.nodes.is_sorted_by(|a, b| a < b), "seed {}", case.seed);
            assert!(members.of(index as u32).all(|node| contains(&patch.nodes, node)));
        }
        assert_eq!(report.node_cover.uncovered, 0, "seed {}", case.seed);
        assert!(report.is_sound());
    }
}

#[test]
fn joined_patches_share_at_least_the_smallest_overlap() {
    for case in cases() {
        let (patches, report) = case.run();
        let needed = case.config.min_overlap.unwrap();
        for &[a, b] in patches.graph().edges() {
            assert!(patches.overlap(a, b) >= needed, "seed {}: {a} {b}", case.seed);
        }
        assert!(report.overlap.found >= needed);
    }
}

#[test]
fn patches_take_between_half_of_both_bounds_from_joined_clusters_and_nothing_from_others() {
    for case in cases().iter().filter(|case| case.config.cover == Some(Cover::Nodes)) {
        let (patches, _) = case.run();
        let bounds = case.config.overlap_bounds(2).unwrap();
        let joined = patches.graph().neighbors();
        for (index, patch) in patches.patches().iter().enumerate() {
            let mut taken = vec![0; patches.num_patches()];
            patch.nodes.iter().for_each(|&node| taken[case.partition.cluster_of(node) as usize] += 1);
            for (other, &taken) in taken.iter().enumerate().filter(|&(other, _)| other != index) {
                let is_joined = joined[index].iter().any(|patch| patch.index() == other);
                let allowed = if is_joined { bounds.half_min()..=bounds.half_max() } else { 0..=0 };
                assert!(allowed.contains(&taken), "seed {}: {taken} from {other}", case.seed);
            }
        }
    }
}

#[test]
fn the_patch_graph_is_connected_and_has_the_mean_degree_asked_for() {
    for case in cases() {
        let (patches, report) = case.run();
        let touching = ClusterGraph::of(&case.graph, &case.partition).edges().len();
        let num_patches = patches.num_patches();
        let target = (case.config.degree * num_patches as f64 / 2.0).round() as usize;
        let expected = match case.config.sparsify {
            Sparsify::None => touching,
            _ => target.max(num_patches - 1).min(touching),
        };
        assert_eq!(patches.graph().edges().len(), expected, "seed {}", case.seed);
        assert!(report.connected && report.groups.len() == 1, "seed {}", case.seed);
    }
}

#[test]
fn every_edge_lies_in_a_patch_if_asked_for() {
    for case in cases() {
        let (patches, report) = case.run();
        let held = |a: NodeId, b: NodeId| {
            patches.patches().iter().any(|patch| contains(&patch.nodes, a) && contains(&patch.nodes, b))
        };
        let edges = case.graph.nodes().flat_map(|a| case.graph.neighbors(a).map(move |b| [a, b]));
        let lost = edges.filter(|&[a, b]| a < b && !held(a, b)).count();
        assert_eq!(report.edges_in_no_patch.count, lost, "seed {}", case.seed);
        assert!(case.config.cover == Some(Cover::Nodes) || lost == 0, "seed {}", case.seed);
    }
}

#[test]
fn weights_are_shares_and_oversampling_counts_the_edges_of_all_patches() {
    for case in cases() {
        let (patches, report) = case.run();
        let mut edges_inside = 0;
        for patch in patches.patches() {
            let subgraph = case.graph.subgraph(&patch.nodes);
            edges_inside += subgraph.num_edges();
            for (row, (&node, &weight)) in patch.nodes.iter().zip(&patch.weights).enumerate() {
                let share = subgraph.degree(NodeId::new(row)) as f32 / case.graph.degree(node) as f32;
                assert_eq!(weight, share, "seed {}", case.seed);
            }
        }
        let oversampling = edges_inside as f64 / case.graph.num_edges() as f64;
        assert!((report.oversampling - oversampling).abs() < 1e-12, "seed {}", case.seed);
    }
}

#[test]
fn the_same_seed_gives_the_same_patches_on_one_and_two_threads() {
    for case in cases() {
        assert_eq!(on_threads(1, || case.run()), on_threads(2, || case.run()), "seed {}", case.seed);
    }
}

#[test]
fn another_seed_gives_other_patches() {
    let case = |seed| {
        let config = PatchConfig { min_overlap: Some(8), degree: 3.0, ..Default::default() };
        let labels = (0..300).map(|node| node % 10).collect();
        Case { graph: blocks(300, 5, 2000, 1), partition: Partition::from_labels(labels), config, seed }
    };
    assert_ne!(case(1).run().0, case(2).run().0);
}

#[test]
fn components_are_joined_by_bridges_unless_they_are_to_stay_apart() {
    for seed in 0..6 {
        let config = PatchConfig { min_overlap: Some(6), bridge: false, ..Default::default() };
        let mut case = Case::new(scattered(seed), 8, config, seed);
        let (patches, report) = case.run();
        let components = Components::of(&case.graph);
        // Three large components; the isolated nodes are packed into one patch.
        assert_eq!(report.groups.len(), 4, "seed {seed}");
        assert!(!report.connected && report.bridges.is_empty());
        for group in &report.groups[..] {
            let nodes = group.iter().flat_map(|patch| &patches.patches()[patch.index()].nodes);
            let mut labels: Vec<u32> = nodes.map(|node| components.labels()[node.index()]).collect();
            labels.sort_unstable();
            labels.dedup();
            let crumbs = labels.iter().all(|&label| components.sizes()[label as usize] == 1);
            assert!(labels.len() == 1 || crumbs, "seed {seed}");
        }
        case.config.bridge = true;
        let (_, bridged) = case.run();
        assert!(bridged.connected && bridged.is_sound(), "seed {seed}");
        assert_eq!(bridged.bridges.len(), 3, "seed {seed}");
    }
}

#[test]
fn every_patch_holds_all_landmarks_and_is_joined_through_them() {
    for seed in 0..6 {
        let landmarks = [Landmarks::Nodes(64), Landmarks::Nodes(40)][seed as usize % 2];
        let config = PatchConfig {
            min_overlap: Some(6),
            landmarks: Some(landmarks),
            bridge: true,
            ..Default::default()
        };
        let case = Case::new(scattered(seed), 8, config, seed);
        let (patches, report) = case.run();
        let num_landmarks = landmarks.count(case.graph.num_nodes(), patches.num_patches());
        assert!(num_landmarks >= 32 && 4 * num_landmarks <= case.graph.num_nodes());
        assert_eq!((patches.landmarks().len(), report.landmarks), (num_landmarks, num_landmarks));
        for patch in patches.patches() {
            assert!(patches.landmarks().iter().all(|&node| contains(&patch.nodes, node)), "seed {seed}");
        }
        // Components are joined as well, so that there is nothing to bridge.
        assert!(report.connected && report.bridges.is_empty() && !report.landmark_edges.is_empty());
        let least = |&[a, b]: &[PatchId; 2]| patches.overlap(a, b) >= num_landmarks;
        assert!(report.landmark_edges.iter().all(least) && report.is_sound(), "seed {seed}");
        assert_eq!(on_threads(1, || case.run()), on_threads(2, || case.run()), "seed {seed}");
        // Too few to fix a rotation join nothing.
        let config = PatchConfig { landmarks: Some(Landmarks::Nodes(20)), ..case.config.clone() };
        let report = Case { config, ..case }.run().1;
        assert!(report.landmark_edges.is_empty() && report.landmarks == 20 && report.connected);
    }
}

#[test]
fn a_landmark_that_is_a_guest_carries_little_weight() {
    let config =
        PatchConfig { min_overlap: Some(6), landmarks: Some(Landmarks::Nodes(60)), ..Default::default() };
    let case = Case::new(blocks(400, 8, 2400, 3), 8, config, 2);
    let (patches, _) = case.run();
    let (mut at_home, mut as_guests) = (0.0, 0.0);
    for &landmark in patches.landmarks() {
        let home = case.partition.cluster_of(landmark) as usize;
        for (index, patch) in patches.patches().iter().enumerate() {
            let weight = f64::from(patch.weights[patch.nodes.binary_search(&landmark).unwrap()]);
            if index == home { at_home += weight } else { as_guests += weight / 7.0 }
        }
    }
    assert!(as_guests < 0.8 * at_home, "{as_guests} {at_home}");
}

#[test]
fn overlaps_are_wide_in_few_dimensions_where_clusters_have_room() {
    let least = |nodes: u32, clusters: usize| {
        let graph = blocks(nodes, 8, 6 * nodes as usize, 5);
        let case = Case::new(graph, clusters, PatchConfig::default(), 2);
        case.run().1.overlap
    };
    let (roomy, small) = (least(4000, 8), least(300, 8));
    assert_eq!(roomy.needed, 129);
    assert!(roomy.found >= 129 && roomy.limit == 256);
    assert_eq!(small.needed, 32);
    assert!(small.found >= 32);
}

#[test]
fn one_patch_is_the_whole_graph() {
    let graph = ring(30);
    let partition = Partition::whole(30);
    let (patches, report) =
        make_patches(&graph, &partition, &PatchConfig::default(), 4, Seed(1), &Silent).unwrap();
    assert_eq!(patches.patches()[0].nodes.len(), 30);
    assert!(patches.patches()[0].weights.iter().all(|&weight| weight == 1.0));
    assert!(patches.graph().edges().is_empty() && report.connected && report.is_sound());
    assert_eq!((report.oversampling, report.copies()), (1.0, 1.0));
}

/// The paper's settings for one of its data sets.
fn of_the_paper(graph: &Graph, clusters: usize, degree: f64, overlap: [usize; 2]) -> PatchReport {
    let config = PatchConfig {
        degree,
        min_overlap: Some(overlap[0]),
        max_overlap: Some(overlap[1]),
        cover: Some(Cover::Nodes),
        ..Default::default()
    };
    let half = config.overlap_bounds(128).unwrap().half_min();
    let size = NumClusters::Clusters(clusters);
    let partitioning = PartitionConfig { size, ..Default::default() };
    let found = partition(graph, &partitioning, half, Seed(1), &Silent).unwrap();
    let (_, paper) = make_patches(graph, &found, &config, 128, Seed(1), &Silent).unwrap();
    let covering = PatchConfig { cover: Some(Cover::Edges), cover_budget: f64::INFINITY, ..config };
    let (_, covered) = make_patches(graph, &found, &covering, 128, Seed(1), &Silent).unwrap();
    for report in [&paper, &covered] {
        assert_eq!(report.patches, clusters);
        assert!(report.is_sound() && report.connected);
        assert!((report.mean_degree - degree).abs() < 1e-9);
        eprintln!(
            "oversampling {:.2}, {} copies of {} nodes, {} edges in no patch ({:.2} %)",
            report.oversampling,
            report.node_cover.copies,
            report.nodes,
            report.edges_in_no_patch.count,
            100.0 * report.edges_in_no_patch.share,
        );
    }
    assert_eq!(covered.edges_in_no_patch.count, 0);
    paper
}

#[test]
fn the_settings_of_the_paper_work_on_cora() {
    let report = of_the_paper(&cora(), 10, 4.0, [129, 256]);
    assert_eq!((report.nodes, report.patch_edges), (2485, 20));
}

#[test]
fn the_settings_of_the_paper_work_on_amazon_photo() {
    let Some(graph) = data_set("amazon_photo") else { return };
    let report = of_the_paper(&graph, 20, 5.0, [256, 512]);
    assert_eq!((report.nodes, report.patch_edges), (7487, 50));
}

#[test]
fn guests_stay_within_their_budget_and_cover_the_more_the_more_there_are() {
    let mut ended = [false; 2];
    for case in cases() {
        let report_of = |cover, cover_budget| {
            let config = PatchConfig { cover: Some(cover), cover_budget, ..case.config.clone() };
            make_patches(&case.graph, &case.partition, &config, 2, Seed(case.seed), &Silent).unwrap().1
        };
        let plain = report_of(Cover::Nodes, 0.25);
        let mut lost = plain.edges_in_no_patch.count;
        assert_eq!(report_of(Cover::Edges, 0.0), plain);
        for budget in [0.05, 0.25, 1.0, f64::INFINITY] {
            let report = report_of(Cover::Edges, budget);
            let guests = report.node_cover.copies - plain.node_cover.copies;
            assert!(guests as f64 <= budget * report.nodes as f64, "seed {}: {guests}", case.seed);
            let left = report.edges_in_no_patch.count;
            // Every guest brings an edge, as long as there is one.
            assert!(
                left <= lost && (left == 0 || left + guests <= plain.edges_in_no_patch.count),
                "seed {}",
                case.seed
            );
            lost = left;
            ended[usize::from(lost == 0)] = true;
            assert!(report.is_sound() && report.copies_in_words().ends_with("in no patch") == (lost > 0));
        }
        assert_eq!(lost, 0, "seed {}", case.seed);
    }
    assert_eq!(ended, [true; 2], "budgets that suffice, and budgets that do not");
}

#[test]
fn a_graph_that_cuts_nine_edges_in_ten_has_bounded_copies() {
    let graph = blocks(20_000, 1, 200_000, 1);
    let labels = (0..20_000_u64).map(|node| (node.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u32 % 50);
    let partition = Partition::from_labels(labels.collect());
    let config = PatchConfig { min_overlap: Some(32), ..Default::default() };
    let (_, report) = make_patches(&graph, &partition, &config, 8, Seed(1), &Silent).unwrap();
    let plain = PatchConfig { cover: Some(Cover::Nodes), ..config };
    let (_, without) = make_patches(&graph, &partition, &plain, 8, Seed(1), &Silent).unwrap();
    assert!(report.cut > 0.9, "{}", report.cut);
    assert_eq!(report.node_cover.copies, without.node_cover.copies + 5000);
    assert!(report.copies() < 2.0 && report.edges_in_no_patch.share > 0.5);
    let largest = report.sizes.iter().max().unwrap();
    assert!(*largest < 2 * report.node_cover.copies / 50, "guests are spread over all patches");
}

#[test]
fn patches_in_memory_and_on_disk_are_the_same_bytes() {
    for case in cases().iter().take(8) {
        let config = PatchConfig { landmarks: Some(Landmarks::Nodes(40)), ..case.config.clone() };
        let folder = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| RunDir::new(folder.path().join(name)));
        let seed = Seed(case.seed);
        let (patches, report) =
            make_patches(&case.graph, &case.partition, &config, 2, seed, &Silent).unwrap();
        write_patches(&one, &patches, &report, &Silent).unwrap();
        let (graph, partition) = (&case.graph, &case.partition);
        let task = PatchTask { graph, partition, config: &config, dim: 2, seed, memory_limit: 64 << 20 };
        assert_eq!(make_patch_files(&other, &task, &Silent).unwrap(), report);
        let files = |run: &RunDir| {
            let entries = std::fs::read_dir(run.patches()).unwrap().map(|entry| entry.unwrap());
            let content =
                |entry: std::fs::DirEntry| (entry.file_name(), std::fs::read(entry.path()).unwrap());
            let mut files: Vec<_> = entries.map(content).collect();
            files.sort();
            files
        };
        assert!(files(&one) == files(&other), "seed {}", case.seed);
    }
}

#[test]
fn a_limit_that_is_too_small_is_refused_before_anything_is_written() {
    let case = &cases()[1];
    let folder = tempfile::tempdir().unwrap();
    let run = RunDir::new(folder.path());
    let task = PatchTask {
        graph: &case.graph,
        partition: &case.partition,
        config: &case.config,
        dim: 2,
        seed: Seed(1),
        memory_limit: 1 << 20,
    };
    let error = make_patch_files(&run, &task, &Silent).unwrap_err().to_string();
    let needed = error.strip_prefix("`patch` needs about ").unwrap();
    let (needed, rest) = needed.split_once(' ').unwrap();
    assert_eq!(rest, "of memory, but the limit is 1M");
    assert!(!run.patches().exists());
    // What it says would do does.
    let memory_limit = needed.parse::<ByteSize>().unwrap().0;
    make_patch_files(&run, &PatchTask { memory_limit, ..task }, &Silent).unwrap();
}
