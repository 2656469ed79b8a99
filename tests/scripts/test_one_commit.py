"""Results that stand in one table have to come from one state of the device code."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT

RESULTS = ROOT / "results" / "nvidia-h200"

# What decides the instructions that a GPU runs, and their launches. Ranks, the executor and the list of kernels are the
# host's.
HOST_CODE = ("executor", "many_gpus", "14_many_gpus.cpp", "host/kernel.hpp", "host/registry.cpp")
DEVICE_CODE = ("kernels", *(f":!kernels/{path}" for path in HOST_CODE))

# What stands in tables of its own: other people's kernels, programs with the drop-in, and the list of kernels.
APART = ("other_kernels", "programs", "kernels.json")


def git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)


def same_device_code(one: str, other: str) -> bool:
    return one == other or git("diff", "--quiet", one, other, "--", *DEVICE_CODE).returncode == 0


def commits(folder: Path) -> dict[str, str]:
    """The commit of every results file of the folder, and of a second board's, by the name of the file."""
    found = {}
    for path in sorted(folder.rglob("*.json")):
        name = path.relative_to(folder)
        if name.parts[0] not in APART:
            found[str(name)] = json.loads(path.read_text(encoding="utf-8"))["context"]["git_commit"]
    return found


def measured_apart(found: dict[str, str]) -> set[str]:
    return {name for name, commit in found.items() if not same_device_code(found["cold.json"], commit)}


@pytest.fixture(scope="module")
def found() -> dict[str, str]:
    found = commits(RESULTS)
    for commit in set(found.values()):
        if git("cat-file", "-e", f"{commit}^{{commit}}").returncode != 0:
            pytest.skip(f"the history here lacks {commit}")
    return found


def test_results_come_from_one_state_of_the_device_code(found):
    """As scripts/measure_device.sh measures them."""
    assert measured_apart(found) == set()


def test_every_file_is_looked_at(tmp_path):
    for name in ("cold.json", "new.json", "other_board/cold.json", "programs/gpt.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps({"context": {"git_commit": name}}), encoding="utf-8")
    assert commits(tmp_path) == {name: name for name in ("cold.json", "new.json", "other_board/cold.json")}
    (tmp_path / "energy.json").write_text(json.dumps({"context": {}}), encoding="utf-8")
    with pytest.raises(KeyError):
        commits(tmp_path)


def test_other_device_code_is_found(found):
    """A file from the commit before the one that last changed a kernel is told from the others."""
    last_change = git("log", "-1", "--format=%H", found["cold.json"], "--", "kernels/*.cu").stdout.strip()
    assert measured_apart({"cold.json": last_change, "warm.json": f"{last_change}~1"}) == {"warm.json"}
    assert measured_apart({"cold.json": found["cold.json"], "warm.json": found["cold.json"]}) == set()
