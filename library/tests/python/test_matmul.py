"""sgemm.matmul() on a libsgemm whose GPU is the host."""

import sys
import threading
import types

import numpy as np
import pytest

import sgemm
import sgemm.library
from fakes import DlpackArray, GpuArray
from sgemm.arrays import Array, overlap

ROW_MAJOR, COLUMN_MAJOR = 101, 102
VERSION = sum(int(x) * y for x, y in zip(sgemm.library.NAME.split(".")[2:], (10000, 100), strict=True))
pytest_plugins = ("fakes",)
random = np.random.default_rng(5)


def numbers(*shape):
    return random.integers(-4, 5, shape).astype(np.float32)


def layouts(matrix):
    """The same numbers in all layouts that a product takes without a copy."""
    rows, columns = matrix.shape[-2:]
    leading = matrix.shape[:-2]
    cut = np.full((*leading, rows + 2, columns + 3), np.nan, np.float32)[..., 1:-1, 2:-1]
    cut[...] = matrix
    turned = np.full((*leading, columns + 1, rows + 2), np.nan, np.float32)[..., 1:, :-2].swapaxes(-1, -2)
    turned[...] = matrix
    return {"rows": matrix.copy(), "part of rows": cut, "columns": turned}


@pytest.mark.parametrize("shapes", [((5, 3), (3, 4)), ((1, 3), (3, 1)), ((4, 1), (1, 3)), ((2, 5, 3), (2, 3, 4))])
def test_every_layout_gives_the_product(fake, shapes):
    a, b = numbers(*shapes[0]), numbers(*shapes[1])
    calls = 0
    for a_layout in layouts(a).values():
        for b_layout in layouts(b).values():
            for out in layouts(np.full((a @ b).shape, np.nan, np.float32)).values():
                array = GpuArray(out)
                assert sgemm.matmul(GpuArray(a_layout), GpuArray(b_layout), out=array) is array
                np.testing.assert_array_equal(out, a @ b)
                calls += 1
    assert fake.products == calls == 27


def test_scalars_and_leading_dimensions(fake):
    a, b, c = numbers(5, 3), numbers(4, 3), numbers(5, 4)
    expected = 2 * a @ b.T + 0.5 * c
    sgemm.matmul(GpuArray(a), GpuArray(b.T), out=GpuArray(c), alpha=2, beta=0.5)
    np.testing.assert_array_equal(c, expected)
    assert (fake.order, fake.a.op, fake.b.op) == (ROW_MAJOR, 0, 1)
    assert (fake.a.ld, fake.b.ld, fake.ldd) == (3, 3, 4)


def test_a_result_by_columns(fake):
    a, b = numbers(5, 3), numbers(3, 4)
    out = np.empty((4, 5), np.float32).T
    sgemm.matmul(GpuArray(a), GpuArray(b), out=GpuArray(out))
    np.testing.assert_array_equal(out, a @ b)
    assert (fake.order, fake.a.op, fake.b.op) == (COLUMN_MAJOR, 1, 1)


def test_a_matrix_serves_a_whole_batch(fake):
    a, b = numbers(3, 5, 3), numbers(3, 4)
    for one in (b, b[None], b.reshape(1, 3, 4), np.broadcast_to(b, (3, 3, 4))):
        out = np.empty((3, 5, 4), np.float32)
        sgemm.matmul(GpuArray(a), GpuArray(one), out=GpuArray(out))
        np.testing.assert_array_equal(out, a @ b)
        assert (fake.a.stride, fake.b.stride, fake.stride_of_d, fake.batch_count) == (15, 0, 20, 3)


def test_an_empty_product_calls_nothing(fake):
    out = GpuArray(np.empty((0, 4), np.float32))
    assert sgemm.matmul(GpuArray(numbers(0, 3)), GpuArray(numbers(3, 4)), out=out) is out
    assert fake.products == 0


