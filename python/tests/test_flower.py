"""Sites over Flower, a process each, on loopback; where Flower is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "federated_flower" / "loopback.py"


def test_five_sites_over_flower_get_what_files_give_and_one_joins_later():
    pytest.importorskip("flwr")
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "east was killed between the rounds" in done.stdout
    assert "all rows are those by files" in done.stdout
    assert "no coordinate of a site is there" in done.stdout
