//! Alignment of synthetic patches: speed, memory, error, residual, and how near the
//! kernels come to the machine's own speed.
//!
//! `cargo bench -p local2global --bench align` prints one table after the other and
//! takes a few minutes and 7 GiB; with `-- --quick`, some seconds. `-- --only NAME`
//! runs the part of that name: speed, exact, dense, robust, kernels; and `-- --only speed
//! --size P,D` one size of it.
//! Inputs: Gaussian points, random rigid motions, noise 0.01, patch degree about 5,
//! overlaps of 2(d+1) nodes, 64-bit coordinates.

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::time::Instant;

use local2global::align::relative::{NodeWeights, Relatives};
use local2global::align::rotation::{self, RotationOptions, Solver};
use local2global::align::synthetic::{
    KnownPatches, PatchLayout, SyntheticPatches, distance_up_to_rigid_motion,
};
use local2global::align::{
    AlignConfig, AlignError, Alignment, EdgeWeights, LocalPatch, align, centroid, overlap, translation,
};
use local2global::linalg::block_matrix::BlockMatrix;
use local2global::linalg::polar::{Workspace, random_orthogonal};
use local2global::progress::Silent;
use local2global::seed::{Seed, Stage};
use rayon::prelude::*;

/// A part of the benchmark: its name, and what to run, quickly or in full.
type Part = (&'static str, fn(bool));

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let only = arguments.iter().position(|a| a == "--only").and_then(|at| arguments.get(at + 1));
    let quick = has("--quick");
    let parts: [Part; 5] =
        [("kernels", kernels), ("speed", speed), ("exact", exact), ("dense", dense), ("robust", robust)];
    for (name, part) in parts {
        if only.is_none_or(|only| only == name) {
            part(quick);
        }
    }
}

/// Starts counting the peak anew, where the system lets us.
fn reset_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// The largest memory in use since the last reset, in bytes; 0 where it is not known.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// The processor time of all threads so far, in seconds; 0 where it is not known. It is
/// what to look at when others use the machine too.
fn cpu_seconds() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let time = |task: std::fs::DirEntry| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    };
    tasks.filter_map(time).sum::<f64>() / 1e9
}

fn synthetic(graph: PatchLayout, num_patches: usize, dim: usize, noise: f64) -> SyntheticPatches {
    SyntheticPatches { graph, num_patches, dim, overlap: 2 * (dim + 1), noise, seed: Seed(7) }
}

/// Aligns, and streams the embedding; keeps the rows of the first nodes.
fn whole(patches: &[LocalPatch], kept_rows: usize) -> (Alignment, Vec<f64>) {
    let alignment = align(patches, None, &AlignConfig::default(), Seed(0), &Silent).expect("aligned");
    let nodes = centroid::all_nodes(patches);
    let mut kept = Vec::new();
    let wanted = kept_rows * patches[0].dim();
    alignment
        .stream(patches, &nodes, |block| {
            let missing = (wanted - kept.len()).min(block.coords.len());
            kept.extend_from_slice(&block.coords[..missing]);
            Ok::<(), AlignError>(())
        })
        .expect("streamed");
    (alignment, kept)
}

/// The shortest of several runs, in seconds.
fn shortest<T>(runs: usize, mut run: impl FnMut() -> T) -> (f64, T) {
    let mut best = f64::INFINITY;
    let mut last = None;
    for _ in 0..runs {
        let start = Instant::now();
        last = Some(run());
        best = best.min(start.elapsed().as_secs_f64());
    }
    (best, last.expect("at least one run"))
}

struct SpeedCase {
    graph: PatchLayout,
    num_patches: usize,
    dim: usize,
    runs: usize,
    target_seconds: f64,
    /// What the authors' code took, where it was measured.
    authors_seconds: Option<f64>,
}

