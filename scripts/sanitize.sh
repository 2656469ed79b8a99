#!/usr/bin/env bash
# Runs compute-sanitizer's memcheck, racecheck and initcheck over the chapters' GPU tests, on a machine with a GPU and
# after the tests were built, in build/ or the folder that is named. One line for each tool; its report is in logs/ there.
#
#   scripts/sanitize.sh [BUILD]
#
# memcheck and racecheck look at the chapters' own kernels only. initcheck has to see all writes and so all kernels, but
# for one of cuBLAS, which computes the tests' references: its split-K reduction reads memory that was never written.
#
# Exit status: 0 every tool is content, 1 one found something or could not run, 2 bad usage.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

export PATH=$PATH:/usr/local/cuda/bin
if [ $# -gt 1 ] || [[ ${1:-} == -* ]]; then refuse "usage: scripts/sanitize.sh [BUILD]"; fi
build=${1:-$ROOT/build}
logs=$build/logs
tests=$build/tests/gpu_tests
command -v compute-sanitizer >/dev/null || die "compute-sanitizer is missing; it comes with the CUDA Toolkit"
[ -x "$tests" ] || die "There is no $tests: build with -DSGEMM_BUILD_TESTS=ON first"
mkdir -p "$logs"

# The names of the chapters' kernels, from their sources; a substring of the mangled name is what the filter takes.
only=()
while read -r name; do
  only+=(--kernel-name "kns=$name")
done < <(cat "$ROOT"/kernels/[0-9][0-9]_*.cu | tr '\n' ' ' | grep -oE '__global__ [^{]*[a-z0-9_]+_kernel\(' | sed -E 's/.*[ *&]([a-z0-9_]+_kernel)\(/\1/' | sort -u)
[ ${#only[@]} -gt 0 ] || die "No kernel was found in $ROOT/kernels"

# Tests are called <chapter's id>_<group of cases>. racecheck slows a kernel down a hundredfold and more: it gets the
# groups that take every path, aligned and not, of every kernel and variant, without the long lists of edges. Chapters
# 08, 09, 11 and 12 are left out: CUDA 13.0's racecheck takes every copy that arrives at an mbarrier and what is read
# after the wait for a race. The executor's checks (runner --check) follow mbarriers.
declare -A tests_of=(
  [memcheck]='*/??_*'
  [initcheck]='*/??_*'
  [racecheck]='*/??_*_primes:*/??_*_whole_tiles:*/??_*_scalars:-*/08_*:*/09_*:*/11_*:*/12_*'
)

declare -A kernels_of=(
  [memcheck]="${only[*]}"
  [racecheck]="${only[*]}"
  [initcheck]='--kernel-name-exclude kns=splitKreduce_kernel'
)

found=9 # the exit status that tells findings from failing tests
failed=0
for tool in memcheck racecheck initcheck; do
  log=$logs/$tool.log
  started=$SECONDS
  status=0
  # shellcheck disable=SC2086  # the options are words
  SGEMM_TEST_SMALL=1 compute-sanitizer --tool "$tool" --error-exitcode "$found" --print-limit 20 ${kernels_of[$tool]} \
    "$tests" --gtest_filter="${tests_of[$tool]}" >"$log" 2>&1 || status=$?
  took="$((SECONDS - started)) s, $log"
  ran=$(sed -nE 's/^\[ +PASSED +\] ([0-9]+) tests?\.$/\1/p' "$log" | tail -n 1)
  summary=$(sed -nE 's/^=+ (RACECHECK|ERROR) SUMMARY: //p' "$log" | tail -n 1)
  if [ "$status" = 0 ] && [ "${ran:-0}" -gt 0 ] && [[ $summary == "0 "* ]]; then
    printf '%s: clean, %s tests in %s\n' "$tool" "$ran" "$took"
    continue
  fi
  failed=1
  [ "$status" != 0 ] || [ "${ran:-0}" -gt 0 ] || summary="no test ran"
  printf '%s: FAILED with exit status %s, %s, after %s\n' "$tool" "$status" "${summary:-without a summary}" "$took"
done
exit $failed
