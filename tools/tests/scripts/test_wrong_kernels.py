"""The kernels that are made of right ones and a diff: every change has its place, and the table names them all."""

import re

import pytest

from tools import wrong_kernels

TEXTS = wrong_kernels.kernels()
TEXT = "int a;\nint b;\n  int b;\nint c;\n"


def test_every_kernel_has_its_row():
    page = wrong_kernels.PAGE.read_text(encoding="utf-8")
    assert re.findall(r"^\| (\[.*?\)) \|", page, re.MULTILINE) == [wrong_kernels.link(file) for file in TEXTS]


def test_a_wrong_kernel_says_so_and_no_two_are_the_same():
    rights = {file for file, text in TEXTS.items() if text.startswith("// Right: ")}
    assert rights == {file for file in TEXTS if file.startswith("right_")}
    assert all(TEXTS[file].startswith("// Wrong: ") for file in TEXTS.keys() - rights)
    wrong_by_its_sizes = "index_overflows.cu"
    code = [text.partition("\n")[2] for file, text in TEXTS.items() if file != wrong_by_its_sizes]
    assert len(set(code)) == len(code)


def test_hunks_are_applied_one_behind_the_other():
    assert wrong_kernels.changed(TEXT, ["-int a;\n+int d;\n int b;", "+int e;\n int c;"], "x.cu") == (
        "int d;\nint b;\n  int b;\nint e;\nint c;\n"
    )
    assert wrong_kernels.changed(TEXT, ["-int b;"], "x.cu") == "int a;\n  int b;\nint c;\n"


@pytest.mark.parametrize(
    ("hunks", "times"),
    [
        (["-int x;\n+int y;"], 0),
        (["-int\n+long"], 0),  # a part of a line
        (["-int c;", "-int a;"], 0),  # the second one lies before the first
        (["int a;"], 0),
        (["+int d;"], 5),  # before each line and at the end
    ],
)
def test_a_hunk_without_a_place_is_an_error(hunks, times):
    with pytest.raises(SystemExit, match=rf"wrong\.diff: x\.cu: these lines are there {times} times, not once"):
        wrong_kernels.changed(TEXT, hunks, "x.cu")
    with pytest.raises(SystemExit, match="2 times"):
        wrong_kernels.changed(TEXT + TEXT, ["-int a;"], "x.cu")
