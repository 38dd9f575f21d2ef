// test_strassen.c - Strassen's formulation computes what the direct product computes: an odd number
// of rows, rows that are pixels or images, both orders of weights; to the bit on small integers.
// What is no such product, or too small for it, is left alone.
#include "support/formulation_check.h"
#include "support/product_net.h"
#include "support/test.h"
#include "support/winograd_net.h"

extern const seer_formulation seer_formulation_strassen;

static double difference(const product_net *net, bool is_integer, double *out_tolerance) {
  seer_arena *arena = seer_arena_create("test");
  double d = formulation_difference(
      &seer_formulation_strassen, product_net_build(net, arena), is_integer, out_tolerance);
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

static void test_equal(void **state) {
  (void)state;
  for (size_t k = 0; k < SEER_COUNT_OF(nets); k++) {
    double tolerance = 0;
    assert_true(difference(&nets[k], true, &tolerance) == 0);
    double d = difference(&nets[k], false, &tolerance);
    assert_true(d > 0 && d <= tolerance / 10);
  }
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
    assert_true(difference(alone[k], true, &tolerance) < 0);
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
