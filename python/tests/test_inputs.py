"""Every kind of graph is read, and gives the same graph."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import local2global as l2g

EDGES = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [3, 4], [4, 5]])


def csr() -> sp.csr_array:
    ones = np.ones(len(EDGES))
    return sp.csr_array((ones, (EDGES[:, 0], EDGES[:, 1])), shape=(6, 6))


def text_file(folder: Path) -> Path:
    file = folder / "edges.csv"
    file.write_text("src,dst\n" + "\n".join(f"{a},{b}" for a, b in EDGES))
    return file


def parts(folder: Path) -> list[Path]:
    """Give two files that are one graph."""
    files = [folder / "part-0.csv", folder / "part-1.csv"]
    for file, edges in zip(files, (EDGES[:2], EDGES[2:])):
        file.write_text("src,dst\n" + "\n".join(f"{a},{b}" for a, b in edges))
    return files


def same_graph(graph: l2g.Graph) -> bool:
    reference = l2g.read_graph(EDGES)
    return (
        np.array_equal(graph.edge_index, reference.edge_index)
        and graph.edge_weight is None
        and graph.nodes.tolist() == list(range(6))
    )


class Tensor:
    """As much of a tensor as is needed: PyTorch is no dependency, not even of the tests."""

    def __init__(self, values):
        self._values = np.asarray(values)

    def detach(self):
        return self

    def cpu(self):
        return self

    def __array__(self, dtype=None, copy=None):
        return self._values if dtype is None else self._values.astype(dtype)


class DglGraph:
    is_homogeneous = True

    def __init__(self, features):
        self.ndata = {"feat": Tensor(features), "label": Tensor([0, 1, 0, 1, 0, 1])}

    def edges(self):
        return Tensor(EDGES[:, 0]), Tensor(EDGES[:, 1])

    def num_nodes(self):
        return 6


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: EDGES,
        lambda folder: EDGES.T,
        lambda folder: EDGES.astype(np.int32),
        lambda folder: EDGES.astype(np.uint64).T,
        lambda folder: [tuple(edge) for edge in EDGES.tolist()],
        lambda folder: csr(),
        lambda folder: csr().tocsc(),
        lambda folder: csr().tocoo(),
        lambda folder: (csr() + csr().T).astype(bool),
        lambda folder: nx.Graph(EDGES.tolist()),
        lambda folder: nx.DiGraph(EDGES.tolist()),
        lambda folder: nx.MultiGraph(EDGES.tolist()),
        lambda folder: pd.DataFrame(EDGES, columns=["src", "dst"]),
        lambda folder: pl.DataFrame({"source": EDGES[:, 0], "target": EDGES[:, 1]}),
        lambda folder: pa.table({"src": EDGES[:, 0], "dst": EDGES[:, 1]}),
        lambda folder: pa.table({"src": EDGES[:, 0], "dst": EDGES[:, 1]}).to_reader(),
        lambda folder: SimpleNamespace(edge_index=Tensor(EDGES.T), num_nodes=6, x=None),
        lambda folder: DglGraph(np.eye(6)),
        lambda folder: str(text_file(folder)),
        lambda folder: text_file(folder),
    ],
)
def test_all_kinds_give_the_same_graph(make, tmp_path: Path):
    assert same_graph(l2g.read_graph(make(tmp_path)))


def names(number: int) -> str:
    return "fdabec"[number]


@pytest.mark.parametrize(
    "make",
    [
        lambda rows: pd.DataFrame(rows, columns=["src", "dst"]),
        lambda rows: pd.DataFrame(rows, columns=["src", "dst"]).astype("category"),
        lambda rows: pl.DataFrame({"src": [a for a, _ in rows], "dst": [b for _, b in rows]}),
        lambda rows: pa.table({"src": [a for a, _ in rows], "dst": [b for _, b in rows]}),
        lambda rows: rows,
        lambda rows: nx.Graph(rows),
    ],
)
def test_string_names_are_kept(make):
    rows = [(names(a), names(b)) for a, b in EDGES]
    graph = l2g.read_graph(make(rows))
    assert graph.nodes[0] == "f"
    found = {frozenset(pair) for pair in zip(*graph.nodes[graph.edge_index].tolist())}
    assert found == {frozenset(row) for row in rows}


def test_tables_without_arrow_are_read_by_column():
    class Columns(dict):
        columns = ("from", "to", "weight")

    class WithoutPyarrow(Columns):
        def __arrow_c_stream__(self, requested_schema=None):
            raise ImportError("pyarrow is not installed")

    for kind in (Columns, WithoutPyarrow):
        table = kind({"from": ["a", "b"], "to": ["b", "c"], "weight": [1.0, 2.5]})
        graph = l2g.read_graph(table)
        assert graph.nodes.tolist() == ["a", "b", "c"]
        assert graph.edge_weight.tolist() == [1.0, 1.0, 2.5, 2.5]


def test_networkx_order_isolated_nodes_and_any_objects_are_kept():
    graph = nx.Graph()
    graph.add_nodes_from([("z", 1), ("a", 2), "alone"])
    graph.add_edge(("a", 2), ("z", 1))
    graph.add_edge(("a", 2), ("b", 3))
    with pytest.warns(l2g.Local2GlobalWarning, match="1 of 4 nodes lie outside"):
        kept = l2g.read_graph(graph)
    assert kept.nodes.tolist() == [("z", 1), ("a", 2), ("b", 3)]
    everything = l2g.read_graph(graph, component="all")
    assert everything.nodes.tolist() == list(graph.nodes)


def test_weights_come_along():
    weights = [0.5, 1.0, 2.0, 1.0, 1.0, 4.0]
    graph = nx.Graph()
    graph.add_weighted_edges_from([(a, b, w) for (a, b), w in zip(EDGES.tolist(), weights)])
    matrix = sp.coo_array((weights, (EDGES[:, 0], EDGES[:, 1])), shape=(6, 6))
    table = pl.DataFrame({"src": EDGES[:, 0], "dst": EDGES[:, 1], "weight": weights})
    data = SimpleNamespace(edge_index=EDGES.T, edge_weight=np.array(weights), num_nodes=6)
    found = [
        l2g.read_graph(source).adjacency().toarray() for source in (graph, matrix, table, data)
    ]
    assert found[0][4, 5] == 4.0
    assert all(np.array_equal(other, found[0]) for other in found)


def test_features_and_labels_follow_the_nodes():
    features = np.arange(12, dtype=np.float32).reshape(6, 2)
    labels = [0, 1, 0, 1, 0, -1]
    graph = l2g.read_graph(EDGES, features, labels)
    assert np.array_equal(graph.x, features)
    assert np.array_equal(graph.features, features)
    assert graph.labels.tolist() == labels
    sparse = l2g.read_graph(EDGES, sp.csr_array(features))
    assert sp.issparse(sparse.features)
    assert np.array_equal(sparse.x, features)
    data = SimpleNamespace(edge_index=EDGES.T, num_nodes=6, x=features, y=np.array(labels))
    assert np.array_equal(l2g.read_graph(data).x, features)
    assert l2g.read_graph(data).labels.tolist() == labels
    assert np.array_equal(l2g.read_graph(DglGraph(features)).x, features)


@pytest.mark.parametrize(
    "kind",
    [list, np.array, pd.Series, pl.Series, pd.Categorical, lambda words: np.array(words, "O")],
)
def test_labels_may_be_words(kind):
    words = ["red", "10", "blue", "9", "red", "blue"]
    graph = l2g.read_graph(EDGES, labels=kind(words))
    assert graph.label_names == ["9", "10", "blue", "red"]
    assert [graph.label_names[number] for number in graph.labels] == words


def test_words_are_numbered_as_those_of_a_file(tmp_path: Path):
    words = ["red", "10", "blue", "9", "red", "blue"]
    (tmp_path / "labels.csv").write_text("".join(f"{k},{word}\n" for k, word in enumerate(words)))
    by_file = l2g.read_graph(EDGES, labels=tmp_path / "labels.csv")
    by_words = l2g.read_graph(EDGES, labels=words)
    assert by_file.label_names == by_words.label_names
    assert by_file.labels.tolist() == by_words.labels.tolist()


@pytest.mark.parametrize(
    "labels",
    [
        ["a", None, "b", "a", "a", "a"],
        pd.Series(["a", pd.NA, "b", "a", "a", "a"], dtype="string"),
        pd.Categorical(["a", None, "b", "a", "a", "a"]),
        pd.Series([0, None, 1, 0, 0, 0], dtype="Int64"),
        pl.Series([0, None, 1, 0, 0, 0]),
        pl.Series(["a", None, "b", "a", "a", "a"]),
    ],
)
def test_labels_may_be_missing(labels):
    assert l2g.read_graph(EDGES, labels=labels).labels.tolist() == [0, -1, 1, 0, 0, 0]


def test_words_are_kept_in_the_run_folder_and_in_the_scores(tmp_path: Path):
    ring = nx.cycle_graph(60)
    words = ["left" if node < 30 else "right" for node in ring]
    model = l2g.Local2Global(dim=2, patches=1, method="spectral", run_dir=tmp_path)
    model.fit(ring, labels=words)
    stored = l2g.Graph.stored(tmp_path)
    assert stored.label_names == ["left", "right"]
    assert [stored.label_names[number] for number in stored.labels] == words
    scores = l2g.evaluate(stored, model.embedding_, tasks=["classification"])
    assert scores["classification"]["classes"] == 2


def test_features_of_dropped_nodes_are_dropped():
    pairs = [(0, 1), (1, 2), (3, 4)]
    with pytest.warns(l2g.Local2GlobalWarning):
        graph = l2g.read_graph(nx.Graph(pairs), np.arange(5.0))
    assert graph.x.tolist() == [[0], [1], [2]]


def test_features_from_files(tmp_path: Path):
    np.save(tmp_path / "x.npy", np.eye(6))
    assert np.array_equal(l2g.read_graph(EDGES, tmp_path / "x.npy").x, np.eye(6))
    assert np.array_equal(l2g.read_graph(text_file(tmp_path), str(tmp_path / "x.npy")).x, np.eye(6))


def test_gaps_in_integer_ids_are_closed():
    graph = l2g.read_graph(np.array([[10, 20, 30], [20, 30, 10]]))
    assert graph.nodes.tolist() == [10, 20, 30]
    assert graph.nodes.dtype == np.int64


def test_large_ids_stay_what_they_are():
    graph = l2g.read_graph(np.array([[2**63 + 1, 5]], dtype=np.uint64).T.reshape(1, 2))
    assert graph.nodes.tolist() == [5, 2**63 + 1]


@pytest.mark.parametrize(
    "edges", [np.array([[0.0, np.nan], [1.0, 2.0]]), [(0, float("nan")), (1, 2)]]
)
def test_nan_is_not_a_node(edges: object):
    with pytest.raises(ValueError, match="node ids include NaN"):
        l2g.read_graph(edges)


def test_directed_graphs_stay_directed_on_request():
    graph = l2g.read_graph(EDGES, symmetrise=False)
    assert graph.edge_index.shape == (2, 6)


def test_the_run_folder_gives_the_graph_back(tmp_path: Path):
    rows = [(names(a), names(b)) for a, b in EDGES]
    model = l2g.Local2Global(dim=2, patches=1, method="spectral", run_dir=tmp_path / "run")
    model.fit(rows, features=np.eye(6))
    stored = l2g.Graph.stored(tmp_path / "run")
    assert stored.nodes.tolist() == model.nodes_.tolist()
    assert np.array_equal(stored.x, np.eye(6))


@pytest.mark.parametrize(
    ("source", "options", "error", "message"),
    [
        (np.ones((3, 3)), {}, TypeError, "cannot read a graph from a ndarray of shape"),
        (7, {}, TypeError, "cannot read a graph from a int"),
        (np.array([[0, -1], [1, 2]]), {}, ValueError, "node ids include -1"),
        (sp.csr_array((2, 3)), {}, ValueError, "adjacency matrix is 2 x 3"),
        (sp.csr_array((3, 3)), {}, l2g.ReadError, "found no edges"),
        (EDGES, {"features": np.eye(5)}, l2g.ReadError, "have 5 rows, but an edge names node 5"),
        (EDGES, {"labels": [0, 1]}, l2g.ReadError, "labels have 2 rows, but an edge names node 5"),
        (csr(), {"features": np.eye(7)}, l2g.ReadError, "have 7 rows, but the graph has 6 nodes"),
        (nx.path_graph(3), {"labels": [0]}, l2g.ReadError, "have 1 rows, but the graph has 3"),
        (
            EDGES,
            {"features": sp.csr_array(np.eye(6)), "labels": [0] * 7},
            l2g.ReadError,
            "features have 6 rows, but labels have 7",
        ),
        (EDGES, {"features": np.full((6, 1), np.nan)}, l2g.ReadError, "not finite"),
        (EDGES, {"features": np.array(["a"] * 6)}, TypeError, "must be numbers"),
        (EDGES, {"labels": np.ones(6)}, TypeError, "labels have type float64"),
        (EDGES, {"component": "biggest"}, l2g.ConfigError, "`biggest` is none of largest, all"),
        (EDGES, {"selfloops": True}, l2g.ConfigError, "did you mean `graph.self_loops`"),
        ("nowhere.csv", {}, l2g.ReadError, "nowhere.csv: file is not there"),
        ("cora", {"features": np.eye(3)}, TypeError, "give their paths"),
        (pd.DataFrame({"a": [1], "b": [2]}), {}, l2g.ReadError, "found no column `src` among a, b"),
        (pa.table({"src": [1], "dst": ["x"]}), {}, l2g.ReadError, "the same kind of ids"),
        (pa.table({"src": [1, None], "dst": [2, 3]}), {}, l2g.ReadError, "row 1 is empty"),
        (SimpleNamespace(edge_index_dict={}), {}, TypeError, "several types"),
        ([(0, 1, 2, 3)], {}, TypeError, "cannot read a graph"),
        (pl.LazyFrame({"src": [1], "dst": [2]}), {}, TypeError, r"give graph\.collect\(\)"),
        (EDGES, {"features": pl.LazyFrame({"x": [1]})}, TypeError, r"give features\.collect\(\)"),
        (pd.Series([1, 2]), {}, TypeError, "is a Series, which is one column; it must be an edge"),
        (pl.Series([1, 2]), {}, TypeError, "is a Series, which is one column; it must be an edge"),
        (np.matrix(EDGES), {}, TypeError, r"is a numpy\.matrix; it must be an array: np\.asarray"),
        (EDGES, {"features": np.matrix(np.eye(6))}, TypeError, "features is a numpy.matrix"),
        (EDGES, {"labels": np.array(["a", 1] * 3, object)}, TypeError, "all integers or all text"),
        (EDGES, {"labels": np.array([0.5] * 6, object)}, TypeError, "labels include a float"),
        (EDGES, {"threads": -1}, ValueError, "threads is -1; it must be from 1 to 1024, or None"),
        (EDGES, {"threads": 0}, ValueError, "threads is 0"),
        (EDGES, {"threads": True}, TypeError, "threads is a bool; it must be an integer"),
        (EDGES, {"threads": 2.0}, TypeError, "threads is a float; it must be an integer"),
    ],
)
def test_what_is_no_graph_is_refused(source, options, error, message):
    with pytest.raises(error, match=message):
        l2g.read_graph(source, **options)


def test_a_graph_that_was_read_takes_no_features(cora):
    with pytest.raises(TypeError, match="read already"):
        l2g.Local2Global().fit(cora, features=np.eye(3))


def test_several_files_a_folder_and_a_pattern_are_one_graph(tmp_path: Path) -> None:
    files = parts(tmp_path)
    assert same_graph(l2g.read_graph(files))
    assert same_graph(l2g.read_graph([str(file) for file in files]))
    assert same_graph(l2g.read_graph(tmp_path))
    assert same_graph(l2g.read_graph(str(tmp_path / "part-*.csv")))
    with pytest.raises(l2g.ReadError, match="no file matches"):
        l2g.read_graph(str(tmp_path / "none-*.csv"))
