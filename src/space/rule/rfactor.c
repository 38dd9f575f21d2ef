// rfactor.c - a reduction with few results is computed in parts that are combined once (Ansor:
// AddRfactor). In the space ansor as published, with lengths that are drawn (sketch/split.c). In
// the full one: chunks of the reduction side by side (parallel loops over a first axis), or lanes
// of its innermost index (a vector of partial results; contiguous reductions like a mean over
// channels or softmax's rows become plain vector code), or lanes within chunks, by a factor that
// follows from the target.
// On a GPU in the full space: a product's reduction in parts that blocks of the grid have, and a
// kernel that adds them up, where the results alone do not fill the device ("splitk";
// sketch/split_blocks.c).
#include "space/rule.h"

#define PARTS_PER_THREAD 4
// Results of a processor from which on blocks are enough without parts: a block of 256 items with
// 16 each, four times.
#define ENOUGH_RESULTS 16384
// Vectors of lanes side by side: hides the latency of an addition. They are added up to one before
// its lanes are, which go one after another.
#define LANE_VECTORS 4

// True if there is a load whose last index moves by one with the axis.
static bool is_contiguous(const seer_dag *dag, uint32_t stage, uint32_t axis) {
  const seer_access_table *table = dag->access;
  for (uint32_t k = table->first_load[stage]; k < table->first_load[stage + 1]; k++) {
    const seer_access *load = &table->load[k];
    if (load->rank == 0) continue;
    const seer_access_dim *last = seer_access_index(table, load, load->rank - 1u);
    if (seer_access_is_sum(last) && last->coef[axis] == 1) return true;
  }
  return false;
}

// The reduction axis that alone moves the outermost dimension of what the stage reads: threads that
// are cut along another axis read what others wrote (doc/decisions, 55). The end of the axes: none.
static uint32_t find_outermost(const seer_dag *dag, uint32_t stage) {
  const seer_access_table *table = dag->access;
  const seer_dag_stage *s = &dag->stage[stage];
  uint32_t end = (uint32_t)s->n_space + s->n_reduce, found = end;
  for (uint32_t k = table->first_load[stage]; k < table->first_load[stage + 1]; k++) {
    const seer_access *load = &table->load[k];
    const seer_dag_buf *buf = &dag->buf[load->buf];
    uint32_t d = 0;
    while (d < buf->rank && buf->dim[d] == 1) d++;
    if (buf->kind == SEER_BUF_WEIGHT || d == buf->rank) continue;
    const seer_access_dim *index = seer_access_index(table, load, d);
    uint32_t axis = end;
    for (uint32_t a = 0; a < end; a++) {
      if (!(index->moving >> a & 1)) continue;
      if (axis < end || a < s->n_space) return end;
      axis = a;
    }
    if (axis == end || (found < end && found != axis)) return end;
    found = axis;
  }
  return found;
}

static void decide(seer_plan *plan, uint32_t stage, seer_plan_place place) {
  plan->stage[stage].is_decided = true;
  plan->stage[stage].role = SEER_ROLE_SIMPLE;
  plan->stage[stage].place = place;
}

typedef struct {
  uint32_t axis;
  int64_t factor;  // 0: no cut
} cut;

// Into chunks, into lanes, or first into chunks and each of those into lanes. Parts of more than
// `most` lanes come to as many of their own before they come to one.
static void push(const seer_rule_context *context, const seer_plan *plan, uint32_t stage,
    cut chunks, cut lanes, int64_t most, int rank) {
  const char *name = !lanes.factor ? "chunks" : !chunks.factor ? "lanes" : "chunks+lanes";
  seer_plan *next = seer_plan_next(context, plan, stage, name);
  next->rank += rank;
  bool is_result = seer_plan_is_output(plan, stage) || plan->dag->access->readers[stage] == 0;
  uint32_t n_before = 0;  // axes in front of those that were
  if (chunks.factor) {
    seer_plan_rfactor(context, next, stage, chunks.axis, chunks.factor, false, "part");
    n_before = 1;
  }
  if (lanes.factor) {
    uint32_t axis = lanes.axis + n_before;
    seer_plan_rfactor(context, next, stage, axis, lanes.factor, true, "part");
    decide(next, stage++, SEER_PLAN_FREE);
    if (lanes.factor > most && seer_plan_has_room(next)) {
      seer_plan_rfactor(context, next, stage, next->dag->stage[stage].n_space, most, true, "lanes");
      decide(next, stage++, SEER_PLAN_FREE);
    }
  }
  if (chunks.factor) decide(next, stage++, SEER_PLAN_FREE);
  decide(next, stage, is_result ? SEER_PLAN_ROOT : SEER_PLAN_FREE);
  seer_plan_push(context, next);
}

