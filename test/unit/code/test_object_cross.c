// Objects for aarch64, loaded and run in an emulator by the loader as clang compiles it for there:
// tanh of numbers of all sizes, against libm's; this machine's objects are refused there.
// SEER_TEST: timeout=60
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "code/kernel.h"
#include "space/lower.h"
#include "support/test.h"

#define LIBC "/usr/aarch64-linux-gnu"
#define CC                                                                                  \
  "clang --target=aarch64-linux-gnu -std=c17 -O1 -D_GNU_SOURCE -nostdlibinc -isystem " LIBC \
  "/include -idirafter /usr/include -I" SEER_SOURCE_DIR                                     \
  "/src -nostartfiles -nodefaultlibs -L" LIBC "/lib " LIBC "/lib/crt1.o " LIBC "/lib/crti.o"
enum { ROWS = 40, COLUMNS = 37, N = ROWS * COLUMNS };

static seer_arena *arena;
static const char *folder;

static bool shell(const char *command) { return system(command) == 0; }  // NOLINT: ours

static bool is_missing(void) {
  return !shell("command -v clang qemu-aarch64 >/dev/null 2>&1") ||
      !seer_os_exists(LIBC "/lib/crt1.o") || !seer_os_exists("/usr/lib/llvm-19/bin/ld.lld");
}

static void build_program(void) {
  const char *command = seer_arena_printf(arena,
      CC " " SEER_SOURCE_DIR "/test/unit/code/cross/load_object.c " SEER_SOURCE_DIR
         "/src/code/object/*.c " SEER_SOURCE_DIR "/src/base/*.c " SEER_SOURCE_DIR
         "/src/base/os/*.c --ld-path=/usr/lib/llvm-19/bin/ld.lld -Wl,--gc-sections "
         "-ffunction-sections -lc -lpthread -lm -ldl " LIBC "/lib/crtn.o -o %s/load_object",
      folder);
  if (!shell(command)) fail_msg("does not compile: %s", command);
}

// How many parts its phase has.
static uint32_t write_object(const char *target_text, const char *path) {
  static const char net[] =
      "dag tanh { input $a f64[40, 37]\n"
      "stage z role epilogue [i:m<40, j:n<37] = tanh($a[i, j])\n"
      "output $z }";
  seer_target target;
  seer_codegen *codegen;
  seer_dag *dag;
  seer_sketch_list *list;
  seer_schedule schedule;
  seer_loop *loop;
  seer_kernel *kernel = SEER_NEW(arena, seer_kernel);
  must(seer_target_parse(target_text, arena, &target));
  must(seer_codegen_create(NULL, &target, &codegen));
  must(seer_dag_parse("net", net, sizeof net - 1, arena, &dag));
  must(seer_sketch_generate(dag, &target, SEER_SPACE_FULL, arena, &list));
  seer_schedule_default(list, 0, &schedule);
  must(seer_loop_lower(list, &schedule, arena, &loop));
  must(seer_codegen_build(codegen, loop, "kernel", arena, kernel));
  assert_true(kernel->n_phase == 1 && kernel->n_arg == 3);
  assert_true(kernel->arg[0].storage == SEER_STORE_OUTPUT);
  must(seer_os_write_file(path, kernel->object, kernel->n_object_bytes));
  seer_codegen_destroy(codegen);
  return kernel->n_parts[0];
}

static int run(const char *object, uint32_t n_parts) {
  int status = system(seer_arena_printf(arena,  // NOLINT: ours
      "qemu-aarch64 -cpu cortex-a57 -L " LIBC
      " %s/load_object %s kernel %u %d <%s/in >%s/out 2>%s/err",
      folder, object, n_parts, N, folder, folder, folder));
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void runs_elsewhere(void **state) {
  (void)state;
  static double x[N];
  for (int i = 0; i < N; i++) x[i] = ldexp(i % 2 ? 1 : -1.3, i / 8 - 170);  // from 1e-51 to 1e5
  must(seer_os_write_file(seer_os_path_join(arena, folder, "in"), x, sizeof x));
  const char *object = seer_os_path_join(arena, folder, "object");
  static const char *const targets[] = {
      "aarch64-linux-gnu", "aarch64-linux-gnu -cpu=cortex-a57", "aarch64-linux-gnu -lanes=8"};
  for (size_t t = 0; t < SEER_COUNT_OF(targets); t++) {
    int status = run(object, write_object(targets[t], object));
    if (status != 0) fail_msg("%s: status %d", targets[t], status);
    char *bytes;
    size_t n;
    must(seer_os_read_file(
        seer_os_path_join(arena, folder, "out"), arena, sizeof x + 1, &bytes, &n));
    assert_int_equal(n, sizeof x);
    for (int i = 0; i < N; i++) {
      double y;
      memcpy(&y, bytes + (size_t)i * sizeof y, sizeof y);
      double want = tanh(x[i]);
      if (!(fabs(y - want) <= 1e-14 * fabs(want)))
        fail_msg("%s: tanh(%g) is %.17g, expected %.17g", targets[t], x[i], y, want);
    }
  }
}

static void refuses_objects_of_other_processors(void **state) {
  (void)state;
  const char *object = seer_os_path_join(arena, folder, "object");
  assert_int_equal(run(object, write_object("x86_64-linux-gnu", object)), 3);
  char *said;
  must(seer_os_read_file(seer_os_path_join(arena, folder, "err"), arena, 1000, &said, NULL));
  assert_non_null(strstr(said, "for another processor than this"));
}

static int set_up(void **state) {
  (void)state;
  arena = seer_arena_create("test");
  must(seer_os_temp_dir("test_object_cross", arena, &folder));
  build_program();
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  must(seer_os_remove_tree(folder));
  seer_arena_destroy(arena);
  return 0;
}

int main(void) {
  if (is_missing()) {
    print_message("skipped: no clang, qemu-aarch64, lld or libc for aarch64 (tool/deps.sh)\n");
    return 77;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runs_elsewhere),
      cmocka_unit_test(refuses_objects_of_other_processors),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
