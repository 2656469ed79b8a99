# Shared by the shell scripts here; sourced, never run. Everything that talks to people goes to stderr.
# shellcheck shell=bash

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# The packages for building and running on Debian and Ubuntu, besides the CUDA Toolkit.
# shellcheck disable=SC2034
BUILD_PACKAGES=(build-essential cmake ninja-build git libbenchmark-dev libfmt-dev nlohmann-json3-dev libcli11-dev
  libgtest-dev libopenblas-dev libboost-context-dev)

say() { printf '%s\n' "$*" >&2; }

die() {
  say "$*"
  exit 1
}

# For a command line that is wrong.
refuse() {
  say "$*"
  exit 2
}

is_installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# Installs those of the given packages that are missing. Where apt is absent, lists them and goes on: they may be there
# under other names, and CMake says what it does not find.
install_packages() {
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    say "This system has no apt. Please install what these Debian packages hold: $*"
    return
  fi
  local missing=() package
  for package in "$@"; do
    is_installed "$package" || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  local as_root=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || die "Please install as root: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  say "Installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq >&2
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

# Puts nvcc on PATH; fails where there is none.
find_nvcc() {
  if ! command -v nvcc >/dev/null && [ -x /usr/local/cuda/bin/nvcc ]; then
    export PATH=/usr/local/cuda/bin:$PATH
  fi
  command -v nvcc >/dev/null
}

# Says how to get nvcc: it comes from NVIDIA's repository, which is the user's to add.
explain_nvcc() {
  local system=debian12
  if [ -r /etc/os-release ]; then
    # shellcheck disable=SC1091
    system=$(. /etc/os-release && printf '%s%s' "$ID" "${VERSION_ID//./}")
  fi
  say "For a GPU: nvcc is missing. The CUDA Toolkit (12.4 or newer) comes from NVIDIA's repository. On this system, as root:"
  say "  wget https://developer.download.nvidia.com/compute/cuda/repos/$system/x86_64/cuda-keyring_1.1-1_all.deb"
  say "  dpkg -i cuda-keyring_1.1-1_all.deb && apt-get update && apt-get install cuda-toolkit"
  say "Other systems: https://developer.nvidia.com/cuda-downloads. Then run this script again."
}

has_gpu() { nvidia-smi -L >/dev/null 2>&1 || [ -e /dev/nvidiactl ]; }

# of_gpu FIELD: what nvidia-smi says of the first GPU.
of_gpu() { nvidia-smi --query-gpu="$1" --format=csv,noheader 2>/dev/null | head -n 1; }

# "nvidia-h200" of the first GPU, "gpu" where it has no name: the folder of its results.
device_slug() {
  local name
  name=$(of_gpu name) || true
  printf '%s' "${name:-gpu}" | tr '[:upper:]' '[:lower:]' | tr -cs '[:alnum:]' '-' | sed 's/^-//; s/-$//'
}

# build_in FOLDER [CMAKE OPTION...]
build_in() {
  local folder=$1
  shift
  local generator=()
  [ -e "$folder/CMakeCache.txt" ] || ! command -v ninja >/dev/null || generator=(-G Ninja)
  cmake -S "$ROOT" -B "$folder" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release "$@" >&2 &&
    cmake --build "$folder" --parallel >&2
}

# CMake's architectures for the GPU in this machine, or nothing where it can not be asked.
native_architecture() {
  local capability
  capability=$(of_gpu compute_cap | tr -d .)
  case $capability in
    90) printf '90a-real' ;;
    [0-9]*) printf '%s-real' "$capability" ;;
  esac
}
