// plain.h - schedules that tile nothing: what compile -O0 uses, and the reference of checks.
// Threads: any.
#ifndef SEER_CHOOSE_PLAIN_H
#define SEER_CHOOSE_PLAIN_H

#include "code/artefact.h"

// The space that the option --space names.
seer_space_kind seer_choice_space(const seer_context *context);
// The sketches of a task that may be chosen from, tuned or not: of that space, of formulations that
// add no larger error of their own than --tolerance says, none with --strict-math.
// Errors: those of seer_sketch_generate.
SEER_MUST_USE seer_status seer_choice_sketches(const seer_context *context, const seer_dag *dag,
    seer_arena *arena, seer_sketch_list **out_list);

// For every task of a network: choice[task id], with its sketches, in `arena`.
// Errors: those of seer_sketch_generate.
SEER_MUST_USE seer_status seer_plain_choices(const seer_context *context,
    const seer_network *network, seer_arena *arena, seer_choice **out_choices);

// The same of a GPU, whose kernels nobody has timed: is_plain: as compile -O0; else untuned, the
// best of --untuned-drafts by the estimate. Errors: also those of untuned searches.
SEER_MUST_USE seer_status seer_choice_of_items(const seer_context *context,
    const seer_network *network, bool is_plain, seer_arena *arena, seer_choice **out_choices);

#endif
