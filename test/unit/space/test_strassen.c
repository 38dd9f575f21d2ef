// test_strassen.c - Strassen's formulation computes what the direct product computes: an odd number
// of rows, rows that are pixels or images, both orders of weights; to the bit on small integers.
// What is no such product, or too small for it, is left alone.
#include "support/formulation_check.h"
#include "support/product_net.h"
#include "support/test.h"
#include "support/winograd_net.h"

extern const seer_formulation seer_formulation_strassen, seer_formulation_strassen2;

static double difference(
    const seer_formulation *by, const product_net *net, bool is_integer, double *out_tolerance) {
  seer_arena *arena = seer_arena_create("test");
  double d = formulation_difference(by, product_net_build(net, arena), is_integer, out_tolerance);
  seer_arena_destroy(arena);
  return d;
}

static const product_net nets[] = {
    {.n = 1, .y = 1, .x = 16, .k = 64, .c = 64},
    {.n = 1, .y = 1, .x = 19, .k = 70, .c = 96, .has_epilogue = true},
    {.n = 1, .y = 6, .x = 7, .k = 64, .c = 64, .stride = 2, .is_turned = true},
    {.n = 2, .y = 3, .x = 5, .k = 64, .c = 64, .has_epilogue = true},
    {.n = 1, .y = 17, .x = 3, .k = 66, .c = 64},
};

// For two levels.
static const product_net large_nets[] = {
    {.n = 1, .y = 1, .x = 64, .k = 256, .c = 256},
    {.n = 1, .y = 1, .x = 67, .k = 260, .c = 256, .has_epilogue = true},
    {.n = 1, .y = 8, .x = 9, .k = 256, .c = 320, .stride = 2, .is_turned = true},
    {.n = 1, .y = 14, .x = 10, .k = 256, .c = 256},  // both by twos
    {.n = 2, .y = 6, .x = 7, .k = 256, .c = 256, .has_epilogue = true},  // images and rows
};

static void check_equal(const seer_formulation *by, const product_net *of, size_t n) {
  for (size_t k = 0; k < n; k++) {
    double tolerance = 0;
    assert_true(difference(by, &of[k], true, &tolerance) == 0);
    double d = difference(by, &of[k], false, &tolerance);
    assert_true(d > 0 && d <= tolerance / 10);
  }
}

static void test_equal(void **state) {
  (void)state;
  check_equal(&seer_formulation_strassen, nets, SEER_COUNT_OF(nets));
  check_equal(&seer_formulation_strassen, large_nets, SEER_COUNT_OF(large_nets));
  check_equal(&seer_formulation_strassen2, large_nets, SEER_COUNT_OF(large_nets));
}

static void test_left_alone(void **state) {
  (void)state;
  product_net ragged = nets[0], odd = nets[0], few = nets[0], batched = nets[3], odd_rows = nets[0];
  ragged.c = 80;  // no whole blocks of columns
  odd.k = 65;
  few.x = 8;
  batched.is_batched = true;
  odd_rows.x = 1, odd_rows.y = 3, odd_rows.n = 9;  // ten rows for nine are no seven eighths
  const product_net *alone[] = {&ragged, &odd, &few, &batched, &odd_rows};
  double tolerance;
  for (size_t k = 0; k < SEER_COUNT_OF(alone); k++)
    assert_true(difference(&seer_formulation_strassen, alone[k], true, &tolerance) < 0);
  // Large enough for one level, or cut in two and not in four.
  product_net narrow = large_nets[0], shallow = large_nets[0], low = large_nets[0],
              uneven = large_nets[0], halves = large_nets[0];
  narrow.c = 192;
  shallow.k = 252;
  low.x = 60;
  uneven.c = 288;
  halves.k = 258;
  const product_net *once[] = {&nets[0], &narrow, &shallow, &low, &uneven, &halves};
  for (size_t k = 0; k < SEER_COUNT_OF(once); k++) {
    assert_true(difference(&seer_formulation_strassen, once[k], true, &tolerance) >= 0);
    assert_true(difference(&seer_formulation_strassen2, once[k], true, &tolerance) < 0);
  }
  seer_arena *arena = seer_arena_create("test");
  winograd_net windows = {.n = 1, .h = 8, .w = 8, .ic = 64, .oc = 64, .pad = 1};
  const seer_dag *dag = winograd_net_build(&windows, arena);
  assert_true(formulation_difference(&seer_formulation_strassen, dag, true, &tolerance) < 0);
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_equal), cmocka_unit_test(test_left_alone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