def test_dlpack(fake, cuda):
    a, b = numbers(5, 3), numbers(4, 3)
    out = np.empty((5, 4), np.float32)
    sgemm.matmul(DlpackArray(a), DlpackArray(b.T), out=DlpackArray(out))
    np.testing.assert_array_equal(out, a @ b.T)
    with pytest.raises(TypeError, match="b does not hold float32"):
        sgemm.matmul(DlpackArray(a), DlpackArray(b.T.astype(np.float64)), out=DlpackArray(out))


def test_repeatable_products(fake):
    operands = GpuArray(numbers(2, 2)), GpuArray(numbers(2, 2))
    for repeatable, expected in ((None, 0), (True, 1), (True, 1), (None, 0), (False, 0)):
        sgemm.matmul(*operands, out=GpuArray(numbers(2, 2)), repeatable=repeatable)
        assert fake.repeatable == expected


def test_settings_of_a_call_are_those_of_the_next_one_if_it_asks_for_them(fake):
    operands = GpuArray(numbers(2, 2)), GpuArray(numbers(2, 2))
    accuracies = {"fp32": 0, "componentwise": 1, "normwise": 2, "rowwise": 3, "reproducible": 4}
    for accuracy, stream in (("fp32", 5), ("fp32", 5), ("fp32", 6), *((name, 6) for name in accuracies), ("fp32", 5)):
        sgemm.matmul(*operands, accuracy, out=GpuArray(numbers(2, 2)), stream=stream)
        assert (fake.accuracy, fake.stream) == (accuracies[accuracy], stream)


def test_streams(fake):
    def stream_of_product(a, **options):
        sgemm.matmul(a, GpuArray(numbers(2, 2)), out=GpuArray(numbers(2, 2)), **options)
        return fake.stream

    a = GpuArray(numbers(2, 2))
    assert stream_of_product(a) == 0
    assert stream_of_product(GpuArray(numbers(2, 2), stream=2)) == 2
    assert stream_of_product(a, stream=64) == 64
    assert stream_of_product(a, stream=types.SimpleNamespace(cuda_stream=65)) == 65
    assert stream_of_product(a, stream=types.SimpleNamespace(ptr=66)) == 66
    assert stream_of_product(a, stream=types.SimpleNamespace(__cuda_stream__=lambda: (0, 67))) == 67
    with pytest.raises(TypeError, match="stream is a str"):
        stream_of_product(a, stream="0")


def test_the_product_waits_for_all_streams_and_they_for_it(fake, cuda):
    a, b, out = (GpuArray(numbers(2, 2), stream=stream) for stream in (5, 6, 7))

    def order_of_product(**options):
        cuda.order.clear()
        sgemm.matmul(a, b, out=out, **options)
        return cuda.order

    assert order_of_product() == ["5<6", "5<7", "6<5", "7<5"]
    assert order_of_product(stream=7) == ["7<5", "7<6"], "who names a stream waits himself"
    b.stream = out.stream = 5
    assert order_of_product() == []
    a.stream, b.stream, out.stream = 1, None, 1  # the default stream by its other number
    assert order_of_product(stream=0) == []
    assert fake.stream == 0


def test_dlpack_is_told_the_stream_and_taken_where_the_interface_has_none(fake, cuda):
    a, b, out = DlpackArray(numbers(2, 2)), DlpackArray(numbers(2, 2)), GpuArray(numbers(2, 2))
    sgemm.matmul(a, b, out=out, stream=9)
    sgemm.matmul(a, b, out=out)
    assert (a.consumers, b.consumers) == ([9, 1], [9, 1])
    assert cuda.order == ["9!", "0!"], "the memory may be another's when the call returns"

    class Both(DlpackArray):
        """As JAX has them, whose interface names no stream."""

        @property
        def __cuda_array_interface__(self):
            return {"version": 2, "data": (self.numbers.ctypes.data, True)}

    both = Both(numbers(2, 2))
    sgemm.matmul(both, b, out=out, stream=8)
    np.testing.assert_array_equal(out.numbers, both.numbers @ b.numbers)
    assert both.consumers == [8]
    with pytest.raises(ValueError, match="out is read-only"):
        sgemm.matmul(b, b, out=both)


