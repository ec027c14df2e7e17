//! What every alignment must do, on patches whose truth is known and on real ones.

#![expect(clippy::unwrap_used, reason = "a test fails where it unwraps")]

use std::fs::File;
use std::path::Path;

use faer::{Mat, MatRef, Side};
use local2global::align::files::read_transforms;
use local2global::align::relative::{NodeWeights, Relatives};
use local2global::align::rotation::{RotationOptions, Solver};
use local2global::align::synthetic::{
    KnownPatches, PatchLayout, SyntheticPatches, distance_up_to_rigid_motion,
};
use local2global::align::{
    AlignConfig, AlignError, AlignPaths, Alignment, Centroid, Coords, EdgeWeights, EmbeddingRows, LocalPatch,
    Overlap, align, align_files, overlap, rotation, translation, update_files,
};
use local2global::linalg::polar::Precision;
use local2global::npy::{self, ArrayReader};
use local2global::progress::Silent;
use local2global::run_dir::write_array;
use local2global::seed::Seed;

/// The arrays of a `.npz` file.
struct Npz(zip::ZipArchive<File>);

impl Npz {
    fn open(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
        Self(zip::ZipArchive::new(File::open(path).unwrap()).unwrap())
    }

    fn floats(&mut self, name: &str) -> Vec<f64> {
        ArrayReader::new(self.0.by_name(&format!("{name}.npy")).unwrap()).unwrap().floats().unwrap()
    }

    fn integers(&mut self, name: &str) -> Vec<u64> {
        ArrayReader::new(self.0.by_name(&format!("{name}.npy")).unwrap()).unwrap().integers().unwrap()
    }
}

fn synthetic(graph: PatchLayout, num_patches: usize, dim: usize, noise: f64) -> KnownPatches {
    let seed = Seed(num_patches as u64 + 1);
    SyntheticPatches { graph, num_patches, dim, overlap: 2 * (dim + 1), noise, seed }.make()
}

fn aligned(patches: &[LocalPatch], config: &AlignConfig) -> Alignment {
    align(patches, None, config, Seed(0), &Silent).unwrap()
}

fn error(known: &KnownPatches, alignment: &Alignment) -> f64 {
    let (_, coords) = alignment.embedding(&known.patches).unwrap();
    distance_up_to_rigid_motion(&coords, &known.truth, known.patches[0].dim())
}

#[test]
fn ten_real_patches_are_stitched_as_the_exact_solution_does() {
    let mut npz = Npz::open("align_cora_d16.npz");
    let patches: Vec<LocalPatch> = (0..10)
        .map(|index| {
            let nodes = npz.integers(&format!("nodes_{index}"));
            let coords = Coords::F64(npz.floats(&format!("coords_{index}")).into());
            LocalPatch::new(format!("patch-{index:05}"), nodes.into(), coords, 16).unwrap()
        })
        .collect();
    let edges: Vec<[u64; 2]> = npz.integers("edges").chunks(2).map(|pair| [pair[0], pair[1]]).collect();
    let config = AlignConfig { centroid: Centroid::Mean, ..AlignConfig::default() };
    let alignment = align(&patches, Some(&edges), &config, Seed(0), &Silent).unwrap();
    let (nodes, coords) = alignment.embedding(&patches).unwrap();
    assert_eq!(nodes.len() as u64, npz.integers("num_nodes")[0]);
    let distance = distance_up_to_rigid_motion(&coords, &npz.floats("aligned"), 16);
    assert!(distance < 1e-6, "{distance}");
    let authors = distance_up_to_rigid_motion(&coords, &npz.floats("aligned_authors"), 16);
    assert!((0.004..0.008).contains(&authors), "{authors}");
}

#[test]
fn noise_free_patches_are_stitched_back_exactly() {
    let sizes = [(2, 3), (3, 2), (9, 1), (40, 2), (60, 16), (500, 5), (14, 64), (2000, 2)];
    for graph in [PatchLayout::Ring, PatchLayout::Grid, PatchLayout::Random] {
        for (num_patches, dim) in sizes {
            let known = synthetic(graph, num_patches, dim, 0.0);
            let error = error(&known, &aligned(&known.patches, &AlignConfig::default()));
            assert!(error < 1e-9, "{graph:?} of {num_patches} patches in {dim} dimensions: {error}");
        }
    }
}

