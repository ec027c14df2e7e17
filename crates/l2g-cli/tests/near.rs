//! `l2g near`, through the real binary.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly")]

mod common;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;

use local2global::npy;
use local2global::run_dir::{RunDir, write_array};
use serde_json::{Value, json};

use common::{Folder, assert_refused, command, finished_ring, l2g, result, text};

/// A finished run of a ring of 200 nodes, each named after `name` of its number.
fn finished(name: impl Fn(u32) -> String) -> Folder {
    let folder = finished_ring(name);
    // A circle, so that everybody can tell who is near: node `k` lies at `k` hundredths of π.
    let around = (0..200).flat_map(|node| {
        let angle = std::f32::consts::PI * node as f32 / 100.0;
        [angle.cos(), angle.sin()]
    });
    let alignment = RunDir::new(folder.join("run")).alignment();
    write_array(&alignment.embedding(), &[200, 2], &around.collect::<Vec<_>>()).unwrap();
    folder
}

fn ids(answer: &Value) -> Vec<&Value> {
    answer["nearest"].as_array().unwrap().iter().map(|row| &row["id"]).collect()
}

#[test]
fn neighbours_come_with_ids_labels_and_scores() {
    let folder = finished(|node| format!("{}", 1000 + node));
    let found = folder.json(&["near", "run", "1050", "1000", "-k", "3", "--json"]);
    assert_eq!(
        (&found["score"], &found["embedding"], &found["k"]),
        (&json!("cosine"), &json!("l2g"), &json!(3))
    );
    assert_eq!((&found["nodes"], &found["dim"]), (&json!(200), &json!(2)));
    let answers = found["queries"].as_array().unwrap();
    assert_eq!((&answers[0]["query"], &answers[0]["label"]), (&json!(1050), &json!("even")));
    let mut near = ids(&answers[0]);
    near[..2].sort_by_key(|id| id.as_u64());
    assert_eq!(near[..2], [&json!(1049), &json!(1051)]);
    assert_eq!(answers[0]["nearest"][0]["label"], "odd");
    let score = answers[0]["nearest"][0]["score"].as_f64().unwrap();
    assert!((score - (std::f64::consts::PI / 100.0).cos()).abs() < 1e-6, "{score}");
    let table = result(&folder.l2g(&["near", "run", "1050", "-k", "1"]));
    let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["query", "rank", "id", "score", "label"]);
    assert_eq!((lines.len(), lines[1][0], lines[1][1], lines[1][4]), (2, "1050", "1", "odd"));
}

