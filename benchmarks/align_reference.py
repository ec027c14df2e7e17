"""The alignment of a run folder once more, in NumPy and double precision.

Reads `3-patches` and `4-embeddings`, does the steps of the paper (rotations by the singular values of
each overlap, their synchronisation by eigenvectors of the dense block matrix, translations by least
squares, the mean of the copies), and prints how far `5-alignment` is from the result.

    l2g run cora --preset paper --set embed.method=vgae --dim 128 --out runs/cora
    python benchmarks/align_reference.py runs/cora

Covers `align.method = "eigenvectors"` with `weights = "overlap"` or `"unit"`, without scales, and one
level. Memory and time are those of a dense (p d) x (p d) matrix.
"""

import argparse
import json
from pathlib import Path

import numpy as np


def read_patches(run: Path) -> list[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
    """Nodes, coordinates and node weights of each patch, in order."""
    patches = []
    count = json.loads((run / "3-patches/patches.json").read_text())["patches"]
    for index in range(count):
        name = f"patch-{index:05}"
        nodes = np.load(run / "3-patches" / f"{name}.npy")
        coords = np.load(run / "4-embeddings" / f"{name}.npy").astype(np.float64)
        weights = run / "3-patches" / f"{name}.weights.npy"
        patches.append((nodes, coords, np.load(weights).astype(np.float64) if weights.exists() else None))
    return patches


def nearest_orthogonal(matrix: np.ndarray) -> np.ndarray:
    u, _, vt = np.linalg.svd(matrix)
    return u @ vt


def relative(patches: list, i: int, j: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """The rotation from patch j to i, the means of both copies, and the number of shared nodes."""
    shared, at_i, at_j = np.intersect1d(patches[i][0], patches[j][0], return_indices=True)
    xi, xj = patches[i][1][at_i], patches[j][1][at_j]
    mean_i, mean_j = xi.mean(axis=0), xj.mean(axis=0)
    return nearest_orthogonal((xi - mean_i).T @ (xj - mean_j)), mean_i, mean_j, len(shared)


def rotations(edges: np.ndarray, measured: list, weights: np.ndarray, p: int, d: int) -> np.ndarray:
    totals = np.zeros(p)
    np.add.at(totals, edges.ravel(), np.repeat(weights, 2))
    matrix = np.zeros((p * d, p * d))
    for (i, j), (rotation, *_), weight in zip(edges, measured, weights):
        block = weight * rotation / np.sqrt(totals[i] * totals[j])
        matrix[i * d : (i + 1) * d, j * d : (j + 1) * d] = block
        matrix[j * d : (j + 1) * d, i * d : (i + 1) * d] = block.T
    values, vectors = np.linalg.eigh(matrix)
    leading = vectors[:, -d:]
    print(f"gap after the leading eigenvalues   {values[-d] - values[-d - 1]:.3e}")
    found = np.stack([nearest_orthogonal(leading[k * d : (k + 1) * d]) for k in range(p)])
    return found @ found[0].T


def translations(edges: np.ndarray, measured: list, weights: np.ndarray, turns: np.ndarray) -> np.ndarray:
    incidence = np.zeros((len(edges), len(turns)))
    incidence[np.arange(len(edges)), edges[:, 0]] = 1
    incidence[np.arange(len(edges)), edges[:, 1]] = -1
    differences = np.stack(
        [mean_j @ turns[j] - mean_i @ turns[i] for (i, j), (_, mean_i, mean_j, _) in zip(edges, measured)]
    )
    roots = np.sqrt(weights)[:, None]
    return np.linalg.lstsq(roots * incidence, roots * differences, rcond=None)[0]


def embedding(patches: list, turns: np.ndarray, shifts: np.ndarray, centroid: str) -> np.ndarray:
    num_nodes = 1 + max(int(nodes.max()) for nodes, _, _ in patches)
    sums, totals = np.zeros((num_nodes, turns.shape[1])), np.zeros(num_nodes)
    for (nodes, coords, node_weights), turn, shift in zip(patches, turns, shifts):
        weights = node_weights if centroid == "weighted" else np.ones(len(nodes))
        sums[nodes] += weights[:, None] * (coords @ turn + shift)
        totals[nodes] += weights
    return sums / totals[:, None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    run = parser.parse_args().run
    record = json.loads((run / "5-alignment/alignment.json").read_text())
    settings = record["settings"]
    if settings.get("method", "eigenvectors") != "eigenvectors" or settings["weights"] == "robust":
        parser.error("only align.method = eigenvectors with weights overlap or unit is covered")
    if settings["scale"] or record["levels"] != 1 or record["centroid"] == "median":
        parser.error("scales, levels and medians are not covered")
    applied = record.get("judgement", {}).get("applied", "as-set")
    if applied == "none" or record.get("judgement", {}).get("left_alone"):
        parser.error("patches were left where they are")
    patches = read_patches(run)
    edges = np.sort(np.load(run / "3-patches/patch_graph.npy").astype(np.int64), axis=1)
    edges = np.unique(edges, axis=0)
    p, d = len(patches), patches[0][1].shape[1]
    measured = [relative(patches, i, j) for i, j in edges]
    shared = np.array([count for *_, count in measured], dtype=np.float64)
    weights = shared if settings["weights"] == "overlap" else np.ones(len(edges))
    turns, shifts = np.broadcast_to(np.eye(d), (p, d, d)), np.zeros((p, d))
    if settings["rotate"]:
        turns = rotations(edges, measured, weights, p, d)
    if settings["translate"] and applied != "without-translations":
        unit = weights if settings["weighted_translations"] else np.ones(len(edges))
        shifts = translations(edges, measured, unit, turns)
    places = embedding(patches, turns, shifts, record["centroid"])

    found = np.load(run / "5-alignment/transforms.npz")
    stitched = np.load(run / "5-alignment/embedding.npy").astype(np.float64)
    size = np.sqrt((places**2).sum(axis=1).mean())
    print(f"patches, edges, dimensions          {p}, {len(edges)}, {d}")
    print(f"shared nodes                        {shared.min():.0f} to {shared.max():.0f}")
    print(f"largest difference of a rotation    {np.abs(found['rotations'] - turns).max():.3e}")
    print(f"  of a translation, relative        {np.abs(found['translations'] - shifts).max() / size:.3e}")
    print(f"  of a place, relative              {np.linalg.norm(stitched - places, axis=1).max() / size:.3e}")
    print(f"certificate                         {json.dumps(record.get('accuracy') or record['certificate'])}")


if __name__ == "__main__":
    main()
