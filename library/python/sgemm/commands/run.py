"""python -m sgemm run: starts a program with the drop-in for cuBLAS in front of it."""

import argparse
import os
import shutil
import sys
from pathlib import Path

from .. import library
from ..driver import Driver, DriverError


def add_command(commands) -> None:
    parser = commands.add_parser(
        "run",
        usage="python -m sgemm run [options] script.py | -m module | program [arguments ...]",
        help="start a program whose FP32 products libsgemm computes",
        description="Starts a Python script, a Python module, or any other program with the drop-in for cuBLAS in "
        "LD_PRELOAD. The drop-in prints a table of all products when the program ends. The program takes the place "
        "of this command, so that signals and the exit status are its own.",
    )
    parser.add_argument("--accuracy", choices=library.ACCURACIES, help="what products promise (componentwise)")
    table = parser.add_mutually_exclusive_group()
    table.add_argument("--log", metavar="FILE", help="append the table to a file instead of standard error")
    table.add_argument("--quiet", action="store_true", help="print no table")
    parser.add_argument("-m", dest="module", action="store_true", help="the program is a Python module")
    parser.add_argument("program", help=argparse.SUPPRESS)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.set_defaults(command=start)


def start(options: argparse.Namespace) -> int:
    """Does not return, unless the program can not be started: 127 where it is missing, as in shells, 2 where
    SGEMM_ACCURACY is wrong, and else 126."""
    environment = environment_of(options)
    if (accuracy := environment.get("SGEMM_ACCURACY")) and accuracy not in library.ACCURACIES:
        print(f"sgemm: SGEMM_ACCURACY={accuracy} is none of {', '.join(library.ACCURACIES)}", file=sys.stderr)
        return 2
    if not options.quiet and (why := why_no_gpu()):
        print(f"sgemm: no GPU can be used: {why}. The drop-in leaves all calls to cuBLAS.", file=sys.stderr)
    print(end="", flush=True)
    sys.stderr.flush()
    try:
        command = command_of(options)
        os.execvpe(command[0], command, environment)
    except OSError as error:
        print(f"sgemm: {options.program}: {error.strerror}", file=sys.stderr)
        return 127 if isinstance(error, FileNotFoundError) else 126


def why_no_gpu() -> str:
    """Empty where there is one."""
    try:
        return "" if Driver().devices() else "this machine has none"
    except DriverError as error:
        return str(error)


def command_of(options: argparse.Namespace) -> list[str]:
    program, arguments = options.program, options.arguments
    if options.module:
        return [sys.executable, "-m", program, *arguments]
    is_script = Path(program).suffix in (".py", ".pyz") or (Path(program) / "__main__.py").is_file()
    is_here = "/" not in program and Path(program).exists()  # whatever is on PATH
    if is_script and (is_here or shutil.which(program) is None):  # what is executable may ask for a Python of its own
        return [sys.executable, program, *arguments]
    return [program, *arguments]


def environment_of(options: argparse.Namespace) -> dict[str, str]:
    environment = dict(os.environ)
    drop_in = library.drop_in_path()
    if set(drop_in) & set(" :"):
        raise library.LibraryNotFound(f"{drop_in} has a blank or a colon in its path, where LD_PRELOAD is divided")
    preload = [drop_in, *environment.get("LD_PRELOAD", "").split(":")]
    environment["LD_PRELOAD"] = ":".join(filter(None, preload))
    if options.accuracy:
        environment["SGEMM_ACCURACY"] = options.accuracy
    if options.quiet:
        environment.pop("SGEMM_LOG", None)
    elif options.log:
        environment["SGEMM_LOG"] = str(Path(options.log).absolute())
    else:
        environment.setdefault("SGEMM_LOG", "1")
    return environment
