// cache_read.c - copies an activation operand of a tiled stage into the order in which the tile
// reads it; where (panel or whole) is the copy's location knob. Two cases are worth a sketch:
//   - the vector axis runs along another dimension than the contiguous one (a transposed operand,
//     as in Q K^T): it is made last;
//   - rows a power of two apart (1 KiB steps from 2 KiB on) share cache sets: a register tile of 14
//     rows falls from 109 to 71-77 GFLOP/s, packed it reaches 96-109 (measured on a product of
//     matrices): the row axis is made last.
// Weights are never packed here: that happens when compiling.
#include "space/rule.h"

#define POISON_BYTES 1024
#define POISON_MIN_BYTES 2048

#define MAX_OPERANDS 4

static uint32_t list_operands(const seer_dag *dag, uint32_t stage, const seer_access **out) {
  const seer_access_table *table = dag->access;
  uint32_t n = 0;
  for (uint32_t k = table->first_load[stage]; k < table->first_load[stage + 1]; k++) {
    const seer_access *load = &table->load[k];
    const seer_dag_buf *buf = &dag->buf[load->buf];
    if (buf->kind != SEER_BUF_ACTIVATION || load->is_guarded || buf->rank < 2) continue;
    uint32_t same = 0;  // of two different loads of one buffer the first
    while (same < n && out[same]->buf != load->buf) same++;
    if (same == n && n < MAX_OPERANDS) out[n++] = load;
  }
  return n;
}

// The dimension that should be last; -1: as it is.
static int wanted_last(const seer_dag *dag, uint32_t stage, const seer_access *load) {
  const seer_dag_stage *s = &dag->stage[stage];
  const seer_dag_buf *buf = &dag->buf[load->buf];
  int vector_axis = -1, row_axis = -1, vector_dim = -1, row_dim = -1;
  for (uint32_t a = s->n_space; a-- > 0;) {
    if (s->axis[a].extent == 1) continue;
    if (vector_axis < 0) {
      vector_axis = (int)a;
    } else if (row_axis < 0) {
      row_axis = (int)a;
    }
  }
  for (uint32_t d = 0; d < load->rank; d++) {
    const seer_access_dim *dim = seer_access_index(dag->access, load, d);
    if (!seer_access_is_sum(dim)) return -1;
    if (vector_axis >= 0 && (dim->moving >> vector_axis & 1)) vector_dim = (int)d;
    if (row_axis >= 0 && (dim->moving >> row_axis & 1)) row_dim = (int)d;
  }
  int last = (int)buf->rank - 1;
  if (vector_dim >= 0) return vector_dim == last ? -1 : vector_dim;
  int64_t row_bytes = buf->pitch * (int64_t)seer_dtype_bytes(buf->dtype);
  bool is_poison = row_bytes >= POISON_MIN_BYTES && row_bytes % POISON_BYTES == 0;
  return is_poison && row_dim >= 0 && row_dim != last ? row_dim : -1;
}

static seer_rule_answer apply(
    const seer_rule_context *context, const seer_plan *plan, uint32_t stage) {
  // Before cache-write, not after it: both orders would be the same sketch twice.
  const seer_plan_stage *p = &plan->stage[stage];
  bool may = seer_plan_needs_tiling(plan, stage) && !p->is_read_cached && !p->is_rewritten &&
      seer_plan_has_room(plan);
  if (!may) return SEER_RULE_SKIP;
  const seer_access *operand[MAX_OPERANDS];
  uint32_t n_operand = list_operands(plan->dag, stage, operand);
  bool made = false;
  for (uint32_t k = 0; k < n_operand; k++) {
    int last = wanted_last(plan->dag, stage, operand[k]);
    if (last < 0) continue;
    uint32_t buf = operand[k]->buf;
    uint8_t order[SEER_MAX_RANK], n = 0;
    for (uint8_t d = 0; d < plan->dag->buf[buf].rank; d++) {
      if (d != last) order[n++] = d;
    }
    order[n] = (uint8_t)last;
    seer_plan *next = seer_plan_next(context, plan, stage, NULL);
    next->signature = seer_arena_printf(
        context->arena, "%s/cacheread(%s)", plan->signature, plan->dag->buf[buf].name);
    next->cursor = stage + 2;
    next->rank += 2;
    seer_plan_cache_read(context, next, stage, buf, order, SEER_STAGE_PACK);
    seer_plan_stage *copy = &next->stage[stage];
    copy->is_decided = true;
    copy->role = SEER_ROLE_SIMPLE;
    copy->place = SEER_PLAN_FREE;
    seer_plan_push(context, next);
    made = true;
  }
  return made ? SEER_RULE_GO_ON : SEER_RULE_SKIP;
}

extern const seer_rule seer_rule_cache_read;
const seer_rule seer_rule_cache_read = {
    "cacheread", "an activation operand is packed in read order", false, SEER_RULE_CPU, apply};
