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
    try:
        status = options.command(options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # whoever reads the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (DriverError, LibraryNotFound, SgemmError) as error:
        print(f"sgemm: {error}", file=sys.stderr)
        return 1
