"""The drop-in as the Python package loads it, and its table, without a framework."""

import pytest

import sgemm
from sgemm import drop_in, library

pytest_plugins = ("fakes",)
LINES = b"""\
3\t0\t0\t100.5\t270\tcublasSgemm\tNT\t2048\t1024\t512\t1\t11_bf16x6\tpredicted 100 us by 11_bf16x6
2\t2\t50.25\t40\t90\tcublasLtMatmul+bias\tTN\t8\t9\t10\t1\t12_fp16x3\tpredicted
7\t0\t0\t0\t0\tcublasGemmEx\tNN\t4\t4\t4\t5\tcublas\tthe math mode is TF32
"""


def test_calls(fake_drop_in):
    fake_drop_in.fake_note(LINES)
    first, second, third = drop_in.calls()
    assert (first.calls, first.function, first.ops) == (3, "cublasSgemm", "NT")
    assert (first.m, first.n, first.k) == (2048, 1024, 512)
    assert (first.us, first.saved_ms) == (100.5, pytest.approx(3 * 169.5e-3))
    assert (second.us, second.saved_ms, second.by) == (50.25, pytest.approx(2 * 39.75e-3), "12_fp16x3")
    assert (third.us, third.saved_ms, third.batch, third.why) == (0, 0, 5, "the math mode is TF32")


def test_the_table_for_people(fake_drop_in):
    fake_drop_in.fake_note(LINES)
    header, *lines, sum_of_all = drop_in.table(drop_in.calls()).splitlines()
    assert header.split()[:5] == ["calls", "us", "cuBLAS", "us", "saved"]
    assert lines[0].split()[:5] == ["3", "100.5~", "270", "0.5", "cublasSgemm"]
    assert lines[1].split()[:5] == ["2", "50.2", "90", "0.1", "cublasLtMatmul+bias"]
    assert lines[2].split()[:3] == ["7", "cublasGemmEx", "NN"]
    assert lines[2].endswith("the math mode is TF32")
    assert sum_of_all.startswith("5 of 12 calls by libsgemm, which saved some 1 ms")
    fake_drop_in.fake_note(b"")
    assert drop_in.table(drop_in.calls()) == "No products yet."


def test_the_table_is_read_whole_though_calls_come_in_between(fake_drop_in, monkeypatch):
    read = fake_drop_in.sgemm_drop_in_table
    fake_drop_in.fake_note(LINES[:80])

    def grows(text, size):
        result = read(text, size)
        fake_drop_in.fake_note(LINES)
        return result

    monkeypatch.setattr(fake_drop_in, "sgemm_drop_in_table", grows)
    assert len(drop_in.calls()) == 3


def test_accuracies_have_numbers():
    names = ("fp32", "componentwise", "normwise", "rowwise", "reproducible", "cublas")
    assert [drop_in.number_of(name) for name in names] == [0, 1, 2, 3, 4, -1]
    with pytest.raises(ValueError, match=f"give one of {', '.join(names)}"):
        drop_in.number_of(None)


def test_a_missing_drop_in_is_named(fake, fake_library, tmp_path, monkeypatch):
    drop_in.load.cache_clear()
    monkeypatch.setattr(library, "drop_in_path", lambda: str(tmp_path / "libsgemm_cublas.so"))
    with pytest.raises(sgemm.LibraryNotFound, match=r"can not be loaded: .*/libsgemm_cublas\.so"):
        drop_in.load()
    monkeypatch.setattr(library, "drop_in_path", lambda: fake_library)  # another library in its place
    with pytest.raises(sgemm.LibraryNotFound, match="sgemm_drop_in_attach"):
        drop_in.load()
    drop_in.load.cache_clear()


def test_it_is_beside_the_library_that_the_loader_found(fake, fake_drop_in_file, monkeypatch):
    library.load()
    monkeypatch.setenv("SGEMM_LIBRARY", library.NAME)
    assert library.drop_in_path() == fake_drop_in_file
