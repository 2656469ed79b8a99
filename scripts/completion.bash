# Completion of the runner's command line in bash. Flags, their words and kernels come from the runner itself.
#
#   source scripts/completion.bash

# _runner_words RUNNER FLAG: the words that may follow the flag.
_runner_words() {
  case $2 in
    --kernel)
      "$1" --list=json | sed -n 's/^ *"id": "\(.*\)",*$/\1/p' | sort -u
      printf '%s\n' all chapters baselines
      compgen -f -X '!*.cu'
      ;;
    --judge)
      compgen -f -X '!*.cu'
      compgen -d
      ;;
    --data) "$1" --help | sed -n '/^Operands/,/^GPUs/s/^  \([a-z0-9_]*\) .*/\1/p' ;;
    --gpu-model) "$1" --help | sed -n '/^GPUs/,/^Flags/s/^  \([a-z0-9]*\) .*/\1/p' ;;
    --l2) printf '%s\n' cold warm ;;
    --time) printf '%s\n' kernel end-to-end ;;
    --device) printf '%s\n' 0 cpu ;;
  esac
}

_runner() {
  local runner=$1 word=${COMP_WORDS[COMP_CWORD]} flag=$3 list="" last
  COMPREPLY=()
  # The word before may be "=" of --flag=value, which bash takes apart.
  if [ "$word" = "=" ]; then
    word=""
  elif [ "$flag" = "=" ]; then
    flag=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  case $flag in
    --out | --json | --trace | --new-kernel | --include)
      mapfile -t COMPREPLY < <(compgen -f -- "$word")
      return
      ;;
  esac
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$("$runner" --help | grep -o -- '--[a-z][a-z0-9-]*' | sort -u)" -- "$word")
    return
  fi
  # Commas separate the items of a list. The items before the last comma stay.
  last=${word##*,}
  list=${word%"$last"}
  mapfile -t COMPREPLY < <(compgen -P "$list" -W "$(_runner_words "$runner" "$flag")" -- "$last")
}

# Colons are part of kernels' names.
COMP_WORDBREAKS=${COMP_WORDBREAKS//:/}
complete -F _runner runner ./runner build/runner