#[test]
fn noise_hurts_no_more_than_with_exact_eigenvectors() {
    for graph in [PatchLayout::Ring, PatchLayout::Grid, PatchLayout::Random] {
        let known = synthetic(graph, 80, 6, 0.01);
        let iterated = aligned(&known.patches, &AlignConfig::default());
        let mut exact = iterated.clone();
        let overlaps = overlap::of_all_pairs(&known.patches);
        let mut relatives = Relatives::of_patches(&known.patches, &overlaps, NodeWeights::Equal).unwrap();
        let weights: Vec<f64> = relatives.shared.iter().map(|&shared| shared as f64).collect();
        let options = RotationOptions { tolerance: 1e-7, seed: Seed(0), solver: Solver::Dense };
        let rotations = rotation::synchronise(&mut relatives, &weights, &options).unwrap().matrices;
        let transforms = &mut exact.transforms;
        let unit = vec![1.0; overlaps.len()];
        transforms.translations =
            translation::translations(&relatives, &unit, &rotations, &transforms.scales).unwrap();
        transforms.rotations = rotations;
        let (iterated, exact) = (error(&known, &iterated), error(&known, &exact));
        assert!((iterated / exact - 1.0).abs() < 1e-3, "{graph:?}: {iterated} and {exact}");
    }
}

/// Patches with something bad among them, and which edges are good.
type Corrupted<'a> = (KnownPatches, &'a dyn Fn(usize) -> bool);

#[test]
fn robust_rotations_stay_rotations_on_long_noisy_chains() {
    let robust = AlignConfig { weights: EdgeWeights::Robust, ..AlignConfig::default() };
    for (num_patches, dim, noise) in [(40, 2, 0.3), (40, 8, 0.5), (200, 2, 1.0), (60, 32, 3.0)] {
        let known = synthetic(PatchLayout::Ring, num_patches, dim, noise);
        let rotations = aligned(&known.patches, &robust).transforms.rotations;
        for rotation in rotations.chunks_exact(dim * dim) {
            for (i, j) in (0..dim).flat_map(|i| (0..dim).map(move |j| (i, j))) {
                let product: f64 = (0..dim).map(|k| rotation[i * dim + k] * rotation[j * dim + k]).sum();
                let expected = f64::from(u8::from(i == j));
                assert!((product - expected).abs() < 1e-9, "{num_patches} x {dim}, noise {noise}: {product}");
            }
        }
    }
}

