// random_programs.c - see random_programs.h.
#include "support/random_programs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "space/lower.h"
#include "support/test.h"

#define SHRINKING_TRIES 200

typedef struct {
  const random_programs *how;
  loop_coverage *coverage;  // NULL while a DAG is made smaller
  uint64_t n;
  const char *wrong;  // in `arena`
  seer_arena *arena;
} run;

static uint64_t number(const char *name, uint64_t otherwise) {
  const char *value = getenv(name);
  return value ? strtoull(value, NULL, 10) : otherwise;
}

// Nothing more is tried once something is wrong.
static void try_schedule(
    run *r, random_program *p, const seer_schedule *schedule, seer_arena *scratch) {
  if (r->wrong) return;
  r->n++;
  const seer_sketch_list *list = p->expect->list;
  p->schedule = seer_arena_memdup(scratch, schedule, sizeof(*schedule));
  p->sketch = seer_sketch_of(list, schedule);
  const char *wrong, *loops = "";
  seer_status status = seer_loop_lower(list, schedule, scratch, &p->loop);
  if (status) {
    wrong = seer_arena_printf(scratch, "lower: %s", seer_status_message(status));
    seer_status_free(status);
  } else {
    if (r->coverage) loop_coverage_note(r->coverage, list, schedule, p->loop, scratch);
    wrong = r->how->check(r->how->user, p, scratch);
    if (wrong) loops = seer_loop_print(p->loop, scratch);
  }
  if (wrong) {
    r->wrong = seer_arena_printf(r->arena, "%s\n%s\n%s%s%s", wrong, p->sketch->signature,
        seer_schedule_print(list, schedule, scratch), seer_dag_print(p->sketch->dag, scratch),
        loops);
  }
  if (!r->how->keep) seer_arena_reset(scratch);
  p->draw++;
}

static void try_sketch(
    run *r, random_program *p, uint32_t sketch, seer_rng *rng, seer_arena *scratch) {
  const seer_sketch_list *list = p->expect->list;
  seer_schedule first, other, child;
  seer_schedule_default(list, sketch, &first);
  if (r->how->has_default) try_schedule(r, p, &first, scratch);
  for (uint32_t k = 0; k < r->how->n_samples; k++) {
    if (seer_schedule_sample(list, sketch, rng, &other, NULL) == SEER_REJECT_NONE)
      try_schedule(r, p, &other, scratch);
  }
  if (!r->how->has_children) return;
  if (seer_schedule_mutate(list, rng, &first, &child, NULL) == SEER_REJECT_NONE) {
    if (r->coverage) r->coverage->mutated++;
    try_schedule(r, p, &child, scratch);
  }
  if (seer_schedule_sample(list, sketch, rng, &other, NULL) == SEER_REJECT_NONE &&
      seer_schedule_cross(list, rng, &first, &other, &child, NULL) == SEER_REJECT_NONE) {
    if (r->coverage) r->coverage->crossed++;
    try_schedule(r, p, &child, scratch);
  }
}

// True if something is wrong.
static bool try_recipe(run *r, const random_dag_recipe *recipe) {
  const random_programs *how = r->how;
  seer_arena *arena = how->keep ? how->keep : seer_arena_create("dag");
  seer_arena *scratch = how->keep ? how->keep : seer_arena_create("scratch");
  uint32_t kinds, which = (uint32_t)(recipe->seed % how->n_targets);
  seer_dag *dag = random_dag_build(recipe, arena, &kinds);
  seer_sketch_list *list;
  seer_status status = seer_sketch_generate(dag, &how->targets[which], how->space, arena, &list);
  if (status) fail_msg("seed %" PRIu64 ": %s", recipe->seed, seer_status_message(status));
  if (r->coverage) loop_coverage_note_kinds(r->coverage, kinds);
  random_program program = {.seed = recipe->seed,
      .draw = recipe->seed,
      .target = which,
      .expect = loop_expect_make(list, recipe->seed, arena)};
  seer_rng rng;
  seer_rng_init(&rng, recipe->seed);
  uint32_t *order = SEER_NEW_ARRAY(arena, uint32_t, list->n), n = 0;
  for (uint32_t s = 0; s < list->n; s++)
    if (!how->only || strstr(list->sketch[s]->signature, how->only)) order[n++] = s;
  seer_rng_shuffle_u32(&rng, order, n);
  for (uint32_t k = 0; k < n && k < how->max_sketches && !r->wrong; k++)
    try_sketch(r, &program, order[k], &rng, scratch);
  if (!how->keep) {
    seer_arena_destroy(scratch);
    seer_arena_destroy(arena);
  }
  return r->wrong != NULL;
}

static bool still_fails(void *user, const random_dag_recipe *recipe) {
  const run *r = user;
  run again = {.how = r->how, .arena = r->arena};
  return try_recipe(&again, recipe);
}

// Makes the DAG smaller, and fails the test.
static void report(run *r, const char *name, const random_dag_recipe *recipe) {
  fprintf(stderr, "%s, seed %" PRIu64 ": %.300s\n", name, recipe->seed, r->wrong);
  random_dag_recipe smaller = random_dag_shrink(*recipe, still_fails, r, SHRINKING_TRIES);
  run again = {.how = r->how, .arena = r->arena};
  bool still = try_recipe(&again, &smaller);
  fprintf(stderr, "made smaller: %s\n", still ? again.wrong : r->wrong);
  fail_msg("%s: SEER_PROPERTY_SEED=%" PRIu64 " shows it", name, recipe->seed);
}

static bool lacks(const random_programs *how) {
  return (how->lacks && how->lacks(how->user)) ||
      (how->coverage && loop_coverage_lack(how->coverage, how->quota));
}

uint64_t random_programs_check(
    const random_programs *how, const char *name, uint64_t first_seed, uint64_t n) {
  uint64_t first = number("SEER_PROPERTY_SEED", first_seed), seed = first;
  n = number("SEER_PROPERTY_PAIRS", n);
  run r = {.how = how, .coverage = how->coverage, .arena = seer_arena_create("run")};
  for (; r.n < n || (r.n < 10 * n && lacks(how)); seed++) {
    random_dag_recipe recipe = random_dag_draw(seed);
    if (try_recipe(&r, &recipe)) report(&r, name, &recipe);
  }
  print_message(
      "%s: %" PRIu64 " programs, seeds %" PRIu64 " to %" PRIu64 "\n", name, r.n, first, seed - 1);
  if (how->coverage) loop_coverage_check(how->coverage, how->quota);
  seer_arena_destroy(r.arena);
  return r.n;
}

uint64_t random_programs_until_wrong(
    const random_programs *how, uint64_t first_seed, uint64_t most) {
  run r = {.how = how, .arena = seer_arena_create("run")};
  bool is_wrong = false;
  for (uint64_t seed = first_seed; r.n < most && !is_wrong; seed++) {
    random_dag_recipe recipe = random_dag_draw(seed);
    is_wrong = try_recipe(&r, &recipe);
  }
  seer_arena_destroy(r.arena);
  return is_wrong ? r.n : 0;
}
