"""python -m sgemm calibrate: fits libsgemm's predictions to this machine's GPU."""

import argparse
import os
from ctypes import byref, c_char_p

from .. import library
from ..driver import Driver


def add_command(commands) -> None:
    parser = commands.add_parser(
        "calibrate",
        help="fit the predictions of libsgemm to a GPU, in a minute",
        description="Measures products for at most a minute, while nothing else should run on the GPU, and writes a "
        "file that libsgemm reads in programs that start later. By its predictions it chooses who computes a product.",
    )
    parser.add_argument("--out", metavar="FILE", help="where the file goes (where libsgemm looks for it)")
    parser.add_argument("--device", type=int, default=0, help="the GPU's number (%(default)s)")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    driver, text = Driver(), c_char_p()
    device = driver.chosen(options.device)
    with driver.current(device.number):
        print(f"Measuring products on the {device.name} for at most a minute.", flush=True)
        status = library.load().sgemm_calibrate(options.out and os.fsencode(options.out), byref(text))
    if status:
        raise library.SgemmError(status, os.fsdecode(text.value or b""))
    print(os.fsdecode(text.value))
    return 0
