// test_winograd.c - the Winograd formulations compute what the direct DAG computes: odd extents,
// hanging tiles, all paddings, both strides; those of tiles of 2 to the bit on small integers; what
// is no such convolution is left alone.
#include <string.h>

#include "space/sketch.h"
#include "support/formulation_check.h"
#include "support/test.h"
#include "support/test_target.h"
#include "support/winograd_net.h"

extern const seer_formulation seer_formulation_winograd2, seer_formulation_winograd4,
    seer_formulation_winograd2s;

static double difference(const seer_formulation *formulation, const winograd_net *net,
    bool is_integer, double *out_tolerance) {
  seer_arena *arena = seer_arena_create("test");
  double d = formulation_difference(
      formulation, winograd_net_build(net, arena), is_integer, out_tolerance);
  seer_arena_destroy(arena);
  return d;
}

static const winograd_net nets[] = {
    {.n = 1, .h = 8, .w = 8, .ic = 8, .oc = 8, .pad = 1},
    {.n = 1, .h = 13, .w = 11, .ic = 9, .oc = 10, .pad = 1, .has_epilogue = true},
    {.n = 2, .h = 7, .w = 7, .ic = 8, .oc = 8, .pad = 1, .has_epilogue = true},
    {.n = 1, .h = 9, .w = 14, .ic = 8, .oc = 8, .pad = 0},
    {.n = 1, .h = 6, .w = 5, .ic = 8, .oc = 8, .pad = 2, .is_hwio = true},
    {.n = 1, .h = 16, .w = 16, .ic = 8, .oc = 8, .pad = 1, .stride = 2},
    {.n = 2, .h = 13, .w = 18, .ic = 9, .oc = 10, .pad = 1, .stride = 2, .has_epilogue = true},
    {.n = 1, .h = 17, .w = 19, .ic = 8, .oc = 8, .pad = 0, .stride = 2, .is_hwio = true},
};

static void test_equal(void **state) {
  (void)state;
  for (size_t k = 0; k < SEER_COUNT_OF(nets); k++) {
    bool is_strided = nets[k].stride == 2;
    const seer_formulation *by2 =
        is_strided ? &seer_formulation_winograd2s : &seer_formulation_winograd2;
    double tolerance = 0;
    assert_true(difference(by2, &nets[k], true, &tolerance) == 0);
    double d = difference(by2, &nets[k], false, &tolerance);
    assert_true(d >= 0 && d <= tolerance / 10);
    if (is_strided) continue;
    d = difference(&seer_formulation_winograd4, &nets[k], false, &tolerance);
    assert_true(d >= 0 && d <= tolerance / 10);
  }
}

static void test_left_alone(void **state) {
  (void)state;
  double tolerance;
  winograd_net strided = nets[0], thin = nets[0], tiny = nets[0];
  strided.stride = 2;
  assert_true(difference(&seer_formulation_winograd4, &strided, true, &tolerance) < 0);
  assert_true(difference(&seer_formulation_winograd2s, &nets[0], true, &tolerance) < 0);
  strided.stride = 3;
  assert_true(difference(&seer_formulation_winograd2s, &strided, true, &tolerance) < 0);
  thin.ic = 3;
  assert_true(difference(&seer_formulation_winograd4, &thin, true, &tolerance) < 0);
  tiny.h = tiny.w = 1;  // one tile of 36 products for 9
  assert_true(difference(&seer_formulation_winograd4, &tiny, true, &tolerance) < 0);
}

// In the space ansor beside the direct one, as TVM has it: more than 64 and fewer than 512 output
// channels, stride 1.
static uint32_t count_sketches(const winograd_net *net, const char *formulation) {
  seer_arena *arena = seer_arena_create("test");
  seer_sketch_list *list;
  must(seer_sketch_generate(
      winograd_net_build(net, arena), &test_target_wide, SEER_SPACE_ANSOR, arena, &list));
  uint32_t n = 0;
  for (uint32_t k = 0; k < list->n; k++) {
    bool is_known = strcmp(list->sketch[k]->formulation, "direct") == 0 ||
        strcmp(list->sketch[k]->formulation, "winograd4") == 0;
    assert_true(is_known);
    n += strcmp(list->sketch[k]->formulation, formulation) == 0;
    seer_schedule s;
    seer_rng rng;
    seer_rng_init(&rng, k);
    assert_int_equal(seer_schedule_sample(list, k, &rng, &s, NULL), SEER_REJECT_NONE);
  }
  seer_arena_destroy(arena);
  return n;
}

static void test_ansor_space(void **state) {
  (void)state;
  static const struct {
    uint32_t oc, stride;
    bool has_winograd;
  } cases[] = {{64, 1, false}, {65, 1, true}, {128, 1, true}, {511, 1, true}, {512, 1, false},
      {128, 2, false}};
  for (size_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    winograd_net net = {.n = 1, .h = 14, .w = 14, .ic = 16, .pad = 1, .has_epilogue = true};
    net.oc = cases[k].oc;
    net.stride = cases[k].stride;
    assert_true(count_sketches(&net, "direct") > 0);
    assert_int_equal(count_sketches(&net, "winograd4") > 0, cases[k].has_winograd);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_equal),
      cmocka_unit_test(test_left_alone), cmocka_unit_test(test_ansor_space)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
