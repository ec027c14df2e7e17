"""A graph made within a limit of memory: seconds, peak, and the same bytes as without a limit.

Generates a block model as Parquet tables in a folder, reads them with `l2g graph` without a limit and with
`--memory`, the second under a limit of the system (RLIMIT_DATA, as `prlimit --data` sets it) that is a
fifth above, and compares all files. Needs Linux, Python and the built binary:

    cargo build --release
    python benchmarks/memory.py --edges 10000000 --memory 64M
    python benchmarks/memory.py --edges 300000000 --memory 1G --out /large/disk
"""

import argparse
import hashlib
import json
import resource
import subprocess
import tempfile
import time
from pathlib import Path

UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def num_bytes(size: str) -> int:
    """The bytes of a size such as 64M."""
    return int(float(size[:-1]) * UNITS[size[-1]]) if size[-1] in UNITS else int(size)


def digests(folder: Path) -> dict[str, str]:
    """The digest of every array in a folder, and of the description of the graph."""
    found = {}
    for path in sorted(folder.iterdir()):
        if path.suffix == ".npy" or path.name == "graph.json":
            with path.open("rb") as file:
                found[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def read(l2g: str, graph: Path, out: Path, memory: str | None) -> dict[str, object]:
    """Reads a graph, with or without a limit, and tells what it took."""
    command = [l2g, "graph", str(graph), "--out", str(out), "--json", "--quiet"]
    limit = None
    if memory is not None:
        command += ["--memory", memory]
        data = num_bytes(memory) * 6 // 5

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_DATA, (data, data))

    started = time.monotonic()
    done = subprocess.run(command, check=True, capture_output=True, text=True, preexec_fn=limit)
    seconds = time.monotonic() - started
    counts = json.loads(done.stdout)
    return {"seconds": seconds, "edges": counts["edges"], "nodes": counts["nodes"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--l2g", default="target/release/l2g")
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--memory", default="64M")
    parser.add_argument("--out", type=Path, help="where to work; a temporary folder by default")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.out) as work:
        graph = Path(work) / "edges"
        nodes = args.edges // 10
        kind = ["block-model", "--nodes", str(nodes), "--communities", str(max(nodes // 5000, 2))]
        made = [*kind, "--mean-degree", "20", "--seed", "1", "--out", str(graph), "--parts", "8", "--quiet"]
        subprocess.run([args.l2g, "generate", *made], check=True)
        free = read(args.l2g, graph, Path(work) / "free", None)
        within = read(args.l2g, graph, Path(work) / "within", args.memory)
        same = digests(Path(work) / "free" / "1-graph") == digests(Path(work) / "within" / "1-graph")
        for name, told in [("no limit", free), (f"--memory {args.memory}", within)]:
            rate = told["edges"] / told["seconds"] / 1e6
            print(f"{name:16} {told['seconds']:7.1f} s  {rate:5.1f} million edges a second")
        print(f"{free['nodes']} nodes, {free['edges']} edges; same bytes: {same}")
        if not same:
            raise SystemExit(1)


if __name__ == "__main__":
    main()
