#!/usr/bin/env python3
"""Compares what `l2g run --dry-run` tells with what each stage takes: memory, disk and time.

    benchmarks/dry_run.py [--l2g target/release/l2g] [--folder DIR] [CASE ...]

Graphs are generated, one for each of the usual methods and some sizes. Every stage is run on its own.
Memory is the largest `RssAnon` of the process, looked at every millisecond; time is what the system counts
for the process if the machine is busy (`cpu`), beside the time that passes. Prints told / found; a figure
is honest if it lies between 0.67 and 1.5.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STAGES = {
    "graph": "1-graph",
    "partition": "2-partition",
    "patch": "3-patches",
    "embed": "4-embeddings",
    "align": "5-alignment",
    "evaluate": "6-evaluation",
}

# How the graph is generated, and the settings of the run.
CASES = {
    "spectral": (["block-model", "--nodes", "50000", "--communities", "100"], ["embed.method=spectral", "embed.dim=32"]),
    "walks": (["geometric", "--nodes", "60000"], ["embed.dim=32"]),
    "hops": (
        ["block-model", "--nodes", "20000", "--communities", "40", "--features", "500"],
        ["embed.dim=64", "graph.hold_out=0.1"],
    ),
    "vgae": (
        ["block-model", "--nodes", "20000", "--communities", "20", "--features", "500"],
        ["embed.method=vgae", "embed.dim=16", "embed.epochs=20"],
    ),
    "large": (["block-model", "--nodes", "300000", "--communities", "300"], ["embed.method=spectral", "embed.dim=32"]),
    "large-walks": (["block-model", "--nodes", "300000", "--communities", "300"], ["embed.dim=64"]),
}


def run(program: str, arguments: list[str], folder: Path) -> dict:
    """Runs a command; its output, peak of anonymous memory, and seconds."""
    started = time.time()
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen([program, *arguments], cwd=folder, stdout=output)
        peak = 0
        while True:
            try:
                status = Path(f"/proc/{child.pid}/status").read_text()
                lines = [line for line in status.splitlines() if line.startswith("RssAnon")]
                peak = max([peak, *(int(line.split()[1]) * 1024 for line in lines)])
            except OSError:
                pass
            done, code, usage = os.wait4(child.pid, os.WNOHANG)
            if done:
                break
            time.sleep(0.001)
        child.returncode = code
        if code:
            sys.exit(f"failed: {arguments}")
        output.seek(0)
        text = output.read().decode()
    return {
        "text": text,
        "peak": peak,
        "seconds": time.time() - started,
        "cpu": usage.ru_utime + usage.ru_stime,
    }


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def measure(program: str, name: str, folder: Path) -> None:
    generator, settings = CASES[name]
    run(program, ["generate", *generator, "--out", "graph.npz", "-q"], folder)
    pairs = [word for pair in settings for word in ("--set", pair)]
    whole = ["run", "graph.npz", "--out", "run", "--json", "-q", *pairs]
    plan = json.loads(run(program, [*whole, "--dry-run"], folder)["text"])
    run(program, whole, folder)
    for planned in plan["stages"]:
        stage = planned["stage"]
        written = size(folder / "run" / STAGES[stage])
        arguments = [stage, "run", "-q"]
        if stage == "graph":
            arguments = ["graph", "graph.npz", "--config", "run/run.toml", "--out", "again", "-q"]
        if stage == "embed":
            shutil.rmtree(folder / "run" / STAGES[stage])
        found = run(program, arguments, folder)
        ratio = lambda told, found: f"{told / max(found, 1e-9):5.2f}"  # noqa: E731
        print(
            f"{name:12} {stage:10}"
            f" memory {planned['memory_bytes'] / 1e6:8.1f} {found['peak'] / 1e6:8.1f} MB"
            f" {ratio(planned['memory_bytes'], found['peak'])}"
            f"   disk {planned['disk_bytes'] / 1e6:8.2f} {written / 1e6:8.2f} MB {ratio(planned['disk_bytes'], written)}"
            f"   time {planned['seconds']:7.2f} {found['seconds']:7.2f} s (cpu {found['cpu']:7.2f})"
            f" {ratio(planned['seconds'], found['seconds'])}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--l2g", default="target/release/l2g")
    parser.add_argument("--folder", help="where to work [default: a temporary folder]")
    parser.add_argument("cases", nargs="*", default=list(CASES), metavar="CASE")
    arguments = parser.parse_args()
    program = str(Path(arguments.l2g).resolve())
    for name in arguments.cases or CASES:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            measure(program, name, Path(folder))


if __name__ == "__main__":
    main()
