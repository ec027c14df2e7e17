"""The patches of a run, out to workers and back."""

from __future__ import annotations

import io
import shutil
import tempfile
import time
import zipfile
from collections import deque
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Optional, Union

from .. import __version__, _native
from ..errors import ClusterError
from ..progress import Progress, reporting
from ..progress import Report as Tell
from ..settings import count_of, threads_of
from .executor import Executor, check_versions
from .worker import Orders, Outcome, train

__all__ = ["Report", "embed"]

_JOBS_PER_WORKER = 4
_USUAL_JOBS = 64
_TOLD_FAILURES = 3


@dataclass
class Report:
    """What became of the patches."""

    embedded: list[int] = field(default_factory=list)
    """Patches that were trained now."""
    kept: list[int] = field(default_factory=list)
    """Patches that were there already."""
    jobs: int = 0
    """How many jobs were submitted, those that were tried again included."""
    failures: list[str] = field(default_factory=list)
    """What went wrong on the way, in words; the patches were tried again."""
    seconds: float = 0.0


def embed(
    run: Union[str, PathLike[str]],
    executor: Any,
    *,
    jobs: Optional[int] = None,
    memory: Union[str, int, None] = None,
    retries: int = 3,
    progress: Progress = True,
    shared_folder: Union[str, PathLike[str], None] = None,
    threads: int = 1,
    **options: Any,
) -> Report:
    """Embed the patches of a run folder on the workers of an executor.

    Patches that are there already, made from the same inputs, are kept; each result is put into
    the run as soon as it is there. Ctrl-C cancels what is queued and keeps what is done.

    Parameters
    ----------
    run
        The run folder, with graph and patches.
    executor
        Anything with `submit(function, *args)` that gives a future.
    jobs
        How many jobs there are; by default four for each worker, or 64 if nobody knows how many
        there are. More, where memory asks for it.
    memory
        The most memory that a job may take, as `"4G"` or in bytes. It is the limit of the child
        process that trains.
    retries
        How often a patch is tried again whose job failed or whose worker was lost.
    progress
        `True` or `"auto"` (a bar), `False`, or a callable that is given an `Event`.
    shared_folder
        A folder that this process and all workers see under the same name. Without it, bundles
        are the arguments of jobs, and results their return values.
    threads
        How many threads a job uses; never changes a result.
    **options
        The settings of the table `[embed]`, such as `method="vgae"`, `dim=64`, instead of those
        of the run.

    Raises
    ------
    ClusterError
        If a worker has another version of this package, or patches failed each time; all others
        are in the run then.

    """
    wanted_jobs, limit = count_of(jobs, "jobs"), _bytes_of(memory)
    retries = count_of(retries, "retries", least=0)
    threads = threads_of(threads) or 1
    workers = Executor(executor)
    if progress is True:
        progress = "auto"
    with reporting(progress) as tell:
        patches = _native.PatchJobs.open(
            run, options, None if limit is None else str(limit), None, tell
        )
        try:
            waiting = patches.waiting()
            if waiting:
                check_versions(workers)
            schedule = _Schedule(
                patches, workers, retries, Orders(__version__, 0, threads, limit or 0)
            )
            schedule.begin(waiting, wanted_jobs)
            with _Place(shared_folder) as place:
                schedule.work(place, tell)
        finally:
            patches.close()
    return schedule.finished()


def _bytes_of(memory: Union[str, int, None]) -> Optional[int]:
    if memory is None:
        return None
    if not isinstance(memory, str):
        return int(count_of(memory, "memory"))
    units = {"K": 10, "M": 20, "G": 30, "T": 40}
    text = memory.strip().upper().removesuffix("IB").removesuffix("B") if memory.strip() else ""
    number, unit = (text[:-1], units[text[-1]]) if text and text[-1] in units else (text, 0)
    try:
        size = int(float(number) * (1 << unit))
    except ValueError:
        raise ValueError(f"memory is {memory!r}; it must be a size such as '4G'") from None
    return int(count_of(size, "memory"))


class _Place:
    """Where bundles and results lie for a while: a temporary folder, seen by all workers or not."""

    def __init__(self, shared: Union[str, PathLike[str], None]) -> None:
        self.is_shared = shared is not None
        self._within = None if shared is None else Path(shared).resolve()

    def __enter__(self) -> _Place:
        if self._within is not None:
            self._within.mkdir(parents=True, exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix="local2global-", dir=self._within))
        self._count = 0
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def new(self) -> tuple[Path, Path]:
        """Give a new bundle file, and a new folder of results."""
        self._count += 1
        name = f"job-{self._count:05}"
        return self.folder / f"{name}.l2g", self.folder / f"{name}.results"


@dataclass
class _Job:
    patches: list[int]
    attempt: int
    bundle: Path
    results: Path
    future: Any = None


