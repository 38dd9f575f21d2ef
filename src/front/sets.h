// sets.h - a network for several sets of input shapes: what load.c needs beyond one set.
// One thread; all networks are in one arena. After a failure none of them is of use.
#ifndef SEER_FRONT_SETS_H
#define SEER_FRONT_SETS_H

#include "front/front.h"

#define SEER_FRONT_MAX_SETS 64

// Texts as --input-shapes takes them, one for each set: INVALID when there are too many, or when
// they do not name the same inputs.
SEER_MUST_USE seer_status seer_sets_check(const char *const *shapes, uint32_t n);

// Makes networks of one model, each built for other input shapes, into one: they get one list of
// tasks (equal keys are one task; weight: summed over the sets), network[0 .. n) as their `set`
// (kept), and share equal constants. Fills set, n_set, shapes and count, also for n = 1.
// Errors: INVALID when two sets have equal shapes.
SEER_MUST_USE seer_status seer_sets_join(seer_network **network, uint32_t n, seer_arena *arena);

#endif
