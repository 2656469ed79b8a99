"""python -m sgemm bench: the speed of libsgemm beside cuBLAS, for shapes of several kinds."""

import argparse
import os
import statistics
from collections.abc import Callable
from functools import partial

from .. import library
from ..driver import Driver, DriverError
from .products import PRODUCTS, Cublas, Product, accuracies, enqueue

SECONDS_OF_A_TURN = 0.02  # enough for clocks to settle, and short enough for a minute in all
TURNS = 7
CUBLAS = "cuBLAS"


def add_command(commands) -> None:
    parser = commands.add_parser(
        "bench",
        help="a table of speeds, in less than a minute",
        description="Measures products of several kinds by cuBLAS and with each accuracy: calls one behind the other, "
        "in turns, with operands that the L2 may hold.",
    )
    parser.add_argument("--device", type=int, default=0, help="the GPU's number (%(default)s)")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    driver = Driver()
    device = driver.chosen(options.device)
    with driver.current(device.number):
        print(f"FP32 products on {device.name}: TFLOP/s, and how many times as fast as cuBLAS\n")
        measure_all(driver)
    return 0


def measure_all(driver: Driver) -> None:
    """Prints the TFLOP/s of each product and way, line by line."""
    handle, cublas, random = library.Handle(), Cublas(), random_floats(1 << 22)
    ways = [CUBLAS, *accuracies(handle)]
    print(f"{'':20}{'m x n x k':24}" + "".join(f"{way:>18}" for way in ways))
    for product in PRODUCTS:
        a_bytes, b_bytes, c_bytes = (4 * product.batch * count for count in product.elements)
        try:
            with driver.memory(a_bytes, random) as a, driver.memory(b_bytes, random) as b, driver.memory(c_bytes) as c:
                seconds = measure(driver, works_of(handle, cublas, product, ways, (a, b, c)))
        except DriverError as error:
            print(f"{product.name:20}{product.size:24}  {error}")
            continue
        print(table_line(product, {way: product.flop / seconds[way] / 1e12 for way in ways}), flush=True)


def random_floats(count: int) -> bytes:
    """Floats of both signs from 0.5 to 1 (below): random bits with a fixed exponent."""
    bits = int.from_bytes(os.urandom(4 * count), "little")
    mask = int.from_bytes(b"\xff\xff\x7f\x80" * count, "little")
    exponent = int.from_bytes(b"\x00\x00\x00\x3f" * count, "little")
    return (bits & mask | exponent).to_bytes(4 * count, "little")


def works_of(
    handle: library.Handle, cublas: Cublas, product: Product, ways: list[str], matrices: tuple[int, int, int]
) -> dict[str, Callable[[int], None]]:
    """For cuBLAS and each of the library's ways, what enqueues so many products."""

    def work(way: str, count: int) -> None:
        one = cublas.enqueue if way == CUBLAS else partial(enqueue, handle.set(0, library.ACCURACIES[way]))
        for _ in range(count):
            one(product, *matrices)

    return {way: partial(work, way) for way in ways}


def measure(driver: Driver, works: dict[str, Callable[[int], None]]) -> dict[str, float]:
    """Seconds of one product: the median of some turns."""
    counts = {}
    for way, work in works.items():
        driver.seconds(partial(work, 2))  # loads code and finds memory
        counts[way] = max(1, min(1000, int(SECONDS_OF_A_TURN / driver.seconds(partial(work, 1)))))
    samples: dict[str, list[float]] = {way: [] for way in works}
    for _ in range(TURNS):
        for way, work in works.items():
            samples[way].append(driver.seconds(partial(work, counts[way])) / counts[way])
    return {way: statistics.median(taken) for way, taken in samples.items()}


def table_line(product: Product, speeds: dict[str, float]) -> str:
    cells = [f"{speeds[CUBLAS]:18.1f}"]
    for way, speed in speeds.items():
        if way != CUBLAS:
            cells.append(f"{speed:10.1f} ({speed / speeds[CUBLAS]:4.2f}x)")
    return f"{product.name:20}{product.size:24}" + "".join(cells)
