// random.h - random DAGs from a grammar, for property tests here and below (schedules, loop IR,
// code).
// A recipe determines the DAG; shrinking edits the recipe. Everything is small-integer f32 (indices
// i64 or i32; what is stored in between in a narrower type too): with the inputs of
// random_dag_input every value and every partial sum is an integer below 2^24, so that sums in
// any order are exact and results are equal to the bit. There is no division and no exp. Grammar: 1
// to 6 stages from the kinds below, one or two outputs, extents 1 to 17 with primes twice as
// likely, some row pitches larger than the row.
#ifndef SEER_TEST_RANDOM_DAG_H
#define SEER_TEST_RANDOM_DAG_H

#include "base/rng.h"
#include "dag/dag.h"

typedef enum {
  RANDOM_DAG_MAP,
  RANDOM_DAG_BROADCAST,
  RANDOM_DAG_POOL,  // guarded window: max or sum; stride, dilation, padding
  RANDOM_DAG_DEPTHWISE,
  RANDOM_DAG_CONV,  // weights [oc, ky, kx, ic] or [oc, ic, ky, kx]
  // weights [k, n] or [n, k], or a second activation with a batch axis
  RANDOM_DAG_MATMUL,
  RANDOM_DAG_REDUCE,  // sum, max over 1 or 2 axes
  RANDOM_DAG_ARGMAX,
  RANDOM_DAG_TRANSPOSE,
  RANDOM_DAG_SPLIT,  // reshape: one dimension into two
  RANDOM_DAG_MERGE,  // two into one: div and mod in the indices
  RANDOM_DAG_SLICE,
  RANDOM_DAG_CONCAT,
  RANDOM_DAG_GATHER,
  // through f16, bf16, float8 or integers of 4 and 8 bits; or such an input
  RANDOM_DAG_NARROW,
  RANDOM_DAG_WORDS,  // a product of matrices of words of four bytes
  RANDOM_DAG_BYTES,  // one of bytes, which such words can be made of
  // padding as a stage of its own (else the guard is in the window's loads)
  RANDOM_DAG_PAD_STAGE,
  RANDOM_DAG_TWO_OUTPUTS,
  RANDOM_DAG_PITCH,
  RANDOM_DAG_KIND_COUNT
} random_dag_kind;

#define RANDOM_DAG_MAX_DRAWS 64
typedef struct {
  uint64_t seed;
  uint32_t n_stages;  // aimed at; padding and clamping may add one
  uint8_t shift[RANDOM_DAG_MAX_DRAWS];  // the k-th extent that is drawn is halved so often
} random_dag_recipe;

random_dag_recipe random_dag_draw(uint64_t seed);
// Verified. *out_kinds (may be NULL): bit k set if kind k is in it.
seer_dag *random_dag_build(const random_dag_recipe *recipe, seer_arena *arena, uint32_t *out_kinds);
seer_dag *random_dag_of(uint64_t seed, seer_arena *arena);  // what random_dag_draw(seed) determines
// Elements (with pitch; the gap holds NaN or the largest integer) for input `buf`, in `arena`.
void *random_dag_input(const seer_dag *dag, uint32_t buf, seer_rng *rng, seer_arena *arena);
// The smallest recipe found, by dropping stages and halving extents, for which still_fails says
// true; at most `max_tries` calls. still_fails builds what it needs from the recipe.
random_dag_recipe random_dag_shrink(random_dag_recipe recipe,
    bool (*still_fails)(void *user, const random_dag_recipe *recipe), void *user,
    uint32_t max_tries);
const char *random_dag_kind_name(random_dag_kind kind);

#endif
