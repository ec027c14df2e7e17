//! `l2g align`, through the real binary, on patches from anywhere.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly")]

mod common;

use std::fs;
use std::path::Path;

use local2global::align::Transforms;
use local2global::align::files::read_transforms;
use local2global::npy;
use local2global::run_dir::write_array;
use serde_json::Value;

use common::{Folder, assert_refused, json, l2g, text};

const DIM: usize = 2;

/// Where node `id` truly lies.
fn truth(id: u64) -> [f64; DIM] {
    let x = id as f64;
    [(1.3 * x).sin() * x, (0.7 * x).cos() * 10.0]
}

/// Writes the nodes of a patch, turned and shifted.
fn write_patch(folder: &Path, name: &str, nodes: &[u64], angle: f64, shift: f64) {
    write_array(&folder.join(format!("nodes/{name}.npy")), &[nodes.len()], nodes).unwrap();
    let moved: Vec<f64> = nodes
        .iter()
        .flat_map(|&id| {
            let [x, y] = truth(id);
            [x * angle.cos() - y * angle.sin() + shift, x * angle.sin() + y * angle.cos() - shift]
        })
        .collect();
    write_array(&folder.join(format!("coords/{name}.npy")), &[nodes.len(), DIM], &moved).unwrap();
}

/// Three patches in a row, of nodes whose ids are large and have gaps.
fn prepared() -> Folder {
    let folder = Folder::new();
    let ids = |range: std::ops::Range<u64>| range.map(|k| 7 * k + 100).collect::<Vec<_>>();
    write_patch(&folder, "alice", &ids(0..20), 0.3, 5.0);
    write_patch(&folder, "bob", &ids(12..35), 2.0, -1.0);
    write_patch(&folder, "carol", &ids(25..40), -1.0, 40.0);
    folder
}

const ALIGN: [&str; 8] = ["align", "--nodes", "nodes", "--coords", "coords", "--out", "out", "--json"];

