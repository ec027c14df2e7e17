//! A graph made on disk is the graph made in memory, to the byte.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use rand::RngExt;

use super::super::load::{Component, GraphConfig, Loaded, load, load_files, load_within};
use super::super::{Duplicates, Features, store};
use super::Workspace;
use crate::progress::Silent;
use crate::seed::{Seed, Stage};

/// A limit at which edges go to disk at once, and every buffer has its smallest size.
const TINY: u64 = 1 << 12;

/// Lines of edges between ids that are made of small numbers.
fn edges(num_edges: usize, weighted: bool, id: impl Fn(u64) -> String) -> String {
    let mut random = Seed(11).stream(Stage::Generate, 0);
    let mut text = String::new();
    for _ in 0..num_edges {
        // Squares make hubs; far numbers make small components of their own.
        let mut end = || match random.random_range(0..20_u64) {
            0 => 5000 + random.random_range(0..400_u64),
            _ => random.random_range(0..40_u64).pow(2),
        };
        let [from, to] = [id(end()), id(end())];
        match weighted {
            true => writeln!(text, "{from} {to} {}", random.random_range(0..5_u64) as f32 / 4.0),
            false => writeln!(text, "{from} {to}"),
        }
        .unwrap();
    }
    text
}

fn workspace(folder: &Path, limit: u64) -> Workspace {
    Workspace { limit, folder: folder.to_owned() }
}