// As published: all reduction axes are one, by its outer and by its inner part, of lengths that are
// drawn. Parts that would be tiled (products) are computed at the root.
static void push_split(const seer_rule_context *context, const seer_plan *plan, uint32_t stage,
    seer_plan_part part, int rank) {
  const char *name = part == SEER_PART_OUTER ? "rfactor@outer" : "rfactor@inner";
  bool is_result = seer_plan_is_output(plan, stage) || plan->dag->access->readers[stage] == 0;
  seer_plan *next = seer_plan_next(context, plan, stage, name);
  next->rank += rank;
  seer_plan_split_reduction(context, next, stage, part);
  decide(next, stage, seer_plan_needs_tiling(next, stage) ? SEER_PLAN_ROOT : SEER_PLAN_FREE);
  decide(next, stage + 1, is_result ? SEER_PLAN_ROOT : SEER_PLAN_FREE);
  seer_plan_push(context, next);
}

// Of its reduction axes with more than one value; there are such.
static uint32_t innermost(const seer_dag_stage *s) {
  uint32_t axis = (uint32_t)s->n_space + s->n_reduce - 1;
  while (s->axis[axis].extent == 1) axis--;
  return axis;
}

// Ansor's NeedsRfactor.
static bool is_needed(const seer_rule_context *context, const seer_plan *plan, uint32_t stage) {
  int64_t threads = (int64_t)context->target->threads, space = seer_plan_space(plan, stage),
          reduce = seer_plan_reduce(plan, stage);
  if (reduce == 1 || plan->stage[stage].is_rewritten) return false;
  return seer_plan_needs_tiling(plan, stage) ? space <= reduce && space <= 16 * threads
                                             : reduce > threads;
}

static seer_rule_answer apply_ansor(
    const seer_rule_context *context, const seer_plan *plan, uint32_t stage) {
  if (!seer_plan_may_split(plan, stage)) return SEER_RULE_SKIP;
  bool has_contiguous = is_contiguous(plan->dag, stage, innermost(&plan->dag->stage[stage]));
  push_split(context, plan, stage, SEER_PART_INNER, has_contiguous ? -1 : 1);
  push_split(context, plan, stage, SEER_PART_OUTER, 2);
  return SEER_RULE_GO_ON;
}

