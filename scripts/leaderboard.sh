#!/usr/bin/env bash
# Judges a folder of kernels, and ranks them on a page for the browser (docs/leaderboard.md).
#
#   scripts/leaderboard.sh FOLDER [-o PAGE] [options of the runner, such as --sizes 1024,4096]
#
# PAGE is leaderboard.html without -o. The verdicts lie beside it, as leaderboard.json. The runner is build/runner, or that
# in the folder SGEMM_BUILD. The exit status is the runner's: 0 where all files were accepted, 4 where one was refused, 3
# where one could not be judged.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() { refuse "usage: scripts/leaderboard.sh FOLDER [-o PAGE] [options of the runner, such as --sizes 1024,4096]"; }

case ${1:-} in "" | -*) usage ;; esac
folder=$1
shift
page=leaderboard.html
if [ "${1:-}" = -o ]; then
  [ -n "${2:-}" ] || usage
  page=$2
  shift 2
fi
runner=${SGEMM_BUILD:-$ROOT/build}/runner
[ -x "$runner" ] || die "There is no $runner: build it first, or name the folder of a build by SGEMM_BUILD"

verdicts=${page%.html}.json
status=0
"$runner" --judge "$folder" --json "$verdicts" "$@" || status=$?
case $status in
  0 | 3 | 4 | 130) "$("$ROOT/scripts/python.sh")" "$ROOT/scripts/report.py" "$verdicts" -o "$page" || status=$? ;;
esac
exit "$status"
