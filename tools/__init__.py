"""What the commands in scripts/ are made of, and what fills the pages.

A module with a `main` of its own is run from the root of the repository: `python -m tools.docs.tables`.
"""

import sys

from tools.needs import ROOT, hook

__all__ = ["ROOT"]

sys.excepthook = hook
