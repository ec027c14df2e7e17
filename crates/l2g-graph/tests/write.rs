//! What every format must do: the graph that is written can be read back.
//!
//! Files are taken apart here without the readers of the library, so that a mistake
//! cannot hide by being made twice.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use l2g_graph::generate::{BlockModel, ClassFeatures, Generator, Outputs, RingOfCliques, Rmat, generate};
use l2g_graph::graph::edge_list::EdgeChunk;
use l2g_graph::graph::features::DenseFeatures;
use l2g_graph::graph::{BuildOptions, EdgeList, Features, Graph, Labels, NodeId, NodeIds, build};
use l2g_graph::npy::ArrayReader;
use l2g_graph::progress::{Progress, Silent};
use l2g_graph::seed::Seed;
use l2g_graph::write::{OutputFormat, write_features, write_graph};

/// An edge, and its weight or 1.
type Edge = (String, String, f32);

fn small_graph() -> Graph {
    let model = BlockModel { nodes: 300, features: Some(ClassFeatures::default()), ..Default::default() };
    generate(&model, Seed(1)).unwrap()
}

/// A small weighted graph whose nodes have names.
fn named_graph(ids: NodeIds) -> Graph {
    let mut edges = EdgeList::new();
    edges.push(EdgeChunk { pairs: vec![[0_u32, 1], [1, 2], [0, 3]], weights: vec![0.5, 2.0, 1e-7] });
    let graph = build(edges, 4, &BuildOptions::default()).graph;
    graph.with_ids(ids).unwrap()
}

fn strings() -> NodeIds {
    NodeIds::Strings(["Miller, Ann", "#1", "say \"hi\"", "żółw"].into_iter().collect())
}

fn integers() -> NodeIds {
    NodeIds::Integers(vec![7, 5_000_000_000, 0, 12].into())
}

/// The edges of a graph, each once.
fn edges_of(graph: &Graph) -> Vec<Edge> {
    let mut edges = Vec::new();
    for node in graph.nodes() {
        for (index, other) in graph.neighbors(node).enumerate().filter(|&(_, other)| other >= node) {
            let weight = graph.neighbor_weights(node).map_or(1.0, |weights| weights[index]);
            edges.push((graph.ids().get(node).to_string(), graph.ids().get(other).to_string(), weight));
        }
    }
    edges
}

fn in_folder<T>(name: &str, work: impl FnOnce(&Path) -> T) -> T {
    let folder = tempfile::tempdir().unwrap();
    let result = work(&folder.path().join(name));
    let hidden = |entry: fs::DirEntry| entry.file_name().to_string_lossy().starts_with('.');
    assert!(
        !fs::read_dir(folder.path()).unwrap().any(|entry| hidden(entry.unwrap())),
        "nothing is left behind"
    );
    result
}

fn unpacked(path: &Path) -> String {
    let file = File::open(path).unwrap();
    let mut text = String::new();
    match path.extension().unwrap().to_str().unwrap() {
        "gz" => flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap(),
        "zst" => zstd::Decoder::new(file).unwrap().read_to_string(&mut text).unwrap(),
        _ => File::open(path).unwrap().read_to_string(&mut text).unwrap(),
    };
    text
}

/// Fields separated by `separator`; quotes are those of CSV.
fn fields(line: &str, separator: char) -> Vec<String> {
    let (mut fields, mut quoted) = (vec![String::new()], false);
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        let field = fields.last_mut().unwrap();
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => field.extend(characters.next()),
            '"' => quoted = !quoted,
            _ if character == separator && !quoted => fields.push(String::new()),
            _ => field.push(character),
        }
    }
    fields
}

fn text_edges(path: &Path, separator: char) -> Vec<Edge> {
    let text = unpacked(path);
    let lines = text.lines().filter(|line| !line.starts_with("# ") && !line.starts_with("src"));
    lines
        .map(|line| match &fields(line, separator)[..] {
            [source, target] => (source.clone(), target.clone(), 1.0),
            [source, target, weight] => (source.clone(), target.clone(), weight.parse().unwrap()),
            other => panic!("{} fields in {line}", other.len()),
        })
        .collect()
}

/// An archive of arrays.
struct Archive(zip::ZipArchive<File>);

