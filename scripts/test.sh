#!/usr/bin/env bash
# Builds what the tests need and runs all of them. Tests that need a GPU say "skipped" where there is none.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

CLANG_FORMAT_MAJOR=14 # versions disagree with each other; this is Debian 12's

passed=0 failed=() skipped=()

step() {
  local name=$1
  shift
  say
  say "== $name"
  if "$@"; then
    passed=$((passed + 1))
  else
    failed+=("$name")
  fi
}

skip() {
  say
  say "== $1: skipped, $2"
  skipped+=("$1")
}

install_packages "${BUILD_PACKAGES[@]}"
require_nvcc
python=$(scripts/python.sh --dev)

step "build" build_in build-test -DSGEMM_WARNINGS_AS_ERRORS=ON "-DCMAKE_CUDA_ARCHITECTURES=80-real;90a-real"
if [ ${#failed[@]} = 0 ]; then
  step "ctest cpu" ctest --test-dir build-test --output-on-failure --no-tests=error -L cpu
  step "ctest gpu" ctest --test-dir build-test --output-on-failure --no-tests=error -L gpu
else
  skip "ctest" "there is no build"
fi
step "pytest" "$python" -m pytest
step "ruff" "$python" -m ruff check scripts tests
if clang-format --version 2>/dev/null | grep -q "version $CLANG_FORMAT_MAJOR\."; then
  mapfile -t sources < <(find kernels runner simt tests -name '*.[ch]pp' -o -name '*.cu' -o -name '*.cuh' | sort)
  step "clang-format" clang-format --dry-run --Werror "${sources[@]}"
else
  skip "clang-format" "it takes version $CLANG_FORMAT_MAJOR"
fi
step "generated tables" "$python" scripts/tables.py --check

say
for name in "${failed[@]}"; do
  say "FAILED: $name"
done
say "$passed steps passed, ${#failed[@]} failed, ${#skipped[@]} skipped"
[ ${#failed[@]} = 0 ]
