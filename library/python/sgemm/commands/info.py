"""python -m sgemm info: what this machine gets, and why."""

import argparse
import os
from collections.abc import Iterator
from importlib import metadata

from .. import library
from ..driver import Device, Driver, DriverError
from .products import PRODUCTS, accuracies, plan

# What a libsgemm asks of the driver that the toolkit of CUDA 13 has built. Others are not known from each other.
NEEDED_DRIVER = (13, 0)


def add_command(commands) -> None:
    parser = commands.add_parser("info", help="what this machine gets, and why", description=__doc__.partition(": ")[2])
    parser.set_defaults(command=print_info)


def print_info(_: argparse.Namespace) -> int:
    version = library.version()
    print_line("libsgemm", f"{dotted(version)}, {library.library_path()}")
    print_line("drop-in", drop_in())
    print_line("cuBLAS", cublas())
    for name, text in frameworks():
        print_line(name, text)
    try:
        driver = Driver()
        print_line("driver", of_driver(driver.version()))
        devices = driver.devices()
    except DriverError as error:
        print_line("GPU", f"none can be used: {error}")
        print("\nlibsgemm computes on GPUs alone. Nothing is changed here: the drop-in leaves all calls to cuBLAS.")
        return 0
    for device in devices:
        print_line(f"GPU {device.number}", of_device(device))
    if devices:
        with driver.current(devices[0].number):
            handle = library.Handle()
            print_line("calibrated", os.fsdecode(library.load().sgemm_calibration()))
            print_plans(handle)
    return 0


def print_line(name: str, text: str) -> None:
    print(f"{name:10} {text}")


def dotted(version: int) -> str:
    return f"{version // 10000}.{version // 100 % 100}.{version % 100}"


def drop_in() -> str:
    try:
        return library.drop_in_path()
    except library.LibraryNotFound as error:
        return f"none: {error}"


def cublas() -> str:
    if version := library.load().sgemm_cublas_version():
        return f"{dotted(version)}, {os.fsdecode(library.load().sgemm_cublas_path())}"
    return "none was found: pip install sgemm[cuda13] brings one"


FRAMEWORKS = {  # by the module, and what gets their products
    "torch": ("PyTorch", "sgemm.torch.enable()"),
    "jax": ("JAX", "sgemm.jax.enable()"),
    "cupy": ("CuPy", "python -m sgemm run"),
}


def frameworks() -> Iterator[tuple[str, str]]:
    """Those that are installed, with their versions. None is imported, which takes seconds."""
    installed = metadata.packages_distributions()
    for module, (name, redirects) in FRAMEWORKS.items():
        for distribution in sorted(set(installed.get(module, ()))):
            yield name, f"{metadata.version(distribution)} ({distribution}): {redirects} redirects its products"


def of_driver(version: tuple[int, int]) -> str:
    text = f"CUDA {version[0]}.{version[1]}"
    if version < NEEDED_DRIVER:
        needed = ".".join(map(str, NEEDED_DRIVER))
        text += f": a libsgemm that CUDA 13 has built needs {needed} (580 or newer), and leaves all calls to cuBLAS"
    return text


def of_device(device: Device) -> str:
    major, minor = device.capability
    if (major, minor) == (9, 0):
        takes = "chapters 11, 12 and 15 (tensor cores), 09 and cuBLAS"
    elif major >= 9:
        takes = "chapter 09 and cuBLAS, as the kernels for tensor cores are for compute capability 9.0"
    else:
        takes = "cuBLAS, as libsgemm's kernels need compute capability 9.0, but for few rows in the reproducible class"
    return f"{device.name}, compute capability {major}.{minor}, {device.multiprocessors} multiprocessors: {takes}"


def print_plans(handle: library.Handle) -> None:
    """Who computes what, with the predicted speed relative to cuBLAS."""
    reasons: dict[str, str] = {}
    print("\nWho computes a product on GPU 0, and how many times as fast as cuBLAS, by prediction:\n")
    ways = accuracies(handle)
    print(f"{'m x n x k':24}" + "".join(f"{accuracy:>22}" for accuracy in ways))
    for product in PRODUCTS:
        cells = []
        for accuracy in ways:
            chosen = plan(handle, product, accuracy)
            kernel = chosen.kernel.decode()
            faster = f" {chosen.cublas_us / chosen.predicted_us:.2f}" if chosen.predicted_us else ""
            cells.append(f"{kernel + faster:>22}")
            if kernel == "cublas":
                reasons.setdefault(chosen.reason.decode(), f"{product.size}, {accuracy}")
        print(f"{product.size:24}" + "".join(cells))
    if reasons:
        print("\nWhy cuBLAS:")
    for reason, where in reasons.items():
        print(f"  {reason} ({where})")
    print("\npython -m sgemm bench measures it.")
