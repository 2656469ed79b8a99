#!/usr/bin/env bash
# Measures everything that results/<device>/ holds, on the machine with the GPU: what scripts/measurements.txt names, and
#
#   counters.json          Nsight Compute's counters of every kernel of the chapters at 4096
#   counters_8192.json     at a size far larger than the L2, without the variants of 08 and later chapters
#   counters_3001.json     at one that no tile divides, of chapters 01 to 07, which the executor counts,
#   counters_2048.json     and at one that fits in the L2, of the same
#   kernels.json           the list of kernels with their summaries
#   calibration.txt        the constants by which the library chooses
#
# Before that it builds, runs the tests, and runs compute-sanitizer over them. The tests are built if a step needs them.
#
#   scripts/measure_device.sh [--out FOLDER] [--build FOLDER] [--steps build,test,cold,...] [--resume]
#
# If a step fails, the next one runs all the same, and the exit status is 1. It is 2 for unknown options and steps.
# Nothing is installed.
#
# All results are to come from one commit. FOLDER/progress has the commit and the steps that are done. With --resume a
# call does what an earlier one left, which was killed or had failed steps, and refuses if the commit is another one.
# Each step has files of its own, and a file appears in FOLDER when its run has ended, so a kill costs one step. The build
# is always brought up to date. The file is removed when all of the default steps are done. The sweep of a second board
# goes to a folder of its own: --steps build,cold --out results/<device>/other_board.
#
# Three minutes are enough for a board on the page of devices: --steps build,list,cold,shapes-tensor,accuracy,calibrate.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

export PATH=$PATH:/usr/local/cuda/bin # for ncu, where nvcc's folder is not on PATH
build=$ROOT/build
out=
measurements=$ROOT/scripts/measurements.txt
all=build,test,sanitize,list,$(sed -n 's/^\([a-z]\S*\) .*/\1/p' "$measurements" | uniq | paste -sd ,),
all+=counters,calibrate,counters-8192,counters-3001,counters-2048
steps=$all
resume=

# Prints the comment at the top of this file, the files of the runner, and all steps.
show_help() {
  sed -n '2,/^set /{/^set /d; s/^# \{0,1\}//; p}' "${BASH_SOURCE[0]}"
  printf '\nThe files of scripts/measurements.txt:\n'
  sed -n '/^[a-z]/{N; s/^\S* \(\S*\) .*\n/  \1:/; p}' "$measurements"
  printf '\nSteps: %s\n' "${all//,/, }"
}

while [ $# -gt 0 ]; do
  case $1 in
    --out | --build | --steps)
      [ $# -gt 1 ] || refuse "$1 needs a value"
      printf -v "${1#--}" '%s' "$2"
      shift 2
      ;;
    --resume) resume=yes && shift ;;
    -h | --help) show_help && exit ;;
    *) refuse "unknown option $1; --help tells of all" ;;
  esac
