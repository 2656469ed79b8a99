#!/bin/sh
# Stands for Nsight Compute's ncu in profile_test.cpp. It notes the case and its own arguments in the file "runs" beside
# it, and starts nothing: the program's record and the log are the files "record" and "csv" there. A file "said" is
# printed, "unknown" names a metric that is rejected, and with a file "sleep" it takes long and then leaves "awake".
cd "$(dirname "$0")" || exit
if [ "$1" = --version ]; then
  echo "NVIDIA (R) Nsight Compute Command Line Profiler"
  echo "Version 2025.3.1.0 (build 1)"
  exit
fi
echo "$SGEMM_PROFILED_CASE" "$@" >>runs
while [ $# -gt 0 ]; do
  case $1 in
    --log-file) log=$2 ;;
    --metrics) metrics=$2 ;;
  esac
  shift
done
if [ -f sleep ]; then
  sleep 600
  touch awake
fi
[ ! -f said ] || cat said
if [ -f unknown ]; then
  unknown=$(cat unknown)
  case ,$metrics, in
    *,"$unknown",*)
      echo "==ERROR== Failed to find metric $unknown" >"$log"
      exit 1
      ;;
  esac
fi
[ ! -f record ] || cp record "$SGEMM_PROFILED_RECORD"
[ ! -f csv ] || cp csv "$log"
