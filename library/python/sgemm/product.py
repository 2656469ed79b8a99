"""sgemm.matmul()."""

import functools
import math
import sys
from collections.abc import Iterable
from ctypes import byref, c_float, c_void_p, pointer
from typing import Any

from . import driver, library
from .arrays import (
    MOST_LAYOUTS,
    Array,
    array_of,
    current_device,
    current_stream,
    device_of,
    empty_like_in,
    extent,
    from_torch,
    overlap,
    package_of,
    refuse_traces,
    stream_of,
)  # fmt: skip

LEGACY = 1  # the default stream by another number


def matmul(
    a: Any,
    b: Any,
    accuracy: str = "componentwise",
    out: Any = None,
    alpha: float = 1.0,
    beta: float = 0.0,
    stream: Any = None,
    repeatable: bool | None = None,
) -> Any:
    """out = alpha * a @ b + beta * out, enqueued on a stream of the GPU.

    `a` is m x k and `b` is k x n, or both or one of them are batches of such matrices with three dimensions. All are
    FP32 arrays on one GPU, of PyTorch, CuPy, or any package with `__cuda_array_interface__` or DLPack. Rows or columns
    have to be contiguous, so that transposed and cut out matrices are taken as they are. Nothing is copied.

    `accuracy` is "fp32", "componentwise", "normwise", "rowwise" or "reproducible" (docs/accuracy.md). `out` is
    m x n, or a batch of such matrices, and must not overlap a, b or itself. Without it, a new array of PyTorch or CuPy
    is made. It is not read if beta is 0.

    The work goes to the current stream of a's package, behind the work on the streams of b and out, which wait for it.
    With `stream`, a stream of PyTorch or CuPy or its number, it goes there, behind the same work, and the caller waits.
    Where an array comes by DLPack, as JAX's do, the call waits for the product: its package may give the memory to
    others then.

    With `repeatable` the same call has the same bits in all of the process, or fails (docs/library.md). None stands for
    what SGEMM_REPEATABLE says, and for True where PyTorch is deterministic.

    Returns out. Raises TypeError and ValueError for wrong arguments, LibraryNotFound, and SgemmError. There are no
    gradients: where PyTorch records them, tensors that require them are refused. The version of `out` is raised, as by
    PyTorch's own changes in place.
    """
    of_accuracy = library.number_of(accuracy)
    if out is None and beta != 0:
        raise ValueError("beta is not 0: give the array that it multiplies as `out`")
    scalars = _scalar("alpha", alpha), _scalar("beta", beta)
    given = {"a": a, "b": b} if out is None else {"a": a, "b": b, "out": out}
    tensors = {name: value for name, value in given.items() if package_of(type(value)) == "torch"}
    if tensors:
        refuse_traces(*tensors)
        if repeatable is None and sys.modules["torch"].are_deterministic_algorithms_enabled():
            repeatable = True
    has_version = "out" in tensors and not out.is_inference()
    if "out" in tensors and not has_version and not sys.modules["torch"].is_inference_mode_enabled():
        raise ValueError("out was made in inference mode, and can not be changed outside of it")
    are_torch = len(tensors) == len(given)
    known = from_torch(tensors) if tensors else {}
    with current_device(a, known["a"].device if "a" in known else device_of("a", a)):
        number = _number_of(stream, a)
        arrays = list(known.values())
        if not are_torch:
            arrays = [known.get(name) or array_of(name, value, number) for name, value in given.items()]
        if out is None:
            given["out"] = empty_like_in(a, _shape_of_product(arrays[0].shape, arrays[1].shape))
            arrays.append(array_of("out", given["out"], number))
        if arrays[2].owner is not given["out"]:
            raise ValueError("out is a view whose numbers PyTorch negates when it reads them: give another tensor")
        product = _product(*arrays, *scalars, may_overlap=out is not None)
        if product is not None:
            if has_version:
                sys.modules["torch"].autograd.graph.increment_version(out)
            # Tensors on one device have one current stream.
            others = () if stream is None and are_torch else sorted(_streams(given, arrays) - {number})
            settings = number, of_accuracy, repeatable
            library.with_handle(arrays[0].device, settings, _enqueue, product, arrays, number, others, stream is None)
    return given["out"]


def _scalar(name: str, value: float) -> Any:
    try:
        if value in (0, 1):
            return library.ONE if value else library.ZERO
        number = c_float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"{name} is no number of FP32: {error}") from None
    if math.isinf(number.value) and not math.isinf(value):
        raise ValueError(f"{name} is {value}, which is beyond the numbers of FP32")
    return pointer(number)


def _number_of(stream: Any, a: Any) -> int:
    if stream is not None:
        number = stream_of(stream)
    elif (number := current_stream(a)) is None:
        number = stream_of((getattr(a, "__cuda_array_interface__", None) or {}).get("stream") or 0)
    return 0 if number == LEGACY else number