done
for step in ${steps//,/ }; do
  [[ ,$all, == *",$step,"* ]] || refuse "unknown step $step; there are ${all//,/, }"
done

device=$(of_gpu name) || true
[ -n "$device" ] || die "This machine has no NVIDIA GPU that nvidia-smi knows."
say "$device, board $(of_gpu uuid)" # results do not name it
out=${out:-$ROOT/results/$(device_slug)}
logs=$build/logs
mkdir -p "$out" "$logs"
out=$(cd "$out" && pwd)
progress=$out/progress
[ -z "$resume" ] || [ -s "$progress" ] || die "--resume: $progress is missing: no earlier call left anything to do."
[ -n "$resume" ] || rm -f "$progress"

# The lists in measurements.txt. Shapes are squares between and at powers of two, sizes that no tile divides, and products
# that are flat, thin, deep and shallow.
squares=256,512,768,1000,1024,1500,2000,2048,3001,3072,4096,5120,6144,8192,12288,16384
rows=$(for weights in 4096x4096 14336x4096 4096x14336 8192x8192; do
  printf '%s:nt,' {1,4,8,16,32,37,40,64,128,256}"x$weights"
done)
# Products of programs: squares in all layouts, linear layers (Y = X W^T, dX = dY W and dW = dY^T X), attention, layers
# with few tokens, experts, batches of squares, Gram matrices, and odd ones.
products=$(
  printf '%s,' {512,1024,2048,3000,4096,8192,16384,192:1024:64}{,:nt,:tn,:tt}
  for weights in 768x{768,2304,3072} 3072x768 1024x4096 2048x{2048,8192} 4096x{4096,8192} 8192x{2048,8192}; do
    inputs=${weights%x*}
    outputs=${weights#*x}
    for tokens in 1024 4096 16384; do
      printf '%s,' "${tokens}x${outputs}x$inputs:nt" "${tokens}x${inputs}x$outputs" "${outputs}x${inputs}x$tokens:tn"
    done
  done
  for heads in 192x512 96x1024 32x2048 16x4096; do
    length=${heads#*x}
    printf '%s,' "${heads}x${length}x64:nt" "${heads}x64x$length"{,:tn}
  done
  printf '%s,' {8,32,64,128}x{4096x4096,16384x4096,8192x8192}:nt {8x1024,16x512,64x128}x{2048x768,768x2048}:nt
  printf '%s,' 1000x256x256x256 100x300x300x300 64x512x512x512 16x1024x1024x1024 4x2048x2048x2048 2x4096x4096x4096
  printf '%s,' 512x512x65536:tn 1024x1024x32768:tn 4096x4096x16384:tn 300x300x100000:tn
  printf '%s,' 300x5000x700 5000x700x9000 32x8192x8192 8192x32x8192 1x8192x8192 16384x16384x64 1000 333 64x64x100000
)
declare -A lists=(
  [shapes]="$squares,8192x8192x512,4096x128x4096,128x4096x4096,1024x1024x16384,16384x16384x64,4095x4097x4099"
  [copied]='01_naive,02_smem_tiled:tile16,cublas,cpu_naive,cpu_blas'
  [rows]=${rows%,}
  [products]=${products%,}
  [levels]='cublas,18:0 levels,18:1 levels,18:2 levels,18:3 levels'
)

# What the executor counts, for pages that compare counts with counters; and the default variants of the others.
counted=(1:\* 2:\* 3:\* 4:\* 5:\* 6:\* 7:\*)
others=(8 9 10 11 12 13)

# measure FILE OPTION... runs the runner as anyone would, from the build folder, so that the command line in the results
# holds no path of this machine. What was measured before a failure is kept.
measure() {
  local file=$1 status=0
  shift
  rm -f "$build/$file"
  mkdir -p "$(dirname "$out/$file")"
  (cd "$build" && ./runner "$@" --out "$file") || status=$?
  [ ! -s "$build/$file" ] || mv "$build/$file" "$out/$file"
  return "$status"
}

# measure_all STEP takes each file of the step, as long as none fails.
measure_all() {
  local words name
  while read -ra words; do
    for name in "${!lists[@]}"; do
      words=("${words[@]//\$$name/${lists[$name]}}")
    done
    measure "${words[@]}" </dev/null || return
  done < <(sed -n "s/^$1 //p" "$measurements")
}

# counters SIZE FILE [KERNEL...]
counters() {
  local size=$1 file=$2
  shift 2
  PYTHONPATH=$ROOT python3 -m tools.counters --build "$build" --size "$size" --out "$out/$file" "$@"
}

# Begins the file of the steps that are done, or compares it with the build. Its commit has a note if files were changed.
require_one_commit() {
  local commit
  commit=$("$build/runner" --version | sed 's/.*, commit //') || die "$build/runner is missing: the step build makes it."
  [[ $commit != *changes ]] || [ -z "$resume" ] ||
    die "--resume: files differ from the commit, so the results would not be of one."
  [ -s "$progress" ] || printf 'commit %s\n' "$commit" >"$progress"
  [ "$(head -n 1 "$progress")" = "commit $commit" ] ||
    die "--resume: the results so far are of $(head -n 1 "$progress"), the build is of commit $commit." \
      "Go back to that commit, or start anew without --resume."
}

is_done() { [ "$1" != build ] && [ -n "$resume" ] && grep -qx "done $1" "$progress"; }

run_step() {
  local tests=OFF
  [[ ,$steps, != *,test,* && ,$steps, != *,sanitize,* ]] || tests=ON
  case $1 in
    build) { find_nvcc || { explain_nvcc; false; }; } && build_in "$build" "-DSGEMM_BUILD_TESTS=$tests" "-DCMAKE_CUDA_ARCHITECTURES=$(native_architecture)" ;;
    test) ctest --test-dir "$build" --output-on-failure --no-tests=error ;;
    sanitize) "$ROOT/scripts/sanitize.sh" "$build" ;;
    list) "$build/runner" --list=json >"$out/kernels.json.new" && mv "$out/kernels.json.new" "$out/kernels.json" ;;
    calibrate)
      PYTHONPATH=$ROOT/library/python SGEMM_LIBRARY=$build/library/libsgemm.so \
        python3 -m sgemm calibrate --out "$out/calibration.txt"
      ;;
    counters) counters 4096 counters.json ;;
    counters-8192) counters 8192 counters_8192.json "${counted[@]}" "${others[@]}" ;;
    counters-3001) counters 3001 counters_3001.json "${counted[@]}" ;;
    counters-2048) counters 2048 counters_2048.json "${counted[@]}" ;;
    *) measure_all "$1" ;;
  esac
}

failed=()
for step in ${steps//,/ }; do
  started=$SECONDS
  [ "$step" = build ] || require_one_commit
  if is_done "$step"; then
    say "== $step is done"
    continue
  fi
  say "== $step"
  if run_step "$step" 2>&1 | tee "$logs/$step.log"; then
    say "== $step took $((SECONDS - started)) s"
    [ "$step" = build ] || printf 'done %s\n' "$step" >>"$progress"
  else
    say "== $step FAILED after $((SECONDS - started)) s"
    failed+=("$step")
  fi
done
say
say "Results: $out. To contribute them, see results/README.md; scripts/check_results.py $out has to find no fault."
say "Charts, drawings and pages show the old results until these have run:"
say "  scripts/plot.py $out && python -m tools.docs.tables --results $out"
[ ${#failed[@]} = 0 ] || die "Failed: ${failed[*]} (--resume does these alone)"
for step in ${all//,/ }; do
  [ "$step" = build ] || grep -qx "done $step" "$progress" || exit 0
done
rm "$progress"
