//! Parquet files in the forms that other programs write, and that earlier versions wrote.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly")]

#[path = "common/tables.rs"]
mod tables;

use std::fs;
use std::path::Path;

use l2g_graph::graph::load::{Component, GraphConfig, Loaded, load};
use l2g_graph::graph::{NodeId, store};
use l2g_graph::progress::Silent;
use tables::{Chunk, Data, edge_table, table, table_of_groups};

fn read(bytes: &[u8]) -> Result<Loaded, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    fs::write(&path, bytes).unwrap();
    let config = GraphConfig { component: Component::All, ..Default::default() };
    load(&path, &config, &Silent).map_err(|error| short(error, folder.path()))
}

fn short(error: impl ToString, folder: &Path) -> String {
    error.to_string().replace(&format!("{}/", folder.display()), "")
}

fn names(loaded: &Loaded) -> Vec<String> {
    loaded.graph.nodes().map(|node| loaded.graph.ids().get(node).to_string()).collect()
}

/// The features of the path 0-1-2 from a table.
fn features(bytes: &[u8]) -> Result<(usize, Vec<f32>), String> {
    let folder = tempfile::tempdir().unwrap();
    let (edges, path) = (folder.path().join("e.txt"), folder.path().join("x.parquet"));
    fs::write(&edges, "0 1\n1 2\n").unwrap();
    fs::write(&path, bytes).unwrap();
    let config = GraphConfig { features: Some(path), ..Default::default() };
    let loaded = load(&edges, &config, &Silent).map_err(|error| short(error, folder.path()))?;
    let features = loaded.graph.features().unwrap();
    Ok((features.width(), features.values().to_vec()))
}

fn column(field: &str, chunk: impl Into<Chunk>) -> Vec<u8> {
    table(field, &[chunk.into()])
}

#[test]
fn ids_are_integers_of_any_width_and_sign() {
    let with = |kind: &str, data: Data| {
        let fields = format!("REQUIRED {}; REQUIRED INT64 dst;", kind.replace('x', "src"));
        names(&read(&table(&fields, &[data.into(), Data::Int64(vec![3, 4]).into()])).unwrap())
    };
    for kind in ["INT32 x", "INT32 x (INT_8)", "INT32 x (INTEGER(16, true))", "INT32 x (UINT_8)"] {
        assert_eq!(with(kind, Data::Int32(vec![1, 127])), ["1", "3", "4", "127"], "{kind}");
    }
    // The largest number without a sign is stored as -1.
    for kind in ["INT32 x (UINT_32)", "INT32 x (INTEGER(32, false))"] {
        assert_eq!(with(kind, Data::Int32(vec![1, -1])), ["1", "3", "4", "4294967295"], "{kind}");
    }
    for kind in ["INT64 x (UINT_64)", "INT64 x (INTEGER(64, false))"] {
        let largest = u64::MAX.to_string();
        assert_eq!(with(kind, Data::Int64(vec![1, -1])), ["1", "3", "4", largest.as_str()], "{kind}");
    }
}

#[test]
fn text_ids_repeat_in_a_dictionary_and_go_on_in_the_next_group() {
    let text = |names: &[&'static str]| -> Chunk {
        Data::Bytes(names.iter().map(|name| name.as_bytes()).collect()).into()
    };
    let fields = "REQUIRED BYTE_ARRAY src (STRING); OPTIONAL BYTE_ARRAY dst (UTF8);";
    let full = |chunk: Chunk, rows: usize| Chunk { definition: Some(vec![1; rows]), ..chunk };
    let first = [text(&["ann", "ann", "bob"]), full(text(&["bob", "eve", "eve"]), 3)];
    let second = [text(&["eve"]), full(text(&["Müller, Uwe"]), 1)];
    let loaded = read(&table_of_groups(fields, &[&first, &second])).unwrap();
    let mut names = names(&loaded);
    names.sort();
    assert_eq!(names, ["Müller, Uwe", "ann", "bob", "eve"]);
    assert_eq!(loaded.graph.num_edges(), 4);
}