@functools.lru_cache(MOST_LAYOUTS)
def _shape_of_product(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    for name, shape in (("a", a), ("b", b)):
        if len(shape) not in (2, 3):
            raise ValueError(f"{name} has {len(shape)} dimensions: give a matrix or a batch of matrices")
    if a[-1] != b[-2]:
        raise ValueError(f"a has {a[-1]} columns and b has {b[-2]} rows: these have to be equal")
    batches = {shape[0] for shape in (a, b) if len(shape) == 3}
    if len(batches - {1}) > 1:
        raise ValueError(f"a is a batch of {a[0]} and b of {b[0]}: give equal ones, or one of 1")
    matrix = (a[-2], b[-1])
    return (max(batches - {1}, default=1), *matrix) if batches else matrix


def _product(a: Array, b: Array, out: Array, alpha: Any, beta: Any, may_overlap: bool) -> library.Product | None:
    layout, of_a, of_b, of_out = _layout(a.shape, a.strides, b.shape, b.strides, out.shape, out.strides)
    if out.read_only:
        raise ValueError("out is read-only")
    if not a.device == b.device == out.device:
        raise ValueError(f"a, b and out are on devices {a.device}, {b.device} and {out.device}: all have to be on one")
    if layout is None:
        return None
    begin, end = out.pointer, out.pointer + of_out
    for name, array, size in (("a", a, of_a), ("b", b, of_b)) if may_overlap else ():
        if begin < array.pointer + size and array.pointer < end and overlap(out, array):
            raise ValueError(f"out overlaps {name}, which the product reads")
    product = library.Product.from_buffer_copy(layout)
    product.a.x, product.b.x, product.d = a.pointer, b.pointer, out.pointer
    if not (alpha is library.ONE and beta is library.ZERO):
        product.alpha, product.beta = alpha, beta
    return product


def _streams(given: dict[str, Any], arrays: list[Array]) -> set[int]:
    """The streams that arrays and their packages work on, as far as they are known."""
    streams = {current_stream(value) for value in given.values()} | {array.stream for array in arrays}
    return {0 if stream == LEGACY else stream for stream in streams if stream is not None}


def _enqueue(
    handle: Any, product: library.Product, arrays: list[Array], stream: int, others: Iterable[int], waits: bool
) -> None:
    for other in others:
        driver.order(other, stream)
    try:
        library.check(library.load().sgemm_run(handle, byref(product)))
    finally:  # also where an interrupt comes behind the call
        for other in others if waits else ():
            driver.order(stream, other)
        for array in arrays if others and not waits else ():
            if package_of(type(array.owner)) == "torch":  # whose memory may be another's when this work begins
                array.owner.record_stream(sys.modules["torch"].cuda.ExternalStream(stream, array.device))
        if arrays[0].keeper or arrays[1].keeper or arrays[2].keeper:
            driver.loaded().call("cuStreamSynchronize", c_void_p(stream))


@functools.lru_cache(MOST_LAYOUTS)
def _layout(
    a_shape: Any, a_strides: Any, b_shape: Any, b_strides: Any, out_shape: Any, out_strides: Any
) -> tuple[library.Product | None, int, int, int]:
    """A product without addresses, which is copied for each call, as making one takes longer, and how many bytes there
    are from the first element of a, b and out to behind the last one. None stands for a product that is empty."""
    if out_shape != (shape := _shape_of_product(a_shape, b_shape)):
        raise ValueError(f"out has the shape {tuple(out_shape)}, but a @ b has {shape}")
    if 0 in shape:
        return None, 0, 0, 0
    order = library.ROW_MAJOR if _ld(out_shape, out_strides, library.ROW_MAJOR) else library.COLUMN_MAJOR
    op_a, ld_a = _op_and_ld("a", a_shape, a_strides, order)
    op_b, ld_b = _op_and_ld("b", b_shape, b_strides, order)
    ld_out = _ld(out_shape, out_strides, order) or _no_layout("out", out_strides)
    stride_out = _batch_stride("out", out_shape, out_strides)
    if len(out_shape) == 3:
        first = Array(None, 0, out_shape[1:], out_strides[1:], 0)
        if overlap(first, Array(None, 4 * stride_out, (out_shape[0] - 1, *out_shape[1:]), out_strides, 0)):
            raise ValueError("the matrices of out overlap each other")
    product = library.product(
        order,
        (*out_shape[-2:], a_shape[-1]),
        library.Operand(None, op_a, None, ld_a, _batch_stride("a", a_shape, a_strides)),
        library.Operand(None, op_b, None, ld_b, _batch_stride("b", b_shape, b_strides)),
        (None, ld_out, stride_out),
        out_shape[0] if len(out_shape) == 3 else 1,
    )
    return product, extent(a_shape, a_strides), extent(b_shape, b_strides), extent(out_shape, out_strides)


def _op_and_ld(name: str, shape: tuple[int, ...], strides: tuple[int, ...], order: int) -> tuple[int, int]:
    """How a call in `order` reads the array, and with which leading dimension."""
    other = library.COLUMN_MAJOR if order == library.ROW_MAJOR else library.ROW_MAJOR
    if ld := _ld(shape, strides, order):
        return library.NO_TRANSPOSE, ld
    return library.TRANSPOSE, _ld(shape, strides, other) or _no_layout(name, strides)


def _ld(shape: tuple[int, ...], strides: tuple[int, ...], order: int) -> int | None:
    """The leading dimension of the array's matrices in an order, or None if they do not lie in that order."""
    lines, length = shape[-2:]
    between_lines, in_line = strides[-2:]
    if order == library.COLUMN_MAJOR:
        lines, length = length, lines
        between_lines, in_line = in_line, between_lines
    if lines <= 1 or length == 0:
        return max(length, 1) if in_line == 1 or length <= 1 else None
    if length > 1 and in_line != 1:
        return None
    return between_lines if between_lines >= max(length, 1) else None


def _batch_stride(name: str, shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    if len(shape) == 2 or shape[0] <= 1:
        return 0
    if strides[0] < 0:
        raise ValueError(f"{name} has matrices in descending order: give a copy")
    return strides[0]


def _no_layout(name: str, strides: tuple[int, ...]) -> int:
    raise ValueError(f"{name} has the strides {strides}: neither its rows nor its columns are contiguous. Give a copy")
