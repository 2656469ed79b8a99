#!/usr/bin/env bash
# Builds what the tests need and runs them. Tests that need a GPU say "skipped" where there is none.
#
#   scripts/test.sh          what every change has to pass: 9 to 10 minutes on two cores, with nothing compiled before
#   scripts/test.sh ROOM...  the tests of these rooms alone: kernels, library, many_gpus, runner, simt, tools
#   scripts/test.sh --all    all tests, shapes, files of each corpus and GPU architectures, with sanitizers, with and without
#                            CUDA, and clang-tidy over all files: hours. Steps that have passed at this commit are not
#                            taken again. tests/record.json tells which passed where.
#   scripts/test.sh --all WORD...   of those the steps that have one of these words in their name: sanitized, mutants
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/steps.sh
. "$ROOT/scripts/steps.sh"
cd "$ROOT"

CLANG_FORMAT_MAJOR=14 # versions disagree with each other; this is Debian 12's
SHORT="build-test-short"

all='' rooms=()
if [ "${1-}" = --all ]; then
  all=yes
  shift
  for word in "$@"; do
    grep -oE '(step|skip) "[^"]+"' scripts/test.sh | grep -qF -- "$word" ||
      refuse "No step of the long run has '$word' in its name."
  done
  steps_wanted=("$@")
  set --
fi
for word in "$@"; do
  case $word in
    kernels | library | many_gpus | runner | simt | tools) rooms+=("$word") ;;
    *) refuse "There is no room '$word' with tests. They are kernels, library, many_gpus, runner, simt and tools." ;;
  esac
done

cores=$(nproc)
ran=$ROOT/build-ran # what each test says of itself

# The long run has every chapter, but where sanitizers make it ten times as slow, and compiles each file by itself: it
# finds an include that a file forgot, and that its neighbours in a unity build have. Where no GPU runs it, nvcc need not
# optimise its code.
configure() {
  local options=(-DSGEMM_QUICK_DEVICE_CODE=ON)
  if [ -n "$all" ]; then
    options=(-DSGEMM_QUICK_DEVICE_CODE=OFF -DCMAKE_UNITY_BUILD=OFF)
    [ "$1" = sanitized ] || options+=(-DSGEMM_EXECUTOR_CHAPTERS=.)
  elif has_gpu; then
    options=(-DSGEMM_QUICK_DEVICE_CODE=OFF)
  fi
  cmake --preset "$1" "${options[@]}"
}

# build PRESET [TARGET...]
build() {
  local preset=$1
  shift
  configure "$preset" && cmake --build --preset "$preset" ${1:+--target "$@"}
}

# run_ctest PRESET [OPTION...]
run_ctest() {
  local preset=$1 build
  shift
  build=$ROOT/$(bookkeeping folder "$preset")
  rm -rf "$build/ran"
  GTEST_OUTPUT="xml:$build/ran/" ctest --preset "$preset" -j "$cores" --output-junit "$build/ran/ctest.junit" "$@"
}

# run_pytest NAME BUILD ARGUMENT...: where all tests are skipped, something is missing.
run_pytest() {
  local name=$1 build=$2
  shift 2
  SGEMM_BUILD=$ROOT/$build "$python" -m pytest -rs --junitxml="$ran/$name.xml" ${long_left_out:+-m "not long"} "$@" &&
    bookkeeping some "$ran/$name.xml"
}

with_python() {
  python=$1
  "${@:2}"
}
with_reframe() { SGEMM_REFRAME=$1 "${@:2}"; }

bookkeeping() { "$python" -m tools.testing "$@"; }

# The short run's own build, but for test programs that are what they were when all their tests passed on record.
build_short() {
  local targets
  configure short && targets=$(bookkeeping targets "$SHORT") &&
    printf '%s' "$targets" | xargs -d '\n' cmake --build --preset short --target
}

