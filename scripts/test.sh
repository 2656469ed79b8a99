#!/usr/bin/env bash
# Builds what the tests need and runs them. Tests that need a GPU say "skipped" where there is none.
#
#   scripts/test.sh          what every change has to pass: about half an hour on two cores
#   scripts/test.sh --all    every shape of every kernel, everything with sanitizers, the build with CUDA tested as the
#                            one without, clang-tidy over all files: much longer
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

passed=0 failed=() skipped=() times=()

# step NAME COMMAND...
step() {
  local name=$1 started=$SECONDS
  shift
  say
  say "== $name"
  if "$@"; then
    passed=$((passed + 1))
  else
    failed+=("$name")
  fi
  times+=("$(printf '%5d s  %s' $((SECONDS - started)) "$name")")
}

skip() {
  say
  say "== $1: skipped, $2"
  skipped+=("$1")
}

# build_and_test PRESET BUILD_PRESET TEST_PRESET, which CMakePresets.json describes.
build_and_test() {
  local before=${#failed[@]}
  step "build $2" build_preset "$1" "$2"
  if [ ${#failed[@]} = "$before" ]; then
    step "ctest $3" ctest --preset "$3" -j "$(nproc)"
  else
    skip "ctest $3" "there is no build"
  fi
}

build_preset() { cmake --preset "$1" >&2 && cmake --build --preset "$2" >&2; }

# The runner as its users start it.
test_runner() { SGEMM_BUILD=$ROOT/$1 "$python" -m pytest tests/runner; }

# The commit that this one is compared with: where it left the main branch, or the one before.
base_commit() {
  local base
  base=$(git merge-base HEAD origin/HEAD 2>/dev/null) || base=
  [ -n "$base" ] && [ "$base" != "$(git rev-parse HEAD)" ] || base=$(git rev-parse HEAD~1 2>/dev/null) || base=HEAD
  printf '%s' "$base"
}

# clang-tidy takes seconds a file, and tens of them with its static analyzer: that runs in the long run, over all files,
# and the other checks over those that changed.
files_to_tidy() {
  if [ -n "$all" ]; then
    git ls-files 'runner/*.cpp' 'simt/*.cpp'
  else
    git diff --name-only --diff-filter=d "$(base_commit)" -- 'runner/*.cpp' 'simt/*.cpp'
  fi
}

tidy() {
  local checks='-clang-analyzer-*'
  [ -z "$all" ] || checks=
  printf '%s\n' "$@" |
    xargs -P "$(nproc)" -n 1 clang-tidy -p build-test-cpu --quiet --checks="$checks" --warnings-as-errors='*'
}

# ccache: what the builds have in common is compiled once.
install_packages "${BUILD_PACKAGES[@]}" ccache clang-tidy shellcheck
python=$(scripts/python.sh --dev)

build_and_test cpu cpu "cpu$all"
step "pytest" "$python" -m pytest tests/scripts
step "pytest of the runner" test_runner build-test-cpu
if find_nvcc; then
  build_and_test cuda "cuda$all" "cuda$all"
  step "pytest of the runner with CUDA" test_runner build-test
else
  skip "build with CUDA" "there is no nvcc"
fi
build_and_test sanitized sanitized "sanitized$all"
step "ruff" "$python" -m ruff check scripts tests
mapfile -t sources < <(find benchmarks kernels runner simt tests -name '*.[ch]pp' -o -name '*.cu' -o -name '*.cuh' | sort)
if clang-format --version 2>/dev/null | grep -q "version $CLANG_FORMAT_MAJOR\."; then
  step "clang-format" clang-format --dry-run --Werror "${sources[@]}"
else
  skip "clang-format" "it takes version $CLANG_FORMAT_MAJOR"
fi
if command -v shellcheck >/dev/null; then
  step "shellcheck" shellcheck --external-sources scripts/*.sh .ci/run
else
  skip "shellcheck" "it is missing"
fi
if ! command -v clang-tidy >/dev/null; then
  skip "clang-tidy" "it is missing"
elif [ ! -e build-test-cpu/compile_commands.json ]; then
  skip "clang-tidy" "there is no build"
else
  mapfile -t sources < <(files_to_tidy)
  if [ ${#sources[@]} -gt 0 ]; then
    step "clang-tidy" tidy "${sources[@]}"
  else
    skip "clang-tidy" "no file of runner/ or simt/ has changed since $(base_commit)"
  fi
fi
step "generated tables" "$python" scripts/tables.py --check

say
printf '%s\n' "${times[@]}" >&2
say
for name in "${failed[@]}"; do
  say "FAILED: $name"
done
say "$passed steps passed, ${#failed[@]} failed, ${#skipped[@]} skipped"
[ ${#failed[@]} = 0 ]
