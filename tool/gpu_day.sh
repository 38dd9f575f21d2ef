#!/bin/bash
# What make gpu-day runs: makes the folder build/portable/gpu-day (and an archive of it), which is all that a machine with
# a GPU needs besides its driver and Python, and runs it here.   tool/gpu_day.sh [BUILD] [SECONDS]; 0: the
#   archive in place of a run; none: the folder alone
#   There:   tar xf gpu-day-x86_64.tar.xz && python3 gpu-day/day.py -o day.json      then: bench/gpu/page.py day.json
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
seconds=${2:-1500}
tool/portable.sh "$build" --folder
cmake --build "$build" --target portable_items_device peers_cuda >"$build/portable.log" || { tail -20 "$build/portable.log" >&2; exit 1; }
name=familyseer-$(uname -m)
day=$build/portable/gpu-day
rm -rf "$day" "$build/portable/gpu-day-$(uname -m).tar.xz"
cp -r "$build/portable/$name" "$day"
cp "$build/portable/programs/items_device" "$build/bench/peers_cuda" bench/gpu/day/*.py bench/gpu/networks.py bench/gpu/facts.cu "$day/"
cmocka=$(ldd "$build/portable/programs/items_device" | awk '$1 ~ /^libcmocka/ { print $1, $3 }')
install -m 644 "${cmocka#* }" "$day/lib/${cmocka%% *}"
strip --strip-unneeded "$day/lib/${cmocka%% *}" "$day/peers_cuda"
if [ "$seconds" = none ]; then exit 0; fi
if [ "$seconds" != 0 ]; then exec python3 "$day/day.py" -o "$build/gpu-day.json" --seconds "$seconds"; fi
tar -C "$build/portable" --owner=0 --group=0 --sort=name -c gpu-day | xz -T0 -6 >"$build/portable/gpu-day-$(uname -m).tar.xz"
du -bh "$build/portable/gpu-day-$(uname -m).tar.xz"
