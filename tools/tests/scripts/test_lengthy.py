"""Which tests are lengthy is said by their names."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
NAMED = re.compile(r"^(TEST|TEST_F|TEST_P|INSTANTIATE_TEST_SUITE_P)\(\s*(\w+),\s*(\w+)", re.MULTILINE)


def test_lengthy_is_what_names_of_suites_begin_with_and_nothing_else() -> None:
    suites, tests = set(), set()
    for path in ROOT.glob("*/tests/**/*.cpp"):
        for macro, suite, name in NAMED.findall(path.read_text(encoding="utf-8")):
            suites.add(suite)
            (tests if macro.startswith("TEST") else suites).add(name)
    labelled = {suite for suite in suites if "Lengthy" in suite}
    assert {"Lengthy", "LengthyExecutedChapters", "LengthyTallTest"} <= labelled
    assert all(suite.startswith("Lengthy") for suite in labelled)
    assert not [test for test in tests if "Lengthy" in test]
