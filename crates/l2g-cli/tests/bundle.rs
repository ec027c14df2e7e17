//! Patches trained on other machines, through the real binary: `bundle`, `embed --bundle`, `collect`.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use local2global::npy;
use local2global::run_dir::{read_sealed_json, write_array, write_sealed_json};
use serde_json::{Value, json};

use common::{Folder, assert_refused, assert_same, copy_up_to_patches, prepared, run, stages, text};

/// A run that was trained at home, and one that has patches but no coordinates yet.
fn patched(folder: &Folder, run: &[&str]) {
    stages(folder, run);
    copy_up_to_patches(&folder.join("home"), &folder.join("away"));
}

/// Packs all patches of a run, trains every bundle, and takes the results back.
fn around_the_world(folder: &Folder) -> Value {
    let bundled = folder.json(&["bundle", "away", "--out", "bundles", "--jobs", "3", "--json", "--quiet"]);
    for job in bundled["jobs"].as_array().unwrap() {
        train(folder, job["file"].as_str().unwrap());
    }
    folder.json(&["collect", "away", "results", "--json", "--quiet"])
}

/// Trains a bundle in a folder that has no run.
fn train(folder: &Folder, file: &str) {
    let bundle = folder.join("bundles").join(file);
    let elsewhere = Folder::new();
    let copy = elsewhere.join("job.l2g");
    fs::copy(bundle, &copy).unwrap();
    let results = folder.join("results");
    let arguments = ["embed", "--bundle", "job.l2g", "--out", results.to_str().unwrap(), "--json", "--quiet"];
    elsewhere.json(&arguments);
}

/// Every method without a program of the user gives the bytes that it gives at home, and a later run keeps
/// what came back.
#[test]
fn trained_elsewhere_the_bytes_are_the_same() {
    let methods = ["hops", "walks", "both", "vgae", "gae", "dgi", "spectral"];
    for method in methods.map(|method| format!("embed.method={method}")) {
        let folder = prepared();
        patched(&folder, &run("home", &["--set", &method]));
        let collected = around_the_world(&folder);
        assert_eq!((&collected["missing"], &collected["refused"]), (&json!([]), &json!([])), "{method}");
        let found = stages(&folder, &run("away", &["--set", &method]));
        assert_eq!((&found["embed"][..], &found["patch"][..]), ("kept", "kept"), "{method}: {found:?}");
        assert_same(&folder.join("home"), &folder.join("away"), &method);
    }
}

/// Edges that lead out of a patch, weights, directions and settings of single patches travel along.
#[test]
fn what_patches_read_of_the_graph_travels_along() {
    let mut random = 12345_u64;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) % below
    };
    let edges: String = (0..1500).map(|_| format!("{}\t{}\t{}.5\n", next(240), next(240), next(9))).collect();
    for more in [
        &["embed.method=walks"][..],
        &["embed.method=walks", "embed.frame=none"],
        &["embed.method=vgae", "graph.symmetrise=false"],
        &["embed.method=walks", "graph.symmetrise=false"],
        &["embed.method=vgae", "embed.patches.patch-00001.method=spectral"],
        &["embed.method=vgae", "embed.patches.patch-00001.method=walks"],
    ] {
        let folder = Folder::new();
        folder.put("weighted.tsv", &edges);
        let settings = more.iter().flat_map(|&pair| ["--set", pair]);
        let words = ["run", "weighted.tsv", "--out", "home"].into_iter().chain(common::FAST);
        patched(&folder, &words.chain(settings).collect::<Vec<_>>());
        let collected = around_the_world(&folder);
        assert_eq!(collected["missing"], json!([]), "{more:?}: {collected}");
        let trained = |run: &str| common::results(&folder.join(run).join("4-embeddings"));
        assert!(trained("home") == trained("away") && trained("home").len() > 1, "{more:?}");
    }
}

/// A run with results of all its patches, and one that was trained at home.
struct Returned {
    folder: Folder,
}

impl Returned {
    fn new() -> Self {
        let folder = prepared();
        patched(&folder, &run("home", &["--set", "embed.method=spectral"]));
        folder.json(&["bundle", "away", "--out", "bundles", "--jobs", "1", "--json", "--quiet"]);
        train(&folder, "job-00000.l2g");
        Self { folder }
    }

    fn result(&self, name: &str) -> PathBuf {
        self.folder.join("results").join(name)
    }

    fn collect(&self) -> Value {
        self.folder.json(&["collect", "away", "results", "--json", "--quiet"])
    }

    /// Changes the record of patch 1, which then says so with a seal.
    fn change_record(&self, change: impl FnOnce(&mut Value)) {
        let path = self.result("patch-00001.json");
        let mut record: Value = read_sealed_json(&path).unwrap();
        change(&mut record);
        record.as_object_mut().unwrap().remove("schema");
        write_sealed_json(&path, &record).unwrap();
    }
}

