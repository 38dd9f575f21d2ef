# What model.so and libfamilyseer_runtime.so ask of libc: names of src/runtime/libc.inc without a version, all of
# which glibc 2.17 had; and both run under musl, with the answers that they give under glibc.
# SEER_TEST: timeout=120
. "$(dirname "$0")/lib.sh"
readelf=$(command -v readelf || command -v llvm-readelf-19) || exit 77
nm=$(command -v nm || command -v llvm-nm-19) || exit 77
sed -n 's/^SEER_LIBC([a-z]*, \(.*\))$/\1/p' "$SOURCE/src/runtime/libc.inc" | sort > listed

"$FAMILYSEER" compile mlp -o a -O1 > log || { cat log; fail "compile"; }
check_references() { # FILE
  "$readelf" -W --version-info "$1" > versions
  grep -q GLIBC versions && { cat versions; fail "$1 asks for versions of glibc"; }
  "$nm" -D --undefined-only "$1" | awk '{print $2}' | sort > asked
  [ -s asked ] || fail "$1 asks for nothing"
  comm -23 asked listed > surprising
  [ ! -s surprising ] || fail "$1 asks for $(tr '\n' ' ' < surprising)"
  for library in $("$readelf" -d "$1" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p'); do
    case $library in
    libc.so.6 | libpthread.so.0 | libdl.so.2) ;;
    *) fail "$1 needs $library" ;;
    esac
  done
}
check_references a/model.so
check_references "$TEST_BUILD_DIR/libfamilyseer_runtime.so"
if [ -e "$TEST_BUILD_DIR/aarch64/libseer_rt.a" ]; then  # by another compiler, with other headers
  expect_status 0 "$FAMILYSEER" compile mlp -o cross -O1 --target aarch64-linux-gnu
  check_references cross/model.so
fi

# Of each name the libc at hand still has a version from before 2.18.
libc=$(ldd "$FAMILYSEER" | awk '$1 == "libc.so.6" {print $3}')
if [ -n "$libc" ]; then
  { "$nm" -D --defined-only "$libc"; "$nm" -D --defined-only "$(dirname "$libc")/libm.so.6"; } | awk '{print $3}' | sed 's/@@*/ /' > has
  sed -n 's/^SEER_LIBC([a-z]*, \(.*\))$/\1/p' "$SOURCE/src/runtime/operator_libc.inc" > of_operators
  while read -r name; do
    awk -v name="$name" '$1 == name && $2 ~ /^GLIBC_[0-9.]+$/ {
      split(substr($2, 7), v, "."); if (v[1] < 2 || (v[1] == 2 && v[2] <= 17)) found = 1
    } END { exit !found }' has || fail "glibc 2.17 has no $name, which is in src/runtime/libc.inc or operator_libc.inc"
  done <<< "$(cat listed of_operators)"
fi

command -v musl-gcc > /dev/null || { echo "skipped: musl-gcc (package musl-tools) is not installed"; exit 77; }
case $(uname -m) in x86_64 | aarch64) ;; *) exit 77 ;; esac
cat > answer.c <<'C'
#include <seer/runtime.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  char message[512] = "";
  void *library = NULL;
  const seer_model_api *api = NULL;
  seer_model *model = NULL;
  seer_session *session = NULL;
  static float x[784], y[10];
  if (argc != 2 || seer_model_load(argv[1], &library, &api, message, sizeof message) != SEER_RT_OK ||
      api->open(NULL, NULL, 0, 1, &model, message, sizeof message) != SEER_RT_OK)
    return fprintf(stderr, "%s\n", message), 1;
  seer_pool *pool = api->pool_create(3, 1);
  if (!pool || api->session_create(model, pool, &session, message, sizeof message) != SEER_RT_OK) return 1;
  for (int i = 0; i < 784; i++) x[i] = (float)(i % 17) / 17.0f;
  if (api->bind_input(session, 0, x) != SEER_RT_OK || api->bind_output(session, 0, y) != SEER_RT_OK) return 1;
  if (api->run(session) != SEER_RT_OK) return 1;
  for (int i = 0; i < 10; i++) printf("%a\n", y[i]);
  api->session_destroy(session);
  api->pool_destroy(pool);
  if (api->open("missing", NULL, 0, 0, &model, message, sizeof message) != SEER_RT_NOT_FOUND) return 1;
  if (api->open("/", NULL, 0, 0, &model, message, sizeof message) != SEER_RT_IO) return 1;
  printf("%s\n", message);
  return 0;
}
C
for cc in cc musl-gcc; do
  $cc -std=c99 -O1 -Wall -Werror -I"$SOURCE/include" answer.c "$TEST_BUILD_DIR/libfamilyseer_runtime.so" \
    -Wl,-rpath,"$TEST_BUILD_DIR" -o "answer-$cc" || fail "$cc"
  expect_status 0 "./answer-$cc" a/model.so
  cp stdout "stdout-$cc"
done
"$readelf" -l answer-musl-gcc | grep -q ld-musl || fail "musl-gcc did not make a program for musl"
cmp stdout-cc stdout-musl-gcc || { diff stdout-cc stdout-musl-gcc; fail "another answer under musl"; }
expect_text stdout-cc "not a regular file"
echo passed
