"""Patches from anywhere -> one frame, under the names of the authors' package.

`AlignmentProblem` weighs all patch edges alike, `WeightedAlignmentProblem` by the number of
nodes that two patches share. `docs/migration.md` tells what is different.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Optional, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from .arrays import Coordinates, coordinates_of, integers_of, weights_of
from .progress import Progress, reporting
from .settings import make_settings, threads_of

__all__ = ["Alignment", "AlignmentProblem", "Patch", "WeightedAlignmentProblem"]

Floats = TypeVar("Floats", NDArray[np.float32], NDArray[np.float64])


class Patch:
    """Some nodes and the coordinates that somebody gave them.

    Arrays of float32 or float64 in C order, memory maps too, are used where they lie.

    >>> patch = Patch([7, 3], [[0.0, 1.0], [2.0, 3.0]])
    >>> patch.shape
    (2, 2)
    >>> patch.get_coordinate(3)
    array([2., 3.])
    """

    def __init__(
        self,
        nodes: ArrayLike,
        coordinates: Optional[ArrayLike] = None,
        weights: Optional[ArrayLike] = None,
    ) -> None:
        self.nodes: NDArray[Any] = np.asanyarray(nodes)
        self.coordinates: Optional[Coordinates] = None
        if coordinates is not None:
            self.coordinates = coordinates_of(coordinates, "coordinates")
        self.weights = weights_of(weights)

    @cached_property
    def index(self) -> dict[int, int]:
        """The row of each node."""
        return {int(node): row for row, node in enumerate(self.nodes)}

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of nodes, and the number of coordinates of each."""
        return self._known().shape

    def get_coordinates(self, nodes: Iterable[int]) -> Coordinates:
        """Give the rows of some nodes."""
        return self._known()[[self.index[int(node)] for node in nodes], :]

    def get_coordinate(self, node: int) -> NDArray[Any]:
        """Give the row of one node."""
        return self._known()[self.index[int(node)], :]

    def _known(self) -> Coordinates:
        if self.coordinates is None:
            raise ValueError("this patch has no coordinates yet")
        return self.coordinates


class Alignment:
    """How all patches lie in one frame: what `align` gives."""

    def __init__(self, native: _native.Alignment, threads: Optional[int], progress: Progress):
        self.native = native
        self._threads = threads
        self._progress = progress

    @cached_property
    def scales(self) -> NDArray[np.float64]:
        """One positive number per patch."""
        return self.native.scales

    @cached_property
    def rotations(self) -> NDArray[np.float64]:
        """One orthogonal matrix per patch: `aligned = scale * X @ rotation + translation`."""
        return self.native.rotations

    @cached_property
    def translations(self) -> NDArray[np.float64]:
        """One row per patch."""
        return self.native.translations

    @cached_property
    def patch_edges(self) -> NDArray[np.int64]:
        """The pairs of patches that were used, one a row."""
        return self.native.edges

    @cached_property
    def nodes(self) -> NDArray[np.int64]:
        """The node of each row of the embedding, ascending."""
        return self.native.nodes.view(np.int64)

    @cached_property
    def embedding(self) -> NDArray[np.float32]:
        """One row per node: the centre of its aligned copies."""
        out = np.empty((self.native.num_nodes, self.native.dim), np.float32)
        return self.write(out)

    @cached_property
    def no_trans(self) -> NDArray[np.float32]:
        """The same without transforms, as a baseline."""
        out = np.empty((self.native.num_nodes, self.native.dim), np.float32)
        return self.write(out, transform=False)

    @cached_property
    def diagnostics(self) -> dict[str, Any]:
        """How well the patches fit, in numbers and in one sentence (`verdict`)."""
        return self.native.diagnostics(self._threads)

    def write(self, out: Floats, transform: bool = True) -> Floats:
        """Write the embedding into an array of float32 or float64, such as a memory map."""
        with reporting(self._progress) as report:
            self.native.embedding(out, transform, self._threads, report)
        return out


def align_arrays(
    patches: Sequence[Patch],
    coordinates: Optional[Sequence[ArrayLike]],
    patch_edges: Optional[ArrayLike],
    min_overlap: Optional[int],
    settings: _native.Settings,
    threads: Optional[int],
    progress: Progress,
) -> Alignment:
    """Hand patches to the engine."""
    threads = threads_of(threads)
    if coordinates is not None and len(coordinates) != len(patches):
        raise ValueError(f"found coordinates of {len(coordinates)} patches, needed {len(patches)}")
    parts = []
    for number, patch in enumerate(patches):
        given = patch._known() if coordinates is None else coordinates[number]
        rows = coordinates_of(given, f"coordinates of patch {number}")
        nodes = integers_of(patch.nodes, f"nodes of patch {number}")
        if nodes.ndim != 1:
            raise ValueError(f"nodes of patch {number} have {nodes.ndim} axes; they must have one")
        parts.append((str(getattr(patch, "name", number)), nodes, rows, patch.weights))
    edges = None if patch_edges is None else _edges_of(patch_edges)
    with reporting(progress) as report:
        native = _native.align(parts, edges, min_overlap, settings, threads, report)
    return Alignment(native, threads, progress)


def _edges_of(patch_edges: ArrayLike) -> NDArray[np.uint64]:
    pairs = list(patch_edges) if isinstance(patch_edges, (set, frozenset)) else patch_edges
    edges = integers_of(pairs, "patch edges")
    if edges.size == 0:
        return edges.reshape(0, 2)
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise ValueError(f"patch edges have shape {edges.shape}; they must be E x 2")
    return edges


