// gpu_measured.c - see gpu_measured.h.
#include "support/gpu_measured.h"

#include <stdlib.h>
#include <string.h>

#include "learn/feature.h"
#include "space/frame.h"

// What is written here is right.
static void must_be(seer_status status) { SEER_ASSERT(!status, "%s", seer_status_message(status)); }

// In parts of K, the operands lie part by part.
seer_dag *gpu_measured_dag(const gpu_measured *p, seer_arena *arena) {
  const char *whole =
      "dag product {\n  input $A f32[%u, %u]\n  weight $B f32[%u, %u]\n"
      "  stage C role anchor [m:m<%u, n:n<%u] sum[k:k<%u] = $A[m, k] * $B[k, n]\n  output $C\n}\n";
  const char *parts =
      "dag product {\n  input $A f32[%u, %u, %u]\n  weight $B f32[%u, %u, %u]\n"
      "  stage P role anchor [s:batch<%u, m:m<%u, n:n<%u] sum[k:k<%u] = $A[s, m, k] * $B[s, k, n]\n"
      "  stage C role anchor [m:m<%u, n:n<%u] sum[s:other<%u] = $P[s, m, n]\n  output $C\n}\n";
  uint32_t s = p->split, k = (p->k + s - 1) / s;
  const char *text = s == 1
      ? seer_arena_printf(arena, whole, p->m, k, k, p->n, p->m, p->n, k)
      : seer_arena_printf(arena, parts, s, p->m, k, s, k, p->n, s, p->m, p->n, k, p->m, p->n, s);
  seer_dag *dag;
  must_be(seer_dag_parse("measured", text, strlen(text), arena, &dag));
  must_be(seer_dag_verify(dag));
  return dag;
}

static uint16_t value_of(const seer_sketch_list *list, const seer_knob *knob, uint32_t number) {
  for (uint16_t v = 0; v < knob->n_values; v++)
    if (seer_knob_number(list, knob, v) == number) return v;
  return 0;
}

// Which operand a fetch brings: the first one of the product, or the second.
static bool is_of_weights(const seer_dag *dag, uint32_t stage) {
  const seer_expr_node *body = seer_expr_at(&dag->expr, dag->stage[stage].body[0]);
  return dag->buf[body->ref].kind == SEER_BUF_WEIGHT;
}

static void set_knob(const gpu_measured *p, const seer_sketch_list *list, const seer_sketch *sketch,
    const seer_knob *knob, uint16_t *out) {
  const seer_sketch_stage *stage = &sketch->stage[knob->stage];
  const seer_dag_stage *dag = &sketch->dag->stage[knob->stage];
  bool is_fetch = stage->role == SEER_ROLE_FETCH;
  bool is_b = is_fetch && is_of_weights(sketch->dag, knob->stage);
  if (knob->kind == SEER_KNOB_WIDTH && is_fetch)
    *out = value_of(list, knob, is_b ? p->wide_b : p->wide_a);
  if (knob->kind == SEER_KNOB_PAD) *out = value_of(list, knob, is_b ? p->pad_b : p->pad_a);
  if (knob->kind != SEER_KNOB_FACTOR || stage->role != SEER_ROLE_TILED) return;
  if (knob->is_reduce) {
    *out = (uint16_t)p->of_k[knob->level - 1];
    return;
  }
  uint32_t from_last = dag->n_space - 1u - knob->axis;
  const uint32_t *of = from_last == 0 ? p->of_n : from_last == 1 ? p->of_m : NULL;
  *out = of ? (uint16_t)of[knob->level - 1] : 1;
}

