"""The files of tests/cheats/: each says what it does and what has to become of it, and compiles."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

import cheats

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
def test_nvcc_takes_all_of_them(tmp_path):
    """In one source, each in a namespace: nvcc takes longer for CUDA's headers than for any of them."""
    files = [cheats.FOLDER / "product.cuh", *(cheat.path for cheat in ALL)]
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    headers = sorted({name for text in texts.values() for name in re.findall(r"^#include <(.+)>", text, re.MULTILINE)})
    lines = [f"#include <{header}>" for header in headers]
    for path, text in texts.items():
        include = f'#include "{path}"'
        lines += [f"namespace of_{path.stem} {{", include, "}"] if path.suffix == ".cu" else [include]
        lines += [f"#undef {name}" for name in re.findall(r"^#define (\w+)", text, re.MULTILINE)]
    (tmp_path / "all.cu").write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = ["nvcc", "-std=c++17", "-arch=sm_90a", "-Xcicc", "-O0", "-Xptxas", "-O0", "-c", "-o", tmp_path / "all.o"]
    done = subprocess.run([*command, tmp_path / "all.cu"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
