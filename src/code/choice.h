// choice.h - schedules without any measurement: what compile -O0 and -O1 use, and what tuning
// starts from.
#ifndef SEER_CODE_CHOICE_H
#define SEER_CODE_CHOICE_H

#include "code/build.h"

// The space that the option --space names.
seer_space_kind seer_choice_space(const seer_context *context);

// Sketches of `dag` and one schedule of them.
//   opt_level  0: the plainest sketch (nothing tiled), for checking; 1 and more: the default schedule
//   arena      sketches live here
// Errors: those of seer_sketch_generate.
SEER_MUST_USE seer_status seer_default_choice(const seer_context *context, const seer_dag *dag,
    int64_t opt_level, seer_arena *arena, seer_choice *out_choice);

// The same for every task of a network: choice[task id], in `arena`.
SEER_MUST_USE seer_status seer_default_choices(const seer_context *context,
    const seer_network *network, int64_t opt_level, seer_arena *arena, seer_choice **out_choices);

#endif
