"""Settings: the tables of `run.toml`, as dictionaries.

The keys are those of the command line. A table is named after its stage:

>>> from local2global.settings import make_settings
>>> tables = make_settings({"embed": {"dim": 16}, "align.weights": "robust"}).to_dict()
>>> tables["embed"]["dim"], tables["embed"]["runs"], tables["align"]["weights"]
(16, 1, 'robust')
"""

from __future__ import annotations

import operator
import secrets
from collections.abc import Mapping
from typing import Any, Optional

from . import _native

__all__ = ["count_of", "make_settings", "merge", "seed_of", "threads_of"]

_MAX_THREADS = 1024


def make_settings(
    *tables: Optional[Mapping[str, Any]], random_state: Optional[int] = 0
) -> _native.Settings:
    """Check settings and fill in defaults; later tables override earlier ones.

    A key may also be written `"table.key"`. What is None stays at its default.
    """
    return _native.Settings(merge(*tables), seed_of(random_state))


def seed_of(random_state: Optional[int]) -> int:
    """Give the seed: the number itself, or a fresh one for None."""
    if random_state is None:
        return secrets.randbits(63)
    seed = _integer(random_state, "random_state", "an integer or None")
    if not 0 <= seed < 2**63:
        raise ValueError(f"random_state is {seed}; it must be between 0 and 2**63 - 1")
    return seed


def count_of(value: Any, name: str, least: Optional[int] = 1) -> Any:
    """Give a number that counts something; None stays what it is."""
    if value is None:
        return None
    count = _integer(value, name, "an integer")
    if least is not None and count < least:
        raise ValueError(f"{name} is {count}; it must be at least {least}")
    return count


def threads_of(threads: Optional[int]) -> Optional[int]:
    """Give the number of threads; None for all cores."""
    if threads is None:
        return None
    count = _integer(threads, "threads", "an integer, or None for all cores")
    if not 1 <= count <= _MAX_THREADS:
        raise ValueError(
            f"threads is {count}; it must be from 1 to {_MAX_THREADS}, or None for all cores"
        )
    return count


def _integer(value: Any, name: str, needed: str) -> int:
    """Give an integer; True and False are none here, though Python counts with them."""
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    raise TypeError(f"{name} is a {type(value).__name__}; it must be {needed}")


def merge(*tables: Optional[Mapping[str, Any]]) -> dict[str, Any]:
    """Put tables of settings on top of each other."""
    merged: dict[str, Any] = {}
    for table in tables:
        for key, value in (table or {}).items():
            _put(merged, key, value)
    return merged


def _put(table: dict[str, Any], key: str, value: Any) -> None:
    if value is None:
        return
    head, _, rest = key.partition(".")
    if rest:
        value, key = {rest: value}, head
    if isinstance(value, Mapping):
        inner = table.get(key)
        table[key] = merge(inner if isinstance(inner, Mapping) else None, value)
    else:
        table[key] = value
