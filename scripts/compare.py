#!/usr/bin/env python3
"""Compares results files case by case: --help says how."""

import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools.compare import main

signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that has seen enough, such as head, ends the script
sys.exit(main())
