"""Weights of PyTorch that libsgemm has split once: the table behind sgemm.torch.pack().

A packed weight lies in memory of PyTorch's own allocator, and goes with the parameter that it was made of. It holds for
one state of the parameter: its storage, its place in there, and its version, which PyTorch raises with every change in
place. What is written through `.data` raises nothing.
"""

import contextlib
import os
import re
import sys
import threading
import weakref
from ctypes import POINTER, byref, c_int, c_int64, c_size_t, c_void_p
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils.weak import WeakTensorKeyDictionary

from . import drop_in, library

ACCURACIES = {library.ACCURACIES[name] for name in ("componentwise", "normwise", "rowwise")}
SIDE_A = 1
DEVICE = "cuda"
ALIGNMENT = 256  # SGEMM_WORKSPACE_ALIGNMENT
FEWEST_NUMBERS = 1 << 20  # of a smaller weight the splitting takes some microseconds

_lock = threading.RLock()
_table: WeakTensorKeyDictionary = WeakTensorKeyDictionary()  # a _Packed for each parameter
_weights: "weakref.WeakKeyDictionary[torch.nn.Module, list]" = weakref.WeakKeyDictionary()
_of_thread = threading.local()  # .calls: what the modules that are being called have entered


def limit_of_environment() -> int | None:
    """The bytes that SGEMM_MEMORY names, as the library reads them."""
    text = re.fullmatch(r"(\d+)([KMGT]?)(i?B)?", os.environ.get("SGEMM_MEMORY", ""))
    return int(text[1]) << 10 * " KMGT".index(text[2] or " ") if text and (text[2] or not text[3]) else None


def packed_bytes() -> int:
    """The bytes of all packed weights."""
    return sum(packed.bytes for packed in _table.values())


def forget(module: torch.nn.Module) -> None:
    """Packs the module's weights anew when it is called next."""
    with _lock:
        for weight in _weights_of(module):
            _table.pop(weight, None)
        _weights.pop(module, None)


def enter(module: torch.nn.Module, limit: int | None) -> None:
    """Has this thread's products read the module's packed weights, which are packed where they are not."""
    if not hasattr(_of_thread, "calls"):
        _of_thread.calls = []
    calls = _of_thread.calls
    packed: dict[int, tuple[drop_in.Packed, _Packed]] = dict(calls[-1]) if calls else {}
    calls.append(packed)  # which keeps their memory
    accuracy = drop_in.load().sgemm_drop_in_accuracy()
    if accuracy in ACCURACIES and not torch.cuda.is_current_stream_capturing():
        with _lock:
            for weight in _weights_of(module):
                one = _packed(weight, accuracy, limit)
                if one is not None and one.memory is not None:
                    matrix = one.matrix_on(torch.cuda.current_stream(weight.device))
                    packed[matrix.x] = matrix, one
    _tell()


def leave() -> None:
    """Undoes the last enter() of this thread."""
    _of_thread.calls.pop()
    _tell()


# ---- How it is done ----


def _tell() -> None:
    packed = _of_thread.calls[-1].values() if _of_thread.calls else ()
    operands = (drop_in.Packed * len(packed))(*(matrix for matrix, _ in packed))
    drop_in.load().sgemm_drop_in_set_packed(operands, len(packed))


def _weights_of(module: torch.nn.Module) -> list[torch.Tensor]:
    """The parameters W of a module that it multiplies as x W^T."""
    if module not in _weights:
        names = {torch.nn.Linear: "weight", torch.nn.MultiheadAttention: "in_proj_weight"}
        _weights[module] = [
            (weakref.ref(part), name)
            for part in module.modules()
            for kind, name in names.items()
            if isinstance(part, kind)
        ]
    found = [(of(), name) for of, name in _weights[module]]
    return [weight for part, name in found if part and (weight := part._parameters.get(name)) is not None]


def _is_eligible(weight: torch.Tensor) -> bool:
    return (
        type(weight) is torch.nn.Parameter  # what stands for one in torch.func or a fake mode may have no memory
        and weight.device.type == DEVICE
        and weight.dtype == torch.float32
        and weight.dim() == 2
        and weight.stride(1) == 1
        and weight.numel() >= FEWEST_NUMBERS
        and not (weight.requires_grad and torch.is_grad_enabled())
        and not weight.is_inference()  # which has no version
    )


