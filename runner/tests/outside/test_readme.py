"""Each command of README's first screen is run as a stranger types it in a fresh clone, at smaller sizes."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest

from runs import ROOT, RUNNER

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
SCREEN = TEXT[: TEXT.index("## The ladder")]
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", SCREEN, re.DOTALL) for line in block.splitlines()]
LONG = ("scripts/quickstart.sh", "scripts/test.sh")  # these install, build and measure: they are looked at alone


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """The folders that the commands name, a runner in build/, and results of a GPU for what reads them."""
    root = tmp_path_factory.mktemp("clone")
    for name in ("build", "results"):
        (root / name).mkdir()
    for name in ("results/nvidia-h200", "scripts", "tools"):
        (root / name).symlink_to(ROOT / name)
    if RUNNER.exists():
        (root / "build" / "runner").symlink_to(RUNNER.resolve())
    cold = json.loads((ROOT / "results" / "nvidia-h200" / "cold.json").read_text(encoding="utf-8"))
    cold["benchmarks"] = [record for record in cold["benchmarks"] if record["kernel"] == "05_coarse_1d"]
    (root / "build" / "5.json").write_text(json.dumps(cold), encoding="utf-8")
    return root


def test_the_first_screen_is_one():
    assert len(SCREEN.splitlines()) <= 60
    assert {"scripts/quickstart.sh", "scripts/test.sh"} <= {command.split()[0] for command in COMMANDS}
    assert any(command.startswith("build/runner --kernel 5 --sizes 256:8192") for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_first_screen(clone, command):
    words = shlex.split(command.replace("$(scripts/python.sh)", sys.executable), comments=True)
    assert not set("*?[") & set(command.split("#")[0]), "a shell would look for files of this name"
    if words[0] in LONG:
        assert words[1:] == [] and os.access(ROOT / words[0], os.X_OK)
        return
    if words[0] == "build/runner":
        if not RUNNER.exists():
            pytest.skip(f"there is no {RUNNER}: SGEMM_BUILD names the folder of a build")
        words = [{"256:8192": "64", "build/5.json": "build/run.json"}.get(word, word) for word in words]
    if "--new-kernel" not in words and "build/my.cu" in words and not (clone / "build" / "my.cu").exists():
        subprocess.run(["build/runner", "--new-kernel", "build/my.cu"], cwd=clone, check=True)
    if "--new-kernel" in words:
        (clone / "build" / "my.cu").unlink(missing_ok=True)
    done = subprocess.run(words, cwd=clone, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for option in ("--out", "--new-kernel"):
        if option in words:
            assert (clone / words[words.index(option) + 1]).exists()
    shutil.rmtree(clone / "build" / "charts", ignore_errors=True)
