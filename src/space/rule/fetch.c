// fetch.c - on a GPU, all items of a block copy what a tiled stage reads in one step of its
// outermost reduction loops into memory that they share (Ansor: AddCacheRead): every operand whose
// indices are sums, weights too. What an operand is made of element by element is inlined into the
// copy (inline.c). The copy's loops do not follow the axes: its elements are dealt out one after
// another (frame.h, FLAT). Beyond Ansor, weights lie in the block's memory, and packed before they
// are fetched (lower/pack.c), as items read them: neighbours of the output side by side; those of
// products of warps neighbours along the reduction, as words of two are already.
#include "space/rule.h"
#include "space/warps.h"

// Whether what a step reads of the buffer lies together: no index hangs on data.
static bool is_fetchable(const seer_dag *dag, uint32_t stage, uint32_t buf) {
  const seer_access_table *table = dag->access;
  bool moves = false;
  for (uint32_t k = table->first_load[stage]; k < table->first_load[stage + 1]; k++) {
    const seer_access *load = &table->load[k];
    for (uint32_t d = 0; load->buf == buf && d < load->rank; d++) {
      const seer_access_dim *dim = seer_access_index(table, load, d);
      if (dim->is_whole) return false;
      moves |= dim->moving != 0;
    }
  }
  return moves;
}

// By dimension of a buffer the axes of the stage that it moves with.
static void find_moving(const seer_dag *dag, uint32_t stage, uint32_t buf, uint64_t *out_moving) {
  const seer_access_table *table = dag->access;
  for (uint32_t k = table->first_load[stage]; k < table->first_load[stage + 1]; k++) {
    const seer_access *load = &table->load[k];
    for (uint32_t d = 0; load->buf == buf && d < load->rank; d++)
      out_moving[d] |= seer_access_index(table, load, d)->moving;
  }
}

// Ascending by key; those of equal ones stay in their order.
static void order_by(const uint64_t *key, uint32_t rank, uint8_t *out_order) {
  for (uint32_t n = 0; n < rank; n++) {
    uint32_t at = n;
    for (; at > 0 && key[out_order[at - 1]] > key[n]; at--) out_order[at] = out_order[at - 1];
    out_order[at] = (uint8_t)n;
  }
}

// The dimensions of a fetched buffer as they are to lie: those that only the reduction moves along
// first, then by the output's axes.
static void order_weights(const seer_dag *dag, uint32_t stage, uint32_t buf, uint8_t *out_order) {
  uint64_t key[SEER_MAX_RANK] = {0}, space = ((uint64_t)1 << dag->stage[stage].n_space) - 1;
  find_moving(dag, stage, buf, key);
  for (uint32_t d = 0; d < dag->buf[buf].rank; d++) key[d] &= space;
  order_by(key, dag->buf[buf].rank, out_order);
}

// For products of warps of f32, whose words are the elements: those along the reduction's innermost
// axis last, behind those that its other axes alone move along.
static void order_words(const seer_dag *dag, uint32_t stage, uint32_t buf, uint8_t *out_order) {
  const seer_dag_stage *s = &dag->stage[stage];
  uint32_t depth = (uint32_t)s->n_space + s->n_reduce;
  uint64_t key[SEER_MAX_RANK] = {0}, space = ((uint64_t)1 << s->n_space) - 1;
  while (depth-- > s->n_space && s->axis[depth].extent == 1) continue;
  find_moving(dag, stage, buf, key);
  for (uint32_t d = 0; d < dag->buf[buf].rank; d++)
    key[d] = key[d] & space ? 0 : key[d] >> depth & 1 ? 2 : 1;
  order_by(key, dag->buf[buf].rank, out_order);
}

static seer_rule_answer apply(
    const seer_rule_context *context, const seer_plan *plan, uint32_t stage) {
  if (!seer_plan_needs_tiling(plan, stage) || plan->stage[stage].is_read_cached)
    return SEER_RULE_SKIP;
  if (seer_plan_is_unfetched(context)) return SEER_RULE_SKIP;
  seer_plan *next = seer_plan_next(context, plan, stage, NULL);
  const seer_access_table *table = plan->dag->access;
  uint32_t axes[2];
  seer_warps_type warps = seer_warps_type_of(plan->dag, stage, context->target, axes);
  uint32_t n = 0, seen[SEER_DAG_MAX_BUFFERS], n_seen = 0;
  for (uint32_t k = table->first_load[stage]; k < table->first_load[stage + 1]; k++) {
    uint32_t buf = table->load[k].buf, same = 0;
    while (same < n_seen && seen[same] != buf) same++;
    if (same < n_seen) continue;
    seen[n_seen++] = buf;
    bool may = is_fetchable(plan->dag, stage, buf) && seer_plan_has_room(next);
    if (!may) continue;
    uint8_t order[SEER_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    bool is_packed = context->space == SEER_SPACE_FULL && seer_plan_is_weight(plan, buf);
    if (is_packed && warps == SEER_WARPS_NONE) order_weights(plan->dag, stage, buf, order);
    if (is_packed && warps == SEER_WARPS_TF32) order_words(plan->dag, stage, buf, order);
    seer_plan_cache_read(context, next, stage + n, buf, order, SEER_STAGE_FETCH);
    seer_plan_stage *copy = &next->stage[stage + n];
    copy->is_decided = true;
    copy->role = SEER_ROLE_FETCH;
    copy->place = SEER_PLAN_FETCHED;
    copy->partner = (uint8_t)(stage + ++n);
  }
  if (n == 0) return SEER_RULE_SKIP;
  next->signature =
      seer_arena_printf(context->arena, "%s/fetch(%s)", plan->signature, plan->stage[stage].prefix);
  next->cursor = stage + n + 1;
  seer_plan_push(context, next);
  return SEER_RULE_STOP;
}

extern const seer_rule seer_rule_fetch;
const seer_rule seer_rule_fetch = {"fetch",
    "a block's items copy what a tile reads into their memory", true, SEER_RULE_GPU, apply};
