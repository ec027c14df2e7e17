//! Damaged files never make a reader panic, hang or ask for absurd memory.
//!
//! A plain harness that runs with the other tests: it damages valid files of every
//! format in random ways, with a fixed seed, 500 times each, or as often as `L2G_FUZZ_CASES`
//! says.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly")]

#[path = "common/tables.rs"]
mod tables;

use std::fs;
use std::io::Write;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use l2g_graph::graph::io::ReadError;
use l2g_graph::graph::load::{GraphConfig, Loaded, load};
use l2g_graph::npy;
use l2g_graph::progress::Silent;
use l2g_graph::seed::{Seed, Stage};
use rand::RngExt;
use tables::{Chunk, Data, edge_table, table};

/// A file of a few bytes is read in milliseconds. Whoever takes longer than this is not slow, but lost.
const LIMIT: Duration = Duration::from_secs(300);

type Outcome = Result<Loaded, ReadError>;

fn npy_bytes<T: npy::Element>(shape: &[usize], values: &[T]) -> Vec<u8> {
    let mut bytes = Vec::new();
    npy::write(&mut bytes, shape, values).unwrap();
    bytes
}

fn npz_bytes(compression: zip::CompressionMethod) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(compression);
    let arrays = [
        ("adj_indptr", npy_bytes(&[4], &[0_i32, 2, 3, 4])),
        ("adj_indices", npy_bytes(&[4], &[1_i32, 2, 2, 0])),
        ("adj_data", npy_bytes(&[4], &[1.0_f32, 2.0, 1.0, 1.0])),
        ("adj_shape", npy_bytes(&[2], &[3_i64, 3])),
        ("attr_matrix", npy_bytes(&[3, 2], &[0.5_f32; 6])),
        ("labels", npy_bytes(&[3], &[0_i8, 1, 1])),
    ];
    for (name, bytes) in arrays {
        zip.start_file(format!("{name}.npy"), options).unwrap();
        zip.write_all(&bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// One or more random changes: flipped, cut, repeated, inserted or overwritten bytes.
fn damage(bytes: &mut Vec<u8>, random: &mut impl rand::Rng) {
    for _ in 0..random.random_range(1..4) {
        let at = random.random_range(0..bytes.len().max(1));
        match random.random_range(0..6) {
            _ if bytes.is_empty() => bytes.push(random.random()),
            0 => bytes[at] ^= 1 << random.random_range(0..8),
            1 => bytes[at] = random.random(),
            2 => bytes.truncate(at),
            3 => bytes.insert(at, *b"0 ,\n\"-#(9\xff".get(random.random_range(0..10)).unwrap_or(&0)),
            4 => {
                let piece: Vec<u8> = bytes[at..].iter().take(random.random_range(1..40)).copied().collect();
                bytes.splice(at..at, piece);
            }
            _ => {
                let end = (at + random.random_range(1..9)).min(bytes.len());
                bytes[at..end].fill(if random.random() { 0xff } else { 0 });
            }
        }
    }
}

/// Reads damaged variants of a file; what comes out does not matter, that something comes out does.
fn survives_damage(name: &'static str, original: &[u8]) {
    survives(name, original, |path| {
        let config = GraphConfig { max_bytes: Some(64 << 20), ..Default::default() };
        load(path, &config, &Silent)
    });
}

/// The same for a file of features or labels beside a sound edge list.
fn attachment_survives_damage(
    name: &'static str,
    original: &[u8],
    attach: impl Fn(&Path) -> GraphConfig + Send + 'static,
) {
    let folder = tempfile::tempdir().unwrap();
    let edges = folder.path().join("edges.txt");
    fs::write(&edges, "0 1\n1 2\n").unwrap();
    survives(name, original, move |path| {
        load(&edges, &GraphConfig { max_bytes: Some(64 << 20), ..attach(path) }, &Silent)
    });
}

/// Reads so many variants, in a thread of its own: one that never comes to an end is named.
fn survives(name: &'static str, original: &[u8], read: impl Fn(&Path) -> Outcome + Send + 'static) {
    let num_cases = std::env::var("L2G_FUZZ_CASES").map_or(500, |count| count.parse().unwrap());
    let original = original.to_vec();
    let (tell, told) = mpsc::channel();
    let reader = thread::spawn(move || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        for case in 0..num_cases {
            let mut bytes = original.clone();
            damage(&mut bytes, &mut Seed(7).stream(Stage::Generate, case));
            fs::write(&path, &bytes).unwrap();
            tell.send(outcome_of(read(&path), &format!("case {case} of {name}"))).unwrap();
        }
    });
    let mut num_refused = 0;
    for case in 0..num_cases {
        match told.recv_timeout(LIMIT) {
            Ok(is_read) => num_refused += u64::from(!is_read),
            Err(RecvTimeoutError::Timeout) => panic!("case {case} of {name} takes more than {LIMIT:?}"),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    if let Err(panic) = reader.join() {
        resume_unwind(panic);
    }
    assert!(num_refused > 0, "no variant of {name} was refused");
    let peak = l2g_graph::memory::peak_bytes().unwrap_or(0);
    assert!(peak < 2 << 30, "{name}: {peak} bytes");
}

/// Whether a file was read, to a sound graph, or refused, with a message.
fn outcome_of(outcome: Outcome, what: &str) -> bool {
    match outcome {
        Ok(loaded) => {
            loaded.graph.check_rows().unwrap_or_else(|error| panic!("{what}: {error}"));
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty(), "{what}");
            false
        }
    }
}

#[test]
fn damaged_edge_lists() {
    survives_damage("a.txt", b"# c\n0 1\n1 2\n2 0\n3 4\n18446744073709551615 7\n");
}

#[test]
fn damaged_csv() {
    survives_damage("a.csv", b"src,dst,weight\nann,\"b,c\",0.5\nbob,ann,2e3\n");
}

#[test]
fn damaged_gzip() {
    survives_damage("a.txt.gz", &gzip(b"0 1\n1 2\n2 0\n3 4\n"));
}

#[test]
fn damaged_zstd() {
    survives_damage("a.txt.zst", &zstd::encode_all(&b"0 1\n1 2\n2 0\n3 4\n"[..], 3).unwrap());
}

#[test]
fn damaged_npy() {
    survives_damage("a.npy", &npy_bytes(&[2, 4], &[0_i64, 1, 2, 3, 1, 2, 0, 4]));
}

#[test]
fn damaged_npz() {
    survives_damage("a.npz", &npz_bytes(zip::CompressionMethod::Deflated));
}

#[test]
fn damaged_stored_npz() {
    survives_damage("a.npz", &npz_bytes(zip::CompressionMethod::Stored));
}

#[test]
fn damaged_parquet() {
    survives_damage("a.parquet", &edge_table(&[0, 1, 2, 0], &[1, 2, 3, 3]));
}

#[test]
fn damaged_parquet_with_text() {
    let text = |names: [&'static str; 4]| Chunk::from(Data::Bytes(names.map(str::as_bytes).to_vec()));
    let dst = Chunk { definition: Some(vec![1; 4]), ..text(["bob", "eve", "ann", "eve"]) };
    let fields = "REQUIRED BYTE_ARRAY src (STRING); OPTIONAL BYTE_ARRAY dst (STRING);";
    survives_damage("a.parquet", &table(fields, &[text(["ann", "ann", "bob", "bob"]), dst]));
}

#[test]
fn damaged_parquet_with_lists() {
    let fields = "OPTIONAL GROUP x (LIST) { REPEATED GROUP list { OPTIONAL FLOAT element; } }";
    let data = Data::Float(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let (definition, repetition) = (Some(vec![3; 6]), Some(vec![0, 1, 0, 1, 0, 1]));
    let bytes = table(fields, &[Chunk { data, definition, repetition }]);
    attachment_survives_damage("x.parquet", &bytes, |path| GraphConfig {
        features: Some(path.to_owned()),
        ..Default::default()
    });
}

#[test]
fn damaged_matrix_market() {
    survives_damage(
        "a.mtx",
        b"%%MatrixMarket matrix coordinate real general\n4 4 3\n1 2 0.5\n2 3 1\n4 1 2\n",
    );
}

#[test]
fn damaged_json_lines() {
    survives_damage(
        "a.jsonl",
        b"{\"source\": 0, \"target\": 1, \"weight\": 0.5}\n{\"source\": 1, \"target\": 2, \"weight\": 2}\n",
    );
    survives_damage(
        "b.jsonl",
        b"{\"u\":\"ann\",\"v\":\"bob\",\"x\":[1,{}]}\n{\"u\":\"bob\",\"v\":\"eve\"}\n",
    );
}

#[test]
fn damaged_graphml() {
    survives_damage(
        "a.graphml",
        b"<?xml version='1.0'?>\n<graphml><key id='k' for='edge' attr.name='weight'><default>1</default></key>\
          <graph edgedefault='undirected'><node id='a'/><node id='b'/><node id='c'/>\
          <edge source='a' target='b'><data key='k'>0.5</data></edge><edge source='b' target='c'/>\
          </graph></graphml>\n",
    );
}

#[test]
fn damaged_features() {
    let as_features = |path: &Path| GraphConfig { features: Some(path.to_owned()), ..Default::default() };
    let rows = npy_bytes(&[3, 2], &[0.5_f32, 1.0, 2.0, 3.0, 4.0, 5.0]);
    attachment_survives_damage("x.npy", &rows, as_features);
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in [("ids", npy_bytes(&[3], &[2_u8, 0, 1])), ("x", rows)] {
        zip.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(&bytes).unwrap();
    }
    attachment_survives_damage("x.csv", b"id,a,b\n0,0.5,1\n2,2e3,3\n1,-4,5\n", as_features);
    attachment_survives_damage("x.npz", &zip.finish().unwrap().into_inner(), as_features);
}

#[test]
fn damaged_labels() {
    let as_labels = |path: &Path| GraphConfig { labels: Some(path.to_owned()), ..Default::default() };
    attachment_survives_damage("y.csv", b"id,label\n0,a\n1,\"b\"\n2,a\n", as_labels);
    attachment_survives_damage("y.npy", &npy_bytes(&[3], &[0_i8, 1, -1]), as_labels);
}

#[test]
fn random_bytes_of_every_extension() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.txt", "a.csv", "a.npy", "a.npz", "a.parquet", "a.mtx", "a.jsonl", "a.graphml"] {
        for case in 0..200 {
            let mut random = Seed(8).stream(Stage::Generate, case);
            let bytes: Vec<u8> = (0..random.random_range(0..300)).map(|_| random.random()).collect();
            let path = folder.path().join(name);
            fs::write(&path, bytes).unwrap();
            let _ = load(&path, &GraphConfig::default(), &Silent);
        }
    }
}
