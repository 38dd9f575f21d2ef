// untuned.h - the choices without trials of a network's tasks: what compile -O1 ships, and what a
// tuning starts from and holds its winners against.
//
// A choice is right by construction, not by a check: no code of it was run before it ships. Its
// sketches may be of formulations that add an error, within what the list allows
// (seer_sketch_keep_within); what checks compare with is not this choice, but the default schedule
// of the first sketch, which is exact always (measure.h).
//
// Threads: any; tasks are worked on by several. Errors: those of untuned searches; then none of the
// choices counts.
#ifndef SEER_CHOOSE_UNTUNED_H
#define SEER_CHOOSE_UNTUNED_H

#include "search/unmeasured.h"
#include "setup/context.h"

#define SEER_UNTUNED_DRAFTS 20000  // as the option has it by default: doc/decisions, 57

// A task whose choice is asked for.
typedef struct {
  uint32_t task;  // id
  const seer_sketch_list *sketches;
  uint64_t max_packed_bytes;  // as for seer_unmeasured_find
  seer_schedule schedule;  // out
  double seconds;  // out: by the analytic model
} seer_untuned_task;

// Whose choices they are.
typedef struct {
  const seer_target *target;
  uint64_t seed;
  uint32_t n_drafts;  // of a task, at most; SEER_UNTUNED_DRAFTS where no option says how many
  uint32_t n_threads;  // 0: as many as this process may use; the choices do not depend on it
  const seer_bank *bank;  // that has the last word (search/unmeasured.h); NULL: the estimate has it
  const volatile sig_atomic_t *stop;  // as of seer_context_stop_by; NULL: nobody does
} seer_untuned_how;

SEER_MUST_USE seer_status seer_untuned_choose(
    const seer_untuned_how *how, seer_untuned_task *tasks, uint32_t n);

// The cost models of other networks that options ask for (--no-pretrained, --pretrained), for tasks
// with ids under n_task. NULL: there are none for the context's target. Owned: seer_bank_destroy.
// Errors: of a file that was asked for.
SEER_MUST_USE seer_status seer_untuned_bank(
    const seer_context *context, uint32_t n_task, seer_bank **out_bank);

#endif
