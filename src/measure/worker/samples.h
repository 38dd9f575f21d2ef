// samples.h - how often a kernel is called, and when it is dropped: one warm-up call, then samples
// of at least SEER_SAMPLE_MIN_NS each, until they are enough (timing.h). A candidate that is
// clearly slower than the best is dropped after the warm-up or the first samples (racing).
#ifndef SEER_MEASURE_WORKER_SAMPLES_H
#define SEER_MEASURE_WORKER_SAMPLES_H

#include "code/kernel.h"
#include "measure/measure.h"

// Below this, the clock and the pool's wake-up show (measured 2026-11: about 1 us each)
#define SEER_SAMPLE_MIN_NS 60000u
#define SEER_SAMPLE_MAX_CALLS 200u

typedef struct {
  double (*sample_ns)(void *user, uint32_t n_calls);  // one sample: nanoseconds of a call
  void *user;
  uint64_t memory_bytes;  // that a call uses
} seer_sampler;

uint64_t seer_samples_memory(const seer_kernel *kernel);  // for memory_bytes
// Fills the samples of `out`, their number and is_raced_out.
//   best_seconds  0: there is none
void seer_samples_take(const seer_sampler *sampler, double best_seconds, const seer_timing *timing,
    seer_measure_result *out);
// Calls that make a sample of at least `sample_ns`, of a kernel that takes `ns`.
uint32_t seer_samples_calls(double ns, double sample_ns, uint32_t most);

#endif
