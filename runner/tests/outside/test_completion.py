"""Completion of the runner's command line, as bash asks for it."""

from __future__ import annotations

import pytest

from runs import ROOT, RUNNER, needs_runner, ran

pytestmark = needs_runner

ASK = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_runner "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def completions(*words: str) -> list[str]:
    done = ran("bash", "-c", ASK, "bash", ROOT / "scripts" / "completion.bash", RUNNER, *words)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--ker"], ["--kernel"]),
        (["--no-"], ["--no-verify"]),
        (["--kernel", "06"], ["06_coarse_2d", "06_coarse_2d:published", "06_coarse_2d:vectorized"]),
        (["--kernel", "cpu_blas,05"], ["cpu_blas,05_coarse_1d"]),
        (["--kernel", "base"], ["baselines"]),
        (["--l2", ""], ["cold", "warm"]),
        (["--l2", "=", "w"], ["warm"]),
        (["--data", "uniform,nan"], ["uniform,nan"]),
        (["--data", "rank"], ["rank_one", "rank_one_b"]),
        (["--gpu-model", "h2"], ["h200"]),
        (["--sizes", "1"], []),
    ],
)
def test_words_are_completed(words, expected):
    assert completions(*words) == expected


@pytest.mark.parametrize("flag", ["--out", "--json", "--trace"])
def test_output_goes_to_any_file(tmp_path, monkeypatch, flag):
    (tmp_path / "results.json").touch()
    monkeypatch.chdir(tmp_path)
    assert completions(flag, "res") == ["results.json"]


def test_files_and_folders_are_judged(tmp_path, monkeypatch):
    (tmp_path / "mine.cu").touch()
    (tmp_path / "mine.md").touch()
    (tmp_path / "many").mkdir()
    monkeypatch.chdir(tmp_path)
    assert sorted(completions("--judge", "m")) == ["many", "mine.cu"]
