"""What ReFrame says of input that scripts/reframe can not use. tools/tests/fleet runs it with a built runner."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT, SYNTHETIC, case, cpu_alone
from tools.fleet import folder_name

pytest.importorskip("reframe")

PROGRAM = "from reframe.frontend.cli import main; main()"
RUNNER = """#!/bin/sh
while [ "$1" != --out ]; do shift; done
cp '{}' "$2"
"""


def measured() -> dict:
    """What the runner writes of cpu_blas at 1024."""
    document = json.loads((SYNTHETIC / "end-to-end.json").read_text(encoding="utf-8"))
    cpu_alone(document)
    document["benchmarks"] = [case(document, "cpu_blas", 1024)]
    return document


def run_on_cpu(folder: Path, sizes: str) -> str:
    """What ReFrame says of the test of cpu_blas, which fails, with a stand-in for the runner."""
    runner = folder / "build" / "runner"
    runner.parent.mkdir()
    (runner.parent / "source.json").write_text(json.dumps(measured()), encoding="utf-8")
    runner.write_text(RUNNER.format(runner.parent / "source.json"), encoding="utf-8")
    runner.chmod(0o755)
    folders = [f"--prefix={folder}/reframe", f"--perflogdir={folder}/perflogs", f"--report-file={folder}/report.json"]
    options = ["-c", str(ROOT / "scripts" / "reframe"), "--nocolor", f"-SSgemmOnCpu.results={folder}/results"]
    options += ["-n", "SgemmOnCpu.*cpu_blas", "-P", f"sizes={sizes}", "-r"]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *folders, *options],
        cwd=folder,
        env=os.environ | {"SGEMM_BUILD": str(runner.parent), "TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout
    assert "Traceback" not in done.stdout
    return done.stdout


def test_a_range_of_sizes_is_refused(tmp_path):
    assert "* Reason: bad input: '64:128' is no size: 4096, 4096x128x64, " in run_on_cpu(tmp_path, "64:128")


def test_a_reference_that_can_not_be_read_is_named(tmp_path):
    broken = tmp_path / "results" / folder_name(measured()["context"]) / "broken.json"
    broken.parent.mkdir(parents=True)
    broken.write_text("{", encoding="utf-8")
    assert f"* Reason: bad input: {broken} is not JSON: " in run_on_cpu(tmp_path, "1024")