/// The largest error of a distance between two nodes of the embedding.
fn distance_error(folder: &Path) -> f64 {
    let nodes = npy::read::<u64>(&folder.join("out/nodes.npy")).unwrap().values;
    let coords = npy::read::<f32>(&folder.join("out/embedding.npy")).unwrap();
    assert_eq!(coords.shape, [nodes.len(), DIM]);
    let found = |k: usize| [f64::from(coords.values[DIM * k]), f64::from(coords.values[DIM * k + 1])];
    let distance = |[a, b]: [f64; 2], [c, d]: [f64; 2]| (a - c).hypot(b - d);
    let pairs = (0..nodes.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
    pairs
        .map(|(a, b)| (distance(found(a), found(b)) - distance(truth(nodes[a]), truth(nodes[b]))).abs())
        .fold(0.0, f64::max)
}

#[test]
fn patches_from_anywhere_are_stitched_under_their_own_ids() {
    let folder = &prepared();
    let found = json(folder, &ALIGN);
    assert_eq!((&found["patches"], &found["patch_edges"], &found["dim"]), (&3.into(), &2.into(), &2.into()));
    assert!(found["misfit_after"].as_f64().unwrap() < 1e-6, "{found}");
    let nodes = npy::read::<u64>(&folder.join("out/nodes.npy")).unwrap().values;
    assert_eq!((nodes.len(), nodes[0], nodes[39]), (40, 100, 373));
    assert!(distance_error(folder) < 1e-3);
    for file in ["transforms.npz", "alignment.json", "no_trans.npy", "spread.npy"] {
        assert!(folder.join("out").join(file).exists(), "{file}");
    }
}

#[test]
fn only_given_pairs_are_used() {
    let folder = &prepared();
    write_array(&folder.join("edges.npy"), &[2, 2], &[0_u64, 1, 1, 2]).unwrap();
    let found = json(folder, &[&ALIGN[..], &["--edges", "edges.npy"]].concat());
    assert_eq!(found["patch_edges"], 2);
    write_array(&folder.join("edges.npy"), &[2, 2], &[0_u64, 1, 0, 2]).unwrap();
    let output = l2g(folder, &[&ALIGN[..], &["--edges", "edges.npy"]].concat());
    let share = "patches `alice` and `carol` share 0 nodes; aligning in 2 dimensions needs 3";
    assert_refused(&output, &[share, "hint: "]);
}

#[test]
fn a_changed_patch_is_put_into_the_finished_frame() {
    let folder = &prepared();
    json(folder, &ALIGN);
    // Carol trains again: other coordinates, and three nodes more.
    let ids: Vec<u64> = (25..43).map(|k| 7 * k + 100).collect();
    write_patch(folder, "carol", &ids, 0.8, 3.0);
    let report = json(folder, &[&ALIGN[..], &["--update", "carol"]].concat());
    assert_eq!((&report["patch"], &report["new_nodes"]), (&"carol".into(), &3.into()));
    assert!(report["moved_most"].as_f64().unwrap() < 1e-3, "{report}");
    assert!(distance_error(folder) < 1e-3);
    let output = l2g(folder, &[&ALIGN[..], &["--update", "dave"]].concat());
    assert_refused(&output, &["no patch named `dave`"]);
    // Dave in the place of Bob: as many patches, but the frame is that of others.
    for kind in ["nodes", "coords"] {
        fs::rename(folder.join(kind).join("bob.npy"), folder.join(kind).join("dave.npy")).unwrap();
    }
    let output = l2g(folder, &[&ALIGN[..], &["--update", "dave"]].concat());
    assert_refused(&output, &["names patch `bob`, which is not there any more"]);
}

#[test]
fn an_update_keeps_the_settings_of_its_frame() {
    let folder = &prepared();
    json(folder, &[&ALIGN[..], &["--set", "align.rotate=false", "--set", "align.weights=robust"]].concat());
    let record = || -> Value {
        serde_json::from_slice(&fs::read(folder.join("out/alignment.json")).unwrap()).unwrap()
    };
    let before = record();
    let ids: Vec<u64> = (25..43).map(|k| 7 * k + 100).collect();
    write_patch(folder, "carol", &ids, 0.8, 3.0);
    let update = |more: &[&str]| {
        json(folder, &[&ALIGN[..], &["--update", "carol", "--set", "align.judge=false"], more].concat());
        read_transforms(&folder.join("out/transforms.npz")).unwrap()
    };
    let unmoved = Transforms::identity(1, DIM);
    let moved = update(&[]);
    assert_eq!(moved.rotation(2), unmoved.rotation(0));
    assert_ne!(moved.translation(2), unmoved.translation(0));
    let after = record();
    assert_eq!(after["updated"], serde_json::json!(["carol"]));
    assert_eq!(
        (&after["settings"]["rotate"], &after["settings"]["weights"]),
        (&false.into(), &"robust".into())
    );
    assert_ne!(after["patch_list"], before["patch_list"]);
    // What is set for this update counts for this update.
    let moved = update(&["--set", "align.rotate=true", "--set", "align.translate=false"]);
    assert_eq!(moved.translation(2), unmoved.translation(0));
    assert_ne!(moved.rotation(2), unmoved.rotation(0));
}

#[test]
fn coordinates_that_have_collapsed_are_named_and_not_praised() {
    let folder = &prepared();
    for (name, rows) in [("alice", 20), ("carol", 15)] {
        let path = folder.join(format!("coords/{name}.npy"));
        write_array(&path, &[rows, DIM], &vec![0.0; rows * DIM]).unwrap();
    }
    let found = json(folder, &ALIGN);
    assert_eq!(found["collapsed"], serde_json::json!(["alice", "carol"]));
    let verdict = found["verdict"].as_str().unwrap();
    assert!(verdict.starts_with("the coordinates of alice and carol have collapsed"), "{verdict}");
}

#[test]
fn bad_input_names_the_patch() {
    type Damage = fn(&Path);
    let damages: [(Damage, &str); 6] = [
        (|folder| fs::remove_file(folder.join("coords/bob.npy")).unwrap(), "patch `bob` has no coordinates"),
        (|folder| write_array(&folder.join("coords/bob.npy"), &[1, 2], &[0.5, 1.0]).unwrap(), "`bob`"),
        (
            |folder| {
                let mut values = vec![0.0; 46];
                values[7] = f64::NAN;
                write_array(&folder.join("coords/bob.npy"), &[23, 2], &values).unwrap();
            },
            "`bob`",
        ),
        (|folder| write_array(&folder.join("coords/bob.npy"), &[23, 3], &[1.0; 69]).unwrap(), "`bob`"),
        (|folder| write_array(&folder.join("nodes/bob.npy"), &[23], &[184_u64; 23]).unwrap(), "`bob`"),
        (
            |folder| {
                let far: Vec<u64> = (1000..1023).collect();
                write_array(&folder.join("nodes/bob.npy"), &[23], &far).unwrap();
            },
            "patch graph has",
        ),
    ];
    for (case, (damage, expected)) in damages.into_iter().enumerate() {
        let folder = prepared();
        damage(&folder);
        let output = l2g(&folder, &ALIGN);
        assert_eq!(output.status.code(), Some(1), "case {case}");
        let told = text(&output);
        assert!(told.contains(expected), "case {case}: {told}");
        assert!(!folder.join("out/embedding.npy").exists(), "case {case}");
    }
}

#[test]
fn arguments_that_do_not_go_together_are_wrong_usage() {
    let folder = prepared();
    for arguments in [&["align"][..], &["align", "--nodes", "nodes"], &["align", "run", "--nodes", "nodes"]] {
        assert_eq!(l2g(&folder, arguments).status.code(), Some(2), "{arguments:?}");
    }
}