def _packed(weight: torch.Tensor, accuracy: int, limit: int | None) -> "_Packed | None":
    """The packed weight in its present state. Nothing: it is not to be packed."""
    if not _is_eligible(weight):
        _table.pop(weight, None)
        return None
    packed = _table.get(weight)
    if packed is None or not packed.is_of(weight, accuracy):
        _table.pop(weight, None)  # so that its memory serves the next one
        packed = _table[weight] = _Packed(weight, accuracy, limit)
    return packed


class _Packed:
    """A weight with its operand tiles, or without them where there is no room."""

    def __init__(self, weight: torch.Tensor, accuracy: int, limit: int | None):
        self.storage = StorageWeakRef(weight.untyped_storage())
        self.state = self._state(weight, accuracy)
        self.object = c_void_p()
        self.memory: torch.Tensor | None = None
        self.bytes = 0
        self.matrices: dict[int, drop_in.Packed] = {}  # by streams that may read it
        with torch.cuda.device(weight.device), contextlib.suppress(torch.cuda.OutOfMemoryError, library.SgemmError):
            self._pack(weight, accuracy, limit)

    @staticmethod
    def _state(weight: torch.Tensor, accuracy: int) -> tuple:
        return weight._version, weight.data_ptr(), weight.shape, weight.stride(), accuracy

    def is_of(self, weight: torch.Tensor, accuracy: int) -> bool:
        # While the weak reference lives, no other storage equals it.
        return self.state == self._state(weight, accuracy) and self.storage == StorageWeakRef(weight.untyped_storage())

    def _pack(self, weight: torch.Tensor, accuracy: int, limit: int | None) -> None:
        functions = _declared()
        stream = torch.cuda.current_stream()
        handle = library.handle_of(weight.device.index).pointer
        library.check(functions.sgemm_set_accuracy(handle, accuracy))
        library.check(functions.sgemm_set_stream(handle, stream.cuda_stream))
        (lines, k), ld = weight.shape, weight.stride(0)
        size = c_size_t()
        library.check(functions.sgemm_packed_size(handle, lines, k, byref(size)))
        free = torch.cuda.mem_get_info()[0] // 2
        limits = [free if limit is None else limit - packed_bytes()]
        if (of_environment := limit_of_environment()) is not None:
            limits.append(of_environment - packed_bytes())
        if size.value > min(limits):
            return
        memory = torch.empty(size.value + ALIGNMENT, dtype=torch.uint8, device=weight.device)
        place = (memory.data_ptr() + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        layout = library.ROW_MAJOR, SIDE_A, library.NO_TRANSPOSE, lines, k
        at = weight.data_ptr(), ld, place, size.value
        library.check(functions.sgemm_pack(handle, *layout, *at, byref(self.object)))
        self.ready = torch.cuda.Event()
        self.ready.record(stream)
        self.memory, self.bytes = memory, memory.nbytes
        self.matrix = self.object, weight.data_ptr(), ld, lines, k, 1, accuracy
        self.matrices[stream.cuda_stream] = drop_in.Packed(*self.matrix, stream.cuda_stream)

    def matrix_on(self, stream: Any) -> drop_in.Packed:
        """What the drop-in has to know of it, for products on a stream."""
        number = stream.cuda_stream
        if number not in self.matrices:
            stream.wait_event(self.ready)
            self.memory.record_stream(stream)
            self.matrices[number] = drop_in.Packed(*self.matrix, number)
        return self.matrices[number]

    def __del__(self):
        if self.object and not sys.is_finalizing():
            library.load().sgemm_packed_destroy(self.object)


def _declared() -> Any:
    """libsgemm with the functions that only this module calls."""
    functions = library.load()
    if not functions.sgemm_pack.argtypes:
        layout = [c_void_p, c_int, c_int, c_int]
        functions.sgemm_packed_size.argtypes = [c_void_p, c_int64, c_int64, POINTER(c_size_t)]
        functions.sgemm_packed_destroy.argtypes = [c_void_p]
        matrix = [c_void_p, c_int64]
        functions.sgemm_pack.argtypes = [*layout, c_int64, c_int64, *matrix, c_void_p, c_size_t, POINTER(c_void_p)]
    return functions
