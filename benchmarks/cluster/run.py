"""Patches on Dask workers of this machine: same bytes, killed workers, overhead, memory.

    python benchmarks/cluster/run.py deaths|strangers|overhead|photo|many [--l2g PATH] [--work DIR]

`deaths`     a generated graph in 200 patches, three workers, one of them killed ten times
`strangers`  the same with workers that are another user and cannot read the run folder
`overhead`   1000 patches of 200 nodes, two workers of one thread against `l2g embed --threads 2`
`photo`      Amazon Photo (in $L2G_DATA) in 20 patches: `deaths` on it, and what `bundle` and `collect`
             take beside training
`many`       10 000 patches into bundles: time and memory

Python has to be one with this package and `distributed`, and `--python` one that the other user of
`strangers`, `nobody`, may run, such as /usr/bin/python3 (as root). `--small` makes everything a tenth as large.
"""

import argparse
import collections
import json
import os
import random
import shutil
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Machine:
    """Where things are, and how commands are run."""

    def __init__(self, options):
        self.l2g, self.python = options.l2g, options.python
        self.work = Path(options.work).resolve()
        self.scale = 10 if options.small else 1
        self.work.mkdir(parents=True, exist_ok=True)

    def command(self, *words):
        """Run l2g, and give its record with the seconds that it took."""
        started = time.perf_counter()
        done = subprocess.run(
            [self.l2g, *map(str, words), "--json", "--quiet"], capture_output=True, text=True
        )
        if done.returncode:
            sys.exit(f"l2g {' '.join(map(str, words))}: {done.stderr}")
        return {**json.loads(done.stdout), "wall": time.perf_counter() - started}

    def patched(self, name, graph, clusters, dim, *more):
        """Give a run that has patches, made unless it is there."""
        run = self.work / name
        if not (run / "3-patches/patches.json").exists():
            shutil.rmtree(run, ignore_errors=True)
            self.command("graph", graph, "--out", run, *more)
            self.command("partition", run, "--clusters", clusters, "--dim", dim, *more)
            self.command("patch", run, "--dim", dim, *more)
        return run

    def copy(self, run, name):
        """Give a copy of a run without coordinates."""
        copy = self.work / name
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(run, copy, ignore=shutil.ignore_patterns("4-embeddings", ".lock"))
        return copy

    def generated(self):
        """Give a graph of 200 000 nodes in 200 patches."""
        file = self.work / "blocks.npz"
        if not file.exists():
            nodes = 200_000 // self.scale
            arguments = ["--nodes", nodes, "--communities", 50, "--mean-degree", 10]
            self.command("generate", "block-model", *arguments, "--out", file)
        return self.patched("blocks", file, 200 // self.scale, 32)


class Dask:
    """A scheduler and workers on this machine, each a process of its own."""

    def __init__(self, machine, workers, user=None):
        self.folder = machine.work / "dask"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        self.counted = self.folder / "counted.txt"
        self.counted.touch()
        self.user, self.python = user, machine.python
        self.folder.chmod(0o777)
        self.counted.chmod(0o666)
        self.address = f"tcp://127.0.0.1:{random.randint(20000, 50000)}"
        self.scheduler = self._start("scheduler", "--port", self.address.rpartition(":")[2])
        self.workers = [self._worker(number) for number in range(workers)]

    def _start(self, kind, *arguments, user=None):
        packages = [Path(find_spec(name).origin).parents[1] for name in ("local2global", "distributed")]
        path = os.pathsep.join(map(str, [HERE, *packages]))
        environment = {**os.environ, "PYTHONPATH": path, "L2G_COUNTED": str(self.counted)}
        log = open(self.folder / f"{kind}.log", "a")
        command = [self.python, "-m", "distributed.cli.dask_" + kind, "--no-dashboard"]
        return subprocess.Popen(
            [*command, "--host", "127.0.0.1", *map(str, arguments)],
            env=environment, stdout=log, stderr=log, cwd=self.folder, user=user,
        )

    def _worker(self, number):
        folder = self.folder / f"worker-{number}"
        folder.mkdir(exist_ok=True)
        folder.chmod(0o777)
        arguments = ["--nthreads", 1, "--no-nanny", "--local-directory", folder]
        return self._start("worker", self.address, *arguments, user=self.user)

    def kill_one(self):
        """Kill a worker with -9, and start another in its place."""
        number = random.randrange(len(self.workers))
        self.workers[number].kill()
        self.workers[number].wait()
        self.workers[number] = self._worker(number)

    def most_trained(self):
        """Tell how often the patch that was begun most often was."""
        return max(collections.Counter(self.counted.read_text().split()).values(), default=0)

    def __enter__(self):
        from distributed import Client

        self.client = Client(self.address, timeout=120)
        self.client.wait_for_workers(len(self.workers), timeout=120)
        return self

    def __exit__(self, *_):
        self.client.close()
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()


def embedded(machine, run, dask, kills, **options):
    """Train on workers, killing some of them on the way; the report, the seconds, how often."""
    from local2global.cluster import embed, schedule
    import counted

    schedule.train = counted.train
    total = len(list((run / "3-patches").glob("patch-?????.npy")))
    deaths = []

    def watch(event):
        while len(deaths) < kills and event.done >= (len(deaths) + 0.5) * event.total / kills:
            deaths.append(event.done)
            dask.kill_one()

    started = time.perf_counter()
    report = embed(run, dask.client, progress=watch, **options)
    seconds = time.perf_counter() - started
    assert len(report.embedded) == total, report
    return report, seconds, len(deaths)


def same_bytes(first, second):
    files = sorted((first / "4-embeddings").glob("patch-*.np[yz]"))
    assert files
    return all(file.read_bytes() == (second / "4-embeddings" / file.name).read_bytes() for file in files)


def deaths(machine, run=None, method=("spectral", 32, 0), user=None):
    run = run or machine.generated()
    method, dim, epochs = method
    settings = {"method": method, "dim": dim, **({"epochs": epochs} if epochs else {})}
    words = [word for key, value in settings.items() for word in (f"--{key}", value)]
    home, away = machine.copy(run, "home"), machine.copy(run, "away")
    here = machine.command("embed", home, "--threads", 2, *words)["wall"]
    if user is not None:
        # Nobody but us sees the run folder; the graph is not there at all.
        away.chmod(0o700)
    with Dask(machine, 3, user) as dask:
        if user is not None:
            refused = dask.client.run(os.access, str(away), os.R_OK)
            assert not any(refused.values()), "workers can read the run folder"
        jobs = len(list((run / "3-patches").glob("patch-?????.npy")))
        report, seconds, kills = embedded(machine, away, dask, 10, jobs=jobs, **settings)
        most = dask.most_trained()
    print(f"{jobs} patches, {method} d={dim}: {here:.1f} s at home, {seconds:.1f} s on 3 workers with "
          f"{kills} killed; {report.jobs} jobs; trained at most {most} times; "
          f"same bytes: {same_bytes(home, away)}")


def strangers(machine):
    deaths(machine, user=65534)


def overhead(machine):
    file = machine.work / "small.npz"
    nodes = 200_000 // machine.scale
    if not file.exists():
        machine.command("generate", "block-model", "--nodes", nodes, "--communities", 100,
                        "--mean-degree", 10, "--out", file)
    settings = ["--set", "patch.landmarks=0", "--set", "patch.cover=nodes"]
    run = machine.patched("small", file, 1000 // machine.scale, 16, *settings)
    settings = {"method": "spectral", "dim": 16}
    home, away = machine.copy(run, "home"), machine.copy(run, "away")
    here = machine.command("embed", home, "--threads", 2, "--method", "spectral", "--dim", 16)["wall"]
    with Dask(machine, 2) as dask:
        report, seconds, _ = embedded(machine, away, dask, 0, **settings)
    sizes = json.loads((run / "3-patches/patches.json").read_text())
    print(f"{sizes['patches']} patches: {here:.2f} s by l2g embed --threads 2, {seconds:.2f} s on 2 "
          f"workers in {report.jobs} jobs, {seconds / here:.2f} times; same bytes: {same_bytes(home, away)}")


def photo(machine):
    data = Path(os.environ["L2G_DATA"]) / "amazon_photo.npz"
    run = machine.patched("photo", data, 20, 64)
    vgae = ["--method", "vgae", "--dim", 64]
    home, away = machine.copy(run, "home"), machine.copy(run, "away")
    trained = machine.command("embed", home, "--threads", 2, *vgae)["wall"]
    bundles, results = machine.work / "bundles", machine.work / "results"
    shutil.rmtree(results, ignore_errors=True)
    bundled = machine.command("bundle", away, "--out", bundles, "--jobs", 20, *vgae)
    for bundle in sorted(bundles.glob("job-*.l2g")):
        machine.command("embed", "--bundle", bundle, "--out", results, "--threads", 2)
    collected = machine.command("collect", away, results, *vgae)
    share = (bundled["wall"] + collected["wall"]) / trained
    size = sum(job["bytes"] for job in bundled["jobs"])
    print(f"Photo, vgae d=64: training {trained:.1f} s, bundle {bundled['wall']:.2f} s ({size / 1e6:.1f} MB), "
          f"collect {collected['wall']:.2f} s: {100 * share:.1f} %; same bytes: {same_bytes(home, away)}")
    deaths(machine, run, ("vgae", 64, 0))


def many(machine):
    file = machine.work / "many.npz"
    nodes = 2_000_000 // machine.scale
    if not file.exists():
        machine.command("generate", "block-model", "--nodes", nodes, "--communities", 1000,
                        "--mean-degree", 10, "--out", file)
    settings = ["--set", "patch.landmarks=0", "--set", "patch.cover=nodes"]
    run = machine.patched("many", file, 10_000 // machine.scale, 16, *settings)
    for jobs in [10_000 // machine.scale, 64]:
        record = machine.command("bundle", run, "--out", machine.work / "bundles", "--jobs", jobs,
                                 "--method", "spectral", "--dim", 16)
        count, seconds = record["patches"], record["wall"]
        size = sum(job["bytes"] for job in record["jobs"])
        print(f"{count} patches in {len(record['jobs'])} bundles: {seconds:.2f} s, "
              f"{1000 * seconds / count:.2f} ms a patch, {record['peak_bytes'] / 2**20:.0f} MiB at most, "
              f"{size / 1e6:.0f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["deaths", "strangers", "overhead", "photo", "many"])
    parser.add_argument("--l2g", default="target/release/l2g")
    parser.add_argument("--work", default="/tmp/l2g-cluster")
    parser.add_argument("--python", default=sys.executable, help="the Python of scheduler and workers")
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    globals()[options.what](Machine(options))
    print(f"load before: {load:.1f} on {os.cpu_count()} processors")


if __name__ == "__main__":
    main()
