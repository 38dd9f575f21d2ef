// formulation_check.c - see formulation_check.h.
#include "support/formulation_check.h"

#include <math.h>

#include "base/rng.h"
#include "support/test.h"

static seer_dag_eval *evaluator(const seer_dag *dag, void *const *input, seer_arena *arena) {
  seer_dag_eval *eval = seer_dag_eval_create(dag, arena);
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (dag->buf[b].kind != SEER_BUF_STAGE) seer_dag_eval_set_input(eval, b, input[b]);
  }
  return eval;
}

static void *operand(const seer_dag_buf *buf, bool is_integer, seer_rng *rng, seer_arena *arena) {
  int64_t n = seer_dag_buf_elems(buf);
  void *data = seer_arena_alloc(arena, (size_t)n * seer_dtype_bytes(buf->dtype), 64);
  for (int64_t k = 0; k < n; k++) {
    bool is_end = seer_rng_chance(rng, 0.25), is_high = seer_rng_chance(rng, 0.5);
    if (seer_dtype_is_float(buf->dtype))
      seer_dtype_store_f64(buf->dtype, data, k,
          is_integer ? (double)seer_rng_range(rng, -3, 3) : 2 * seer_rng_f64(rng) - 1);
    else if (is_end)
      seer_scalar_store(buf->dtype, data, k,
          is_high ? seer_scalar_highest(buf->dtype) : seer_scalar_lowest(buf->dtype));
    else
      seer_dtype_store_i64(
          buf->dtype, data, k, seer_scalar_wrap(buf->dtype, (int64_t)seer_rng_u64(rng)));
  }
  return data;
}

static bool next_place(const seer_dag_buf *buf, int64_t *at) {
  for (uint32_t d = buf->rank; d-- > 0;) {
    if (++at[d] < buf->dim[d]) return true;
    at[d] = 0;
  }
  return false;
}

double formulation_difference(const seer_formulation *formulation, const seer_dag *dag,
    bool is_integer, double *out_tolerance) {
  seer_arena *arena = seer_arena_create("test");
  seer_target target = {.vector_bytes = 16, .threads = 1};
  const seer_dag *other = formulation->make(dag, &target, arena, out_tolerance);
  if (!other) {
    seer_arena_destroy(arena);
    return -1;
  }
  void *input[SEER_DAG_MAX_BUFFERS] = {NULL};
  seer_rng rng;
  seer_rng_init(&rng, 7);
  uint32_t out = 0;
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    const seer_dag_buf *buf = &dag->buf[b];
    if (buf->is_output) out = b;
    if (buf->kind != SEER_BUF_STAGE) input[b] = operand(buf, is_integer, &rng, arena);
  }
  assert_true(other->buf[out].is_output);
  seer_dag_eval *want = evaluator(dag, input, arena), *got = evaluator(other, input, arena);
  int64_t at[SEER_MAX_RANK] = {0};
  double worst = 0, largest = 0;
  do {
    double w = seer_dag_eval_at(want, out, at), g = seer_dag_eval_at(got, out, at);
    worst = fmax(worst, fabs(w - g));
    largest = fmax(largest, fabs(w));
  } while (next_place(&dag->buf[out], at));
  seer_arena_destroy(arena);
  return worst / largest;
}
