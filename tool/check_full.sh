#!/bin/bash
# What make check-full adds to make check: the long tests, everything under sanitizers, the fuzzers, clang-tidy,
# cppcheck.   tool/check_full.sh [SECONDS a fuzzer]
set -u
cd "$(dirname "$0")/.."
seconds=${1:-60}
failed=""
note() { echo; echo "== $1"; }

note "long tests"
ctest --test-dir build --output-on-failure -L full || failed="$failed long-tests"
# Planted faults in all weights, three seeds of random schedules.
CHECK_FULL=1 ctest --test-dir build --output-on-failure -L peer --timeout 3600 || failed="$failed peers"

note "clang-tidy"
tool/sources.sh | grep '^src/.*\.c$' | xargs -P "$(nproc)" -n 4 clang-tidy-14 -p build --quiet 2>/dev/null || failed="$failed clang-tidy"

note "cppcheck"
cppcheck --quiet --std=c11 --enable=warning,portability --inline-suppr --suppressions-list=tool/cppcheck.txt \
  --error-exitcode=1 -Isrc -Iinclude src || failed="$failed cppcheck"

note "AddressSanitizer and UndefinedBehaviorSanitizer"
export LSAN_OPTIONS=suppressions=$PWD/tool/lsan.txt
make BUILD=build-asan SANITIZER=address,undefined all && ctest --test-dir build-asan --output-on-failure -j 2 -LE "peer|serial|full" ||
  failed="$failed sanitizers"

note "ThreadSanitizer"
tool/check_threads.sh || failed="$failed thread-sanitizer"

note "fuzzers, $seconds s each"
tool/fuzz.sh "$seconds" || failed="$failed fuzzers"

echo
if [ -n "$failed" ]; then
  echo "check-full: failed:$failed"
  exit 1
fi
echo "check-full: all passed"
