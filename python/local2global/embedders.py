"""Any function as an embedder.

An embedder is given one `GraphPatch` after the other and returns one row of `patch.dim`
coordinates per node. What it returns goes to disk at once, as `NAME.npy` with a record
`NAME.json` beside it, as any other embedder leaves them.

A function cannot tell whether it is still the same as in an earlier run. If it has an
attribute `digest`, a text that changes whenever its results would, then patches that are
there already, made from the same patch with the same digest, are kept.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Callable, Optional

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from .arrays import coordinates_of
from .errors import EmbedError, FileError
from .patches import GraphPatch
from .progress import Report

__all__ = ["Embedder", "embed_with"]

Embedder = Callable[[GraphPatch], ArrayLike]


def embed_with(
    embedder: Embedder,
    patches: Iterable[GraphPatch],
    num_patches: int,
    folder: Path,
    report: Optional[Report],
) -> None:
    """Embed patches one by one, each into a file of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    for done, patch in enumerate(patches):
        if report is not None:
            report("embed", done, num_patches, "patches", patch.name, False)
        digest = _digest(embedder, patch)
        if not _is_done(folder, patch, digest):
            _embed(embedder, patch, folder, digest)
    if report is not None:
        report("embed", num_patches, num_patches, "patches", "", True)


def _embed(embedder: Embedder, patch: GraphPatch, folder: Path, digest: Optional[str]) -> None:
    started = time.perf_counter()
    try:
        coordinates = embedder(patch)
    except Exception as error:
        raise EmbedError(f"embedder failed on {patch.name}: {error!r}") from error
    rows = _checked(coordinates, patch)
    record = {
        "patch": patch.name,
        "nodes": patch.num_nodes,
        "edges": patch.graph.num_edges,
        "dim": patch.dim,
        "seconds": time.perf_counter() - started,
        "embedder": getattr(embedder, "__qualname__", type(embedder).__qualname__),
        "seed": patch.seed,
        "digest": digest,
        "coordinates": _content(rows),
    }
    _native.write_coordinates(folder, patch.name, rows, json.dumps(record))


def _checked(coordinates: ArrayLike, patch: GraphPatch) -> NDArray[np.float32]:
    rows = np.ascontiguousarray(
        coordinates_of(coordinates, f"coordinates of {patch.name}"), np.float32
    )
    needed = (patch.num_nodes, patch.dim)
    if rows.shape != needed:
        found = " x ".join(map(str, rows.shape))
        raise EmbedError(
            f"embedding of {patch.name} has shape {found}, "
            f"but the patch needs {needed[0]} x {needed[1]}"
        )
    broken = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if broken.size:
        raise EmbedError(f"row {broken[0]} of the embedding of {patch.name} is not finite")
    return rows


def _digest(embedder: Embedder, patch: GraphPatch) -> Optional[str]:
    """Give a digest of all that the coordinates depend on; None if it is not known."""
    name = getattr(embedder, "digest", None)
    if name is None:
        return None
    digest = hashlib.blake2b(digest_size=16)
    digest.update(repr((str(name), patch.dim, patch.seed)).encode())
    for array in (patch.nodes, patch.edge_index, patch.edge_weight, patch.x):
        if array is not None:
            digest.update(repr((array.shape, str(array.dtype))).encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _is_done(folder: Path, patch: GraphPatch, digest: Optional[str]) -> bool:
    record = _native.read_record(folder, patch.name)
    if digest is None or record is None or record.get("digest") != digest:
        return False
    try:
        rows = _native.read_coordinates(folder, patch.name)
    except FileError:
        return False
    return record.get("coordinates") == _content(rows)


def _content(rows: NDArray[Any]) -> str:
    return hashlib.blake2b(np.ascontiguousarray(rows).tobytes(), digest_size=16).hexdigest()
