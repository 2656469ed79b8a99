"""python -m sgemm: `run` a program whose FP32 products libsgemm computes, `info` and `bench`
about this machine, `calibrate` for it."""

import sys

from .commands import main

sys.exit(main(sys.argv[1:]))
