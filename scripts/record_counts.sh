#!/usr/bin/env bash
# Counts every chapter on the CPU executor and writes results/cpu-executor, the pictures in it and the tables of the docs.
# Takes a build's runner and, if wanted, the sizes:
#
#   scripts/record_counts.sh                     with build/runner
#   scripts/record_counts.sh build/runner 2048 4096
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

runner=$(realpath "${1:-$ROOT/build/runner}")
[ -x "$runner" ] || die "There is no $runner: build it first, or name another"
[ $# = 0 ] || shift
sizes=("$@")
[ ${#sizes[@]} -gt 0 ] || sizes=(2048 3001 4096 8192)
python=$("$ROOT/scripts/python.sh" --dev)
folder=$ROOT/results/cpu-executor
mkdir -p "$folder"
new=$(mktemp -d)
trap 'rm -r "$new"' EXIT

# A file replaces the one before only when every kernel in it was counted.
count() {
  local name=$1
  shift
  say "Counting: $name"
  (cd "$new" && "$runner" --device cpu --count "$@" --out "$name" >"$name.log") || die "$(cat "$new/$name.log")"
  ! grep -qE '"outcome": ?"(skipped|failed|incorrect|not_supported)"' "$new/$name" || die "$(tail -n 5 "$new/$name.log")"
  mv "$new/$name" "$folder/$name"
}

# 09 and 11 to 13 are not here. Their blocks have a workspace, so samples of blocks can not stand for all.
for size in "${sizes[@]}"; do
  count "counts_$size.json" --kernel '1:*,2:*,3:*,4:*,5:*,6:*,7:*,8:*,10:*' --sizes "$size"
done
# All of their blocks, at a size at which these are not too many.
count counts_2048_whole.json --kernel 9,11,12,13 --sizes 2048
# 64 tiles of chapter 07 in a row of C, and in a square.
count counts_64_tiles.json --kernel 07_warptile_hilbert,07_warptile_hilbert:row_order --sizes 128x16384x64,1024x2048x64
"$python" "$ROOT/scripts/plot.py" "$folder" >&2
PYTHONPATH=$ROOT "$python" -m tools.docs.tables >&2
