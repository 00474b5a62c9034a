#!/usr/bin/env bash
# must_not_compile.sh SOURCE COMPILER FLAGS...: passes when SOURCE compiles as it stands (so that nothing else is wrong with it) and does not
# with -DMUST_FAIL, for the reason in its line "// expect: REGEX" (one that every compiler's message matches).
set -euo pipefail
source=$1
shift
expected=$(sed -n 's|^// expect: ||p' "$source")
[ -n "$expected" ] || { echo "$source has no line '// expect: REGEX'"; exit 1; }
if ! "$@" -fsyntax-only "$source"; then
  echo "control failed: $source must compile without MUST_FAIL"
  exit 1
fi
if message=$("$@" -fsyntax-only -DMUST_FAIL "$source" 2>&1); then
  echo "$source compiled with MUST_FAIL, and must not"
  exit 1
fi
if ! grep -qE "$expected" <<<"$message"; then
  printf 'refused, but not for the expected reason (%s):\n%s\n' "$expected" "$message"
  exit 1
fi
