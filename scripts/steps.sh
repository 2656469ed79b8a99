# Steps of a long script, some of which run beside others; sourced behind lib.sh. Nothing of them goes on when the script
# ends, however it does.
# shellcheck shell=bash

steps_passed=0 steps_failed=() steps_skipped=() steps_times=()
steps_done= # a folder in which steps that have passed are noted, and are not taken again
steps_wanted=() # where there are any, the steps alone whose names have one of these words
declare -A steps_jobs=()
steps_folder=$(mktemp -d) || die "There is no room for temporary files: TMPDIR names another folder."

end_steps() {
  local job
  for job in "${steps_jobs[@]}"; do
    kill -TERM -- "-$job" 2>/dev/null || true
  done
  rm -rf "$steps_folder"
}
trap end_steps EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# What git does not know yet, except for what a long run writes itself.
uncommitted() { git status --porcelain -- . ':!tests/record.json' ':!tests/mutants/table.csv' 2>&1; }

# A step's name as that of a file.
step_file() { printf '%s' "${1//[^[:alnum:].-]/_}"; }

passed_before() { [ -n "$steps_done" ] && [ -e "$steps_done/$(step_file "$1")" ]; }

wanted() {
  local word
  [ ${#steps_wanted[@]} -gt 0 ] || return 0
  for word in "${steps_wanted[@]}"; do
    [[ $1 != *"$word"* ]] || return 0
  done
  return 1
}

# start NAME COMMAND...: beside what follows, up to finish NAME. A process group of its own gets the signal that ends it.
start() {
  local name=$1
  shift
  wanted "$name" && ! passed_before "$name" || return 0
  : >"$steps_folder/$(step_file "$name")"
  set -m
  (
    set +e
    TIMEFORMAT='%R %U %S'
    time "$@" >"$steps_folder/$(step_file "$name")" 2>&1
  ) </dev/null 2>"$steps_folder/$(step_file "$name").time" &
  steps_jobs[$name]=$!
  set +m
}

# finish NAME: what it prints, and whether it passed.
finish() {
  local name=$1 file status=0
  wanted "$name" || return 0
  file=$(step_file "$name")
  say
  say "== $name"
  if passed_before "$name"; then
    say "It has passed before."
    steps_passed=$((steps_passed + 1))
    return
  fi
  tail -s 0.2 -n +1 -f --pid="${steps_jobs[$name]}" "$steps_folder/$file" >&2 &
  wait $! || true
  wait "${steps_jobs[$name]}" || status=$?
  unset "steps_jobs[$name]"
  steps_times+=("$(awk -v name="$name" 'END { printf "%5d s  %5d s  %s", $1, $2 + $3, name }' "$steps_folder/$file.time")")
  if [ $status != 0 ]; then
    steps_failed+=("$name")
    return
  fi
  steps_passed=$((steps_passed + 1))
  [ -z "$steps_done" ] || cp "$steps_folder/$file.time" "$steps_done/$file"
}

# step NAME COMMAND...
step() {
  start "$@"
  finish "$1"
}

skip() {
  wanted "$1" || return 0
  say
  say "== $1: skipped, $2"
  steps_skipped+=("$1")
}

# The times and the outcome of all steps; fails where a step failed.
report_steps() {
  local name
  say
  say " wall  processor"
  [ ${#steps_times[@]} = 0 ] || printf '%s\n' "${steps_times[@]}" >&2
  say "$(printf '%5d s           in all' "$SECONDS")"
  say
  for name in "${steps_failed[@]}"; do
    say "FAILED: $name"
  done
  say "$steps_passed passed, ${#steps_failed[@]} failed, ${#steps_skipped[@]} skipped"
  [ ${#steps_failed[@]} = 0 ]
}
