// sketch.c - DAG -> sketches. For every formulation the rules walk the stages from the last to the
// first (a depth-first search over half-made plans, as in Ansor 4.1); each finished plan becomes a
// sketch. The list is sorted by what is likely to be good without any search, so that sketch 0 is a
// sane choice.

#include <string.h>

#include "space/formulation.h"
#include "space/rule.h"

// Plans beyond this number are not looked at, and of those the best-ranked become sketches.
#define MAX_PLANS 512
#define MAX_SKETCHES 64

struct seer_rule_run {
  uint32_t n, n_cut;
  const seer_plan *made[MAX_PLANS];
};

// ---- the walk

static void go_on(const seer_rule_context *context, const seer_plan *plan) {
  seer_rule_run *run = context->run;
  if (run->n == MAX_PLANS) {
    run->n_cut++;
    return;
  }
  uint32_t n_open = plan->cursor;
  // decided by a rule that made it
  while (n_open > 0 && plan->stage[n_open - 1].is_decided) n_open--;
  if (n_open == 0) {
    run->made[run->n++] = plan;
    return;
  }
  uint32_t stage = n_open - 1;
  for (size_t r = 0; r < seer_rule_table_count; r++) {
    const seer_rule *rule = seer_rule_table[r];
    bool applies = rule->kinds >> context->target->kind & 1;
    if (!applies || (context->space == SEER_SPACE_ANSOR && !rule->is_ansor)) continue;
    if (rule->apply(context, plan, stage) == SEER_RULE_STOP) return;
  }
}

static void start_plan(
    const seer_formulation *formulation, const seer_dag *dag, double tolerance, seer_plan *plan) {
  *plan = (seer_plan){.dag = dag,
      .formulation = formulation->name,
      .tolerance = tolerance,
      .needs_trials = formulation->needs_trials,
      .signature = formulation->name,
      .cursor = dag->n_stage};
  for (uint32_t s = 0; s < dag->n_stage; s++) {
    plan->stage[s].partner = SEER_NO_STAGE;
    plan->stage[s].prefix = dag->stage[s].name;
  }
}

// When no plan fits into the number of knobs: every stage simple and at the root, knobs as far as
// they reach.
static const seer_sketch *fallback(const seer_rule_context *context, const seer_plan *start) {
  seer_plan *plan = seer_plan_next(context, start, 0, NULL);
  plan->signature = seer_arena_printf(context->arena, "%s/simple", start->formulation);
  for (uint32_t s = 0; s < plan->dag->n_stage; s++) {
    bool is_const = plan->dag->stage[s].is_const && !seer_plan_is_output(plan, s);
    plan->stage[s].is_decided = true;
    plan->stage[s].role = is_const ? SEER_ROLE_CONST : SEER_ROLE_SIMPLE;
    plan->stage[s].place = SEER_PLAN_ROOT;
  }
  return seer_skeleton_build(context, plan, true);
}

typedef struct {
  const seer_sketch **item;
  size_t n, cap;
  uint32_t n_cut;
} sketches;

static void add(const seer_rule_context *context, const seer_sketch *sketch, sketches *list) {
  if (!sketch) return;
  list->item = SEER_GROW(context->arena, const seer_sketch *, list->item, list->n, &list->cap);
  list->item[list->n++] = sketch;
}

// By rank, plans of one rank in the order of the rules.
static void build_ranked(const seer_rule_context *context, sketches *list) {
  const seer_rule_run *run = context->run;
  int low = 0, high = 0;
  for (uint32_t k = 0; k < run->n; k++) {
    low = run->made[k]->rank < low ? run->made[k]->rank : low;
    high = run->made[k]->rank > high ? run->made[k]->rank : high;
  }
  size_t limit = list->n + MAX_SKETCHES;
  for (int rank = low; rank <= high; rank++) {
    for (uint32_t k = 0; k < run->n; k++) {
      if (run->made[k]->rank != rank) continue;
      if (list->n < limit)
        add(context, seer_skeleton_build(context, run->made[k], false), list);
      else
        list->n_cut++;
    }
  }
}

// Leaves out a GPU's sketches from `first` on that not even the default schedule of can be run:
// what is fetched in one step is more than a block can hold, whatever the factors.
static void keep_runnable(seer_sketch_list *list, sketches *all, size_t first) {
  size_t n = first;
  for (size_t k = first; k < all->n; k++) {
    list->sketch = &all->item[k];
    list->n = 1;
    seer_schedule schedule;
    seer_schedule_default(list, 0, &schedule);
    if (seer_schedule_check(list, &schedule) == SEER_REJECT_NONE) all->item[n++] = all->item[k];
  }
  all->n = n;
}

seer_status seer_sketch_generate(const seer_dag *dag, const seer_target *target,
    seer_space_kind space, seer_arena *arena, seer_sketch_list **out_list) {
  *out_list = NULL;
  if (dag->n_stage == 0) return SEER_FAIL(INVALID, "dag %s has no stage to schedule", dag->name);
  seer_rule_run *run = SEER_NEW(arena, seer_rule_run);
  sketches list = {.item = NULL};
  seer_sketch_list *made = SEER_NEW(arena, seer_sketch_list);
  *made = (seer_sketch_list){.dag = dag, .target = target, .space = space, .tolerance = 1};
  for (size_t f = 0; f < seer_formulation_table_count; f++) {
    const seer_formulation *formulation = seer_formulation_table[f];
    bool is_ansor = formulation->is_ansor && formulation->is_ansor(dag);
    if (space == SEER_SPACE_ANSOR && !is_ansor) continue;
    if (target->kind != SEER_TARGET_CPU && !formulation->is_for_gpus) continue;
    double tolerance = 0;
    const seer_dag *its_dag = formulation->make(dag, target, arena, &tolerance);
    if (!its_dag) continue;
    run->n = 0;
    seer_rule_context context = {target, space, arena, run, go_on};
    seer_plan *plan = SEER_NEW(arena, seer_plan);
    start_plan(formulation, its_dag, tolerance, plan);
    go_on(&context, plan);
    size_t before = list.n;
    build_ranked(&context, &list);
    if (target->kind != SEER_TARGET_CPU) keep_runnable(made, &list, before);
    if (list.n == before) add(&context, fallback(&context, plan), &list);
  }
  SEER_ASSERT(list.n > 0, "dag %s: no sketch, %u stages", dag->name, dag->n_stage);
  made->n = (uint32_t)list.n;
  made->sketch = list.item;
  made->n_plans_cut = run->n_cut;
  made->n_sketches_cut = list.n_cut;
  *out_list = made;
  return SEER_OK;
}

void seer_sketch_keep_within(seer_sketch_list *list, double tolerance) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < list->n; k++)
    if (list->sketch[k]->tolerance <= tolerance) list->sketch[n++] = list->sketch[k];
  SEER_ASSERT(
      n > 0, "dag %s: none of %u sketches is within %g", list->dag->name, list->n, tolerance);
  list->n = n;
  list->tolerance = tolerance;
}

uint32_t seer_sketch_formulations(const seer_sketch_list *list, uint32_t *out) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < list->n; k++) {
    uint32_t j = 0;
    while (strcmp(list->sketch[j]->formulation, list->sketch[k]->formulation) != 0) j++;
    out[k] = j < k ? out[j] : n++;
  }
  return n;
}
