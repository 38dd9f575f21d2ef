// items_check.h - block programs of schedules, run without a device and held against the DAG.
#ifndef SEER_TEST_ITEMS_CHECK_H
#define SEER_TEST_ITEMS_CHECK_H

#include "support/jit_check.h"
#include "support/loop_check.h"

// Both compare what the loops of a schedule of `sketch` come to with the DAG's interpreter: NULL,
// or what is wrong, in `arena`. `seed`: of the order of blocks, and of where copies lie.

// As vector code, all items of a block side by side. Where it has copies that nobody waits for
// (*out_has_copies, NULL: not asked for) it is also seen that waits are not left out.
const char *items_check_code(const loop_expect *expect, const seer_sketch *sketch,
    const seer_loop *loop, uint64_t seed, seer_arena *arena, bool *out_has_copies);
// By LLVM, one item after another.
const char *items_check_serial(jit_runner *runner, const loop_expect *expect,
    const seer_sketch *sketch, const seer_loop *loop, uint64_t seed, seer_arena *arena);

#endif