impl Archive {
    fn open(path: &Path) -> Self {
        Self(zip::ZipArchive::new(File::open(path).unwrap()).unwrap())
    }

    fn has(&self, name: &str) -> bool {
        self.0.index_for_name(&format!("{name}.npy")).is_some()
    }

    fn reader(&mut self, name: &str) -> ArrayReader<impl Read> {
        ArrayReader::new(self.0.by_name(&format!("{name}.npy")).unwrap()).unwrap()
    }

    fn integers(&mut self, name: &str) -> Vec<u64> {
        self.reader(name).integers().unwrap()
    }

    fn floats(&mut self, name: &str) -> Vec<f32> {
        self.reader(name).floats().unwrap()
    }

    /// The entries of a sparse matrix: row, column, value.
    fn entries(&mut self, prefix: &str) -> Vec<(u64, u64, f32)> {
        let name = |array: &str| format!("{prefix}{array}");
        let (offsets, columns) = (self.integers(&name("indptr")), self.integers(&name("indices")));
        let values = self.floats(&name("data"));
        assert_eq!(offsets.len() as u64, self.integers(&name("shape"))[0] + 1);
        let row = |row: usize| offsets[row] as usize..offsets[row + 1] as usize;
        let entries = |r: usize| row(r).map(move |k| (r as u64, k)).collect::<Vec<_>>();
        (0..offsets.len() - 1).flat_map(entries).map(|(r, k)| (r, columns[k], values[k])).collect()
    }
}

/// All entries of the adjacency matrix, in row order.
fn adjacency(graph: &Graph) -> Vec<(u64, u64, f32)> {
    let row = |node: NodeId| {
        let weight = move |index: usize| graph.neighbor_weights(node).map_or(1.0, |weights| weights[index]);
        graph.neighbors(node).enumerate().map(move |(index, other)| (node.0, other.0, weight(index)))
    };
    graph.nodes().flat_map(row).collect()
}

#[test]
fn edge_lists_come_back() {
    for graph in [small_graph(), named_graph(strings()), named_graph(integers())] {
        for (name, separator) in
            [("a.txt", '\t'), ("a.csv", ','), ("a.tsv", '\t'), ("a.edges.gz", '\t'), ("a.csv.zst", ',')]
        {
            in_folder(name, |path| {
                write_graph(&graph, path, None).unwrap();
                assert_eq!(text_edges(path, separator), edges_of(&graph), "{name}");
            });
        }
    }
}

#[test]
fn text_has_headers_where_the_format_has_them() {
    let first_line = |name: &str, graph: &Graph| {
        in_folder(name, |path| {
            write_graph(graph, path, None).unwrap();
            unpacked(path).lines().next().unwrap().to_owned()
        })
    };
    assert_eq!(first_line("a.csv", &small_graph()), "src,dst");
    assert_eq!(first_line("a.tsv", &named_graph(integers())), "src\tdst\tweight");
    assert_eq!(first_line("a.txt", &small_graph()), "# nodes: 300");
}

#[test]
fn parquet_tables_come_back() {
    for graph in [small_graph(), named_graph(integers()), named_graph(strings())] {
        let found = in_folder("a.parquet", |path| {
            write_graph(&graph, path, None).unwrap();
            parquet_edges(path)
        });
        assert_eq!(found, edges_of(&graph));
    }
}

fn parquet_edges(path: &Path) -> Vec<Edge> {
    use parquet::file::reader::FileReader;
    use parquet::file::serialized_reader::SerializedFileReader;
    use parquet::record::Field;

    let text = |field: &Field| match field {
        Field::Long(id) => id.to_string(),
        Field::Str(id) => id.clone(),
        other => panic!("{other:?}"),
    };
    let file = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let rows = file.get_row_iter(None).unwrap().map(Result::unwrap);
    let edge = |row: parquet::record::Row| {
        let columns: Vec<(&String, &Field)> = row.get_column_iter().collect();
        let named = |index: usize, name: &str| {
            assert_eq!(columns[index].0, name);
            columns[index].1
        };
        let weight = match columns.len() {
            2 => 1.0,
            _ => match named(2, "weight") {
                Field::Float(weight) => *weight,
                other => panic!("{other:?}"),
            },
        };
        (text(named(0, "src")), text(named(1, "dst")), weight)
    };
    rows.map(edge).collect()
}

