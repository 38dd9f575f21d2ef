#!/bin/bash
# make lint: include order, sizes, tested names, exports without a caller, circles of files, format, generated text. Under a minute; clang-tidy runs in check-full.
set -u
cd "$(dirname "$0")/.."
build=${1:-build}
failed=0
step() {
  local name=$1
  shift
  if ! "$@"; then
    echo "lint: $name failed" >&2
    failed=1
  fi
}
format() {
  local bad
  tool/sources.sh | xargs python3 tool/wrap.py --check >&2 || return 1
  bad=$(tool/sources.sh | xargs -P 2 -n 40 clang-format-14 --dry-run -Werror 2>&1 | grep -o '^[^:]*:[0-9]*:[0-9]*: error' |
    cut -d: -f1 | sort | uniq -c)
  [ -z "$bad" ] || { echo "not as clang-format 14 would write it (run make format):"; echo "$bad"; return 1; } >&2
}
options() {
  "$build/tool_options" | diff -u doc/options.md - || { echo "doc/options.md is stale: run make docs" >&2; return 1; }
}
isa() {
  "$build/tool_isa" | diff -u src/setup/isa.inc - || { echo "src/setup/isa.inc is stale: run make docs" >&2; return 1; }
}
faults() {
  python3 test/faults/run.py --list-only >/dev/null
}
step layers tool/layers.sh
step size tool/size.sh
step names tool/names.sh
step exports tool/exports.py
step circles tool/circles.py "$build"
step format format
step options options
step isa isa
step faults faults
exit $failed