fn speed(quick: bool) {
    let case = |graph, num_patches, dim, runs, target_seconds, authors_seconds| SpeedCase {
        graph,
        num_patches,
        dim,
        runs,
        target_seconds,
        authors_seconds,
    };
    let mut cases = vec![
        case(PatchLayout::Random, 100, 16, 30, 0.012, Some(0.25)),
        case(PatchLayout::Random, 1000, 16, 7, 0.25, Some(55.0)),
        case(PatchLayout::Ring, 1000, 16, 5, 2.0, None),
    ];
    if !quick {
        cases.push(case(PatchLayout::Grid, 1000, 16, 5, 2.0, None));
        cases.push(case(PatchLayout::Random, 1000, 64, 2, 5.0, None));
        cases.push(case(PatchLayout::Random, 1000, 128, 1, 30.0, None));
        cases.push(case(PatchLayout::Random, 10_000, 64, 1, 90.0, None));
    }
    println!("\nspeed: overlaps, rotations, translations and mean, {} threads", rayon::current_num_threads());
    println!(
        "graph   patches  dim   seconds  cpu s    target  authors/ours  peak MiB (input)  error     residual  angle     steps"
    );
    let arguments: Vec<String> = std::env::args().collect();
    let size = arguments.iter().position(|a| a == "--size").and_then(|at| arguments.get(at + 1));
    let wanted =
        |case: &&SpeedCase| size.is_none_or(|size| *size == format!("{},{}", case.num_patches, case.dim));
    cases.iter().filter(wanted).for_each(time_case);
}

fn time_case(case: &SpeedCase) {
    let recipe = synthetic(case.graph, case.num_patches, case.dim, 0.01);
    // The truth is made again afterwards, so that it does not count as memory.
    let KnownPatches { patches, .. } = recipe.make();
    let input: usize = patches.iter().map(|patch| patch.num_nodes() * (patch.dim() + 1) * 8).sum();
    let kept_rows = 20_000.min(patches.iter().map(LocalPatch::num_nodes).sum::<usize>() / 2);
    reset_peak();
    let cpu_before = cpu_seconds();
    let (seconds, (alignment, kept)) = shortest(case.runs, || whole(&patches, kept_rows));
    let cpu = (cpu_seconds() - cpu_before) / case.runs as f64;
    let peak = peak_bytes();
    drop(patches);
    let truth = recipe.make().truth;
    let error = distance_up_to_rigid_motion(&kept, &truth[..kept.len()], case.dim);
    let certificate = alignment.solution.certificate.expect("rotated");
    let ratio = case.authors_seconds.map_or("-".into(), |authors| format!("{:.0}", authors / seconds));
    println!(
        "{:<7} {:>7} {:>4} {:>9.4} {:>8.4} {:>7} {:>13} {:>8} ({:>5})  {:.2e}  {:.2e}  {:.2e}  {}",
        format!("{:?}", case.graph).to_lowercase(),
        case.num_patches,
        case.dim,
        seconds,
        cpu,
        case.target_seconds,
        ratio,
        peak >> 20,
        input >> 20,
        error,
        certificate.residual,
        certificate.angle,
        certificate.steps,
    );
}

fn exact(quick: bool) {
    println!("\nexact: noise-free patches, relative distance to the truth after the best rigid motion");
    println!("graph   patches  dim  error");
    let mut sizes = vec![(2, 1), (2, 16), (10, 1), (100, 16), (2000, 1), (2000, 4)];
    if !quick {
        sizes.extend([(2, 128), (20, 128), (200, 128), (500, 64), (2000, 16), (2000, 64)]);
    }
    for graph in [PatchLayout::Ring, PatchLayout::Grid, PatchLayout::Random] {
        for &(num_patches, dim) in &sizes {
            print_exact(graph, num_patches, dim);
        }
    }
    if !quick {
        print_exact(PatchLayout::Ring, 2000, 128);
    }
}

fn print_exact(graph: PatchLayout, num_patches: usize, dim: usize) {
    let known = synthetic(graph, num_patches, dim, 0.0).make();
    let (_, coords) = whole(&known.patches, known.truth.len() / dim);
    let error = distance_up_to_rigid_motion(&coords, &known.truth, dim);
    let verdict = if error < 1e-9 { "" } else { "  FAILS" };
    println!("{:<7} {num_patches:>7} {dim:>4}  {error:.2e}{verdict}", format!("{graph:?}").to_lowercase());
}

