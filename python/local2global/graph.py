"""A graph as the stages take it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from os import PathLike
from typing import Any, Optional, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from .arrays import integers_of

__all__ = ["Graph"]


class Graph:
    """A cleaned graph, with the caller's names for its nodes.

    Made by `read_graph`; rows of all arrays are the nodes, in the order of the caller.

    A pickle holds all of it, also of a graph that is mapped from a run folder: whoever loads
    it needs no file. To send a large graph by its path, send the path, and open it there.

    >>> import local2global as l2g
    >>> graph = l2g.read_graph("cora")
    >>> graph
    Graph(2485 nodes, 5069 edges, 1433 features)
    >>> graph.edge_index.shape
    (2, 10138)
    """

    def __init__(
        self,
        native: _native.Graph,
        caller: Optional[Sequence[Any]] = None,
        by_row: bool = False,
    ) -> None:
        self.native = native
        self._caller = caller
        # Whether the engine knows nodes by their place in `caller` only.
        self._by_row = by_row

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be worked out again."""
        return {name: vars(self)[name] for name in ("native", "_caller", "_by_row")}

    @classmethod
    def stored(cls, run_dir: Union[str, PathLike[str]]) -> Graph:
        """Open the graph of a run folder; its arrays are mapped, not read."""
        return cls(_native.RunFolder(run_dir).graph())

    @property
    def num_nodes(self) -> int:
        """The number of nodes."""
        return self.native.num_nodes

    @property
    def num_edges(self) -> int:
        """The number of edges; an undirected one counts once."""
        return self.native.num_edges

    @property
    def summary(self) -> dict[str, Any]:
        """Counts, of the graph and of what was left out of the input."""
        return self.native.summary

    @cached_property
    def nodes(self) -> NDArray[Any]:
        """The caller's names of the nodes, row by row."""
        ids = self.native.ids
        if isinstance(ids, list):
            return object_array(ids)
        if self._caller is not None and self._by_row:
            return object_array([self._caller[row] for row in ids])
        return ids.astype(np.int64) if ids.size == 0 or ids.max() < 2**63 else ids

    def rows_of_caller(self, values: NDArray[Any], what: str) -> NDArray[Any]:
        """Give, of values for all nodes of the caller, those of the nodes that were kept."""
        if len(values) == self.num_nodes:
            return values
        if self._caller is None or len(values) != len(self._caller):
            known = self.num_nodes if self._caller is None else len(self._caller)
            raise ValueError(f"{what} has {len(values)} entries, but the graph has {known} nodes")
        if self._by_row:
            return values[np.asarray(self.native.ids, dtype=np.int64)]
        places = {name: place for place, name in enumerate(self._caller)}
        return values[[places[name] for name in self.nodes.tolist()]]

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {node: place for place, node in enumerate(self.nodes.tolist())}

    def has_node(self, node: Any) -> bool:
        """Whether the caller calls a node so."""
        try:
            return node in self._places
        except TypeError:  # Lists and arrays are no names.
            return False

    def rows_of(self, nodes: Iterable[Any]) -> NDArray[np.int64]:
        """Give the rows of some nodes, by the caller's names."""
        names = list(nodes)
        unknown = next((node for node in names if not self.has_node(node)), None)
        if unknown is not None:
            raise KeyError(
                f"{unknown!r} is no node of this graph; nodes are such as {self.nodes[:1].tolist()}"
            )
        return np.array([self._places[node] for node in names], dtype=np.int64)

    @cached_property
    def edge_index(self) -> NDArray[np.int64]:
        """The ends of all edges, 2 x E; an undirected edge stands there both ways."""
        degrees = np.diff(self.native.indptr)
        return np.stack([np.repeat(np.arange(self.num_nodes), degrees), self.native.indices])

    @cached_property
    def edge_weight(self) -> Optional[NDArray[np.float32]]:
        """The weight of each column of `edge_index`; None if all are 1."""
        return self.native.weights

    @cached_property
    def features(self) -> Any:
        """The features: an array, a SciPy CSR array if they are sparse, or None."""
        features = self.native.features
        if isinstance(features, tuple):
            from scipy.sparse import csr_array

            indptr, indices, data, width = features
            return csr_array((data, indices, indptr), shape=(self.num_nodes, width))
        return features

    @cached_property
    def x(self) -> Optional[NDArray[np.float32]]:
        """The features as a full matrix, or None."""
        features = self.native.features
        if not isinstance(features, tuple):
            return features
        indptr, indices, data, width = features
        full = np.zeros((self.num_nodes, width), np.float32)
        full[np.repeat(np.arange(self.num_nodes), np.diff(indptr)), indices] = data
        return full

    @cached_property
    def labels(self) -> Optional[NDArray[Any]]:
        """The class of each node, -1 where it is not known, or None."""
        return self.native.labels

    @property
    def label_names(self) -> list[str]:
        """The names of the classes: `label_names[labels[row]]` is that of a row."""
        names: list[str] = self.summary["class_names"]
        return names

    def has_same_edges(self, other: Graph) -> bool:
        """Whether both have the same nodes in the same order, edges and weights."""
        mine, theirs = self.native, other.native
        one, two = mine.weights, theirs.weights
        same_weights = one is two if one is None or two is None else np.array_equal(one, two)
        return (
            same_weights
            and np.array_equal(mine.indptr, theirs.indptr)
            and np.array_equal(mine.indices, theirs.indices)
            and self.nodes.tolist() == other.nodes.tolist()
        )

    def adjacency(self) -> Any:
        """Give the adjacency matrix as a SciPy CSR array."""
        from scipy.sparse import csr_array

        weights = self.edge_weight
        if weights is None:
            weights = np.ones(self.native.indices.size, np.float32)
        shape = (self.num_nodes, self.num_nodes)
        return csr_array((weights, self.native.indices, self.native.indptr), shape=shape)

    def subgraph(self, rows: ArrayLike) -> Graph:
        """Give the graph that some rows induce; they must ascend."""
        native = self.native.subgraph(integers_of(rows, "rows"))
        return Graph(native, self._caller, self._by_row)

    def __repr__(self) -> str:
        summary = self.summary
        features = f", {summary['features']} features" if summary["features"] else ""
        return f"Graph({self.num_nodes} nodes, {self.num_edges} edges{features})"


def object_array(items: Sequence[Any]) -> NDArray[Any]:
    """Give an array of Python objects, however they look."""
    array = np.empty(len(items), dtype=object)
    for place, item in enumerate(items):
        array[place] = item
    return array
