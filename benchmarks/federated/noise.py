"""Quality against privacy: federated sites with noise, scored as `l2g evaluate` scores.

The graph is split into ten overlapping patches, each the data of one site, which trains alone without a common frame.
Sites share, the coordinator aligns, sites join, for several budgets of epsilon; the mean of their rows is scored by
link prediction on held-out edges. Rows are clipped at the median length of all rows. Secrets, and so noise, are drawn
anew; each budget is done several times. All embeddings are centred before they are scored.

    cargo build --release
    python benchmarks/federated/noise.py cora --repeats 3
    python benchmarks/federated/noise.py amazon-photo --data DIR --repeats 3

Prints a table in Markdown and a line of JSON. Needs NumPy and the built binary.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

DELTA = 1e-6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("graph")
    parser.add_argument("--data", default=".")
    parser.add_argument("--binary", default="target/release/l2g")
    parser.add_argument("--dim", type=int, default=16)
    parser.add_argument("--sites", type=int, default=10)
    parser.add_argument("--method", default="hops")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--epsilons", default="1,3,10,30,100")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        Experiment(arguments, Path(folder)).run()


class Experiment:
    """One graph, its sites, and their folders."""

    def __init__(self, arguments: argparse.Namespace, folder: Path) -> None:
        self.arguments = arguments
        self.folder = folder
        self.binary = str(Path(arguments.binary).resolve())
        self.data = str(Path(arguments.data).resolve())
        self.settings = ["--set", f"embed.dim={arguments.dim}", "--set", f"embed.method={arguments.method}"]
        self.settings += ["--set", "embed.frame=none"]
        self.settings += ["--set", f"partition.clusters={arguments.sites}"]

    def l2g(self, *words: str) -> dict:
        """The record that a command prints."""
        command = [self.binary, *words, "--json", "--quiet"]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(done.stderr)
        return json.loads(done.stdout)

    def run(self) -> None:
        """Trains the sites, and goes through all budgets."""
        graph = ["graph", self.arguments.graph, "--data", self.data, "--out", "run", "--hold-out", "0.1"]
        self.l2g(*graph, *self.settings)
        for stage in ("partition", "patch", "embed", "align"):
            self.l2g(stage, "run", *self.settings)
        (self.folder / "key").write_text("a key for the benchmark only\n")
        self.sites = sorted(path.stem for path in (self.folder / "run/4-embeddings").glob("patch-*.npy"))
        rows = np.concatenate([self.rows(site) for site in self.sites])
        self.clip = float(np.median(np.linalg.norm(rows, axis=1)))
        for site in self.sites:
            first = ["--nodes", self.nodes(site), "--name", site, "--ids-only", "--out", f"ids/{site}"]
            self.l2g("share", *first, "--key", "key")
        scores = {"open data": [self.score()]}
        budgets = [float(epsilon) for epsilon in self.arguments.epsilons.split(",")]
        for epsilon in [None, *reversed(budgets)]:
            name = "no noise" if epsilon is None else f"{epsilon:g}"
            repeats = 1 if epsilon is None else self.arguments.repeats
            scores[name] = [self.federated(epsilon) for _ in range(repeats)]
        unaligned = self.folder / "run/5-alignment/no_trans.npy"
        scores["unaligned"] = [self.score(np.load(unaligned))]
        self.show(scores)

    def nodes(self, site: str) -> str:
        return f"run/3-patches/{site}.npy"

    def rows(self, site: str) -> np.ndarray:
        return np.load(self.folder / f"run/4-embeddings/{site}.npy").astype(float)

    def federated(self, epsilon: float | None) -> dict:
        """Goes through the second round and scores the mean of all joined rows."""
        for folder in ("shares", "frame", "joined"):
            shutil.rmtree(self.folder / folder, ignore_errors=True)
        budget = ["--epsilon", f"{epsilon}", "--delta", f"{DELTA}", "--clip", f"{self.clip}"]
        noise = [] if epsilon is None else budget
        sigma = None
        for site in self.sites:
            (self.folder / f"{site}.npz").unlink(missing_ok=True)
            out = ["--key", "key", "--with", "ids", "--out", f"shares/{site}"]
            share = self.l2g("share", *self.files(site), *out, *noise)
            sigma = share["privacy"]["sigma"] if epsilon is not None else None
        found = self.l2g("align", "--shares", "shares", "--out", "frame")
        nodes = len(np.load(self.folder / "run/1-graph/ids.npy"))
        sums, counts = np.zeros((nodes, self.arguments.dim)), np.zeros((nodes, 1))
        for site in self.sites:
            self.l2g("join", *self.files(site), "--frame", "frame", "--out", f"joined/{site}")
            own = np.load(self.folder / self.nodes(site))
            sums[own] += np.load(self.folder / f"joined/{site}/embedding.npy")
            counts[own] += 1
        return self.score(sums / counts) | {"sigma": sigma, "misfit": found["misfit_after"]}

    def files(self, site: str) -> list[str]:
        coords = f"run/4-embeddings/{site}.npy"
        return ["--nodes", self.nodes(site), "--coords", coords, "--name", site, "--secret", f"{site}.npz"]

    def score(self, embedding: np.ndarray | None = None) -> dict:
        """Scores an embedding in a folder of its own."""
        run = self.folder / "scored"
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(self.folder / "run", run)
        path = run / "5-alignment/embedding.npy"
        rows = np.load(path) if embedding is None else embedding
        # The origin of a federated frame is arbitrary, and inner products depend on it.
        np.save(path, (rows - rows.mean(axis=0)).astype(np.float32))
        (run / "5-alignment/stage.json").unlink(missing_ok=True)
        self.l2g("evaluate", "scored", "--set", "evaluate.repeats=10")
        scores = json.loads((run / "6-evaluation/scores.json").read_text())
        links = scores["link_prediction"]["best"]["l2g"]["auc"]
        return {"links": links, "accuracy": scores["classification"]["accuracy"]["l2g"]["mean"]}

    def show(self, scores: dict[str, list[dict]]) -> None:
        """Prints the table, and one line of JSON."""
        columns = ["links", "accuracy", "misfit"]
        print("| epsilon | sigma / clip | link AUC | accuracy | misfit of shared rows |")
        print("| --- | --- | --- | --- | --- |")
        for name, found in scores.items():
            sigma = found[0].get("sigma")
            cells = [name, "" if sigma is None else f"{sigma / self.clip:.2f}"]
            for column in columns:
                values = [result[column] for result in found if column in result]
                cells.append(f"{np.mean(values):.3f}" if values else "")
                if len(values) > 1:
                    cells[-1] += f" ± {np.std(values, ddof=1):.3f}"
            print("| " + " | ".join(cells) + " |")
        shared = {"graph": self.arguments.graph, "dim": self.arguments.dim, "sites": len(self.sites)}
        print(json.dumps(shared | {"clip": self.clip, "delta": DELTA, "scores": scores}))


if __name__ == "__main__":
    main()
