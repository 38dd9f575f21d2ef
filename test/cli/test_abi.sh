# Versions beside each other: the library that the first version compiled (test/data/abi) under today's programs,
# and today's library under the first version's loader and example.
# SEER_TEST: timeout=60
. "$(dirname "$0")/lib.sh"
command -v cc > /dev/null || exit 77
stored=$SOURCE/test/data/abi

# build NAME INCLUDE FILE... : a program by the header in INCLUDE
build() {
  name=$1 include=$2
  shift 2
  # shellcheck disable=SC2086
  cc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror ${TEST_CFLAGS:-} -I"$include" "$@" -o "$name" -ldl -lm -lpthread ||
    fail "$name does not build"
}
build old_app "$stored" "$stored/app.c" "$stored/load.c"
build new_app "$SOURCE/include" "$SOURCE/examples/app.c" -L"$TEST_BUILD_DIR" -lfamilyseer_runtime -Wl,-rpath,"$TEST_BUILD_DIR"
begins() { sed -n "s/.*; '\(.*\)' begins with \(.*\)/\1 \2/p" stdout; }

# Today's library under both.
expect_status 0 "$FAMILYSEER" compile "$stored/model.onnx" --input-shapes x:4x20 --input-shapes x:2x20 -o new -O1
for app in new_app old_app; do
  expect_status 0 "./$app" new/model.so
  [ "$(begins)" = "y 0.214644" ] || { cat stdout; fail "$app of today's library"; }
done

# The first version's library under today's programs.
if [ "$(uname -m)" = x86_64 ]; then
  for app in new_app old_app; do
    expect_status 0 "./$app" "$stored/model.so"
    [ "$(begins)" = "y 0.214644" ] || { cat stdout; fail "$app of the first version's library"; }
  done
  for rows in 4 2; do
    expect_status 0 "$FAMILYSEER" run new --input-shapes "x:${rows}x20" --seed 3 -o "y$rows"
    expect_status 0 "$FAMILYSEER" run "$stored" --input-shapes "x:${rows}x20" --seed 3 --expect "y=y$rows/y.npy" \
      --expect "where=y$rows/where.npy"
    expect_text stdout "y  "
  done
  for command in "info --json" "bench --profile --iterations 3"; do
    # shellcheck disable=SC2086
    expect_status 0 "$FAMILYSEER" $command "$stored"
  done
  expect_status 0 "$FAMILYSEER" verify "$stored" "$stored/model.onnx"
fi

# A table that is too small, or of another interface, is refused with both numbers.
cat > small.c << 'C'
#include <seer/runtime.h>
static const seer_model_api api = {.struct_size = offsetof(seer_model_api, selected), .abi_version = VERSION};
const seer_model_api *seer_model_v1(void);
const seer_model_api *seer_model_v1(void) { return &api; }
C
for version in 1 2; do
  cc -std=c11 -DVERSION=$version -I"$SOURCE/include" -shared -fPIC small.c -o small.so || fail "small.c"
  expect_status 1 ./new_app ./small.so
  expect_text stderr "interface $version with a table of "
  expect_text stderr "must be 1 with at least 216"
done
echo passed
