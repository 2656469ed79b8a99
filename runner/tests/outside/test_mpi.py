"""Products on ranks that are processes, which mpirun starts: ranks on the executor, which exchange by MPI."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from runs import (
    HANGS,
    MISBEHAVING,
    RUNNER,
    Run,
    count_of_cases,
    is_running,
    needs_runner,
    ran,
    run_with_time_limit,
    spread,
    started,
    wait_until,
)
from tools import testing

pytestmark = [
    needs_runner,
    pytest.mark.skipif(shutil.which("mpirun") is None, reason="there is no mpirun: apt-get install libopenmpi-dev"),
]

MPIRUN = ["mpirun", "--oversubscribe", "--allow-run-as-root"]
# Once a process has ended, mpirun asks the others to end after so many seconds, and kills them after as many again. One
# second, the default, is little where cores are busy.
TIME_TO_END = ("--mca", "odls_base_sigkill_timeout", "5")


def command(folder: Path, ranks: int, *arguments: str, runner: Path = RUNNER, mpirun: Sequence[str] = ()) -> list[str]:
    out = str(folder / "results.json")
    return [*MPIRUN, *mpirun, "-n", str(ranks), str(runner), "--device", "cpu", *arguments, "--out", out]


@pytest.fixture
def run(tmp_path):
    """Runs the runner on so many ranks to its end."""

    def run(
        ranks: int, *arguments: str, kernel: str = "many_gpus", runner: Path = RUNNER, mpirun: Sequence[str] = ()
    ) -> Run:
        words = command(tmp_path, ranks, "--kernel", kernel, *arguments, runner=runner, mpirun=mpirun)
        return Run(ran(*words, cwd=tmp_path), tmp_path / "results.json")

    return run


@pytest.mark.parametrize("grid", testing.sample(["1x1", "1x2", "2x2", "1x3", "2x3"], 2))
def test_every_grid_is_right_and_receives_what_the_page_says(run, grid):
    rows, columns = map(int, grid.split("x"))
    kernels = "many_gpus,many_gpus:int8x6"
    done = run(rows * columns, "--grid", grid, "--sizes", "96,250x130x77", "--beta", "0.5", kernel=kernels)
    assert done.status == 0, done.stderr
    assert [case["outcome"] for case in done.cases] == ["executed"] * 4
    assert [case["verified"] for case in done.cases] == [True] * 4
    exchange = "MPI" if grid != "1x1" else "host copies"  # one process is no world
    spreads = [case["spread"] for case in done.cases if case["m"] == 96]
    assert spreads == 2 * [spread(96, 96, 96, grid, exchange)]
    assert done.stdout.count("CPU: ") == 1  # one rank prints


@pytest.mark.parametrize("kernel", ["leaving_ranks", "crashing_ranks"])
def test_a_rank_whose_process_ends_is_named_and_all_ranks_end(run, kernel):
    done = run(3, "--sizes", "40,50", kernel=kernel, runner=MISBEHAVING, mpirun=TIME_TO_END)
    assert done.status != 0
    assert (done.cases[0]["outcome"], done.cases[0]["reason"]) == ("failed", "rank 1: its process has ended")
    assert [case["outcome"] for case in done.cases[1:]] in ([], ["skipped"])  # it may be interrupted


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        ("throwing_ranks", "rank 1: out of order"),
        ("hanging_ranks", "rank 1: no reply within {} s, which --timeout changes"),
    ],
)
def test_a_rank_that_goes_wrong_is_named_and_all_ranks_end(run, kernel, reason):
    def of_three(*limit: str) -> Run:
        return run(3, *limit, "--sizes", "40,50", kernel=kernel, runner=MISBEHAVING)

    if kernel == "hanging_ranks":
        done, seconds = run_with_time_limit(
            lambda seconds: of_three("--timeout", seconds), lambda case: case["reason"].startswith("rank 1: ")
        )
        reason = reason.format(seconds)
    else:
        done = of_three()
    assert done.status == 1
    assert (done.cases[0]["outcome"], done.cases[0]["reason"]) == ("failed", reason)
    assert done.cases[1]["outcome"] == "skipped"
    assert "ranks that take no orders any more" in done.cases[1]["reason"]
    assert done.results["interrupted"] is False


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--grid", "2x2", "--kernel", "many_gpus"], "--grid takes 4 ranks, mpirun started 3"),
        (["--gpus", "2", "--kernel", "many_gpus"], "--gpus takes 2 ranks, mpirun started 3"),
        (["--kernel", "9"], "mpirun is for products on several GPUs .* start the runner by itself for 09_every_shape"),
        (["--kernel", "many_gpu"], "unknown kernel 'many_gpu'"),
    ],
)
def test_bad_usage_is_told_once_and_ends_all_ranks(tmp_path, arguments, message):
    done = ran(*command(tmp_path, 3, *arguments, "--sizes", "40"), cwd=tmp_path)
    assert done.returncode == 2
    assert len(re.findall(f"^runner: {message}", done.stderr, re.MULTILINE)) == 1, done.stderr
    assert done.stdout == ""
    assert not (tmp_path / "results.json").exists()


def test_a_runner_of_another_version_is_refused(tmp_path):
    words = command(tmp_path, 1, "--kernel", "many_gpus", "--sizes", "40", mpirun=TIME_TO_END)
    done = ran(*words, ":", "-n", "1", MISBEHAVING, cwd=tmp_path)
    assert done.returncode == 2
    message = "^runner: rank 0 is version .* and rank 1 is version 0.0.1 commit 000000000000 with changes"
    assert len(re.findall(message, done.stderr, re.MULTILINE)) == 1, done.stderr
    assert not (tmp_path / "results.json").exists()


@pytest.mark.parametrize(
    ("rank_name", "size_name", "message"),
    [
        # MPICH's mpirun would start two processes, each of which is alone to Open MPI.
        ("PMI_RANK", "PMI_SIZE", "mpirun started 2 processes, but they make worlds of one process each"),
        ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "srun started 2 processes, and gave them no way to find each other"),
    ],
)
def test_processes_that_are_alone_are_refused(tmp_path, rank_name, size_name, message):
    for rank in (0, 1):
        environment = os.environ | {rank_name: str(rank), size_name: "2"}
        words = [RUNNER, "--device", "cpu", "--kernel", "many_gpus", "--sizes", "40"]
        done = ran(*words, cwd=tmp_path, env=environment)
        assert done.returncode == 2
        assert bool(done.stderr) == (rank == 0)
        assert done.stderr.startswith(f"runner: {message}" if rank == 0 else "")
        assert not list(tmp_path.iterdir())


def test_an_interrupt_of_mpirun_ends_all_ranks(tmp_path):
    path = tmp_path / "results.json"
    words = command(
        tmp_path, 2, "--kernel", "many_gpus", "--force", "--no-verify", "--sizes", "40,2000", mpirun=TIME_TO_END
    )
    with started(*words, cwd=tmp_path) as mpirun:
        wait_until(lambda: count_of_cases(path) == 1, mpirun)
        ranks = ran("pgrep", "-P", str(mpirun.pid)).stdout.split()
        assert len(ranks) == 2
        mpirun.send_signal(signal.SIGINT)
        stdout, stderr = mpirun.communicate(timeout=HANGS)
    done = Run(subprocess.CompletedProcess(words, mpirun.returncode, stdout, stderr), path)
    assert done.status != 0
    assert done.results["interrupted"] is True
    assert done.cases[0]["outcome"] == "executed"
    assert [case["reason"] for case in done.cases[1:]] in ([], ["interrupted"])
    deadline = time.monotonic() + HANGS
    while any(is_running(rank) for rank in ranks):
        assert time.monotonic() < deadline
        time.sleep(0.02)
