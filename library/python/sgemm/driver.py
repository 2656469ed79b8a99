"""NVIDIA's driver, as far as this package calls it: without a framework, and without a runtime of CUDA."""

import contextlib
import ctypes
import functools
from collections.abc import Callable, Iterator
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint64, c_void_p
from dataclasses import dataclass


class DriverError(RuntimeError):
    """The driver, or a GPU, can not be used. The text says why."""


@dataclass(frozen=True)
class Device:
    number: int
    name: str
    capability: tuple[int, int]
    multiprocessors: int


class Driver:
    """Raises DriverError where there is no driver or no GPU."""

    MULTIPROCESSORS, MAJOR, MINOR = 16, 75, 76  # of CUdevice_attribute
    DEVICE_OF_POINTER = 9  # of CUpointer_attribute

    def __init__(self):
        try:
            self.library = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise DriverError(f"there is no NVIDIA driver on this machine ({error})") from error
        self.call("cuInit", 0)

    def call(self, function: str, *arguments) -> None:
        if status := getattr(self.library, function)(*arguments):
            text = c_char_p()
            self.library.cuGetErrorString(status, byref(text))
            raise DriverError(f"{function} failed: {(text.value or b'unknown error').decode()}")

    def number(self, function: str, *arguments) -> int:
        """What a function writes to its first argument."""
        value = c_int()
        self.call(function, byref(value), *arguments)
        return value.value

    def version(self) -> tuple[int, int]:
        """That of CUDA up to which the driver serves."""
        number = self.number("cuDriverGetVersion")
        return number // 1000, number % 1000 // 10

    def devices(self) -> list[Device]:
        return [self.device(number) for number in range(self.number("cuDeviceGetCount"))]

    def chosen(self, number: int) -> Device:
        """Raises DriverError where there is none of that number."""
        devices = self.devices()
        if not 0 <= number < len(devices):
            raise DriverError(f"there is no GPU {number}: there are {len(devices)}")
        return devices[number]

    def device(self, number: int) -> Device:
        name = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", name, len(name), number)
        capability = self.attribute(number, self.MAJOR), self.attribute(number, self.MINOR)
        return Device(number, name.value.decode(), capability, self.attribute(number, self.MULTIPROCESSORS))

    def attribute(self, number: int, which: int) -> int:
        return self.number("cuDeviceGetAttribute", which, number)

    def current_device(self) -> int:
        return self.number("cuCtxGetDevice")

    def device_of(self, pointer: int) -> int:
        """The device that an address belongs to. Raises DriverError for one that CUDA does not know."""
        return self.number("cuPointerGetAttribute", self.DEVICE_OF_POINTER, c_uint64(pointer))

    @contextlib.contextmanager
    def current(self, number: int) -> Iterator[None]:
        """Makes the context current for a while that CUDA's runtimes share."""
        context = c_void_p()
        self.call("cuDevicePrimaryCtxRetain", byref(context), number)
        self.call("cuCtxPushCurrent_v2", context)
        try:
            yield
        finally:
            self.call("cuCtxPopCurrent_v2", byref(context))
            self.call("cuDevicePrimaryCtxRelease_v2", number)

    @contextlib.contextmanager
    def memory(self, size: int, pattern: bytes = b"") -> Iterator[int]:
        """Memory that the pattern is written into again and again."""
        address = c_uint64()
        self.call("cuMemAlloc_v2", byref(address), c_size_t(size))
        try:
            for offset in range(0, size, len(pattern)) if pattern else ():
                rest = min(len(pattern), size - offset)
                self.call("cuMemcpyHtoD_v2", c_uint64(address.value + offset), pattern, c_size_t(rest))
            yield address.value
        finally:
            self.call("cuMemFree_v2", address)

    @contextlib.contextmanager
    def event(self, flags: int = 0) -> Iterator[c_void_p]:
        event = c_void_p()
        self.call("cuEventCreate", byref(event), flags)
        try:
            yield event
        finally:
            self.call("cuEventDestroy_v2", event)

    def seconds(self, work: Callable[[], None]) -> float:
        """How long the GPU takes for what is enqueued on the default stream."""
        milliseconds = c_float()
        with self.event() as begin, self.event() as end:
            self.call("cuEventRecord", begin, None)
            work()
            self.call("cuEventRecord", end, None)
            self.call("cuEventSynchronize", end)
            self.call("cuEventElapsedTime", byref(milliseconds), begin, end)
        return milliseconds.value / 1e3


@functools.cache
def loaded() -> Driver:
    return Driver()


def order(earlier: int, later: int) -> None:
    """Has what is enqueued on one stream from now on wait for what another stream has now. Nothing waits here."""
    driver = loaded()
    with driver.event(2) as event:  # without times
        driver.call("cuEventRecord", event, c_void_p(earlier))
        driver.call("cuStreamWaitEvent", c_void_p(later), event, 0)