def test_out_must_not_overlap_operands(fake):
    whole = numbers(8, 8)
    b = GpuArray(np.eye(4, dtype=np.float32))
    for a, out in ((whole[:4, :4], whole[3:7, 3:7]), (whole[:4, :4], whole[:4, :4].T), (whole[4:, :4], whole[4:, :4])):
        with pytest.raises(ValueError, match="out overlaps a"):
            sgemm.matmul(GpuArray(a), b, out=GpuArray(out))
        with pytest.raises(ValueError, match="out overlaps b"):
            sgemm.matmul(b, GpuArray(a), out=GpuArray(out))
    assert fake.products == 0
    for a, out in ((whole[:4, :4], whole[:4, 4:]), (whole[:4, :4].T, whole[2:6, 4:]), (whole[:4], whole[4:, :4])):
        expected = a @ np.eye(a.shape[1], 4, dtype=np.float32)
        sgemm.matmul(GpuArray(a), GpuArray(np.eye(a.shape[1], 4, dtype=np.float32)), out=GpuArray(out))
        np.testing.assert_array_equal(out, expected)


def test_matrices_of_out_must_not_overlap_each_other(fake):
    a, b, whole = numbers(3, 2, 2), numbers(2, 4), np.empty(64, np.float32)
    for strides in ((4, 4, 1), (2, 5, 1), (0, 4, 1), (1, 1, 3)):
        out = GpuArray(np.lib.stride_tricks.as_strided(whole, (3, 2, 4), [4 * step for step in strides]))
        with pytest.raises(ValueError, match="the matrices of out overlap each other"):
            sgemm.matmul(GpuArray(a), GpuArray(b), out=out)
    assert fake.products == 0
    for strides in ((8, 4, 1), (4, 12, 1), (5, 22, 1), (9, 1, 2)):
        out = np.lib.stride_tricks.as_strided(whole, (3, 2, 4), [4 * step for step in strides])
        sgemm.matmul(GpuArray(a), GpuArray(b), out=GpuArray(out))
        np.testing.assert_array_equal(out, a @ b)


