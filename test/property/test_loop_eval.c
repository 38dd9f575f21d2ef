// The main property: for random DAGs and random schedules, running the loops gives what the
// interpreter of the DAG gives, to the bit. Also: verify holds, print -> parse -> print is a
// fixpoint, every rule, knob kind, tail, location and DAG kind was met often enough, and every
// planted fault is caught. SEER_PROPERTY_SEED=n starts elsewhere, SEER_PROPERTY_PAIRS=n tries more.
// SEER_TEST: timeout=300
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dag/random.h"
#include "support/loop_check.h"
#include "support/test_target.h"

#define N_PAIRS 3000
#define MAX_PAIRS_FOR_A_FAULT 1000
#define QUOTA 20
#define SAMPLES_PER_SKETCH 2
#define MAX_SKETCHES 3  // of one DAG: more DAGs see more than more schedules of one

static uint64_t number(const char *name, uint64_t otherwise) {
  const char *value = getenv(name);
  return value ? strtoull(value, NULL, 10) : otherwise;
}

// ---- what was met

typedef enum {
  MET_TAIL_ROOT,  // a spatial loop of a root stage with a tail
  MET_TAIL_REGION,  // of an attached stage
  MET_TAIL_REDUCE,
  MET_TAIL_VECTOR,
  MET_CUT_REGION,  // a region that may leave the axis
  MET_CLAMPED_START,  // a LET
  MET_PARALLEL,
  MET_PACKED,
  MET_PHASES,
  MET_INLINE,
  MET_ROOT,
  MET_AT_1,
  MET_AT_2,
  MET_AT_3,
  MET_AT_4_OR_MORE,
  MET_AT_IN_AT,
  MET_UNROLL_1,
  MET_UNROLL_4,
  MET_UNROLL_16,
  MET_UNROLL_64,
  MET_COUNT
} met_kind;
static const char *const met_names[] = {"tail-root", "tail-region", "tail-reduce", "tail-vector",
    "cut-region", "clamped-start", "parallel", "packed", "phases", "inline", "root", "at-1", "at-2",
    "at-3", "at-4", "at-in-at", "unroll-1", "unroll-4", "unroll-16", "unroll-64"};

typedef struct {
  uint64_t met[MET_COUNT], dag_kind[SEER_DAG_RANDOM_KIND_COUNT];
  uint64_t mutated, crossed, pairs;
  struct {
    char name[32];
    uint64_t n;
  } rule[64];
  uint32_t n_rule;
} coverage;

static void note_rules(coverage *c, const char *signature) {
  while (*signature) {
    size_t n = strcspn(signature, "/(");
    uint32_t k = 0;
    while (k < c->n_rule &&
        (strlen(c->rule[k].name) != n || strncmp(c->rule[k].name, signature, n) != 0)) {
      k++;
    }
    if (k == c->n_rule && k < SEER_COUNT_OF(c->rule)) {
      snprintf(c->rule[k].name, sizeof(c->rule[k].name), "%.*s", (int)n, signature);
      c->n_rule++;
    }
    if (k < SEER_COUNT_OF(c->rule)) c->rule[k].n++;
    signature += strcspn(signature, "/");
    signature += *signature == '/';
  }
}

static void note_stage(coverage *c, const seer_frame *frame, uint32_t s) {
  const seer_frame_stage *stage = &frame->stage[s];
  bool is_at = stage->place == SEER_PLACE_AT;
  if (stage->place == SEER_PLACE_INLINE) c->met[MET_INLINE]++;
  if (stage->place == SEER_PLACE_ROOT) c->met[MET_ROOT]++;
  if (is_at) {
    c->met[stage->depth > 3 ? MET_AT_4_OR_MORE : MET_AT_1 + stage->depth - 1]++;
    if (frame->stage[stage->at].place == SEER_PLACE_AT) c->met[MET_AT_IN_AT]++;
    for (uint32_t d = 0; d < frame->sketch->dag->stage[s].n_space; d++) {
      if (!stage->is_region_exact[d]) c->met[MET_CUT_REGION]++;
    }
  }
  for (uint32_t l = 0; l < stage->n_loop; l++) {
    const seer_frame_loop *loop = &stage->loop[l];
    if (loop->is_parallel && loop->extent > 1) c->met[MET_PARALLEL]++;
    if (loop->is_exact) continue;
    c->met[loop->is_reduce ? MET_TAIL_REDUCE : is_at ? MET_TAIL_REGION : MET_TAIL_ROOT]++;
    if (loop->is_vector) c->met[MET_TAIL_VECTOR]++;
  }
  if (stage->place != SEER_PLACE_ROOT && !is_at) return;
  met_kind unroll = stage->max_unroll == 1 ? MET_UNROLL_1
      : stage->max_unroll == 4             ? MET_UNROLL_4
      : stage->max_unroll == 16            ? MET_UNROLL_16
                                           : MET_UNROLL_64;
  c->met[unroll]++;
}

