#!/usr/bin/env bash
# Prints the path of a Python that has what the scripts need: python3 itself, or one in .venv, made where it is missing.
#
#   scripts/python.sh          for charts, comparisons and reports (requirements.txt)
#   scripts/python.sh --dev    for the generated tables and the tests as well (requirements-dev.txt)
#   scripts/python.sh --fleet  with ReFrame, whose program `reframe` is beside it (requirements-fleet.txt)
#   scripts/python.sh --wheel  for the Python package (requirements-wheel.txt)
#   scripts/python.sh --site   for the site, and for the tests of pages in a browser (requirements-site.txt)
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

modules="numpy, pandas"
pypi_alone="vl_convert" # draws charts and reports; Debian has no package of it, and the other scripts go without
requirements="requirements.txt"
packages=(python3 python3-numpy python3-pandas) # Debian's, where PyPI can not be reached
case ${1:-} in
  "") ;;
  --dev)
    modules="$modules, cogapp, ipykernel, jsonschema, matplotlib, nbclient, pytest, ruff, xdist"
    requirements="requirements-dev.txt"
    packages+=(python3-ipykernel python3-jsonschema python3-matplotlib python3-nbclient python3-pytest python3-pytest-xdist)
    ;;
  --fleet)
    modules="$modules, reframe"
    requirements="requirements-fleet.txt"
    ;;
  --wheel)
    modules="build, jaxlib, scikit_build_core"
    pypi_alone="auditwheel"
    requirements="requirements-wheel.txt"
    ;;
  --site)
    modules="$modules, cogapp, jsonschema, pytest, axe_playwright_python, markdown_it, material, playwright"
    requirements="requirements-site.txt"
    packages+=(python3-jsonschema python3-pytest)
    ;;
  *) refuse "usage: scripts/python.sh [--dev | --fleet | --site | --wheel]" ;;
esac

command -v python3 >/dev/null || install_packages python3 python3-venv
command -v python3 >/dev/null || die "python3 (3.10 or newer) is missing"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || die "python3 is older than 3.10: $(python3 --version)"

# has_modules PYTHON MODULES, which a comma separates.
has_modules() { "$1" -c "import $2" 2>/dev/null; }

if has_modules python3 "$modules, $pypi_alone"; then
  python3 -c 'import sys; print(sys.executable)'
  exit
fi

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
  has_modules "$python" "$modules, $pypi_alone" && printf '%s\n' "$wanted" >"$stamp"
}

if [ ! -x "$python" ] || [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
  if ! install_from_pypi; then
    say "That failed. Taking the system's packages instead."
    install_packages "${packages[@]}"
    has_modules /usr/bin/python3 "$modules" || die "Python lacks some of these modules: $modules. scripts/$requirements lists them."
    python=/usr/bin/python3
  fi
fi
printf '%s\n' "$python"