#[test]
fn bad_edges_and_patches_do_not_pull_robust_alignment() {
    let robust = AlignConfig { weights: EdgeWeights::Robust, ..AlignConfig::default() };
    let embedding = |known: &KnownPatches, config: &AlignConfig| {
        aligned(&known.patches, config).embedding(&known.patches).unwrap().1
    };
    let clean = synthetic(PatchLayout::Random, 60, 5, 0.01);
    let edge_is_good = |edge: usize| edge % 10 != 3;
    let mut turned = clean.clone();
    turned.turn_edges(|edge| !edge_is_good(edge), Seed(5));
    let patch_is_good = |patch: u64| patch % 20 != 7;
    let mut drowned = clean.clone();
    drowned.drown_patches(|patch| !patch_is_good(patch as u64), Seed(5));
    let ends_are_good = |edge: usize| clean.edges[edge].iter().all(|&patch| patch_is_good(patch));
    let cases: [Corrupted<'_>; 2] = [(turned, &edge_is_good), (drowned, &ends_are_good)];
    for (bad, is_good) in cases {
        let best = clean.error_on(&embedding(&clean, &AlignConfig::default()), is_good);
        let found = clean.error_on(&embedding(&bad, &robust), is_good);
        let plain = clean.error_on(&embedding(&bad, &AlignConfig::default()), is_good);
        assert!(found < 2.0 * best, "clean {best}, robust {found}");
        assert!(plain > 2.0 * best, "clean {best}, plain {plain}");
    }
}

#[test]
fn scales_are_found_when_asked_for() {
    let mut known = synthetic(PatchLayout::Random, 20, 4, 0.0);
    known.corrupt(Seed(1), |patch, _, coords| {
        coords.iter_mut().for_each(|value| *value *= 1.0 + patch as f64 / 10.0);
    });
    let config = AlignConfig { scale: true, ..AlignConfig::default() };
    let alignment = aligned(&known.patches, &config);
    let (_, coords) = alignment.embedding(&known.patches).unwrap();
    // Up to one global scale.
    let ratio = alignment.transforms.scales[0];
    let rescaled: Vec<f64> = coords.iter().map(|value| value / ratio).collect();
    assert!(distance_up_to_rigid_motion(&rescaled, &known.truth, 4) < 1e-9);
    assert!(error(&known, &aligned(&known.patches, &AlignConfig::default())) > 0.01);
}

#[test]
fn each_motion_can_be_switched_off() {
    let known = synthetic(PatchLayout::Random, 20, 4, 0.0);
    let still = AlignConfig { rotate: false, translate: false, ..AlignConfig::default() };
    let transforms = aligned(&known.patches, &still).transforms;
    assert_eq!(transforms, local2global::align::Transforms::identity(20, 4));
    let turned = AlignConfig { translate: false, ..AlignConfig::default() };
    assert!(aligned(&known.patches, &turned).transforms.translations.iter().all(|&value| value == 0.0));
}

#[test]
fn one_patch_stays_where_it_is() {
    let coords = Coords::F32(vec![1.0, 2.0, 3.0].into());
    let patch = LocalPatch::new("only", vec![5, 6, 7].into(), coords, 1).unwrap();
    let alignment = aligned(std::slice::from_ref(&patch), &AlignConfig::default());
    assert_eq!(alignment.embedding(&[patch]).unwrap(), (vec![5, 6, 7], vec![1.0, 2.0, 3.0]));
}

#[test]
fn one_and_two_threads_give_the_same_bits() {
    let known = synthetic(PatchLayout::Random, 150, 9, 0.01);
    let run = |threads: usize, weights: EdgeWeights| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let config = AlignConfig { weights, ..AlignConfig::default() };
        pool.install(|| aligned(&known.patches, &config).embedding(&known.patches).unwrap())
    };
    for weights in [EdgeWeights::Overlap, EdgeWeights::Robust] {
        let (one, two) = (run(1, weights), run(2, weights));
        assert!(one.1.iter().zip(&two.1).all(|(a, b)| a.to_bits() == b.to_bits()), "{weights:?}");
    }
}

#[test]
fn a_disconnected_patch_graph_is_refused() {
    let known = synthetic(PatchLayout::Ring, 6, 2, 0.0);
    let edges = [[0, 1], [1, 2], [3, 4], [4, 5]];
    let error = align(&known.patches, Some(&edges), &AlignConfig::default(), Seed(0), &Silent).unwrap_err();
    assert_eq!(
        error.to_string(),
        "patch graph has 2 connected components; alignment needs one: patch `patch-00003` is not joined \
         to patch `patch-00000` by overlaps of 3 nodes or more"
    );
}

#[test]
fn patches_of_different_dimension_are_refused() {
    let patch = |name: &str, dim: usize| {
        LocalPatch::new(name, vec![1, 2, 3].into(), Coords::F64(vec![0.0; 3 * dim].into()), dim).unwrap()
    };
    let patches = [patch("a", 2), patch("b", 3)];
    let error = align(&patches, None, &AlignConfig::default(), Seed(0), &Silent).unwrap_err();
    assert_eq!(error.to_string(), "patch `b` has 3 dimensions, but patch `a` has 2");
}

#[test]
fn a_shared_coordinate_that_is_not_finite_is_named() {
    let mut known = synthetic(PatchLayout::Ring, 5, 2, 0.0);
    known.corrupt(Seed(1), |patch, _, coords| {
        if patch == 3 {
            coords[4] = f64::INFINITY;
        }
    });
    let error = align(&known.patches, None, &AlignConfig::default(), Seed(0), &Silent).unwrap_err();
    assert!(matches!(&error, AlignError::NotFinite { patch, .. } if patch == "patch-00003"), "{error}");
}

#[test]
fn settings_out_of_range_are_refused() {
    let config = AlignConfig { tolerance: 0.0, ..AlignConfig::default() };
    assert_eq!(
        config.check().unwrap_err().to_string(),
        "setting `align.tolerance` is 0; needed above 0 and below 0.1"
    );
}

