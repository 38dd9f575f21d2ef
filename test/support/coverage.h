// coverage.h - what random schedules met: rules, tails, places, unrolling, kinds of DAG; and
// whether each was met often enough for a property test to mean something.
#ifndef SEER_TEST_COVERAGE_H
#define SEER_TEST_COVERAGE_H

#include "space/lower/lower.h"
#include "support/random_dag.h"

typedef enum {
  MET_TAIL_ROOT,  // a spatial loop of a root stage with a tail
  MET_TAIL_REGION,  // of an attached stage
  MET_TAIL_REDUCE,
  MET_TAIL_VECTOR,
  MET_CUT_REGION,  // a region that may leave the axis
  MET_CLAMPED_START,  // a LET
  MET_PARALLEL,
  MET_PACKED,
  MET_PHASES,
  MET_INLINE,
  MET_ROOT,
  MET_AT_1,
  MET_AT_2,
  MET_AT_3,
  MET_AT_4_OR_MORE,
  MET_AT_IN_AT,
  MET_UNROLL_1,
  MET_UNROLL_4,
  MET_UNROLL_16,
  MET_UNROLL_64,
  MET_COUNT
} loop_met_kind;
typedef struct {
  uint64_t met[MET_COUNT], dag_kind[RANDOM_DAG_KIND_COUNT];
  uint64_t mutated, crossed, pairs;
  struct {
    char name[32];
    uint64_t n;
  } rule[64];
  uint32_t n_rule;
} loop_coverage;

// Notes one schedule and its loops; `scratch` is used for its frame.
void loop_coverage_note(loop_coverage *c, const seer_sketch_list *list,
    const seer_schedule *schedule, const seer_loop *loop, seer_arena *scratch);
void loop_coverage_note_kinds(loop_coverage *c, uint32_t kinds);  // as random_dag_build says
// What was met less than `quota` times (one of them), or NULL. Of rules: of those met at all.
const char *loop_coverage_lack(const loop_coverage *c, uint64_t quota);
// Prints all counts, and fails the test where one is below `quota`.
void loop_coverage_check(const loop_coverage *c, uint64_t quota);

#endif
