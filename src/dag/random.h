// random.h - random DAGs from a grammar, for property tests here and below (schedules, loop IR,
// code).
// A recipe determines the DAG; shrinking edits the recipe. Everything is small-integer f32 (indices
// i64 or i32; what is stored in between in a narrower type too): with the inputs of
// seer_dag_random_input every value and every partial sum is an integer below 2^24, so that sums in
// any order are exact and results are equal to the bit. There is no division and no exp. Grammar: 1
// to 6 stages from the kinds below, one or two outputs, extents 1 to 17 with primes twice as
// likely, some row pitches larger than the row.
#ifndef SEER_DAG_RANDOM_H
#define SEER_DAG_RANDOM_H

#include "base/rng.h"
#include "dag/dag.h"

typedef enum {
  SEER_DAG_RANDOM_MAP,
  SEER_DAG_RANDOM_BROADCAST,
  SEER_DAG_RANDOM_POOL,  // guarded window: max or sum; stride, dilation, padding
  SEER_DAG_RANDOM_DEPTHWISE,
  SEER_DAG_RANDOM_CONV,  // weights [oc, ky, kx, ic] or [oc, ic, ky, kx]
  // weights [k, n] or [n, k], or a second activation with a batch axis
  SEER_DAG_RANDOM_MATMUL,
  SEER_DAG_RANDOM_REDUCE,  // sum, max over 1 or 2 axes
  SEER_DAG_RANDOM_ARGMAX,
  SEER_DAG_RANDOM_TRANSPOSE,
  SEER_DAG_RANDOM_SPLIT,  // reshape: one dimension into two
  SEER_DAG_RANDOM_MERGE,  // two into one: div and mod in the indices
  SEER_DAG_RANDOM_SLICE,
  SEER_DAG_RANDOM_CONCAT,
  SEER_DAG_RANDOM_GATHER,
  // through f16, bf16, float8 or integers of 4 and 8 bits; or such an input
  SEER_DAG_RANDOM_NARROW,
  // padding as a stage of its own (else the guard is in the window's loads)
  SEER_DAG_RANDOM_PAD_STAGE,
  SEER_DAG_RANDOM_TWO_OUTPUTS,
  SEER_DAG_RANDOM_PITCH,
  SEER_DAG_RANDOM_KIND_COUNT
} seer_dag_random_kind;

#define SEER_DAG_RANDOM_MAX_DRAWS 64
typedef struct {
  uint64_t seed;
  uint32_t n_stages;  // aimed at; padding and clamping may add one
  uint8_t shift[SEER_DAG_RANDOM_MAX_DRAWS];  // the k-th extent that is drawn is halved so often
} seer_dag_recipe;

seer_dag_recipe seer_dag_random_recipe(uint64_t seed);
// Verified. *out_kinds (may be NULL): bit k set if kind k is in it.
seer_dag *seer_dag_random_build(
    const seer_dag_recipe *recipe, seer_arena *arena, uint32_t *out_kinds);
// Elements (with pitch; the gap holds NaN or the largest integer) for input `buf`, in `arena`.
void *seer_dag_random_input(const seer_dag *dag, uint32_t buf, seer_rng *rng, seer_arena *arena);
// The smallest recipe found, by dropping stages and halving extents, for which still_fails says
// true; at most `max_tries` calls. still_fails builds what it needs from the recipe.
seer_dag_recipe seer_dag_random_shrink(seer_dag_recipe recipe,
    bool (*still_fails)(void *user, const seer_dag_recipe *recipe), void *user, uint32_t max_tries);
const char *seer_dag_random_kind_name(seer_dag_random_kind kind);

#endif
