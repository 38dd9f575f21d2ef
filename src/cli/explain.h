// explain.h - why a task takes as long as it does: its schedule as compile -O2 would choose it,
// what it takes, what no schedule gets below, where the time goes by the analytic estimate, and
// what was tried for it.
//
// Memory: in the arena. One thread. Errors: those of choosing and of the records.
#ifndef SEER_CLI_EXPLAIN_H
#define SEER_CLI_EXPLAIN_H

#include "code/artefact.h"
#include "learn/feature.h"
#include "learn/roofline.h"
#include "record/record.h"

// What the time of a schedule goes to, of the estimate.
typedef enum {
  SEER_LIMIT_COMPUTE,  // arithmetic and what hits L1
  SEER_LIMIT_L2,  // bytes that come from there
  SEER_LIMIT_L3,
  SEER_LIMIT_MEMORY,
  SEER_LIMIT_UNEVEN,  // threads that wait for others
  SEER_LIMIT_HANDOVER,  // waking threads, handing out parts, and lines that pass between them
  SEER_LIMIT_COUNT
} seer_limit;
const char *seer_limit_name(seer_limit limit);  // "L2"
const char *seer_limit_doc(seer_limit limit);  // what helps against it

typedef struct {
  double estimate_s, seconds;  // seconds: measured, 0: never
  double bound_s;
  double share;  // of the network's time: measured where it was, else estimated
  double of_limit[SEER_LIMIT_COUNT];  // parts of estimate_s; in all it
  seer_limit limit;  // the largest
  seer_roofline roofline;  // of the task's own formulation
  uint32_t n_measured, n_failed, n_dropped;  // in the records, here
  double best_s;  // of those measured; 0: none
} seer_explained;

// of[n_task], for choices of the same network. `records` may be NULL.
SEER_MUST_USE seer_status seer_explain(seer_context *context, const seer_network *network,
    const seer_choice *choices, seer_records *records, seer_arena *arena, seer_explained **out);
// What a task takes once: measured, else estimated.
double seer_explained_seconds(const seer_explained *of);
// The task that `text` names: by its number, or as the only one whose name has it in it.
// Errors: NOT_FOUND; INVALID: several, with their numbers.
SEER_MUST_USE seer_status seer_explain_find(
    const seer_network *network, const char *text, seer_arena *arena, uint32_t *out_task);

#endif
