"""What the examples have in common: arguments, packages that they need, and results in JSON files that are written
whole or not at all."""

import importlib
import json
import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from pathlib import Path
from types import ModuleType
from typing import NoReturn


def lacks(what: str) -> NoReturn:
    """Ends a program that can not run here."""
    print(f"{Path(sys.argv[0]).name} needs {what}", file=sys.stderr)
    sys.exit(2)


def need(package: str, install: str) -> ModuleType:
    """Imports a package. Where it is missing, the program ends with 2 and a line that says what to install."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        lacks(f"{package}: pip install {install} ({error})")


def need_torch(tf32: bool = False) -> ModuleType:
    """PyTorch, with a GPU that it can use. Its products may be in TF32 where `tf32` lets them."""
    torch = need("torch", "torch")
    torch.backends.cuda.matmul.allow_tf32 = tf32
    return torch if torch.cuda.is_available() else lacks("a GPU that PyTorch can use")


def write_results(path: Path | None, package: ModuleType, values: dict) -> None:
    """Writes what an example found, and where. Without a path it does nothing."""
    if path is not None:
        write_json(path, values | {"circumstances": circumstances(package)})


def circumstances(package: ModuleType) -> dict[str, str]:
    """The GPU, the versions, and what is preloaded, of an example that works with PyTorch or CuPy."""
    if package.__name__ == "torch":
        device, cuda = package.cuda.get_device_name(), package.version.cuda
    else:
        runtime = package.cuda.runtime
        device, cuda = runtime.getDeviceProperties(0)["name"].decode(), str(runtime.runtimeGetVersion())
    preload = Path(os.environ.get("LD_PRELOAD", "")).name
    return {"device": device, package.__name__: package.__version__, "cuda": cuda, "preload": preload}


def write_json(path: Path, values: dict) -> None:
    """Writes a file in one step: readers see the old content or the new."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    scratch.write_text(json.dumps(values, indent=1) + "\n")
    scratch.replace(path)


def parser(text: str, out: str, *flags: tuple[str, str], **numbers: tuple[int | list[int], str]) -> ArgumentParser:
    """Of an example with this text at its top, which writes `out` into a file. Each flag has its name and help, and
    each whole number above 0 its default, of which there may be several, and its help."""
    made = ArgumentParser(description=text, formatter_class=RawDescriptionHelpFormatter)
    for name, (default, what) in numbers.items():
        several = {"nargs": "+", "help": what} if isinstance(default, list) else {"help": f"{what} ({default})"}
        made.add_argument(f"--{name}", type=positive, default=default, **several)
    for flag, what in flags:
        made.add_argument(f"--{flag}", action="store_true", help=what)
    made.add_argument("--out", type=result_file, help=f"writes {out} into this JSON file")
    return made


def result_file(text: str) -> Path:
    """An argument that is a file which write_json() can write. It would replace a device or a pipe."""
    path = Path(text)
    if (path.exists() and not path.is_file()) or not os.access(path.parent, os.W_OK):
        raise ArgumentTypeError(f"{text} is no file in a folder that can be written")
    return path


def positive(text: str) -> int:
    """An argument that is a whole number above 0."""
    if not text.isdecimal() or int(text) == 0:
        raise ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)
