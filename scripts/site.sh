#!/usr/bin/env bash
# Builds the worklog as a site, which works from its folder, without network or server: open its index.html.
#
#   scripts/site.sh           into build-site/
#   scripts/site.sh -o DIR    into DIR, which is created, or replaced where it is a site
#
# The pages to play with are part of it (docs/interactive.md). Those of a warp's accesses take a runner: build/runner,
# or that in the folder SGEMM_BUILD. Without one, they are left out.
#
# A link or an anchor that leads nowhere is an error, and leaves the folder as it was.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

case "$#:${1:-}" in
  0:) folder=$ROOT/build-site ;;
  2:-o) folder=$2 ;;
  *) folder='' ;;
esac
[ -n "$folder" ] || refuse "usage: scripts/site.sh [-o DIR]"

is_site() { [ -e "$1/search/search_index.js" ]; }
is_empty() { [ -d "$1" ] && [ -z "$(ls -A "$1")" ]; }

[ ! -e "$folder" ] || is_site "$folder" || is_empty "$folder" ||
  refuse "$folder is there and is no site, so it is left alone. Please name another folder, or remove it."
mkdir -p "$(dirname "$folder")"
folder=$(cd "$(dirname "$folder")" && pwd)/$(basename "$folder")

python=$("$ROOT/scripts/python.sh" --site) || die "The site needs MkDocs and Material, which scripts/requirements-site.txt lists."

# Built beside the folder, so that readers of the old site have it until the new one is complete.
new=$(mktemp -d "$folder.new.XXXXXX")
trap 'rm -rf "$new"' EXIT
chmod 755 "$new"
runner=${SGEMM_BUILD:-$ROOT/build}/runner
viewers=("$new/pages")
if [ -x "$runner" ]; then
  viewers+=(--runner "$runner")
else
  say "No page steps through a warp's accesses: there is no $runner"
fi
PYTHONPATH=$ROOT "$python" -m tools.viewers "${viewers[@]}" >&2 || die "The viewers were not made; the messages above say why."
"$python" "$ROOT/scripts/report.py" "$ROOT/results/nvidia-h200" -o "$new/pages/report.html" >&2 ||
  die "The report was not made; the messages above say why."
# With --quiet, warnings would not count for --strict.
SGEMM_SITE_PAGES=$new/pages NO_MKDOCS_2_WARNING=1 "$python" -m mkdocs build --strict --config-file "$ROOT/mkdocs.yml" --site-dir "$new/site" >&2 ||
  die "The site was not built; the messages above say why."
[ ! -e "$folder" ] || mv "$folder" "$new/old"
mv "$new/site" "$folder"
say "The site: $folder/index.html"