class _Schedule:
    """Which jobs wait, which are under way, and what became of the patches."""

    def __init__(
        self, patches: _native.PatchJobs, workers: Executor, retries: int, orders: Orders
    ) -> None:
        self._patches = patches
        self._workers = workers
        self._retries = retries
        self._orders = orders
        self._waiting: deque[tuple[list[int], int]] = deque()
        self._under_way: list[_Job] = []
        self._lost: dict[int, str] = {}
        self._report = Report()
        self._started = time.perf_counter()

    def begin(self, waiting: list[int], jobs: Optional[int]) -> None:
        count = self._workers.num_workers() if waiting else None
        usual = _USUAL_JOBS if count is None else _JOBS_PER_WORKER * count
        shares = self._patches.share_out(waiting, jobs or usual) if waiting else []
        self._waiting.extend((share, 0) for share in shares)
        there = set(range(self._patches.num_patches)) - set(waiting)
        self._report.kept = sorted(there)
        self._total = len(waiting)

    def work(self, place: _Place, tell: Optional[Tell]) -> None:
        try:
            while self._waiting or self._under_way:
                self._submit(place)
                self._tell(tell, is_over=False)
                self._workers.wait()
                for job in [job for job in self._under_way if job.future.done()]:
                    self._finish(job)
            self._tell(tell, is_over=True)
        except BaseException:
            self._stop()
            raise

    def _submit(self, place: _Place) -> None:
        """Submit jobs, so that every worker has one and one more; all if nobody knows how many."""
        count = self._workers.num_workers()
        most = len(self._waiting) + len(self._under_way) if count is None else 2 * count + 1
        while self._waiting and len(self._under_way) < most:
            patches, attempt = self._waiting.popleft()
            bundle, results = place.new()
            self._patches.write(patches, bundle)
            orders = Orders(
                self._orders.version,
                attempt,
                self._orders.threads,
                self._orders.memory_bytes,
                str(results) if place.is_shared else None,
            )
            given: Union[bytes, str] = str(bundle)
            if not place.is_shared:
                given = bundle.read_bytes()
                bundle.unlink()
            job = _Job(patches, attempt, bundle, results)
            job.future = self._workers.submit(train, given, orders)
            self._under_way.append(job)
            self._report.jobs += 1

    def _finish(self, job: _Job) -> None:
        """Take what a job has left, and try again what it has not."""
        self._under_way.remove(job)
        try:
            outcome: Outcome = job.future.result()
            problem = None if outcome.error is None else f"{outcome.worker}: {outcome.error}"
            if outcome.results:
                with zipfile.ZipFile(io.BytesIO(outcome.results)) as archive:
                    archive.extractall(job.results)
        except Exception as error:
            problem = f"its worker was lost or failed: {type(error).__name__}: {error}"
        taken = set()
        if job.results.is_dir() and any(job.results.glob("*.json")):
            collected = self._patches.collect(job.results)
            taken = {*collected["taken"], *collected["kept"]}
            for refusal in collected["refused"]:
                problem = problem or refusal["problem"]
        self._report.embedded += sorted(taken)
        shutil.rmtree(job.results, ignore_errors=True)
        job.bundle.unlink(missing_ok=True)
        missing = [patch for patch in job.patches if patch not in taken]
        if missing:
            self._try_again(missing, job.attempt, problem or "its results did not come back")

    def _try_again(self, patches: list[int], attempt: int, problem: str) -> None:
        names = _names(patches)
        if attempt < self._retries:
            self._report.failures.append(f"{names}: {problem}")
            self._waiting.appendleft((patches, attempt + 1))
        else:
            self._lost.update((patch, problem) for patch in patches)

    def _stop(self) -> None:
        """Cancel what is queued, and take what is done."""
        for job in self._under_way:
            if not job.future.done():
                job.future.cancel()
        self._retries = -1
        for job in [job for job in self._under_way if job.future.done()]:
            self._finish(job)

    def _tell(self, tell: Optional[Tell], *, is_over: bool) -> None:
        if tell is None:
            return
        done = len(self._report.embedded)
        count = self._workers.num_workers()
        notes = [f"{sum(len(job.patches) for job in self._under_way)} in flight"]
        notes += [] if count is None else [f"{count} workers"]
        if done:
            left = (time.perf_counter() - self._started) * (self._total - done) / done
            notes.append(f"{left:.0f} s left")
        tell("embed", done, self._total, "patches", ", ".join(notes), is_over)

    def finished(self) -> Report:
        """Give the report, or raise what cannot be helped."""
        self._report.embedded.sort()
        self._report.seconds = time.perf_counter() - self._started
        if self._lost:
            told = [f"{_names([patch])}: {why}" for patch, why in sorted(self._lost.items())]
            more = len(told) - _TOLD_FAILURES
            tail = [f"and {more} more"] if more > 0 else []
            tries = self._retries + 1
            raise ClusterError(
                f"{len(told)} of {self._total} patches failed {tries} times, all others are in the "
                f"run: {'; '.join(told[:_TOLD_FAILURES] + tail)}"
            )
        return self._report


def _names(patches: list[int]) -> str:
    names = [_native.patch_name(patch) for patch in patches[:_TOLD_FAILURES]]
    more = len(patches) - len(names)
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")
