#!/bin/bash
# make bench: every bench in bench/*.py, in the order of their names.
set -u
cd "$(dirname "$0")/.."
ran=0
failed=0
for bench in bench/bench_*.py; do
  [ -e "$bench" ] || continue
  ran=1
  echo "== $bench"
  tool/python.sh "$bench" || failed=1
done
[ $ran = 1 ] || { echo "make bench: there is no bench/bench_*.py" >&2; exit 1; }
exit $failed
