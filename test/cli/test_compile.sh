# compile, info, run, bench, verify on the built-in mlp: files, answers, errors, byte-identical repeats.
# SEER_TEST: timeout=120
. "$(dirname "$0")/lib.sh"

expect_status 0 "$FAMILYSEER" compile mlp -o a -O1
for f in model.so model.h model.json weights.bin; do [ -s "a/$f" ] || fail "a/$f is missing"; done
[ "$(ls -A a | wc -l)" = 4 ] || fail "something else was left in a: $(ls -A a)"

# The same input gives the same bytes, in another folder and on another day.
sleep 1.1
expect_status 0 "$FAMILYSEER" compile mlp -o deep/er/b -O1
for f in model.so model.h model.json weights.bin; do cmp "a/$f" "deep/er/b/$f" || fail "$f differs"; done
strings -a a/model.so | grep -qF "$WORK" && fail "model.so holds a path"
strings -a a/model.so | grep -qF "$SOURCE" && fail "model.so holds a path of the sources"

# Exactly one symbol out, only libc in (by the names that it had before glibc 2.34 put it into one file).
nm -D --defined-only a/model.so > symbols
[ "$(awk '{print $3}' symbols)" = seer_model_v1 ] || { cat symbols; fail "exports"; }
# Kernels carry their tasks' names, for profilers and debuggers.
nm a/model.so | grep -q ' t k_gemm_[0-9a-z_]*_p0$' || { nm a/model.so; fail "kernels without names"; }
readelf -d a/model.so | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | sort | tr '\n' ' ' > needed
[ "$(cat needed)" = "libc.so.6 libdl.so.2 libpthread.so.0 " ] || { cat needed; fail "needs something else than libc"; }

expect_status 0 "$FAMILYSEER" info a/model.so
expect_text stdout "input f32[1,784]"
expect_text stdout "output f32[1,10]"
expect_status 0 "$FAMILYSEER" info a --json
expect_text stdout '"cpu_features"'
expect_status 0 "$FAMILYSEER" info mlp
expect_text stdout "Gemm"

# Outputs as files; -O0 and -O1, 1 and 2 threads agree; a wrong expectation is status 1.
expect_status 0 "$FAMILYSEER" run a/model.so --seed 5 -o y --threads 1
[ -s y/output.npy ] || fail "y/output.npy is missing"
expect_status 0 "$FAMILYSEER" compile mlp -o c -O0 --log build:1
grep -Eq "kernel fc[0-9]: [0-9.]+ s of [0-9.]+ s in LLVM" stderr || { cat stderr; fail "the slowest kernels are not named"; }
expect_status 0 "$FAMILYSEER" run c --seed 5 --threads 2 --expect output=y/output.npy --rtol 1e-5
expect_text stdout "ok"
expect_status 1 "$FAMILYSEER" run a --seed 6 --expect output=y/output.npy
expect_text stdout "DIFFERS"
expect_status 0 "$FAMILYSEER" run a --fill ones --json
expect_text stdout '"argmax"'
expect_status 0 "$FAMILYSEER" verify a/model.so mlp
expect_text stdout "ok"

# Every thread count gives the same bytes.
expect_status 0 "$FAMILYSEER" run a --seed 5 -o y3 --threads 3
cmp y/output.npy y3/output.npy || fail "threads change the answer"

expect_status 0 "$FAMILYSEER" bench a --duration 50ms --iterations 5 --json
for key in min_ms median_ms mean_ms p90_ms p95_ms p99_ms stddev_ms '"n"' threads; do expect_text stdout "$key"; done
expect_status 0 "$FAMILYSEER" bench a --duration 50ms --profile --threads 1
expect_text stdout "GFLOP/s"
expect_text stdout "fc1"
expect_status 0 "$FAMILYSEER" bench a --compare c --duration 50ms
expect_text stdout "ratio"
# Three at the same time, each with a thread and at least five runs.
expect_status 0 "$FAMILYSEER" bench a --streams 3 --threads 4 --duration 50ms --iterations 5 --json
python3 -c 'import json, sys
d = json.load(sys.stdin)
sys.exit(not (d["streams"] == 3 and d["threads"] == 1 and d["n"] >= 15 and d["throughput_per_s"] > 0))' < stdout ||
  fail "what three streams say: $(cat stdout)"
