"""What the runner records of its sources: the commit, and whether they differ from it."""

import re
import shutil
from pathlib import Path

import pytest

from helpers import ROOT, ran

pytestmark = pytest.mark.skipif(shutil.which("cmake") is None, reason="there is no cmake")


def linked_folders() -> list[str]:
    """The folders of the repository whose files are compiled, as the build names them."""
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    names = set(re.findall(r"^ *add_subdirectory\(([a-z_]+)", text, re.MULTILINE)) - {"tests"}
    assert {"kernels", "library", "many_gpus", "reproducible", "runner", "simt"} <= names
    return sorted(names)


def git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    ran("git", "-C", folder, *identity, *words, status=0)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("copy")
    others = ["a_new_room", "cmake", "docs", "results", "runner/tests", "tests", "tools/trace_page"]
    for name in [*linked_folders(), *others]:
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "file.cpp").write_text("1", encoding="utf-8")
    for name in ("README.md", "tools/plot.py"):
        (folder / name).write_text("1", encoding="utf-8")
    git(folder, "init")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "all")
    return folder


def is_dirty(folder: Path) -> bool:
    script = ROOT / "runner" / "base" / "git_info.cmake"
    output = folder.parent / "git_info.hpp"
    ran("cmake", f"-DSOURCE_DIR={folder}", f"-DOUTPUT={output}", "-P", script, status=0)
    return "SGEMM_GIT_DIRTY true" in output.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*linked_folders(), "a_new_room", "cmake", "tools/trace_page"])
def test_a_change_of_what_is_linked_is_recorded(copy, name):
    file = copy / name / "file.cpp"
    file.write_text("2", encoding="utf-8")
    assert is_dirty(copy)
    file.write_text("1", encoding="utf-8")
    assert not is_dirty(copy)


def test_results_and_pages_are_no_change_of_the_binary(copy):
    unlinked = ("README.md", "docs/file.cpp", "results/file.cpp", "results/new.json", "runner/tests/file.cpp", "my.cu")
    for name in (*unlinked, "tools/plot.py"):
        (copy / name).write_text("2", encoding="utf-8")
    assert not is_dirty(copy)
    git(copy, "checkout", ".")