/// The shape of an array of integers, and its values.
fn integers_of(path: &Path) -> (Vec<usize>, Vec<u64>) {
    let reader = l2g_graph::npy::open(path).unwrap();
    (reader.header().shape.clone(), reader.integers().unwrap())
}

#[test]
fn edge_indices_come_back() {
    let graph = small_graph();
    let unweighted = named_graph(integers()).with_weights(None).unwrap();
    for graph in [graph, unweighted] {
        in_folder("a.npy", |path| {
            write_graph(&graph, path, None).unwrap();
            let (shape, values) = integers_of(path);
            assert_eq!(shape, [graph.num_edges(), 2]);
            let pairs = values.chunks(2).map(|pair| (pair[0].to_string(), pair[1].to_string(), 1.0));
            assert!(pairs.eq(edges_of(&graph)));
        });
    }
}

#[test]
fn two_edges_are_written_as_readers_take_them() {
    let edges = EdgeList::from_pairs(vec![[0_u32, 1], [2, 3]]);
    let graph = build(edges, 4, &BuildOptions::default()).graph;
    in_folder("a.npy", |path| {
        write_graph(&graph, path, None).unwrap();
        assert_eq!(integers_of(path), (vec![2, 2], vec![0, 2, 1, 3]));
    });
}

#[test]
fn benchmark_archives_come_back_with_all_that_belongs_to_the_nodes() {
    let graph = small_graph();
    let mut archive = in_folder("a.npz", |path| {
        write_graph(&graph, path, None).unwrap();
        Archive::open(path)
    });
    assert_eq!(archive.entries("adj_"), adjacency(&graph));
    let Some(Features::Sparse(features)) = graph.features() else { panic!("features are sparse") };
    assert_eq!(archive.integers("attr_indptr"), features.offsets());
    assert!(
        archive.integers("attr_indices").iter().eq(&features
            .columns()
            .iter()
            .map(|&c| u64::from(c))
            .collect::<Vec<_>>())
    );
    assert_eq!(archive.floats("attr_data"), features.values());
    assert_eq!(archive.integers("labels").len(), 300);
    assert!(!archive.has("node_names") && !archive.has("class_names"));
}

#[test]
fn archives_keep_names_and_dense_features() {
    let dense =
        DenseFeatures::new(4, 2, (0..8).map(|value| value as f32).collect::<Vec<_>>().into()).unwrap();
    let labels = Labels::multi(vec![1, 0, 1, 1, 0, 0, 0, 1].into(), 2, vec!["tea".into(), "café".into()]);
    let graph = named_graph(strings()).with_features(Some(Features::Dense(dense))).unwrap();
    let graph = graph.with_labels(Some(labels)).unwrap();
    let mut archive = in_folder("a.npz", |path| {
        write_graph(&graph, path, None).unwrap();
        Archive::open(path)
    });
    assert_eq!(archive.entries("adj_"), adjacency(&graph));
    assert_eq!(archive.floats("attr_matrix"), (0..8).map(|value| value as f32).collect::<Vec<_>>());
    assert_eq!(archive.integers("labels"), [1, 0, 1, 1, 0, 0, 0, 1]);
    assert_eq!(archive.reader("class_names").strings().unwrap(), ["tea", "café"]);
    assert_eq!(archive.reader("node_names").strings().unwrap(), ["Miller, Ann", "#1", "say \"hi\"", "żółw"]);
}

#[test]
fn sparse_matrices_for_scipy_come_back() {
    for graph in [small_graph(), named_graph(integers())] {
        let mut archive = in_folder("a.npz", |path| {
            write_graph(&graph, path, Some(OutputFormat::ScipyNpz)).unwrap();
            Archive::open(path)
        });
        assert_eq!(archive.entries(""), adjacency(&graph));
        assert_eq!(archive.reader("format").strings().unwrap(), ["csr"]);
        assert_eq!(archive.has("node_names"), matches!(graph.ids(), NodeIds::Integers(_)));
    }
}

