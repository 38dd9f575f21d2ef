// ingredient.c - a list of names -> a copy of a policy without them. Each ingredient is a field of
// the policy's traits or of its strategy, and leaving it out is that field's other value.
#include "tune/scheduler/ingredient.h"

#include <string.h>

#include "base/near.h"

// To add one: its line, a function that leaves it out.
// clang-format off
#define INGREDIENTS(X)                                                                              \
  X(transfers, "transfers", RECORDS,                                                                \
      "schedules from records of similar machines and of other shapes are tried")                   \
  X(untuned, "untuned", NOTHING, "a task's first measurement is its untuned choice")                \
  X(witnesses, "witnesses", NOTHING,                                                                \
      "each round measures the best again, and some that stand near it")                            \
  X(racing, "racing", MACHINE, "candidates that are clearly slower than the best are dropped early") \
  X(drift, "drift", MACHINE, "the machine's speed is measured now and then, and divided out")       \
  X(beside, "beside", NOTHING,                                                                      \
      "models are fitted while the next round's candidates are built, and are a round late")        \
  X(over_estimate, "over-estimate", NOTHING,                                                        \
      "cost models learn what the analytic estimate gets wrong; without: everything, from samples")  \
  X(families, "families", NOTHING, "a cost model for each family; without: one for all tasks")      \
  X(formulations, "formulations", NOTHING,                                                          \
      "each formulation gets a share of a task's first trials, whatever models say")                \
  X(alike, "alike", NOTHING, "candidates whose look-alikes are known wait")                         \
  X(estimate_cut, "estimate-cut", NOTHING,                                                          \
      "drafts that the analytic estimate thinks little of are not ranked")                          \
  X(second_opinion, "second-opinion", NOTHING,                                                      \
      "half of what a learned model would pick is what the analytic estimate picks")                \
  X(neighbours, "neighbours", NOTHING,                                                              \
      "some of each round are neighbours of the best, each knob a step, until all were tried")      \
  X(same_code, "same-code", SPACE, "what comes to the same loops as something before is not built") \
  X(random, "random", NOTHING, "some of each round are picked at random")                           \
  X(sketches, "sketches", SPACE, "more is drawn of sketches that have done well")                   \
  X(elites, "elites", SPACE, "drafts are bred from the best measured schedules, too")               \
  X(evolution, "evolution", SPACE, "what the models like has children, for some generations")
// clang-format on

static bool no_flag(bool *flag) {
  bool was = *flag;
  *flag = false;
  return was;
}

static bool no_number(uint32_t *number) {
  bool was = *number > 0;
  *number = 0;
  return was;
}

static bool no_share(double *share) {
  bool was = *share > 0;
  *share = 0;
  return was;
}

static bool leave_out_transfers(seer_policy_copy *p) { return no_flag(&p->traits.tries_transfers); }
static bool leave_out_untuned(seer_policy_copy *p) { return no_flag(&p->traits.tries_untuned); }
static bool leave_out_witnesses(seer_policy_copy *p) { return no_flag(&p->traits.has_witnesses); }
static bool leave_out_racing(seer_policy_copy *p) { return no_flag(&p->traits.is_raced); }
static bool leave_out_drift(seer_policy_copy *p) { return no_flag(&p->traits.follows_drift); }
static bool leave_out_beside(seer_policy_copy *p) { return no_flag(&p->traits.learns_beside); }
static bool leave_out_alike(seer_policy_copy *p) { return no_share(&p->search.alike_cost); }
static bool leave_out_elites(seer_policy_copy *p) { return no_number(&p->search.n_from_elites); }

static bool leave_out_formulations(seer_policy_copy *p) {
  return no_share(&p->search.formulation_share);
}

static bool leave_out_over_estimate(seer_policy_copy *p) {
  return no_flag(&p->traits.learns_over_estimate);
}

static bool leave_out_estimate_cut(seer_policy_copy *p) {
  return no_flag(&p->search.cuts_by_estimate);
}

static bool leave_out_second_opinion(seer_policy_copy *p) {
  return no_share(&p->search.estimate_share);
}

static bool leave_out_neighbours(seer_policy_copy *p) {
  return no_share(&p->search.neighbour_share);
}

static bool leave_out_same_code(seer_policy_copy *p) {
  return no_flag(&p->search.skips_equal_code);
}

static bool leave_out_sketches(seer_policy_copy *p) {
  return no_flag(&p->search.favours_good_sketches);
}

