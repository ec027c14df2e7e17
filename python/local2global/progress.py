"""How far long work has come: a bar of tqdm, or a callback.

`progress` may be `"auto"` (a bar, if tqdm is there and somebody watches), `True` (a bar),
`False` or `None` (nothing), or a callable that is given an `Event` a few times a second.

>>> import local2global as l2g
>>> tasks = []
>>> clusters = l2g.partition("cora", 4, method="fennel", progress=lambda e: tasks.append(e.task))
>>> "fennel" in " ".join(tasks)
True
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable, NamedTuple, Optional, Union

__all__ = ["Event", "Progress", "reporting"]


class Event(NamedTuple):
    """How far a task has come."""

    task: str
    """What is being done."""
    done: int
    """How many steps are done."""
    total: int
    """How many there are; 0 if nobody knows."""
    unit: str
    """What one step is."""
    note: str
    """A remark, such as how many patches are finished."""
    is_over: bool
    """Whether the task has ended."""


Progress = Union[bool, str, Callable[[Event], object], None]
Report = Callable[[str, int, int, str, str, bool], None]


@contextmanager
def reporting(progress: Progress) -> Iterator[Optional[Report]]:
    """Give what the engine calls while it works; bars are closed at the end."""
    if callable(progress):
        yield _calling(progress)
        return
    if not _wants_bar(progress):
        yield None
        return
    bars = _Bars()
    try:
        yield bars
    finally:
        bars.close()


def _calling(callback: Callable[[Event], object]) -> Report:
    def report(task: str, done: int, total: int, unit: str, note: str, is_over: bool) -> None:
        callback(Event(task, done, total, unit, note, is_over))

    return report


def _wants_bar(progress: Union[bool, str, None]) -> bool:
    if progress == "auto":
        return _has_tqdm() and _is_watched()
    if isinstance(progress, str):
        raise ValueError(f"progress is {progress!r}; it must be 'auto', True, False or a callable")
    if progress and not _has_tqdm():
        raise ModuleNotFoundError("progress=True needs tqdm; install it, or pass a callable")
    return bool(progress)


def _has_tqdm() -> bool:
    from importlib.util import find_spec

    return find_spec("tqdm") is not None


def _is_watched() -> bool:
    """Whether standard error is a terminal, or this is a notebook."""
    is_notebook = "ipykernel" in sys.modules
    return is_notebook or (sys.stderr is not None and sys.stderr.isatty())


class _Bars:
    """One bar of tqdm after the other."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Optional[str] = None

    def __call__(
        self, task: str, done: int, total: int, unit: str, note: str, is_over: bool
    ) -> None:
        if task != self._task:
            self._begin(task, total, unit)
        self._bar.update(done - self._bar.n)
        if note:
            self._bar.set_postfix_str(note, refresh=False)
        if is_over:
            self.close()

    def _begin(self, task: str, total: int, unit: str) -> None:
        from tqdm.auto import tqdm

        self.close()
        self._task = task
        self._bar = tqdm(desc=task, total=total or None, unit=f" {unit}", leave=False)

    def close(self) -> None:
        """Close the bar, if there is one."""
        if self._bar is not None:
            self._bar.close()
        self._bar = self._task = None
