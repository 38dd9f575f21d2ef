// samples.c - see samples.h.
#include "measure/worker/samples.h"

#include <math.h>

#define MAX_CALLS_PRECISE 4000u  // where a precision is asked for
// Dropped when the first call is so much slower, and what the call's memory costs when it is in no
// cache and perhaps on no page: after a build nothing is warm, and a kernel of 0.1 ms that is as
// fast as the best takes 0.5 to 1 ms then.
#define RACE_WARM_UP 2.5
#define COLD_NS_PER_BYTE 0.5
// Dropped when the least sample so far is so much slower: grossly, after a first moment, or
// narrowly, after two samples and a longer one, or after one that is longer than the bursts of a
// millisecond and more in which a shared machine is disturbed. Short kernels cost more to build
// than to time.
#define RACE_GROSS 2.0
#define RACE_GROSS_S 5e-4
#define RACE_NARROW 1.15
#define RACE_NARROW_S 1.5e-3
#define RACE_SURE_S 5e-3

uint64_t seer_samples_memory(const seer_kernel *kernel) {
  uint64_t sum = kernel->scratch_bytes;
  for (uint32_t k = 0; k < kernel->n_arg; k++) sum += kernel->arg[k].n_bytes;
  return sum;
}

uint32_t seer_samples_calls(double ns, double sample_ns, uint32_t most) {
  double n = ceil(sample_ns / (ns > 1 ? ns : 1));
  return n > most ? most : (uint32_t)n;
}

void seer_samples_take(const seer_sampler *sampler, double best_seconds, const seer_timing *timing,
    seer_measure_result *out) {
  double ns = sampler->sample_ns(sampler->user, 1), best_ns = best_seconds * 1e9;
  out->n_samples = 1;
  out->sample[0] = ns * 1e-9;
  // The warm-up call also pays for pages and caches that no later call pays for: only a gross loser
  // is dropped on it.
  double cold_ns = 50000 + COLD_NS_PER_BYTE * (double)sampler->memory_bytes;
  if (best_ns > 0 && ns > RACE_WARM_UP * best_ns + cold_ns) {
    out->is_raced_out = true;
    return;
  }
  double each_ns = fmax(SEER_SAMPLE_MIN_NS, seer_timing_sample_s(timing) * 1e9);
  uint32_t most = timing->precision > 0 ? MAX_CALLS_PRECISE : SEER_SAMPLE_MAX_CALLS;
  if (ns < each_ns + cold_ns) ns = sampler->sample_ns(sampler->user, 1);  // a warm one to go by
  uint32_t n_calls = seer_samples_calls(ns, each_ns, most);
  if (n_calls > 1) {
    ns = sampler->sample_ns(sampler->user, n_calls / 4 + 1);
    n_calls = seer_samples_calls(ns, each_ns, most);
  }
  double total_s = 0, least_ns = INFINITY;
  for (uint32_t i = 0;; i++) {
    ns = sampler->sample_ns(sampler->user, n_calls);
    out->sample[i] = ns * 1e-9;
    out->n_samples = i + 1;
    total_s += ns * n_calls * 1e-9;
    least_ns = fmin(least_ns, ns);
    bool is_gross = total_s >= RACE_GROSS_S && least_ns > RACE_GROSS * best_ns;
    bool is_sure = (i > 0 && total_s >= RACE_NARROW_S) || total_s >= RACE_SURE_S;
    bool is_narrow = is_sure && least_ns > RACE_NARROW * best_ns;
    if (best_ns > 0 && (is_gross || is_narrow)) {
      out->is_raced_out = true;
      return;
    }
    if (seer_timing_is_enough(timing, out->sample, i + 1, total_s)) return;
  }
}
