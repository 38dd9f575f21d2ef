// Four bits of words as real numbers, compiled for processors that have a look-up for them and for
// others, against plain C: every place in the word, registers and rows that they do not fill. What
// this machine lacks is compiled and looked at.
#include <stdio.h>
#include <string.h>

#include "support/test.h"
#include "support/ways.h"

enum { MAX_COLUMNS = 80, PLACES = 8 };

static const processor_way processors[] = {
    {"x86_64-linux-gnu -cpu=x86-64-v3", "vpsrad", "vperm"},
    {"x86_64-linux-gnu -cpu=x86-64-v4", "vperm", "vpsrad"},
    {"x86_64-linux-gnu -cpu=x86-64-v4 -lanes=8", "vpsrad", "vperm"},
    {"native", "", ""},
    {"aarch64-linux-gnu", "sshr", ""},
};

// $z[p, q] = the bits from place 4 p on of $w[q]
static const char *text_of(uint32_t columns, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_printf(&text,
      "loop nibbles {\n  input $w i32[%u] of 0\n  output $z f32[%d, %u] of 1\n  phase {\n", columns,
      PLACES, columns);
  for (uint32_t p = 0; p < PLACES; p++)
    seer_text_printf(&text,
        "    vector @q%u < %u stage 0 {\n"
        "      store $z[%u, @q%u] stage 0 = cast.f32(shr(shl($w[@q%u], %u:i32), 28:i32))\n"
        "    }\n",
        p, columns, p, p, p, 28 - 4 * p);
  seer_text_put(&text, "  }\n}\n");
  return text.data;
}

static void run(const processor_way *way, jit_runner *runner, seer_loop *loop, uint32_t columns,
    seer_rng *rng, seer_arena *arena) {
  static uint32_t w[MAX_COLUMNS];
  static float z[PLACES * MAX_COLUMNS];
  void *const data[] = {w, z};
  for (uint32_t k = 0; k < columns; k++) w[k] = (uint32_t)seer_rng_u64(rng);
  const char *wrong = jit_run(runner, loop, data, 1, arena);
  if (wrong) fail_msg("%s, %u columns: %s", way->target, columns, wrong);
  for (uint32_t k = 0; k < PLACES * columns; k++) {
    int code = (int)(w[k % columns] >> 4 * (k / columns) & 15), want = code < 8 ? code : code - 16;
    if (z[k] != (float)want)
      fail_msg("%s, %u columns: element %u is %g, expected %d", way->target, columns, k,
          (double)z[k], want);
  }
}

static void each_processor(void **state) {
  (void)state;
  static const uint32_t columns[] = {1, 2, 3, 7, 8, 15, 16, 17, 32, 37, 64, MAX_COLUMNS};
  ways_check(&(ways){
      processors, SEER_COUNT_OF(processors), columns, SEER_COUNT_OF(columns), text_of, run});
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_processor)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
