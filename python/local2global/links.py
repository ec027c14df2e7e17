"""Edges of one graph as pairs of rows of another."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .graph import Graph

__all__ = ["pairs_among"]


def pairs_among(nodes: NDArray[Any], graph: Graph) -> NDArray[np.uint64]:
    """Give the edges of a graph that join two of `nodes`, as places in `nodes`, one a row.

    Nodes are the same if the caller calls them the same. Loops are left out, and an
    undirected edge is there once.
    """
    places = {node: place for place, node in enumerate(nodes.tolist())}
    known = np.array([places.get(node, -1) for node in graph.nodes.tolist()], dtype=np.int64)
    sources, targets = graph.edge_index
    kept = sources < targets if graph.native.is_symmetric else sources != targets
    pairs = known[np.stack([sources[kept], targets[kept]], axis=1)]
    found: NDArray[np.uint64] = pairs[(pairs >= 0).all(axis=1)].astype(np.uint64)
    return found