#[test]
fn what_is_no_id_is_refused_by_its_type() {
    let with = |kind: &str, data: Data| {
        let fields = format!("REQUIRED {}; REQUIRED INT64 dst;", kind.replace('x', "src"));
        read(&table(&fields, &[data.into(), Data::Int64(vec![1]).into()])).unwrap_err()
    };
    let sentence =
        |name: &str| format!("a.parquet: column `src`: column has type {name}, needed integers or text");
    assert_eq!(with("DOUBLE x", Data::Double(vec![0.5])), sentence("DOUBLE"));
    assert_eq!(with("INT32 x (DATE)", Data::Int32(vec![1])), sentence("DATE"));
    assert_eq!(with("INT64 x (DECIMAL(9, 2))", Data::Int64(vec![100])), sentence("DECIMAL(9, 2)"));
    let text = with("BYTE_ARRAY x (STRING)", Data::Bytes(vec![b"ann"]));
    assert!(
        text.ends_with(
            "column `dst`: column has type INT64, needed the same kind of ids as the source column"
        )
    );
    let bytes = with("BYTE_ARRAY x", Data::Bytes(vec![b"\xff\xfe"]));
    assert_eq!(bytes, "a.parquet: file is cut off or damaged: Parquet error: found bytes that are not UTF-8");
}

#[test]
fn an_empty_row_is_named_across_groups() {
    let fields = "REQUIRED INT64 src; OPTIONAL INT64 dst;";
    let rows = |dst: &[i64], levels: &[i16]| {
        let dst = Chunk { definition: Some(levels.to_vec()), ..Data::Int64(dst.to_vec()).into() };
        [Data::Int64(vec![1; levels.len()]).into(), dst]
    };
    let groups = [rows(&[2, 3], &[1, 1]), rows(&[4], &[1, 0])];
    let error = read(&table_of_groups(fields, &[&groups[0], &groups[1]])).unwrap_err();
    assert_eq!(error, "a.parquet: column `dst`: row 3 is empty");
}

#[test]
fn numbers_are_floats_integers_or_truths() {
    let one = |field: &str, data: Data| features(&column(field, data)).unwrap();
    assert_eq!(one("REQUIRED DOUBLE x;", Data::Double(vec![0.1, -2.5, 0.0])), (1, vec![0.1, -2.5, 0.0]));
    assert_eq!(
        one("REQUIRED INT32 x (UINT_32);", Data::Int32(vec![0, -1, 2])),
        (1, vec![0.0, 4294967296.0, 2.0])
    );
    assert_eq!(one("REQUIRED BOOLEAN x;", Data::Boolean(vec![true, false, true])), (1, vec![1.0, 0.0, 1.0]));
    let halves = [0x3c00_u16, 0xc100, 0x0001].map(|bits| bits.to_le_bytes().to_vec()).to_vec();
    let half = one("REQUIRED FIXED_LEN_BYTE_ARRAY (2) x (FLOAT16);", Data::Fixed(halves));
    assert_eq!(half, (1, vec![1.0, -2.5, 2_f32.powi(-24)]));
    let refused = |field: &str, data: Data| features(&column(field, data)).unwrap_err();
    let decimal = refused("REQUIRED INT64 x (DECIMAL(12, 2));", Data::Int64(vec![1, 2, 3]));
    assert_eq!(decimal, "x.parquet: column `x`: column has type DECIMAL(12, 2), needed numbers");
    let text = refused("REQUIRED BYTE_ARRAY x (STRING);", Data::Bytes(vec![b"1"; 3]));
    assert_eq!(text, "x.parquet: column `x`: column has type STRING, needed numbers");
    let infinite = refused("REQUIRED FLOAT x;", Data::Float(vec![0.0, f32::NAN, 0.0]));
    assert_eq!(infinite, "x.parquet: column `x`: feature value NaN in row 1 is not a finite number");
}

const STANDARD: &str = "OPTIONAL GROUP x (LIST) { REPEATED GROUP list { OPTIONAL FLOAT element; } }";

fn lists(values: Vec<f32>, definition: &[i16], repetition: &[i16]) -> Chunk {
    let (definition, repetition) = (Some(definition.to_vec()), Some(repetition.to_vec()));
    Chunk { data: Data::Float(values), definition, repetition }
}

#[test]
fn lists_of_all_forms_are_rows_of_features() {
    let values = || vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let forms = [
        (STANDARD, 3),
        ("REQUIRED GROUP x (LIST) { REPEATED GROUP list { REQUIRED FLOAT element; } }", 1),
        ("OPTIONAL GROUP x (LIST) { REPEATED GROUP bag { REQUIRED FLOAT array_element; } }", 2),
        ("OPTIONAL GROUP x (LIST) { REPEATED FLOAT array; }", 2),
        ("REPEATED FLOAT x;", 1),
    ];
    for (form, level) in forms {
        let chunk = lists(values(), &[level; 6], &[0, 1, 0, 1, 0, 1]);
        assert_eq!(features(&column(form, chunk)).unwrap(), (2, values()), "{form}");
    }
    let nested = "REQUIRED GROUP x (LIST) { REPEATED GROUP list { REQUIRED GROUP element (LIST) \
                  { REPEATED GROUP list { REQUIRED FLOAT element; } } } }";
    let error = features(&column(nested, lists(vec![1.0; 3], &[2; 3], &[0; 3]))).unwrap_err();
    assert_eq!(error, "x.parquet: column `x`: column has type LIST of LIST, needed numbers");
}