// Ansor's policy groups all tasks, which makes one family of them.
static bool leave_out_families(seer_policy_copy *p) {
  bool has_one = p->traits.has_one_model || (p->desc.grouping && !strcmp(p->desc.grouping, "all"));
  p->traits.has_one_model = true;
  return !has_one;
}

static bool leave_out_random(seer_policy_copy *p) {
  bool had = no_share(&p->search.random_share);
  return no_share(&p->search.random_share_untrained) || had;
}

// Selection in proportion to scores is an evolution and nothing else.
static bool leave_out_evolution(seer_policy_copy *p) {
  return p->search.selection == SEER_SELECT_TRUNCATION && no_number(&p->search.n_generations);
}

#define DEFINE(id, text, needed, about)            \
  static const seer_ingredient ingredient_##id = { \
      .name = text, .doc = about, .needs = SEER_NEEDS_##needed, .leave_out = leave_out_##id};
INGREDIENTS(DEFINE)
#undef DEFINE

const seer_ingredient *const seer_ingredient_table[] = {
#define ENTRY(id, text, needed, about) &ingredient_##id,
    INGREDIENTS(ENTRY)
#undef ENTRY
};
const size_t seer_ingredient_table_count = SEER_COUNT_OF(seer_ingredient_table);

// The names that pass: of those that `policy` has, or of all where that is NULL.
static const char *names_of(const seer_policy_copy *policy, seer_arena *arena) {
  seer_text names;
  seer_text_init(&names, arena);
  for (size_t i = 0; i < seer_ingredient_table_count; i++) {
    seer_policy_copy scratch;
    if (policy) scratch = *policy;
    if (policy && !seer_ingredient_table[i]->leave_out(&scratch)) continue;
    seer_text_printf(&names, "%s%s", names.n_bytes > 0 ? " " : "", seer_ingredient_table[i]->name);
  }
  return names.data;
}

static const seer_ingredient *find(const char *name, size_t n) {
  for (size_t i = 0; i < seer_ingredient_table_count; i++) {
    const seer_ingredient *ingredient = seer_ingredient_table[i];
    if (strlen(ingredient->name) == n && !memcmp(ingredient->name, name, n)) return ingredient;
  }
  return NULL;
}

static const char *what_lacks(seer_ingredient_needs needs, const seer_ingredient_basis *basis) {
  switch (needs) {
    case SEER_NEEDS_SPACE:
      return basis->has_pool ? "a table's schedules are neither drawn nor bred" : NULL;
    case SEER_NEEDS_MACHINE:
      return basis->has_pool ? "a table's times are exact, and known at once" : NULL;
    case SEER_NEEDS_RECORDS:
      return basis->has_records ? NULL : "no records are read";
    case SEER_NEEDS_NOTHING:
      break;
  }
  return NULL;
}

static seer_status leave_out(const char *name, size_t n, const seer_policy_copy *whole,
    const seer_ingredient_basis *basis, seer_arena *arena, seer_policy_copy *io_policy) {
  const seer_ingredient *ingredient = find(name, n);
  if (!ingredient)
    return SEER_FAIL(INVALID, "--without: there is no ingredient '%.*s'; allowed: %s", (int)n, name,
        names_of(NULL, arena));
  seer_policy_copy scratch = *whole;
  if (!ingredient->leave_out(&scratch))
    return SEER_FAIL(INVALID, "--without %s: policy %s does not have it; it has: %s",
        ingredient->name, whole->desc.name, names_of(whole, arena));
  const char *lacks = what_lacks(ingredient->needs, basis);
  if (lacks)
    return SEER_FAIL(
        INVALID, "--without %s would change nothing in this tuning: %s", ingredient->name, lacks);
  (void)ingredient->leave_out(io_policy);
  return SEER_OK;
}

static void copy(const seer_scheduler_desc *policy, seer_policy_copy *out) {
  *out = (seer_policy_copy){*policy, *policy->traits, *policy->traits->search};
}

seer_status seer_policy_without(const seer_scheduler_desc *policy, const char *list,
    const seer_ingredient_basis *basis, seer_arena *arena, const seer_scheduler_desc **out_policy) {
  *out_policy = policy;
  if (!list[0]) return SEER_OK;
  seer_policy_copy whole, *own = SEER_NEW(arena, seer_policy_copy);
  copy(policy, &whole);
  copy(policy, own);
  for (const char *at = list;;) {
    size_t n = strcspn(at, ",");
    SEER_TRY(leave_out(at, n, &whole, basis, arena, own));
    at += n;
    if (!*at) break;
    at++;
  }
  own->traits.search = &own->search;
  own->desc.traits = &own->traits;
  *out_policy = &own->desc;
  return SEER_OK;
}
