"""The commands of `python -m sgemm`."""

import argparse
import os
import sys

from ..driver import DriverError
from ..library import VERSION, LibraryNotFound, SgemmError
from . import bench, calibrate, info, run


def main(arguments: list[str]) -> int:
    """Runs a command, and returns the exit status: 0, 1 with a sentence on standard error, or argparse's 2."""
    parser = argparse.ArgumentParser(prog="python -m sgemm", description="FP32 matrix products by libsgemm")
    parser.add_argument("--version", action="version", version=f"sgemm {VERSION}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for module in (run, info, bench, calibrate):
        module.add_command(commands)
    options = parser.parse_args(arguments)
    if sys.stdout:  # it may be closed
        sys.stdout.reconfigure(errors="backslashreplace")  # paths may be no text
    try:
        status = options.command(options)
        print(end="", flush=True)
        return status
    except (DriverError, LibraryNotFound, SgemmError) as error:
        print(f"sgemm: {error}", file=sys.stderr)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):  # whoever reads the output has seen enough
            print(f"sgemm: the output can not be written: {error.strerror}", file=sys.stderr)
    return 1
