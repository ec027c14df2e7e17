"""The code in the documentation runs, and prints what it says."""

from __future__ import annotations

import doctest
import importlib.util
import re
import runpy
from pathlib import Path

import pytest
from conftest import ROOT

EXAMPLES = ROOT / "python" / "examples"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(file: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", file.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", ["docs/walkthrough.md", "docs/migration.md"])
def test_sessions_print_what_they_say(name: str, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    session = "\n".join(blocks(ROOT / name, "pycon"))
    assert session
    test = doctest.DocTestParser().get_doctest(session, {}, name, str(ROOT / name), 0)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(test)
    assert runner.failures == 0


@pytest.mark.parametrize("name", ["README.md", "python/README.md"])
def test_python_in_the_readme_runs(name: str, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = blocks(ROOT / name, "python")
    assert code
    exec(compile("\n".join(code), name, "exec"), {})


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.py")), ids=lambda file: file.name)
def test_examples_run(file: Path, capsys):
    needed = re.search(r"^# needs: (.*)$", file.read_text(), re.MULTILINE)
    for package in needed.group(1).split(", ") if needed else []:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    runpy.run_path(str(file), run_name="__main__")
    assert "AUC" in capsys.readouterr().out
