// formulation_check.c - see formulation_check.h.
#include "support/formulation_check.h"

#include <math.h>
#include <string.h>

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

// All that the interpreter gives for buffer `buf`, as it lies in memory.
static void *memory_of(const seer_dag *dag, void *const *input, uint32_t buf, seer_arena *arena) {
  size_t n_bytes =
      (size_t)seer_dag_buf_elems(&dag->buf[buf]) * seer_dtype_bytes(dag->buf[buf].dtype);
  void *data = seer_arena_alloc(arena, n_bytes, 64);
  memset(data, 0, n_bytes);
  seer_dag_eval_all(evaluator(dag, input, arena), buf, data);
  return data;
}

static int64_t offset_of(const seer_dag_buf *buf, const int64_t *at) {
  int64_t offset = 0;
  for (uint32_t d = 0; d < buf->rank; d++)
    offset = offset * (d + 1u == buf->rank ? buf->pitch : buf->dim[d]) + at[d];
  return offset;
}

double formulation_difference(const seer_formulation *formulation, const seer_dag *dag,
    bool is_integer, double *out_tolerance) {
  const seer_target target = {.vector_bytes = 16, .threads = 1};
  return formulation_difference_on(&target, formulation, dag, is_integer, out_tolerance);
}

double formulation_difference_on(const seer_target *target, const seer_formulation *formulation,
    const seer_dag *dag, bool is_integer, double *out_tolerance) {
  seer_arena *arena = seer_arena_create("test");
  const seer_dag *other = formulation->make(dag, target, arena, out_tolerance);
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
  const void *want = memory_of(dag, input, out, arena), *got = memory_of(other, input, out, arena);
  const seer_dag_buf *buf = &dag->buf[out];
  int64_t at[SEER_MAX_RANK] = {0};
  double worst = 0, largest = 0;
  do {
    int64_t k = offset_of(buf, at);
    double w = seer_dtype_load_f64(buf->dtype, want, k),
           g = seer_dtype_load_f64(buf->dtype, got, k);
    worst = fmax(worst, fabs(w - g));
    largest = fmax(largest, fabs(w));
  } while (next_place(buf, at));
  seer_arena_destroy(arena);
  return worst / largest;
}
