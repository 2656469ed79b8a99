"""The commands of `python -m sgemm`."""

import argparse
import sys

from ..library import LibraryNotFound, SgemmError
from . import bench, info, run
from .driver import DriverError


def main(arguments: list[str]) -> int:
    """Runs a command, and returns the exit status: 0, 1 with a sentence on standard error, or argparse's 2."""
    parser = argparse.ArgumentParser(prog="python -m sgemm", description="FP32 matrix products by libsgemm")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for module in (run, info, bench):
        module.add_command(commands)
    options = parser.parse_args(arguments)
    try:
        return options.command(options)
    except (DriverError, LibraryNotFound, SgemmError) as error:
        print(f"sgemm: {error}", file=sys.stderr)
        return 1
