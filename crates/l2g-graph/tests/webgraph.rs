//! Compressed graphs of WebGraph: read as they were written, within a limit too; damaged ones are refused.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly")]

use std::fs;
use std::path::{Path, PathBuf};

use dsi_bitstream::traits::{BE, LE};
use l2g_graph::graph::external::Workspace;
use l2g_graph::graph::load::{GraphConfig, Loaded, load, load_within};
use l2g_graph::progress::Silent;
use l2g_graph::seed::{Seed, Stage};
use rand::RngExt;
use webgraph::prelude::{BvComp, VecGraph};

/// Rows with runs, gaps and rows like earlier ones, so that every part of the format is met.
fn arcs() -> Vec<(usize, usize)> {
    let mut random = Seed(7).stream(Stage::Generate, 0);
    let runs = (0..3000).flat_map(|node| (1..6).map(move |step| (node, (node / 8 * 8 + step * 3) % 3000)));
    let mut arcs: Vec<_> = runs.filter(|(from, to)| from != to).collect();
    arcs.extend((0..4000).map(|_| (random.random_range(0..3000), random.random_range(0..3000))));
    arcs.retain(|(from, to)| from != to);
    arcs.sort_unstable();
    arcs.dedup();
    arcs
}

fn compressed(folder: &Path, name: &str, little: bool) -> PathBuf {
    let graph = VecGraph::from_arcs(arcs());
    let mut writer = BvComp::with_basename(folder.join(name));
    match little {
        true => writer.comp_graph::<LE>(&graph).unwrap(),
        false => writer.comp_graph::<BE>(&graph).unwrap(),
    };
    folder.join(name).with_extension("graph")
}

fn as_text(folder: &Path) -> PathBuf {
    let lines: String = arcs().iter().map(|(from, to)| format!("{from} {to}\n")).collect();
    fs::write(folder.join("edges.txt"), lines).unwrap();
    folder.join("edges.txt")
}

fn read(path: &Path) -> Loaded {
    load(path, &GraphConfig::default(), &Silent).unwrap()
}

#[test]
fn the_same_edges_as_in_text_come_out_whatever_the_order_of_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let expected = read(&as_text(folder.path()));
    for little in [false, true] {
        let path = compressed(folder.path(), "web", little);
        let found = read(&path);
        assert_eq!(found.graph.digest(), expected.graph.digest(), "little-endian: {little}");
        assert_eq!(found.summary, expected.summary);
        let workspace = Workspace { limit: 1 << 16, folder: folder.path().to_owned() };
        let on_disk = load_within(&path, &GraphConfig::default(), &workspace, &Silent).unwrap();
        assert_eq!(on_disk.graph.digest(), expected.graph.digest(), "on disk, little-endian: {little}");
    }
}

#[test]
fn files_that_are_missing_cut_or_damaged_are_refused_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let path = compressed(folder.path(), "web", false);
    let refused = || load(&path, &GraphConfig::default(), &Silent).unwrap_err().to_string();
    let bytes = fs::read(&path).unwrap();
    let properties = path.with_extension("properties");
    let told = fs::read_to_string(&properties).unwrap();

    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    assert!(refused().contains("web.graph: file is cut off or damaged: "), "{}", refused());
    fs::write(&path, &bytes).unwrap();
    fs::write(&properties, told.replace("arcs=", "arcs=1")).unwrap();
    assert!(refused().contains("edges, but its properties say 1"), "{}", refused());
    fs::write(&properties, "nodes=many\n").unwrap();
    assert!(refused().contains("web.graph: file is cut off or damaged: "), "{}", refused());
    fs::remove_file(&properties).unwrap();
    assert!(refused().ends_with("web.properties: file is not there"), "{}", refused());
}

#[test]
fn flipped_bits_end_in_an_error_or_another_graph_but_in_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    let path = compressed(folder.path(), "web", false);
    let bytes = fs::read(&path).unwrap();
    let mut random = Seed(3).stream(Stage::Generate, 1);
    let mut refused = 0;
    for _ in 0..200 {
        let mut damaged = bytes.clone();
        let place = random.random_range(0..damaged.len());
        damaged[place] ^= 1 << random.random_range(0..8);
        fs::write(&path, damaged).unwrap();
        refused += usize::from(load(&path, &GraphConfig::default(), &Silent).is_err());
    }
    assert!(refused > 100, "{refused} of 200");
}