// A's tile by depth: its rows are columns.
static void turn(const seer_sketch *sketch, seer_nest *nest, uint32_t pad) {
  for (uint32_t i = 0; i < nest->n_statement; i++) {
    seer_nest_statement *st = &nest->statement[i];
    for (uint32_t a = 0; a < st->n_access; a++) {
      seer_nest_access *x = &st->access[a];
      if (x->storage != SEER_NEST_LOCAL) continue;
      if (is_of_weights(sketch->dag, sketch->dag->buf[x->buf].stage)) continue;
      uint8_t last = (uint8_t)(x->rank - 1), before = (uint8_t)(x->rank - 2);
      int64_t dim = x->dim[last];
      x->dim[last] = x->dim[before];
      x->dim[before] = dim;
      x->row_pitch = x->dim[last] + pad;
      for (uint32_t l = 0; l < st->n_loop; l++)
        if (x->loop_dim[l] == last || x->loop_dim[l] == before)
          x->loop_dim[l] = x->loop_dim[l] == last ? before : last;
    }
  }
}

static void limit_copies(const gpu_measured *p, seer_nest *nest) {
  uint32_t sums = p->of_m[0] * p->of_m[2] * p->of_m[3] * p->of_n[0] * p->of_n[2] * p->of_n[3];
  uint32_t limit = p->unroll / sums > p->of_k[1] ? p->unroll / sums : p->of_k[1];
  for (uint32_t i = 0; i < nest->n_statement; i++)
    if (nest->statement[i].is_reduction && nest->statement[i].dealt.n_steps == 0)
      nest->statement[i].max_unroll = (uint16_t)limit;
}

bool gpu_measured_profile(const gpu_measured *p, const seer_target *target,
    seer_kernel_profile *out_kernels, uint32_t *out_n) {
  seer_arena *arena = seer_arena_create("measured");
  seer_sketch_list *list;
  must_be(seer_sketch_generate(gpu_measured_dag(p, arena), target, SEER_SPACE_FULL, arena, &list));
  seer_schedule schedule;
  seer_schedule_default(list, 0, &schedule);
  const seer_sketch *sketch = list->sketch[0];
  for (uint32_t k = 0; k < sketch->n_knob; k++)
    set_knob(p, list, sketch, &sketch->knob[k], &schedule.knob[k]);
  seer_frame *frame = SEER_NEW(arena, seer_frame);
  seer_frame_normalise(list, &schedule, frame);
  seer_nest *nest = SEER_NEW(arena, seer_nest);
  seer_nest_make(seer_nest_facts_build(list, arena), frame, nest);
  if (p->by_depth) turn(sketch, nest, p->pad_a);
  limit_copies(p, nest);
  *out_n = seer_profile_kernels(nest, target, out_kernels);
  out_kernels[0].ahead = p->ahead;
  out_kernels[0].workgroup_bytes *= 1 + p->ahead;
  seer_profile_residence(&target->gpu, &out_kernels[0]);
  uint32_t items = p->of_m[1] * p->of_n[1];
  bool is_it = out_kernels[0].steps > 0 && out_kernels[0].items == items;
  seer_arena_destroy(arena);
  return is_it;
}

// ---- ranks

typedef struct {
  double value;
  uint32_t at;
} ranked;

static int by_value(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->value != y->value) return x->value < y->value ? -1 : 1;
  return x->at < y->at ? -1 : 1;
}

static double *ranks_of(const double *values, uint32_t n) {
  ranked *order = calloc(n + 1, sizeof *order);
  double *rank = calloc(n + 1, sizeof *rank);
  for (uint32_t i = 0; i < n; i++) order[i] = (ranked){values[i], i};
  qsort(order, n, sizeof *order, by_value);
  for (uint32_t i = 0; i < n; i++) rank[order[i].at] = i;
  free(order);
  return rank;
}

double gpu_measured_rank(const double *a, const double *b, uint32_t n) {
  double *x = ranks_of(a, n), *y = ranks_of(b, n), sum = 0;
  for (uint32_t i = 0; i < n; i++) sum += (x[i] - y[i]) * (x[i] - y[i]);
  free(x);
  free(y);
  return 1 - 6 * sum / ((double)n * ((double)n * n - 1));
}
