// loop_check.h - one schedule of one DAG, held against the interpreter of the DAG: lower, verify,
// print and parse, run the loops on small integers, compare every element of every output.
#ifndef SEER_TEST_LOOP_CHECK_H
#define SEER_TEST_LOOP_CHECK_H

#include "base/rng.h"
#include "space/lower/lower.h"

// The expected outputs of `list`'s canonical DAG on seeded operands; shared by all schedules of the
// DAG.
typedef struct {
  const seer_sketch_list *list;
  void *input[SEER_DAG_MAX_BUFFERS];  // by buffer of the DAG
  void *output[SEER_DAG_MAX_BUFFERS];  // by buffer of the DAG
  bool is_exact;  // whole numbers throughout: outputs must be equal to the bit
} loop_expect;

loop_expect *loop_expect_make(const seer_sketch_list *list, uint64_t seed, seer_arena *arena);

// The same on numbers of the caller's: `fill` writes all elements of one operand or weight.
typedef void (*loop_expect_fill)(
    const void *user, const seer_dag_buf *buf, seer_rng *rng, void *data);
loop_expect *loop_expect_of(const seer_sketch_list *list, loop_expect_fill fill, const void *user,
    seer_rng *rng, seer_arena *arena);

// The pieces: data for the buffers of a loop (operands, packed weights, outputs full of NaN), and
// whether its outputs are what is expected (NULL: yes).
void **loop_expect_data(
    const loop_expect *expect, const seer_sketch *sketch, const seer_loop *loop, seer_arena *arena);
const char *loop_expect_compare(const loop_expect *expect, const seer_sketch *sketch,
    const seer_loop *loop, void *const *data, seer_arena *arena);

// NULL if all is well, else what is wrong (in `arena`). *out_was_planted (may be NULL): the fault
// found a place.
const char *loop_check(const loop_expect *expect, const seer_schedule *schedule,
    seer_lower_fault fault, uint64_t seed, seer_arena *arena, bool *out_was_planted);

#endif
