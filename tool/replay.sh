#!/bin/bash
# What a change did to the code that comes out: the same few thousand schedules compiled by an earlier revision and by
# the working tree; objects byte for byte, those that differ timed in turns, and what takes longer to build.
#   tool/replay.sh BASE [LIMIT]    status 1: an outcome is another, an answer is wrong, or a kernel is slower than by
#                                  LIMIT (1.03)
# All of it lies in build-replay/: the corpus is made anew by BASE each time, with the tunings of bench/winners.lines.
set -eu
cd "$(dirname "$0")/.."
base=${1:?usage: tool/replay.sh BASE [LIMIT]}
limit=${2:-1.03}
commit=$(git rev-parse --verify "$base^{commit}")
git cat-file -e "$commit:bench/replay.c" 2>/dev/null || { echo "replay: $base has no bench/replay.c" >&2; exit 2; }
out=build-replay
rm -rf $out/source  # what another base had is not this one's
mkdir -p $out/source
git archive "$commit" | tar -x -C $out/source --overwrite
[ -f $out/build/build.ninja ] || cmake -G Ninja -S $out/source -B $out/build -DCMAKE_BUILD_TYPE=RelWithDebInfo >/dev/null
ninja -C $out/build bench_replay >/dev/null
ninja -C build bench_replay >/dev/null
before=$out/build/bench/replay after=build/bench/replay

rm -rf $out/before $out/after $out/before-times $out/after-times
winners=""
[ -f $out/source/bench/winners.lines ] && winners=$out/source/bench/winners.lines
# shellcheck disable=SC2086
$before corpus $out/corpus $winners
$before build $out/corpus $out/before
$after build $out/corpus $out/after
status=0
$after compare $out/before $out/after --limit "$limit" || status=$?
# Times to build: some 200 of them, on one thread, by turns; of three the shortest counts.
every=$(($(wc -l < $out/corpus) / 200 + 1))
for _ in 1 2 3; do
  $before build $out/corpus $out/before-times --every $every --threads 1 >/dev/null
  $after build $out/corpus $out/after-times --every $every --threads 1 >/dev/null
done
$after times $out/before-times $out/after-times
exit $status
