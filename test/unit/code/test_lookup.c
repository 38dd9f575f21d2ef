// Bytes out of tables of 256, compiled for processors with different instructions for it, against
// plain C: every number in every lane of all registers, and rows that they do not fill. What this
// machine lacks is compiled and looked at.
#include <string.h>

#include "base/rng.h"
#include "support/jit_check.h"
#include "support/test.h"

enum { ROWS = 3, MAX_COLUMNS = 150, N_BYTE = 256 };

static const struct {
  const char *target, *instruction, *never;  // of wide rows; "": any
} ways[] = {
    {"x86_64-linux-gnu", "movzbl", "pshufb"},
    {"x86_64-linux-gnu -cpu=x86-64-v2", "pshufb", ""},
    {"x86_64-linux-gnu -cpu=x86-64-v3", "vpshufb", "zmm"},
    {"x86_64-linux-gnu -cpu=x86-64-v4", "vpshufb", "vpermi2b"},
    {"x86_64-linux-gnu -cpu=x86-64-v4 -features=+avx512vbmi", "b\t%zmm", "vpshufb"},
    {"x86_64-linux-gnu -cpu=x86-64-v4 -features=+avx512vbmi -lanes=8", "2b\t", "zmm"},
    {"native", "", ""},
    {"aarch64-linux-gnu", "tbl\t", ""},
    {"riscv64-linux-gnu", "lbu", ""},
};

// $z = $t[$x], by the bits of $x.
static const char *text_of(uint32_t columns, const char *from, const char *to, seer_arena *arena) {
  const char *bits = strcmp(from, "i8") == 0 ? "cast.u8($x[@i, @j])" : "$x[@i, @j]";
  return seer_arena_printf(arena,
      "loop bytes {\n"
      "  input $x %s[%d, %u] of 0\n"
      "  input $t %s[%d] of 1\n"
      "  output $z %s[%d, %u] of 2\n"
      "  phase {\n"
      "    for @i < %d stage 0 {\n"
      "      vector @j < %u stage 0 {\n"
      "        store $z[@i, @j] stage 0 = $t[cast.i64(%s)]\n"
      "      }\n"
      "    }\n"
      "  }\n"
      "}\n",
      from, ROWS, columns, to, N_BYTE, to, ROWS, columns, ROWS, columns, bits);
}

static void check(size_t way, jit_runner *runner, bool is_run, uint32_t columns, seer_rng *rng) {
  static const char *const types[] = {"u8", "i8"};
  seer_arena *arena = seer_arena_create("test");
  const char *text = text_of(columns, types[columns % 2], types[columns / 2 % 2], arena), *wrong;
  seer_loop *loop;
  must(seer_loop_parse("test", text, strlen(text), arena, &loop));
  must(seer_loop_verify(loop));
  if (columns == MAX_COLUMNS) {
    const char *code = seer_codegen_print(jit_runner_codegen(runner), loop, true, arena);
    if (!strstr(code, ways[way].instruction))
      fail_msg("%s has no %s:\n%s", ways[way].target, ways[way].instruction, code);
    if (*ways[way].never && strstr(code, ways[way].never))
      fail_msg("%s has %s:\n%s", ways[way].target, ways[way].never, code);
  }
  if (!is_run) {
    wrong = jit_compile(runner, loop, arena);
    if (wrong) fail_msg("%s, %u columns: %s", ways[way].target, columns, wrong);
    seer_arena_destroy(arena);
    return;
  }
  static uint8_t x[ROWS * MAX_COLUMNS], t[N_BYTE], z[ROWS * MAX_COLUMNS];
  void *const data[] = {x, t, z};
  for (uint64_t seed = 0; seed < 8; seed++) {
    uint8_t first = (uint8_t)seer_rng_u64(rng);
    for (uint32_t k = 0; k < N_BYTE; k++) t[k] = (uint8_t)seer_rng_u64(rng);
    for (uint32_t k = 0; k < ROWS * columns; k++) x[k] = (uint8_t)(first + 7 * k);
    wrong = jit_run(runner, loop, data, seed, arena);
    if (wrong) fail_msg("%s, %u columns: %s", ways[way].target, columns, wrong);
    for (uint32_t k = 0; k < ROWS * columns; k++) {
      if (z[k] != t[x[k]])
        fail_msg("%s, %u columns: element %u, of byte %u, is %u, expected %u", ways[way].target,
            columns, k, x[k], z[k], t[x[k]]);
    }
  }
  seer_arena_destroy(arena);
}

static void each_processor(void **state) {
  (void)state;
  static const uint32_t columns[] = {1, 2, 3, 4, 7, 8, 16, 23, 32, 37, 64, 128, MAX_COLUMNS};
  seer_rng rng;
  seer_rng_init(&rng, 8);
  for (size_t way = 0; way < SEER_COUNT_OF(ways); way++) {
    seer_arena *arena = seer_arena_create("test");
    seer_target target;
    must(seer_target_parse(ways[way].target, arena, &target));
    seer_status lacks = seer_target_check_here(&target);
    bool is_run = !lacks;
    if (lacks) print_message("compiled only: %s\n", seer_status_message(lacks));
    seer_status_free(lacks);
    jit_runner *runner = jit_runner_create(&target);
    for (size_t k = 0; k < SEER_COUNT_OF(columns); k++)
      check(way, runner, is_run, columns[k], &rng);
    jit_runner_destroy(runner);
    seer_arena_destroy(arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_processor)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
