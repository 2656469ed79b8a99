"""The reports on docs/counting.md are what its commands print."""

from __future__ import annotations

import os
import re
import shlex
import subprocess

import pytest

from runs import ROOT, RUNNER, needs_runner

pytestmark = needs_runner

PAGE = (ROOT / "docs" / "counting.md").read_text(encoding="utf-8")
REPORTS = dict(re.findall(r"```sh\n\./runner ([^\n]+)\n```(?:(?!```).)+```text\n(.+?)```", PAGE, re.DOTALL))
LEFT_OUT = "  ...\n"


def test_the_page_has_reports_of_one_launch_and_of_several():
    assert [LEFT_OUT in report for report in REPORTS.values()] == [False, True]


@pytest.mark.long  # they count large products
@pytest.mark.parametrize("command", REPORTS)
def test_a_command_prints_what_the_page_says(command, tmp_path):
    environment = os.environ | {"COLUMNS": "1000"}  # a terminal that shows all columns
    done = subprocess.run(
        [RUNNER, *shlex.split(command)], env=environment, capture_output=True, text=True, check=True, cwd=tmp_path
    )
    at = 0
    for part in REPORTS[command].split(LEFT_OUT):
        at = done.stdout.index(part, at) + len(part)
