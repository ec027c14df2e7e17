"""Graphs of any kind -> `Graph`.

What something is, its methods tell: none of the packages it may come from is imported.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Optional, Union

import numpy as np
from numpy.typing import NDArray

from . import _native
from .arrays import features_of, integers_of, labels_of, to_numpy, weights_of
from .errors import Local2GlobalWarning, ReadError
from .graph import Graph
from .progress import Progress, reporting
from .settings import make_settings, threads_of

__all__ = ["as_graph", "read_graph"]


@dataclass
class _Edges:
    """Edges between rows or integer ids, and what comes with them."""

    sources: NDArray[np.uint64]
    targets: NDArray[np.uint64]
    weights: Any = None
    num_nodes: Optional[int] = None
    nodes: Optional[Sequence[Any]] = None
    """The caller's nodes in order, if edges are between rows."""
    features: Any = None
    labels: Any = None


@dataclass
class _Table:
    """A table of edges that speaks Arrow."""

    table: Any
    features: Any = None
    labels: Any = None


def read_graph(
    graph: Any,
    features: Any = None,
    labels: Any = None,
    *,
    data_dir: Union[str, PathLike[str], None] = None,
    random_state: Optional[int] = 0,
    threads: Optional[int] = None,
    progress: Progress = None,
    **options: Any,
) -> Graph:
    """Read a graph, clean it, and keep its largest component (or all).

    Parameters
    ----------
    graph
        A path (of a file, of a folder, or a pattern such as `"edges/part-*.parquet"`), a list of
        paths, or the name of a data set (`"cora"` is built in; others are looked for in
        `data_dir` or `$L2G_DATA`); a NumPy edge index (2 x E or E x 2) or a list of pairs; a
        SciPy sparse matrix; a NetworkX graph; a pandas, polars, pyarrow or other Arrow table
        with the columns `src`, `dst` and perhaps `weight`; a PyTorch Geometric `Data`; a DGL
        graph.
    features
        One row per node in the order of the caller's nodes: an array, a SciPy sparse matrix,
        or a path. They are not copied if they are float32 in C order; do not change them.
    labels
        One class per node in the same order, as integers (-1 if it is not known) or as text
        (None if it is not known; a pandas or polars Series will do, its index is not looked
        at), or rows of zeros and ones, or a path. Names of classes are in `label_names`.
    data_dir
        Where named data sets lie.
    random_state
        The seed that edges are held out with, if `hold_out` says so.
    threads
        How many threads to use; all cores by default. Never changes a result.
    progress
        See `local2global.progress`.
    **options
        The settings of the table `[graph]`: `component="all"`, `symmetrise=False`,
        `self_loops=True`, `duplicates="sum"`, `hold_out=0.1` (a share of the edges, for link
        prediction) and so on.

    Examples
    --------
    >>> import numpy as np
    >>> import local2global as l2g
    >>> l2g.read_graph(np.array([[0, 1, 2, 9], [1, 2, 9, 0]])).nodes
    array([0, 1, 2, 9])
    >>> l2g.read_graph([("ann", "bob"), ("bob", "eve")]).nodes.tolist()
    ['ann', 'bob', 'eve']

    """
    paths = {
        key: value
        for key, value in (("features", features), ("labels", labels))
        if isinstance(value, (str, PathLike))
    }
    settings = make_settings({"graph": options}, {"graph": paths}, random_state=random_state)
    threads = threads_of(threads)
    for what, value in (("graph", graph), ("features", features), ("labels", labels)):
        _refuse_kinds(value, what)
    features = None if "features" in paths else features
    labels = None if "labels" in paths else labels
    with reporting(progress) as report:
        names = paths_of(graph)
        if names is not None:
            if features is not None or labels is not None:
                raise TypeError("features and labels of a file are files too: give their paths")
            folders = _data_folders(data_dir)
            native = _native.Graph.open(names, settings, folders, threads, report)
            return Graph(native)
        parts = _parts_of(graph)
        parts.features = parts.features if features is None else features
        parts.labels = parts.labels if labels is None else labels
        made = _build(parts, settings, threads, report)
    _warn_of_missing(made)
    return made