def test_overlaps_are_those_of_elements():
    for _ in range(300):
        arrays = []
        for _ in range(2):
            ld, rows, columns = random.integers(3, 9), random.integers(1, 4), random.integers(1, 4)
            shape, strides = (int(rows), int(columns)), (int(ld), 1)
            if random.integers(2):
                shape, strides = shape[::-1], strides[::-1]
            if random.integers(2):
                shape, strides = (2, *shape), (int(random.integers(0, 20)), *strides)
            arrays.append(Array(None, 4 * int(random.integers(0, 30)), shape, strides, 0))
        a, b = ({x.pointer // 4 + int(np.dot(index, x.strides)) for index in np.ndindex(x.shape)} for x in arrays)
        assert overlap(*arrays) == bool(a & b), arrays


def test_parts_of_one_buffer_take_no_time_however_many_lines_and_matrices_they_have():
    shape, strides = (1 << 15, 1 << 40, 4), (8 << 40, 8, 1)
    q, k, v = (Array(None, 4 * first, shape, strides, 0) for first in (0, 4, 3))
    assert not overlap(q, k)
    assert overlap(q, v)


def test_threads_have_handles_of_their_own(fake):
    def product():
        sgemm.matmul(GpuArray(numbers(2, 2)), GpuArray(numbers(2, 2)), out=GpuArray(numbers(2, 2)))
        seen.append(fake.handles)

    seen = []
    product()
    product()
    thread = threading.Thread(target=product)
    thread.start()
    thread.join()
    assert seen == [1, 1, 2]
    assert fake.handles == 1, "the thread's handle went with it"


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"a": numbers(5, 3)}, TypeError, "a is not on a GPU"),
        ({"a": [[1.0]]}, TypeError, "a is a builtins.list"),
        ({"a": GpuArray(numbers(5, 3).astype(np.float64))}, TypeError, "a holds <f8, not float32"),
        ({"a": GpuArray(numbers(3))}, ValueError, "a has 1 dimensions"),
        ({"b": GpuArray(numbers(4, 4))}, ValueError, "a has 3 columns and b has 4 rows"),
        ({"out": GpuArray(numbers(4, 5))}, ValueError, r"out has the shape \(4, 5\), but a @ b has \(5, 4\)"),
        ({"out": GpuArray(numbers(5, 4), device=1)}, ValueError, "on devices 0, 0 and 1"),
        ({name: GpuArray(numbers(3, 3), device=1) for name in ("a", "b", "out")}, ValueError, "device 0 is current"),
        ({"out": None}, TypeError, "arrays of fakes can not be made here: give one as `out`"),
        ({"out": None, "beta": 1}, ValueError, "beta is not 0"),
        ({"alpha": 1e300}, ValueError, r"alpha is 1e\+300, which is beyond the numbers of FP32"),
        ({"alpha": "2"}, TypeError, "alpha is no number of FP32: must be real number, not str"),
        ({"beta": np.ones(2)}, TypeError, "beta is no number of FP32"),
        ({"alpha": 10**400}, TypeError, "alpha is no number of FP32"),
        ({"stream": -1}, ValueError, "-1 is no address"),
        ({"stream": 1 << 64}, ValueError, "is no address"),
        ({"stream": types.SimpleNamespace(ptr=-5)}, ValueError, "-5 is no address"),
        ({"a": GpuArray(numbers(5, 3), stream="1")}, TypeError, "stream is a str"),
        ({"a": GpuArray(numbers(10, 6)[::2, ::2])}, ValueError, r"a has the strides \(12, 2\)"),
        ({"b": GpuArray(numbers(3, 8)[:, ::2])}, ValueError, "b has the strides"),
        ({"out": GpuArray(numbers(5, 8)[:, ::2])}, ValueError, "out has the strides"),
        ({"accuracy": ["fp32"]}, ValueError, "accuracy is .*: give one of fp32, componentwise, normwise, rowwise"),
        ({"accuracy": "fp16"}, ValueError, "accuracy is 'fp16': give one of fp32, componentwise, normwise, rowwise"),
        ({"a": GpuArray(numbers(2, 5, 3)), "b": GpuArray(numbers(3, 3, 4))}, ValueError, "batch of 2 and b of 3"),
        ({"a": GpuArray(numbers(2, 5, 3)[::-1]), "out": GpuArray(numbers(2, 5, 4))}, ValueError, "in descending order"),
    ],
)
def test_wrong_arguments_are_named(fake, change, error, text):
    arguments = {"a": GpuArray(numbers(5, 3)), "b": GpuArray(numbers(3, 4)), "out": GpuArray(numbers(5, 4))}
    with pytest.raises(error, match=text):
        sgemm.matmul(**(arguments | change))
    assert fake.products == 0


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"typestr": ">f4"}, "a holds >f4, not float32"),
        ({"version": 4}, "a has version 4 of __cuda_array_interface__, of which 0 to 3 are known"),
        ({"mask": GpuArray(numbers(5, 3))}, "a has a mask"),
        ({"shape": (-5, 3)}, r"a has the shape \(-5, 3\), with sizes below 0"),
        ({"shape": ("5", "3")}, "a has a broken __cuda_array_interface__: TypeError"),
        ({"data": 4096}, "a has a broken __cuda_array_interface__: TypeError"),
        ({"data": ("4096", False)}, "a has a broken __cuda_array_interface__: TypeError"),
        ({"data": (-8, False)}, "a has a broken __cuda_array_interface__: ValueError"),
        ({"data": (None, False)}, "a has elements, and no address of them"),
        ({"strides": ((1 << 66) + 12, 4)}, "a has a broken __cuda_array_interface__: ValueError"),
        ({"strides": (12,)}, "a has 2 dimensions and 1 strides"),
        ({"strides": (14, 4)}, "a has strides that are no multiples of 4 bytes"),
    ],
)
def test_wrong_descriptions_are_named(fake, change, text):
    a = GpuArray(numbers(5, 3), **change)
    with pytest.raises(TypeError, match=text):
        sgemm.matmul(a, GpuArray(numbers(3, 4)), out=GpuArray(numbers(5, 4)))
    assert fake.products == 0


