"""Patches on workers: pools of processes and threads, and a real Dask cluster on this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import local2global as l2g
from local2global.cluster import RayExecutor, embed, worker

METHOD = {"method": "spectral", "dim": 8}
NUM_PATCHES = 6
LIMIT = 120


def l2g_command(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "local2global", "--quiet", *arguments], check=True)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has patches, and one that was trained here."""
    folder = tmp_path_factory.mktemp("home")
    l2g_command("graph", "cora", "--out", str(folder / "bare"))
    l2g_command("partition", str(folder / "bare"), "--clusters", str(NUM_PATCHES))
    l2g_command("patch", str(folder / "bare"), "--dim", "8")
    subprocess.run(["cp", "-r", str(folder / "bare"), str(folder / "done")], check=True)
    l2g_command("embed", str(folder / "done"), "--method", "spectral", "--dim", "8")
    return folder


@pytest.fixture
def run(home: Path, tmp_path: Path) -> Path:
    """A run that has patches and no coordinates."""
    subprocess.run(["cp", "-r", str(home / "bare"), str(tmp_path / "run")], check=True)
    return tmp_path / "run"


def assert_trained(run: Path, home: Path) -> None:
    for number in range(NUM_PATCHES):
        name = f"4-embeddings/patch-{number:05}.npy"
        assert (run / name).read_bytes() == (home / "done" / name).read_bytes(), name
    options = ["--method", "spectral", "--dim", "8", "--json"]
    told = subprocess.run(
        [sys.executable, "-m", "local2global", "--quiet", "embed", str(run), *options],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert '"embedded":[]' in told


class Lazy:
    """An executor that runs calls one by one, as the test wants; futures only know `done`."""

    num_workers = 2

    def __init__(self, spoil: Any = None) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.cancelled = 0
        self._spoil = spoil

    def submit(self, function: Any, *args: Any) -> Any:
        self.calls.append((function, *args))
        number = len([call for call in self.calls if call[0] is worker.train])
        if function is worker.train and self._spoil is not None:
            return self._spoil(self, number, function, *args)
        return Done(function(*args))


class Done:
    """A future without callbacks that is done."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def done(self) -> bool:
        return True

    def result(self) -> Any:
        if isinstance(self._value, BaseException):
            raise self._value
        return self._value


@pytest.mark.parametrize("is_shared", [True, False])
def test_a_pool_of_processes_gives_the_same_bytes(
    run: Path, home: Path, tmp_path: Path, is_shared: bool
):
    events: list[l2g.Event] = []
    shared = tmp_path / "shared" if is_shared else None
    with ProcessPoolExecutor(2) as pool:
        report = embed(
            run, pool, jobs=4, shared_folder=shared, progress=events.append, memory="2G", **METHOD
        )
    assert report.embedded == list(range(NUM_PATCHES))
    assert report.kept == report.failures == []
    assert_trained(run, home)
    assert shared is None or not list(shared.iterdir())
    assert events[-1].done == events[-1].total == NUM_PATCHES
    assert any("in flight, 2 workers" in event.note for event in events)


def test_what_is_there_is_kept(run: Path, home: Path):
    l2g_command("embed", str(run), "--method", "spectral", "--dim", "8", "--only", "1,4")
    report = embed(run, Lazy(), progress=False, **METHOD)
    assert report.embedded == [0, 2, 3, 5]
    assert report.kept == [1, 4]
    assert_trained(run, home)
    assert embed(run, Lazy(), progress=False, **METHOD).embedded == []


def test_patches_that_are_lost_are_tried_again_and_others_are_not(run: Path, home: Path):
    def spoil(lazy: Lazy, number: int, function: Any, bundle: Any, orders: Any) -> Any:
        if number == 1:
            return Done(ConnectionError("the worker is gone"))
        outcome = function(bundle, orders)
        if number == 2:
            return Done(worker.Outcome("here", 1.0, None, outcome.results[:100]))
        return Done(outcome)

    report = embed(run, Lazy(spoil), jobs=3, progress=False, **METHOD)
    assert report.embedded == list(range(NUM_PATCHES))
    assert report.jobs == 5
    assert "ConnectionError: the worker is gone" in report.failures[0]
    assert_trained(run, home)


def test_patches_that_fail_each_time_are_named_and_the_others_are_kept(run: Path):
    failing: set[bytes] = set()

    def spoil(lazy: Lazy, number: int, function: Any, bundle: bytes, orders: Any) -> Any:
        if number == 2:
            failing.add(bundle)
        if bundle in failing:
            return Done(worker.Outcome("host:7", 1.0, "its child was ended by signal 9", b""))
        return Done(function(bundle, orders))

    with pytest.raises(l2g.ClusterError, match="1 of 6 patches failed 3 times, all others"):
        embed(run, Lazy(spoil), jobs=6, retries=2, progress=False, **METHOD)
    report = embed(run, Lazy(), progress=False, **METHOD)
    assert len(report.kept) == 5


def test_ctrl_c_keeps_what_is_done_and_cancels_the_rest(run: Path):
    class Waiting(Done):
        def __init__(self, lazy: Lazy) -> None:
            self._lazy = lazy

        def done(self) -> bool:
            return False

        def cancel(self) -> bool:
            self._lazy.cancelled += 1
            return True

    def spoil(lazy: Lazy, number: int, function: Any, *args: Any) -> Any:
        return Done(function(*args)) if number <= 2 else Waiting(lazy)

    def interrupt(event: l2g.Event) -> None:
        if event.done == 2:
            raise KeyboardInterrupt

    lazy = Lazy(spoil)
    with pytest.raises(KeyboardInterrupt):
        embed(run, lazy, jobs=6, progress=interrupt, **METHOD)
    assert lazy.cancelled > 0
    assert len(embed(run, Lazy(), progress=False, **METHOD).kept) == 2


def test_another_version_is_refused_by_name(run: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(worker, "__version__", "0.0.1")
    found = r"workers have another local2global than .* here: .*:\d+ has 0\.0\.1"
    with pytest.raises(l2g.ClusterError, match=found):
        embed(run, Lazy(), progress=False, **METHOD)
    orders = worker.Orders(l2g.__version__, 0, 1, 0)
    assert "it has local2global 0.0.1, and needs" in str(worker.train(b"", orders).error)


def test_a_child_that_takes_too_much_memory_fails_alone(run: Path, tmp_path: Path):
    jobs = l2g._native.PatchJobs.open(run, METHOD)
    jobs.write([0], tmp_path / "job.l2g")
    orders = worker.Orders(l2g.__version__, 0, 1, 1 << 20)
    outcome = worker.train((tmp_path / "job.l2g").read_bytes(), orders)
    assert outcome.error is not None
    assert "child" in outcome.error
    broken = worker.train(b"no bundle", worker.Orders(l2g.__version__, 0, 1, 0))
    assert "is no bundle, or is damaged" in str(broken.error)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")
def test_a_child_ends_with_its_worker(home: Path, run: Path, tmp_path: Path):
    jobs = l2g._native.PatchJobs.open(run, {"method": "vgae", "dim": 8, "epochs": 10_000_000})
    jobs.write([0], tmp_path / "endless.l2g")
    code = (
        "import sys; from local2global.cluster import worker; import local2global as l2g\n"
        "worker.train(sys.argv[1], worker.Orders(l2g.__version__, 0, 1, 0, sys.argv[2]))"
    )
    marks = [str(tmp_path / "endless.l2g"), str(tmp_path / "results")]
    lonely = subprocess.Popen([sys.executable, "-c", code, *marks])

    def children() -> list[str]:
        found = []
        for entry in Path("/proc").iterdir():
            try:
                words = (entry / "cmdline").read_bytes().decode().split("\0")
            except (OSError, UnicodeDecodeError):
                continue
            if "_child.py" in " ".join(words) and marks[0] in words:
                found.append(entry.name)
        return found

    def wait_for(holds: Any) -> None:
        ends = time.monotonic() + LIMIT
        while not holds():
            assert time.monotonic() < ends
            time.sleep(0.02)

    wait_for(children)
    lonely.kill()
    lonely.wait()
    wait_for(lambda: not children())


def test_wrong_arguments_are_told(run: Path):
    with pytest.raises(TypeError, match="executor is a list; it must have `submit"):
        embed(run, [], progress=False)
    with pytest.raises(ValueError, match="memory is 'much'"):
        embed(run, Lazy(), memory="much", progress=False)
    with pytest.raises(l2g.ConfigError, match=r"embed\.epocs"):
        embed(run, Lazy(), progress=False, epocs=3)
    with pytest.raises(l2g.BundleError, match="method `given`"):
        embed(run, Lazy(), progress=False, method="given", coordinates="there")


def test_ray_is_an_executor(run: Path, home: Path):
    """Ray itself is large; this is what the adapter uses of it."""

    class Reference:
        def __init__(self, future: Future[Any]) -> None:
            self._future = future

        def future(self) -> Future[Any]:
            return self._future

    class FakeRay:
        def __init__(self) -> None:
            self.options: dict[str, Any] = {}
            self.pool = ThreadPoolExecutor(2)

        def cluster_resources(self) -> dict[str, float]:
            return {"CPU": 2.0, "memory": 1e9}

        def remote(self, **options: Any) -> Any:
            self.options = options
            pool = self.pool

            def decorate(function: Any) -> Any:
                class Remote:
                    @staticmethod
                    def remote(*args: Any) -> Reference:
                        return Reference(pool.submit(function, *args))

                return Remote

            return decorate

    ray = FakeRay()
    report = embed(run, RayExecutor(ray, num_cpus=1), progress=False, **METHOD)
    assert report.embedded == list(range(NUM_PATCHES))
    assert ray.options == {"max_retries": 0, "num_cpus": 1}
    assert_trained(run, home)


@pytest.mark.skipif(sys.platform == "win32", reason="workers are killed by a signal of Unix")
def test_a_dask_worker_that_is_killed_loses_nothing(run: Path, home: Path, tmp_path: Path):
    """A scheduler and two workers, all of them processes; one is killed while it trains."""
    distributed = pytest.importorskip("distributed")
    started = tmp_path / "started"
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            host="127.0.0.1",
            local_directory=str(tmp_path),
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())

        def kill_one() -> None:
            while not started.exists():
                time.sleep(0.01)
            os.kill(pids[0], signal.SIGKILL)

        killer = threading.Thread(target=kill_one)
        killer.start()

        def watch(event: l2g.Event) -> None:
            if event.done:
                started.touch()

        report = embed(run, client, jobs=NUM_PATCHES, progress=watch, **METHOD)
        killer.join()
    assert report.embedded == list(range(NUM_PATCHES))
    assert report.jobs <= 4 * NUM_PATCHES
    assert_trained(run, home)
