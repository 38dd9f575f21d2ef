// sketch.c - DAG -> sketches. For every formulation the rules walk the stages from the last to the first (a depth-first
// search over half-made plans, as in Ansor 4.1); each finished plan becomes a sketch. The list is sorted by what is likely
// to be good without any search, so that sketch 0 is a sane choice.
#include <string.h>

#include "space/formulation.h"
#include "space/rule.h"

// More sketches than this of one formulation are not made: the first in rule order are kept.
#define MAX_SKETCHES 64

const uint16_t seer_unroll_limits[] = {1, 4, 16, 64};
const size_t seer_unroll_limits_count = SEER_COUNT_OF(seer_unroll_limits);

static const char *const reject_names[SEER_REJECT_COUNT] = {"none", "registers", "local-bytes", "too-many-parts",
    "padding", "no-match", "unroll", "duplicate", "space"};

const char *seer_reject_name(seer_reject reject) { return reject_names[reject]; }

typedef struct {
  const seer_sketch *sketch;
  int rank;
} ranked;

struct seer_rule_run {
  uint32_t n;
  ranked made[MAX_SKETCHES];
};

// ---- what rules ask of a plan

bool seer_plan_is_output(const seer_plan *plan, uint32_t stage) {
  const seer_dag_stage *s = &plan->dag->stage[stage];
  for (uint32_t v = 0; v < s->n_values; v++) {
    if (plan->dag->buf[s->out[v]].is_output) return true;
  }
  return false;
}

static void follow_readers(const seer_plan *plan, uint32_t stage, uint64_t *readers, bool *is_elementwise) {
  for (uint32_t c = stage + 1; c < plan->dag->n_stage; c++) {
    if (!(plan->access->readers[stage] >> c & 1)) continue;
    if (!seer_access_is_elementwise(plan->access, plan->dag, stage, c)) *is_elementwise = false;
    if (plan->stage[c].is_decided && plan->stage[c].role == SEER_ROLE_INLINE) {
      follow_readers(plan, c, readers, is_elementwise);
    } else {
      *readers |= (uint64_t)1 << c;
    }
  }
}

uint64_t seer_plan_readers(const seer_plan *plan, uint32_t stage, bool *out_elementwise) {
  uint64_t readers = 0;
  bool is_elementwise = true;
  follow_readers(plan, stage, &readers, &is_elementwise);
  if (out_elementwise) *out_elementwise = is_elementwise;
  return readers;
}

int seer_plan_fusable_reader(const seer_plan *plan, uint32_t stage) {
  bool is_elementwise;
  uint64_t readers = seer_plan_readers(plan, stage, &is_elementwise);
  if (seer_plan_is_output(plan, stage) || !is_elementwise || readers == 0 || (readers & (readers - 1)) != 0) return -1;
  int reader = __builtin_ctzll(readers);
  const seer_plan_stage *s = &plan->stage[reader];
  bool is_free = s->is_decided && s->role == SEER_ROLE_SIMPLE && s->partner == SEER_NO_STAGE;
  return is_free && plan->dag->stage[reader].n_reduce == 0 ? reader : -1;
}

bool seer_plan_needs_tiling(const seer_plan *plan, uint32_t stage) {
  return seer_dag_needs_tiling(plan->dag, stage);
}

static int64_t product(const seer_dag_axis *axis, uint32_t n) {
  int64_t product = 1;
  for (uint32_t k = 0; k < n; k++) product *= axis[k].extent;
  return product;
}

int64_t seer_plan_space(const seer_plan *plan, uint32_t stage) {
  return product(plan->dag->stage[stage].axis, plan->dag->stage[stage].n_space);
}

int64_t seer_plan_reduce(const seer_plan *plan, uint32_t stage) {
  const seer_dag_stage *s = &plan->dag->stage[stage];
  return product(s->axis + s->n_space, s->n_reduce);
}

// ---- the walk

seer_plan *seer_plan_next(const seer_rule_context *context, const seer_plan *plan, uint32_t stage, const char *rule) {
  seer_plan *next = (seer_plan *)seer_arena_memdup(context->arena, plan, sizeof *plan);
  next->cursor = stage;
  if (rule) {
    next->signature = seer_arena_printf(context->arena, "%s/%s(%s)", plan->signature, rule,
        plan->stage[stage].prefix);
  }
  return next;
}

