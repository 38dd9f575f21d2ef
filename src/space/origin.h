// origin.h - where a schedule comes from: that of a candidate, and that of what is compiled. Three
// words for three things: *plain* is untiled code, the reference of checks; *untuned* is the
// models' favourite, nothing measured; *tuned* is a winner.
#ifndef SEER_SPACE_ORIGIN_H
#define SEER_SPACE_ORIGIN_H

typedef enum {
  // ---- of what is compiled
  SEER_ORIGIN_PLAIN,
  SEER_ORIGIN_UNTUNED,
  SEER_ORIGIN_TUNED,  // measured for this task on this target, and accepted
  SEER_ORIGIN_ELSEWHERE,  // heard of for this task and target, measured by nobody whose word counts
  SEER_ORIGIN_SIMILAR,  // tuned on a machine with the same features and threads
  SEER_ORIGIN_SIBLING,  // tuned for another shape; re-fitted
  SEER_ORIGIN_RANDOM,  // drawn
  // ---- of candidates only
  SEER_ORIGIN_RECORD,  // from records that are nearly about the task
  SEER_ORIGIN_FORMULATION,  // the best of a formulation that has not been tried
  SEER_ORIGIN_MODEL,  // the learned model's choice
  SEER_ORIGIN_ANALYTIC,  // the analytic model's
  SEER_ORIGIN_NEIGHBOUR,  // one step away from the best
  SEER_ORIGIN_WITNESS,  // one of the best, timed again
  SEER_ORIGIN_PAIRS,  // measured in turns with another
  SEER_ORIGIN_NETWORK,  // what is compiled, measured where the network uses it
  SEER_ORIGIN_COUNT
} seer_origin;

const char *seer_origin_name(seer_origin origin);  // "untuned"; in records, plans and events

#endif