static void note(
    coverage *c, const seer_sketch_list *list, const seer_schedule *schedule, seer_arena *arena) {
  seer_frame *frame = SEER_NEW(arena, seer_frame);
  seer_frame_make(list, schedule, frame);
  for (uint32_t s = 0; s < frame->sketch->dag->n_stage; s++) note_stage(c, frame, s);
  if (frame->n_root > 1) c->met[MET_PHASES]++;
  note_rules(c, frame->sketch->signature);
  seer_loop *loop;
  seer_status status = seer_loop_lower(list, schedule, arena, &loop);
  if (status) {
    seer_status_free(status);
    return;
  }
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    c->met[MET_PACKED] += loop->buf[b].storage == SEER_STORE_PACKED;
  }
  for (uint32_t k = 1; k < loop->n_node; k++) {
    c->met[MET_CLAMPED_START] += loop->node[k].kind == SEER_NODE_LET;
  }
}

// ---- one DAG

typedef struct {
  coverage *coverage;  // may be NULL
  seer_lower_fault fault;
  uint64_t n_pairs, n_planted;
  const char *wrong;  // in `arena`
  seer_arena *arena;
} trial;

static bool try_schedule(trial *t, const loop_expect *expect, const seer_schedule *schedule,
    uint64_t seed, seer_arena *scratch) {
  bool was_planted;
  t->n_pairs++;
  const char *wrong = loop_check(expect, schedule, t->fault, seed, scratch, &was_planted);
  t->n_planted += was_planted;
  if (t->coverage && !wrong) note(t->coverage, expect->list, schedule, scratch);
  if (wrong) {
    t->wrong = seer_arena_printf(t->arena, "%s\n%s\n%s%s", wrong,
        expect->list->sketch[schedule->sketch]->signature,
        seer_schedule_print(expect->list, schedule, scratch),
        seer_dag_print(expect->list->sketch[schedule->sketch]->dag, scratch));
  }
  seer_arena_reset(scratch);
  return wrong != NULL;
}

// Some sketches of the recipe's DAG: default, samples, a mutation and a crossover of them. True if
// something is wrong.
static bool try_recipe(trial *t, const seer_dag_recipe *recipe) {
  seer_arena *arena = seer_arena_create("dag"), *scratch = seer_arena_create("scratch");
  uint32_t kinds;
  seer_dag *dag = seer_dag_random_build(recipe, arena, &kinds);
  seer_sketch_list *list;
  seer_status status =
      seer_sketch_generate(dag, &test_target_narrow, SEER_SPACE_FULL, arena, &list);
  if (status) fail_msg("%s", seer_status_message(status));
  const loop_expect *expect = loop_expect_make(list, recipe->seed, arena);
  for (uint32_t k = 0; t->coverage && k < SEER_DAG_RANDOM_KIND_COUNT; k++) {
    t->coverage->dag_kind[k] += kinds >> k & 1;
  }
  seer_rng rng;
  seer_rng_init(&rng, recipe->seed);
  bool is_wrong = false;
  uint32_t *order = SEER_NEW_ARRAY(arena, uint32_t, list->n);
  for (uint32_t s = 0; s < list->n; s++) order[s] = s;
  seer_rng_shuffle_u32(&rng, order, list->n);
  for (uint32_t k_sketch = 0; k_sketch < list->n && k_sketch < MAX_SKETCHES && !is_wrong;
       k_sketch++) {
    uint32_t s = order[k_sketch];
    seer_schedule schedule, other, child;
    seer_schedule_default(list, s, &schedule);
    is_wrong = try_schedule(t, expect, &schedule, recipe->seed, scratch);
    for (int k = 0; k < SAMPLES_PER_SKETCH && !is_wrong; k++) {
      if (seer_schedule_sample(list, s, &rng, &other, NULL) != SEER_REJECT_NONE) continue;
      is_wrong = try_schedule(t, expect, &other, recipe->seed + (uint64_t)k, scratch);
    }
    if (!is_wrong &&
        seer_schedule_mutate(list, &rng, &schedule, &child, NULL) == SEER_REJECT_NONE) {
      if (t->coverage) t->coverage->mutated++;
      is_wrong = try_schedule(t, expect, &child, recipe->seed, scratch);
    }
    if (is_wrong || seer_schedule_sample(list, s, &rng, &other, NULL) != SEER_REJECT_NONE) continue;
    if (seer_schedule_cross(list, &rng, &schedule, &other, &child, NULL) != SEER_REJECT_NONE)
      continue;
    if (t->coverage) t->coverage->crossed++;
    is_wrong = try_schedule(t, expect, &child, recipe->seed, scratch);
  }
  seer_arena_destroy(scratch);
  seer_arena_destroy(arena);
  return is_wrong;
}

