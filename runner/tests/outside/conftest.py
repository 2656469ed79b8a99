"""The corpora's samples, printed where the tests begin, and a cache of compiled files for each test."""

from __future__ import annotations

import pytest

from tools import testing


def pytest_report_header() -> str:
    return f"Wrong kernels and cheats are a sample of commit {testing.seed()[:12]}"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
