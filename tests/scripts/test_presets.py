"""What CMakePresets.json leaves out: tests that say so in their names, and those under sanitizers alone."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRESETS = {each["name"]: each for each in json.loads((ROOT / "CMakePresets.json").read_text())["testPresets"]}
NAMED = re.compile(r"^(TEST|TEST_F|TEST_P|INSTANTIATE_TEST_SUITE_P)\(\s*(\w+),\s*(\w+)", re.MULTILINE)


def filter_of(name: str) -> str | None:
    """GTEST_FILTER of a preset, its own or inherited."""
    own = PRESETS[name].get("environment", {}).get("GTEST_FILTER")
    bases = PRESETS[name].get("inherits", [])
    inherited = map(filter_of, [bases] if isinstance(bases, str) else bases)
    return own or next(filter(None, inherited), None)


def test_lengthy_tests_are_left_out_under_sanitizers_and_nowhere_else() -> None:
    filters = {name: filter_of(name) for name in PRESETS if filter_of(name)}
    assert filters == {"sanitized": "-*Lengthy*"}


def test_lengthy_is_what_names_of_suites_begin_with_and_nothing_else() -> None:
    suites, tests = set(), set()
    for path in [*(ROOT / "tests").rglob("*.cpp"), *(ROOT / "simt").rglob("*.cpp")]:
        for macro, suite, name in NAMED.findall(path.read_text(encoding="utf-8")):
            suites.add(suite)
            (tests if macro.startswith("TEST") else suites).add(name)
    labelled = {suite for suite in suites if "Lengthy" in suite}
    assert {"Lengthy", "LengthyExecutedChapters", "LengthyTallTest"} <= labelled
    assert all(suite.startswith("Lengthy") for suite in labelled)
    assert not [test for test in tests if "Lengthy" in test]
