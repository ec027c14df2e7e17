"""Ray as an executor."""

from __future__ import annotations

import importlib
from concurrent.futures import Future
from typing import Any, Callable

__all__ = ["RayExecutor"]


class RayExecutor:
    """Ray with a `submit` as `concurrent.futures` has it; options are those of a remote function.

    `RayExecutor(num_cpus=1, max_retries=0)`: a lost task is tried again by `embed`.
    """

    def __init__(self, ray: Any = None, **options: Any) -> None:
        self._ray = importlib.import_module("ray") if ray is None else ray
        self._options = {"max_retries": 0, **options}

    @property
    def num_workers(self) -> int:
        """How many processors the cluster has."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def submit(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        """Submit a call, and give its future."""
        remote = self._ray.remote(**self._options)(function)
        future: Future[Any] = remote.remote(*args).future()
        return future
