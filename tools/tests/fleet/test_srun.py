"""Products on ranks that are processes, which srun starts in a real Slurm of one node."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from cluster import HANGS
from sessions import BUILD

MISBEHAVING = BUILD / "runner.build" / "tests" / "runner_with_misbehaving_kernels"


@pytest.fixture
def srun(cluster, tmp_path):
    """Runs the runner on so many tasks to its end. The node has fewer CPUs than that."""

    def run(tasks: int, *arguments: str, mpi: str = "pmix", kernel: str = "many_gpus", runner=BUILD / "runner"):
        if not runner.exists():
            pytest.skip(f"there is no {runner}: SGEMM_BUILD names a build")
        if mpi not in cluster.command("srun", "--mpi=list").split():
            pytest.skip(f"this Slurm has no --mpi={mpi}")
        words = ["srun", f"--mpi={mpi}", f"--ntasks={tasks}", "--overcommit", "--quiet", str(runner)]
        words += ["--device", "cpu", "--kernel", kernel, *arguments, "--out", "results.json"]
        return subprocess.run(
            words, cwd=tmp_path, env=cluster.environment, capture_output=True, text=True, timeout=HANGS, check=False
        )

    return run


def cases(folder) -> list[dict]:
    """The records of the only file in the folder."""
    (path,) = folder.iterdir()
    return json.loads(path.read_text(encoding="utf-8"))["benchmarks"]


def test_the_tasks_of_srun_are_the_ranks_of_one_product(srun, tmp_path):
    done = srun(4, "--sizes", "96,250x130x77")
    assert done.returncode == 0, done.stderr
    assert [(case["m"], case["outcome"], case["verified"]) for case in cases(tmp_path)] == [
        (96, "executed", True),
        (250, "executed", True),
    ]
    assert {(case["spread"]["gpus"], case["spread"]["exchange"]) for case in cases(tmp_path)} == {(4, "MPI")}
    assert done.stdout.count("CPU: ") == 1, "one rank prints"


def test_tasks_that_can_not_find_each_other_are_refused(srun, tmp_path):
    """Each would take itself for the only one, and write the same file."""
    done = srun(4, "--sizes", "96", mpi="none")
    assert done.returncode == 2
    (said,) = re.findall("^runner: .*$", done.stderr, re.MULTILINE)
    assert "srun started 4 processes, and gave them no way to find each other: start them by srun --mpi=pmix" in said
    assert done.stdout == ""
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [("throwing_ranks", "rank 1: out of order"), ("leaving_ranks", "rank 1: its process has ended")],
)
def test_a_task_that_goes_wrong_is_named_and_all_end(srun, tmp_path, kernel, reason):
    done = srun(3, "--sizes", "40,50", kernel=kernel, runner=MISBEHAVING)
    assert done.returncode != 0
    first, *others = cases(tmp_path)
    assert (first["outcome"], first["reason"]) == ("failed", reason)
    assert [case["outcome"] for case in others] in ([], ["skipped"])
