"""Arrays of any kind as the arrays that the engine takes: each copied once at most."""

from __future__ import annotations

from typing import Any, Optional, Union, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "coordinates_of",
    "features_of",
    "integers_of",
    "labels_of",
    "plain",
    "to_numpy",
    "weights_of",
]

Coordinates = Union[NDArray[np.float32], NDArray[np.float64]]
SparseParts = tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.float32], int]


def to_numpy(values: Any) -> NDArray[Any]:
    """Give a NumPy array; tensors are taken off their graph and device first."""
    if getattr(values, "is_sparse", False):
        values = values.to_dense()
    if hasattr(values, "detach"):
        values = values.detach().cpu()
    return np.asanyarray(values)


def plain(array: ArrayLike, dtype: Any) -> NDArray[Any]:
    """Give an array of this type in C order: itself, if it is one."""
    return np.require(array, dtype, ["C", "A"])


def integers_of(values: ArrayLike, what: str) -> NDArray[np.uint64]:
    """Give numbers from 0 on; signed ones of 64 bits are not copied."""
    array = to_numpy(values)
    if array.dtype.kind not in "iu" and array.size > 0:
        raise TypeError(f"{what} have type {array.dtype}; they must be integers")
    if array.dtype.kind == "i" and array.size > 0 and array.min() < 0:
        raise ValueError(f"{what} include {array.min()}; they must not be negative")
    if array.dtype == np.int64:
        return cast("NDArray[np.uint64]", plain(array, array.dtype).view(np.uint64))
    return plain(array, np.uint64)


def coordinates_of(values: ArrayLike, what: str) -> Coordinates:
    """Give rows of float32 or float64 in C order; others become float64."""
    array = to_numpy(values)
    if array.ndim != 2:
        raise ValueError(
            f"{what} have {array.ndim} axes; they must have two, nodes and coordinates"
        )
    if array.dtype in (np.float32, np.float64):
        return plain(array, array.dtype)
    if array.dtype.kind not in "iufb":
        raise TypeError(f"{what} have type {array.dtype}; they must be numbers")
    return plain(array, np.float64)


def features_of(values: Any) -> Union[NDArray[np.float32], SparseParts, None]:
    """Give a matrix of float32, or the parts of a sparse one in ascending columns."""
    if values is None:
        return None
    if hasattr(values, "tocsr"):
        return _sparse_parts(values)
    array = to_numpy(values)
    if array.ndim == 1:
        array = array[:, np.newaxis]
    if array.ndim != 2:
        raise ValueError(f"features have {array.ndim} axes; they must have two, nodes and columns")
    if array.dtype.kind not in "iufb":
        raise TypeError(f"features have type {array.dtype}; they must be numbers")
    return plain(array, np.float32)


def _sparse_parts(matrix: Any) -> SparseParts:
    rows = matrix.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return (
        plain(rows.indptr, np.uint64),
        plain(rows.indices, np.uint32),
        plain(rows.data, np.float32),
        int(rows.shape[1]),
    )


def labels_of(values: Any) -> Union[NDArray[np.int32], NDArray[np.uint8], None]:
    """Give a class for each node, -1 where it is not known, or rows of zeros and ones."""
    if values is None:
        return None
    array = to_numpy(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.dtype.kind not in "iub":
        raise TypeError(f"labels have type {array.dtype}; they must be integers")
    if array.ndim == 1:
        largest = int(array.max()) if array.size else 0
        if largest >= 2**31 - 1:
            raise ValueError(f"labels include {largest}; classes are numbers below {2**31 - 1}")
        return plain(array, np.int32)
    if array.ndim != 2 or array.size == 0 or array.min() < 0 or array.max() > 1:
        raise ValueError("labels must be one class a node, or rows of zeros and ones")
    return plain(array, np.uint8)


def weights_of(values: Any) -> Optional[NDArray[np.float32]]:
    """Give weights as float32."""
    return None if values is None else plain(to_numpy(values).ravel(), np.float32)
