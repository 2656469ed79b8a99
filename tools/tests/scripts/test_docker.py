"""The Dockerfile: no test has Docker, so they hold what can be read against the quick start and .gitignore."""

from __future__ import annotations

import json
import re

from conftest import ROOT

TEXT = (ROOT / "Dockerfile").read_text(encoding="utf-8")
STEPS = re.findall(r"^([A-Z]+) +(.*)$", TEXT, re.MULTILINE)


def test_the_image_is_made_and_run_by_the_quick_start_alone():
    assert [name for name, _ in STEPS] == ["ARG", "FROM", "WORKDIR", "COPY", "RUN", "ENTRYPOINT"]
    base, _, copied, made, run = [text for _, text in STEPS][1:]
    assert (base, copied, made) == ("${BASE}", ". .", "scripts/quickstart.sh --list")
    assert json.loads(run) == ["scripts/quickstart.sh"]
    assert (ROOT / "scripts" / "quickstart.sh").stat().st_mode & 0o100


def test_folders_of_the_comments_are_those_of_the_quick_start():
    script = (ROOT / "scripts" / "quickstart.sh").read_text(encoding="utf-8")
    root = dict(STEPS)["WORKDIR"]
    assert set(re.findall(rf"{root}/([\w/]+)", TEXT)) == {"build", "build/measurements"}
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
