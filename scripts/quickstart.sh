#!/usr/bin/env bash
# From a fresh Debian or Ubuntu machine to measured charts: installs what is missing, builds, measures every kernel over
# all sizes, the GPU with copies against the CPU, draws the charts and writes a report for the browser. Options are
# handed to the runner, for one measurement of another kind:
#
#   scripts/quickstart.sh
#   scripts/quickstart.sh --kernel 1-7 --sizes 1024:4096
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

install_packages "${BUILD_PACKAGES[@]}"
if has_gpu && find_nvcc; then
  options=(-DSGEMM_WITH_CUDA=ON -DSGEMM_QUICK_COMPILE=OFF)
else
  ! has_gpu || explain_nvcc
  say "Without a GPU and nvcc the kernels are built for the CPU alone, which executes them without timing them."
  # Nothing here measures the executor. -O1 and a unity build compile sooner. What is measured keeps -O3.
  options=(-DSGEMM_WITH_CUDA=OFF -DSGEMM_QUICK_COMPILE=ON -DCMAKE_UNITY_BUILD=ON)
  options+=("-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG")
fi
# Python's packages are fetched while the compiler works.
python_path=$(mktemp)
trap 'rm -f "$python_path"' EXIT
"$ROOT/scripts/python.sh" >"$python_path" &
python_job=$!

options+=(-DSGEMM_BUILD_TESTS=OFF)
architecture=$(native_architecture)
[ -z "$architecture" ] || options+=("-DCMAKE_CUDA_ARCHITECTURES=$architecture")
build_in "$ROOT/build" "${options[@]}"
wait "$python_job"
python=$(cat "$python_path")

cd "$ROOT/build"
folder=measurements/$(date +%Y%m%d-%H%M%S)
[ $# -gt 0 ] || ! has_gpu || folder+=/$(device_slug) # as in results/
mkdir -p "$folder"
status=0
if [ $# -gt 0 ]; then
  ./runner "$@" --out "$folder/results.json" || status=$?
elif has_gpu && find_nvcc; then
  ./runner --kernel all --sizes 256:8192 --out "$folder/cold.json" || status=$?
  [ "$status" -gt 1 ] ||
    ./runner --kernel 01_naive,cublas,cpu_naive,cpu_blas --time end-to-end --sizes 16:4096 \
      --out "$folder/end-to-end.json" || status=$?
  [ "$status" -gt 1 ] ||
    PYTHONPATH=$ROOT/library/python "$python" -m sgemm calibrate --out "$folder/calibration.txt" || status=$?
else
  say "There is no GPU to measure: every kernel is executed and verified on the CPU, with its accesses to memory"
  say "checked, and the CPU baselines are measured, at small sizes."
  ./runner --kernel chapters --device cpu --check --sizes 128 --out "$folder/executed.json" || status=$?
  [ "$status" -gt 1 ] ||
    ./runner --kernel cpu_naive,cpu_blas --sizes 64:512 --out "$folder/results.json" || status=$?
fi

results=()
for file in "$folder"/*.json; do
  [ ! -s "$file" ] || results+=("$file")
done
if [ ${#results[@]} = 0 ]; then
  rmdir "$folder"
  exit "$status"
fi
charts=0
"$python" "$ROOT/scripts/plot.py" "${results[@]}" || charts=$?
say
say "Results: ${results[*]/#/$ROOT/build/}"
[ "$charts" != 0 ] || say "Charts:  $ROOT/build/$folder/charts"
report=$folder/report.html
if "$python" "$ROOT/scripts/report.py" "${results[@]}" -o "$report" >/dev/null; then
  say "Report:  $ROOT/build/$report"
  [ "$charts" -le 1 ] || status=$charts # what draws is there, so the files are at fault
fi
[ ! -s "$folder/cold.json" ] || say "To contribute the board: scripts/check_results.py build/$folder, and results/README.md."
has_gpu || say "What the GPU kernels reach on an NVIDIA H200 is in $ROOT/results/nvidia-h200."
exit "$status"
