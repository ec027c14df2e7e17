"""Patches of a graph: what `make_patches` gives, and what an embedder is given."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Optional, Union, overload

import numpy as np
from numpy.typing import NDArray

from . import _native
from .alignment import Patch
from .graph import Graph

__all__ = ["GraphPatch", "Patches"]


class GraphPatch(Patch):
    """A patch of a graph; what it knows of the graph is worked out when it is asked for.

    Rows of all arrays are the nodes of the patch, in the order of `nodes`.
    """

    def __init__(
        self,
        whole: Graph,
        index: int,
        nodes: NDArray[np.int64],
        weights: NDArray[np.float32],
        dim: int,
        seed: int,
    ) -> None:
        super().__init__(nodes, weights=weights)
        self._whole: Optional[Graph] = whole
        self.number = index
        """Its place among the patches."""
        self.name = _native.patch_name(index)
        """Its name in a run folder."""
        self.dim = dim
        """How many coordinates each node is to get."""
        self.seed = int(np.random.SeedSequence([seed, index]).generate_state(1)[0])
        """A seed of its own."""

    @cached_property
    def graph(self) -> Graph:
        """The graph that its nodes induce, numbered from 0."""
        assert self._whole is not None, "a patch from a pickle brings its own graph"
        return self._whole.subgraph(self.nodes)

    def __getstate__(self) -> dict[str, Any]:
        """Keep the graph of the patch, and leave the whole graph behind."""
        return {**vars(self), "_whole": None, "graph": self.graph}

    @property
    def edge_index(self) -> NDArray[np.int64]:
        """The ends of its edges, 2 x E, numbered from 0; undirected edges both ways."""
        return self.graph.edge_index

    @property
    def edge_weight(self) -> Optional[NDArray[np.float32]]:
        """The weight of each column of `edge_index`; None if all are 1."""
        return self.graph.edge_weight

    @property
    def x(self) -> Optional[NDArray[np.float32]]:
        """The features of its nodes as a full matrix; None if there are none."""
        return self.graph.x

    @property
    def num_nodes(self) -> int:
        """The number of nodes."""
        return len(self.nodes)

    def __repr__(self) -> str:
        return f"GraphPatch({self.name}, {self.num_nodes} nodes)"


class Patches(Sequence[GraphPatch]):
    """Overlapping patches that cover a graph, and which of them are joined."""

    def __init__(
        self,
        graph: Graph,
        nodes: Sequence[NDArray[np.int64]],
        weights: Sequence[NDArray[np.float32]],
        patch_edges: NDArray[np.int64],
        report: dict[str, Any],
        dim: int,
        seed: int,
    ) -> None:
        self.graph = graph
        """The whole graph."""
        self.patch_edges = patch_edges
        """The pairs of patches that are joined, one a row."""
        self.report = report
        """What the patches are like: sizes, overlaps, oversampling and so on."""
        self._dim, self._seed = dim, seed
        self._list = [
            GraphPatch(graph, index, part, share, dim, seed)
            for index, (part, share) in enumerate(zip(nodes, weights))
        ]

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep the whole graph once, and not the graph of each patch."""
        nodes = [patch.nodes for patch in self._list]
        weights = [patch.weights for patch in self._list]
        first = (self.graph, nodes, weights, self.patch_edges, self.report)
        return Patches, (*first, self._dim, self._seed)

    @overload
    def __getitem__(self, index: int) -> GraphPatch: ...
    @overload
    def __getitem__(self, index: slice) -> list[GraphPatch]: ...
    def __getitem__(self, index: Union[int, slice]) -> Union[GraphPatch, list[GraphPatch]]:
        return self._list[index]

    def __len__(self) -> int:
        return len(self._list)

    def __repr__(self) -> str:
        sizes = [patch.num_nodes for patch in self._list]
        return f"Patches({len(self)} of {min(sizes)} to {max(sizes)} nodes)"
