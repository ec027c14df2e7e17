"""The nearest rows of an embedding, by exact search."""

from __future__ import annotations

from typing import Optional

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from .arrays import coordinates_of, integers_of, plain, to_numpy
from .settings import count_of, threads_of

__all__ = ["nearest"]


def nearest(
    embedding: ArrayLike,
    queries: ArrayLike,
    k: int = 10,
    *,
    score: str = "cosine",
    threads: Optional[int] = None,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Give the nearest rows of some rows or vectors, and their scores, the nearest first.

    Every row is compared, in parallel, and the scores that decide are those of double precision;
    among equal scores the row with the smaller number comes first. An embedding of float32, such
    as `np.load("embedding.npy", mmap_mode="r")`, is not copied.

    Parameters
    ----------
    embedding
        One row per node.
    queries
        Integers, one axis: rows of the embedding, which are not neighbours of themselves. Or
        numbers, two axes: vectors, one a row.
    k
        How many neighbours; fewer, if there are not so many rows.
    score
        `"cosine"` (direction alone) or `"inner-product"`.

    Examples
    --------
    >>> embedding = [[1.0, 0.0], [3.0, 0.1], [0.0, 2.0]]
    >>> rows, scores = nearest(embedding, [0], k=2)
    >>> rows.tolist(), scores.round(3).tolist()
    ([[1, 2]], [[0.999, 0.0]])
    >>> nearest(embedding, [[0.0, 1.0]], k=1)[0].tolist()
    [[2]]

    """
    values = plain(coordinates_of(embedding, "embedding"), np.float32)
    asked = to_numpy(queries)
    count, number = count_of(k, "k"), threads_of(threads)
    if asked.ndim == 1 and (asked.dtype.kind in "iu" or asked.size == 0):
        return _native.nearest_to_rows(values, integers_of(asked, "queries"), count, score, number)
    if asked.ndim != 2:
        raise ValueError(
            f"queries have {asked.ndim} axes and type {asked.dtype}; they must be rows, integers "
            "with one axis, or vectors, numbers with two"
        )
    vectors = plain(coordinates_of(asked, "queries"), np.float32)
    return _native.nearest_to_vectors(values, vectors, count, score, number)
