#!/bin/bash
# The quick suite, and the tests of what is chosen, under made-up machines: tool/quick_on_targets.sh [NAME...], default all
# of test/targets. Prints what failed and ctest's closing line for each; status 1 if anything failed. BUILD names the folder.
set -u
cd "$(dirname "$0")/.."
build=${BUILD:-build}
[ $# -gt 0 ] || set -- $(cd test/targets && ls *.target | sed 's/\.target$//')
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
for name in "$@"; do
  start=$SECONDS
  others=$(cd test/targets && ls *.target | grep -v "^$name\.target$" | sed 's/\.target$//' | paste -sd '|')
  tool/on_target.sh "$name" ctest --test-dir "$build" --output-on-failure -j 2 -L 'quick|target' -LE full \
    -E "@($others)\$" >"$log" 2>&1 ||
    { status=1; cat "$log"; }
  echo "$name: $(grep 'tests passed' "$log" || tail -1 "$log") ($((SECONDS - start)) s)"
done
exit $status
