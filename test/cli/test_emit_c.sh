# compile --emit c: the library as C builds without familyseer's headers, with GCC and clang, and answers as the one that
# LLVM made; plain C for --target c; the same bytes again; errors. SEER_TEST: timeout=120
. "$(dirname "$0")/lib.sh"
unset SEER_TARGET CFLAGS CPPFLAGS LDFLAGS LDLIBS CC
export MAKEFLAGS=--no-print-directory

# A folder of C -> model.so. The runtime is the same each time: built once, not at -O3.
build_in() {
  folder=$1
  shift
  if [ -d runtime_objects ]; then cp -r runtime_objects/. "$folder/runtime/runtime/"; fi
  expect_status 0 make -C "$folder" -j 2 "$@"
  if [ ! -d runtime_objects ]; then
    mkdir runtime_objects
    (cd "$folder/runtime/runtime" && cp --parents *.o */*.o "$OLDPWD/runtime_objects")
  fi
}
# The answers of two libraries.
agree() {
  expect_status 0 "$FAMILYSEER" run "$1" --seed 5 -o "$1/y" --threads 2
  expect_status 0 "$FAMILYSEER" run "$2" --seed 5 --threads 1 --expect "output=$1/y/output.npy" --rtol 1e-5
  expect_text stdout "ok"
}

expect_status 0 "$FAMILYSEER" compile mlp -o so -O1
expect_status 0 "$FAMILYSEER" compile mlp -o a -O1 --emit c
expect_text stderr "make -C a makes model.so of it"
[ "$(ls -A a | tr '\n' ' ')" = "Makefile kernels model.h model.json plan.c runtime weights.S weights.bin " ] || fail "a holds $(ls -A a)"
cmp a/model.h so/model.h || fail "model.h differs"
cmp a/weights.bin so/weights.bin || fail "weights.bin differs"

# The same bytes in another folder; nothing of this machine's paths.
expect_status 0 "$FAMILYSEER" compile mlp -o deep/er/b -O1 --emit c
diff -r a deep/er/b || fail "the sources differ"
grep -rqF -e "$WORK" -e "$SOURCE" a && fail "the sources hold a path"

# GCC or whatever cc is, and clang; everything warned about in what was generated.
strict="-O1 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror"
build_in a CFLAGS="$strict"
agree so a
[ "$(nm -D --defined-only a/model.so | awk '{print $3}')" = seer_model_v1 ] || { nm -D a/model.so; fail "exports"; }
expect_status 0 "$FAMILYSEER" verify a/model.so mlp
expect_text stdout "ok"
expect_status 0 make -C a -q  # nothing left to do
if command -v clang > /dev/null; then
  build_in deep/er/b CC=clang CFLAGS="$strict"
  agree so deep/er/b
fi

# A second build in the same folder: what is older is made anew, kernels that there are no more go.
touch a/kernels/kernels_1.c a/kernels/kernels_1.o
expect_status 0 "$FAMILYSEER" compile mlp -o a -O0 --emit c
[ ! -e a/kernels/kernels_1.c ] && [ ! -e a/kernels/kernels_1.o ] || fail "kernels of another build are left"
[ -e a/model.so ] || fail "somebody removed model.so"
status=0
make -C a -q > /dev/null || status=$?
[ "$status" = 1 ] || fail "make sees no change"

# Plain C, for any compiler: no vectors, no flags, no features; for a network with convolutions and pooling too.
net="mobilenet_v2_0.25 --input-shapes input:1x3x32x32"
expect_status 0 "$FAMILYSEER" compile $net -o so2 -O1
expect_status 0 "$FAMILYSEER" compile $net -o c -O1 --emit c --target c
grep -rEq "vector_size|__builtin|__attribute__|_mm" c/kernels && fail "plain C has extensions: $(grep -rE 'vector_size|__builtin|__attribute__' c/kernels | head -3)"
grep -q -e "-march" c/Makefile && fail "target c has processor flags"
build_in c CFLAGS="$strict -pedantic"
agree so2 c
expect_status 0 "$FAMILYSEER" info c
expect_text stdout "target      cpu -triple=c -features= "
# The same with the machine's vectors, and with vectors of a machine that nothing is known of.
expect_status 0 "$FAMILYSEER" compile $net -o v -O1 --emit c
build_in v CFLAGS=-O1
agree so2 v
expect_status 0 "$FAMILYSEER" compile mlp -o w -O1 --emit c --target c-vectors
build_in w CFLAGS=-O1
agree so w
# For another architecture: written, not built here (that is test/peer/test_emit_cross.py).
expect_status 0 "$FAMILYSEER" compile mlp -o r -O1 --emit c --target riscv64-linux-gnu
expect_text r/Makefile "-march=rv64gc"

# One object, an archive, and weights inside: a program of its own.
cat > app.c <<'END'
#include "model.h"
#include <stdio.h>
extern const unsigned char seer_weights[], seer_weights_end[];
int main(void) {
  static float x[MLP_INPUT_INPUT_ELEMS], y[MLP_OUTPUT_OUTPUT_ELEMS];
  char message[256] = "";
  const seer_model_api *api = seer_model_v1();
  seer_model *model;
  seer_session *session;
  for (size_t i = 0; i < MLP_INPUT_INPUT_ELEMS; i++) x[i] = 1;
  if (api->open(NULL, seer_weights, (uint64_t)(seer_weights_end - seer_weights), 1, &model, message, sizeof message))
    return puts(message), 1;
  if (api->session_create(model, NULL, &session, message, sizeof message)) return puts(message), 1;
  if (mlp_bind(api, session, x, y) || api->run(session)) return 2;
  fwrite(y, sizeof y, 1, stdout);
  return 0;
}
END
expect_status 0 make -C w model.o model.a weights.o
[ "$(nm --defined-only -g w/model.o | awk '{print $3}')" = seer_model_v1 ] || { nm -g w/model.o; fail "model.o exports"; }
cc -Wall -Wextra -Werror -Iw -Iw/runtime app.c w/model.a w/weights.o -pthread -ldl -lm -o app || fail "model.a does not link"
expect_status 0 "$FAMILYSEER" run so --fill ones -o ones
mv w/weights.bin w/elsewhere
./app > app.raw || fail "the program ended with $?: $(cat app.raw)"
python3 - <<'END' || fail "the program answers something else"
import struct
ours = struct.unpack("10f", open("app.raw", "rb").read())
theirs = struct.unpack("10f", open("ones/output.npy", "rb").read()[-40:])
assert max(abs(a - b) for a, b in zip(ours, theirs)) <= 1e-5 * max(map(abs, theirs)), (ours, theirs)
END

# What cannot be is said, and nothing is left behind.
for emit in so obj; do
  expect_status 1 "$FAMILYSEER" compile mlp -o none --target c --emit $emit
  expect_text stderr "--emit c writes the library as C"
done
expect_status 1 "$FAMILYSEER" compile mlp -o none --target c
expect_status 1 "$FAMILYSEER" tune mlp -o none --target c
expect_text stderr "compile --emit c"
expect_status 1 "$FAMILYSEER" devices --target c
expect_status 1 "$FAMILYSEER" compile mlp -o none --emit c --target "c -features=+avx2"
expect_text stderr "'c' has no -features="
[ ! -e none ] || fail "none was made"
mkdir blocked mine
: > blocked/kernels
expect_status 1 "$FAMILYSEER" compile mlp -o blocked --emit c
expect_text stderr "kernels"
[ ! -e blocked/weights.bin ] && [ ! -e blocked/Makefile ] || fail "half of a library was written"
echo "all:" > mine/Makefile
expect_status 1 "$FAMILYSEER" compile mlp -o mine --emit c
expect_text stderr "mine/Makefile was not made by familyseer"
[ "$(cat mine/Makefile)" = all: ] || fail "somebody's Makefile was replaced"
echo passed
