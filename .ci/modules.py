#!/usr/bin/env python3
"""Checks that modules of the library depend forward only, and draws them.

    .ci/modules.py            check the order, cycles, and the picture in ARCHITECTURE.md
    .ci/modules.py --write    draw the picture again

What is read: `use` declarations and paths that begin with `crate::` or `super::`, tests left
out. A name that a `mod.rs` re-exports counts for the file that it comes from. Two rules hold:

1. A module uses only modules that stand before it in `ORDER`.
2. Among the files and folders of one folder, none uses one that uses it, however many steps
   later. (A `mod.rs` and the files below it belong together and are not compared.)
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The crates of the library: the second is built on the first, and has its modules under the same names.
SOURCES = [ROOT / "crates" / name / "src" for name in ("l2g-graph", "local2global")]
PICTURE = ROOT / "ARCHITECTURE.md"
MARKS = ("<!-- modules: drawn by .ci/modules.py --write -->", "<!-- modules end -->")

# What comes later may use what comes earlier.
ORDER = """
    progress seed memory disk positioned digest buffer npy run_dir disjoint_sets grouping
    graph write generate linalg score partition patch embed align federated evaluate
    layout export config near pipeline experiment
""".split()

Path_ = tuple  # a module as the list of its names, such as ("embed", "nn", "adam")


def module_files() -> dict[Path_, Path]:
    """Every module and its file; modules that only tests have are left out."""
    files = {}
    for source in SOURCES:
        for file in source.rglob("*.rs"):
            names = file.relative_to(source).with_suffix("").parts
            files[names[:-1] if names[-1] == "mod" else names] = file
    del files[("lib",)]
    # Shared by the tests of both crates.
    del files[("scratch",)]
    for module, file in list(files.items()):
        for test in re.findall(r"#\[cfg\(test\)\]\n(?:pub\S* )?mod (\w+);", file.read_text()):
            del files[*module, test]
    return files


def code_of(file: Path) -> str:
    """The text of a file without comments and without its unit tests."""
    text = file.read_text().split("#[cfg(test)]\nmod tests", 1)[0]
    # The first crate by its own name is the same modules.
    return re.sub(r"//.*", "", text).replace("l2g_graph::", "crate::")


def leaves(tree: str, before: Path_ = ()) -> list[Path_]:
    """All paths of a `use` tree: `a::{b, c::d}` gives `a::b` and `a::c::d`."""
    head, brace, inner = tree.partition("{")
    head_names = tuple(name.strip() for name in head.split("::") if name.strip())
    if not brace:
        return [before + tuple(name.split(" as ")[0] for name in head_names)]
    parts, depth = [""], 0
    for letter in inner[: inner.rindex("}")]:
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [path for part in parts if part.strip() for path in leaves(part.strip(), before + head_names)]


class Modules:
    def __init__(self) -> None:
        self.files = module_files()
        self.exports: dict[tuple[Path_, str], Path_] = {}
        mentions = {module: list(self.mentions(module)) for module in self.files}
        for module, paths in mentions.items():
            for path, is_public in paths:
                if is_public and self.files[module].name == "mod.rs":
                    self.exports[module, path[-1]] = path
        self.uses = {
            module: {found for path, _ in paths if (found := self.owner(path)) and found != module}
            for module, paths in mentions.items()
        }

    def mentions(self, module: Path_):
        """The paths that a module names, from the root of the crate, and whether it re-exports them."""
        code = code_of(self.files[module])
        declaration = re.compile(r"^[ ]*(pub(?:\([a-z]+\))? )?use ([^;]+);", re.M)
        named = [(path, bool(found[1])) for found in declaration.finditer(code) for path in leaves(found[2])]
        rest = declaration.sub("", code)
        named += [(tuple(text.split("::")), False) for text in re.findall(r"\b(?:crate|super)(?:::\w+)+", rest)]
        for path, is_public in named:
            if absolute := self.from_root(module, path):
                yield absolute, is_public

    def from_root(self, module: Path_, path: Path_) -> Path_ | None:
        if path[0] == "crate":
            return path[1:]
        if path[0] == "self":
            return module + path[1:]
        base = module
        while path and path[0] == "super":
            base, path = base[:-1], path[1:]
            if not path or path[0] != "super":
                return base + path
        return module + path if module + path[:1] in self.files else None

    def owner(self, path: Path_, steps: int = 5) -> Path_ | None:
        """The module that a path leads to, re-exports followed."""
        for length in range(len(path), 0, -1):
            module = path[:length]
            if module in self.files:
                target = self.exports.get((module, path[length])) if length < len(path) else None
                return self.owner(target, steps - 1) if target and target != path and steps else module
        return None

    def within(self, folder: Path_) -> dict[str, set[str]]:
        """Which parts of a folder use which."""
        depth, uses = len(folder), defaultdict(set)
        for module, targets in self.uses.items():
            for target in targets:
                inside = module[:depth] == folder == target[:depth]
                if inside and len(module) > depth < len(target) and module[depth] != target[depth]:
                    uses[module[depth]].add(target[depth])
        return uses


def reachable(uses: dict[str, set[str]], start: str) -> set[str]:
    seen, todo = set(), [start]
    while todo:
        new = uses.get(todo.pop(), set()) - seen
        seen |= new
        todo += new
    return seen


def cycles(uses: dict[str, set[str]]) -> list[list[str]]:
    """Groups of parts that use each other, directly or by others."""
    reach = {part: reachable(uses, part) for part in uses}
    groups = {tuple(sorted(b for b in reach[a] if a in reach.get(b, ()))) for a in uses if a in reach[a]}
    return [list(group) for group in sorted(groups)]


def picture(uses: dict[str, set[str]]) -> str:
    """The top modules; an arrow is left out where others lead the same way."""
    lines = ["```mermaid", "flowchart RL"]
    for module in ORDER:
        direct = uses.get(module, set())
        implied = set().union(*(reachable(uses, target) for target in direct)) if direct else set()
        lines += [f"    {module} --> {target}" for target in ORDER if target in direct - implied]
    return "\n".join([*lines, "```"])


def main() -> int:
    modules = Modules()
    top = modules.within(())
    problems = [f"module `{name}` has no place in the order" for name in sorted(set(top) - set(ORDER))]
    place = {name: index for index, name in enumerate(ORDER)}
    for name in ORDER:
        for target in sorted(top.get(name, ())):
            if place.get(target, -1) > place[name]:
                problems.append(f"`{name}` uses `{target}`, which comes later")
    folders = [module for module, file in modules.files.items() if file.name == "mod.rs"]
    for folder in [(), *sorted(folders)]:
        where = "/".join(folder) or "the library"
        problems += [f"cycle in {where}: {', '.join(group)}" for group in cycles(modules.within(folder))]
    text = PICTURE.read_text()
    start, end = (text.index(mark) for mark in MARKS)
    drawn = text[: start + len(MARKS[0])] + "\n" + picture(top) + "\n" + text[end:]
    if "--write" in sys.argv:
        PICTURE.write_text(drawn)
    elif drawn != text:
        problems.append("the picture in ARCHITECTURE.md is not that of the code: run .ci/modules.py --write")
    for problem in problems:
        print(f"modules: {problem}")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
