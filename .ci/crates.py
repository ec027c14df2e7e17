"""What `cargo metadata` says about the crates of Cargo.lock, and how versions compare."""

import json
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def packages() -> list[dict]:
    """Every crate of Cargo.lock, on all platforms and with all features; our own have no source."""
    command = ["cargo", "metadata", "--locked", "--all-features", "--format-version", "1"]
    run = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return json.loads(run.stdout)["packages"]


def named(package: dict) -> str:
    return f"{package['name']} {package['version']}"


def version(text: str) -> tuple:
    """A version as something that compares: `1.2.0-beta+x` lies before `1.2.0`."""
    number, _, before = text.partition("+")[0].partition("-")
    parts = [int(part) for part in number.split(".")]
    parts += [0] * (3 - len(parts))
    # Numbers in the name of a pre-release compare as numbers, and before words.
    words = [(0, int(word), "") if word.isdigit() else (1, 0, word) for word in before.split(".")]
    return (*parts, not before, words)


def is_within(found: str, ranges: list[str]) -> bool:
    """Whether a version lies in one of some ranges, such as `>=1.2.1, <1.11.1`."""
    return any(all(holds(found, part.strip()) for part in one.split(",")) for one in ranges)


def holds(found: str, comparison: str) -> bool:
    match = re.fullmatch(r"(<=|>=|<|>|=)\s*(\d+(?:\.\d+){0,2}(?:-[\w.]+)?)", comparison)
    if not match:
        raise ValueError(f"found `{comparison}`, needed a comparison such as <1.2.3")
    sign, (a, b) = match[1], (version(found), version(match[2]))
    return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "=": a == b}[sign]
