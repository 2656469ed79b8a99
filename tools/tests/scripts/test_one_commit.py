"""Results that stand in one table have to come from one state of the device code."""

import json
from pathlib import Path

import pytest

from conftest import ROOT, committed_results, ran

RESULTS = ROOT / "results" / "nvidia-h200"

# What decides the instructions that a GPU runs, and their launches. Ranks, the executor and the list of kernels are the
# host's.
HOST_CODE = ("executor", "many_gpus", "14_many_gpus.cpp", "host/chapter.hpp")
DEVICE_CODE = ("kernels", *(f":!kernels/{path}" for path in HOST_CODE))

# What stands in tables of its own: a pair of boards, other people's kernels, programs with the drop-in, and the list of
# kernels.
APART = ("other_board", "other_kernels", "programs", "kernels.json")


def commits(folder: Path) -> dict[str, str]:
    """The commit of every results file of the folder, by the name of the file."""
    found = {}
    for path in committed_results(folder.relative_to(ROOT / "results")):
        name = path.relative_to(folder)
        if name.parts[0] not in APART:
            found[str(name)] = json.loads(path.read_text(encoding="utf-8"))["context"]["git_commit"]
    return found


H100 = RESULTS.with_name("nvidia-h100-80gb-hbm3")
FOLDERS = {"first": RESULTS, "pair of boards": RESULTS / "other_board", "second device": H100}


@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)
def test_results_come_from_one_state_of_the_device_code(folder):
    """As scripts/measure_device.sh measures them. The first has "levels" of another, in tables of its own."""
    found = commits(folder)
    for commit in set(found.values()):
        if ran("git", "cat-file", "-e", f"{commit}^{{commit}}").returncode != 0:
            pytest.skip(f"the history here lacks {commit}")
    of_levels = [name for name in found if folder == RESULTS and name.startswith(("levels", "large"))]
    first = {name: "levels.json" if name in of_levels else "cold.json" for name in found}
    pairs = {name: (found[first[name]], commit) for name, commit in found.items()}
    differing = ("git", "diff", "--quiet")
    assert [name for name, pair in pairs.items() if ran(*differing, *pair, "--", *DEVICE_CODE).returncode != 0] == []
