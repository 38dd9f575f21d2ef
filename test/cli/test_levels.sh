# A library compiled for an instruction set says so, runs where that is there, and where it is not ends with an error
# that names what is missing, before any of its code runs. The machines are those of qemu's user mode.
# SEER_TEST: timeout=120
. "$(dirname "$0")/lib.sh"
[ "$(uname -m)" = x86_64 ] || { echo "skipped: the levels are those of x86-64"; exit 77; }

for level in "" -v2 -v3 -v4; do
  target="x86_64-linux-gnu"
  [ -z "$level" ] || target="$target -cpu=x86-64$level"
  expect_status 0 "$FAMILYSEER" compile mlp --target "$target" -o "m$level" -O1
done
grep -q '"cpu_features": ""' m/model.json || fail "a bare triple needs something"
expect_status 0 "$FAMILYSEER" info m/model.so
expect_text stdout "nothing beyond the architecture (compiled for x86-64)"
for word in '"cpu": "x86-64-v3"' +avx2 +fma; do grep -qF -- "$word" m-v3/model.json || fail "no $word in m-v3"; done

# Of another architecture, where a runtime for it was built; else refused before anything is compiled.
expect_status 1 "$FAMILYSEER" compile mlp --target riscv64-linux-gnu -o cross -O1
expect_text stderr "no model.so can be linked for riscv64-linux-gnu here"
[ ! -e cross ] || fail "cross was made"
if [ -e "$TEST_BUILD_DIR/aarch64/libseer_rt.a" ]; then
  for form in so obj; do
    expect_status 0 "$FAMILYSEER" compile mlp --target aarch64-linux-gnu -o cross -O1 --emit $form
  done
  for file in model.so model.o; do
    [ "$(od -An -tu2 -j18 -N2 cross/$file)" -eq 183 ] || fail "cross/$file is not for aarch64"
  done
  if [ "$(uname -m)" != aarch64 ]; then
    expect_status 1 "$FAMILYSEER" run cross/model.so -o answer
    expect_text stderr "cross/model.so: a library for aarch64 processors, of which this is none"
  fi
fi
expect_status 1 "$FAMILYSEER" compile mlp --target "x86_64-linux-gnu -cpu=x86-64-v9" -o cross
expect_text stderr "x86-64-v3"

command -v qemu-x86_64 > /dev/null || { echo "skipped: qemu-x86_64 (package qemu-user) is not installed"; exit 77; }
cc -std=c99 -D_GNU_SOURCE -O1 -march=x86-64 -I"$SOURCE/include" "$SOURCE/examples/app.c" \
  "$TEST_BUILD_DIR/libfamilyseer_runtime.so" -Wl,-rpath,"$TEST_BUILD_DIR" -o app || fail "cc"
runs() { # CPU LEVEL
  expect_status 0 qemu-x86_64 -cpu "$1" ./app "m$2/model.so"
  expect_text stdout "'output' begins with -1.6466"
}
lacks() { # CPU LEVEL WORD...
  cpu=$1 level=$2
  shift 2
  expect_status 1 qemu-x86_64 -cpu "$cpu" ./app "m$level/model.so"
  for word in "compiled for x86-64$level" "this processor lacks" "$@"; do expect_text stderr "$word"; done
}
runs qemu64 ""
lacks qemu64 -v2 "sse4.2" "popcnt"
lacks qemu64 -v3 "avx2" "fma"
runs Nehalem -v2
lacks Nehalem -v3 "avx2" "fma"
runs max -v3
lacks max -v4 "lacks avx512bw, avx512cd, avx512dq, avx512f, avx512vl (needed: +avx,"
echo passed
