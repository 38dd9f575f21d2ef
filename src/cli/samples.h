// samples.h - times of single runs, and what is said of them.
#ifndef SEER_CLI_SAMPLES_H
#define SEER_CLI_SAMPLES_H

#include <jansson.h>

#include "base/arena.h"

typedef struct {
  double *ms;  // sorted by seer_samples_finish
  size_t n, cap;
  double min, median, mean, p90, p95, p99, stddev;
} seer_samples;

void seer_samples_add(seer_samples *s, double ms, seer_arena *arena);
// At least one has been added. Percentiles by nearest rank.
void seer_samples_finish(seer_samples *s);
// A line of text, and the same as members of `object`.
void seer_samples_print(const seer_samples *s);
void seer_samples_put(const seer_samples *s, json_t *object);

#endif
