//! How fast this machine is, in half a second: the kernels that stages spend their time in.
//!
//! ```text
//! edge     an edge of a random graph, sorted into its row: memory at random
//! entry    an entry of a sparse row times one column of a dense block, in single precision
//! flop     an operation of a dense product, in single precision
//! byte     a byte written to disk for good, and read again
//! ```
//!
//! Each is measured on one thread, several times, and the best counts: other programs only ever make a
//! measurement slower.

use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::time::Instant;

use crate::embed::nn::{Matrix, SparseMatrix, dense};

/// How often a kernel is measured.
const TIMES: usize = 4;

/// Seconds that a unit of work takes on one thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pace {
    edge: f64,
    entry: f64,
    flop: f64,
    byte: f64,
}

impl Default for Pace {
    /// A usual machine, where this one cannot be measured.
    fn default() -> Self {
        Self { edge: 5e-9, entry: 3e-10, flop: 5e-11, byte: 2e-9 }
    }
}

impl Pace {
    /// Measures this machine, and the disk with this folder.
    pub(super) fn probe(folder: &Path) -> Self {
        let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(1).build() else {
            return Self::default();
        };
        pool.install(|| Self {
            edge: edge_seconds(),
            entry: entry_seconds(),
            flop: flop_seconds(),
            byte: byte_seconds(folder).unwrap_or(Self::default().byte),
        })
    }

    /// Seconds for so many edges, each looked at in no order of memory.
    pub(super) fn edges(&self, count: f64) -> f64 {
        count * self.edge
    }

    /// Seconds for so many entries of a sparse matrix, multiplied with a dense one.
    pub(super) fn entries(&self, count: f64) -> f64 {
        count * self.entry
    }

    /// Seconds for so many operations on numbers of dense matrices.
    pub(super) fn flops(&self, count: f64) -> f64 {
        count * self.flop
    }

    /// Seconds for so many bytes written to disk.
    pub(super) fn bytes(&self, count: f64) -> f64 {
        count * self.byte
    }
}

/// The shortest time of some attempts, by the unit.
fn best(units: usize, mut attempt: impl FnMut()) -> f64 {
    let time = |_| {
        let started = Instant::now();
        attempt();
        started.elapsed().as_secs_f64()
    };
    (0..TIMES).map(time).fold(f64::INFINITY, f64::min) / units as f64
}

/// Numbers that look random.
fn mixed(value: u64) -> u64 {
    let value = value.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ (value >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    value ^ (value >> 32)
}

/// Edges between random nodes, sorted into rows by counting.
fn edge_seconds() -> f64 {
    const NODES: usize = 1 << 18;
    const EDGES: usize = 1 << 20;
    let node = |value: u64| (mixed(value) % NODES as u64) as u32;
    let edges: Vec<[u32; 2]> = (0..EDGES as u64).map(|edge| [node(2 * edge), node(2 * edge + 1)]).collect();
    let mut targets = vec![0_u32; EDGES];
    best(EDGES, || {
        let mut starts = vec![0_u32; NODES + 1];
        edges.iter().for_each(|edge| starts[edge[0] as usize + 1] += 1);
        (0..NODES).for_each(|row| starts[row + 1] += starts[row]);
        for edge in &edges {
            let next = &mut starts[edge[0] as usize];
            targets[*next as usize] = edge[1];
            *next += 1;
        }
        black_box(&targets);
    })
}

/// The rows of a patch times a block of columns.
fn entry_seconds() -> f64 {
    const ROWS: usize = 1 << 13;
    const DEGREE: usize = 16;
    const COLUMNS: usize = 32;
    let offsets = (0..=ROWS).map(|row| row * DEGREE).collect();
    let mut columns: Vec<u32> =
        (0..ROWS * DEGREE).map(|entry| (mixed(entry as u64) % ROWS as u64) as u32).collect();
    columns.chunks_exact_mut(DEGREE).for_each(<[u32]>::sort_unstable);
    let matrix = SparseMatrix::new(ROWS, offsets, columns, vec![0.5_f32; ROWS * DEGREE]);
    let block = Matrix::from_values(ROWS, COLUMNS, vec![0.5_f32; ROWS * COLUMNS]);
    let mut product = Matrix::zeros(ROWS, COLUMNS);
    best(ROWS * DEGREE * COLUMNS, || {
        matrix.multiply(&block, &mut product);
        black_box(&product);
    })
}

/// A tall matrix times a square one.
fn flop_seconds() -> f64 {
    const ROWS: usize = 2048;
    const COLUMNS: usize = 64;
    let tall = Matrix::from_values(ROWS, COLUMNS, vec![0.5_f32; ROWS * COLUMNS]);
    let square = Matrix::from_values(COLUMNS, COLUMNS, vec![0.5_f32; COLUMNS * COLUMNS]);
    let mut product = Matrix::zeros(ROWS, COLUMNS);
    best(2 * ROWS * COLUMNS * COLUMNS, || {
        dense::multiply(&tall, &square, &mut product);
        black_box(&product);
    })
}

/// A file without a name, in the folder or the nearest one above it that is there.
fn byte_seconds(folder: &Path) -> io::Result<f64> {
    const BYTES: usize = 4 << 20;
    let there = folder.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("."));
    let mut file: File = tempfile::tempfile_in(there)?;
    let mut bytes = vec![1_u8; BYTES];
    let mut attempt = || {
        file.rewind()?;
        file.write_all(&bytes)?;
        file.sync_data()?;
        file.rewind()?;
        file.read_exact(&mut bytes)
    };
    let mut failed = None;
    let seconds = best(BYTES, || failed = attempt().err().or(failed.take()));
    failed.map_or(Ok(seconds), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_measured_within_a_second_and_is_neither_stopped_nor_infinitely_fast() {
        let folder = tempfile::tempdir().unwrap();
        let pace = Pace::probe(&folder.path().join("not/there/yet"));
        for seconds in [pace.edge, pace.entry, pace.flop, pace.byte] {
            assert!(seconds > 1e-13 && seconds < 1e-4, "{pace:?}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
