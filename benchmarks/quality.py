"""Link prediction and classification, stitched beside the whole graph, unaligned and baselines.

Every row is the mean and the spread over several seeds; a seed draws its own edges to hold out, its
own patches and its own training. Needs nothing but Python and the built binary:

    cargo build --release
    python benchmarks/quality.py --data DIR                      # all rows
    python benchmarks/quality.py --data DIR --only cora-128,frame-none
    python benchmarks/quality.py --data DIR --out benchmarks/results/quality.json

DIR holds cora.npz, citeseer.npz, amazon_photo.npz and web_notredame.txt.gz; rows whose file is
missing are left out, and told. Graphs that are generated are made in the working folder.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

CONTENDERS = ["full", "l2g", "no_trans", "untrained", "smoothed", "features", "degrees"]


def rows(data: Path, work: Path) -> dict[str, tuple[str, list[str]]]:
    """The rows of the table: a graph, and settings."""
    cora, citeseer = data / "cora.npz", data / "citeseer.npz"
    photo, web = data / "amazon_photo.npz", data / "web_notredame.txt.gz"
    planted, million = work / "planted.npz", work / "million.tsv"
    plain = ["--set", "embed.method=walks"]
    table = {}
    for dim in (128, 16):
        size = ["--set", f"embed.dim={dim}"]
        for name, graph in [("cora", cora), ("citeseer", citeseer), ("photo", photo), ("planted", planted)]:
            table[f"{name}-{dim}"] = (str(graph), [*size, "--full"])
        for name, graph in [("cora", cora), ("citeseer", citeseer)]:
            none = ["--set", "embed.method=hops", "--set", "embed.frame=none"]
            table[f"frame-none-{name}-{dim}"] = (str(graph), [*size, *none, "--full"])
    vgae = ["--set", "embed.method=vgae", "--set", "embed.dim=16"]
    table["vgae-cora-16"] = (str(cora), [*vgae, "--full"])
    table["paper-cora-16"] = (str(cora), ["--preset", "paper", "--set", "embed.dim=16", "--full"])
    table["dgi-cora-128"] = (str(cora), ["--set", "embed.method=dgi", "--full"])
    table["walks-cora-128"] = (str(cora), [*plain, "--full"])
    table["walks-photo-128"] = (str(photo), [*plain, "--full"])
    table["walks-web-128"] = (str(web), [])
    table["walks-million-128"] = (str(million), [])
    return table


def generate(l2g: str, path: Path) -> None:
    """Makes a graph that a row needs."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    kinds = {
        "planted.npz": [
            "block-model", "--nodes", "100000", "--communities", "20", "--mean-degree", "20",
            "--features", "2000", "--seed", "1",
        ],
        "million.tsv": ["block-model", "--nodes", "1000000", "--communities", "500", "--mean-degree", "20", "--seed", "1"],
    }  # fmt: skip
    if path.name in kinds:
        subprocess.run([l2g, "generate", *kinds[path.name], "--out", str(path)], check=True, capture_output=True)


def score(l2g: str, graph: str, settings: list[str], seed: int, out: Path) -> dict:
    """One run: link AUC (the better of inner product and cosine), accuracy, seconds."""
    started = time.time()
    words = [l2g, "run", graph, "--hold-out", "0.1", "--seed", str(seed), "--out", str(out), "--json", *settings]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}\n{done.stderr}")
    record = json.loads(done.stdout)
    links, classes = record.get("link_prediction", {}), record.get("classification", {})
    found = {"seconds": time.time() - started, "peak_bytes": record["peak_bytes"], "choices": record.get("choices")}
    for name in CONTENDERS:
        best = links.get("best", {}).get(name)
        auc = best["auc"] if isinstance(best, dict) else best
        accuracy = classes.get("accuracy", {}).get(name)
        if auc is not None or accuracy is not None:
            found[name] = [auc, accuracy and accuracy["mean"]]
    found["reconstruction"] = record.get("auc", {})
    return found


def spread(values: list[float]) -> str:
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.mean(values):.3f} ± {deviation:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--l2g", default="target/release/l2g")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--only", help="rows, or beginnings of their names")
    parser.add_argument("--work", type=Path, default=Path("runs/quality"))
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    wanted = args.only.split(",") if args.only else [""]
    results = {}
    for name, (graph, settings) in rows(args.data, args.work).items():
        if not any(name.startswith(start) for start in wanted):
            continue
        generate(args.l2g, Path(graph))
        if not Path(graph).exists():
            print(f"{name}: left out, there is no {graph}", file=sys.stderr)
            continue
        runs = [
            score(args.l2g, graph, settings, int(seed), args.work / f"{name}-{seed}")
            for seed in args.seeds.split(",")
        ]
        results[name] = runs
        cells = []
        for contender in CONTENDERS:
            parts = [run[contender] for run in runs if contender in run]
            values = [[part[k] for part in parts if part[k] is not None] for k in (0, 1)]
            if parts:
                cells.append(f"{contender} " + " / ".join(spread(each) if each else "-" for each in values))
        seconds = statistics.median(run["seconds"] for run in runs)
        print(f"{name}: {'; '.join(cells)}; {seconds:.1f} s", flush=True)
    if args.out:
        args.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
