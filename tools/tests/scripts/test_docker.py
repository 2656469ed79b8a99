"""The Dockerfile: no test has Docker, so they hold what can be read against the quick start and .gitignore."""

from __future__ import annotations

import re

from conftest import ROOT

TEXT = (ROOT / "Dockerfile").read_text(encoding="utf-8")
STEPS = re.findall(r"^([A-Z]+) +(.*)$", TEXT, re.MULTILINE)


def patterns(file: str) -> set[str]:
    """What a file ignores, in one notation: a leading slash in .gitignore is no **/ in .dockerignore."""
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if line and not line.startswith("#")]
    if file == ".gitignore":
        return {line[1:] if line.startswith("/") else f"**/{line}" for line in kept}
    return set(kept)


def test_what_git_ignores_stays_out_of_the_image():
    assert patterns(".dockerignore") == patterns(".gitignore")