static bool still_fails(void *user, const seer_dag_recipe *recipe) {
  seer_arena *arena = user;
  trial t = {.arena = arena};
  return try_recipe(&t, recipe);
}

// ---- tests

static void report(const coverage *c) {
  for (uint32_t k = 0; k < MET_COUNT; k++)
    print_message("%s %" PRIu64 "  ", met_names[k], c->met[k]);
  for (uint32_t k = 0; k < c->n_rule; k++) {
    print_message("%s %" PRIu64 "  ", c->rule[k].name, c->rule[k].n);
  }
  print_message("mutated %" PRIu64 "  crossed %" PRIu64 "\n", c->mutated, c->crossed);
}

static void check_quotas(const coverage *c) {
  report(c);
  for (uint32_t k = 0; k < MET_COUNT; k++) {
    if (c->met[k] < QUOTA) fail_msg("%s: met %" PRIu64 " times", met_names[k], c->met[k]);
  }
  for (uint32_t k = 0; k < SEER_DAG_RANDOM_KIND_COUNT; k++) {
    if (c->dag_kind[k] >= QUOTA) continue;
    fail_msg("DAG kind %s: met %" PRIu64 " times",
        seer_dag_random_kind_name((seer_dag_random_kind)k), c->dag_kind[k]);
  }
  for (uint32_t k = 0; k < c->n_rule; k++) {
    if (c->rule[k].n < QUOTA)
      fail_msg("rule %s: met %" PRIu64 " times", c->rule[k].name, c->rule[k].n);
  }
  assert_true(c->mutated >= QUOTA && c->crossed >= QUOTA);
}

static void loops_equal_dag(void **state) {
  (void)state;
  static coverage c;
  uint64_t seed = number("SEER_PROPERTY_SEED", 1), pairs = number("SEER_PROPERTY_PAIRS", N_PAIRS);
  print_message("seed %" PRIu64 "\n", seed);
  seer_arena *arena = seer_arena_create("test");
  trial t = {.coverage = &c, .arena = arena};
  for (; t.n_pairs < pairs; seed++) {
    seer_dag_recipe recipe = seer_dag_random_recipe(seed);
    if (!try_recipe(&t, &recipe)) continue;
    recipe = seer_dag_random_shrink(recipe, still_fails, arena, 200);
    trial again = {.arena = arena};
    bool still = try_recipe(&again, &recipe);
    const char *wrong = still ? again.wrong : t.wrong;
    fprintf(stderr, "seed %" PRIu64 ": %s\n", seed, wrong);
    fail_msg("seed %" PRIu64, seed);
  }
  check_quotas(&c);
  seer_arena_destroy(arena);
}

static void planted_faults_are_caught(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  for (int fault = SEER_LOWER_FAULT_NONE + 1; fault < SEER_LOWER_FAULT_COUNT; fault++) {
    trial t = {.fault = (seer_lower_fault)fault, .arena = arena};
    bool is_caught = false;
    for (uint64_t seed = 1; t.n_pairs < MAX_PAIRS_FOR_A_FAULT && !is_caught; seed++) {
      seer_dag_recipe recipe = seer_dag_random_recipe(seed);
      is_caught = try_recipe(&t, &recipe);
    }
    const char *name = seer_lower_fault_name((seer_lower_fault)fault);
    print_message("%s: caught after %" PRIu64 " pairs, planted in %" PRIu64 "\n", name, t.n_pairs,
        t.n_planted);
    if (!is_caught) fail_msg("fault %s is not caught", name);
  }
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loops_equal_dag),
      cmocka_unit_test(planted_faults_are_caught),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