#[test]
fn lists_with_holes_or_of_different_lengths_are_named_by_row() {
    let error = |values: usize, definition: &[i16], repetition: &[i16]| {
        features(&column(STANDARD, lists(vec![1.0; values], definition, repetition))).unwrap_err()
    };
    let hole = error(5, &[3, 3, 3, 2, 3, 3], &[0, 1, 0, 1, 0, 1]);
    assert_eq!(hole, "x.parquet: column `x`: row 1 is empty");
    let missing = error(4, &[3, 3, 3, 3, 0], &[0, 1, 0, 1, 0]);
    assert_eq!(missing, "x.parquet: column `x`: row 2 is empty");
    let ragged = error(5, &[3, 3, 3, 3, 3], &[0, 1, 0, 1, 0]);
    assert_eq!(ragged, "x.parquet: column `x`: value at row 2: expected 2 fields, found 1");
    let none = error(4, &[3, 3, 1, 3, 3], &[0, 1, 0, 0, 1]);
    assert_eq!(none, "x.parquet: column `x`: value at row 1: expected 2 fields, found 0");
}

#[test]
fn labels_are_text_or_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let (edges, path) = (folder.path().join("e.txt"), folder.path().join("y.parquet"));
    fs::write(&edges, "0 1\n1 2\n").unwrap();
    let classes = |field: &str, data: Data| {
        let fields = format!("REQUIRED INT64 id; {field}");
        fs::write(&path, table(&fields, &[Data::Int64(vec![2, 0, 1]).into(), data.into()])).unwrap();
        let config = GraphConfig { labels: Some(path.clone()), ..Default::default() };
        load(&edges, &config, &Silent).unwrap().graph.labels().unwrap().class_names().to_vec()
    };
    assert_eq!(classes("REQUIRED INT32 label (INT_8);", Data::Int32(vec![10, 9, 9])), ["9", "10"]);
    assert_eq!(classes("REQUIRED DOUBLE label;", Data::Double(vec![1.0, 0.5, 1.0])), ["0.5", "1.0"]);
    assert_eq!(classes("REQUIRED BYTE_ARRAY label (ENUM);", Data::Bytes(vec![b"b", b"a", b"a"])), ["a", "b"]);
    assert_eq!(classes("REQUIRED BOOLEAN label;", Data::Boolean(vec![true, false, true])), ["false", "true"]);
}

#[test]
fn a_table_too_large_for_memory_is_refused_by_its_description() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    fs::write(&path, edge_table(&[0, 1, 2], &[1, 2, 3])).unwrap();
    let config = GraphConfig { max_bytes: Some(2000), ..Default::default() };
    load(&path, &config, &Silent).unwrap();
    let many: Vec<i64> = (0..1000).collect();
    fs::write(&path, edge_table(&many, &many)).unwrap();
    let error = load(&path, &config, &Silent).unwrap_err().to_string();
    assert!(error.ends_with("needs 8000 bytes unpacked, but the limit is 2000"), "{error}");
}

/// `tests/fixtures/arrow` holds what a version wrote that used Arrow: text ids of a graph, and
/// an embedding with a list of fixed size.
#[test]
fn files_of_earlier_versions_are_read() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/arrow");
    let folder = tempfile::tempdir().unwrap();
    let edges = fixtures.join("edges.csv");
    let config = GraphConfig { features: Some(fixtures.join("embedding.parquet")), ..Default::default() };
    let loaded = load(&edges, &config, &Silent).unwrap();
    let features = loaded.graph.features().unwrap();
    assert_eq!((features.num_rows(), features.width()), (23, 8));
    assert!(features.values().iter().any(|&value| value != 0.0));
    store::write(folder.path(), &loaded.graph, &loaded.summary).unwrap();
    fs::copy(fixtures.join("ids.parquet"), folder.path().join("ids.parquet")).unwrap();
    let (graph, _) = store::open(folder.path()).unwrap();
    assert_eq!(graph.ids(), loaded.graph.ids());
    assert_eq!(graph.ids().get(NodeId(2)).to_string(), "Müller, Eve");
}
