// Products of bytes, compiled for processors with different instructions for it, against plain C:
// all registers and rows that they do not fill, sums that pairs of 16 bits could not hold. What
// this machine lacks is compiled and looked at.
#include <stdio.h>
#include <string.h>

#include "support/test.h"
#include "support/ways.h"

enum { ROWS = 3, DEPTH = 5, MAX_COLUMNS = 80 };

static const processor_way processors[] = {
    {"x86_64-linux-gnu", "pmaddwd", "pmulld"},
    {"x86_64-linux-gnu -cpu=x86-64-v2", "pmaddwd", "pmulld"},
    {"x86_64-linux-gnu -cpu=x86-64-v3", "vpmaddwd", "vpmulld"},
    {"x86_64-linux-gnu -cpu=x86-64-v3 -features=+avxvnni", "vpdpbusd", "vpmaddwd"},
    {"x86_64-linux-gnu -cpu=x86-64-v3 -features=+avx512f", "vpmaddwd", "vpmulld"},
    {"x86_64-linux-gnu -cpu=x86-64-v3 -features=+avx512vnni", "vpdpbusd", "vpmaddwd"},
    {"x86_64-linux-gnu -cpu=x86-64-v4", "vpmaddwd", "vpmulld"},
    {"x86_64-linux-gnu -cpu=x86-64-v4 -features=+avx512vnni", "vpdpbusd", "vpmaddwd"},
    {"x86_64-linux-gnu -cpu=x86-64-v4 -features=+avx512vnni -lanes=8", "vpdpbusd", "zmm"},
    {"x86_64-linux-gnu -cpu=x86-64-v4 -features=+avxvnni -lanes=4", "vpdpbusd", "vpmaddwd"},
    {"native", "", "vpmaddubsw"},
    {"aarch64-linux-gnu", "mla", "sdot"},
    {"aarch64-linux-gnu -features=+dotprod", "\tsdot", "usdot"},
    {"aarch64-linux-gnu -features=+dotprod,+i8mm", "\tusdot", "\tsdot"},
    {"riscv64-linux-gnu", "mul", ""},
};

// $z = $c + sum over k of dot4($a, $b), `columns` in the lanes of vectors.
static const char *text_of(uint32_t columns, seer_arena *arena) {
  return seer_arena_printf(arena,
      "loop bytes {\n"
      "  input $a i32[%d, %d] of 0\n"
      "  input $b i32[%d, %u] of 1\n"
      "  input $c i32[%d, %u] of 2\n"
      "  output $z i32[%d, %u] of 3\n"
      "  phase {\n"
      "    unroll @p < %d stage 0 {\n"
      "      vector @q < %u stage 0 {\n"
      "        init $z[@p, @q] stage 0 = $c[@p, @q]\n"
      "      }\n"
      "    }\n"
      "    for @k < %d stage 0 reduce {\n"
      "      unroll @i < %d stage 0 {\n"
      "        vector @j < %u stage 0 {\n"
      "          sum $z[@i, @j] stage 0 = dot4($a[@i, @k], $b[@k, @j])\n"
      "        }\n"
      "      }\n"
      "    }\n"
      "  }\n"
      "}\n",
      ROWS, DEPTH, DEPTH, columns, ROWS, columns, ROWS, columns, ROWS, columns, DEPTH, ROWS,
      columns);
}

// Half of the bytes are extremes.
static void fill(uint8_t *bytes, size_t n, seer_rng *rng) {
  static const uint8_t edge[] = {0, 127, 128, 255};
  for (size_t k = 0; k < n; k++)
    bytes[k] =
        seer_rng_chance(rng, 0.5) ? edge[seer_rng_below(rng, 4)] : (uint8_t)seer_rng_u64(rng);
}

static uint32_t plain(const uint8_t *a, const uint8_t *b, const uint8_t *c, uint32_t columns,
    uint32_t row, uint32_t column) {
  uint32_t sum;
  memcpy(&sum, c + (row * columns + column) * 4, 4);
  for (uint32_t k = 0; k < DEPTH; k++) {
    const uint8_t *x = a + (row * DEPTH + k) * 4, *y = b + (k * columns + column) * 4;
    for (uint32_t i = 0; i < 4; i++) sum += (uint32_t)(x[i] * (y[i] < 128 ? y[i] : y[i] - 256));
  }
  return sum;
}

static void run(const processor_way *way, jit_runner *runner, seer_loop *loop, uint32_t columns,
    seer_rng *rng, seer_arena *arena) {
  static uint8_t a[ROWS * DEPTH * 4], b[DEPTH * MAX_COLUMNS * 4], c[ROWS * MAX_COLUMNS * 4];
  static uint32_t z[ROWS * MAX_COLUMNS];
  void *const data[] = {a, b, c, z};
  for (uint64_t seed = 0; seed < 4; seed++) {
    fill(a, sizeof a, rng), fill(b, sizeof b, rng), fill(c, sizeof c, rng);
    const char *wrong = jit_run(runner, loop, data, seed, arena);
    if (wrong) fail_msg("%s, %u columns: %s", way->target, columns, wrong);
    for (uint32_t k = 0; k < ROWS * columns; k++) {
      uint32_t want = plain(a, b, c, columns, k / columns, k % columns);
      if (z[k] != want)
        fail_msg("%s, %u columns: element %u is %" PRId32 ", expected %" PRId32, way->target,
            columns, k, (int32_t)z[k], (int32_t)want);
    }
  }
}

static void each_processor(void **state) {
  (void)state;
  static const uint32_t columns[] = {1, 2, 3, 4, 7, 8, 16, 23, 32, 37, 64, MAX_COLUMNS};
  ways_check(&(ways){
      processors, SEER_COUNT_OF(processors), columns, SEER_COUNT_OF(columns), text_of, run});
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_processor)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
