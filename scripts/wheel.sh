#!/usr/bin/env bash
# Builds the Python package with libsgemm and its drop-in for cuBLAS, for all Linux systems with glibc 2.28 or newer:
# dist/sgemm-VERSION-py3-none-manylinux_2_28_x86_64.whl, and the sources as dist/sgemm-VERSION.tar.gz.
#
#   scripts/wheel.sh                        code for every architecture that a chapter has code for
#   scripts/wheel.sh --architectures LIST   code for these, as CMake names them: "80-real;90a-real"
#   scripts/wheel.sh --build FOLDER         the libraries of this build folder, configured with -DSGEMM_GLIBC=2.28
#   scripts/wheel.sh --out FOLDER           elsewhere than in dist
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

GLIBC=2.28
PLATFORM=manylinux_${GLIBC/./_}_$(uname -m)

build='' out=dist options=()
while [ $# -gt 0 ]; do
  case $1 in
    --architectures) options+=("-DCMAKE_CUDA_ARCHITECTURES=$2") ;;
    --build) build=$(realpath "$2") ;;
    --out) out=$2 ;;
    *)
      sed -n '2,/^set/ s/^# \{0,1\}//p' "$0" >&2
      exit 2
      ;;
  esac
  shift 2
done

python=$(scripts/python.sh --wheel)
if [ -z "$build" ]; then
  if ! find_nvcc; then
    explain_nvcc
    exit 1
  fi
  build=$ROOT/build-wheel
  build_in "$build" -DSGEMM_LIBRARY_ONLY=ON -DSGEMM_LINE_INFO=OFF -DSGEMM_GLIBC=$GLIBC \
    -DPython3_EXECUTABLE="$python" "${options[@]}"
fi

# auditwheel refuses to name the platform if the libraries need anything newer, or other libraries.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$python" -m build --no-isolation --wheel --outdir "$scratch" -Cbuild-dir="$scratch/build" \
  -Ccmake.source-dir=library/python/prebuilt -Ccmake.define.SGEMM_BUILD="$build" . >&2
PATH=${python%/*}:$PATH "$python" -m auditwheel repair --plat "$PLATFORM" --only-plat --wheel-dir "$out" "$scratch"/*.whl >&2
"$python" -m build --no-isolation --sdist --outdir "$out" . >&2
ls -l "$out"
