from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sessions import BUILD, ROOT, Session

HANGS = 1800  # seconds: what takes longer does not end, however busy the cores are
REFRAME = Path(os.environ.get("SGEMM_REFRAME", Path(sys.executable).parent / "reframe"))


@pytest.fixture
def reframe(tmp_path: Path) -> Callable[..., Session]:
    """Runs ReFrame on the suite; new results go to tmp_path/results, which starts empty."""
    for path, what in ((REFRAME, "SGEMM_REFRAME names ReFrame"), (BUILD / "runner", "SGEMM_BUILD names a build")):
        if not path.exists():
            pytest.skip(f"there is no {path}: {what}")

    def run(*options: str, build: Path | None = BUILD, environment: dict[str, str] | None = None) -> Session:
        report = tmp_path / "report.json"
        folders = [f"--prefix={tmp_path}/reframe", f"--perflogdir={tmp_path}/perflogs", f"--report-file={report}"]
        keep = [f"-SSgemmOn{place}.results={tmp_path}/results" for place in ("Cpu", "Gpu")]
        command = [str(REFRAME), *folders, "-c", str(ROOT / "scripts" / "reframe"), "--nocolor", *keep, *options, "-r"]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, **(environment or {}), "SGEMM_BUILD": str(build or ""), "TMPDIR": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=HANGS,
            check=False,
        )
        session = Session(done.returncode, done.stdout + done.stderr)
        return session.read(report) if report.exists() else session

    return run
