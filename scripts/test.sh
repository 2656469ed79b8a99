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

# build_and_test NAME FOLDER LABELS [CMAKE OPTION...]
build_and_test() {
  local name=$1 folder=$2 labels=$3 before=${#failed[@]} label
  shift 3
  step "build $name" build_in "$folder" -DSGEMM_WARNINGS_AS_ERRORS=ON "$@"
  for label in $labels; do
    if [ ${#failed[@]} = "$before" ]; then
      step "ctest $label $name" ctest --test-dir "$folder" -j "$(nproc)" --output-on-failure --no-tests=error -L "$label"
    else
      skip "ctest $label $name" "there is no build"
    fi
  done
}

install_packages "${BUILD_PACKAGES[@]}"
python=$(scripts/python.sh --dev)

if find_nvcc; then
  build_and_test "with CUDA" build-test "cpu gpu" "-DCMAKE_CUDA_ARCHITECTURES=80-real;90a-real"
else
  skip "build with CUDA" "there is no nvcc"
fi
build_and_test "without CUDA" build-test-cpu cpu -DSGEMM_WITH_CUDA=OFF
# With sanitizers GCC 12 wrongly takes a part of std::regex for uninitialised.
build_and_test "with sanitizers" build-test-sanitized cpu -DSGEMM_WITH_CUDA=OFF -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  "-DCMAKE_CXX_FLAGS=-fsanitize=address,undefined -fno-sanitize-recover=undefined -Wno-maybe-uninitialized"
step "pytest" "$python" -m pytest
step "ruff" "$python" -m ruff check scripts tests
if clang-format --version 2>/dev/null | grep -q "version $CLANG_FORMAT_MAJOR\."; then
  mapfile -t sources < <(find benchmarks kernels runner simt tests -name '*.[ch]pp' -o -name '*.cu' -o -name '*.cuh' | sort)
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
