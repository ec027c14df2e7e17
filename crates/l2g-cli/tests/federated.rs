//! Federated sites, through the real binary: share, align, join.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use local2global::align::synthetic::distance_up_to_rigid_motion;
use local2global::npy;
use local2global::run_dir::write_array;
use serde_json::Value;

use common::{Folder, assert_refused, json, l2g, text};

const DIM: usize = 3;

/// A number that a node's row, and no other, is made of.
fn mark(id: u64) -> f64 {
    (id as f64 * 0.7310585).sin() * 3.0
}

/// Writes ids and rows of a site, turned and shifted.
fn write_site(folder: &Path, site: &str, ids: &[String], angle: f64) {
    let rows: Vec<f64> = ids
        .iter()
        .flat_map(|id| {
            let id = id.trim_start_matches("patient-").parse().unwrap();
            let [x, y, z] = [mark(id), mark(3 * id + 1), mark(7 * id + 2)];
            [x * angle.cos() - y * angle.sin() + angle, x * angle.sin() + y * angle.cos(), z - angle]
        })
        .collect();
    fs::create_dir_all(folder.join(site)).unwrap();
    fs::write(folder.join(site).join("ids.txt"), ids.join("\n")).unwrap();
    write_array(&folder.join(site).join("coords.npy"), &[ids.len(), DIM], &rows).unwrap();
}

fn ids(range: std::ops::Range<u64>) -> Vec<String> {
    range.map(|id| format!("patient-{id:05}")).collect()
}

/// Three sites that overlap, and their key.
fn prepared() -> Folder {
    let folder = Folder::new();
    folder.put("key", "a key that all sites have agreed on\n");
    write_site(&folder, "north", &ids(0..40), 0.3);
    write_site(&folder, "east", &ids(28..70), 2.0);
    write_site(&folder, "west", &ids(58..90), -1.0);
    folder
}

const SITES: [&str; 3] = ["north", "east", "west"];

fn owned(arguments: &[&str]) -> Vec<String> {
    arguments.iter().map(|argument| (*argument).to_owned()).collect()
}

fn first_round(site: &str) -> Vec<String> {
    let (nodes, out) = (format!("{site}/ids.txt"), format!("round1/{site}"));
    owned(&[
        "share",
        "--nodes",
        &nodes,
        "--name",
        site,
        "--key",
        "key",
        "--ids-only",
        "--out",
        &out,
        "--json",
    ])
}

fn second_round(site: &str, more: &[&str]) -> Vec<String> {
    let [nodes, coords] = ["ids.txt", "coords.npy"].map(|file| format!("{site}/{file}"));
    let [secret, out] = [format!("{site}/secret.npz"), format!("round2/{site}")];
    let files = ["share", "--nodes", &nodes, "--coords", &coords, "--name", site, "--secret", &secret];
    owned(&[&files[..], &["--key", "key", "--with", "round1", "--out", &out, "--json"], more].concat())
}

fn join(site: &str) -> Vec<String> {
    let [nodes, coords] = ["ids.txt", "coords.npy"].map(|file| format!("{site}/{file}"));
    let [secret, out] = [format!("{site}/secret.npz"), format!("{site}/joined")];
    let files = ["join", "--nodes", &nodes, "--coords", &coords, "--name", site, "--secret", &secret];
    owned(&[&files[..], &["--frame", "frame", "--out", &out, "--json"]].concat())
}

const ALIGN: [&str; 6] = ["align", "--shares", "round2", "--out", "frame", "--json"];

