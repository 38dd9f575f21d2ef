#!/bin/bash
# Builds the fuzzers with libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer, and runs them, as many at a time
# as there are processors. What each printed is in build-fuzz/log; what it found too.
#   tool/fuzz.sh SECONDS [FUZZER...]   (default: all of test/fuzz; `onnx` is fuzz_onnx)
set -u
cd "$(dirname "$0")/.."
seconds=${1:?usage: tool/fuzz.sh SECONDS [FUZZER...]}
shift
export LSAN_OPTIONS=suppressions=$PWD/tool/lsan.txt FUZZ_SECONDS=$seconds

cmake -G Ninja -S . -B build-fuzz -DCMAKE_C_COMPILER=clang -DFUZZ=ON -DSANITIZER=address,undefined >/dev/null &&
  ninja -C build-fuzz || { echo "fuzz: failed: build"; exit 1; }
mkdir -p build-fuzz/corpus/fuzz_onnx build-fuzz/log
tool/python.sh test/fuzz/make_seeds.py build-fuzz/corpus/fuzz_onnx || { echo "fuzz: failed: seeds"; exit 1; }
[ $# -gt 0 ] || set -- $(cd test/fuzz && ls fuzz_*.c | sed 's/^fuzz_//; s/\.c$//')

run_one() { # NAME
  local own=build-fuzz/corpus/fuzz_$1 kept=test/fuzz/corpus/$1 log=build-fuzz/log/$1 status
  mkdir -p "$own"
  [ -d "$kept" ] || kept=""
  # shellcheck disable=SC2086
  build-fuzz/test/"fuzz_$1" -max_total_time="$FUZZ_SECONDS" -rss_limit_mb=2048 -timeout=10 -print_final_stats=1 \
    -artifact_prefix="build-fuzz/log/$1-" "$own" $kept >"$log" 2>&1
  status=$?
  if [ $status = 0 ]; then
    echo "fuzz_$1: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") runs in $FUZZ_SECONDS s, clean"
  else
    tail -60 "$log"
    echo "fuzz_$1: failed with status $status: build-fuzz/log/$1"
    return 1
  fi
}
export -f run_one
printf '%s\n' "$@" | xargs -P "$(nproc)" -I{} bash -c 'run_one {}' || { echo "fuzz: failed"; exit 1; }
