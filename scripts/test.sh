#!/usr/bin/env bash
# Builds what the tests need and runs them. Tests that need a GPU say "skipped" where there is none.
#
#   scripts/test.sh          what every change has to pass: 9 to 10 minutes on two cores, with nothing compiled before
#   scripts/test.sh ROOM...  the tests of these rooms alone: kernels, library, many_gpus, runner, simt, tools
#   scripts/test.sh --all    all tests, shapes, files of each corpus and GPU architectures, with sanitizers, with and without
#                            CUDA, and clang-tidy over all files: hours. Steps that have passed at this commit are not
#                            taken again. tests/record.json tells which passed where: commit it.
#   scripts/test.sh --all WORD...   of those the steps that have one of these words in their name: sanitized, mutants
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

install_packages "${BUILD_PACKAGES[@]}" ccache clang-tidy libopenmpi-dev openmpi-bin shellcheck
python=$(scripts/python.sh --dev)
find_nvcc || true
exec "$python" -m tools.suite "$@"