fn done(folder: &Folder, arguments: &[String]) -> Value {
    folder.json(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

fn tried(folder: &Folder, arguments: &[String]) -> std::process::Output {
    folder.l2g(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

fn both_rounds(folder: &Folder, sites: &[&str]) {
    sites.iter().for_each(|site| drop(done(folder, &first_round(site))));
    sites.iter().for_each(|site| drop(done(folder, &second_round(site, &[]))));
}

/// All files below a folder.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.path().is_dir() {
            true => found.extend(files(&entry.path())),
            false => _ = found.insert(entry.path().display().to_string(), fs::read(entry.path()).unwrap()),
        }
    }
    found
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Every byte that left a site is read: no id, and no row of a node that others do not hold, in any
/// form that it had at the site or has when it is hidden.
#[test]
fn nothing_of_an_unshared_node_leaves_a_site() {
    let folder = &prepared();
    both_rounds(folder, &SITES);
    let left: Vec<(String, Vec<u8>)> =
        ["round1", "round2"].into_iter().flat_map(|round| files(&folder.join(round))).collect();
    assert_eq!(left.len(), 3 * 2 + 3 * 3, "{:?}", left.iter().map(|(name, _)| name).collect::<Vec<_>>());
    for site in SITES {
        let listed = fs::read_to_string(folder.join(site).join("ids.txt")).unwrap();
        let rows = npy::read::<f64>(&folder.join(site).join("coords.npy")).unwrap().values;
        let secret =
            local2global::federated::files::read_secret(&folder.join(site).join("secret.npz")).unwrap();
        for (row, id) in listed.lines().enumerate() {
            let values = &rows[row * DIM..][..DIM];
            let mut forbidden = vec![id.as_bytes().to_vec(), id.as_bytes()[8..].to_vec()];
            // Own coordinates leave in no form, whether shared or not; hidden ones only of shared nodes.
            let mut numbers = values.to_vec();
            if !secret.shared.contains(&(row as u64)) {
                numbers.extend(secret.secret.hide(values));
            }
            for number in numbers {
                forbidden.push(number.to_le_bytes().to_vec());
                forbidden.push((number as f32).to_le_bytes().to_vec());
                forbidden.push(number.to_string().into_bytes());
            }
            for (name, bytes) in &left {
                let found = forbidden.iter().find(|part| part.len() > 4 && contains(bytes, part));
                assert!(found.is_none(), "{id} of {site} is in {name}: {found:?}");
            }
        }
        let secret = fs::read(folder.join(site).join("secret.npz")).unwrap();
        assert!(left.iter().all(|(_, bytes)| *bytes != secret));
    }
    let told = fs::read_to_string(folder.join("round2/north/share.json")).unwrap();
    for words in ["\"step\": \"rows\"", "\"nodes\": 12", "rows of nodes that no other site has", "no noise"] {
        assert!(told.contains(words), "`{words}` is not in {told}");
    }
}

#[test]
fn rows_of_unshared_nodes_change_no_byte_of_the_share() {
    let folder = &prepared();
    both_rounds(folder, &SITES);
    let before = files(&folder.join("round2/north"));
    let path = folder.join("north/coords.npy");
    let mut rows = npy::read::<f64>(&path).unwrap().values.to_vec();
    rows[..20 * DIM].fill(17.5);
    write_array(&path, &[40, DIM], &rows).unwrap();
    done(folder, &second_round("north", &[]));
    assert!(files(&folder.join("round2/north")) == before);
    rows[30 * DIM] += 1.0;
    write_array(&path, &[40, DIM], &rows).unwrap();
    done(folder, &second_round("north", &[]));
    assert!(files(&folder.join("round2/north")) != before);
}

#[cfg(unix)]
#[test]
fn the_secret_is_the_owners_alone_and_never_where_it_would_leave() {
    use std::os::unix::fs::PermissionsExt;
    let folder = &prepared();
    both_rounds(folder, &SITES);
    let mode = fs::metadata(folder.join("north/secret.npz")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut arguments = second_round("north", &[]);
    let place = arguments.iter().position(|argument| argument == "north/secret.npz").unwrap();
    arguments[place] = "round2/north/secret.npz".into();
    let refused = tried(folder, &arguments);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
    assert!(text(&refused).contains("would leave the site with the share"), "{}", text(&refused));
    folder.put("round2/north/notes.txt", "mine");
    assert_refused(&tried(folder, &second_round("north", &[])), &["notes.txt", "would leave the site"]);
}

/// Distances between all nodes are right: those of one site, and those of different ones.
#[test]
fn three_sites_meet_in_one_frame_and_keep_their_ids() {
    let folder = &prepared();
    both_rounds(folder, &SITES);
    let found = folder.json(&ALIGN);
    assert_eq!((&found["patches"], &found["dim"]), (&3.into(), &3.into()));
    assert!(found["misfit_after"].as_f64().unwrap() < 1e-9, "{found}");
    assert!(!folder.join("frame/embedding.npy").exists() && !folder.join("frame/coords.npy").exists());
    let (mut joined, mut truth) = (Vec::new(), Vec::new());
    for site in SITES {
        let record = done(folder, &join(site));
        assert_eq!(record["site"], site);
        let rows = npy::read::<f32>(&folder.join(site).join("joined/embedding.npy")).unwrap();
        joined.extend(rows.values.iter().map(|&value| f64::from(value)));
        for id in fs::read_to_string(folder.join(site).join("ids.txt")).unwrap().lines() {
            let id: u64 = id[8..].parse().unwrap();
            truth.extend([mark(id), mark(3 * id + 1), mark(7 * id + 2)]);
        }
        assert!(folder.join(site).join("joined/ids.parquet").exists());
    }
    let difference = distance_up_to_rigid_motion(&joined, &truth, DIM);
    assert!(difference < 1e-6, "{difference}");
}

#[test]
fn a_site_that_was_killed_between_the_rounds_joins_later() {
    let folder = &prepared();
    SITES.iter().for_each(|site| drop(done(folder, &first_round(site))));
    ["north", "east"].iter().for_each(|site| drop(done(folder, &second_round(site, &[]))));
    folder.json(&ALIGN);
    done(folder, &join("north"));
    let before = fs::read(folder.join("north/joined/embedding.npy")).unwrap();
    done(folder, &second_round("west", &[]));
    let added = folder.json(&[&ALIGN[..], &["--update", "west"]].concat());
    assert!(added["misfit"].as_f64().unwrap() < 1e-9, "{added}");
    done(folder, &join("west"));
    done(folder, &join("north"));
    assert!(fs::read(folder.join("north/joined/embedding.npy")).unwrap() == before);
}

/// A site that nobody knew of shares what the frame has, and a changed share of another is refused.
#[test]
fn a_new_site_shares_what_the_frame_has() {
    let folder = &prepared();
    both_rounds(folder, &["north", "east"]);
    folder.json(&ALIGN);
    write_site(folder, "south", &ids(20..36), 0.9);
    let mut arguments = second_round("south", &[]);
    let place = arguments.iter().position(|argument| argument == "round1").unwrap();
    arguments[place] = "frame".into();
    let record = done(folder, &arguments);
    assert_eq!(record["nodes"], 8, "nodes 28 to 35 are in the frame");
    let added = folder.json(&[&ALIGN[..], &["--update", "south"]].concat());
    assert!(added["misfit"].as_f64().unwrap() < 1e-9, "{added}");
    let together = folder.l2g(&ALIGN);
    assert_refused(&together, &["the share of site `east` is of another round", "hint:"]);
}

#[test]
fn noise_is_written_into_the_share() {
    let folder = &prepared();
    both_rounds(folder, &SITES);
    let noise = ["--epsilon", "3", "--delta", "1e-6", "--clip", "2"];
    let record = done(folder, &second_round("north", &noise));
    let privacy = &record["privacy"];
    assert_eq!((&privacy["epsilon"], &privacy["sensitivity"]), (&3.0.into(), &4.0.into()));
    assert!(privacy["sigma"].as_f64().unwrap() > 4.0, "{privacy}");
    let written: Value =
        serde_json::from_slice(&fs::read(folder.join("round2/north/share.json")).unwrap()).unwrap();
    assert_eq!(written["privacy"], *privacy);
    assert!(written.get("clipped").is_none(), "how many rows were clipped stays at the site");
    let wrong = ["--epsilon", "0", "--delta", "1e-6", "--clip", "2"];
    let refused = tried(folder, &second_round("north", &wrong));
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused).contains("epsilon is 0; needed above 0 and at most 100"), "{}", text(&refused));
}

#[test]
fn another_key_is_refused_by_name() {
    let folder = &prepared();
    SITES.iter().for_each(|site| drop(done(folder, &first_round(site))));
    folder.put("key", "another key than the other sites have\n");
    done(folder, &first_round("north"));
    let refused = tried(folder, &second_round("east", &[]));
    assert_refused(&refused, &["site `east` blinded its ids with another key than", "hint: give all sites"]);
    folder.put("key", "short\n");
    assert_refused(&tried(folder, &first_round("north")), &["the key has 5 bytes", "openssl rand"]);
}

/// Ten sites hold parts of Cora; what they get is what `l2g align` gives on the open data.
#[test]
fn ten_sites_of_cora_get_what_open_data_would_give() {
    let folder = &Folder::new();
    folder.put("key", "a key that all sites have agreed on\n");
    let settings =
        ["--quiet", "--set", "embed.method=hops", "--set", "embed.frame=none", "--set", "embed.epochs=3"];
    let ok = |arguments: &[&str]| {
        let output = l2g(folder, &[arguments, &settings].concat());
        assert!(output.status.success(), "{}", text(&output));
    };
    ok(&["graph", "cora", "--out", "run", "--set", "embed.dim=16", "--set", "partition.clusters=10"]);
    let dims = ["--set", "embed.dim=16", "--set", "partition.clusters=10"];
    ["partition", "patch", "embed"].iter().for_each(|stage| ok(&[&[*stage, "run"][..], &dims].concat()));
    fs::create_dir(folder.join("nodes")).unwrap();
    let sites: Vec<String> = (0..10).map(|patch| format!("patch-{patch:05}")).collect();
    for site in &sites {
        let from = folder.join("run/3-patches").join(format!("{site}.npy"));
        fs::copy(from, folder.join("nodes").join(format!("{site}.npy"))).unwrap();
    }
    let found = json(
        folder,
        &["align", "--nodes", "nodes", "--coords", "run/4-embeddings", "--out", "open", "--json"],
    );
    let files = |site: &str| [format!("nodes/{site}.npy"), format!("run/4-embeddings/{site}.npy")];
    let name = |site: &str| owned(&["--name", site, "--json"]);
    for site in &sites {
        let [nodes, _] = files(site);
        let out = format!("round1/{site}");
        let arguments = owned(&["share", "--nodes", &nodes, "--key", "key", "--ids-only", "--out", &out]);
        done(folder, &[arguments, name(site)].concat());
    }
    for site in &sites {
        let ([nodes, coords], secret) = (files(site), format!("{site}.npz"));
        let out = format!("round2/{site}");
        let arguments = ["share", "--nodes", &nodes, "--coords", &coords, "--key", "key", "--with", "round1"];
        let places = ["--secret", &secret, "--out", &out];
        done(folder, &[owned(&arguments), owned(&places), name(site)].concat());
    }
    let shared = folder.json(&ALIGN);
    assert_eq!(found["patch_edges"], shared["patch_edges"]);
    let nodes = npy::read::<u64>(&folder.join("open/nodes.npy")).unwrap().values;
    let mut sums = vec![0.0; nodes.len() * 16];
    let mut counts = vec![0.0; nodes.len()];
    for site in &sites {
        let ([own, coords], secret, out) = (files(site), format!("{site}.npz"), format!("joined/{site}"));
        let arguments =
            ["join", "--nodes", &own, "--coords", &coords, "--secret", &secret, "--frame", "frame"];
        done(folder, &[owned(&arguments), owned(&["--out", &out]), name(site)].concat());
        let rows = npy::read::<f32>(&folder.join(&out).join("embedding.npy")).unwrap().values;
        for (row, id) in npy::read::<u64>(&folder.join(&own)).unwrap().values.iter().enumerate() {
            let place = nodes.binary_search(id).unwrap();
            counts[place] += 1.0;
            let sum = sums[place * 16..][..16].iter_mut();
            sum.zip(&rows[row * 16..][..16]).for_each(|(sum, &value)| *sum += f64::from(value));
        }
    }
    for (sum, count) in sums.chunks_exact_mut(16).zip(counts) {
        sum.iter_mut().for_each(|value| *value /= count);
    }
    let open: Vec<f64> = npy::read::<f32>(&folder.join("open/embedding.npy"))
        .unwrap()
        .values
        .iter()
        .map(|&v| v.into())
        .collect();
    let difference = distance_up_to_rigid_motion(&sums, &open, 16);
    assert!(difference < 1e-6, "{difference}");
}

/// Two sites that share no node are aligned through a public part of the graph that both read.
#[test]
fn sites_without_common_nodes_meet_through_a_public_reference_set() {
    let folder = &Folder::new();
    folder.put("key", "a key that all sites have agreed on\n");
    // Rings in which every node knows the next four; the public ring is joined to both.
    let ring = |first: u64, count: u64| {
        let near = (0..count).flat_map(move |node| (1..5).map(move |step| (node, (node + step) % count)));
        near.map(move |(a, b)| format!("{} {}\n", first + a, first + b)).collect::<String>()
    };
    let ties = |first: u64| {
        (0..30).map(|node| format!("{} {}\n", first + 2 * node, 1000 + node)).collect::<String>()
    };
    folder.put("north.txt", &(ring(0, 80) + &ties(0)));
    folder.put("south.txt", &(ring(100, 80) + &ties(100)));
    folder.put("public.txt", &ring(1000, 60));
    folder.put("ids.txt", &(1000..1060).map(|id| format!("{id}\n")).collect::<String>());
    for site in ["north", "south"] {
        let graph = format!("{site}.txt");
        let settings =
            ["--set", "embed.method=spectral", "--set", "embed.dim=4", "--set", "partition.clusters=2"];
        let arguments = ["run", &graph, "--reference", "public.txt", "--out", site, "--json", "--quiet"];
        let found = folder.json(&[&arguments[..], &settings].concat());
        assert_eq!(found["nodes"], 140, "{found}");
        let out = format!("shares/{site}");
        let share =
            ["share", site, "--name", site, "--key", "key", "--with", "ids.txt", "--out", &out, "--json"];
        let record = folder.json(&share);
        assert_eq!((&record["nodes"], &record["site_nodes"]), (&60.into(), &140.into()));
    }
    let found = folder.json(&["align", "--shares", "shares", "--out", "frame", "--json"]);
    assert_eq!(found["patch_edges"], 1);
    let joined =
        folder.json(&["join", "north", "--name", "north", "--frame", "frame", "--out", "joined", "--json"]);
    assert_eq!((&joined["nodes"], &joined["shared"]), (&140.into(), &60.into()));
    assert!(folder.join("joined/ids.npy").exists() && folder.join("north/secret.npz").exists());
}
