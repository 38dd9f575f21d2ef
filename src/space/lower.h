// lower.h - SCHEDULE -> LOOP IR: a sketch with its numbers, made explicit (lower/).
// Threads: any, on distinct arenas; list and schedule are only read.
#ifndef SEER_SPACE_LOWER_H
#define SEER_SPACE_LOWER_H

#include "space/frame.h"
#include "space/loop.h"

// `schedule` complete; out_loop in `arena`.
// Errors: UNSUPPORTED for what has no lowering; INTERNAL if verify of the result fails
// (SEER_VERIFY).
SEER_MUST_USE seer_status seer_loop_lower(const seer_sketch_list *list,
    const seer_schedule *schedule, seer_arena *arena, seer_loop **out_loop);

#endif
