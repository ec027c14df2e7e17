"""What calling the aligner from Python costs on top of the library itself.

Patches of known points, each turned and shifted, p = 100 and d = 64 unless told otherwise:

    python benchmarks/python_align.py [PATCHES] [DIM]

The seconds inside the library are measured by the library; the rest of the wall time is the
binding: checking arguments, handing over arrays, starting threads, waiting. Build the module
with `pip install ./python` first: a debug build slows the library down, not the binding.
"""

import json
import resource
import sys
import time

import numpy as np

import local2global as l2g


def moved_patches(num_patches: int, dim: int, seed: int = 0) -> tuple[np.ndarray, list]:
    """Make patches of a ring with chords: each shares 2 (d + 1) nodes with four others."""
    rng = np.random.default_rng(seed)
    shared, own = 2 * (dim + 1), 4 * (dim + 1)
    pairs = [(i, (i + step) % num_patches) for i in range(num_patches) for step in (1, 7)]
    nodes: list[list[np.ndarray]] = [[] for _ in range(num_patches)]
    for number, (i, j) in enumerate(pairs):
        both = number * shared + np.arange(shared)
        nodes[i].append(both)
        nodes[j].append(both)
    total = len(pairs) * shared
    for i in range(num_patches):
        nodes[i].append(total + i * own + np.arange(own))
    truth = rng.normal(size=(total + num_patches * own, dim))
    patches = []
    for parts in nodes:
        rows = np.concatenate(parts)
        turn, _ = np.linalg.qr(rng.normal(size=(dim, dim)))
        patches.append(l2g.Patch(rows, truth[rows] @ turn + rng.normal(size=dim)))
    return truth, patches


def error(found: np.ndarray, truth: np.ndarray) -> float:
    """Give the relative distance after the best rigid motion."""
    a, b = found - found.mean(axis=0), truth - truth.mean(axis=0)
    u, _, vt = np.linalg.svd(a.T @ b)
    return float(np.linalg.norm(a @ (u @ vt) - b) / np.linalg.norm(b))


def measure(patches: list) -> tuple[np.ndarray, float, float]:
    """Align once: the embedding, wall seconds, and seconds inside the library."""
    started = time.perf_counter()
    problem = l2g.WeightedAlignmentProblem(patches).align_patches()
    native = problem._aligned().native
    out = np.empty((native.num_nodes, native.dim))
    inside = native.embedding(out)
    return out, time.perf_counter() - started, native.seconds + inside


def main() -> None:
    """Print one JSON object with the best of several runs."""
    num_patches, dim = (int(text) for text in (sys.argv[1:] + ["100", "64"][len(sys.argv) - 1 :]))
    truth, patches = moved_patches(num_patches, dim)
    megabytes = sum(patch.coordinates.nbytes for patch in patches) / 2**20
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    runs = [measure(patches) for _ in range(9)]
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    walls, insides = (np.array([run[place] for run in runs]) for place in (1, 2))
    print(
        json.dumps(
            {
                "patches": num_patches,
                "dim": dim,
                "input_megabytes": round(megabytes, 1),
                "peak_megabytes_added": round((after - before) / 1024, 1),
                "wall_seconds": round(float(np.median(walls)), 4),
                "library_seconds": round(float(np.median(insides)), 4),
                "overhead_percent": round(100 * float(np.median(walls / insides - 1)), 2),
                "error": error(runs[0][0], truth),
            }
        )
    )


if __name__ == "__main__":
    main()
