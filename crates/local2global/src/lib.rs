//! Embed a graph in overlapping patches, and stitch the patches into one embedding.

// The stages, in the order of the data.

pub mod graph;

// What they share.

pub mod npy;

pub mod buffer;

pub mod seed;

pub mod progress;

pub mod memory;

pub mod run_dir;

pub mod config;
