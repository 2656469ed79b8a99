"""The report on a counted case, which pages have from results files, beside what the runner prints."""

from __future__ import annotations

import os
import subprocess

import pytest

from count_report import count_report
from results import load, pick
from runs import RUNNER

pytestmark = pytest.mark.skipif(
    "SGEMM_BUILD" not in os.environ and not RUNNER.exists(),
    reason=f"there is no {RUNNER}: SGEMM_BUILD names the folder of a build",
)


def test_the_report_is_what_the_runner_prints(tmp_path):
    """Kernels of one launch and of several, with blocks that are copies and with all of them executed."""
    path = tmp_path / "counts.json"
    for sizes in ("96,250x130x77", "1024"):
        options = ["--device", "cpu", "--count", "--kernel", "1,2,12", "--sizes", sizes, "--out", path]
        environment = os.environ | {"COLUMNS": "1000"}
        done = subprocess.run(
            [RUNNER, *options], env=environment, capture_output=True, text=True, check=True, cwd=tmp_path
        )
        counted = list(pick(load([path]), "counted").itertuples())
        assert counted
        for row in counted:
            assert f"\n{count_report(row)}\n\n" in done.stdout
