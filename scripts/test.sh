#!/usr/bin/env bash
# Builds what the tests need and runs them. Tests that need a GPU say "skipped" where there is none.
#
#   scripts/test.sh          what every change has to pass: under half an hour on two cores, with nothing compiled before
#   scripts/test.sh --all    every shape of every kernel, with sanitizers as well, the builds with and without CUDA both
#                            tested, clang-tidy over all files: hours
#
# Where nvcc is, the short run makes two builds: one with CUDA, and one with sanitizers and without CUDA. Only the latter
# has the unit tests of the runner's parts.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

CLANG_FORMAT_MAJOR=14 # versions disagree with each other; this is Debian 12's

all=
case ${1:-} in
  "") ;;
  --all) all=-all ;;
  *)
    say "usage: scripts/test.sh [--all]"
    exit 2
    ;;
esac

passed=0 failed=() skipped=() times=() runners=() tested=

# note_time NAME WALL PROCESSOR, in seconds.
note_time() { times+=("$(printf '%5d s  %5d s  %s' "$2" "$3" "$1")"); }

# Sets `processor` to the processor time of all commands so far, in whole seconds.
processor_time() {
  times >"$scratch"
  processor=$(awk 'NR == 2 { gsub(/[ms]/, " "); print int(60 * ($1 + $3) + $2 + $4) }' "$scratch")
}

# step NAME COMMAND...
step() {
  local name=$1 wall=$SECONDS processor before
  shift
  processor_time
  before=$processor
  say
  say "== $name"
  if "$@"; then
    passed=$((passed + 1))
  else
    failed+=("$name")
  fi
  processor_time
  note_time "$name" $((SECONDS - wall)) $((processor - before))
}

skip() {
  say
  say "== $1: skipped, $2"
  skipped+=("$1")
}

