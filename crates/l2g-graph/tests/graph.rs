//! The graph stage from the outside: every format gives the same graph, and every bad
//! file gets one clear sentence.

#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "helpers of tests may fail loudly")]

#[path = "common/tables.rs"]
mod tables;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use l2g_graph::graph::io::Weights;
use l2g_graph::graph::labels::{LabelKind, UNKNOWN};
use l2g_graph::graph::load::{Component, Format, GraphConfig, GraphSummary, Loaded, load};
use l2g_graph::graph::{Duplicates, Features, NodeId, builtin};
use l2g_graph::npy;
use l2g_graph::progress::Silent;
use l2g_graph::seed::{Seed, Stage};
use rand::RngExt;
use tables::{Chunk, Data, edge_table, table};

/// A folder for the files of one test.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    fn array<T: npy::Element>(&self, name: &str, shape: &[usize], values: &[T]) -> PathBuf {
        self.put(name, npy_bytes(shape, values))
    }

    fn archive(&self, name: &str, arrays: &[(&str, Vec<u8>)]) -> PathBuf {
        let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for (array, bytes) in arrays {
            zip.start_file(format!("{array}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
            zip.write_all(bytes).unwrap();
        }
        self.put(name, zip.finish().unwrap().into_inner())
    }

    fn table(&self, name: &str, fields: &str, columns: &[Chunk]) -> PathBuf {
        self.put(name, table(fields, columns))
    }
}

fn npy_bytes<T: npy::Element>(shape: &[usize], values: &[T]) -> Vec<u8> {
    let mut bytes = Vec::new();
    npy::write(&mut bytes, shape, values).unwrap();
    bytes
}

/// The header of an array with any type name, and the bytes after it.
fn raw_npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.extend(data);
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn everything() -> GraphConfig {
    GraphConfig { component: Component::All, ..Default::default() }
}

fn read(path: &Path) -> Loaded {
    load(path, &everything(), &Silent).unwrap_or_else(|error| panic!("{error}"))
}

/// The message for a bad file, without the folder.
fn error_with(path: &Path, config: &GraphConfig) -> String {
    let error = load(path, config, &Silent).expect_err("the file is bad").to_string();
    let folder = format!("{}/", path.parent().unwrap().display());
    error.replace(&folder, "")
}

fn error(path: &Path) -> String {
    error_with(path, &everything())
}

/// The graph 0-1, 1-2, 2-0, 3-4 in all formats.
fn same_graph_in_all_formats(files: &Files) -> Vec<PathBuf> {
    let text = "0 1\n1 2\n2 0\n3 4\n";
    let csr = |prefix: &str| {
        vec![
            (format!("{prefix}indptr"), npy_bytes(&[6], &[0_i32, 1, 2, 3, 4, 4])),
            (format!("{prefix}indices"), npy_bytes(&[4], &[1_i32, 2, 0, 4])),
            (format!("{prefix}data"), npy_bytes(&[4], &[1.0_f32; 4])),
            (format!("{prefix}shape"), npy_bytes(&[2], &[5_i64, 5])),
        ]
    };
    let archive = |name: &str, arrays: Vec<(String, Vec<u8>)>| {
        let arrays: Vec<(&str, Vec<u8>)> =
            arrays.iter().map(|(name, bytes)| (name.as_str(), bytes.clone())).collect();
        files.archive(name, &arrays)
    };
    let mut scipy = csr("");
    scipy.push(("format".into(), raw_npy("|S3", "()", b"csr")));
    vec![
        files.put("a.txt", text),
        files.put("comments.txt", format!("# c\n% d\n\n{text}\n# end")),
        files.put("windows.txt", text.replace('\n', "\r\n")),
        files.put("mac.txt", text.replace('\n', "\r")),
        files.put("bom.txt", format!("\u{feff}{text}")),
        files.put("far.txt", format!("{}\n{}{text}", "%".repeat(300_000), "# comment\n".repeat(200_000))),
        files.put("a.csv", text.replace(' ', ",")),
        files.put("header.csv", format!("source,target\n{}", text.replace(' ', ","))),
        files.put(
            "more.csv",
            format!(
                "year,src,dst\n{}",
                text.replace(' ', ",")
                    .replace('\n', "\n7,")
                    .replace("0,1\n", "7,0,1\n")
                    .trim_end_matches("7,")
            ),
        ),
        files.put("a.tsv", text.replace(' ', "\t")),
        files.put("a.txt.gz", gzip(text.as_bytes())),
        files.put("a.txt.zst", zstd::encode_all(text.as_bytes(), 3).unwrap()),
        files.put("a.parquet", edge_table(&[0, 1, 2, 3], &[1, 2, 0, 4])),
        files.array("a.npy", &[2, 4], &[0_i64, 1, 2, 3, 1, 2, 0, 4]),
        files.array("rows.npy", &[4, 2], &[0_u16, 1, 1, 2, 2, 0, 3, 4]),
        archive("gnn.npz", csr("adj_")),
        archive("scipy.npz", scipy),
        files.archive("pyg.npz", &[("edge_index", npy_bytes(&[2, 4], &[0_i64, 1, 2, 3, 1, 2, 0, 4]))]),
        files.put(
            "a.jsonl",
            "{\"source\":0,\"target\":1}\n{\"source\":1,\"target\":2}\n\n{\"target\":0,\"source\":2}\n{\"source\":3,\"target\":4}",
        ),
        files.put(
            "a.graphml",
            "<?xml version='1.0'?>\n<graphml><graph edgedefault='directed'>\n<node id='4'/><node id='3'/>\
             <node id='2'/><node id='1'/><node id='0'/><edge source='0' target='1'/>\
             <edge source='1' target='2'/><edge source='2' target='0'/><edge source='3' target='4'/>\
             </graph></graphml>",
        ),
        files.put(
            "a.mtx",
            "%%MatrixMarket matrix coordinate pattern general\n% c\n5 5 4\n1 2\n2 3\n3 1\n4 5\n",
        ),
    ]
}

#[test]
fn all_formats_give_the_same_graph() {
    let files = Files::new();
    let paths = same_graph_in_all_formats(&files);
    let reference = read(&paths[0]);
    assert_eq!((reference.summary.nodes, reference.summary.edges), (5, 4));
    assert_eq!(reference.summary.components, 2);
    for path in &paths {
        assert_eq!(read(path).graph, reference.graph, "{}", path.display());
    }
}

#[test]
fn the_largest_component_is_kept_with_its_names() {
    let path = Files::new().put_and_keep("x.txt", "7 8\n20 30\n30 40\n");
    let loaded = load(&path.1, &GraphConfig::default(), &Silent).unwrap();
    assert_eq!((loaded.summary.nodes, loaded.summary.components), (3, 2));
    assert_eq!((loaded.summary.dropped.nodes, loaded.summary.dropped.edges), (2, 1));
    let names: Vec<String> =
        loaded.graph.nodes().map(|node| loaded.graph.ids().get(node).to_string()).collect();
    assert_eq!(names, ["20", "30", "40"]);
}

impl Files {
    /// A file and the folder that keeps it alive.
    fn put_and_keep(self, name: &str, bytes: &str) -> (Self, PathBuf) {
        let path = self.put(name, bytes);
        (self, path)
    }
}

#[test]
fn weights_are_read_from_all_formats_that_have_them() {
    let files = Files::new();
    let fields = "REQUIRED INT64 src; REQUIRED INT64 dst; REQUIRED DOUBLE weight;";
    let columns =
        [Data::Int64(vec![0, 1]).into(), Data::Int64(vec![1, 2]).into(), Data::Double(vec![0.5, 2.0]).into()];
    let paths = [
        files.put("w.txt", "0 1 0.5\n1 2 2\n"),
        files.put("w.csv", "weight,dst,src\n0.5,1,0\n2,2,1\n"),
        files.table("w.parquet", fields, &columns),
        files.put("w.jsonl", "{\"u\":0,\"v\":1,\"w\":0.5}\n{\"u\":1,\"v\":2,\"w\":2}\n"),
        files.put(
            "w.graphml",
            "<graphml><key id='k' for='edge' attr.name='weight'/><graph><node id='0'/><node id='1'/>\
             <node id='2'/><edge source='0' target='1'><data key='k'>0.5</data></edge>\
             <edge source='1' target='2'><data key='k'>2</data></edge></graph></graphml>",
        ),
        files.put("w.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 0.5\n2 3 2\n"),
    ];
    for path in paths {
        let graph = read(&path).graph;
        assert_eq!(graph.weights(), Some(&[0.5, 0.5, 2.0, 2.0][..]), "{}", path.display());
        let without = GraphConfig { weights: Weights::None, ..everything() };
        let loaded = load(&path, &without, &Silent).unwrap();
        assert!(loaded.graph.weights().is_none() && loaded.summary.weights.is_none(), "{}", path.display());
    }
    let once = GraphConfig { duplicates: Duplicates::One, ..everything() };
    let graph = load(&files.put("w2.txt", "0 1 0.5\n0 1 3\n"), &once, &Silent).unwrap().graph;
    assert_eq!(graph.weights(), None);
}

#[test]
fn a_symmetric_matrix_goes_both_ways_though_directions_are_kept() {
    let files = Files::new();
    let entries = "2 1 0.5\n3 2 2\n3 3 7\n";
    let directed = GraphConfig { symmetrise: false, self_loops: true, ..everything() };
    let edges = |symmetry: &str| {
        let text = format!("%%MatrixMarket matrix coordinate real {symmetry}\n3 3 3\n{entries}");
        let graph = load(&files.put("a.mtx", text), &directed, &Silent).unwrap().graph;
        let weights = |node| graph.neighbor_weights(node).unwrap().to_vec();
        let edges = graph.nodes().flat_map(|node| {
            graph.neighbors(node).zip(weights(node)).map(move |(to, weight)| (node.0, to.0, weight))
        });
        edges.collect::<Vec<_>>()
    };
    assert_eq!(edges("general"), [(1, 0, 0.5), (2, 1, 2.0), (2, 2, 7.0)]);
    assert_eq!(edges("symmetric"), [(0, 1, 0.5), (1, 0, 0.5), (1, 2, 2.0), (2, 1, 2.0), (2, 2, 7.0)]);
}

#[test]
fn the_summary_says_where_weights_come_from() {
    let files = Files::new();
    let range = |path: PathBuf| read(&path).summary.weights.unwrap();
    let found = range(files.put("w.txt", "0 1 0.5\n1 2 2\n"));
    assert_eq!((found.min, found.max, found.mean), (0.5, 2.0, 1.25));
    assert_eq!(found.source.as_deref(), Some("column 3"));
    let named = range(files.put("w.csv", "src,dst,value\n0,1,0.5\n1,2,2\n"));
    assert_eq!(named.source.as_deref(), Some("column `value`"));
    assert!(read(&files.put("u.txt", "0 1\n")).summary.weights.is_none());
}

#[test]
fn columns_delimiter_and_weights_are_taken_as_told() {
    let files = Files::new();
    let fields = "REQUIRED INT64 a; REQUIRED INT64 b; REQUIRED INT64 c;";
    let columns = [[0, 1], [1, 2], [3, 4]].map(|values| Data::Int64(values.to_vec()).into());
    let json = "{\"a\":0,\"b\":1,\"c\":3}\n{\"a\":1,\"b\":2,\"c\":4}\n";
    let paths = [
        files.put("c.csv", "a,x,b,c\n0,x,1,3\n1,y,2,4\n"),
        files.put("c.txt", "a:b:c\n0:1:3\n1:2:4\n"),
        files.table("c.parquet", fields, &columns),
        files.put("c.jsonl", json),
    ];
    for path in paths {
        let delimiter = path.ends_with("c.txt").then(|| ":".parse().unwrap());
        let config = |columns: &str| GraphConfig {
            columns: Some(columns.parse().unwrap()),
            delimiter,
            ..everything()
        };
        let weighted = load(&path, &config("a,b,c"), &Silent).unwrap().graph;
        assert_eq!(weighted.weights(), Some(&[3.0, 3.0, 4.0, 4.0][..]), "{}", path.display());
        let plain = load(&path, &config("a,b"), &Silent).unwrap().graph;
        assert!(plain.weights().is_none() && plain.num_edges() == 2, "{}", path.display());
        let missing = error_with(&path, &config("a,z"));
        assert!(missing.contains("found no column `z` among a, "), "{missing}");
    }
    let numbers = GraphConfig { columns: Some("2,3".parse().unwrap()), ..everything() };
    let graph = load(&files.put("n.txt", "9 0 1 z\n9 1 2 z\n"), &numbers, &Silent).unwrap().graph;
    assert_eq!((graph.num_nodes(), graph.num_edges()), (3, 2));
    let mtx = files.put("n.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n");
    assert_eq!(error_with(&mtx, &numbers), "n.mtx: columns cannot be chosen in a Matrix Market file");
    let year = GraphConfig { weights: Weights::Column("3".into()), ..everything() };
    let graph = load(&files.put("y.txt", "0 1 7\n1 2 8\n"), &year, &Silent).unwrap().graph;
    assert_eq!(graph.weights(), Some(&[7.0, 7.0, 8.0, 8.0][..]));
}

#[test]
fn names_are_kept() {
    let files = Files::new();
    let columns = [["ann", "bob"], ["bob", "Müller, Eve"]]
        .map(|names| Data::Bytes(names.map(str::as_bytes).to_vec()).into());
    let fields = "REQUIRED BYTE_ARRAY src (STRING); REQUIRED BYTE_ARRAY dst (STRING);";
    let paths =
        [files.put("n.csv", "ann,bob\nbob,\"Müller, Eve\"\n"), files.table("n.parquet", fields, &columns)];
    for path in paths {
        let graph = read(&path).graph;
        assert_eq!(graph.ids().get(NodeId(0)).to_string(), "ann");
        assert!(graph.nodes().any(|node| graph.ids().get(node).to_string() == "Müller, Eve"));
        assert_eq!(graph.num_edges(), 2);
    }
}

#[test]
fn features_and_labels_come_from_files_of_their_own() {
    let files = Files::new();
    let edges = files.put("e.txt", "0 1\n1 2\n");
    let fields = "REQUIRED INT64 id; REQUIRED FLOAT a; REQUIRED INT64 b;";
    let columns = [
        Data::Int64(vec![2, 0, 1]).into(),
        Data::Float(vec![2.0, 0.0, 1.0]).into(),
        Data::Int64(vec![20, 0, 10]).into(),
    ];
    let features = [
        files.array("x.npy", &[3, 2], &[0.0_f64, 0.0, 1.0, 10.0, 2.0, 20.0]),
        files.table("x.parquet", fields, &columns),
        files.put("x.csv", "id,a,b\n2,2,20\n0,0,0\n1,1,10\n"),
        files.put("x.tsv", "a\tb\n0\t0\n1\t10\n2\t20\n"),
        files.put("x.txt.gz", gzip(b"a b\n0.0 0\n1.0 10\n2.0 20\n")),
        files.archive(
            "x.npz",
            &[
                ("ids", npy_bytes(&[3], &[2_u8, 0, 1])),
                ("x", npy_bytes(&[3, 2], &[2.0_f32, 20.0, 0.0, 0.0, 1.0, 10.0])),
            ],
        ),
    ];
    let labels = [files.put("y.csv", "id,label\n2,b\n0,a\n1,a\n"), files.array("y.npy", &[3], &[0_i8, 0, 1])];
    for x in &features {
        for y in &labels {
            let config = GraphConfig { features: Some(x.clone()), labels: Some(y.clone()), ..everything() };
            let graph = load(&edges, &config, &Silent).unwrap().graph;
            assert_eq!(graph.features().unwrap().values(), [0.0, 0.0, 1.0, 10.0, 2.0, 20.0]);
            assert_eq!(graph.labels().unwrap().kind(), &LabelKind::Single(vec![0, 0, 1].into()));
        }
    }
}

#[test]
fn rows_in_order_keep_isolated_nodes() {
    let files = Files::new();
    let edges = files.array("e.npy", &[2, 1], &[0_i64, 2]);
    let features = files.array("x.npy", &[5, 1], &[0.0_f32, 1.0, 2.0, 3.0, 4.0]);
    let config = GraphConfig { features: Some(features), ..everything() };
    let loaded = load(&edges, &config, &Silent).unwrap();
    assert_eq!((loaded.summary.nodes, loaded.summary.isolated_nodes), (5, 3));
}

#[test]
fn rows_of_indicators_stay_what_they_are() {
    let files = Files::new();
    let edges = files.put("e.txt", "0 1\n1 2\n");
    let with = |labels: PathBuf| GraphConfig { labels: Some(labels), ..everything() };
    for (name, values) in [("one_hot.npy", [1_u8, 0, 0, 1, 1, 0]), ("several.npy", [1, 1, 0, 0, 0, 1])] {
        let labels = files.array(name, &[3, 2], &values);
        let graph = load(&edges, &with(labels), &Silent).unwrap().graph;
        assert_eq!(graph.labels().unwrap().kind(), &LabelKind::Multi(values.to_vec().into()), "{name}");
    }
    let other = files.array("counts.npy", &[3, 2], &[1_u8, 0, 0, 2, 1, 0]);
    assert_eq!(error_with(&edges, &with(other)), "counts.npy: value 2 at position 3 is neither 0 nor 1");
    let floats = files.array("floats.npy", &[3, 2], &[1.0_f32, 0.0, 0.0, 1.0, 1.0, 0.0]);
    assert_eq!(error_with(&edges, &with(floats)), "floats.npy: array has type <f4, needed integers");
    let text = files.put("rows.csv", "1,0,0\n0,1,0\n0,0,1\n");
    assert_eq!(error_with(&edges, &with(text)), "rows.csv:1: expected 2 fields, found 3");
}

#[test]
fn labels_of_other_nodes_are_counted() {
    let files = Files::new();
    let config = GraphConfig { labels: Some(files.put("y.txt", "1 a\n7 b\n")), ..everything() };
    let loaded = load(&files.put("e.txt", "0 1\n"), &config, &Silent).unwrap();
    assert_eq!(loaded.summary.dropped.labels, 1);
    assert_eq!(loaded.graph.labels().unwrap().class_names(), ["a"]);
}

#[test]
fn unknown_labels_stay_unknown() {
    let files = Files::new();
    let config = GraphConfig { labels: Some(files.put("y.txt", "1 a\n")), ..everything() };
    let graph = load(&files.put("e.txt", "0 1\n"), &config, &Silent).unwrap().graph;
    assert_eq!(graph.labels().unwrap().kind(), &LabelKind::Single(vec![UNKNOWN, 0].into()));
}

#[test]
fn bad_text_is_named_with_its_line() {
    let files = Files::new();
    let at = |name: &str, text: &str| error(&files.put(name, text));
    assert_eq!(at("a.tsv", "1\t2\n1\t2\t3\t4\t5\n"), "a.tsv:2: expected 2 fields, found 5");
    assert_eq!(at("b.txt", "# x\n1 2\n3 -4\n"), "b.txt:3: node id -4 is negative");
    assert_eq!(at("c.txt", "1 2 0.5\n3 4 nan\n"), "c.txt:2: weight NaN is not finite");
    assert_eq!(at("d.txt", ""), "d.txt: found no edges");
    assert_eq!(at("e.txt", "# only\n"), "e.txt: found no edges");
    assert_eq!(at("f.txt", "1 1\n"), "f.txt: found no edges");
    assert_eq!(at("g.txt", "1 2\n\0\0\0"), "g.txt: found a zero byte, so this is not text");
    assert_eq!(at("h.csv", "a,b\n\"c,d\n"), "h.csv:2: file is cut off or damaged: a quote is not closed");
    assert_eq!(at("k.txt", &"1 ".repeat(1 << 20)), "k.txt:1: line is longer than 1048576 bytes");
    let error = at("l.txt", &format!("{}\n2 3\n", "1 ".repeat(150_000)));
    assert_eq!(error, "l.txt:1: expected 2 or 3 fields, found 150000");
    assert_eq!(at("m.txt", "1 2 3\n1 2\r3\n"), "m.txt:2: found a carriage return inside a line");
    // Far into the file, in a later block.
    let long = "1 2\n".repeat(600_000) + "1 x\n";
    assert_eq!(at("i.txt", &long), "i.txt:600001: node id `x` is not a plain integer, as the others are");
}

#[test]
fn bad_bytes_in_names_are_refused() {
    let files = Files::new();
    assert_eq!(error(&files.put("a.txt", b"a b\nc \xff\xfe\n")), "a.txt:2: found bytes that are not UTF-8");
}

#[test]
fn cut_files_are_said_to_be_cut() {
    let files = Files::new();
    let text: String = (0..5000).map(|i| format!("{i} {}\n", i * 7 % 5000)).collect();
    let packed = gzip(text.as_bytes());
    let cut = error(&files.put("a.txt.gz", &packed[..packed.len() / 2]));
    assert!(cut.contains("cut off or damaged"), "{cut}");
    let packed = zstd::encode_all(text.as_bytes(), 3).unwrap();
    let cut = error(&files.put("a.txt.zst", &packed[..packed.len() / 2]));
    assert!(cut.contains("cut off or damaged"), "{cut}");
    for path in same_graph_in_all_formats(&files) {
        let format = Format::of_name(&path);
        if matches!(format, Format::Npy | Format::Npz | Format::Parquet) {
            let bytes = fs::read(&path).unwrap();
            fs::write(&path, &bytes[..bytes.len() - 9]).unwrap();
            let message = error(&path);
            assert!(message.contains("damaged") || message.contains("ends after"), "{message}");
        }
    }
    let short = "%%MatrixMarket matrix coordinate pattern general\n5 5 4\n1 2\n";
    assert_eq!(
        error(&files.put("a.mtx", short)),
        "a.mtx: file is cut off or damaged: found 1 entries, but the size line says 4"
    );
}

#[test]
fn bad_arrays_are_named_with_their_position() {
    let files = Files::new();
    let negative = files.array("a.npy", &[2, 2], &[0_i64, 1, -3, 2]);
    assert_eq!(error(&negative), "a.npy: value -3 at position 2 is negative");
    let floats = files.array("b.npy", &[2, 2], &[0.0_f64; 4]);
    assert_eq!(error(&floats), "b.npy: array has type <f8, needed integers");
    let shape = files.array("c.npy", &[3, 3], &[0_i64; 9]);
    assert_eq!(error(&shape), "c.npy: array has shape [3, 3], needed 2 x edges or edges x 2");
    let absurd = files.put("d.npy", raw_npy("<i8", "(2, 4611686018427387904)", b""));
    assert!(error(&absurd).contains("absurdly large"), "{}", error(&absurd));
    let promised = files.put("e.npy", raw_npy("<i8", "(2, 1000000000)", &[0; 64]));
    assert_eq!(error(&promised), "e.npy: array ends after 8 of 2000000000 values");
    let pickled = files.put("f.npy", raw_npy("|O", "(2, 2)", b"\x80\x04K\x01."));
    assert_eq!(error(&pickled), "f.npy: array holds pickled Python objects, which are never loaded");
    let empty = files.array::<i64>("g.npy", &[2, 0], &[]);
    assert_eq!(error(&empty), "g.npy: found no edges");
}

#[test]
fn archives_that_contradict_themselves_are_refused() {
    let files = Files::new();
    let archive = |name: &str, indptr: &[i32], indices: &[i32], data: &[f32], shape: &[i64]| {
        let path = files.archive(
            name,
            &[
                ("adj_indptr", npy_bytes(&[indptr.len()], indptr)),
                ("adj_indices", npy_bytes(&[indices.len()], indices)),
                ("adj_data", npy_bytes(&[data.len()], data)),
                ("adj_shape", npy_bytes(&[2], shape)),
            ],
        );
        error(&path)
    };
    assert_eq!(
        archive("a.npz", &[0, 1, 2], &[1, 5], &[1.0, 1.0], &[2, 2]),
        "a.npz: array `adj_indices`: index 5 at position 1, but there are 2 columns"
    );
    assert_eq!(
        archive("b.npz", &[0, 1, 2], &[1, 0], &[1.0, 1.0], &[2, 3]),
        "b.npz: array `adj_shape`: adjacency matrix has 2 rows and 3 columns, needed a square one"
    );
    assert_eq!(
        archive("c.npz", &[0, 1], &[1, 0], &[1.0, 1.0], &[2, 2]),
        "c.npz: array `adj_indptr`: found 2 row offsets, needed 3"
    );
    assert_eq!(
        archive("d.npz", &[0, 1, 2], &[1, 0], &[1.0, f32::NAN], &[2, 2]),
        "d.npz: array `adj_data`: value NaN at position 1 is not finite"
    );
    assert_eq!(
        archive("e.npz", &[0, 1, 2], &[1, 0], &[1.0, -2.0], &[2, 2]),
        "e.npz: array `adj_data`: weight -2 is negative"
    );
    assert_eq!(
        archive("f.npz", &[0, 2, 9], &[1, 0], &[1.0, 1.0], &[2, 2]),
        "f.npz: array `adj_indices`: found 2 values, but the row offsets end at 9"
    );
    let other = files.archive("g.npz", &[("a", npy_bytes(&[1], &[1_u8]))]);
    assert!(error(&other).starts_with("g.npz: found no graph among the arrays [a]; needed"));
}

#[test]
fn a_zip_bomb_is_refused_before_it_is_unpacked() {
    let files = Files::new();
    let zeros = vec![0_u8; 64 << 20];
    let bomb = files.archive("a.npz", &[("edge_index", raw_npy("<i8", "(2, 4194304)", &zeros))]);
    assert!(fs::metadata(&bomb).unwrap().len() < 1 << 20);
    let config = GraphConfig { max_bytes: Some(1 << 20), ..everything() };
    assert!(
        error_with(&bomb, &config).ends_with("bytes unpacked, but the limit is 1048576"),
        "{}",
        error_with(&bomb, &config)
    );
}

#[test]
fn bad_tables_are_named_with_their_column() {
    let files = Files::new();
    let one = |values: &[i64]| Chunk::from(Data::Int64(values.to_vec()));
    let fields = "REQUIRED INT64 src; REQUIRED INT64 dest_id;";
    let missing = files.table("a.parquet", fields, &[one(&[1]), one(&[2])]);
    assert_eq!(error(&missing), "a.parquet: found no column `dst` among src, dest_id");
    let negative = files.put("b.parquet", edge_table(&[1, -2], &[2, 3]));
    assert_eq!(error(&negative), "b.parquet: column `src`: value at row 1: node id -2 is negative");
    let fields = "REQUIRED INT64 src; REQUIRED DOUBLE dst;";
    let typed = files.table("c.parquet", fields, &[one(&[1]), Data::Double(vec![0.5]).into()]);
    assert_eq!(error(&typed), "c.parquet: column `dst`: column has type DOUBLE, needed integers or text");
    let holes = Chunk { definition: Some(vec![1, 0]), ..one(&[1]) };
    let empty = files.table("d.parquet", "REQUIRED INT64 src; OPTIONAL INT64 dst;", &[one(&[1, 2]), holes]);
    assert_eq!(error(&empty), "d.parquet: column `dst`: row 1 is empty");
}

#[test]
fn bad_features_are_named() {
    let files = Files::new();
    let edges = files.put("e.txt", "0 1\n1 2\n");
    let with = |path: PathBuf| error_with(&edges, &GraphConfig { features: Some(path), ..everything() });
    let nan = files.array("a.npy", &[3, 1], &[0.0_f32, f32::NAN, 1.0]);
    assert_eq!(with(nan), "a.npy: value NaN at position 1 is not finite");
    let short = files.array("b.npy", &[2, 1], &[0.0_f32, 1.0]);
    assert_eq!(with(short), "b.npy: has 2 rows in order, but the graph has 3 nodes");
    let unknown =
        files.archive("c.npz", &[("ids", npy_bytes(&[1], &[9_u8])), ("x", npy_bytes(&[1, 1], &[1.0_f32]))]);
    assert_eq!(with(unknown), "c.npz: names node `9`, which is not in the graph");
}

#[test]
fn wrong_extensions_folders_and_missing_files_are_named() {
    let files = Files::new();
    let npy = npy_bytes(&[2, 1], &[0_i64, 1]);
    assert_eq!(
        error(&files.put("a.txt", &npy)),
        "a.txt: looks like a NumPy array (.npy), but was taken for an edge list"
    );
    assert_eq!(
        error(&files.put("b.npz", &npy)),
        "b.npz: looks like a NumPy array (.npy), but was taken for an archive of arrays (.npz)"
    );
    let as_npy = GraphConfig { format: Some(Format::Npy), ..everything() };
    assert_eq!(load(&files.put("c.txt", &npy), &as_npy, &Silent).unwrap().summary.nodes, 2);
    assert!(error(&files.put("d.npy", "1 2\n")).starts_with("d.npy: not a NumPy array"));
    fs::create_dir(files.0.path().join("folder")).unwrap();
    assert_eq!(error(&files.0.path().join("folder")), "folder: this is a folder, needed a file");
    assert_eq!(error(&files.0.path().join("nowhere.txt")), "nowhere.txt: file is not there");
}

/// The edges of a list in the plainest way: a map from a pair to its weight.
fn naive(edges: &[(u32, u32, f32)]) -> BTreeMap<(u32, u32), f32> {
    let mut directed: BTreeMap<(u32, u32), Vec<f32>> = BTreeMap::new();
    for &(a, b, weight) in edges.iter().filter(|(a, b, _)| a != b) {
        directed.entry((a, b)).or_default().push(weight);
    }
    let total = |pair: &(u32, u32)| directed.get(pair).map_or(0.0, |weights| weights.iter().sum::<f32>());
    let both = directed.keys().flat_map(|&(a, b)| [(a, b), (b, a)]);
    both.map(|(a, b)| ((a, b), total(&(a, b)).max(total(&(b, a))))).collect()
}

#[test]
fn any_edge_list_is_built_as_the_plainest_way_builds_it() {
    let files = Files::new();
    for case in 0..32 {
        let mut random = Seed(case).stream(Stage::Generate, 0);
        let num_nodes = random.random_range(2..2000);
        let mut edge = || {
            // Weights whose sums are exact, whatever their order.
            let weight = random.random_range(1..8) as f32 / 4.0;
            (random.random_range(0..num_nodes), random.random_range(0..num_nodes), weight)
        };
        let edges: Vec<(u32, u32, f32)> = (0..5000).map(|_| edge()).collect();
        let text: String = edges.iter().map(|(a, b, weight)| format!("{a} {b} {weight}\n")).collect();
        let graph = read(&files.put("e.txt", text)).graph;
        graph.check_rows().unwrap();
        let id = |node: NodeId| graph.ids().get(node).to_string().parse::<u32>().unwrap();
        let mut found = BTreeMap::new();
        for node in graph.nodes() {
            let weights = graph.neighbor_weights(node).unwrap();
            found.extend(graph.neighbors(node).zip(weights).map(|(to, &w)| ((id(node), id(to)), w)));
        }
        assert_eq!(found, naive(&edges), "case {case}");
    }
}

/// A file of the shared data, or a visible word that the test is skipped.
fn shared(name: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folders = std::env::var_os("L2G_DATA").map(PathBuf::from).into_iter().chain([beside]);
    let found = folders.map(|folder| folder.join(name)).find(|path| path.exists());
    if found.is_none() {
        eprintln!("skipped: {name} is not in $L2G_DATA");
    }
    found
}

#[test]
fn the_papers_graphs_have_the_papers_counts() {
    let photo = shared("amazon_photo.npz").map(|path| (path, [7487, 238_086, 745, 8]));
    let citeseer = shared("citeseer.npz").map(|path| (path, [2110, 7336, 3703, 6]));
    let others = [photo, citeseer].into_iter().flatten();
    for (path, counts) in others.chain([(PathBuf::from("cora"), [2485, 10138, 1433, 7])]) {
        let name = path.to_str().unwrap();
        let GraphSummary { nodes, directed_edges, features, classes, .. } =
            builtin::open(name, &[], &GraphConfig::default(), &Silent).unwrap().summary;
        assert_eq!([nodes, directed_edges, features, classes], counts, "{name}");
    }
}

/// The built-in graph is the file it was made from, and the one among the shared data if that is there.
#[test]
fn the_built_in_cora_equals_the_file() {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/cora.npz");
    let built_in = builtin::open("cora", &[], &GraphConfig::default(), &Silent).unwrap();
    for path in [Some(ours), shared("cora.npz")].into_iter().flatten() {
        let file = load(&path, &GraphConfig::default(), &Silent).unwrap();
        assert_eq!(file.summary.directed_edges, built_in.summary.directed_edges);
        let sum = |features: &Features| features.values().iter().sum::<f32>();
        assert_eq!(sum(file.graph.features().unwrap()), sum(built_in.graph.features().unwrap()));
    }
}

#[test]
fn a_large_packed_edge_list_is_read() {
    let Some(path) = shared("web_notredame.txt.gz") else { return };
    let summary = load(&path, &everything(), &Silent).unwrap().summary;
    assert_eq!((summary.nodes, summary.edges), (325_729, 1_090_108));
}
