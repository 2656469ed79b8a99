"""tools/viewers.py: what it refuses, in one sentence that says why."""

import sys
from functools import partial
from pathlib import Path

import pytest

from helpers import ROOT, fake, ran

LISTED = '[{"id": "01_naive", "number": 1}, {"id": "cublas", "number": null}]'
NO_RUNNER = "is not the runner of this version: build it from this checkout"
# Lists kernels as a test gives them, and writes its results to the file of --out, and something to that of --trace.
WRITING = """
[ $1 != --list=json ] || echo '{listed}'
while [ $# -gt 0 ]; do
  case $1 in
    --out) echo '{results}' >$2 ;;
    --trace) echo a page >$2 ;;
  esac
  shift
done
"""


viewers = partial(ran, sys.executable, "-m", "tools.viewers", PYTHONPATH=ROOT)


def assert_refused(said: str, folder: Path, *arguments: str) -> None:
    """In one line."""
    done = viewers(*arguments, folder=folder)
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert said in line


def test_the_order_of_tiles_needs_no_runner(tmp_path):
    done = viewers("new/pages", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "new/pages/tiles.html\n"), done.stderr
    assert "src=" not in (tmp_path / "new" / "pages" / "tiles.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["file"], "file is a file: the pages need a folder"),
        (["file/pages"], "file/pages: Not a directory"),
        (["taken"], "taken/tiles.html: Is a directory"),
        (["pages", "--runner", "missing"], "missing can not be started: No such file or directory"),
        (["pages", "--runner", "taken"], "taken can not be started: Permission denied"),
        (["pages", "--runner", "file"], "file can not be started: Permission denied"),
        (["pages", "--runner", "text"], "text can not be started: Exec format error"),
    ],
)
def test_wrong_arguments_are_refused(tmp_path, arguments, said):
    (tmp_path / "file").touch()
    (tmp_path / "text").touch(0o755)
    (tmp_path / "taken" / "tiles.html").mkdir(parents=True)
    assert_refused(said, tmp_path, *arguments)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", NO_RUNNER),
        ('echo \'[{"id": "01_naive"\'', NO_RUNNER),
        ('echo \'[{"name": "01_naive"}]\'', NO_RUNNER),
        ("echo '[1]'", NO_RUNNER),
        ("echo no kernels here >&2; exit 2", "the list of kernels: no kernels here"),
        ("kill -9 $$", "runner ended with status -9 and said nothing"),
    ],
)
def test_a_program_that_lists_no_kernels_is_refused(tmp_path, text, said):
    fake(tmp_path, "runner", text)
    assert_refused(said, tmp_path, "pages", "--runner", "runner")


@pytest.mark.parametrize("results", ["", "{", "[]", '{"benchmarks": [{"name": "a"}]}'])
def test_results_without_counts_are_refused(tmp_path, results):
    fake(tmp_path, "runner", WRITING.replace("{listed}", LISTED).replace("{results}", results))
    assert_refused(NO_RUNNER, tmp_path, "pages", "--runner", "runner")


def test_chapters_and_steps_of_the_worklog_have_a_page_for_each_launch(tmp_path):
    """The runner lies in the folder that the script is started in."""
    results = '{"benchmarks": [{"counts": {"launches": [{}, {}]}}]}'
    fake(tmp_path, "runner", WRITING.replace("{listed}", LISTED).replace("{results}", results))
    done = viewers("pages", "--runner", "runner", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    kernels = ["01_naive", *(f"step_{number}" for number in range(1, 9))]
    pages = [f"warp_{kernel}{launch}" for kernel in kernels for launch in ("", "_launch_0")]
    assert done.stdout.splitlines() == [f"pages/{page}.html" for page in [*pages, "tiles"]]
