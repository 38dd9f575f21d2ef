// ingredient.h - what a policy is made of, as a table of parts that can be left out: for
// ablations, which show what each of them is worth (--without, doc/study.md).
//
// Memory: tables are constant, copies are in the caller's arena. Threads: any.
#ifndef SEER_TUNE_SCHEDULER_INGREDIENT_H
#define SEER_TUNE_SCHEDULER_INGREDIENT_H

#include "base/arena.h"
#include "tune/scheduler.h"

// A policy of one's own, to be changed.
typedef struct {
  seer_scheduler_desc desc;  // of the two below
  seer_policy_traits traits;
  seer_search_strategy search;
} seer_policy_copy;

// What a tuning must have for an ingredient to do anything in it.
typedef enum {
  SEER_NEEDS_NOTHING,
  SEER_NEEDS_SPACE,  // all of it: schedules are drawn and bred, not picked from a table
  SEER_NEEDS_MACHINE,  // whose times are measured now
  SEER_NEEDS_RECORDS  // from earlier tunings
} seer_ingredient_needs;

typedef struct {
  const char *name, *doc;
  seer_ingredient_needs needs;
  bool (*leave_out)(seer_policy_copy *policy);  // false: the policy does not have it
} seer_ingredient;
extern const seer_ingredient *const seer_ingredient_table[];
extern const size_t seer_ingredient_table_count;

// What a tuning has of what ingredients need.
typedef struct {
  bool has_pool;  // its times, and all its schedules, are a table's
  bool has_records;  // from which it may go on
} seer_ingredient_basis;

// `policy` without what `list` names, with commas between: a copy in `arena`; an empty list leaves
// the policy itself. Errors: INVALID what is unknown, with a list of what there is; what the policy
// does not have, and what would change nothing in such a tuning.
SEER_MUST_USE seer_status seer_policy_without(const seer_scheduler_desc *policy, const char *list,
    const seer_ingredient_basis *basis, seer_arena *arena, const seer_scheduler_desc **out_policy);

#endif