def as_graph(graph: Any, **options: Any) -> Graph:
    """Give the graph itself, or read it."""
    threads_of(options.get("threads"))
    if not isinstance(graph, Graph):
        return read_graph(graph, **options)
    if options.get("features") is not None or options.get("labels") is not None:
        raise TypeError("this graph has been read already; give features and labels to read_graph")
    return graph


def _refuse_kinds(value: Any, what: str) -> None:
    """Refuse what looks like a table or an array, and is none."""
    if hasattr(value, "collect") and hasattr(value, "collect_schema"):
        raise TypeError(f"{what} is a LazyFrame, which has no rows yet; give {what}.collect()")
    if isinstance(value, np.matrix):
        raise TypeError(f"{what} is a numpy.matrix; it must be an array: np.asarray({what})")
    if what == "graph" and hasattr(value, "to_frame") and not hasattr(value, "columns"):
        raise TypeError(
            f"{what} is a {type(value).__name__}, which is one column; it must be an edge table "
            "with the columns src and dst"
        )


def paths_of(graph: Any) -> Optional[list[str]]:
    """Give the paths that name a graph, or nothing if it is something else."""
    names = [graph] if isinstance(graph, (str, PathLike)) else graph
    if not isinstance(names, (list, tuple)) or not names:
        return None
    if not all(isinstance(name, (str, PathLike)) for name in names):
        return None
    return [os.fsdecode(name) for name in names]


def _data_folders(data_dir: Union[str, PathLike[str], None]) -> list[Union[str, PathLike[str]]]:
    folders = [folder for folder in (data_dir, os.environ.get("L2G_DATA")) if folder]
    return folders or ["."]


def _build(
    parts: Union[_Edges, _Table], settings: _native.Settings, threads: Optional[int], report: Any
) -> Graph:
    features, labels = features_of(parts.features), labels_of(parts.labels)
    table = parts.table if isinstance(parts, _Table) else None
    in_order = features is not None or labels is not None
    if in_order and hasattr(table, "columns") and hasattr(table, "__getitem__"):
        # Rows of features follow the nodes in the order in which the rows of the table name them.
        parts = _from_columns(table)
    if isinstance(parts, _Table):
        try:
            return Graph(
                _native.Graph.from_table(parts.table, features, labels, settings, threads, report)
            )
        except ImportError:
            # pandas speaks Arrow only where pyarrow is installed.
            parts = _from_columns(parts.table)
    caller: Optional[Sequence[Any]] = parts.nodes
    if caller is None and parts.num_nodes is not None:
        caller = range(parts.num_nodes)
    rows_of_features = None if features is None else _num_rows(features)
    rows_of_labels = None if labels is None else len(labels[0])
    _check_counts(parts, caller, {"features": rows_of_features, "labels": rows_of_labels})
    ids = _plain_ids(parts.nodes)
    native = _native.Graph.from_edges(
        parts.sources,
        parts.targets,
        weights_of(parts.weights),
        None if caller is None else len(caller),
        ids,
        features,
        labels,
        settings,
        threads,
        report,
    )
    return Graph(native, caller, by_row=parts.nodes is not None and ids is None)


def _num_rows(features: Any) -> int:
    return len(features[0]) - 1 if isinstance(features, tuple) else len(features)


def _check_counts(
    parts: _Edges, caller: Optional[Sequence[Any]], counts: dict[str, Optional[int]]
) -> None:
    """Check that features and labels have a row for each node."""
    given = {what: count for what, count in counts.items() if count is not None}
    largest = max(
        (int(ends.max()) for ends in (parts.sources, parts.targets) if ends.size), default=0
    )
    for what, count in given.items():
        if caller is not None and count != len(caller):
            raise ReadError(f"{what} have {count} rows, but the graph has {len(caller)} nodes")
        if count <= largest:
            raise ReadError(f"{what} have {count} rows, but an edge names node {largest}")
    if len(set(given.values())) > 1:
        raise ReadError(
            f"features have {given['features']} rows, but labels have {given['labels']}"
        )


def _plain_ids(nodes: Optional[Sequence[Any]]) -> Union[NDArray[np.uint64], list[str], None]:
    """Give nodes that the run folder can name: all text, or all numbers from 0 on."""
    if nodes is None:
        return None
    if all(type(node) is str for node in nodes):
        return list(nodes)
    if all(type(node) is int and 0 <= node < 2**64 for node in nodes):
        return np.array(nodes, dtype=np.uint64)
    return None


