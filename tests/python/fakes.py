"""What stands for a GPU in the tests of the Python package."""

import ctypes

import numpy as np

FIELDS = (
    *("status", "device", "handles", "calls", "order", "transa", "transb", "lda", "ldb", "ldc"),
    *("stride_a", "stride_b", "stride_c", "batch_count", "stream", "accuracy", "plans_cublas"),
    *("m", "n", "k"),
)


class Fake(ctypes.Structure):
    """What the fake library is to answer, and what it was asked."""

    _fields_ = tuple((name, ctypes.c_int64) for name in FIELDS)


class GpuArray:
    """An array of NumPy that says that it is on a GPU."""

    def __init__(self, numbers: np.ndarray, device: int = 0, stream: int | None = None, **changes):
        self.numbers = numbers
        self.device_number = device
        self.stream = stream
        self.changes = changes  # of what it says about itself

    @property
    def __cuda_array_interface__(self):
        interface = dict(self.numbers.__array_interface__)
        interface |= {"version": 3, "stream": self.stream, "strides": self.numbers.strides}
        return interface | self.changes

    def __dlpack_device__(self):
        return (2, self.device_number)


class DlpackArray:
    """The same by DLPack alone."""

    def __init__(self, numbers: np.ndarray):
        self.numbers = numbers

    def __dlpack__(self, stream=None):
        return self.numbers.__dlpack__()

    def __dlpack_device__(self):
        return (2, 0)