/// All files of a stored graph.
fn stored(loaded: &Loaded) -> Vec<(String, Vec<u8>)> {
    let folder = tempfile::tempdir().unwrap();
    store::write_loaded(folder.path(), loaded).unwrap();
    let mut files: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

/// Reads a text in memory and on disk, and compares the results.
fn assert_same(text: &str, config: &GraphConfig, case: &str) {
    assert_same_within(&[TINY, 40_000], text, config, case);
}

fn assert_same_within(limits: &[u64], text: &str, config: &GraphConfig, case: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("edges.txt");
    fs::write(&path, text).unwrap();
    let in_memory = load(&path, config, &Silent).unwrap();
    let work = tempfile::tempdir().unwrap();
    for &limit in limits {
        let on_disk = load_within(&path, config, &workspace(work.path(), limit), &Silent).unwrap();
        assert!(on_disk.scratch.is_some(), "{case}: on disk");
        assert_eq!(on_disk.graph, in_memory.graph, "{case}");
        assert_eq!(on_disk.summary, in_memory.summary, "{case}");
        assert_eq!(on_disk.graph.num_self_loops(), in_memory.graph.num_self_loops(), "{case}");
        assert!(stored(&on_disk) == stored(&in_memory), "{case}: files");
    }
    assert_eq!(fs::read_dir(work.path()).unwrap().count(), 0, "{case}: nothing is left behind");
}

/// All ways to make a graph of listed edges.
fn all_options() -> Vec<GraphConfig> {
    let mut all = Vec::new();
    for duplicates in [Duplicates::Auto, Duplicates::Sum, Duplicates::One] {
        for (symmetrise, self_loops) in [(true, false), (true, true), (false, true)] {
            for component in [Component::Largest, Component::All] {
                all.push(GraphConfig {
                    duplicates,
                    symmetrise,
                    self_loops,
                    component,
                    ..GraphConfig::default()
                });
            }
        }
    }
    all
}

#[test]
fn any_options_give_the_same_bytes_on_disk() {
    for weighted in [false, true] {
        let text = edges(6000, weighted, |id| id.to_string());
        for config in all_options() {
            assert_same(&text, &config, &format!("weights {weighted}, {config:?}"));
        }
    }
}

#[test]
fn ids_without_gaps_large_ids_and_names_give_the_same_bytes_on_disk() {
    let all = GraphConfig { component: Component::All, ..GraphConfig::default() };
    for weighted in [false, true] {
        let path: String = (1..8000).map(|node| format!("{} {node}\n", node - 1)).collect();
        assert_same(&path, &all, "a path");
        let far = |id: u64| (id * 4_000_000_007_u64).to_string();
        assert_same(&edges(5000, weighted, far), &GraphConfig::default(), "large ids");
        let mut grown = edges(4000, weighted, |id| id.to_string());
        grown += &edges(4000, weighted, far);
        assert_same(&grown, &GraphConfig::default(), "small ids before large ones");
        let few = |id: u64| format!("n{}", id * 7919 % 97);
        assert_same_within(&[40_000], &edges(5000, weighted, few), &all, "a table of names that fits");
        let names = |id: u64| format!("n{}", id * 7919 % 9973);
        let text = edges(5000, weighted, names) + &edges(9, weighted, |id| format!("far{}", id % 5));
        for config in [GraphConfig::default(), all.clone()] {
            assert_same_within(&[TINY, 40_000], &text, &config, "names");
        }
    }
}

#[test]
fn features_and_labels_come_along() {
    let folder = tempfile::tempdir().unwrap();
    let rows = |value: &dyn Fn(u64) -> String| -> String {
        (0..6000).map(|id| format!("{id},{}\n", value(id))).collect()
    };
    let (features, labels) = (folder.path().join("x.csv"), folder.path().join("y.csv"));
    fs::write(&features, format!("id,a\n{}", rows(&|id| (id * 2).to_string()))).unwrap();
    fs::write(&labels, rows(&|id| format!("c{}", id % 3))).unwrap();
    let config = GraphConfig { labels: Some(labels), ..GraphConfig::default() };
    let text = edges(3000, false, |id| id.to_string());
    assert_same(&text, &config, "labels");
}

#[test]
fn a_matrix_of_features_that_does_not_fit_is_mapped() {
    let folder = tempfile::tempdir().unwrap();
    let (path, features) = (folder.path().join("edges.txt"), folder.path().join("x.npy"));
    fs::write(&path, edges(3000, false, |id| id.to_string())).unwrap();
    let values: Vec<f64> = (0..6000 * 3).map(f64::from).collect();
    crate::npy::write(&mut fs::File::create(&features).unwrap(), &[6000, 3], &values).unwrap();
    for component in [Component::Largest, Component::All] {
        let config = GraphConfig { component, features: Some(features.clone()), ..GraphConfig::default() };
        let in_memory = load(&path, &config, &Silent).unwrap();
        // Within the larger limit, the edges fit, and the features do not.
        for limit in [TINY, 400_000] {
            let within = load_within(&path, &config, &workspace(folder.path(), limit), &Silent).unwrap();
            let Some(Features::Dense(dense)) = within.graph.features() else { panic!("dense features") };
            assert!(dense.is_mapped(), "{component:?}, limit {limit}");
            assert!(stored(&within) == stored(&in_memory), "{component:?}, limit {limit}");
        }
    }
}

#[test]
fn names_in_several_files_are_numbered_by_first_appearance_though_they_do_not_fit() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for part in 0..7_u64 {
        // Every file has names of its own, some of the others, and one that all have.
        let line = |node: u64| format!("n{}-é {}\n", (node * 31 + part * 500) % 2000, node % 3 * part);
        let path = folder.path().join(format!("part-{part}.txt"));
        fs::write(&path, (0..900).map(line).collect::<String>()).unwrap();
        files.push(path);
    }
    let config = GraphConfig::default();
    let in_memory = load_files(&files, &config, &Workspace::default(), &Silent).unwrap();
    assert!(in_memory.scratch.is_none());
    for limit in [TINY, 30_000, 150_000] {
        let work = tempfile::tempdir().unwrap();
        let on_disk = load_files(&files, &config, &workspace(work.path(), limit), &Silent).unwrap();
        assert!(on_disk.scratch.is_some(), "limit {limit}");
        assert_eq!(on_disk.graph.ids(), in_memory.graph.ids(), "limit {limit}");
        assert!(stored(&on_disk) == stored(&in_memory), "limit {limit}");
        drop(on_disk);
        assert_eq!(fs::read_dir(work.path()).unwrap().count(), 0, "limit {limit}: nothing is left behind");
    }
}
