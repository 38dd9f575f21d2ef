#!/bin/bash
# ThreadSanitizer over what has threads: constants, the pool, sessions, the tuner and its workers, a tuning of mlp whose
# library then runs on two threads, and a fleet: a tuner and workers whose broker, connections and fellows are lost.
# tool/check_threads.sh
set -u
cd "$(dirname "$0")/.."
export TSAN_OPTIONS=suppressions=$PWD/tool/tsan.txt
failed=""
make BUILD=build-tsan SANITIZER=thread all || exit 1
ctest --test-dir build-tsan --output-on-failure -R "test_(runtime|measure|record|search|choose|tune|base)_|test_code_constant" -LE "full" || failed="$failed tests"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
seer=build-tsan/familyseer
"$seer" tune mlp --threads 2 --time-budget 60s --records "$work/records.sqlite" -o "$work/mlp" --seed 1 2>&1 | tee "$work/log"
[ "${PIPESTATUS[0]}" = 0 ] || failed="$failed tune"
"$seer" verify "$work/mlp/model.so" mlp 2>&1 | tee -a "$work/log"
[ "${PIPESTATUS[0]}" = 0 ] || failed="$failed verify"
"$seer" bench "$work/mlp/model.so" --threads 2 2>&1 | tee -a "$work/log"
[ "${PIPESTATUS[0]}" = 0 ] || failed="$failed bench"
! grep -q "WARNING: ThreadSanitizer" "$work/log" || failed="$failed reports"

# Workers that the test kills say nothing at their end: what was seen of any process is in a file of its own.
for test in test/cli/test_fleet*.py; do
  TSAN_OPTIONS="$TSAN_OPTIONS log_path=$work/tsan" FAMILYSEER=$PWD/$seer tool/python.sh $test || failed="$failed $test"
done
cat "$work"/tsan.* 2>/dev/null && failed="$failed fleet-reports"

if [ -n "$failed" ]; then
  echo "check-threads: failed:$failed"
  exit 1
fi
echo "check-threads: all passed"
