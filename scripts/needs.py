"""To be imported first: a Python package that is missing ends a script with one line instead of a traceback."""

from __future__ import annotations

import os
import sys
from pathlib import Path

PACKAGES = {"PIL": "pillow"}  # called otherwise than their modules
DEVELOPMENT = ("tables.py", "pictures.py")  # take what requirements-dev.txt has
BAD_INPUT = 2


def message(module: str, script: Path) -> str:
    top = module.partition(".")[0]
    option = " --dev" if script.name in DEVELOPMENT else ""
    return (
        f"{script.name}: this Python has no package {PACKAGES.get(top, top)}; "
        f"use one that has it: $(scripts/python.sh{option}) {script}"
    )


def hook(kind: type[BaseException], error: BaseException, trace: object) -> None:
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        sys.__excepthook__(kind, error, trace)
        return
    print(message(error.name, Path(sys.argv[0])), file=sys.stderr)
    sys.stderr.flush()
    os._exit(BAD_INPUT)


sys.excepthook = hook
