#!/bin/bash
# The kernel of each network that takes longest to build, of those that the untuned choice takes.
#   tool/slow_builds.sh [NETWORK...]    all built-in ones, and YOLOv8n at 320; status 1: one takes more than LIMIT_S (0.5)
set -eu
cd "$(dirname "$0")/.."
limit=${LIMIT_S:-0.5}
build=${BUILD:-build}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
[ $# -gt 0 ] || { mapfile -t all < <("$build/familyseer" list models | awk '{print $1}'); set -- "${all[@]}" yolov8n:size=320; }
status=0
for network; do
  "$build/familyseer" compile "$network" -O1 -o "$out" --log build:1 2> "$out/log" || { cat "$out/log" >&2; exit 1; }
  # "kernel NAME: 0.123 s of 4.560 s in LLVM, ...": the longest stands first
  line=$(grep -m 1 -o 'kernel .* in LLVM' "$out/log") || line="no kernel"
  seconds=$(sed -E 's/.*: ([0-9.]+) s of.*/\1/; t; s/.*/0/' <<< "$line")
  printf '%-24s %s\n' "$network" "$line"
  awk -v s="$seconds" -v l="$limit" 'BEGIN { exit s > l }' || { echo "slow_builds: $network: more than $limit s" >&2; status=1; }
done
exit $status
