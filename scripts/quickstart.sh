#!/usr/bin/env bash
# From a fresh Debian or Ubuntu machine to measured charts: installs what is missing, builds, measures every kernel over
# all sizes, and draws the charts. Options are handed to the runner:
#
#   scripts/quickstart.sh
#   scripts/quickstart.sh --kernel 1-7 --sizes 1024:4096
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

install_packages "${BUILD_PACKAGES[@]}"
require_nvcc
python=$("$ROOT/scripts/python.sh")

options=(-DSGEMM_BUILD_TESTS=OFF)
architecture=$(native_architecture)
[ -z "$architecture" ] || options+=("-DCMAKE_CUDA_ARCHITECTURES=$architecture")
build_in "$ROOT/build" "${options[@]}"

job=("$@")
if ! has_gpu && [ $# = 0 ]; then
  say "This machine has no NVIDIA GPU: measuring the CPU baselines alone, at small sizes."
  job=(--kernel "cpu_naive,cpu_blas" --sizes 64:512)
fi

folder=$ROOT/build/measurements/$(date +%Y%m%d-%H%M%S)
mkdir -p "$folder"
status=0
(cd "$ROOT/build" && ./runner "${job[@]}" --out "$folder/results.json") || status=$?
if [ ! -s "$folder/results.json" ]; then
  exit "$status"
fi

charts=0
"$python" "$ROOT/scripts/plot.py" "$folder/results.json" || charts=$?
say
say "Results: $folder/results.json"
case $charts in
  0) say "Charts:  $folder/charts" ;;
  1) say "Charts:  none; they show GPU kernels, and CPU kernels beside an end-to-end sweep of the GPU." ;;
  *) exit "$charts" ;;
esac
exit "$status"
