#!/bin/bash
# What make check-safety runs: damaged and hostile input in full, by the plain build, which is held to time and memory
# (test/safety/limits.py), then by one with AddressSanitizer and UndefinedBehaviorSanitizer. doc/safety.md has the figures.
#   tool/check_safety.sh [plain|sanitized]
set -u
cd "$(dirname "$0")/.."
seed=${SAFETY_SEED:-1}
export LSAN_OPTIONS=suppressions=$PWD/tool/lsan.txt
failed=""

campaign() { # LABEL COMMAND...
  local label=$1
  shift
  echo
  echo "== $label: $*"
  tool/python.sh "$@" || failed="$failed '$label'"
}

campaigns() { # BUILD
  export FAMILYSEER=$PWD/$1/familyseer TEST_BUILD_DIR=$PWD/$1 TEST_SOURCE_DIR=$PWD
  campaign "$1, files built to blow up" test/safety/test_bombs.py --table
  campaign "$1, damaged ONNX files" test/safety/damaged.py --n 10000 --seed "$seed" --keep "out/safety-$1"
  campaign "$1, damaged records" test/safety/records.py --lines 1000 --databases 200 --seed "$seed"
  campaign "$1, damaged weights and plans" test/safety/artifacts.py --n 500 --seed "$seed"
}

[ $# -gt 0 ] || set -- plain sanitized
for kind in "$@"; do
  case $kind in
    plain) make all && campaigns build ;;
    sanitized) make BUILD=build-asan SANITIZER=address,undefined all && campaigns build-asan ;;
    *) echo "tool/check_safety.sh: '$kind' is neither plain nor sanitized" >&2; exit 2 ;;
  esac || failed="$failed '$kind build'"
done
echo
[ -z "$failed" ] || { echo "check-safety: failed:$failed"; exit 1; }
echo "check-safety: all passed"