/// What is wrong is said in one sentence, and the others are taken.
#[test]
fn results_that_are_not_what_they_should_be_are_left_out() {
    type Damage = fn(&Returned);
    let other_numbers = |returned: &Returned, shape: [usize; 2], values: &[f32]| {
        let path = returned.result("patch-00001.npy");
        write_array(&path, &shape, values).unwrap();
        let digest = local2global::digest::of_file(&path).unwrap();
        returned.change_record(|record| record["coordinates"] = digest.into());
    };
    let cases: [(&str, Damage); 8] = [
        ("was made by local2global 0.0.1, and this is", |returned| {
            returned.change_record(|record| record["version"] = "0.0.1".into());
        }),
        ("is the result of another bundle: its `embed.dim` is 5, needed 4", |returned| {
            returned.change_record(|record| {
                record["digest"] = "0".into();
                record["settings"]["dim"] = 5.into();
            });
        }),
        ("is the result of another bundle: its seed is 4, needed 3", |returned| {
            returned.change_record(|record| {
                record["digest"] = "0".into();
                record["seed"] = 4.into();
            });
        }),
        ("is the result of another bundle: its nodes, edges, features", |returned| {
            returned.change_record(|record| record["digest"] = "0".into());
        }),
        ("patch-00001.json` is damaged", |returned| {
            let path = returned.result("patch-00001.json");
            let bytes = fs::read(&path).unwrap();
            fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        }),
        ("patch-00001.npy` is unusable: array ends after", |returned| {
            let path = returned.result("patch-00001.npy");
            let bytes = fs::read(&path).unwrap();
            fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        }),
        ("patch-00001.npy` is not what its record says", |returned| {
            let path = returned.result("patch-00001.npy");
            let mut bytes = fs::read(&path).unwrap();
            let last = bytes.len() - 4;
            bytes[last] ^= 1;
            fs::write(&path, bytes).unwrap();
        }),
        ("could not read", |returned| {
            returned.change_record(|record| record["encoder"] = "0".into());
        }),
    ];
    for (told, damage) in cases {
        let returned = Returned::new();
        damage(&returned);
        let collected = returned.collect();
        assert_eq!(collected["missing"], json!([1]), "{told}");
        let refused = collected["refused"].as_array().unwrap();
        let problem = refused[0]["problem"].as_str().unwrap();
        assert!(refused.len() == 1 && problem.contains(told), "`{told}` is not in {problem}");
        assert!(!returned.folder.join("away/4-embeddings/patch-00001.npy").exists(), "{told}");
    }
    let returned = Returned::new();
    let array = npy::read::<f32>(&returned.result("patch-00001.npy")).unwrap();
    let mut values = array.values.to_vec();
    values[6] = f32::NAN;
    other_numbers(&returned, [array.shape[0], 4], &values);
    assert!(returned.collect().to_string().contains("row 1 of `results/patch-00001.npy` is not finite"));
    other_numbers(&returned, [array.shape[0] - 1, 4], &array.values[4..]);
    assert!(returned.collect().to_string().contains("has shape ["));
}

#[test]
fn results_may_come_twice_and_the_rest_is_trained_at_home() {
    let returned = Returned::new();
    let folder = &returned.folder;
    fs::remove_file(returned.result("patch-00002.json")).unwrap();
    let first = returned.collect();
    assert_eq!(first["missing"], json!([2]));
    assert_eq!(returned.collect()["kept"], first["taken"]);
    // Only what is missing is packed again.
    let again = folder.json(&["bundle", "away", "--out", "bundles", "--json", "--quiet"]);
    assert_eq!((&again["patches"], &again["jobs"][0]["patches"]), (&json!(1), &json!([2])));
    assert_eq!(fs::read_dir(folder.join("bundles")).unwrap().count(), 2);
    let found = stages(folder, &run("away", &["--set", "embed.method=spectral"]));
    assert!(found["embed"].contains("patches were there"), "{found:?}");
}

#[test]
fn a_bundle_that_is_none_is_refused_in_one_sentence() {
    let returned = Returned::new();
    let folder = &returned.folder;
    let bundle = folder.join("bundles/job-00000.l2g");
    let embed = || folder.l2g(&["embed", "--bundle", "bundles/job-00000.l2g", "--out", "there", "--quiet"]);
    let intact = fs::read(&bundle).unwrap();
    let missing = |path: &Path| !path.join("patch-00000.npy").exists();
    fs::write(&bundle, &intact[..intact.len() / 2]).unwrap();
    assert_refused(&embed(), &["is no bundle, or is damaged", "l2g bundle"]);
    let place = intact.windows(9).position(|bytes| bytes == b"\"version\"").unwrap();
    let mut older = intact.clone();
    older[place + 12] = b'9';
    fs::write(&bundle, &older).unwrap();
    // The checksum tells first that somebody has changed it.
    assert_refused(&embed(), &["is no bundle, or is damaged"]);
    fs::remove_file(&bundle).unwrap();
    assert_refused(&embed(), &["could not read `bundles/job-00000.l2g`"]);
    assert!(missing(&folder.join("there")));
    let nothing = folder.l2g(&["collect", "away", "bundles", "--quiet"]);
    assert_refused(&nothing, &["there are no results in `bundles`"]);
}

#[test]
fn what_cannot_be_bundled_is_refused() {
    let folder = prepared();
    patched(&folder, &run("home", &["--set", "embed.method=spectral"]));
    let bundle =
        |more: &[&str]| folder.l2g(&[&["bundle", "away", "--out", "bundles", "--quiet"], more].concat());
    let given = bundle(&["--method", "given", "--set", "embed.coordinates=there"]);
    assert_refused(&given, &["method `given` needs programs or files of this machine"]);
    assert_refused(&bundle(&["--only", "99"]), &["there is no patch 99"]);
    let tight = bundle(&["--set", "embed.memory_bytes=1000", "--method", "spectral"]);
    assert_refused(&tight, &["MiB to embed, but the memory limit is"]);
    assert!(!folder.join("bundles").exists());
    let code = |arguments: &[&str]| folder.l2g(arguments).status.code();
    assert_eq!(code(&["embed", "--bundle", "x.l2g"]), Some(2));
    assert_eq!(code(&["embed", "run", "--bundle", "x.l2g", "--out", "y"]), Some(2));
    assert_eq!(code(&["embed"]), Some(2));
    assert_eq!(code(&["collect", "run"]), Some(2));
    let text = text(&folder.l2g(&["bundle", "nowhere", "--out", "bundles"]));
    assert!(text.contains("nowhere"), "{text}");
}
