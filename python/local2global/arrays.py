"""Arrays of any kind as the arrays that the engine takes: each copied once at most."""

from __future__ import annotations

import re
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
Classes = tuple[Union[NDArray[np.int32], NDArray[np.uint8]], list[str]]
"""A class for each node or rows of zeros and ones, and the names of the classes, if any."""


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


def labels_of(values: Any) -> Optional[Classes]:
    """Give a class for each node, -1 where it is not known, or rows of zeros and ones."""
    if values is None:
        return None
    array = to_numpy(values)
    if array.dtype.kind == "f" and "int" in str(getattr(values, "dtype", "")).lower():
        # Integers of a column where some are missing; NumPy makes floats of them.
        return _named_classes(values.to_list())
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.dtype.kind in "OUT" and array.ndim == 1:
        return _named_classes(array.tolist())
    return _numbered_classes(array), []


def _named_classes(labels: list[Any]) -> Classes:
    """Give classes by name; what is missing is not known.

    They are numbered as those of a file are: numbers in their order, then words in theirs.
    """
    known = [label for label in labels if not _is_missing(label)]
    if known and all(isinstance(label, (int, np.integer)) for label in known):
        numbers = [-1 if _is_missing(label) else int(label) for label in labels]
        return _numbered_classes(np.array(numbers)), []
    odd = next((label for label in known if not isinstance(label, str)), None)
    if odd is not None:
        kind = type(odd).__name__
        raise TypeError(f"labels include a {kind}; they must be all integers or all text")
    names = sorted({str(label) for label in known}, key=_class_order)
    numbers_of = {name: number for number, name in enumerate(names)}
    classes = [-1 if _is_missing(label) else numbers_of[str(label)] for label in labels]
    return np.array(classes, dtype=np.int32), names


def _is_missing(label: Any) -> bool:
    is_nan = isinstance(label, float) and label != label
    return label is None or is_nan or type(label).__name__ == "NAType"


def _class_order(name: str) -> tuple[int, int, str]:
    is_number = re.fullmatch(r"[+-]?[0-9]{1,18}", name, re.ASCII) is not None
    return (0, int(name), name) if is_number else (1, 0, name)


def _numbered_classes(array: NDArray[Any]) -> Union[NDArray[np.int32], NDArray[np.uint8]]:
    if array.dtype.kind not in "iub":
        raise TypeError(f"labels have type {array.dtype}; they must be integers or text")
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
