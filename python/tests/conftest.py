"""What several tests share."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import local2global as l2g

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def cora() -> l2g.Graph:
    return l2g.read_graph("cora")


@pytest.fixture(scope="session")
def command_line() -> str:
    """The program `l2g`, as built beside the module; `L2G_BIN` says where, if not there."""
    built = os.environ.get("L2G_BIN") or shutil.which(ROOT / "target" / "debug" / "l2g")
    if not built:
        pytest.skip("the command line is not built; set L2G_BIN")
    return built


@pytest.fixture(scope="session", params=["integers", "text"])
def exported(request, tmp_path_factory, command_line: str) -> Path:
    """A finished run of a ring in 4 dimensions, exported as a Parquet table and as CSV."""
    folder = tmp_path_factory.mktemp("export")
    ring = range(40)
    name = (lambda number: f"node {number}") if request.param == "text" else (lambda number: number)
    rows = [f"{name(number)},{name((number + step) % 40)}" for number in ring for step in (1, 2)]
    (folder / "ring.csv").write_text("src,dst\n" + "\n".join(rows))
    options = ["run", "ring.csv", "--dim", "4", "--out", "run", "--quiet"]
    options += ["--export", "parquet", "--export", "csv"]
    subprocess.run([command_line, *options], cwd=folder, check=True, capture_output=True)
    return folder / "run"


def orthogonal(dim: int, rng: np.random.Generator) -> np.ndarray:
    q, r = np.linalg.qr(rng.normal(size=(dim, dim)))
    return q * np.sign(np.diag(r))


def moved_patches(
    num_patches: int, dim: int, shared: int, seed: int = 0, dtype: type = np.float64
) -> tuple[np.ndarray, list[l2g.Patch]]:
    """Points of a ring of patches, each patch in a coordinate system of its own."""
    rng = np.random.default_rng(seed)
    step = 2 * shared
    truth = rng.normal(size=(num_patches * step, dim))
    patches = []
    for number in range(num_patches):
        nodes = (number * step + np.arange(step + shared)) % len(truth)
        rows = truth[nodes] @ orthogonal(dim, rng) + rng.normal(size=dim)
        patches.append(l2g.Patch(nodes, np.ascontiguousarray(rows, dtype=dtype)))
    return truth, patches


def rigid_error(found: np.ndarray, truth: np.ndarray) -> float:
    """The relative distance after the best rigid motion."""
    a, b = found - found.mean(axis=0), truth - truth.mean(axis=0)
    u, _, vt = np.linalg.svd(a.T @ b)
    return float(np.linalg.norm(a @ (u @ vt) - b) / np.linalg.norm(b))