# Without the tests of those, and of at most 16 lengthy processes of a program with one.
test_short_build() {
  local lengthy
  lengthy=$(seq 0 15 | grep -vx $((16#$(bookkeeping seed | head -c 1))) | paste -sd '|')
  run_ctest short -E "^($(bookkeeping unreached "$SHORT" | paste -sd '|'))\$|_lengthy_($lengthy)\$"
}

# The part of the build with CUDA that the short run takes: all that the change can reach and the build without CUDA has
# not, and the tests that need no code for GPUs.
build_reached() {
  local targets
  configure cuda && targets=$(bookkeeping reached build-test "$SHORT") &&
    printf '%s' "$targets" | xargs -r -d '\n' cmake --build --preset cuda --target
}
test_reached() { run_ctest cuda -R "^($(bookkeeping host-tests build-test "$SHORT" | paste -sd '|'))\$"; }

# The commit that this one is compared with: where it left the main branch, or the one before.
base_commit() {
  local base
  base=$(git merge-base HEAD origin/HEAD 2>/dev/null) || base=
  [ -n "$base" ] && [ "$base" != "$(git rev-parse HEAD)" ] || base=$(git rev-parse HEAD~1 2>/dev/null) || base=HEAD
  printf '%s' "$base"
}

# New commits whose subject is longer than git's tools show are printed, and fail.
subjects_fit() { ! git log --no-merges --format='%h %s' "$(base_commit)..HEAD" | grep -E '^\S+ .{73,}'; }

# compiled_in BUILD: those of the files that the build compiles. Some are for GPUs alone.
compiled_in() {
  while read -r file; do
    ! grep -qF "\"file\": \"$ROOT/$file\"" "$1/compile_commands.json" || printf '%s\n' "$file"
  done
}

# clang-tidy takes seconds a file, and tens of seconds with its static analyzer, which the short run leaves out. The
# precompiled headers are GCC's, so clang-tidy goes without. It finds includes that a file forgot then. What version 14
# lacks of the standard library is in tools/tidy.
tidy() {
  local checks='-clang-analyzer-*'
  [ -z "$all" ] || checks=
  printf '%s\n' "$@"
  cmake --preset cpu -B build-tidy -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON &&
    cmake --build build-tidy --target git_info &&
    printf '%s\n' "$@" | compiled_in build-tidy |
    xargs -r -P "$cores" -n 1 clang-tidy -p build-tidy --quiet --extra-arg="-isystem$ROOT/tools/tidy" \
      --checks="$checks" --warnings-as-errors='*'
}

lint() {
  local sources files
  step "ruff" "$python" -m ruff check examples library runner/tests scripts tests tools
  step "subjects of new commits, of at most 72 characters" subjects_fit
  mapfile -t sources < <(git ls-files examples kernels library many_gpus runner simt tests | grep -E '\.([ch]|[ch]pp|cuh?)$')
  if clang-format --version 2>/dev/null | grep -q "version $CLANG_FORMAT_MAJOR\."; then
    step "clang-format" clang-format --dry-run --Werror "${sources[@]}"
  else
    skip "clang-format" "it takes version $CLANG_FORMAT_MAJOR"
  fi
  if command -v shellcheck >/dev/null; then
    step "shellcheck" shellcheck --external-sources scripts/*.sh scripts/*.bash .ci/run
  else
    skip "shellcheck" "it is missing"
  fi
  if ! command -v clang-tidy >/dev/null; then
    skip "clang-tidy" "it is missing"
  elif mapfile -t files < <(bookkeeping tidy ${all:+--all}) && [ ${#files[@]} -gt 0 ]; then
    step "clang-tidy" tidy "${files[@]}"
  else
    skip "clang-tidy" "no file that it reads has changed"
  fi
}

# Pages in a browser, sweeps and the wheel, each where PyPI has what they need.
test_from_outside() {
  local build=$1 other
  (install_packages chromium) || say "Chromium can not be installed."
  if ! command -v chromium >/dev/null || ! other=$(scripts/python.sh --site); then
    skip "pytest of pages in a browser" "Chromium or Playwright can not be installed"
  else
    step "pytest of pages in a browser" with_python "$other" run_pytest browser "$build" tools/tests/browser
  fi
  if other=$(scripts/python.sh --fleet); then
    step "pytest of sweeps" with_reframe "${other%/*}/reframe" run_pytest fleet "$build" tools/tests/fleet
  else
    skip "pytest of sweeps" "ReFrame can not be installed"
  fi
  if find_nvcc && scripts/python.sh --wheel >/dev/null; then
    step "pytest of the wheel" run_pytest wheel build-test library/tests/wheel
  else
    skip "pytest of the wheel" "nvcc is missing, or scikit-build-core and auditwheel can not be installed"
  fi
}

# ---- The three runs ----

scripts_and_package=(tools/tests/scripts library/tests/python)

# What a room's tests are: targets of the build, names of ctest's, folders of pytest's.
test_rooms() {
  local room targets names folder
  for room in "${rooms[@]}"; do
    names='' folder=''
    case $room in
      kernels) targets=(executor_tests) names='executor_tests|targets_apart' ;;
      library) targets=(library/tests/all) names=library folder=library/tests/python ;;
      many_gpus) targets=(many_gpus_tests) names=many_gpus ;;
      runner) targets=(cpu_tests runner runner_with_misbehaving_kernels) names=cpu_tests folder=runner/tests/outside ;;
      simt) targets=(simt/all) names=simt ;;
      tools) targets=() folder=tools/tests/scripts ;;
    esac
    [ ${#targets[@]} = 0 ] || step "build of $room" build short "${targets[@]}"
    [ -z "$names" ] || step "ctest of $room" run_ctest short -R "^($names)"
    [ -z "$folder" ] || step "pytest of $room" run_pytest "$room" "$SHORT" -n "$cores" "$folder"
  done
}

test_short() {
  long_left_out=yes
  start "pytest of the scripts and the Python package" run_pytest scripts "$SHORT" "${scripts_and_package[@]}"
  step "build without CUDA" build_short
  if [ ${#steps_failed[@]} = 0 ]; then
    start "ctest without CUDA" test_short_build
    start "pytest of the runner" run_pytest runner "$SHORT" -n "$cores" runner/tests/outside
    finish "ctest without CUDA"
    finish "pytest of the runner"
  else
    skip "the tests of the build" "there is none"
  fi
  if ! find_nvcc; then
    skip "build with CUDA" "there is no nvcc"
  elif has_gpu; then
    step "build with CUDA" build cuda
    step "ctest with CUDA" run_ctest cuda -E _lengthy_
    step "pytest of the runner on a GPU" \
      run_pytest gpu build-test runner/tests/outside/test_user_kernels_on_gpu.py library/tests/python
  else
    step "build of what a change reaches with CUDA" build_reached
    step "ctest of what needs no code for GPUs" test_reached
  fi
  finish "pytest of the scripts and the Python package"
  lint
  step "what ran, beside what there is" bookkeeping ran "$SHORT"
}

test_all() {
  local builds=(build-test-cpu build-test-sanitized) lengthy_ran=''
  export SGEMM_TEST_ALL=1
  if find_nvcc; then
    builds=(build-test "${builds[@]}")
    lengthy_ran=yes
    step "build cuda" build cuda
    step "ctest cuda" run_ctest cuda
    step "pytest of the runner with CUDA" run_pytest runner-cuda build-test -n "$cores" runner/tests/outside
  else
    skip "build cuda" "there is no nvcc"
  fi
  step "build cpu" build cpu
  step "ctest cpu" run_ctest cpu ${lengthy_ran:+-E _lengthy_} # they are the same program as in the build with CUDA
  step "build sanitized" build sanitized
  step "ctest sanitized" run_ctest sanitized -E ^library_tests_lengthy # a process of them takes half an hour so
  step "pytest of the runner" run_pytest runner build-test-cpu -n "$cores" runner/tests/outside
  step "pytest of the schemas" run_pytest schemas build-test-sanitized runner/tests/outside/test_schemas.py
  step "wrong kernels, all of the table" "$python" -m tools.wrong_kernels --check --runner build-test-cpu/runner
  step "pytest of the scripts and the Python package" run_pytest scripts build-test-cpu "${scripts_and_package[@]}"
  test_from_outside build-test-cpu
  step "mutants" "$python" -m tools.mutants
  lint
  step "what ran, beside what there is" bookkeeping ran --all "${builds[@]}"
}

install_packages "${BUILD_PACKAGES[@]}" ccache clang-tidy libopenmpi-dev openmpi-bin shellcheck
python=$(scripts/python.sh --dev)
long_left_out=
mkdir -p "$ran" || die "There is no room for what the tests write, in $ran."
bookkeeping age
if [ ${#rooms[@]} -gt 0 ]; then
  test_rooms
elif [ -n "$all" ]; then
  if [ -z "$(uncommitted)" ]; then
    steps_done=$ran/passed-$(bookkeeping seed)
    mkdir -p "$steps_done"
    trap 'bookkeeping record "$steps_done" || true; end_steps' EXIT # also of a run that is ended before its end
  else
    say "There are changes without a commit: this run begins anew, and nothing of it goes on record."
  fi
  test_all
else
  rm -f "$ran"/*.xml
  test_short
fi
report_steps