fn dense(quick: bool) {
    println!("\ndense: error with noise, against exact dense eigenvectors");
    println!("graph   patches  dim  iterated     dense        ratio");
    let num_patches = if quick { 40 } else { 100 };
    for graph in [PatchLayout::Ring, PatchLayout::Grid, PatchLayout::Random] {
        let known = synthetic(graph, num_patches, 12, 0.01).make();
        let (mut alignment, coords) = whole(&known.patches, known.truth.len() / 12);
        let iterated = distance_up_to_rigid_motion(&coords, &known.truth, 12);
        let overlaps = overlap::of_all_pairs(&known.patches);
        let mut relatives =
            Relatives::of_patches(&known.patches, &overlaps, NodeWeights::Equal).expect("measured");
        let weights: Vec<f64> = relatives.shared.iter().map(|&shared| shared as f64).collect();
        let options = RotationOptions { tolerance: 1e-7, seed: Seed(0), solver: Solver::Dense };
        let rotations =
            rotation::synchronise(&mut relatives, &weights, &options).expect("decomposed").matrices;
        let unit = vec![1.0; overlaps.len()];
        let scales = &alignment.transforms.scales;
        alignment.transforms.translations =
            translation::translations(&relatives, &unit, &rotations, scales).expect("solved");
        alignment.transforms.rotations = rotations;
        let (_, coords) = alignment.embedding(&known.patches).expect("embedded");
        let exact = distance_up_to_rigid_motion(&coords, &known.truth, 12);
        let name = format!("{graph:?}").to_lowercase();
        println!("{name:<7} {num_patches:>7}   12  {iterated:.5e}  {exact:.5e}  {:.6}", iterated / exact);
    }
}

fn robust(quick: bool) {
    println!("\nrobust: error on what is good, with bad edges or patches among the rest");
    println!("bad              patches  dim  clean      plain      robust     robust/clean  seconds");
    let num_patches = if quick { 60 } else { 200 };
    let recipe = synthetic(PatchLayout::Random, num_patches, 16, 0.01);
    let edge_is_good = |edge: usize| edge % 10 != 3;
    let mut turned = recipe.make();
    turned.turn_edges(|edge| !edge_is_good(edge), Seed(5));
    print_robust("1 edge in 10", &recipe.make(), &turned, edge_is_good);
    let patch_is_good = |patch: u64| patch % 20 != 7;
    let mut drowned = recipe.make();
    drowned.drown_patches(|patch| !patch_is_good(patch as u64), Seed(5));
    let edges = drowned.edges.clone();
    let is_good = |edge: usize| edges[edge].iter().all(|&patch| patch_is_good(patch));
    print_robust("1 patch in 20", &recipe.make(), &drowned, is_good);
}

fn print_robust(name: &str, clean: &KnownPatches, bad: &KnownPatches, is_good: impl Fn(usize) -> bool) {
    let error = |known: &KnownPatches, weights: EdgeWeights| {
        let config = AlignConfig { weights, ..AlignConfig::default() };
        let start = Instant::now();
        match align(&known.patches, None, &config, Seed(0), &Silent) {
            Err(_) => (f64::NAN, start.elapsed().as_secs_f64()),
            Ok(alignment) => {
                let seconds = start.elapsed().as_secs_f64();
                let (_, coords) = alignment.embedding(&known.patches).expect("embedded");
                (clean.error_on(&coords, &is_good), seconds)
            }
        }
    };
    let (best, _) = error(clean, EdgeWeights::Overlap);
    let (plain, _) = error(bad, EdgeWeights::Overlap);
    let (robust, seconds) = error(bad, EdgeWeights::Robust);
    println!(
        "{name:<16} {:>7} {:>4}  {best:.2e}   {plain:.2e}   {robust:.2e}   {:>12.2}  {seconds:.2}",
        clean.patches.len(),
        clean.patches[0].dim(),
        robust / best
    );
}

fn kernels(quick: bool) {
    let threads = rayon::current_num_threads();
    println!("\nkernels: speed of the two main operations, {threads} threads");
    let dims: &[usize] = if quick { &[16, 64] } else { &[16, 32, 64, 128] };
    println!("matrix product 512 x 512: {:.1} GFLOP/s", product_speed([512; 3], threads));
    println!("dim  block products (plain ones) GFLOP/s  fraction   Procrustes us (SVD alone us)  fraction");
    for &dim in dims {
        let product = block_product_speed(dim);
        // A row of some five blocks, as one product.
        let peak = product_speed([dim, 5 * dim, dim + 2], threads);
        let (procrustes, svd) = procrustes_seconds(dim, if dim > 64 { 200 } else { 1000 });
        println!(
            "{dim:>3}  {product:>14.1} ({peak:>10.1})          {:>8.2}   {:>13.1} ({:>9.1})  {:>8.2}",
            product / peak,
            procrustes * 1e6,
            svd * 1e6,
            svd / procrustes
        );
    }
}

