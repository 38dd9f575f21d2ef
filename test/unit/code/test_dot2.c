// Products of bf16, and of f16, compiled for processors with and without an instruction for them,
// against plain C in double: all registers and rows that they do not fill, with limits, infinities
// and NaN. What this machine lacks is compiled and looked at.
#include <stdio.h>
#include <string.h>

#include <math.h>

#include "support/dot2_check.h"
#include "support/test.h"
#include "support/ways.h"

enum { ROWS = 3, DEPTH = 5, MAX_COLUMNS = 80 };

static const processor_way processors[] = {
    {"x86_64-linux-gnu", "mulps", "dpbf16"},
    {"x86_64-linux-gnu -cpu=x86-64-v3", "vfmadd", "dpbf16"},
    {"x86_64-linux-gnu -cpu=x86-64-v4", "vfmadd", "dpbf16"},
    {"x86_64-linux-gnu -cpu=x86-64-v3 -features=+avx512bf16", "vdpbf16ps", "vfmadd"},
    {"x86_64-linux-gnu -cpu=x86-64-v4 -features=+avx512bf16", "vdpbf16ps", "vfmadd"},
    {"x86_64-linux-gnu -cpu=x86-64-v4 -features=+avx512bf16 -lanes=8", "vdpbf16ps", "zmm"},
    {"x86_64-linux-gnu -cpu=x86-64-v4 -features=+avx512bf16 -lanes=4", "vdpbf16ps", "ymm"},
    {"x86_64-linux-gnu -cpu=sapphirerapids", "vfmadd", "dpbf16"},
    {"native", "", "pmadd"},
    {"aarch64-linux-gnu", "fmla", "bfdot"},
    {"aarch64-linux-gnu -features=+bf16", "bfdot", "fmla"},
    {"riscv64-linux-gnu", "fm", ""},
};

// Halves are converted, and added up by multiply-adds.
static const processor_way processors_of_f16[] = {
    {"x86_64-linux-gnu", "mul", "vcvtph2ps"},
    {"x86_64-linux-gnu -cpu=x86-64-v3", "vcvtph2ps", "dpbf16"},
    {"x86_64-linux-gnu -cpu=x86-64-v4 -features=+avx512bf16", "vcvtph2ps", "dpbf16"},
    {"native", "", "dpbf16"},
    {"aarch64-linux-gnu", "fcvt", "bfdot"},
    {"riscv64-linux-gnu", "fm", ""},
};

// $z = $c + sum over k of dot2($a, $b), `columns` in the lanes of vectors.
static const char *text_with(const char *op, uint32_t columns, seer_arena *arena) {
  return seer_arena_printf(arena,
      "loop halves {\n"
      "  input $a i32[%d, %d] of 0\n"
      "  input $b i32[%d, %u] of 1\n"
      "  input $c f32[%d, %u] of 2\n"
      "  output $z f32[%d, %u] of 3\n"
      "  phase {\n"
      "    unroll @p < %d stage 0 {\n"
      "      vector @q < %u stage 0 {\n"
      "        init $z[@p, @q] stage 0 = $c[@p, @q]\n"
      "      }\n"
      "    }\n"
      "    for @k < %d stage 0 reduce {\n"
      "      unroll @i < %d stage 0 {\n"
      "        vector @j < %u stage 0 {\n"
      "          sum $z[@i, @j] stage 0 = %s($a[@i, @k], $b[@k, @j])\n"
      "        }\n"
      "      }\n"
      "    }\n"
      "  }\n"
      "}\n",
      ROWS, DEPTH, DEPTH, columns, ROWS, columns, ROWS, columns, ROWS, columns, DEPTH, ROWS,
      columns, op);
}

static const char *text_of(uint32_t columns, seer_arena *arena) {
  return text_with("dot2", columns, arena);
}

static const char *text_of_f16(uint32_t columns, seer_arena *arena) {
  return text_with("dot2_f16", columns, arena);
}

