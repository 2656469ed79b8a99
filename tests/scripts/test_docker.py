"""The Dockerfile: no test has Docker, so they hold what can be read against the quick start and .gitignore."""

from __future__ import annotations

import json
import re

from conftest import ROOT

INSTRUCTION = re.compile(r"^([A-Z]+) +(.*)$", re.MULTILINE)


def instructions() -> list[tuple[str, str]]:
    return INSTRUCTION.findall((ROOT / "Dockerfile").read_text(encoding="utf-8"))


def test_the_image_is_made_and_run_by_the_quick_start_alone():
    steps = instructions()
    assert [name for name, _ in steps] == ["ARG", "FROM", "WORKDIR", "COPY", "RUN", "ENTRYPOINT"]
    commands = dict(steps)
    assert commands["FROM"] == "${BASE}"
    assert commands["COPY"] == ". ."
    assert commands["RUN"] == "scripts/quickstart.sh --list"
    assert json.loads(commands["ENTRYPOINT"]) == ["scripts/quickstart.sh"]
    assert (ROOT / "scripts" / "quickstart.sh").stat().st_mode & 0o100


def test_folders_of_the_comments_are_those_of_the_quick_start():
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    script = (ROOT / "scripts" / "quickstart.sh").read_text(encoding="utf-8")
    root = dict(instructions())["WORKDIR"]
    assert set(re.findall(rf"{root}/([\w/]+)", text)) == {"build", "build/measurements"}
    assert 'build_in "$ROOT/build"' in script
    assert "folder=measurements/" in script


def patterns(file: str) -> set[str]:
    """What a file ignores, in one notation: a leading slash in .gitignore is no **/ in .dockerignore."""
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if line and not line.startswith("#")]
    if file == ".gitignore":
        return {line[1:] if line.startswith("/") else f"**/{line}" for line in kept}
    return set(kept)


def test_what_git_ignores_stays_out_of_the_image():
    assert patterns(".dockerignore") == patterns(".gitignore")