/// Writes patches as any embedder might leave them, and returns the folders.
fn write_patches(folder: &Path, known: &KnownPatches) -> AlignPaths {
    let paths = AlignPaths {
        nodes: folder.join("nodes"),
        coords: folder.join("coords"),
        edges: None,
        out: folder.join("out"),
        rows: EmbeddingRows::Listed,
    };
    for patch in &known.patches {
        let file = format!("{}.npy", patch.name());
        write_array(&paths.nodes.join(&file), &[patch.num_nodes()], patch.nodes()).unwrap();
        let mut coords: Vec<f64> = Vec::new();
        (0..patch.num_nodes()).for_each(|row| patch.push_row(row, &mut coords).unwrap());
        write_array(&paths.coords.join(&file), &[patch.num_nodes(), patch.dim()], &coords).unwrap();
    }
    paths
}

fn embedding_in(folder: &Path) -> Vec<f64> {
    npy::open(&folder.join("embedding.npy")).unwrap().floats().unwrap()
}

#[test]
fn files_are_aligned_and_the_results_are_complete() {
    let folder = tempfile::tempdir().unwrap();
    let known = synthetic(PatchLayout::Random, 12, 3, 0.0);
    let paths = write_patches(folder.path(), &known);
    let found = align_files(&paths, &AlignConfig::default(), Seed(0), &Silent).unwrap();
    assert!(found.verdict.starts_with("all 12 patches fit"), "{}", found.verdict);
    let coords = embedding_in(&paths.out);
    assert!(distance_up_to_rigid_motion(&coords, &known.truth, 3) < 1e-6);
    let nodes: Vec<u64> = npy::open(&paths.out.join("nodes.npy")).unwrap().integers().unwrap();
    assert!(nodes.iter().zip(0..).all(|(&node, row)| node == row));
    let transforms = read_transforms(&paths.out.join("transforms.npz")).unwrap();
    assert_eq!((transforms.num_patches(), transforms.dim), (12, 3));
    for name in ["alignment.json", "no_trans.npy", "spread.npy"] {
        assert!(paths.out.join(name).exists(), "{name}");
    }
}

#[test]
fn the_same_files_give_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let known = synthetic(PatchLayout::Random, 12, 3, 0.01);
    let mut paths = write_patches(folder.path(), &known);
    let bytes = |out: &Path| {
        let names = ["transforms.npz", "alignment.json", "embedding.npy", "no_trans.npy", "spread.npy"];
        names.map(|name| std::fs::read(out.join(name)).unwrap())
    };
    align_files(&paths, &AlignConfig::default(), Seed(0), &Silent).unwrap();
    let first = bytes(&paths.out);
    paths.out = folder.path().join("again");
    align_files(&paths, &AlignConfig::default(), Seed(0), &Silent).unwrap();
    assert!(first == bytes(&paths.out));
}

#[test]
fn a_patch_without_coordinates_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let paths = write_patches(folder.path(), &synthetic(PatchLayout::Ring, 4, 2, 0.0));
    std::fs::remove_file(paths.coords.join("patch-00002.npy")).unwrap();
    let error = align_files(&paths, &AlignConfig::default(), Seed(0), &Silent).unwrap_err();
    assert!(error.to_string().starts_with("patch `patch-00002` has no coordinates"), "{error}");
    assert!(!paths.out.exists());
}

#[test]
fn a_node_in_no_patch_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut paths = write_patches(folder.path(), &synthetic(PatchLayout::Ring, 4, 2, 0.0));
    paths.rows = EmbeddingRows::EveryNode;
    align_files(&paths, &AlignConfig::default(), Seed(0), &Silent).unwrap();
    // Every node of patch 0 is shared, so renumbering one of them makes a hole.
    let file = paths.nodes.join("patch-00000.npy");
    let mut nodes: Vec<u64> = npy::open(&file).unwrap().integers().unwrap();
    nodes[0] = 1000;
    write_array(&file, &[nodes.len()], &nodes).unwrap();
    let error = align_files(&paths, &AlignConfig::default(), Seed(0), &Silent).unwrap_err();
    assert!(error.to_string().contains("the patches must cover all nodes"), "{error}");
}

