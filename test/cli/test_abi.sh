# Versions beside each other: the library that the first version compiled (test/data/abi) under today's programs,
# and today's library under the first version's loader and example.
# SEER_TEST: timeout=300
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
build new_app "$SOURCE/include" "$SOURCE/test/data/both.c" -L"$TEST_BUILD_DIR" -lfamilyseer_runtime -Wl,-rpath,"$TEST_BUILD_DIR"
build example "$SOURCE/include" "$SOURCE/examples/app.c" -L"$TEST_BUILD_DIR" -lfamilyseer_runtime -Wl,-rpath,"$TEST_BUILD_DIR"
begins() { sed -n "s/.*; '\(.*\)' begins with \(.*\)/\1 \2/p" stdout; }

# Today's library under both, for a machine so slow that its steps have several parts: a parallel-for is asked.
expect_status 0 "$SOURCE/tool/on_target.sh" odd/slow "$FAMILYSEER" compile "$stored/model.onnx" --input-shapes x:4x20 --input-shapes x:2x20 -o new -O1
for app in new_app old_app example; do
  expect_status 0 "./$app" new/model.so
  [ "$(begins)" = "y 0.214644" ] || { cat stdout; fail "$app of today's library"; }
done

# The first version's library under today's programs.
if [ "$(uname -m)" = x86_64 ]; then
  for app in new_app old_app; do
    expect_status 0 "./$app" "$stored/model.so"
    [ "$(begins)" = "y 0.214644" ] || { cat stdout; fail "$app of the first version's library"; }
  done
  expect_status 1 ./example "$stored/model.so"
  expect_text stderr "unsupported: the model was compiled by an earlier version"
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

# A pool that one library made serves the other, of whatever version; a wrapped one is looked after by today's.
cat > pools.c << 'C'
#include <seer/runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static uint32_t wrong_thread;
static void in_turn(void *user, uint32_t n_parts, seer_parallel_body body, void *arg) {
  (void)user;
  for (uint32_t i = 0; i < n_parts; i++) body(arg, i, wrong_thread);
}
static int answer(const seer_model_api *api, seer_pool *pool, float *y, char *message) {
  static float x[80];
  static int64_t where[2 * 120];
  seer_model *model;
  seer_session *session;
  for (int i = 0; i < 80; i++) x[i] = (float)(i % 17) / 17;
  if (api->open(NULL, NULL, 0, 0, &model, message, 500)) return 9;
  if (api->session_create(model, pool, &session, message, 500)) return 9;
  if (api->bind_input(session, 0, x) || api->bind_output(session, 0, y) || api->bind_output(session, 1, where)) return 9;
  int code = SEER_API_HAS(api, session_run) ? (int)api->session_run(session, message, 500) : (int)api->run(session);
  api->session_destroy(session);
  api->close(model);
  return code;
}
int main(int argc, char **argv) {
  char message[500] = "";
  void *library[2];
  const seer_model_api *api[2];
  for (int i = 0; i < 2; i++)
    if (argc != 3 || seer_model_load(argv[1 + i], &library[i], &api[i], message, sizeof message)) return printf("%s\n", message), 1;
  for (int made = 0; made < 2; made++)
    for (int used = 0; used < 2; used++)
      for (int wrapped = 0; wrapped < 2; wrapped++) {
        seer_pool *pool = wrapped ? api[made]->pool_wrap(in_turn, NULL, 2) : api[made]->pool_create(3, 0);
        float y[24] = {0};
        for (int k = 0; k < 10; k++)
          if (answer(api[used], pool, y, message) || y[0] < 0.2146f || y[0] > 0.2147f)
            return printf("made by %d, used by %d: %s %g\n", made, used, message, (double)y[0]), 1;
        wrong_thread = 2;
        if (wrapped && used == 1 && (answer(api[1], pool, y, message) != SEER_RT_INVALID || !strstr(message, "thread 2 of 2")))
          return printf("made by %d: %s\n", made, message), 1;
        wrong_thread = 0;
        api[made]->pool_destroy(pool);
      }
  printf("well\n");
  return 0;
}
C
build pools "$SOURCE/include" pools.c -L"$TEST_BUILD_DIR" -lfamilyseer_runtime -Wl,-rpath,"$TEST_BUILD_DIR"
if [ "$(uname -m)" = x86_64 ]; then
  expect_status 0 ./pools "$stored/model.so" new/model.so
  expect_text stdout "well"
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
