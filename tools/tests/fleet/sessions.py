"""Runs of ReFrame, and what they leave."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("SGEMM_BUILD", ROOT / "build")).resolve()


def example() -> str:
    """The configuration of a site that the page shows."""
    page = (ROOT / "docs" / "fleet.md").read_text(encoding="utf-8")
    return re.search("```py\n(.*?)```", page, re.DOTALL)[1]


@dataclass
class Session:
    """What ReFrame said of its tests."""

    status: int
    output: str
    results: dict[str, str] = field(default_factory=dict)  # "pass", "fail" or "skip", by the kernel
    reasons: dict[str, str] = field(default_factory=dict)  # of those that failed

    def read(self, report: Path) -> Session:
        for case in json.loads(report.read_text(encoding="utf-8"))["runs"][0]["testcases"]:
            kernel = case.get("kernel", "build")  # the fixtures build
            self.results[kernel] = case["result"]
            if case["result"] == "fail":
                self.reasons[kernel] = case["fail_reason"]
        return self


def kept(folder: Path) -> dict[str, list[dict]]:
    """The records of each file in results/<device>/runs/."""
    files = sorted(folder.glob("results/*/runs/*.json"))
    return {path.name: json.loads(path.read_text(encoding="utf-8"))["benchmarks"] for path in files}
