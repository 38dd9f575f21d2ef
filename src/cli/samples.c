// samples.c - times of single runs. The contract: samples.h.
#include "cli/samples.h"

#include <math.h>
#include <stdio.h>

#include "base/stats.h"

void seer_samples_add(seer_samples *s, double ms, seer_arena *arena) {
  s->ms = SEER_GROW(arena, double, s->ms, s->n, &s->cap);
  s->ms[s->n++] = ms;
}

// The smallest value that at least this share of the samples does not exceed.
static double percentile(const seer_samples *s, double share) {
  size_t rank = (size_t)ceil(share * (double)s->n);
  return s->ms[rank > 0 ? rank - 1 : 0];
}

void seer_samples_finish(seer_samples *s) {
  SEER_ASSERT(s->n > 0, "%zu samples", s->n);
  seer_sort_f64(s->ms, s->n);
  double sum = 0, squares = 0;
  for (size_t i = 0; i < s->n; i++) sum += s->ms[i];
  s->mean = sum / (double)s->n;
  for (size_t i = 0; i < s->n; i++) squares += (s->ms[i] - s->mean) * (s->ms[i] - s->mean);
  s->stddev = s->n > 1 ? sqrt(squares / (double)(s->n - 1)) : 0;
  s->min = s->ms[0];
  s->median = seer_sorted_median(s->ms, s->n);
  s->p90 = percentile(s, 0.90);
  s->p95 = percentile(s, 0.95);
  s->p99 = percentile(s, 0.99);
}

void seer_samples_print(const seer_samples *s) {
  printf("  min %.4f ms   median %.4f   mean %.4f   P90 %.4f   P95 %.4f   P99 %.4f   stddev %.4f\n",
      s->min, s->median, s->mean, s->p90, s->p95, s->p99, s->stddev);
}

void seer_samples_put(const seer_samples *s, json_t *object) {
  json_object_update_new(object,
      json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I}", "min_ms", s->min, "median_ms",
          s->median, "mean_ms", s->mean, "p90_ms", s->p90, "p95_ms", s->p95, "p99_ms", s->p99,
          "stddev_ms", s->stddev, "n", (json_int_t)s->n));
}