expect_status 0 "$FAMILYSEER" bench a --streams 3 --threads 6 --duration 50ms
expect_text stdout "3 streams of 2 threads each"
expect_status 2 "$FAMILYSEER" bench a --streams 3 --threads 2
expect_text stderr "needs a thread each"
expect_status 2 "$FAMILYSEER" bench a --streams 2 --compare c
expect_status 2 "$FAMILYSEER" bench a --streams 2 --profile

# --dump: every form of every kernel, and nothing without it; the first form is read again by opt.
expect_status 0 "$FAMILYSEER" compile mlp -o dumped -O1 --dump all --dump-dir forms
for kind in task sketch loop tile feature llvm asm; do
  [ "$(ls forms | grep -c "[.]$kind\$")" = 3 ] || fail "--dump: $(ls forms | tr '\n' ' ')"
done
expect_text forms/000_task0_fc1.task "dag gemm {"
expect_text forms/000_task0_fc1.sketch "(this one)"
expect_text forms/000_task0_fc1.loop "loop gemm {"
[ "$(head -1 forms/000_task0_fc1.feature | tr ',' '\n' | wc -l)" = "$(sed -n 2p forms/000_task0_fc1.feature | tr ',' '\n' | wc -l)" ] || fail "names and numbers of features"
expect_text forms/000_task0_fc1.tile "as lanes"
expect_text forms/000_task0_fc1.llvm "define void @kernel_p0"
expect_text forms/000_task0_fc1.asm "kernel_p0"
expect_status 0 "$FAMILYSEER" opt forms/000_task0_fc1.task --dump loop,asm --dump-dir forms2
[ "$(ls forms2 | tr '\n' ' ')" = "gemm.asm gemm.loop " ] || fail "opt --dump: $(ls forms2)"
expect_status 0 "$FAMILYSEER" opt forms/000_task0_fc1.task
diff stdout forms/000_task0_fc1.task || fail "a dumped task is not what opt prints"
[ ! -e dump ] || fail "a dump nobody asked for"

# --emit obj: one object that a program links and calls; it exports its entry alone, and the answers are the library's.
cat > main.c <<'END'
#include <seer/runtime.h>
#include <stdio.h>
int main(int argc, char **argv) {
  static float x[784], y[10];
  char message[256] = "";
  const seer_model_api *api = seer_model_v1();
  seer_model *model;
  seer_session *session;
  for (int i = 0; i < 784; i++) x[i] = 1;
  if (api->open(argc > 1 ? argv[1] : NULL, NULL, 0, 1, &model, message, sizeof message)) return puts(message), 1;
  seer_pool *pool = api->pool_create(2, 0);
  if (api->session_create(model, pool, &session, message, sizeof message)) return puts(message), 1;
  if (api->bind_input(session, 0, x) || api->bind_output(session, 0, y) || api->run(session)) return 2;
  fwrite(y, sizeof y, 1, stdout);
  api->session_destroy(session);
  api->pool_destroy(pool);
  api->close(model);
  return 0;
}
END
expect_status 0 "$FAMILYSEER" compile mlp -o object -O1 --emit obj
expect_status 0 "$FAMILYSEER" compile mlp -o object2 -O1 --emit obj
for f in model.o model.h model.json weights.bin; do cmp "object/$f" "object2/$f" || fail "$f differs"; done
[ "$(ls -A object | wc -l)" = 4 ] || fail "something else was left in object: $(ls -A object)"
strings -a object/model.o | grep -qF "$WORK" && fail "model.o holds a path"
[ "$(nm --defined-only -g object/model.o | awk '{print $3}')" = seer_model_v1 ] || { nm -g object/model.o; fail "model.o exports"; }
cc -I "$SOURCE/include" main.c object/model.o -o object/app -pthread -ldl -lm || fail "model.o does not link"
object/app > app.raw || fail "the linked program ended with $?"
object/app "$WORK/a/weights.bin" > app2.raw || fail "weights elsewhere: $?"
expect_status 0 "$FAMILYSEER" run a --fill ones -o ones
tail -c 40 ones/output.npy | cmp - app.raw || fail "model.o answers something else than model.so"
cmp app.raw app2.raw || fail "the same weights elsewhere give another answer"

