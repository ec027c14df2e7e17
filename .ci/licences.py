"""SPDX licence expressions: `(MIT OR Apache-2.0) AND Unicode-3.0`.

`AND` binds closer than `OR`, and `WITH` closer than both. A slash, as old crates write it, is `OR`.
"""

import re


def is_allowed(expression: str, allowed: set[str]) -> bool:
    """Whether an expression can be met with the allowed licences alone."""
    words = re.findall(r"[()]|[^\s()]+", expression.replace("/", " OR "))
    met, rest = either(words, allowed)
    if rest:
        raise ValueError(f"found `{' '.join(rest)}` after the end of `{expression}`")
    return met


def either(words: list[str], allowed: set[str]) -> tuple[bool, list[str]]:
    met, rest = all_of(words, allowed)
    while rest[:1] == ["OR"]:
        other, rest = all_of(rest[1:], allowed)
        met = met or other
    return met, rest


def all_of(words: list[str], allowed: set[str]) -> tuple[bool, list[str]]:
    met, rest = one(words, allowed)
    while rest[:1] == ["AND"]:
        other, rest = one(rest[1:], allowed)
        met = met and other
    return met, rest


def one(words: list[str], allowed: set[str]) -> tuple[bool, list[str]]:
    if not words or words[0] in ("AND", "OR", "WITH", ")"):
        raise ValueError(f"found `{' '.join(words)}`, needed a licence")
    if words[0] == "(":
        met, rest = either(words[1:], allowed)
        if rest[:1] != [")"]:
            raise ValueError("found no closing bracket")
        return met, rest[1:]
    if words[1:2] == ["WITH"] and len(words) > 2:
        return " ".join(words[:3]) in allowed, words[3:]
    return words[0] in allowed, words[1:]