static void finish(const seer_rule_context *context, const seer_plan *plan, bool is_cut) {
  seer_rule_run *run = context->run;
  if (run->n == MAX_SKETCHES) return;
  const seer_sketch *sketch = seer_skeleton_build(context, plan, is_cut);
  if (!sketch) return;
  run->made[run->n++] = (ranked){sketch, plan->rank};
}

void seer_plan_push(const seer_rule_context *context, const seer_plan *plan) {
  if (context->run->n == MAX_SKETCHES) return;
  if (plan->cursor == 0) {
    finish(context, plan, false);
    return;
  }
  uint32_t stage = plan->cursor - 1;
  for (size_t r = 0; r < seer_rule_table_count; r++) {
    const seer_rule *rule = seer_rule_table[r];
    if (context->space == SEER_SPACE_ANSOR && !rule->is_ansor) continue;
    if (rule->apply(context, plan, stage) == SEER_RULE_STOP) return;
  }
}

static void start_plan(const seer_rule_context *context, const seer_formulation *formulation, const seer_dag *dag,
    double tolerance, seer_plan *plan) {
  *plan = (seer_plan){.dag = dag, .access = seer_access_build(dag, context->arena), .formulation = formulation->name,
      .tolerance = tolerance, .signature = formulation->name, .cursor = dag->n_stage};
  for (uint32_t s = 0; s < dag->n_stage; s++) {
    plan->stage[s].partner = SEER_NO_STAGE;
    plan->stage[s].prefix = dag->stage[s].name;
  }
}

// When no plan fits into the number of knobs: every stage simple and at the root, knobs as far as they reach.
static void add_fallback(const seer_rule_context *context, const seer_plan *start) {
  seer_plan *plan = seer_plan_next(context, start, 0, NULL);
  plan->signature = seer_arena_printf(context->arena, "%s/simple", start->formulation);
  for (uint32_t s = 0; s < plan->dag->n_stage; s++) {
    bool is_const = plan->dag->stage[s].is_const && !seer_plan_is_output(plan, s);
    plan->stage[s].is_decided = true;
    plan->stage[s].role = is_const ? SEER_ROLE_CONST : SEER_ROLE_SIMPLE;
    plan->stage[s].place = SEER_PLAN_ROOT;
  }
  finish(context, plan, true);
}

seer_status seer_sketch_generate(const seer_dag *dag, const seer_target *target, seer_space_kind space,
    seer_arena *arena, seer_sketch_list **out_list) {
  *out_list = NULL;
  if (dag->n_stage == 0) return SEER_FAIL(INVALID, "dag %s has no stage to schedule", dag->name);
  seer_rule_run all = {.n = 0};
  const seer_sketch **list = NULL;
  size_t n = 0, cap = 0;
  for (size_t f = 0; f < seer_formulation_table_count; f++) {
    const seer_formulation *formulation = seer_formulation_table[f];
    if (space == SEER_SPACE_ANSOR && f > 0) break;
    double tolerance = 0;
    const seer_dag *its_dag = formulation->make(dag, target, arena, &tolerance);
    if (!its_dag) continue;
    all.n = 0;
    seer_rule_context context = {target, space, arena, &all};
    seer_plan *plan = SEER_NEW(arena, seer_plan);
    start_plan(&context, formulation, its_dag, tolerance, plan);
    seer_plan_push(&context, plan);
    if (all.n == 0) add_fallback(&context, plan);
    int low = 0, high = 0;
    for (uint32_t k = 0; k < all.n; k++) {
      low = all.made[k].rank < low ? all.made[k].rank : low;
      high = all.made[k].rank > high ? all.made[k].rank : high;
    }
    for (int rank = low; rank <= high; rank++) {  // few ranks: a stable counting sort
      for (uint32_t k = 0; k < all.n; k++) {
        if (all.made[k].rank != rank) continue;
        list = SEER_GROW(arena, const seer_sketch *, list, n, &cap);
        list[n++] = all.made[k].sketch;
      }
    }
  }
  seer_sketch_list *made = SEER_NEW(arena, seer_sketch_list);
  *made = (seer_sketch_list){dag, target, space, (uint32_t)n, list};
  SEER_ASSERT(n > 0, "dag %s: no sketch, %u stages", dag->name, dag->n_stage);
  *out_list = made;
  return SEER_OK;
}
