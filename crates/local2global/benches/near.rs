//! Exact search over a mapped embedding of a million rows in 128 dimensions: seconds and memory.
//!
//! `cargo bench -p local2global --bench near` asks for the 10 nearest rows of one and of 1000 nodes, on two
//! threads, by both scores. Allowed are 0.15 s and 8 s, and 100 MB beyond the mapped file. `-- --quick` takes a
//! tenth of the rows. Rows are noise around 1000 centres, of different lengths. The machine's own speed stands beside:
//! how long reading the file once takes as a sum of its numbers.

#![expect(clippy::print_stdout, reason = "a bench prints what it measures")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::on_threads;
use local2global::graph::NodeId;
use local2global::near::{Query, Similarity, nearest};
use local2global::npy;
use local2global::progress::Silent;
use local2global::run_dir::write_array;
use local2global::score::Coordinates;
use local2global::seed::{Seed, Stage};
use rand::RngExt;
use rayon::prelude::*;

const DIM: usize = 128;
const COUNT: usize = 10;

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let num_rows = if quick { 100_000 } else { 1_000_000 };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("embedding.npy");
    write_array(&path, &[num_rows, DIM], &rows(num_rows)).expect("the disk has room");
    let mapped = npy::map::<f32>(&path).expect("it was just written");
    let coordinates = Coordinates::new(&mapped.values, DIM);
    println!("{num_rows} rows in {DIM} dimensions, {} MB, 2 threads", num_rows * DIM * 4 / 1_000_000);
    for round in 0..3 {
        let start = Instant::now();
        let sum: f32 =
            on_threads(2, || mapped.values.par_chunks(1 << 16).map(|part| part.iter().sum::<f32>()).sum());
        println!("round {round}: all numbers summed (to {sum:.0}) in {:.3} s", start.elapsed().as_secs_f64());
        for similarity in [Similarity::Cosine, Similarity::InnerProduct] {
            for num_queries in [1, 1000] {
                let nodes = (0..num_queries).map(|query| NodeId::new(query * (num_rows / num_queries)));
                let queries: Vec<Query<'_>> = nodes.map(Query::Node).collect();
                let search = || on_threads(2, || nearest(coordinates, &queries, COUNT, similarity, &Silent));
                let (found, seconds, peak) = measured(search);
                let best = found.expect("rows are finite")[0][0].score;
                println!(
                    "near/{similarity:?}/queries={num_queries}: {seconds:.3} s, at most {:.1} MB of memory beside the \
                     file; best {best:.4}",
                    peak as f64 / 1e6
                );
            }
        }
    }
}

/// Noise around 1000 centres.
fn rows(num_rows: usize) -> Vec<f32> {
    let mut random = Seed(1).stream(Stage::Generate, 0);
    let centres: Vec<f32> = (0..1000 * DIM).map(|_| random.random::<f32>() - 0.5).collect();
    let mut values = Vec::with_capacity(num_rows * DIM);
    for row in 0..num_rows {
        let length = 0.5 + random.random::<f32>();
        let centre = &centres[row % 1000 * DIM..][..DIM];
        values.extend(centre.iter().map(|x| length * (x + 0.7 * (random.random::<f32>() - 0.5))));
    }
    values
}

/// What some work gives, the seconds it takes, and by how much the memory of this process grows meanwhile, looked at
/// every millisecond.
fn measured<T>(work: impl FnOnce() -> T) -> (T, f64, u64) {
    let (before, is_over) = (own_bytes(), AtomicBool::new(false));
    let watch = || {
        let mut peak = before;
        while !is_over.load(Ordering::Relaxed) {
            peak = peak.max(own_bytes());
            thread::sleep(Duration::from_millis(1));
        }
        peak
    };
    thread::scope(|scope| {
        let watcher = scope.spawn(watch);
        let start = Instant::now();
        let result = work();
        let seconds = start.elapsed().as_secs_f64();
        is_over.store(true, Ordering::Relaxed);
        (result, seconds, watcher.join().expect("watching does not fail") - before)
    })
}

/// Memory of this process that belongs to no file, as Linux counts it; 0 elsewhere.
fn own_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
}