/// Plain matrix products of one shape, on each thread, in 10⁹ operations per second.
fn product_speed([rows, inner, columns]: [usize; 3], threads: usize) -> f64 {
    let a = faer::Mat::<f64>::from_fn(rows, inner, |i, j| (i * 7 + j) as f64);
    let b = faer::Mat::<f64>::from_fn(inner, columns, |i, j| (i * 5 + j) as f64);
    let flops = 2.0 * (rows * inner * columns) as f64;
    let repeats = (1e9 / flops).ceil() as usize;
    let (seconds, _) = shortest(5, || {
        (0..threads).into_par_iter().for_each(|_| {
            let mut c = faer::Mat::<f64>::zeros(rows, columns);
            for _ in 0..repeats {
                let product = faer::linalg::matmul::matmul;
                product(c.as_mut(), faer::Accum::Replace, a.as_ref(), b.as_ref(), 1.0, faer::Par::Seq);
            }
        });
    });
    (repeats * threads) as f64 * flops / seconds / 1e9
}

/// Products with the block matrix of a random patch graph.
fn block_product_speed(dim: usize) -> f64 {
    let num_patches = (200_000 / (dim * dim)).clamp(100, 1000);
    let known =
        SyntheticPatches { overlap: dim + 2, ..synthetic(PatchLayout::Random, num_patches, dim, 0.0) }.make();
    let overlaps = overlap::of_all_pairs(&known.patches);
    let relatives = Relatives::of_patches(&known.patches, &overlaps, NodeWeights::Equal).expect("measured");
    let factors = vec![1.0; overlaps.len()];
    let matrix = BlockMatrix::new(num_patches, dim, &relatives.edges, &relatives.rotations, factors);
    let columns = dim + 2;
    let x = vec![1.0; num_patches * dim * columns];
    let mut y = x.clone();
    let (seconds, ()) = shortest(20, || matrix.multiply(&x, columns, &mut y));
    matrix.product_flops(columns) / seconds / 1e9
}

/// Seconds for one nearest orthogonal matrix, as alignment does it and as the library's
/// bare decomposition, both on all threads.
fn procrustes_seconds(dim: usize, count: usize) -> (f64, f64) {
    let mut random = Seed(1).stream(Stage::Align, 9);
    let a = random_orthogonal(dim, &mut random);
    let covariance: Vec<f64> =
        a.iter().enumerate().map(|(at, entry)| entry * (1.0 + (at % dim) as f64 / dim as f64)).collect();
    let (ours, ()) = shortest(7, || {
        (0..count).into_par_iter().for_each_init(
            || (Workspace::new(dim), vec![0.0; dim * dim]),
            |(workspace, nearest), _| {
                workspace.nearest_orthogonal(&covariance, nearest).expect("finite");
            },
        );
    });
    let matrix = faer::Mat::<f64>::from_fn(dim, dim, |i, j| covariance[i * dim + j]);
    let (bare, ()) = shortest(7, || {
        (0..count).into_par_iter().for_each_init(|| BareSvd::new(dim), |svd, _| svd.run(&matrix));
    });
    (ours / count as f64, bare / count as f64)
}

/// The library's decomposition and nothing else.
struct BareSvd {
    u: faer::Mat<f64>,
    v: faer::Mat<f64>,
    s: faer::Mat<f64>,
    memory: faer::dyn_stack::MemBuffer,
}

impl BareSvd {
    fn new(dim: usize) -> Self {
        let vectors = faer::linalg::svd::ComputeSvdVectors::Full;
        let (par, spec) = (faer::Par::Seq, faer::Spec::default());
        let needed = faer::linalg::svd::svd_scratch::<f64>(dim, dim, vectors, vectors, par, spec);
        let square = || faer::Mat::zeros(dim, dim);
        Self {
            u: square(),
            v: square(),
            s: faer::Mat::zeros(dim, 1),
            memory: faer::dyn_stack::MemBuffer::new(needed),
        }
    }

    fn run(&mut self, matrix: &faer::Mat<f64>) {
        faer::linalg::svd::svd(
            matrix.as_ref(),
            self.s.as_mut().col_mut(0).as_diagonal_mut(),
            Some(self.u.as_mut()),
            Some(self.v.as_mut()),
            faer::Par::Seq,
            faer::dyn_stack::MemStack::new(&mut self.memory),
            faer::Spec::default(),
        )
        .expect("finite");
    }
}
