#!/usr/bin/env python3
"""Writes one HTML file that shows results: --help says how."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools.report.report import main

sys.exit(main())
