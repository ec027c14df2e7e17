"""Tests of the scripts beside this file: `python3 -m unittest discover -s .ci`."""

import unittest

from crates import is_within, version
from deny import advisory_problems, ban_problems, duplicate_problems, licence_problems, source_problems
from licences import is_allowed
from msrv import dependency_problems, lint_problems


def crate(name="a", version="1.0.0", license="MIT", source="registry", rust_version=None):
    return {"name": name, "version": version, "license": license, "source": source, "rust_version": rust_version}


class Versions(unittest.TestCase):
    def test_versions_compare_by_number_and_pre_releases_come_before(self):
        ordered = ["0.9.0", "0.10.0-alpha.2", "0.10.0-alpha.10", "0.10.0-beta", "0.10.0", "0.10.1+note", "1.2"]
        self.assertEqual(sorted(ordered, key=version), ordered)

    def test_ranges(self):
        ranges = ["<0.8.6", ">=0.9.0, <0.9.3"]
        found = [is_within(text, ranges) for text in ["0.8.5", "0.8.6", "0.9.0", "0.9.2", "0.9.3", "0.10.0"]]
        self.assertEqual(found, [True, False, True, True, False, False])
        with self.assertRaises(ValueError):
            is_within("1.0.0", ["^1.2"])


class Licences(unittest.TestCase):
    def test_expressions(self):
        allowed = {"MIT", "Apache-2.0 WITH LLVM-exception", "Unicode-3.0"}
        for expression in [
            "MIT",
            "MIT/Apache-2.0",
            "GPL-3.0 OR MIT",
            "(MIT OR GPL-3.0) AND Unicode-3.0",
            "GPL-3.0 AND X OR MIT",
            "Apache-2.0 WITH LLVM-exception OR GPL-3.0",
        ]:
            self.assertTrue(is_allowed(expression, allowed), expression)
        for expression in [
            "Apache-2.0",
            "MIT AND GPL-3.0",
            "(MIT OR Apache-2.0) AND GPL-3.0",
            "GPL-3.0 WITH LLVM-exception",
        ]:
            self.assertFalse(is_allowed(expression, allowed), expression)
        for expression in ["", "MIT OR", "(MIT", "MIT Apache-2.0"]:
            with self.assertRaises(ValueError):
                is_allowed(expression, allowed)


class Crates(unittest.TestCase):
    def test_licences_sources_and_bans(self):
        self.assertEqual(licence_problems([crate()], {"MIT"}), [])
        self.assertEqual(len(licence_problems([crate(license="GPL-3.0"), crate(license=None)], {"MIT"})), 2)
        self.assertEqual(source_problems([crate(), crate(source=None)], {"registry"}), [])
        self.assertEqual(len(source_problems([crate(source="git+https://x")], {"registry"})), 1)
        self.assertEqual(ban_problems([crate()], {"a": "too slow"}), ["a 1.0.0: too slow"])

    def test_duplicates_are_known_and_known_ones_are_there(self):
        twice = [crate(), crate(version="2.0.0")]
        self.assertEqual(len(duplicate_problems(twice, {})), 1)
        self.assertEqual(duplicate_problems(twice, {"a": "b needs it"}), [])
        self.assertEqual(len(duplicate_problems(twice[:1], {"a": "b needs it"})), 1)

    def test_advisories(self):
        advisory = {"id": "X-1", "crate": "a", "affected": ["<1.0.1"], "why": "it bites"}
        self.assertEqual(advisory_problems([crate()], [advisory]), ["a 1.0.0: X-1: it bites"])
        self.assertEqual(advisory_problems([crate(version="1.0.1")], [advisory]), [])
        self.assertEqual(advisory_problems([crate()], [advisory | {"accepted": "not here"}]), [])
        self.assertEqual(len(advisory_problems([crate(name="b")], [advisory | {"accepted": "not here"}])), 1)


class OldestRust(unittest.TestCase):
    def test_crates_that_need_a_newer_rust_are_named(self):
        found = dependency_problems([crate(rust_version="1.90"), crate(rust_version="1.89.0"), crate()], "1.89")
        self.assertEqual(found, ["a 1.0.0: needs Rust 1.90, we promise 1.89"])

    def test_lints_are_on_everywhere(self):
        good = {"lints": {"workspace": True}, "package": {"rust-version": {"workspace": True}}}
        on, off = ({"lints": {"clippy": lints}} for lints in [{"incompatible_msrv": "warn"}, {}])
        self.assertEqual(lint_problems(on, {"x": good}), [])
        self.assertEqual(len(lint_problems(off, {"x": good})), 1)
        self.assertEqual(len(lint_problems(on, {"x": {"package": {}}})), 2)


if __name__ == "__main__":
    unittest.main()
