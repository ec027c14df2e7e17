"""What is asked of executors: `submit`, and what some of them know besides."""

from __future__ import annotations

import threading
import time
from typing import Any, Callable, Optional

from .. import __version__
from .worker import version_here

__all__ = ["Executor", "check_versions"]

_POLL_SECONDS = 0.05
_LOOK_SECONDS = 1.0


class Executor:
    """An executor of somebody else; futures tell when they are done, or are asked."""

    def __init__(self, executor: Any) -> None:
        if not callable(getattr(executor, "submit", None)):
            kind = type(executor).__name__
            raise TypeError(f"executor is a {kind}; it must have `submit(function, *args)`")
        self._executor = executor
        self._news = threading.Event()
        self._all_call_back = True
        self._counted: tuple[float, Optional[int]] = (-_LOOK_SECONDS, None)

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        """Submit a call, and give its future."""
        future = self._executor.submit(function, *args)
        if callable(getattr(future, "add_done_callback", None)):
            future.add_done_callback(lambda _: self._news.set())
        else:
            self._all_call_back = False
        return future

    def wait(self) -> None:
        """Wait until a future may be done."""
        self._news.wait(_LOOK_SECONDS if self._all_call_back else _POLL_SECONDS)
        self._news.clear()

    def num_workers(self) -> Optional[int]:
        """Tell how many calls run at the same time; None if nobody knows."""
        when, count = self._counted
        if time.monotonic() - when >= _LOOK_SECONDS:
            count = self._count_workers()
            self._counted = (time.monotonic(), count)
        return count

    def _count_workers(self) -> Optional[int]:
        if _is_dask(self._executor):
            # None for a while, when the only worker was lost, is no reason to submit everything.
            threads: int = sum(self._executor.nthreads().values())
            return max(1, threads)
        for name in ("num_workers", "_max_workers"):
            count = getattr(self._executor, name, None)
            if isinstance(count, int) and count > 0:
                return count
        return None

    def versions(self) -> dict[str, str]:
        """Ask workers for the version of the engine: all of them, where that can be done."""
        if _is_dask(self._executor):
            answers = self._executor.run(version_here, 0, on_error="return")
            return {
                worker: answer[1] if isinstance(answer, tuple) else f"an error: {answer!r}"
                for worker, answer in answers.items()
            }
        # Each worker is likely to answer one of as many questions; those that do not are
        # asked again by every job.
        questions = range(self.num_workers() or 1)
        return dict(future.result() for future in [self.submit(version_here, n) for n in questions])


def check_versions(executor: Executor) -> None:
    """Refuse workers with another version, by name."""
    from ..errors import ClusterError

    others = {
        worker: version for worker, version in executor.versions().items() if version != __version__
    }
    if others:
        found = ", ".join(f"{worker} has {version}" for worker, version in sorted(others.items()))
        raise ClusterError(
            f"workers have another local2global than {__version__} here: {found}; "
            "install the same version on all"
        )


def _is_dask(executor: Any) -> bool:
    return all(callable(getattr(executor, name, None)) for name in ("run", "nthreads", "submit"))