def _warn_of_missing(graph: Graph) -> None:
    dropped = graph.summary["dropped"]["nodes"]
    if dropped:
        warnings.warn(
            f"{dropped} of {graph.num_nodes + dropped} nodes lie outside the largest component "
            "and are left out; `nodes` says which are kept, `component='all'` keeps all (joined "
            "by `patch.bridge`)",
            Local2GlobalWarning,
            stacklevel=3,
        )


def _parts_of(graph: Any) -> Union[_Edges, _Table]:
    if hasattr(graph, "edge_index_dict"):
        raise TypeError("graph has several types of nodes or edges; make it homogeneous first")
    if hasattr(graph, "edge_index"):
        return _from_pyg(graph)
    if hasattr(graph, "ndata") and callable(getattr(graph, "edges", None)):
        return _from_dgl(graph)
    if hasattr(graph, "is_multigraph") and hasattr(graph, "adj"):
        return _from_networkx(graph)
    if hasattr(graph, "tocoo") and hasattr(graph, "shape"):
        return _from_scipy(graph)
    if hasattr(graph, "__arrow_c_stream__"):
        return _Table(graph)
    if hasattr(graph, "columns") and hasattr(graph, "__getitem__"):
        return _from_columns(graph)
    return _from_pairs(graph)


def _from_pyg(data: Any) -> _Edges:
    edges = _from_pairs(data.edge_index)
    edges.weights = getattr(data, "edge_weight", None)
    edges.features = getattr(data, "x", None)
    num_nodes = getattr(data, "num_nodes", None)
    edges.num_nodes = None if num_nodes is None else int(num_nodes)
    edges.labels = _classes(getattr(data, "y", None), edges.num_nodes)
    return edges


def _classes(labels: Any, num_nodes: Optional[int]) -> Any:
    """Give labels if they are classes of nodes; data sets carry other targets too."""
    if labels is None:
        return None
    array = to_numpy(labels)
    is_per_node = array.ndim > 0 and array.shape[0] == num_nodes
    return array if is_per_node and array.dtype.kind in "iub" else None


def _from_dgl(graph: Any) -> _Edges:
    if not getattr(graph, "is_homogeneous", True):
        raise TypeError("graph has several types of nodes or edges; make it homogeneous first")
    sources, targets = graph.edges()
    num_nodes = int(graph.num_nodes())
    return _Edges(
        integers_of(sources, "node ids"),
        integers_of(targets, "node ids"),
        num_nodes=num_nodes,
        features=graph.ndata.get("feat"),
        labels=_classes(graph.ndata.get("label"), num_nodes),
    )


def _from_networkx(graph: Any) -> _Edges:
    nodes = list(graph.nodes)
    rows = {node: row for row, node in enumerate(nodes)}
    triples = list(graph.edges(data="weight"))
    sources = np.fromiter((rows[edge[0]] for edge in triples), np.uint64, len(triples))
    targets = np.fromiter((rows[edge[1]] for edge in triples), np.uint64, len(triples))
    weights = None
    if any(edge[2] is not None for edge in triples):
        values = (1.0 if edge[2] is None else edge[2] for edge in triples)
        weights = np.fromiter(values, np.float32, len(triples))
    return _Edges(sources, targets, weights, nodes=nodes)


def _from_scipy(matrix: Any) -> _Edges:
    rows, columns = matrix.shape
    if rows != columns:
        raise ValueError(f"adjacency matrix is {rows} x {columns}; it must be square")
    entries = matrix.tocoo()
    return _Edges(
        integers_of(entries.row, "rows"),
        integers_of(entries.col, "columns"),
        None if entries.dtype == bool else entries.data,
        num_nodes=int(rows),
    )


def _from_columns(table: Any) -> _Edges:
    """Give the edges of a table whose columns can be taken by name."""
    names = [str(name) for name in getattr(table, "column_names", table.columns)]
    column = {
        key: next((name for name in names if name.lower() in known), None)
        for key, known in _COLUMN_NAMES.items()
    }
    if column["src"] is None or column["dst"] is None:
        raise ValueError(f"edge table has the columns {', '.join(names)}; it needs src and dst")
    edges = _numbered(to_numpy(table[column["src"]]), to_numpy(table[column["dst"]]))
    if column["weight"] is not None:
        edges.weights = to_numpy(table[column["weight"]])
    return edges


