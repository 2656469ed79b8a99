#!/usr/bin/env python3
"""Checks a folder of results before it is accepted: --help says how."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools.check_results import main

sys.exit(main())
