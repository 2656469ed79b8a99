#!/usr/bin/env python3
"""Draws charts of results: --help says how."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools.plots.plot import main

sys.exit(main())