#[test]
fn a_file_of_ids_is_answered_line_by_line_and_a_pipe_as_it_comes() {
    let folder = finished(|node| format!("n {node}"));
    folder.put("ids.txt", "n 7\n\nn 150\r\nn 7\n");
    let lines = result(&folder.l2g(&["near", "run", "--ids", "ids.txt", "-k", "2"]));
    let lines: Vec<Vec<&str>> = lines.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines.len(), 7);
    assert_eq!(lines[0], ["query", "rank", "id", "score", "label"]);
    assert_eq!(
        lines[1..].iter().map(|line| line[0]).collect::<Vec<_>>(),
        ["n 7", "n 7", "n 150", "n 150", "n 7", "n 7"]
    );
    assert_eq!(lines[1][1..], lines[5][1..]);
    let streamed = folder.json(&["near", "run", "--ids", "ids.txt", "-k", "2", "--json"]);
    let given = folder.json(&["near", "run", "n 7", "n 150", "n 7", "-k", "2", "--json"]);
    assert_eq!(streamed["queries"], given["queries"]);
    assert!(streamed["seconds"].as_f64().unwrap() > 0.0);

    let mut child = command(&folder, &["near", "run", "--ids", "-", "-k", "1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut questions = child.stdin.take().unwrap();
    for node in [3, 90] {
        writeln!(questions, "n {node}").unwrap();
        questions.flush().unwrap();
        if node == 3 {
            assert!(answers.next().unwrap().starts_with("query\t"));
        }
        // The answer is there before the next question.
        assert!(answers.next().unwrap().starts_with(&format!("n {node}\t1\tn ")));
    }
    drop(questions);
    assert!(answers.next().is_none() && child.wait().unwrap().success());
}

#[test]
fn vectors_come_from_text_and_arrays() {
    let folder = finished(|node| format!("{node}"));
    folder.put("vectors.txt", "0, 1\n-3 0\n");
    let found = folder.json(&["near", "run", "--vector", "vectors.txt", "-k", "1", "--json"]);
    let answers = found["queries"].as_array().unwrap();
    assert_eq!([ids(&answers[0])[0], ids(&answers[1])[0]], [&json!(50), &json!(100)]);
    assert_eq!((&answers[1]["query"], &answers[1]["label"]), (&json!(2), &Value::Null));
    write_array(&folder.join("vector.npy"), &[2], &[0.0_f64, 1.0]).unwrap();
    let array = folder.json(&["near", "run", "--vector", "vector.npy", "-k", "1", "--json"]);
    assert_eq!(array["queries"][0], answers[0]);
    folder.put("odd.txt", "1 2 3\n");
    let refused = folder.l2g(&["near", "run", "--vector", "odd.txt"]);
    assert_refused(&refused, &["vector 1 has 3 numbers, but the embedding has 2 coordinates"]);
}

#[test]
fn the_score_and_the_embedding_can_be_chosen() {
    let folder = finished(|node| format!("{node}"));
    let alignment = RunDir::new(folder.join("run")).alignment();
    let mut values = npy::read::<f32>(&alignment.embedding()).unwrap().values.to_vec();
    // Far out, and far from the direction of node 0.
    values[2 * 20] *= 100.0;
    values[2 * 20 + 1] *= 100.0;
    write_array(&alignment.embedding(), &[200, 2], &values).unwrap();
    let best = |options: &[&str]| {
        let found = folder.json(&[&["near", "run", "0", "-k", "1", "--json"], options].concat());
        ids(&found["queries"][0])[0].as_u64().unwrap()
    };
    assert_eq!(best(&["--score", "inner-product"]), 20);
    assert!([1, 199].contains(&best(&["--score", "cosine"])));
    // The unaligned one is made of the patches alone, and is not a circle.
    assert_eq!(
        folder.json(&["near", "run", "0", "--embedding", "no-trans", "--json"])["embedding"],
        "no_trans"
    );
    let refused = folder.l2g(&["near", "run", "0", "--embedding", "full"]);
    assert_refused(
        &refused,
        &["there is no embedding: `run/6-evaluation/full.npy` does not exist", "--full"],
    );
}

#[test]
fn errors_come_with_a_hint() {
    let folder = finished(|node| format!("node-{node}"));
    let told = |arguments: &[&str]| {
        let output = folder.l2g(arguments);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        text(&output)
    };
    insta::assert_snapshot!(told(&["near", "run", "node-x7"]));
    insta::assert_snapshot!(told(&["near", "nowhere", "node-7"]));
    insta::assert_snapshot!(told(&["near", "run", "--ids", "nowhere.txt"]));
    assert_eq!(folder.l2g(&["near", "run"]).status.code(), Some(2));
    assert_eq!(folder.l2g(&["near", "run", "node-7", "-k", "0"]).status.code(), Some(2));
}

#[test]
fn what_was_answered_before_an_error_is_kept_and_the_object_is_whole() {
    let folder = finished(|node| format!("{node}"));
    // More than are answered at a time.
    let lines: String =
        (0..3000).map(|line| format!("{}\n", if line == 2500 { 999 } else { line % 200 })).collect();
    folder.put("ids.txt", &lines);
    let output = folder.l2g(&["near", "run", "--ids", "ids.txt", "-k", "1", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    let answered = record["queries"].as_array().unwrap().len();
    assert!((1..2500).contains(&answered), "{answered}");
    let error = record["error"].as_str().unwrap();
    assert!(
        error.contains("no node is called `999`; ids are integers from 0 to 199, and the nearest is 199"),
        "{error}"
    );
    assert!(text(&output).contains("no node is called `999`"));
    let lines = result(&folder.l2g(&["near", "run", "--ids", "ids.txt", "-k", "1"]));
    assert_eq!(lines.lines().count(), 1 + answered);
}

#[test]
fn help_teaches() {
    insta::assert_snapshot!(result(&l2g(Path::new("."), &["near", "--help"])));
}
