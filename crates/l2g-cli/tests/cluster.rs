//! `l2g cluster script`, through the real binary. Scripts are parsed here, and the one for a shell is run;
//! Python's tests look at them with shellcheck and at the manifest with the schema of Kubernetes.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly")]

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use common::{Folder, assert_same, copy_up_to_patches, prepared, result, run, stages, text};

const METHOD: [&str; 2] = ["--set", "embed.method=spectral"];

/// A folder with a run that was trained at home, and one that has patches only.
fn patched() -> Folder {
    let folder = prepared();
    stages(&folder, &run("home", &METHOD));
    copy_up_to_patches(&folder.join("home"), &folder.join("it's away"));
    folder
}

fn script(folder: &Folder, engine: &str, more: &[&str]) -> String {
    let words = ["cluster", "script", "it's away", "--for", engine, "--jobs", "3", "--quiet"];
    let output = folder.l2g(&[&words[..], &METHOD, &["--seed", "3"], more].concat());
    assert!(output.status.success(), "{}", text(&output));
    result(&output)
}

/// Runs a script with the binary of this build; a folder of programs may come first in the path.
fn run_script(folder: &Path, script: &str, programs: Option<&Path>) -> std::process::Output {
    fs::write(folder.join("train.sh"), script).unwrap();
    let path = std::env::var("PATH").unwrap();
    let path = programs.map_or(path.clone(), |programs| format!("{}:{path}", programs.display()));
    let mut command = Command::new("bash");
    command.current_dir(folder).arg("train.sh").env("PATH", path).stdin(Stdio::null());
    command.env("L2G", assert_cmd::cargo::cargo_bin!("l2g")).output().unwrap()
}

#[test]
fn scripts_name_what_the_jobs_need_and_bash_understands_them() {
    let folder = patched();
    for engine in ["slurm", "hyperqueue", "shell", "kubernetes"] {
        let script = script(&folder, engine, &["--memory", "2G"]);
        let has_place = |line: &str| {
            line.split('{').skip(1).any(|rest| {
                rest.split('}').next().is_some_and(|name| {
                    name.len() > 1 && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
                })
            }) && !line.contains("${")
        };
        assert!(!script.lines().any(has_place), "{script}");
        assert!(script.contains("--set embed.method=spectral") && script.contains("--seed 3"), "{script}");
        assert!(script.contains("--jobs 3") && script.contains("it'"), "{script}");
        if engine != "kubernetes" {
            fs::write(folder.join("script.sh"), &script).unwrap();
            let checked =
                Command::new("bash").args(["-n", "script.sh"]).current_dir(&*folder).output().unwrap();
            assert!(checked.status.success(), "{}", text(&checked));
        }
    }
    let slurm = script(&folder, "slurm", &["--threads", "2"]);
    for line in
        ["#SBATCH --array=0-2", "#SBATCH --cpus-per-task=2", "#SBATCH --time=00:10:00", "#SBATCH --mem="]
    {
        assert!(slurm.contains(line), "{line} is not in {slurm}");
    }
}

#[test]
fn the_script_for_a_shell_trains_all_patches() {
    let folder = patched();
    let done = run_script(&folder, &script(&folder, "shell", &[]), None);
    assert!(done.status.success(), "{}", text(&done));
    let settings = [&["run", "graph.npz", "--out", "it's away"][..], &common::FAST, &METHOD].concat();
    assert_eq!(stages(&folder, &settings)["embed"], "kept");
    assert_same(&folder.join("home"), &folder.join("it's away"), "trained by a script");
    // There is nothing left to train, and the script says so.
    let again = run_script(&folder, &script(&folder, "shell", &[]), None);
    assert!(result(&again).contains("all patches are there already"), "{}", text(&again));
}

/// The script for Slurm with an `sbatch` that runs the array one task after the other, as Slurm would:
/// from a copy elsewhere. A job that fails leaves the others alone.
#[test]
fn the_script_for_slurm_submits_an_array_and_takes_what_is_there() {
    let folder = patched();
    let programs = folder.join("programs");
    fs::create_dir(&programs).unwrap();
    let sbatch = programs.join("sbatch");
    let text_of = "#!/bin/bash\nset -eu\nfor word in \"$@\"; do case $word in --array=*) last=${word#*-array=0-};; esac; done\n\
        cp \"${@: -1}\" spooled.sh\nfor id in $(seq 0 \"$last\"); do [ \"$id\" = 1 ] && [ -e fail ] && continue\n\
        SLURM_ARRAY_TASK_ID=$id bash spooled.sh; done\n[ ! -e fail ]\n";
    fs::write(&sbatch, text_of).unwrap();
    assert!(Command::new("chmod").arg("+x").arg(&sbatch).status().unwrap().success());
    let script = script(&folder, "slurm", &[]);
    fs::write(folder.join("fail"), "").unwrap();
    let first = run_script(&folder, &script, Some(&programs));
    assert!(first.status.success() && text(&first).contains("some jobs failed"), "{}", text(&first));
    assert!(result(&first).contains("missing      1 patches"), "{}", result(&first));
    fs::remove_file(folder.join("fail")).unwrap();
    let second = run_script(&folder, &script, Some(&programs));
    assert!(second.status.success(), "{}", text(&second));
    assert!(result(&second).contains("missing      0 patches"), "{}", result(&second));
    for patch in 0..4 {
        let bytes =
            |run: &str| fs::read(folder.join(run).join(format!("4-embeddings/patch-0000{patch}.npy")));
        assert_eq!(bytes("home").unwrap(), bytes("it's away").unwrap());
    }
}
