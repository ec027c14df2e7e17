//! Methods with a common frame, through the real binary: repeated, killed, damaged.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly")]

mod common;

use std::fs;

use local2global::npy;
use serde_json::Value;

use common::{assert_refused, assert_same, kill_again_and_again, l2g, prepared, run, stages, text};

const METHODS: [&str; 3] = ["embed.method=hops", "embed.method=walks", "embed.method=both"];

#[test]
fn threads_do_not_change_a_byte() {
    let folder = &prepared();
    for method in METHODS {
        for frame in ["embed.frame=common", "embed.frame=none"] {
            let settings = ["--set", method, "--set", frame, "--hold-out", "0.1"];
            let [one, two] = [1, 2].map(|threads| format!("{method}-{frame}-{threads}"));
            stages(folder, &run(&one, &[&settings[..], &["--threads", "1"]].concat()));
            stages(folder, &run(&two, &[&settings[..], &["--threads", "2"]].concat()));
            assert_same(&folder.join(one), &folder.join(two), &format!("{method}, {frame}"));
        }
    }
}

#[test]
fn killed_at_any_moment_a_run_goes_on_to_the_same_bytes() {
    for (seed, method) in (0..).zip(METHODS) {
        let folder = prepared();
        kill_again_and_again(folder.path(), &["--set", method], 3, seed);
    }
}

/// Files of the embed stage that the frame brings along are made again, and nothing else changes.
#[test]
fn a_damaged_frame_or_encoder_is_made_again() {
    let folder = &prepared();
    let settings = ["--set", "embed.method=both"];
    stages(folder, &run("good", &settings));
    for file in ["frame.npz", "frame.json", "patch-00001.encoder.npz"] {
        stages(folder, &run("bad", &settings));
        for cut in [true, false] {
            let path = folder.join("bad/4-embeddings").join(file);
            let bytes = fs::read(&path).unwrap();
            match cut {
                true => fs::write(&path, &bytes[..bytes.len() / 2]).unwrap(),
                false => fs::remove_file(&path).unwrap(),
            }
            let found = stages(folder, &run("bad", &settings));
            assert!(found["embed"].contains("is damaged or missing"), "{file}: {found:?}");
            assert_same(&folder.join("good"), &folder.join("bad"), file);
        }
    }
}

/// What patches learned is applied to the whole graph, where it depends a little on every patch; an
/// update of one patch leaves rows of other nodes alone all the same.
#[test]
fn an_update_keeps_the_bytes_of_all_rows_outside_the_patch() {
    let folder = &prepared();
    for method in ["embed.method=hops", "embed.method=both"] {
        for late in ["embed.late=copies", "embed.late=encoders"] {
            let out = format!("{method}-{late}");
            stages(folder, &run(&out, &["--set", method, "--set", late, "--dim", "8"]));
            let embedding =
                || npy::read::<f32>(&folder.join(&out).join("5-alignment/embedding.npy")).unwrap();
            let before = embedding();
            // The same patch, trained for longer.
            let trained = l2g(folder, &["embed", &out, "--only", "1", "--epochs", "60", "--quiet"]);
            assert!(trained.status.success(), "{}", text(&trained));
            let updated = l2g(folder, &["align", &out, "--update", "patch-00001", "--json", "--quiet"]);
            assert!(updated.status.success(), "{}", text(&updated));
            let report: Value = serde_json::from_slice(&updated.stdout).unwrap();
            let patch = npy::read::<u64>(&folder.join(&out).join("3-patches/patch-00001.npy")).unwrap();
            let (after, dim) = (embedding(), before.shape[1]);
            assert!(patch.values.len() + 20 < before.shape[0], "{out}: the patch holds most of the graph");
            let rows = before.values.chunks(dim).zip(after.values.chunks(dim));
            let changed: Vec<u64> =
                (0..).zip(rows).filter(|(_, (old, new))| old != new).map(|(node, _)| node).collect();
            assert!(changed.iter().all(|node| patch.values.contains(node)), "{out}: {changed:?}");
            assert!(changed.len() > patch.values.len() / 2, "{out}: {} nodes changed", changed.len());
            assert_eq!(
                (&report["changed_outside"], &report["changed_nodes"]),
                (&0.into(), &changed.len().into())
            );
        }
    }
}

#[test]
fn hops_without_features_says_what_to_do() {
    let folder = &prepared();
    let generate = ["generate", "block-model", "--nodes", "100", "--out", "plain.tsv", "--quiet"];
    assert!(l2g(folder, &generate).status.success());
    let output = l2g(folder, &["run", "plain.tsv", "--set", "embed.method=hops", "--out", "run"]);
    assert_refused(&output, &["features", "walks"]);
}
