"""What runs on a worker: it asks for nothing but this package, and trains in a child process."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
import tempfile
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, Union

from .. import __version__, _native

__all__ = ["Orders", "Outcome", "train", "version_here"]

_CHILD = Path(__file__).with_name("_child.py")
_LONGEST_ERROR = 2000
_CHILD_BYTES = 128 << 20
"""What interpreter, libraries and stacks of threads take of a child's memory."""


@dataclass(frozen=True)
class Orders:
    """What a worker is told beside the bundle."""

    version: str
    """The version that has to be here."""
    attempt: int
    """How often the patches have been tried; it also tells two tries apart for engines that
    remember results by their arguments."""
    threads: int
    memory_bytes: int
    """The limit of training; 0 for none."""
    results: Optional[str] = None
    """The folder that results go into, if there is a shared one."""


@dataclass(frozen=True)
class Outcome:
    """What a worker gives back."""

    worker: str
    seconds: float
    error: Optional[str]
    """What went wrong, in a sentence; patches that were finished are there all the same."""
    results: Optional[bytes]
    """The files of the results as a zip archive, if there is no shared folder."""


def name_here() -> str:
    """Give the name of this worker: machine and process."""
    return f"{socket.gethostname()}:{os.getpid()}"


def version_here(_question: int) -> tuple[str, str]:
    """Give the name of this worker and the version of the engine on it."""
    return name_here(), __version__


def train(bundle: Union[bytes, str], orders: Orders) -> Outcome:
    """Train a bundle, given as its bytes or as a path that this worker can read."""
    started = time.perf_counter()

    def outcome(error: Optional[str], results: Optional[bytes] = None) -> Outcome:
        return Outcome(name_here(), time.perf_counter() - started, error, results)

    if orders.version != __version__:
        return outcome(f"it has local2global {__version__}, and needs {orders.version}")
    if orders.results is not None:
        return outcome(_run(str(bundle), orders.results, orders))
    with tempfile.TemporaryDirectory(prefix="local2global-") as folder:
        path, results = Path(folder, "job.l2g"), Path(folder, "results")
        path.write_bytes(bundle if isinstance(bundle, bytes) else Path(bundle).read_bytes())
        error = _run(str(path), str(results), orders)
        return outcome(error, _packed(results))


def _run(bundle: str, results: str, orders: Orders) -> Optional[str]:
    """Run the child, and tell what it said if it failed."""
    options = ["--threads", str(orders.threads), "--quiet"]
    if orders.memory_bytes:
        options += ["--memory", str(orders.memory_bytes)]
    limit = orders.memory_bytes + _CHILD_BYTES if orders.memory_bytes else 0
    command = [sys.executable, "-I", "-S", str(_CHILD), str(_native.__file__), str(limit)]
    command += ["embed", "--bundle", bundle, "--out", results, *options]
    # The pipe to its standard input is closed when this process ends, and then it ends too.
    child = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        assert child.stderr is not None
        told = child.stderr.read().decode(errors="replace").strip()
        code = child.wait()
    finally:
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stderr):
            if pipe is not None:
                pipe.close()
    if code == 0:
        return None
    ended = (
        f"its child was ended by signal {-code}" if code < 0 else f"its child failed with {code}"
    )
    return f"{ended}: {told[-_LONGEST_ERROR:]}" if told else ended


def _packed(folder: Path) -> bytes:
    """Give all files of a folder as a zip archive."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for file in sorted(folder.iterdir()) if folder.is_dir() else []:
            if file.is_file() and not file.name.startswith("."):
                archive.write(file, file.name)
    return packed.getvalue()