#[test]
fn a_changed_patch_is_put_into_the_finished_frame() {
    let folder = tempfile::tempdir().unwrap();
    let mut known = synthetic(PatchLayout::Random, 8, 3, 0.0);
    let paths = write_patches(folder.path(), &known);
    align_files(&paths, &AlignConfig::default(), Seed(0), &Silent).unwrap();
    let before = embedding_in(&paths.out);
    known.corrupt(Seed(1), |patch, _, coords| {
        if patch == 5 {
            coords.iter_mut().for_each(|value| *value = 4.0 - *value);
        }
    });
    write_patches(folder.path(), &known);
    let report = update_files(&paths, "patch-00005", None, &Silent).unwrap();
    assert!(report.moved < 1e-5 && report.update.misfit < 1e-6, "{report:?}");
    assert!(distance_up_to_rigid_motion(&embedding_in(&paths.out), &before, 3) < 1e-6);
    let error = update_files(&paths, "patch-9", None, &Silent).unwrap_err();
    assert!(error.to_string().starts_with("no patch named `patch-9`"), "{error}");
}

/// The bytes of the rows of all nodes, with and without transforms, and how far copies lie apart.
fn rows_in(out: &Path, dim: usize) -> Vec<Vec<u8>> {
    let floats = |name: &str| npy::read::<f32>(&out.join(name)).unwrap().values.to_vec();
    let [aligned, unaligned, spread] = ["embedding.npy", "no_trans.npy", "spread.npy"].map(floats);
    let parts = aligned.chunks(dim).zip(unaligned.chunks(dim)).zip(&spread);
    let bytes = |row: &[f32]| row.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    parts.map(|((a, b), spread)| [bytes(a), bytes(b), bytes(&[*spread])].concat()).collect()
}

#[test]
fn an_update_after_robust_alignment_moves_no_node_outside_the_patch() {
    let folder = tempfile::tempdir().unwrap();
    let seed = Seed(4);
    let recipe = SyntheticPatches {
        graph: PatchLayout::Random,
        num_patches: 12,
        dim: 3,
        overlap: 20,
        noise: 0.01,
        seed,
    };
    let mut known = recipe.make();
    known.drown_patches(|patch| patch == 2, Seed(8));
    let paths = write_patches(folder.path(), &known);
    let config = AlignConfig { weights: EdgeWeights::Robust, ..AlignConfig::default() };
    let aligned = align_files(&paths, &config, Seed(0), &Silent).unwrap();
    assert!(aligned.patch_list[2].trust.unwrap() < 0.1);
    let before = rows_in(&paths.out, 3);
    known.corrupt(Seed(1), |patch, _, coords| {
        if patch == 5 {
            coords.iter_mut().for_each(|value| *value = 4.0 - *value);
        }
    });
    write_patches(folder.path(), &known);
    let report = update_files(&paths, "patch-00005", None, &Silent).unwrap();
    let after = rows_in(&paths.out, 3);
    let changed: Vec<u64> =
        (0..).zip(before.iter().zip(&after)).filter(|(_, (a, b))| a != b).map(|(node, _)| node).collect();
    assert!(changed.iter().all(|&node| known.patches[5].contains(node)), "{changed:?}");
    assert_eq!((report.nodes, report.changed_outside), (before.len(), 0));
    assert!(report.changed_nodes > 0 && report.moved_most < 0.1, "{report:?}");
    // The record is that of the folder as it is now.
    let record: local2global::align::Diagnostics =
        local2global::run_dir::read_json(&paths.results().report()).unwrap();
    assert_eq!(record.updated, ["patch-00005"]);
    assert_eq!(record.settings, config);
    assert_eq!(record.patch_list[2].trust, aligned.patch_list[2].trust);
    assert!((record.misfit_after - aligned.misfit_after).abs() < 0.02, "{}", record.verdict);
    // A second update of the same patch finds everything as it should be.
    let again = update_files(&paths, "patch-00005", None, &Silent).unwrap();
    assert!(again.moved_most < 1e-5, "{again:?}");
}

#[test]
fn a_node_that_leaves_the_updated_patch_goes_to_its_other_copies() {
    let folder = tempfile::tempdir().unwrap();
    let known = synthetic(PatchLayout::Ring, 6, 2, 0.1);
    let paths = write_patches(folder.path(), &known);
    align_files(&paths, &AlignConfig::default(), Seed(0), &Silent).unwrap();
    let patch = &known.patches[3];
    let (nodes, mut coords) = (patch.nodes()[1..].to_vec(), Vec::<f64>::new());
    (1..patch.num_nodes()).for_each(|row| patch.push_row(row, &mut coords).unwrap());
    write_array(&paths.nodes.join("patch-00003.npy"), &[nodes.len()], &nodes).unwrap();
    write_array(&paths.coords.join("patch-00003.npy"), &[nodes.len(), 2], &coords).unwrap();
    let report = update_files(&paths, "patch-00003", None, &Silent).unwrap();
    assert_eq!((report.changed_outside, report.gone_nodes, report.new_nodes), (1, 0, 0), "{report:?}");
    let error = update_files(
        &paths,
        "patch-00003",
        Some(&AlignConfig { centroid: Centroid::Median, ..AlignConfig::default() }),
        &Silent,
    );
    assert!(error.unwrap_err().to_string().contains("align.centroid is median, but"));
}

