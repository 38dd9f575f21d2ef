// test_winograd.c - the Winograd formulations compute what the direct DAG computes: odd extents,
// hanging tiles, all paddings, both strides; those of tiles of 2 to the bit on small integers; what
// is no such convolution is left alone.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "space/formulation.h"
#include "support/test.h"
#include "support/winograd_net.h"

extern const seer_formulation seer_formulation_winograd2, seer_formulation_winograd4,
    seer_formulation_winograd2s;

static seer_dag_eval *evaluator(const seer_dag *dag, float *const *input, seer_arena *arena) {
  seer_dag_eval *eval = seer_dag_eval_create(dag, arena);
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (dag->buf[b].kind != SEER_BUF_STAGE) seer_dag_eval_set_input(eval, b, input[b]);
  }
  return eval;
}

// Largest difference, relative to the largest output.
static double difference(const seer_formulation *formulation, const winograd_net *net,
    bool is_integer, double *out_tolerance) {
  seer_arena *arena = seer_arena_create("test");
  seer_target target = {.vector_bytes = 16, .threads = 1};
  seer_dag *dag = winograd_net_build(net, arena);
  const seer_dag *other = formulation->make(dag, &target, arena, out_tolerance);
  if (!other) {
    seer_arena_destroy(arena);
    return -1;
  }
  float *input[SEER_DAG_MAX_BUFFERS] = {NULL};
  seer_rng rng;
  seer_rng_init(&rng, 7);
  uint32_t out = 0;
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    const seer_dag_buf *buf = &dag->buf[b];
    if (buf->is_output) out = b;
    if (buf->kind == SEER_BUF_STAGE) continue;
    int64_t n = seer_dag_buf_elems(buf);
    input[b] = SEER_NEW_ARRAY(arena, float, (size_t)n);
    for (int64_t k = 0; k < n; k++) {
      input[b][k] = is_integer ? (float)((int64_t)seer_rng_below(&rng, 7) - 3)
                               : (float)(2 * seer_rng_f64(&rng) - 1);
    }
  }
  assert_true(other->buf[out].is_output);
  seer_dag_eval *want = evaluator(dag, input, arena), *got = evaluator(other, input, arena);
  const int64_t *dim = dag->buf[out].dim;
  double worst = 0, largest = 0;
  for (int64_t y = 0; y < dim[1]; y++) {
    for (int64_t x = 0; x < dim[2]; x++) {
      for (int64_t c = 0; c < dim[3]; c += 3) {
        int64_t at[4] = {dim[0] - 1, y, x, c};
        double w = seer_dag_eval_at(want, out, at), g = seer_dag_eval_at(got, out, at);
        worst = fmax(worst, fabs(w - g));
        largest = fmax(largest, fabs(w));
      }
    }
  }
  seer_arena_destroy(arena);
  return worst / largest;
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_equal), cmocka_unit_test(test_left_alone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
