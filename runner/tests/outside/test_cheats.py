"""The files of tests/cheats/: each says what it does and what has to become of it, and compiles."""

from __future__ import annotations

import re
import shutil

import pytest

import cheats
from runs import run_nvcc_on_all
from tools import testing

ALL = cheats.cheats()


def test_there_are_cheats_of_every_family():
    assert len(ALL) >= 40
    assert {cheat.family for cheat in ALL} == set(cheats.FAMILIES)
    assert {verdict for cheat in ALL for verdict in cheat.verdicts} <= set(cheats.VERDICTS)


@pytest.mark.parametrize("cheat", ALL, ids=lambda cheat: cheat.path.stem)
def test_a_header_says_what_it_does_in_three_sentences_at_most(cheat):
    assert 1 <= len(re.findall(r"\.(?=\s|$)", cheat.text)) <= 3, cheat.text
    assert len(set(cheat.verdicts)) == len(cheat.verdicts)


def test_the_table_is_that_of_the_headers():
    assert cheats.PAGE.read_text(encoding="utf-8") == cheats.page()


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc")
def test_nvcc_takes_them(tmp_path):
    chosen = testing.sample([cheat.path.name for cheat in ALL], 15)
    files = [cheats.FOLDER / name for name in ("product.cuh", *chosen)]
    texts = [path.read_text(encoding="utf-8") for path in files]
    headers = sorted({name for text in texts for name in re.findall(r"^#include <(.+)>", text, re.MULTILINE)})
    options = ("-arch=sm_90a", "-Xcicc", "-O0", "-Xptxas", "-O0", "-c", "-o", "all.o")
    run_nvcc_on_all(tmp_path, files, headers, *options)
