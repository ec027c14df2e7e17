//! The first stage of local2global, and what all stages stand on.
//!
//! Graphs are read, cleaned and mapped ([`graph`]), made up ([`generate`]) and written ([`mod@write`]).
//! Below lie the run folder ([`run_dir`]), NumPy arrays ([`npy`]), the seed of all chance, memory,
//! progress and digests. Nothing here needs dense algebra, so this crate compiles while its heavy
//! libraries do.
//!
//! `local2global` has all of it under the same names; use that.

pub mod graph;

// Graphs for others: written in the formats that the first stage reads, or synthetic.

pub mod write;

pub mod generate;

// What the stages are built on.

pub mod run_dir;

pub mod npy;

pub mod digest;

pub mod buffer;

pub mod memory;

mod disk;

mod positioned;

pub mod seed;

pub mod progress;

pub mod disjoint_sets;

pub mod grouping;

#[cfg(test)]
pub(crate) mod scratch;
