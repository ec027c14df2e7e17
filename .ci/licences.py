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
    alternatives, rest = joined_by("OR", all_of, words, allowed)
    return any(alternatives), rest


def all_of(words: list[str], allowed: set[str]) -> tuple[bool, list[str]]:
    conditions, rest = joined_by("AND", one, words, allowed)
    return all(conditions), rest


def joined_by(joint: str, part, words: list[str], allowed: set[str]) -> tuple[list[bool], list[str]]:
    """Which of the parts before, between and after a word are met, and what follows them."""
    met, rest = part(words, allowed)
    parts = [met]
    while rest[:1] == [joint]:
        met, rest = part(rest[1:], allowed)
        parts.append(met)
    return parts, rest


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
