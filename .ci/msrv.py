#!/usr/bin/env python3
"""Checks that the oldest supported Rust (`rust-version` in Cargo.toml) is one that can be kept.

1. No crate of Cargo.lock asks for a newer one.
2. Clippy watches our own code: `incompatible_msrv` is on, and no crate of ours opts out of the lints.
3. If rustup has a toolchain of that version, everything is compiled with it (`cargo check`, in
   `target/msrv`). If it has not, that is said and the first two remain.
"""

import subprocess
import sys
import tomllib

from crates import ROOT, named, packages, version


def dependency_problems(crates: list[dict], ours: str) -> list[str]:
    newer = [crate for crate in crates if crate["rust_version"] and version(crate["rust_version"]) > version(ours)]
    return [f"{named(crate)}: needs Rust {crate['rust_version']}, we promise {ours}" for crate in newer]


def lint_problems(workspace: dict, manifests: dict[str, dict]) -> list[str]:
    problems = []
    level = workspace["lints"]["clippy"].get("incompatible_msrv", "allow")
    if level == "allow":
        problems.append("Cargo.toml: clippy's `incompatible_msrv` is off")
    for path, manifest in manifests.items():
        if manifest.get("lints", {}).get("workspace") is not True:
            problems.append(f"{path}: the lints are not those of the workspace")
        if manifest["package"].get("rust-version") != {"workspace": True}:
            problems.append(f"{path}: `rust-version` is not that of the workspace")
    return problems


def installed(ours: str) -> str | None:
    """A toolchain of that version, such as `1.89.0-x86_64-unknown-linux-gnu`, if there is one."""
    try:
        run = subprocess.run(["rustup", "toolchain", "list"], stdout=subprocess.PIPE, text=True)
    except FileNotFoundError:
        return None
    names = [line.split()[0] for line in run.stdout.splitlines() if line]
    fitting = [name for name in names if name.split("-")[0] == ours or name.startswith(f"{ours}.")]
    return fitting[0] if fitting else None


def main() -> int:
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
    ours = workspace["package"]["rust-version"]
    paths = sorted((ROOT / "crates").glob("*/Cargo.toml"))
    manifests = {str(path.relative_to(ROOT)): tomllib.loads(path.read_text()) for path in paths}
    problems = dependency_problems(packages(), ours) + lint_problems(workspace, manifests)
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        return 1
    print(f"no crate needs a Rust newer than {ours}, and clippy watches our own code")
    toolchain = installed(ours)
    if toolchain is None:
        print(f"SKIPPED: compiling with Rust {ours}, which rustup does not have (`rustup toolchain install {ours}`)")
        return 0
    check = ["cargo", f"+{toolchain}", "check", "--workspace", "--all-targets", "--locked"]
    return subprocess.run([*check, "--target-dir", "target/msrv"], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
