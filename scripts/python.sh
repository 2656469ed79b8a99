#!/usr/bin/env bash
# Prints the path of a Python that has what the scripts need: one in .venv, which is made where it is missing.
#
#   scripts/python.sh          for charts, comparisons and reports (requirements.txt)
#   scripts/python.sh --dev    for the generated tables and the tests as well (requirements-dev.txt)
#   scripts/python.sh --fleet  with ReFrame, whose program `reframe` is beside it (requirements-fleet.txt)
#   scripts/python.sh --wheel  for the Python package (requirements-wheel.txt)
#   scripts/python.sh --site   for the site, and for the tests of pages in a browser (requirements-site.txt)
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

case ${1:-} in
  "" | --dev | --fleet | --site | --wheel) requirements=requirements${1:+${1#-}}.txt ;;
  *) refuse "usage: scripts/python.sh [--dev | --fleet | --site | --wheel]" ;;
esac

command -v python3 >/dev/null || install_packages python3 python3-venv
command -v python3 >/dev/null || die "python3 (3.10 or newer) is missing"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || die "python3 is older than 3.10: $(python3 --version)"

venv=$ROOT/.venv
python=$venv/bin/python
stamp=$venv/installed-$requirements
wanted=$(cat "$ROOT"/scripts/requirements*.txt | sha256sum | cut -d ' ' -f 1)

install_from_pypi() {
  # Debian keeps the part of venv that brings pip in a package of its own.
  python3 -c 'import ensurepip' 2>/dev/null || install_packages python3-venv
  say "Installing scripts/$requirements into .venv"
  [ -x "$python" ] || python3 -m venv --clear "$venv" >&2 || return
  "$python" -m pip install --quiet --disable-pip-version-check -r "$ROOT/scripts/$requirements" >&2 || return
  printf '%s\n' "$wanted" >"$stamp"
}

if [ ! -x "$python" ] || [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
  if ! install_from_pypi; then
    [ $# = 0 ] || die "That failed, and scripts/$requirements lists what Debian has no packages of."
    say "That failed. Taking the system's packages instead, which draw no charts."
    install_packages python3 python3-numpy python3-pandas
    python=/usr/bin/python3
  fi
fi
printf '%s\n' "$python"