# What is wrong is said.
expect_status 1 "$FAMILYSEER" run a -i nope=y/output.npy
expect_text stderr "it has 'input'"
expect_status 1 "$FAMILYSEER" run a -i input=y/output.npy
expect_text stderr "must be 1x784 of f32"
expect_status 2 "$FAMILYSEER" run a -i input
expect_status 1 "$FAMILYSEER" run a -i input=missing.npy
expect_status 1 "$FAMILYSEER" run missing.so
expect_status 1 "$FAMILYSEER" run y/output.npy
expect_status 2 "$FAMILYSEER" compile mlp
expect_status 1 "$FAMILYSEER" compile no_such_network -o d
[ ! -e d ] || fail "d was made"
cp -r a e
printf 'x' | dd of=e/weights.bin bs=1 seek=5000 conv=notrunc 2> /dev/null
expect_status 0 "$FAMILYSEER" info e
expect_status 1 "$FAMILYSEER" info e --verify 1
expect_text stderr "damaged"
truncate -s 1000 e/weights.bin
expect_status 1 "$FAMILYSEER" run e
expect_text stderr "cut short"
cp c/weights.bin e/weights.bin
rm e/weights.bin
expect_status 1 "$FAMILYSEER" run e
expect_text stderr "weights.bin"

# The header compiles as C and C++, the example runs.
if command -v cc > /dev/null && [ -f "${TEST_BUILD_DIR:-}/libseer_runtime.a" ]; then
  printf '#include "model.h"\nint main(void){return MLP_INPUT_INPUT_ELEMS == 784 ? 0 : 1;}\n' > t.c
  cc -Wall -Wextra -Werror -I"$SOURCE/include" -Ia t.c -o t && ./t || fail "model.h"
  cc -O1 ${TEST_CFLAGS:-} -I"$SOURCE/include" "$SOURCE/examples/app.c" "$TEST_BUILD_DIR/libseer_runtime.a" -ldl -lpthread -lm -o app
  expect_status 0 ./app a/model.so
  expect_text stdout "'output' begins with"
  # A program that links the model itself.
  printf '#include "model.h"\n#include <stdio.h>\nint main(void){puts(seer_model_v1()->abi_version==1?"linked":"");return 0;}\n' > u.c
  cc -I"$SOURCE/include" -Ia u.c a/model.so -Wl,-rpath,"$WORK/a" -o u
  expect_status 0 ./u
  expect_text stdout "linked"
fi

# Who loads a library again after it was compiled anew has the new one, beside the old one that is still open.
cat > again.c <<'C'
#include <seer/runtime.h>
#include <stdio.h>
#include <stdlib.h>
#define N 5
int main(int argc, char **argv) {
  char message[512] = "";
  void *library[N];
  const seer_model_api *api[N];
  seer_model *model[N];
  static const long rows[N] = {1, 1, 2, 2, 3};
  for (int i = 0; i < N; i++) {
    // 1: nothing was compiled since; 3: the same again
    char command[512];
    snprintf(command, sizeof command, "%s compile mlp -O0 -o anew --input-shapes input:%ldx784 2>/dev/null", getenv("FAMILYSEER"), rows[i]);
    if (i != 1 && system(command)) return printf("%s\n", command), 1;
    if (argc != 2 || seer_model_load(argv[1], &library[i], &api[i], message, sizeof message) ||
        api[i]->open(NULL, NULL, 0, 0, &model[i], message, sizeof message))
      return printf("%s\n", message), 1;
  }
  for (int i = 0; i < N; i++)
    if (api[i]->set_input(model[i], 0, 0)->dim[0] != rows[i])
      return printf("library %d has %ld rows, not %ld\n", i, (long)api[i]->set_input(model[i], 0, 0)->dim[0], rows[i]), 1;
  if (library[0] != library[1]) return printf("one file is two libraries\n"), 1;
  for (int i = 0; i < N; i++) {
    api[i]->close(model[i]);
    seer_model_unload(library[i]);
  }
  return 0;
}
C
mkdir anew
export FAMILYSEER
cc -std=c99 -O1 -Wall -Werror -I"$SOURCE/include" again.c ${TEST_CFLAGS:-} -L"$TEST_BUILD_DIR" -lfamilyseer_runtime -Wl,-rpath,"$TEST_BUILD_DIR" -o again
for path in anew/model.so "$WORK/anew/model.so"; do
  expect_status 0 ./again "$path"
done
(cd anew && FAMILYSEER="cd .. && $FAMILYSEER" ../again model.so) || fail "by its name alone"
echo passed
