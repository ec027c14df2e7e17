"""The stages within a limit of memory: seconds and peak of each, on a generated graph.

Generates a block model as Parquet parts (20 neighbours a node, communities of 5000 nodes, a fifth of the
edges anywhere), and runs the stages one by one with `--memory`, each under a limit of the system that
counts all memory of its own (RLIMIT_DATA, as `prlimit --data` sets it). The peak is that of anonymous
memory (RssAnon), looked at 20 times a second; mapped files do not count. Processor time beside the
seconds tells them from what else a busy machine does. `--compare` makes the graph without
a limit too, and compares every array. Needs Linux, Python and the built binary:

    cargo build --release
    python benchmarks/memory/run.py --edges 10000000 --memory 64M --compare
    python benchmarks/memory/run.py --edges 300000000 --memory 1G --compare --work /large/disk
    python benchmarks/memory/run.py --edges 1000000000 --memory 4G --data 5G --stages graph,partition,patch
    python benchmarks/memory/run.py --edges 300000000 --memory 4G --method spectral --dim 32 --stages all

A line of JSON with machine and date goes to standard output at the end; results.md keeps such runs.
"""

import argparse
import datetime
import hashlib
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
STAGES = ["graph", "partition", "patch", "embed", "align", "evaluate"]


def num_bytes(size: str) -> int:
    """The bytes of a size such as 64M."""
    return int(float(size[:-1]) * UNITS[size[-1]]) if size[-1] in UNITS else int(size)


def digests(folder: Path) -> dict[str, str]:
    """The digest of every array in a folder, and of the description of the graph."""
    found = {}
    for path in sorted(folder.iterdir()):
        if path.suffix in {".npy", ".parquet"} or path.name == "graph.json":
            with path.open("rb") as file:
                found[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def anonymous_bytes(process: int) -> int:
    """The memory of its own that a process has now; 0 if it is gone."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    lines = [line.split() for line in status.splitlines() if line.startswith("RssAnon:")]
    return int(lines[0][1]) << 10 if lines else 0


def measure(command: list[str], data_limit: int | None) -> dict[str, float]:
    """Runs a command and tells its seconds, those of the processor, and its peak of anonymous memory."""

    def limit() -> None:
        if data_limit is not None:
            resource.setrlimit(resource.RLIMIT_DATA, (data_limit, data_limit))

    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=limit)
    peak, over = 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not over.wait(0.05):
            peak = max(peak, anonymous_bytes(process.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out, _ = process.communicate()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    over.set()
    watcher.join()
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    told = json.loads(out) if out.strip().startswith("{") else {}
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": time.monotonic() - started, "cpu_seconds": cpu, "peak_bytes": peak, "told": told}


def show(name: str, found: dict[str, float], edges: int) -> None:
    """A row of the table."""
    rate = edges / found["seconds"] / 1e6
    peak = found["peak_bytes"] / (1 << 20)
    seconds = f"{found['seconds']:8.1f} s  {found['cpu_seconds']:8.1f} s of processor time"
    print(f"{name:16} {seconds}  {peak:7.0f} MiB  {rate:7.2f} million edges a second", flush=True)


def generate(l2g: str, work: Path, edges: int, parts: int) -> Path:
    """The graph, as Parquet parts, unless it is there."""
    graph = work / f"edges-{edges}"
    if not graph.exists():
        nodes = edges // 10
        kind = ["block-model", "--nodes", str(nodes), "--communities", str(max(nodes // 5000, 2))]
        made = [*kind, "--mean-degree", "20", "--seed", "1", "--format", "parquet", "--parts", str(parts)]
        found = measure([l2g, "generate", *made, "--out", str(graph), "--quiet"], None)
        show("generate", found, edges)
    return graph


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--l2g", default="target/release/l2g")
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--memory", default="64M")
    parser.add_argument("--data", help="the limit of the system; a fifth above --memory by default")
    parser.add_argument("--stages", default="graph", help="some of " + ",".join(STAGES) + ", or all")
    parser.add_argument("--method", default="spectral")
    parser.add_argument("--partitioner", default="buffered")
    parser.add_argument("--dim", default="32")
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--work", type=Path, help="where to work, and to keep the generated graph")
    args = parser.parse_args()
    data = num_bytes(args.data) if args.data else num_bytes(args.memory) * 6 // 5
    stages = STAGES if args.stages == "all" else args.stages.split(",")
    with tempfile.TemporaryDirectory(dir=args.work) as temporary:
        work = args.work or Path(temporary)
        graph = generate(args.l2g, work, args.edges, args.parts)
        run = Path(temporary) / "run"
        common = ["--memory", args.memory, "--json", "--quiet"]
        dim = ["--dim", args.dim]
        commands = {
            "graph": ["graph", str(graph), "--out", str(run)],
            "partition": ["partition", str(run), "--method", args.partitioner, *dim],
            "patch": ["patch", str(run), *dim],
            "embed": ["embed", str(run), "--method", args.method, *dim],
            "align": ["align", str(run)],
            "evaluate": ["evaluate", str(run)],
        }
        record = {
            "date": datetime.date.today().isoformat(),
            "machine": machine(),
            "edges": args.edges,
            "memory": args.memory,
            "data_bytes": data,
            "stages": {},
        }
        for stage in stages:
            found = measure([args.l2g, *commands[stage], *common], data)
            show(stage, found, args.edges)
            rounded = {key: round(found[key], 1) for key in ("seconds", "cpu_seconds")}
            record["stages"][stage] = {**rounded, "peak_bytes": found["peak_bytes"]}
            if stage == "patch":
                told = {key: found["told"].get(key) for key in ("patches", "oversampling", "edges_in_no_patch")}
                record["patches"] = told
        if args.compare:
            free = Path(temporary) / "free"
            found = measure([args.l2g, "graph", str(graph), "--out", str(free), "--json", "--quiet"], None)
            show("graph, no limit", found, args.edges)
            record["seconds_without_limit"] = round(found["seconds"], 1)
            record["same_bytes"] = digests(free / "1-graph") == digests(run / "1-graph")
        record["disk_bytes"] = sum(path.stat().st_size for path in run.rglob("*") if path.is_file())
        shutil.rmtree(run)
        print(json.dumps(record))
        if record.get("same_bytes") is False:
            sys.exit("the graph made within the limit is another one")


def machine() -> str:
    """Processor and memory of this machine, in a few words."""
    info = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":", 1)[1].strip() for line in info if line.startswith("model name")]
    total = int(Path("/proc/meminfo").read_text().split()[1]) >> 20
    return f"{len(names)} x {names[0] if names else 'unknown'}, {total} GiB"


if __name__ == "__main__":
    main()
