"""Products on several ranks, from outside. They are threads on the executor, or processes that mpirun starts, which
exchange by MPI."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
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

pytestmark = needs_runner
needs_mpirun = pytest.mark.skipif(
    shutil.which("mpirun") is None, reason="there is no mpirun: apt-get install libopenmpi-dev"
)
threads_and_processes = pytest.mark.parametrize(
    "processes", [False, pytest.param(True, marks=needs_mpirun)], ids=["threads", "processes"]
)

# Once a process has ended, mpirun asks the others to end after so many seconds, and kills them after as many again. One
# second, the default, is little where cores are busy.
TIME_TO_END = ("--mca", "odls_base_sigkill_timeout", "5")


def command(folder: Path, processes: int, *arguments: str, runner: Path = RUNNER) -> list[str]:
    """`processes` are 0 for ranks that are threads."""
    mpirun = ["mpirun", "--oversubscribe", "--allow-run-as-root", *TIME_TO_END, "-n", str(processes)]
    runs = [str(runner), "--device", "cpu", *arguments, "--out", str(folder / "results.json")]
    return [*mpirun, *runs] if processes else runs


@pytest.fixture
def run(tmp_path):
    """Runs the runner to its end, with this status if one is given."""

    def run(*arguments: str, kernel: str = "many_gpus", processes: int = 0, runner: Path = RUNNER, status=None) -> Run:
        words = command(tmp_path, processes, "--kernel", kernel, *arguments, runner=runner)
        return Run(ran(*words, cwd=tmp_path, status=status), tmp_path / "results.json")

    return run


@threads_and_processes
@pytest.mark.parametrize("grid", testing.sample(["1x1", "1x2", "2x2", "1x3", "2x3"], 2))
def test_every_grid_is_right_and_receives_what_the_page_says(run, grid, processes):
    rows, columns = map(int, grid.split("x"))
    words = ("--grid", grid, "--sizes", "96,250x130x77", "--beta", "0.5")
    done = run(*words, kernel="many_gpus,many_gpus:int8x6", processes=processes * rows * columns, status=0)
    assert [(case["outcome"], case["verified"]) for case in done.cases] == [("executed", True)] * 4
    exchange = "MPI" if processes and grid != "1x1" else "host copies"  # one process is no world
    spreads = [case["spread"] for case in done.cases if case["m"] == 96]
    assert spreads == 2 * [spread(96, 96, 96, grid, exchange)]
    assert done.stdout.count("CPU: ") == 1  # one rank prints


def test_every_variant_is_right(run):
    done = run("--gpus", "2", "--sizes", "96x64x80", kernel="many_gpus:*", status=0)
    assert len(done.outcomes) == 5
    assert set(done.outcomes.values()) == {"executed"}


@pytest.mark.long
def test_int8_holds_its_bound_on_all_kinds_of_operands(run):
    done = run("--accuracy", "--grid", "2x3", "--sizes", "96x70x150", kernel="many_gpus:int8x6", status=0)
    assert len(done.cases) == 12
    assert all(case["verified"] for case in done.cases)
    assert {case["accuracy_class"] for case in done.cases} == {"int8_split"}


@threads_and_processes
@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        ("throwing_ranks", "rank {}: out of order"),
        ("hanging_ranks", "rank {}: no reply within {} s, which --timeout changes"),
    ],
)
def test_a_rank_that_goes_wrong_is_named(run, kernel, reason, processes):
    """It costs its case alone where ranks are threads, and processes take no orders any more."""

    def of_three(*limit: str) -> Run:
        words = (*limit, "--gpus", "3", "--sizes", "40")
        return run(*words, kernel=f"{kernel},many_gpus", processes=3 * processes, runner=MISBEHAVING)

    if kernel == "hanging_ranks":
        done, seconds = run_with_time_limit(lambda s: of_three("--timeout", s), lambda case: case["kernel"] == kernel)
    else:
        done, seconds = of_three(), ""
    assert done.status == 1
    assert [case["outcome"] for case in done.cases] == ["failed", "skipped" if processes else "executed"]
    assert re.fullmatch(reason.format("1" if processes else "[0-2]", seconds), done.cases[0]["reason"])
    assert ("ranks that take no orders any more" in done.cases[1]["reason"]) is processes
    assert done.results["interrupted"] is False


@threads_and_processes
@pytest.mark.parametrize(
    ("kernel", "reason"),
    [("leaving_ranks", "called exit(5)"), ("crashing_ranks", "crashed: Segmentation fault (signal 11)")],
)
def test_a_rank_whose_process_ends_costs_its_case(run, kernel, reason, processes):
    words = ("--gpus", "3", "--sizes", "40")
    done = run(*words, kernel=f"{kernel},many_gpus", processes=3 * processes, runner=MISBEHAVING)
    first, *others = done.cases
    assert (first["outcome"], first["reason"]) == ("failed", "rank 1: its process has ended" if processes else reason)
    assert done.status != 0
    assert [case["outcome"] for case in others] in ([[], ["skipped"]] if processes else [["executed"]])


def told_once(words: list[str], message: str, folder: Path) -> None:
    """Expects that a run of several processes ends with this message of one of them."""
    done = ran(*words, cwd=folder, status=2)
    assert len(re.findall(f"^runner: {message}", done.stderr, re.MULTILINE)) == 1, done.stderr
    assert done.stdout == ""
    assert not (folder / "results.json").exists()


@needs_mpirun
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
    told_once(command(tmp_path, 3, *arguments, "--sizes", "40"), message, tmp_path)


@needs_mpirun
def test_a_runner_of_another_version_is_refused(tmp_path):
    words = [*command(tmp_path, 1, "--kernel", "many_gpus", "--sizes", "40"), ":", "-n", "1", str(MISBEHAVING)]
    told_once(words, "rank 0 is version .* and rank 1 is version 0.0.1 commit 000000000000 with changes", tmp_path)


@pytest.mark.parametrize(
    ("rank_name", "size_name", "message"),
    [
        # MPICH's mpirun would start two processes, each of which is alone to Open MPI.
        ("PMI_RANK", "PMI_SIZE", "mpirun started 2 processes, but they make worlds of one process each"),
        ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "srun started 2 processes, and gave them no way to find each other"),
    ],
)
@needs_mpirun
def test_processes_that_are_alone_are_refused(tmp_path, rank_name, size_name, message):
    for rank in (0, 1):
        environment = os.environ | {rank_name: str(rank), size_name: "2"}
        words = [RUNNER, "--device", "cpu", "--kernel", "many_gpus", "--sizes", "40"]
        done = ran(*words, cwd=tmp_path, env=environment, status=2)
        assert bool(done.stderr) == (rank == 0)
        assert done.stderr.startswith(f"runner: {message}" if rank == 0 else "")
        assert not list(tmp_path.iterdir())


@needs_mpirun
def test_an_interrupt_of_mpirun_ends_all_ranks(tmp_path):
    path = tmp_path / "results.json"
    words = command(tmp_path, 2, "--kernel", "many_gpus", "--force", "--no-verify", "--sizes", "40,2000")
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
