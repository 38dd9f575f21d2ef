// ansor.h - the space `ansor`: how its schedules are drawn and mutated, as Ansor published it
// (Zheng et al., OSDI'20, 4.2 and 5.1; TVM: auto_scheduler/search_policy/sketch_policy_rules.cc).
// Where it differs, and why: doc/fidelity.md. Internal to space.
//
// Threads: any; lists of sketches are only read, a seer_rng is its caller's. Errors: a verdict says
// why there is no schedule, and `out` is of no use then. What comes of it is normalised, checked,
// and `frame` is its frame.
#ifndef SEER_SPACE_ANSOR_H
#define SEER_SPACE_ANSOR_H

#include "base/rng.h"
#include "space/frame.h"

// One draft of sketch `sketch`, in the order of Ansor's rules: lengths of all splits, each a
// uniform choice among the exact factorisations; locations; parallel loops; unroll limits.
seer_reject seer_ansor_sample(const seer_sketch_list *list, uint32_t sketch, seer_rng *rng,
    seer_schedule *out, seer_frame *frame);
// One mutation, its kind by Ansor's weights. DUPLICATE: there is nothing of that kind to change
// here. An unroll limit or a location may be drawn as it was: then the child equals its parent.
seer_reject seer_ansor_mutate(const seer_sketch_list *list, seer_rng *rng,
    const seer_schedule *parent, seer_schedule *out, seer_frame *frame);

#endif
