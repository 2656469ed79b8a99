"""ReFrame on a real Slurm of one node."""

from __future__ import annotations

import shlex
import subprocess
import threading
import time
from pathlib import Path

import pytest

from cluster import Cluster
from sessions import BUILD, example, kept


@pytest.fixture
def on_slurm(reframe, cluster, tmp_path):
    """Runs ReFrame with the page's configuration. The cluster has no accounting, so ReFrame asks squeue."""

    def run(*options: str, build: Path = BUILD):
        settings = tmp_path / "settings.py"
        settings.write_text(example().replace('"slurm"', '"squeue"'), encoding="utf-8")
        return reframe("-C", str(settings), *options, build=build, environment=cluster.environment)

    return run


def test_a_node_that_lacks_a_gpu_is_told_and_the_others_run(on_slurm, tmp_path):
    done = on_slurm("-n", "SgemmOnCpu.*(01_naive|cpu_blas)", "-n", "SgemmOnGpu.*05_coarse_1d.*cold",
                    "-P", "sizes=64 33x65x17")  # fmt: skip
    assert done.status == 1, done.output
    assert done.results == {"build": "pass", "01_naive": "pass", "cpu_blas": "pass", "05_coarse_1d": "fail"}
    assert "the node has no usable GPU: " in done.reasons["05_coarse_1d"]
    outcomes = {name[16:]: [record["outcome"] for record in records] for name, records in kept(tmp_path).items()}
    assert outcomes == {
        "01_naive.json": ["executed", "executed"],
        "cpu_blas.json": ["measured", "measured"],
        "05_coarse_1d-cold.json": ["executed", "executed"],
    }


def scancel_after_first_case(cluster: Cluster, folder: Path, ended: threading.Event) -> None:
    """Ends the job as soon as its results hold a case."""
    while not ended.is_set():
        for path in folder.glob("reframe/stage/**/results.json"):
            if "sgemm/01_naive/64x64x64" in path.read_text(encoding="utf-8"):
                jobs = cluster.command("squeue", "-h", "-o", "%i").split()
                subprocess.run(["scancel", *jobs], env=cluster.environment, check=True)
                return
        time.sleep(0.05)


@pytest.fixture
def forced(tmp_path):
    """A build whose runner computes what takes hours as well."""
    runner = tmp_path / "forced" / "runner"
    runner.parent.mkdir()
    runner.write_text(f'#!/bin/sh\nexec {shlex.quote(str(BUILD / "runner"))} "$@" --force\n', encoding="utf-8")
    runner.chmod(0o755)
    return runner.parent


def test_a_job_that_is_killed_keeps_its_finished_cases(on_slurm, cluster, tmp_path, forced):
    ended = threading.Event()
    killer = threading.Thread(target=scancel_after_first_case, args=(cluster, tmp_path, ended))
    killer.start()
    try:
        done = on_slurm("-n", "SgemmOnCpu.*01_naive", "-P", "sizes=64 4096 4112", build=forced)
    finally:
        ended.set()
        killer.join()
    assert done.status == 1, done.output
    assert "sizes are missing: " in done.reasons["01_naive"]
    assert "4112" in done.reasons["01_naive"].partition("sizes are missing: ")[2]
    assert "CANCELLED" in done.reasons["01_naive"]
    (records,) = kept(tmp_path).values()
    assert (records[0]["m"], records[0]["outcome"], records[0]["verified"]) == (64, "executed", True)
    assert 4112 not in [record["m"] for record in records]