_COLUMN_NAMES = {
    "src": ["src", "source", "from", "fromnodeid", "u", "node1", "id1", "head", "sourcenodeid"],
    "dst": ["dst", "target", "to", "tonodeid", "v", "node2", "id2", "tail", "targetnodeid", "dest"],
    "weight": ["weight", "w", "value"],
}


def _from_pairs(pairs: Any) -> _Edges:
    """Give the edges of an edge index, 2 x E or E x 2; 2 x 2 is taken as 2 x E."""
    is_array = hasattr(pairs, "shape")
    if not is_array and isinstance(pairs, Iterable):
        pairs = list(pairs)
        edges = _from_tuples(pairs)
        if edges is not None:
            return edges
    array = to_numpy(pairs if is_array or not isinstance(pairs, Iterable) else list(pairs))
    if array.ndim != 2 or 2 not in array.shape:
        raise TypeError(
            f"cannot read a graph from a {type(pairs).__name__} of shape {array.shape}; needed "
            "a path, an edge index (2 x E or E x 2), a SciPy sparse matrix, a NetworkX graph, an "
            "edge table, or a graph of PyTorch Geometric or DGL"
        )
    # A list of pairs is E x 2 even if there are two of them.
    by_row = array.shape[0] == 2 and (is_array or array.shape[1] != 2)
    return _numbered(*(array if by_row else array.T))


def _from_tuples(pairs: list[Any]) -> Optional[_Edges]:
    """Give the edges of a list of pairs, or of pairs with a weight; nothing if it is none.

    Ids stay what they are: an array would make one type of all, and merge some of them.
    """
    sizes = {len(pair) if isinstance(pair, (tuple, list)) else 0 for pair in pairs}
    is_index = len(pairs) == 2 and all(isinstance(row, list) for row in pairs) and sizes != {2}
    if len(sizes) != 1 or not sizes <= {2, 3} or is_index:
        return None
    ends = [end for pair in pairs for end in pair[:2]]
    if any(isinstance(end, (tuple, list, np.ndarray)) for end in ends):
        return None
    if all(isinstance(end, (int, np.integer)) and not isinstance(end, bool) for end in ends):
        lowest = min(ends)
        if lowest < 0:
            raise ValueError(f"node ids include {lowest}; they must not be negative")
        columns = np.array(ends, dtype=np.uint64).reshape(-1, 2).T.copy()
        edges = _Edges(columns[0], columns[1])
    else:
        # 1, 1.0 and True are one key of a dictionary, and may be one node; "1" is another.
        rows: dict[Any, int] = {}
        numbers = [rows.setdefault(end, len(rows)) for end in ends]
        _check_names(rows)
        columns = np.array(numbers, dtype=np.uint64).reshape(-1, 2).T.copy()
        edges = _Edges(columns[0], columns[1], nodes=list(rows))
    if sizes == {3}:
        edges.weights = np.array([pair[2] for pair in pairs], dtype=np.float32)
    return edges


def _check_names(names: Iterable[Any]) -> None:
    """Refuse NaN, which stands for a missing id and is not equal to itself."""
    if any(name != name for name in names):
        raise ValueError("node ids include NaN; every edge needs two nodes")


def _numbered(sources: NDArray[Any], targets: NDArray[Any]) -> _Edges:
    """Give integer ids as they are, and other names by first appearance."""
    if sources.dtype.kind in "iu" and targets.dtype.kind in "iu":
        return _Edges(integers_of(sources, "node ids"), integers_of(targets, "node ids"))
    rows: dict[Any, int] = {}
    pairs = zip(sources.tolist(), targets.tolist())
    numbers = [rows.setdefault(name, len(rows)) for pair in pairs for name in pair]
    _check_names(rows)
    ends = np.array(numbers, dtype=np.uint64).reshape(-1, 2)
    columns = np.ascontiguousarray(ends.T)
    return _Edges(columns[0], columns[1], nodes=list(rows))