static void run(const processor_way *way, jit_runner *runner, seer_loop *loop, uint32_t columns,
    seer_rng *rng, seer_arena *arena) {
  static uint32_t a[ROWS * DEPTH], b[DEPTH * MAX_COLUMNS];
  static float c[ROWS * MAX_COLUMNS], z[ROWS * MAX_COLUMNS];
  void *const data[] = {a, b, c, z};
  for (uint64_t seed = 0; seed < 4; seed++) {
    bool is_moderate = seed % 2 == 0;
    for (size_t k = 0; k < SEER_COUNT_OF(a); k++) a[k] = dot2_word(rng, is_moderate);
    for (size_t k = 0; k < SEER_COUNT_OF(b); k++) b[k] = dot2_word(rng, is_moderate);
    for (size_t k = 0; k < SEER_COUNT_OF(c); k++) c[k] = (float)(seer_rng_f64(rng) - 0.5);
    const char *wrong = jit_run(runner, loop, data, seed, arena);
    if (wrong) fail_msg("%s, %u columns: %s", way->target, columns, wrong);
    for (uint32_t k = 0; k < ROWS * columns; k++) {
      const uint32_t *row = a + k / columns * DEPTH, *column = b + k % columns;
      if (!dot2_allows(row, 1, column, columns, DEPTH, c[k], z[k]))
        fail_msg("%s, %u columns: element %u is %.9g", way->target, columns, k, (double)z[k]);
    }
  }
}

// Of two f16: of 2^-6 to 2^6, or any bits.
static uint32_t f16_word(seer_rng *rng, bool is_moderate) {
  uint32_t word = (uint32_t)seer_rng_u64(rng);
  if (!is_moderate && seer_rng_chance(rng, 0.2)) return word;
  word &= 0x83FF83FF;
  return word | (uint32_t)(9 + seer_rng_below(rng, 13)) << 10 |
      (uint32_t)(9 + seer_rng_below(rng, 13)) << 26;
}

static double f16_of(uint32_t word, uint32_t k) {
  uint32_t bits = word >> 16 * k & 0xFFFF;
  int exponent = (int)(bits >> 10 & 31), digits = (int)(bits & 1023);
  double value = exponent == 31 ? (digits ? (double)NAN : (double)INFINITY)
      : exponent == 0           ? ldexp(digits, -24)
                                : ldexp(1024 + digits, exponent - 25);
  return bits & 0x8000 ? -value : value;
}

// Each product and each sum: less than a unit of the last place.
static bool is_f16_sum(
    const uint32_t *row, const uint32_t *column, uint32_t step, float c, float got) {
  double sum = (double)c, magnitude = fabs(sum);
  for (uint32_t k = 0; k < 2 * DEPTH; k++) {
    double product = f16_of(row[k / 2], k % 2) * f16_of(column[k / 2 * step], k % 2);
    sum += product;
    magnitude += fabs(product);
  }
  if (isnan(sum)) return isnan(got);
  if (isinf(sum)) return (double)got == sum;
  return fabs((double)got - sum) <= (2 * DEPTH + 1) * (magnitude * 0x1p-23 + 0x1p-149);
}

static void run_f16(const processor_way *way, jit_runner *runner, seer_loop *loop, uint32_t columns,
    seer_rng *rng, seer_arena *arena) {
  static uint32_t a[ROWS * DEPTH], b[DEPTH * MAX_COLUMNS];
  static float c[ROWS * MAX_COLUMNS], z[ROWS * MAX_COLUMNS];
  void *const data[] = {a, b, c, z};
  for (uint64_t seed = 0; seed < 4; seed++) {
    for (size_t k = 0; k < SEER_COUNT_OF(a); k++) a[k] = f16_word(rng, seed % 2 == 0);
    for (size_t k = 0; k < SEER_COUNT_OF(b); k++) b[k] = f16_word(rng, seed % 2 == 0);
    for (size_t k = 0; k < SEER_COUNT_OF(c); k++) c[k] = (float)(seer_rng_f64(rng) - 0.5);
    const char *wrong = jit_run(runner, loop, data, seed, arena);
    if (wrong) fail_msg("%s, %u columns: %s", way->target, columns, wrong);
    for (uint32_t k = 0; k < ROWS * columns; k++) {
      if (!is_f16_sum(a + k / columns * DEPTH, b + k % columns, columns, c[k], z[k]))
        fail_msg("%s, %u columns: element %u is %.9g", way->target, columns, k, (double)z[k]);
    }
  }
}

static void each_processor_of_f16(void **state) {
  (void)state;
  static const uint32_t columns[] = {1, 3, 8, 16, 37};
  ways_check(&(ways){processors_of_f16, SEER_COUNT_OF(processors_of_f16), columns,
      SEER_COUNT_OF(columns), text_of_f16, run_f16});
}

static void each_processor(void **state) {
  (void)state;
  static const uint32_t columns[] = {1, 2, 3, 4, 7, 8, 16, 23, 32, 37, 64, MAX_COLUMNS};
  ways_check(&(ways){
      processors, SEER_COUNT_OF(processors), columns, SEER_COUNT_OF(columns), text_of, run});
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_processor), cmocka_unit_test(each_processor_of_f16)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
