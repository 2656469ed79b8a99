"""The corpora's samples, printed where the tests begin."""

from __future__ import annotations

from tools import testing


def pytest_report_header() -> str:
    return f"Wrong kernels and cheats are a sample of commit {testing.seed()[:12]}"