# build_and_test PRESET BUILD_PRESET TEST_PRESET, which CMakePresets.json describes. The tests run beside what follows, up
# to finish_tests: where one of both has a last long piece left, the other one keeps the cores busy. Tests on a GPU take
# times, and run alone.
build_and_test() {
  local before=${#failed[@]} failures
  step "build $2" build_preset "$1" "$2"
  failures=$((${#failed[@]} - before))
  finish_tests
  if [ $failures = 0 ]; then
    start_beside "$3" ctest --preset "$3" -j "$(nproc)"
    tested=$3
    ! has_gpu || finish_tests
  else
    skip "ctest $3" "there is no build"
  fi
}

# The outcome of the tests that build_and_test has started.
finish_tests() {
  [ -z "$tested" ] || step "ctest $tested, which began before" finish "$tested"
  tested=
}

# Where no GPU runs it, nvcc need not optimise its code. The long run has every chapter in every build, and compiles each
# file by itself: it finds an include that a file forgot, and that its neighbours in a unity build have.
build_preset() {
  local options=(-DSGEMM_QUICK_DEVICE_CODE=ON)
  if [ -n "$all" ]; then
    options=(-DSGEMM_EXECUTOR_CHAPTERS=. -DSGEMM_QUICK_DEVICE_CODE=OFF -DCMAKE_UNITY_BUILD=OFF)
  elif has_gpu; then
    options=(-DSGEMM_QUICK_DEVICE_CODE=OFF)
  fi
  cmake --preset "$1" "${options[@]}" >&2 && cmake --build --preset "$2" >&2
}

# The runner as its users start it.
test_runner() { SGEMM_BUILD=$ROOT/$1 "$python" -m pytest -n "$(nproc)" "tests/runner${2:+/$2}"; }

# The commit that this one is compared with: where it left the main branch, or the one before.
base_commit() {
  local base
  base=$(git merge-base HEAD origin/HEAD 2>/dev/null) || base=
  [ -n "$base" ] && [ "$base" != "$(git rev-parse HEAD)" ] || base=$(git rev-parse HEAD~1 2>/dev/null) || base=HEAD
  printf '%s' "$base"
}

# New commits whose subject is longer than git's tools show are printed, and fail.
subjects_fit() { ! git log --no-merges --format='%h %s' "$(base_commit)..HEAD" | grep -E '^\S+ .{73,}'; }

# clang-tidy takes seconds a file, and tens of seconds with its static analyzer. The long run runs all checks over all
# files. The short run leaves the analyzer out, and checks the files that changed.
files_to_tidy() {
  if [ -n "$all" ]; then
    git ls-files 'many_gpus/*.cpp' 'runner/*.cpp' 'simt/*.cpp'
  else
    git diff --name-only --diff-filter=d "$(base_commit)" -- 'many_gpus/*.cpp' 'runner/*.cpp' 'simt/*.cpp'
  fi
}

# compiled_in BUILD: those of the files that the build compiles. Some are for GPUs alone.
compiled_in() {
  while read -r file; do
    ! grep -qF "\"file\": \"$ROOT/$file\"" "$1/compile_commands.json" || printf '%s\n' "$file"
  done
}

# The precompiled headers are GCC's, so clang-tidy goes without. It finds includes that a file forgot then. What version
# 14 lacks of the standard library is in tools/tidy.
tidy() {
  local checks='-clang-analyzer-*'
  [ -z "$all" ] || checks=
  cmake --preset cpu -B build-tidy -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >&2 &&
    cmake --build build-tidy --target git_info >&2 &&
    printf '%s\n' "$@" | compiled_in build-tidy |
    xargs -r -P "$(nproc)" -n 1 clang-tidy -p build-tidy --quiet --extra-arg="-isystem$ROOT/tools/tidy" \
      --checks="$checks" --warnings-as-errors='*'
}

# Tests that take one processor run beside the builds: start_beside NAME COMMAND..., and finish NAME for the outcome.
start_beside() {
  local name=$1
  shift
  "$@" >"$scratch.$name" 2>&1 &
  jobs_beside[$name]=$!
}

finish() {
  local status=0
  wait "${jobs_beside[$1]}" || status=$?
  cat "$scratch.$1"
  return "$status"
}

# Sweeps with the runner in the folder $1. Where Slurm can not be had its tests are skipped and say so.
start_fleet() {
  [ -z "$fleet_python" ] || [ -n "${jobs_beside[fleet]:-}" ] ||
    SGEMM_BUILD=$ROOT/$1 SGEMM_REFRAME=${fleet_python%/*}/reframe start_beside fleet "$python" -m pytest -rs tests/fleet
}

# The pages that the runner in the folder $1 writes.
start_traces() {
  [ -n "$no_browser" ] || [ -n "${jobs_beside[traces]:-}" ] ||
    SGEMM_BUILD=$ROOT/$1 start_beside traces "$site_python" -m pytest -rs tests/browser/test_warp.py
}

declare -A jobs_beside
scratch=$(mktemp)
trap 'rm -f "$scratch" "$scratch".*' EXIT
# ccache: what the builds have in common is compiled once.
install_packages "${BUILD_PACKAGES[@]}" ccache clang-tidy libopenmpi-dev openmpi-bin shellcheck
python=$(scripts/python.sh --dev)
wheel_python=$(scripts/python.sh --wheel) || wheel_python= # PyPI alone has all of it
fleet_python=$(scripts/python.sh --fleet) || fleet_python= # PyPI alone has ReFrame
(install_packages munge slurm-wlm) || say "Slurm's packages can not be installed."
(install_packages chromium) || say "Chromium can not be installed."
no_browser=
command -v chromium >/dev/null || no_browser="there is no chromium"
site_python=$(scripts/python.sh --site) || no_browser="Playwright can not be installed" # PyPI alone has it

start_beside scripts "$python" -m pytest tests/scripts tests/python
[ -n "$no_browser" ] || start_beside browser "$site_python" -m pytest -rs tests/browser
if find_nvcc; then
  build_and_test cuda "cuda$all" "cuda$all"
  runners+=(build-test)
  if [ -n "$wheel_python" ]; then
    step "pytest of the wheel" env SGEMM_BUILD="$ROOT/build-test" "$python" -m pytest tests/wheel
  else
    skip "pytest of the wheel" "scikit-build-core and auditwheel can not be installed"
  fi
  start_fleet build-test
  start_traces build-test
else
  skip "build with CUDA" "there is no nvcc"
fi
if [ -n "$all" ] || ! find_nvcc; then
  build_and_test cpu cpu "cpu$all"
  runners+=(build-test-cpu)
  start_fleet build-test-cpu
  start_traces build-test-cpu
fi
build_and_test sanitized "sanitized$all" "sanitized$all"
for build in "${runners[@]}"; do
  step "pytest of the runner in $build" test_runner "$build"
done
step "pytest of the schemas" test_runner build-test-sanitized test_schemas.py
finish_tests
step "pytest of the scripts and the Python package, which began first" finish scripts
if [ -n "$fleet_python" ]; then
  step "pytest of sweeps, which ran beside" finish fleet
else
  skip "pytest of sweeps" "ReFrame can not be installed"
fi
if [ -z "$no_browser" ]; then
  step "pytest of pages in a browser, which ran beside" finish browser
  step "pytest of a warp's accesses in a browser, which ran beside" finish traces
else
  skip "pytest of pages in a browser" "$no_browser"
fi
step "ruff" "$python" -m ruff check scripts tools library examples tests
step "subjects of new commits, of at most 72 characters" subjects_fit
mapfile -t sources < <(find examples kernels library many_gpus runner simt tests \
                             -name '*.[ch]' -o -name '*.[ch]pp' -o -name '*.cu' -o -name '*.cuh' | sort)
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
else
  mapfile -t sources < <(files_to_tidy)
  if [ ${#sources[@]} -gt 0 ]; then
    step "clang-tidy" tidy "${sources[@]}"
  else
    skip "clang-tidy" "no file of many_gpus/, runner/ or simt/ has changed since $(base_commit)"
  fi
fi
step "generated tables" "$python" -m tools.docs.tables --check
"$python" -m tools.docs.english # which warns of sentences that are hard to read, and fails nothing

processor_time
note_time total "$SECONDS" "$processor"
say
say " wall  processor"
printf '%s\n' "${times[@]}" >&2
say
for name in "${failed[@]}"; do
  say "FAILED: $name"
done
say "$passed steps passed, ${#failed[@]} failed, ${#skipped[@]} skipped"
[ ${#failed[@]} = 0 ]
