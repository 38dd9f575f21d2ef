// Bytes out of tables of 256, compiled for processors with different instructions for it, against
// plain C: every number in every lane of all registers, and rows that they do not fill. What this
// machine lacks is compiled and looked at.
#include <string.h>

#include "support/test.h"
#include "support/ways.h"

enum { ROWS = 3, MAX_COLUMNS = 150, N_BYTE = 256 };

static const processor_way processors[] = {
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

// All pairs of types, by the length of rows.
static const char *text_of_types(uint32_t columns, seer_arena *arena) {
  static const char *const types[] = {"u8", "i8"};
  return text_of(columns, types[columns % 2], types[columns / 2 % 2], arena);
}

static void run(const processor_way *way, jit_runner *runner, seer_loop *loop, uint32_t columns,
    seer_rng *rng, seer_arena *arena) {
  static uint8_t x[ROWS * MAX_COLUMNS], t[N_BYTE], z[ROWS * MAX_COLUMNS];
  void *const data[] = {x, t, z};
  for (uint64_t seed = 0; seed < 8; seed++) {
    uint8_t first = (uint8_t)seer_rng_u64(rng);
    for (uint32_t k = 0; k < N_BYTE; k++) t[k] = (uint8_t)seer_rng_u64(rng);
    for (uint32_t k = 0; k < ROWS * columns; k++) x[k] = (uint8_t)(first + 7 * k);
    const char *wrong = jit_run(runner, loop, data, seed, arena);
    if (wrong) fail_msg("%s, %u columns: %s", way->target, columns, wrong);
    for (uint32_t k = 0; k < ROWS * columns; k++) {
      if (z[k] != t[x[k]])
        fail_msg("%s, %u columns: element %u, of byte %u, is %u, expected %u", way->target, columns,
            k, x[k], z[k], t[x[k]]);
    }
  }
}

static void each_processor(void **state) {
  (void)state;
  static const uint32_t columns[] = {1, 2, 3, 4, 7, 8, 16, 23, 32, 37, 64, 128, MAX_COLUMNS};
  ways_check(&(ways){
      processors, SEER_COUNT_OF(processors), columns, SEER_COUNT_OF(columns), text_of_types, run});
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_processor)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