class AlignmentProblem:
    """The patches to align, each patch edge counting alike.

    Parameters
    ----------
    patches
        The patches, each a `Patch` with coordinates. They are read, never changed.
    patch_edges
        Pairs of positions in `patches`; only these overlaps are used. Without them, all pairs
        that share enough nodes.
    min_overlap
        How many nodes two patches must share at least; `dim + 1` by default.
    random_state, threads, progress
        As everywhere in this package.
    **settings
        Other settings of the table `[align]`, such as `weights="robust"`.

    Examples
    --------
    Two halves of a line of points in the plane, the second turned by a right angle:

    >>> import numpy as np
    >>> points = np.random.default_rng(1).normal(size=(12, 2))
    >>> turned = points[4:] @ np.array([[0.0, -1.0], [1.0, 0.0]]) + 5.0
    >>> patches = [Patch(range(8), points[:8]), Patch(range(4, 12), turned)]
    >>> problem = AlignmentProblem(patches)
    >>> aligned = problem.get_aligned_embedding()
    >>> bool(np.allclose(aligned - aligned[0], points - points[0]))
    True

    """

    _weights = "unit"

    def __init__(
        self,
        patches: Sequence[Patch],
        patch_edges: Optional[ArrayLike] = None,
        min_overlap: Optional[int] = None,
        *,
        random_state: Optional[int] = 0,
        threads: Optional[int] = None,
        progress: Progress = None,
        **settings: Any,
    ) -> None:
        self.patches = list(patches)
        if not self.patches:
            raise ValueError("found no patches; alignment needs at least one")
        self.patch_edges = patch_edges
        self.min_overlap = min_overlap
        self.random_state = random_state
        self.threads = threads
        self.progress = progress
        self.settings = {"weights": self._weights, **settings}
        self._alignment: Optional[Alignment] = None
        self._scale = False
        self._embedding: Optional[NDArray[np.float64]] = None

    @property
    def n_patches(self) -> int:
        """The number of patches."""
        return len(self.patches)

    @property
    def dim(self) -> int:
        """The number of coordinates."""
        return self.patches[0].shape[1]

    @cached_property
    def nodes(self) -> NDArray[np.int64]:
        """The node of each row of the embedding, ascending."""
        if self._alignment is not None:
            return self._alignment.nodes
        return np.unique(np.concatenate([patch.nodes for patch in self.patches])).astype(np.int64)

    @property
    def n_nodes(self) -> int:
        """The number of nodes."""
        return len(self.nodes)

    @property
    def scales(self) -> NDArray[np.float64]:
        """What each patch was multiplied by; ones before `align_patches`."""
        if self._alignment is None:
            return np.ones(self.n_patches)
        return self._alignment.scales

    @property
    def rotations(self) -> NDArray[np.float64]:
        """What each patch was turned by: `scale * X @ rotation + shift`."""
        if self._alignment is None:
            return np.tile(np.eye(self.dim), (self.n_patches, 1, 1))
        return self._alignment.rotations

    @property
    def shifts(self) -> NDArray[np.float64]:
        """What each patch was moved by, after it was turned."""
        if self._alignment is None:
            return np.zeros((self.n_patches, self.dim))
        return self._alignment.translations

    @property
    def diagnostics(self) -> dict[str, Any]:
        """How well the patches fit, in numbers and in one sentence (`verdict`)."""
        return self._aligned().diagnostics

    def align_patches(self, scale: Optional[bool] = None) -> AlignmentProblem:
        """Find the motion of every patch; with `scale`, here or in the settings, also its size."""
        scale = self._wanted_scale(scale)
        settings = make_settings(
            {"align": {**self.settings, "scale": scale}}, random_state=self.random_state
        )
        self._alignment = align_arrays(
            self.patches,
            None,
            self.patch_edges,
            self.min_overlap,
            settings,
            self.threads,
            self.progress,
        )
        self._scale, self._embedding = scale, None
        return self

    def _wanted_scale(self, scale: Optional[bool]) -> bool:
        return bool(self.settings.get("scale", False) if scale is None else scale)

    def get_aligned_embedding(
        self,
        scale: Optional[bool] = None,
        realign: bool = False,
        out: Any = None,
    ) -> Any:
        """Give the centre of each node's aligned copies, one row per node of `nodes`.

        It is computed once, and cannot be changed; again with `realign`, or if `scale` was
        another. `out` is an array of float32 or float64 to write into, such as a memory map.
        """
        if self._alignment is None or realign or self._wanted_scale(scale) != self._scale:
            self.align_patches(scale)
        alignment = self._aligned()
        if out is not None:
            return alignment.write(out)
        if self._embedding is None:
            shape = (alignment.native.num_nodes, alignment.native.dim)
            self._embedding = alignment.write(np.empty(shape))
            self._embedding.flags.writeable = False
        return self._embedding

    def aligned_patch(self, index: int) -> Patch:
        """Give one patch, moved into the common frame."""
        patch = self.patches[index]
        turned = self.scales[index] * (patch._known() @ self.rotations[index])
        return Patch(patch.nodes, turned + self.shifts[index])

    def _aligned(self) -> Alignment:
        if self._alignment is None:
            self.align_patches()
        assert self._alignment is not None
        return self._alignment


class WeightedAlignmentProblem(AlignmentProblem):
    """The patches to align, each patch edge counting as many nodes as it shares.

    >>> import numpy as np
    >>> points = np.random.default_rng(1).normal(size=(12, 2))
    >>> patches = [Patch(range(8), points[:8]), Patch(range(4, 12), 3 * points[4:])]
    >>> problem = WeightedAlignmentProblem(patches).align_patches(scale=True)
    >>> round(float(problem.scales[0] / problem.scales[1]), 6)
    3.0
    """

    _weights = "overlap"