static seer_rule_answer apply(
    const seer_rule_context *context, const seer_plan *plan, uint32_t stage) {
  if (!is_needed(context, plan, stage)) return SEER_RULE_SKIP;
  if (context->space == SEER_SPACE_ANSOR) return apply_ansor(context, plan, stage);
  const seer_dag_stage *s = &plan->dag->stage[stage];
  bool is_plain = s->combiner == SEER_COMBINE_SUM || s->combiner == SEER_COMBINE_PROD ||
      s->combiner == SEER_COMBINE_MAX || s->combiner == SEER_COMBINE_MIN;
  bool may = is_plain && s->n_values == 1 && seer_plan_has_room(plan) &&
      s->n_space < SEER_MAX_RANK && s->n_space + s->n_reduce < SEER_DAG_MAX_AXES;
  if (!may) return SEER_RULE_SKIP;
  int64_t threads = (int64_t)context->target->threads, space = seer_plan_space(plan, stage);
  uint32_t inner = innermost(s), longest = s->n_space;
  for (uint32_t a = s->n_space; a < (uint32_t)s->n_space + s->n_reduce; a++)
    if (s->axis[a].extent > s->axis[longest].extent) longest = a;
  bool has_contiguous = is_contiguous(plan->dag, stage, inner), made = false;
  uint32_t elem_bytes = seer_dtype_bytes(plan->dag->buf[s->out[0]].dtype);
  int64_t lanes = seer_max_i64(context->target->vector_bytes / elem_bytes, 1);
  int64_t extent = s->axis[inner].extent, factor = seer_min_i64(lanes, extent);
  if (extent >= 4 * LANE_VECTORS * lanes) factor = LANE_VECTORS * lanes;
  if (has_contiguous && extent >= lanes) {
    push(context, plan, stage, (cut){0, 0}, (cut){inner, factor}, lanes, -1);
    made = true;
  }
  uint32_t end = (uint32_t)s->n_space + s->n_reduce,
           outermost = threads < 2 ? end : find_outermost(plan->dag, stage);
  if (outermost < end) longest = outermost;
  int64_t chunks = seer_min_i64(PARTS_PER_THREAD * threads, s->axis[longest].extent);
  if (chunks > 1 && (space < PARTS_PER_THREAD * threads || outermost < end)) {
    push(context, plan, stage, (cut){longest, chunks}, (cut){0, 0}, 0, 2);
    made = true;
    // Each thread its own rows, as vectors: where chunks leave enough of the innermost axis.
    int64_t left = longest == inner ? extent / chunks : extent;
    bool are_vectors = threads > 1 && has_contiguous && left >= factor &&
        plan->dag->n_stage + 1 < SEER_DAG_MAX_STAGES && s->n_space + 1 < SEER_MAX_RANK &&
        s->n_space + s->n_reduce + 1 < SEER_DAG_MAX_AXES &&
        plan->dag->n_buf + 2 * SEER_DAG_MAX_VALUES <= SEER_DAG_MAX_BUFFERS;
    if (are_vectors)
      push(context, plan, stage, (cut){longest, chunks}, (cut){inner, factor}, lanes, 2);
  }
  return made ? SEER_RULE_GO_ON : SEER_RULE_SKIP;
}

extern const seer_rule seer_rule_rfactor;
const seer_rule seer_rule_rfactor = {
    "rfactor", "a reduction in parts that are combined once", true, SEER_RULE_CPU, apply};

// Of its reduction axes the longest one; of equal ones the first, along which most lies.
static uint32_t longest_axis(const seer_dag_stage *s) {
  uint32_t longest = s->n_space;
  for (uint32_t a = s->n_space; a < (uint32_t)s->n_space + s->n_reduce; a++)
    if (s->axis[a].extent > s->axis[longest].extent) longest = a;
  return longest;
}

static seer_rule_answer apply_blocks(
    const seer_rule_context *context, const seer_plan *plan, uint32_t stage) {
  const seer_dag_stage *s = &plan->dag->stage[stage];
  const seer_plan_stage *p = &plan->stage[stage];
  if (s->n_reduce == 0 || p->is_rewritten || p->is_read_cached || p->part != SEER_PART_NONE ||
      !seer_plan_needs_tiling(plan, stage))
    return SEER_RULE_SKIP;
  int64_t enough = (int64_t)ENOUGH_RESULTS * context->target->gpu.n_processors;
  uint32_t axis = longest_axis(s);
  if (seer_plan_space(plan, stage) > enough || !seer_plan_may_split_blocks(plan, stage, axis))
    return SEER_RULE_SKIP;
  bool is_taken_in = seer_plan_fusable_reader(plan, stage) >= 0;
  seer_plan *next = seer_plan_next(context, plan, stage, "splitk");
  next->rank += 3;  // behind all that need one kernel
  seer_plan_split_blocks(context, next, stage, axis);
  next->cursor = stage + 1;  // the parts are next
  seer_plan_stage *sum = &next->stage[stage + 1];
  bool is_result =
      seer_plan_is_output(next, stage + 1) || next->dag->access->readers[stage + 1] == 0;
  sum->is_decided = true;
  sum->role = is_taken_in ? SEER_ROLE_INLINE : SEER_ROLE_SIMPLE;
  sum->place = is_result ? SEER_PLAN_ROOT : SEER_PLAN_FREE;
  seer_plan_push(context, next);
  return SEER_RULE_GO_ON;
}

extern const seer_rule seer_rule_splitk;
const seer_rule seer_rule_splitk = {"splitk",
    "a product's reduction in parts over the grid, and a kernel that adds them up", false,
    SEER_RULE_GPU, apply_blocks};
