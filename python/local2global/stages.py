"""The stages as functions, in the order of the data.

>>> import local2global as l2g
>>> graph = l2g.read_graph("cora")
>>> clusters = l2g.partition(graph, 10, dim=8)
>>> patches = l2g.make_patches(graph, clusters, dim=8)
>>> coordinates = l2g.embed_patches(patches, method="spectral")
>>> result = l2g.align(patches, coordinates)
>>> result.embedding.shape
(2485, 8)
>>> scores = l2g.evaluate(graph, result.embedding, tasks=["reconstruction"])
>>> scores["auc"]["l2g"] > 0.8
True

Keywords that a function does not name are settings of its table, as in `run.toml`:
`make_patches(..., degree=5)`, `embed_patches(..., epochs=100)`, `align(..., scale=True)`.
All take `random_state` (the same number gives the same bytes), `threads` (never changes a
result) and `progress`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from .alignment import Alignment, Patch, align_arrays
from .arrays import integers_of, plain, to_numpy
from .embedders import Embedder, embed_with
from .graph import Graph
from .inputs import as_graph
from .patches import Patches
from .progress import Progress, reporting
from .settings import count_of, make_settings, seed_of, threads_of

__all__ = ["align", "embed_patches", "evaluate", "make_patches", "partition"]

DEFAULT_DIM = 128


def partition(
    graph: Any,
    clusters: Optional[int] = None,
    *,
    patch_size: Optional[int] = None,
    method: str = "auto",
    dim: int = DEFAULT_DIM,
    min_overlap: Optional[int] = None,
    random_state: Optional[int] = 0,
    threads: Optional[int] = None,
    progress: Progress = None,
    **options: Any,
) -> NDArray[np.uint32]:
    """Give the cluster of each node.

    Clusters too small for the overlap that patches in `dim` dimensions need are merged into
    a neighbour, so there may be fewer than asked for.

    Parameters
    ----------
    graph
        A `Graph`, or anything that `read_graph` takes.
    clusters, patch_size
        How many clusters, or about how many nodes each. By default 2000 nodes each, but ten
        clusters or more, if the graph is not too small for that.
    method
        `"auto"` (METIS while it fits in memory, `"buffered"` above), `"metis"`, `"buffered"`,
        `"fennel"`, `"louvain"` or `"given"` (the labels, or `file=...`).

    Examples
    --------
    >>> import networkx as nx
    >>> ring = nx.cycle_graph(200)
    >>> clusters = partition(ring, 4, dim=2)
    >>> bool(np.bincount(clusters).min() >= 16)
    True

    """
    counts = {
        "clusters": count_of(clusters, "clusters"),
        "patch_size": count_of(patch_size, "patch_size"),
    }
    table = {**counts, "method": method, **options}
    settings = make_settings(
        {"partition": table, "embed.dim": count_of(dim, "dim"), "patch.min_overlap": min_overlap},
        random_state=random_state,
    )
    whole = as_graph(graph, threads=threads)
    with reporting(progress) as report:
        return _native.partition(whole.native, settings, threads, report)[0]


def make_patches(
    graph: Any,
    clusters: ArrayLike,
    *,
    dim: int = DEFAULT_DIM,
    random_state: Optional[int] = 0,
    threads: Optional[int] = None,
    progress: Progress = None,
    **options: Any,
) -> Patches:
    """Grow clusters into overlapping patches.

    Joined patches share `min_overlap` nodes or more (129 by default, less between small
    clusters, but at least `max(dim + 1, 32)`).

    Parameters
    ----------
    graph
        A `Graph`, or anything that `read_graph` takes.
    clusters
        The cluster of each node: integers, from `partition` or from elsewhere.
    dim
        In how many dimensions the patches will be embedded.

    """
    whole = as_graph(graph, threads=threads)
    seed = seed_of(random_state)
    settings = make_settings(
        {"patch": options, "embed.dim": count_of(dim, "dim")}, random_state=seed
    )
    numbers = integers_of(to_numpy(clusters), "clusters")
    if numbers.ndim != 1:
        raise ValueError(f"clusters have {numbers.ndim} axes; they must have one")
    # Any numbers will do; large ones are counted from 0 on.
    large = numbers.size > 0 and int(numbers.max()) >= numbers.size
    counted = np.unique(numbers, return_inverse=True)[1] if large else numbers
    labels = np.ascontiguousarray(counted.astype(np.uint32))
    with reporting(progress) as report:
        native = _native.make_patches(whole.native, labels, settings, threads, report)
    return Patches(
        whole,
        [native.nodes(index) for index in range(len(native))],
        [native.weights(index) for index in range(len(native))],
        native.edges,
        native.report,
        dim,
        seed,
    )


def embed_patches(
    patches: Patches,
    *,
    method: str = "auto",
    embedder: Optional[Embedder] = None,
    folder: Union[str, PathLike[str], None] = None,
    random_state: Optional[int] = 0,
    threads: Optional[int] = None,
    progress: Progress = None,
    **options: Any,
) -> list[NDArray[np.float32]]:
    """Give every patch coordinates of its own, in the dimension it was made for.

    Parameters
    ----------
    patches
        What `make_patches` gave.
    method
        `"auto"` (`"hops"` with features, `"walks"` without), `"both"`, `"vgae"`, `"gae"`, `"dgi"`,
        `"spectral"`, or `"command"` (`command=[...]`).
    embedder
        A function instead: it is given a patch (`.nodes`, `.edge_index`, `.x`, `.graph`,
        `.dim`, `.seed`) and returns one row per node.
    folder
        Where to keep the coordinates; what is there already, made from the same inputs, is
        not made again. Without it, they are in memory only.

    Examples
    --------
    >>> import local2global as l2g
    >>> graph = l2g.read_graph("cora")
    >>> patches = l2g.make_patches(graph, l2g.partition(graph, 4, dim=2), dim=2)
    >>> def noise(patch):
    ...     return np.random.default_rng(patch.seed).normal(size=(patch.num_nodes, patch.dim))
    >>> [rows.shape[1] for rows in l2g.embed_patches(patches, embedder=noise)]
    [2, 2, 2, 2]

    """
    dim = patches[0].dim
    table = {"method": method, "dim": dim, **options}
    settings = make_settings({"embed": table}, random_state=random_state)
    threads = threads_of(threads)
    with ExitStack() as stack:
        place = Path(folder or stack.enter_context(tempfile.TemporaryDirectory()))
        report = stack.enter_context(reporting(progress))
        if embedder is not None:
            embed_with(embedder, patches, len(patches), place, report)
        else:
            nodes = [integers_of(patch.nodes, "nodes") for patch in patches]
            whole = patches.graph.native
            _native.embed_patches(whole, nodes, settings, place, threads, report)
        return [_native.read_coordinates(place, patch.name) for patch in patches]


def align(
    patches: Sequence[Patch],
    coordinates: Optional[Sequence[ArrayLike]] = None,
    *,
    patch_edges: Optional[ArrayLike] = None,
    min_overlap: Optional[int] = None,
    random_state: Optional[int] = 0,
    threads: Optional[int] = None,
    progress: Progress = None,
    **options: Any,
) -> Alignment:
    """Stitch patches into one frame.

    Parameters
    ----------
    patches
        What `make_patches` gave, or any list of `Patch`.
    coordinates
        One array per patch, if the patches have none of their own.
    patch_edges
        Pairs of patches to use; those of `make_patches`, or else all that share enough.
    min_overlap
        How many nodes two patches must share at least; `dim + 1` by default.

    """
    settings = make_settings({"align": options}, random_state=random_state)
    if patch_edges is None:
        patch_edges = getattr(patches, "patch_edges", None)
    return align_arrays(patches, coordinates, patch_edges, min_overlap, settings, threads, progress)


def evaluate(
    graph: Any,
    embedding: ArrayLike,
    *,
    full: Optional[ArrayLike] = None,
    no_trans: Optional[ArrayLike] = None,
    untrained: Optional[ArrayLike] = None,
    random_state: Optional[int] = 0,
    threads: Optional[int] = None,
    progress: Progress = None,
    **options: Any,
) -> dict[str, Any]:
    """Score an embedding, one row per node of the graph, beside baselines without training.

    Parameters
    ----------
    graph
        A `Graph`, or anything that `read_graph` takes.
    embedding
        The stitched embedding, called `l2g` in the scores.
    full, no_trans, untrained
        Others to compare it with: trained on the whole graph, without transforms, and the model
        before training.
    **options
        The settings of the table `[evaluate]`: `tasks=["reconstruction"]` (by default also
        `"link-prediction"` if edges were held out, and `"classification"` if there are labels),
        `samples`, `repeats`, `train_share` and so on.

    Returns
    -------
    dict
        What `scores.json` holds: `auc`, by contender, is the probability that an edge scores
        higher than a non-edge. Contenders are the embeddings, under their names above, and the
        baselines `degrees`, `features` and `smoothed` (features smoothed twice over the graph).
        `findings` say in words what the comparison means.

    Examples
    --------
    >>> pairs = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)]
    >>> sides = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]]
    >>> round(evaluate(pairs, sides)["auc"]["l2g"], 3)
    0.929
    """
    settings = make_settings({"evaluate": options}, random_state=random_state)
    whole: Graph = as_graph(graph, threads=threads)
    given = {"l2g": embedding, "full": full, "no_trans": no_trans, "untrained": untrained}
    rows = [
        (name, plain(to_numpy(values), np.float32))
        for name, values in given.items()
        if values is not None
    ]
    with reporting(progress) as report:
        return _native.evaluate(whole.native, rows, settings, threads, report)