def test_operands_may_be_read_only(fake):
    a, b, out = numbers(5, 3), numbers(3, 4), np.empty((5, 4), np.float32)
    sgemm.matmul(GpuArray(a, data=(a.ctypes.data, True)), GpuArray(b), out=GpuArray(out))
    np.testing.assert_array_equal(out, a @ b)
    with pytest.raises(ValueError, match="out is read-only"):
        sgemm.matmul(GpuArray(a), GpuArray(b), out=GpuArray(out, data=(out.ctypes.data, True)))
    assert fake.products == 1


def test_who_does_not_say_his_device_is_where_his_memory_is(fake, cuda):
    def product():
        sgemm.matmul(*(types.SimpleNamespace(__cuda_array_interface__=x.__cuda_array_interface__) for x in arrays[:2]),
                     out=arrays[2])  # fmt: skip

    arrays = [GpuArray(numbers(2, 2), device=1) for _ in range(3)]
    fake.device = cuda.device = 1
    product()
    np.testing.assert_array_equal(arrays[2].numbers, arrays[0].numbers @ arrays[1].numbers)
    arrays[0].changes = {"data": (0, False), "shape": (2, 0), "strides": None}
    arrays[1].changes = {"data": (0, False), "shape": (0, 2), "strides": None}
    product()
    np.testing.assert_array_equal(arrays[2].numbers, 0)
    arrays[0].changes = {}
    cuda.device = -1
    with pytest.raises(TypeError, match="a is not in the memory of a GPU: cuPointerGetAttribute failed: of the fake"):
        product()


def test_a_reset_of_the_device_takes_another_handle(fake):
    operands = GpuArray(numbers(2, 2)), GpuArray(numbers(2, 2))
    for stream in (5, 5, 6):  # with settings as before, and with others
        fake.context += 1
        sgemm.matmul(*operands, out=GpuArray(numbers(2, 2)), stream=stream)
    assert (fake.products, fake.handles) == (3, 3), "a handle of another context can not be destroyed"
    fake.status = 1  # as in a child that was forked
    with pytest.raises(sgemm.SgemmError, match="SGEMM_STATUS_X: the fake refuses") as caught:
        sgemm.matmul(*operands, out=GpuArray(numbers(2, 2)))
    assert caught.value.status == 1


def test_a_library_of_another_version_is_none(fake_library, monkeypatch):
    sgemm.library.load.cache_clear()
    monkeypatch.setenv("SGEMM_LIBRARY", fake_library)
    monkeypatch.setenv("FAKE_SGEMM_VERSION", "10305")
    with pytest.raises(sgemm.LibraryNotFound, match=r"libsgemm\.so\.[.0-9]*: it is of version 1\.3\.5"):
        sgemm.version()
    monkeypatch.setenv("FAKE_SGEMM_VERSION", str(VERSION + 99))  # a patch
    assert sgemm.version() == VERSION + 99
    sgemm.library.load.cache_clear()


def test_without_a_library_the_places_are_named(monkeypatch):
    sgemm.library.load.cache_clear()
    monkeypatch.setenv("SGEMM_LIBRARY", "/nowhere/libsgemm.so")
    with pytest.raises(sgemm.LibraryNotFound, match=r"/nowhere/libsgemm\.so: "):
        sgemm.version()
    monkeypatch.delenv("SGEMM_LIBRARY")
    monkeypatch.setattr(sgemm.library, "NAME", "libsgemm.so.none")
    with pytest.raises(sgemm.LibraryNotFound) as caught:
        sgemm.version()
    for place in (f"{sys.prefix}/lib/libsgemm.so.none", "build/library/libsgemm.so.none", "  libsgemm.so.none: "):
        assert place in str(caught.value)
