#!/usr/bin/env python3
"""Checks the crates of Cargo.lock: licences, sources, unwanted and double crates, advisories.

    .ci/deny.py    exit code 1, with one line for each problem, if something is wrong

What is allowed stands in `.ci/deny.toml`, advisories in `.ci/advisories.toml`. A double crate or an
advisory that is accepted there but no longer met is a problem too, so that the lists stay short.
"""

import sys
import tomllib
from collections import defaultdict

from crates import ROOT, is_within, named, packages
from licences import is_allowed


def licence_problems(crates: list[dict], allowed: set[str]) -> list[str]:
    problems = []
    for crate in crates:
        expression = crate["license"]
        try:
            met = bool(expression) and is_allowed(expression, allowed)
        except ValueError as error:
            problems.append(f"{named(crate)}: licence `{expression}`: {error}")
            continue
        if not met:
            problems.append(f"{named(crate)}: licence `{expression or 'none'}` is not in .ci/deny.toml")
    return problems


def source_problems(crates: list[dict], sources: set[str]) -> list[str]:
    """Our own crates have no source; all others come from where we allow."""
    foreign = [crate for crate in crates if crate["source"] not in sources | {None}]
    return [f"{named(crate)}: comes from {crate['source']}" for crate in foreign]


def ban_problems(crates: list[dict], banned: dict[str, str]) -> list[str]:
    found = [crate for crate in crates if crate["name"] in banned]
    return [f"{named(crate)}: {banned[crate['name']]}" for crate in found]


def duplicate_problems(crates: list[dict], known: dict[str, str]) -> list[str]:
    versions = defaultdict(list)
    for crate in crates:
        versions[crate["name"]].append(crate["version"])
    double = {name: found for name, found in versions.items() if len(found) > 1}
    problems = [
        f"{name}: there are versions {', '.join(found)}; use one, or say in .ci/deny.toml who needs the other"
        for name, found in double.items()
        if name not in known
    ]
    gone = sorted(set(known) - set(double))
    return problems + [f"{name}: no longer there twice; take it out of .ci/deny.toml" for name in gone]


def advisory_problems(crates: list[dict], advisories: list[dict]) -> list[str]:
    problems = []
    for advisory in advisories:
        same_name = [crate for crate in crates if crate["name"] == advisory["crate"]]
        hit = [crate for crate in same_name if is_within(crate["version"], advisory["affected"])]
        if "accepted" not in advisory:
            problems += [f"{named(crate)}: {advisory['id']}: {advisory['why']}" for crate in hit]
        elif not hit:
            problems.append(f"{advisory['crate']}: {advisory['id']} is accepted, but hits nothing any more")
    return problems


def main() -> int:
    rules = tomllib.loads((ROOT / ".ci/deny.toml").read_text())
    list_of_advisories = tomllib.loads((ROOT / ".ci/advisories.toml").read_text())
    crates = packages()
    problems = [
        *licence_problems(crates, set(rules["licences"])),
        *source_problems(crates, set(rules["sources"])),
        *ban_problems(crates, rules["banned"]),
        *duplicate_problems(crates, rules["duplicates"]),
        *advisory_problems(crates, list_of_advisories["advisory"]),
    ]
    for problem in problems:
        print(problem, file=sys.stderr)
    count, as_of = len(list_of_advisories["advisory"]), list_of_advisories["as_of"]
    if not problems:
        print(f"{len(crates)} crates: licences, sources and versions are fine; {count} advisories, as of {as_of}")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