#[test]
fn matrix_market_files_list_the_lower_half() {
    for graph in [small_graph(), named_graph(NodeIds::Range(4))] {
        let text = in_folder("a.mtx", |path| {
            write_graph(&graph, path, None).unwrap();
            fs::read_to_string(path).unwrap()
        });
        let mut lines = text.lines();
        let values = if graph.weights().is_some() { "real" } else { "pattern" };
        let banner = format!("%%MatrixMarket matrix coordinate {values} symmetric");
        assert_eq!(lines.next(), Some(&banner[..]));
        let size: Vec<usize> = lines.next().unwrap().split_whitespace().map(|n| n.parse().unwrap()).collect();
        assert_eq!(size, [graph.num_nodes(), graph.num_nodes(), graph.num_edges()]);
        let one_less = |id: &str| (id.parse::<u64>().unwrap() - 1).to_string();
        let edges: Vec<Edge> = lines
            .map(|line| match line.split(' ').collect::<Vec<_>>()[..] {
                [row, column] => (one_less(column), one_less(row), 1.0),
                [row, column, value] => (one_less(column), one_less(row), value.parse().unwrap()),
                _ => panic!("{line}"),
            })
            .collect();
        assert_eq!(edges, edges_of(&graph));
    }
}

#[test]
fn a_directed_graph_keeps_its_directions() {
    let edges = EdgeList::from_pairs(vec![[2_u32, 0], [0, 1], [1, 0]]);
    let options = BuildOptions { symmetrise: false, ..Default::default() };
    let graph = build(edges, 3, &options).graph;
    in_folder("a.csv", |path| {
        write_graph(&graph, path, None).unwrap();
        assert_eq!(fs::read_to_string(path).unwrap(), "src,dst\n0,1\n1,0\n2,0\n");
    });
    in_folder("a.mtx", |path| {
        write_graph(&graph, path, None).unwrap();
        let text = fs::read_to_string(path).unwrap();
        assert!(text.starts_with("%%MatrixMarket matrix coordinate pattern general\n3 3 3 "), "{text}");
        assert!(text.ends_with("\n1 2\n2 1\n3 1\n"), "{text}");
    });
}

#[test]
fn what_a_format_cannot_hold_is_refused_and_leaves_no_file() {
    let refused = |graph: &Graph, name: &str| {
        in_folder(name, |path| {
            let message = write_graph(graph, path, None).unwrap_err().to_string();
            assert!(!path.exists());
            message.replace(&path.display().to_string(), name)
        })
    };
    assert_eq!(
        refused(&named_graph(strings()).with_weights(None).unwrap(), "a.npy"),
        "cannot write `a.npy`: nodes are named by strings, which an edge index cannot hold"
    );
    assert_eq!(
        refused(&named_graph(integers()), "a.npy"),
        "cannot write `a.npy`: an edge index cannot hold weights"
    );
    assert!(refused(&named_graph(integers()), "a.mtx").contains("names of their own"));
    assert_eq!(
        refused(&small_graph(), "a.npz.gz"),
        "cannot write `a.npz.gz`: only text is packed as .gz or .zst"
    );
    assert!(refused(&small_graph(), "a.docx").starts_with("cannot tell the format of `a.docx`"));
    let broken = NodeIds::Strings(["a", "b\nc", "d", "e"].into_iter().collect());
    assert!(refused(&named_graph(broken), "a.csv").ends_with("has a line break, which text cannot hold"));
}

#[test]
fn features_have_files_of_their_own() {
    let graph = small_graph();
    let features = graph.features().unwrap();
    let Features::Sparse(sparse) = features else { panic!("features are sparse") };
    let mut archive = in_folder("x.npz", |path| {
        write_features(features, path).unwrap();
        Archive::open(path)
    });
    assert_eq!(archive.integers("shape"), [300, 500]);
    assert_eq!(archive.integers("indptr"), sparse.offsets());
    let array = in_folder("x.npy", |path| {
        write_features(features, path).unwrap();
        l2g_graph::npy::read::<f32>(path).unwrap()
    });
    assert_eq!(array.shape, [300, 500]);
    assert_eq!(array.values.iter().filter(|&&value| value == 1.0).count(), sparse.values().len());

    let dense = Features::Dense(DenseFeatures::new(300, 500, array.values.clone()).unwrap());
    let mut again = in_folder("x.npz", |path| {
        write_features(&dense, path).unwrap();
        Archive::open(path)
    });
    assert_eq!(again.entries(""), archive.entries(""));
    in_folder("x.csv", |path| assert!(write_features(features, path).is_err()));
}