/// The orthogonal matrix nearest to another, by singular values.
fn nearest_orthogonal(matrix: MatRef<'_, f64>) -> Mat<f64> {
    let svd = matrix.svd().unwrap();
    svd.U() * svd.V().transpose()
}

/// The rotations of all patches by the steps of the paper, with dense decompositions in double
/// precision; the first patch keeps its own.
fn reference_rotations(patches: &[LocalPatch], overlaps: &[Overlap]) -> Vec<Mat<f64>> {
    let (count, dim) = (patches.len(), patches[0].dim());
    let mut totals = vec![0.0; count];
    for overlap in overlaps {
        [overlap.i, overlap.j].iter().for_each(|&patch| totals[patch as usize] += overlap.len() as f64);
    }
    let mut matrix = Mat::<f64>::zeros(count * dim, count * dim);
    for overlap in overlaps {
        let [xi, xj] = overlap.coords(patches).unwrap().map(|values| {
            let points = Mat::from_fn(overlap.len(), dim, |row, k| values[row * dim + k]);
            let mean = |k: usize| points.col(k).iter().sum::<f64>() / overlap.len() as f64;
            Mat::from_fn(overlap.len(), dim, |row, k| points[(row, k)] - mean(k))
        });
        let rotation = nearest_orthogonal((xi.transpose() * &xj).as_ref());
        let (i, j) = (overlap.i as usize, overlap.j as usize);
        let weight = overlap.len() as f64 / (totals[i] * totals[j]).sqrt();
        for (a, b) in (0..dim).flat_map(|a| (0..dim).map(move |b| (a, b))) {
            matrix[(i * dim + a, j * dim + b)] = weight * rotation[(a, b)];
            matrix[(j * dim + b, i * dim + a)] = weight * rotation[(a, b)];
        }
    }
    let eigen = matrix.self_adjoint_eigen(Side::Lower).unwrap();
    let leading = eigen.U().subcols((count - 1) * dim, dim);
    let blocks: Vec<Mat<f64>> =
        (0..count).map(|patch| nearest_orthogonal(leading.subrows(patch * dim, dim))).collect();
    blocks.iter().map(|block| block * blocks[0].transpose()).collect()
}

#[test]
fn overlaps_barely_larger_than_the_dimension_are_aligned_as_in_double_precision() {
    for (dim, overlap) in [(40, 41), (64, 80)] {
        let (graph, seed) = (PatchLayout::Random, Seed(dim as u64));
        let known = SyntheticPatches { graph, num_patches: 8, dim, overlap, noise: 0.3, seed }.make();
        let config = AlignConfig { judge: false, ..AlignConfig::default() };
        let alignment = aligned(&known.patches, &config);
        let accuracy = alignment.solution.accuracy.unwrap();
        assert_eq!(accuracy.precision, Precision::Double);
        let best = reference_rotations(&known.patches, &alignment.overlaps);
        let difference = (0..8)
            .flat_map(|patch| {
                let found = alignment.transforms.rotation(patch);
                let best = &best[patch];
                (0..dim * dim).map(move |at| (found[at] - best[(at / dim, at % dim)]).abs())
            })
            .fold(0.0, f64::max);
        assert!(difference < 1e-7 && difference <= accuracy.rotations, "{dim}: {difference} {accuracy:?}");
        assert!(accuracy.rotations < 1e-5 && accuracy.translations < 1e-9, "{dim}: {accuracy:?}");
    }
}

#[test]
fn large_alignments_say_that_they_use_single_precision() {
    let known = synthetic(PatchLayout::Ring, 101, 2, 0.1);
    let accuracy = aligned(&known.patches, &AlignConfig::default()).solution.accuracy.unwrap();
    assert_eq!((accuracy.precision, accuracy.measured_edges), (Precision::Mixed, 101));
}
