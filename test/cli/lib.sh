# Shared by the command-line tests. Each test runs in a folder of its own, removed at the end.
set -eu
SOURCE=${TEST_SOURCE_DIR:-$(pwd)}
FAMILYSEER=${FAMILYSEER:-$SOURCE/build/familyseer}
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
cd "$WORK"
export SEER_DEVICE_LOCK="$WORK/device.lock"  # no other tuner on this machine is waited for

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# expect_status N command... : its output is in $WORK/stdout and $WORK/stderr
expect_status() {
  want=$1
  shift
  status=0
  "$@" > stdout 2> stderr || status=$?
  [ "$status" = "$want" ] || { cat stdout stderr >&2; fail "status $status, not $want: $*"; }
}

# expect_text FILE TEXT
expect_text() {
  grep -qF -- "$2" "$1" || { cat "$1" >&2; fail "'$2' is not in $1"; }
}