/// Every way to write a synthetic graph, and what it is called.
fn synthetic_outputs(folder: &Path) -> Vec<Outputs> {
    let names = ["g.txt", "g.csv", "g.tsv.gz", "g.txt.zst", "g.parquet", "g.npy", "g.npz", "g.mtx"];
    let with_extras = |name: &&str| Outputs {
        parts: None,
        graph: folder.join(name),
        format: None,
        features: Some(folder.join(format!("{name}.x.npz"))),
        labels: Some(folder.join(format!("{name}.y.csv"))),
    };
    let scipy = Outputs {
        parts: None,
        graph: folder.join("scipy.npz"),
        format: Some(OutputFormat::ScipyNpz),
        ..with_extras(&"scipy")
    };
    names.iter().map(with_extras).chain([scipy]).collect()
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_any_number_of_threads() {
    let model = BlockModel {
        nodes: 30_000,
        communities: 5,
        mean_degree: 15.0,
        features: Some(ClassFeatures::default()),
        ..Default::default()
    };
    let files_on = |num_threads: usize| -> Vec<(PathBuf, Vec<u8>)> {
        let folder = tempfile::tempdir().unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(num_threads).build().unwrap();
        let outputs = synthetic_outputs(folder.path());
        let synthetic = model.prepare(Seed(5)).unwrap();
        let write = |outputs: &Outputs| synthetic.write(outputs, &Silent).unwrap().files;
        let files: Vec<PathBuf> = pool.install(|| outputs.iter().flat_map(write).collect());
        assert_eq!(files.len(), 27);
        files.into_iter().map(|file| (file.file_name().unwrap().into(), fs::read(file).unwrap())).collect()
    };
    for ((name, bytes), (_, again)) in files_on(1).into_iter().zip(files_on(2)) {
        assert!(bytes == again, "{}", name.display());
    }
}

#[test]
fn a_streamed_graph_is_the_one_in_memory() {
    let settings = Rmat { nodes: 1 << 12, edges: 1 << 15, ..Default::default() };
    let graph = generate(&settings, Seed(8)).unwrap();
    in_folder("g.csv", |path| {
        let outputs = Outputs { graph: path.to_owned(), ..Default::default() };
        let written = settings.prepare(Seed(8)).unwrap().write(&outputs, &Silent).unwrap();
        assert_eq!((written.nodes, written.edges), (graph.num_nodes(), graph.num_edges()));
        assert_eq!(text_edges(path, ','), edges_of(&graph));
    });
}

#[test]
fn features_and_labels_need_a_place() {
    let ring = RingOfCliques { features: Some(ClassFeatures::default()), ..Default::default() };
    in_folder("g.csv", |path| {
        let outputs = Outputs { graph: path.to_owned(), ..Default::default() };
        let error = ring.prepare(Seed(0)).unwrap().write(&outputs, &Silent).unwrap_err().to_string();
        assert!(error.ends_with("cannot hold features, and no file is named for them"), "{error}");
        let outputs = Outputs { labels: Some(path.with_file_name("y.csv")), ..outputs };
        let error =
            Rmat::default().prepare(Seed(0)).unwrap().write(&outputs, &Silent).unwrap_err().to_string();
        assert!(error.ends_with("the graph has no labels"), "{error}");
    });
}

/// Asks to stop at once.
struct Impatient;

impl Progress for Impatient {
    fn is_cancelled(&self) -> bool {
        true
    }
}

#[test]
fn stopping_leaves_no_file() {
    in_folder("g.npz", |path| {
        let outputs = Outputs { graph: path.to_owned(), ..Default::default() };
        let error = Rmat::default().prepare(Seed(0)).unwrap().write(&outputs, &Impatient).unwrap_err();
        assert!(error.to_string().ends_with("stopped on request"));
        assert!(!path.exists());
    });
}
