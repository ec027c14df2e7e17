"""Python and the command line give the same bytes for the same settings."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import local2global as l2g

FILES = [
    "1-graph/indices.npy",
    "2-partition/clusters.npy",
    "3-patches/patch-00002.npy",
    "3-patches/patch_graph.npy",
    "4-embeddings/patch-00002.npy",
    "5-alignment/embedding.npy",
    "5-alignment/no_trans.npy",
]


def run(command_line: str, *arguments: str) -> None:
    subprocess.run([command_line, "--quiet", "run", *arguments], check=True)


def assert_same(first: Path, second: Path) -> None:
    for name in FILES:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


@pytest.mark.parametrize("method", ["vgae", "dgi", "spectral"])
def test_cora_by_name(command_line: str, method: str, tmp_path: Path):
    pairs = [f"embed.method={method}", "embed.dim=8", "embed.epochs=10", "partition.clusters=5"]
    options = [part for pair in pairs for part in ("--set", pair)]
    run(command_line, "cora", "--seed", "3", "--out", str(tmp_path / "cli"), *options)
    model = l2g.Local2Global(
        dim=8, method=method, patches=5, random_state=3, epochs=10, run_dir=tmp_path / "python"
    ).fit("cora")
    assert_same(tmp_path / "cli", tmp_path / "python")
    expected = np.load(tmp_path / "cli/5-alignment/embedding.npy")
    assert model.embedding_.tobytes() == expected.tobytes()
    # And the settings of the one repeat the other.
    settings = str(tmp_path / "python/run.toml")
    run(command_line, "--config", settings, "--out", str(tmp_path / "again"))
    assert_same(tmp_path / "cli", tmp_path / "again")


def test_an_array_is_the_same_as_its_file(command_line: str, tmp_path: Path):
    edges = l2g.read_graph("cora").edge_index
    np.save(tmp_path / "edges.npy", edges)
    options = ["--set", "embed.method=spectral", "--set", "embed.dim=4"]
    run(command_line, str(tmp_path / "edges.npy"), "--out", str(tmp_path / "cli"), *options)
    model = l2g.Local2Global(dim=4, method="spectral", run_dir=tmp_path / "python").fit(edges)
    assert_same(tmp_path / "cli", tmp_path / "python")
    assert model.embedding_.shape == (2485, 4)
