"""Python and the command line give the same bytes for the same settings."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
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


OURS = [sys.executable, "-m", "local2global"]


def outcome(program: list[str], *arguments: str) -> tuple[int, str, str]:
    done = subprocess.run([*program, *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--version"], 0),
        (["--help"], 0),
        (["run", "--help"], 0),
        (["run", "--nothing"], 2),
        (["run", "cora", "--set", "embed.epocs=3"], 2),
        (["graph", "nowhere.csv", "--json"], 1),
        ([], 2),
    ],
)
def test_the_package_brings_the_same_command_line(command_line: str, arguments, code, tmp_path):
    ours = outcome(OURS, *arguments)
    assert ours == outcome([command_line], *arguments)
    assert ours[0] == code


def test_versions_agree():
    assert outcome(OURS, "--version")[1] == f"l2g {l2g.__version__}\n"


def test_a_run_of_the_package_is_a_run_of_the_binary(command_line: str, tmp_path: Path):
    options = ["run", "cora", "--method", "spectral", "--dim", "8", "--patches", "5", "--out"]
    assert outcome(OURS, *options, str(tmp_path / "ours"))[0] == 0
    assert outcome([command_line], *options, str(tmp_path / "binary"))[0] == 0
    assert_same(tmp_path / "ours", tmp_path / "binary")


@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of Unix")
def test_ctrl_c_is_heard_as_by_the_binary(command_line: str, tmp_path: Path):
    def stopped(program: list[str], out: Path) -> tuple[int, bool]:
        options = ["run", "cora", "--dim", "16", "--patches", "2", "--method", "vgae"]
        options += ["--epochs", "1000000", "--log", "json", "--out", str(out)]
        process = subprocess.Popen([*program, *options], stderr=subprocess.PIPE, text=True)
        # Training to its end would take hours; whoever does not hear is ended by the limit.
        limit = threading.Timer(600, process.kill)
        limit.start()
        assert any('"begin"' in line and '"embed"' in line for line in process.stderr)
        process.send_signal(signal.SIGINT)
        errors = process.stderr.read()
        limit.cancel()
        return process.wait(), "Traceback" in errors

    code, has_traceback = stopped(OURS, tmp_path / "ours")
    assert not has_traceback
    assert code == stopped([command_line], tmp_path / "binary")[0] != 0
