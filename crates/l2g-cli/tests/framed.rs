//! Methods with a common frame, through the real binary: repeated, killed, damaged.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly")]

mod common;

use std::fs;

use common::{assert_refused, assert_same, kill_again_and_again, l2g, prepared, run, stages};

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

#[test]
fn hops_without_features_says_what_to_do() {
    let folder = &prepared();
    let generate = ["generate", "block-model", "--nodes", "100", "--out", "plain.tsv", "--quiet"];
    assert!(l2g(folder, &generate).status.success());
    let output = l2g(folder, &["run", "plain.tsv", "--set", "embed.method=hops", "--out", "run"]);
    assert_refused(&output, &["features", "walks"]);
}
