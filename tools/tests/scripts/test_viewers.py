"""tools/viewers.py: what it refuses, in one sentence that says why."""

import sys
from functools import partial

import pytest

from helpers import ROOT, fake, ran

LISTED = '[{"id": "01_naive", "number": 1}, {"id": "cublas", "number": null}]'


def writing(listed: str, results: str) -> str:
    """A runner that lists these kernels, writes the results to the file of --out, and something to that of --trace."""
    return f"""
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


def test_the_order_of_tiles_needs_no_runner(tmp_path):
    done = viewers("new/pages", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "new/pages/tiles.html\n"), done.stderr
    assert "src=" not in (tmp_path / "new" / "pages" / "tiles.html").read_text(encoding="utf-8")


OF_RUNNER = ["pages", "--runner", "runner"]
# Lists that are none, and results without counts.
OTHER_RUNNERS = ["", 'echo \'[{"id": "01_naive"\'', 'echo \'[{"name": "01_naive"}]\'', "echo '[1]'"]
OTHER_RUNNERS += [writing(LISTED, results) for results in ("", "{", "[]", '{"benchmarks": [{"name": "a"}]}')]


@pytest.mark.parametrize(
    ("arguments", "said", "runner"),
    [
        (["file"], "file is a file: the pages need a folder", ""),
        (["file/pages"], "file/pages: Not a directory", ""),
        (["taken"], "taken/tiles.html: Is a directory", ""),
        (["pages", "--runner", "missing"], "missing can not be started: No such file or directory", ""),
        (["pages", "--runner", "taken"], "taken can not be started: Permission denied", ""),
        (["pages", "--runner", "file"], "file can not be started: Permission denied", ""),
        (["pages", "--runner", "text"], "text can not be started: Exec format error", ""),
        (OF_RUNNER, "the list of kernels: no kernels here", "echo no kernels here >&2; exit 2"),
        (OF_RUNNER, "runner ended with status -9 and said nothing", "kill -9 $$"),
        *(
            (OF_RUNNER, "is not the runner of this version: build it from this checkout", text)
            for text in OTHER_RUNNERS
        ),
    ],
)
def test_what_can_not_be_used_is_refused_in_one_line(tmp_path, arguments, said, runner):
    (tmp_path / "file").touch()
    (tmp_path / "text").touch(0o755)
    (tmp_path / "taken" / "tiles.html").mkdir(parents=True)
    fake(tmp_path, "runner", runner)
    done = viewers(*arguments, folder=tmp_path, status=2)
    (line,) = done.stderr.splitlines()
    assert said in line


def test_chapters_and_steps_of_the_worklog_have_a_page_for_each_launch(tmp_path):
    """The runner lies in the folder that the script is started in."""
    results = '{"benchmarks": [{"counts": {"launches": [{}, {}]}}]}'
    fake(tmp_path, "runner", writing(LISTED, results))
    done = viewers("pages", "--runner", "runner", folder=tmp_path, status=0)
    kernels = ["01_naive", *(f"step_{number}" for number in range(1, 9))]
    pages = [f"warp_{kernel}{launch}" for kernel in kernels for launch in ("", "_launch_0")]
    assert done.stdout.splitlines() == [f"pages/{page}.html" for page in [*pages, "tiles"]]
