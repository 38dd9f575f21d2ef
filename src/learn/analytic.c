// analytic.c - the closed-form model: seconds of one run of a schedule.
// A roofline by level of cache per statement: the larger of issue time and each level's transfer
// time, plus part of the rest (they overlap, but not fully); divided over threads by whole parts.
// Lines that pass between threads come on top.

#include "learn/feature.h"
#include "learn/gpu/profile.h"
#include "learn/profile.h"

#include <math.h>

#define OVERLAP_LOSS 0.2  // of the times that hide behind the largest one, what still shows
// The constants are fitted for the right order of schedules, not for times: of what they sum up to,
// good schedules take this share.
#define SCALE 0.6
#define PHASE_SECONDS 2.7e-6  // waking the pool and waiting for the last part
#define PART_SECONDS 1.25e-7  // claiming one part
// A line that is another thread's takes as long as so many from L3, there and back: 3 ns or 29, as
// the two threads share a cache or do not, where L3 takes 1 (Zen 4, 2026-11; doc/decisions, 55).
// What is chosen must do for both.
#define CROSSING_COST 8.0

// *out_longest: which of its times is the largest: 0 issue, then L2, L3, memory.
static double statement_seconds(
    const seer_statement_profile *p, const seer_target *target, int *out_longest) {
  // cycles/s from the peak: lanes * ports * 2 operations per cycle
  double hz = target->peak_gflops * 1e9 / (2.0 * seer_target_lanes(target) * target->n_fma_ports);
  double time[4] = {p->cycles / hz, p->moved[0] / (target->l2_gbs * 1e9),
      p->moved[1] / (target->l3_gbs * 1e9), p->moved[2] / (target->dram_gbs * 1e9)};
  double largest = 0, sum = 0;
  *out_longest = 0;
  for (int i = 0; i < 4; i++) {
    sum += time[i];
    if (time[i] <= largest) continue;
    largest = time[i];
    *out_longest = i;
  }
  return SCALE * (largest + OVERLAP_LOSS * (sum - largest));
}

static double seconds_of_items(const seer_nest *nest, const seer_target *target) {
  seer_kernel_profile kernels[SEER_PROFILE_MAX_KERNELS];
  uint32_t n = seer_profile_kernels(nest, target, kernels);
  return seer_kernels_seconds(kernels, n, target);
}

double seer_analytic_explain(
    const seer_nest *nest, const seer_target *target, seer_analytic_terms *out) {
  *out = (seer_analytic_terms){0};
  if (target->kind != SEER_TARGET_CPU) return out->compute_s = seconds_of_items(nest, target);
  double total = 0;
  for (uint32_t i = 0; i < nest->n_statement; i++) {
    seer_statement_profile p;
    int longest;
    seer_profile_statement(nest, &nest->statement[i], target, &p, NULL);
    double threads = target->threads < p.parts ? target->threads : p.parts;
    double waves = ceil(p.parts / threads);
    double one_s = statement_seconds(&p, target, &longest), crossing_s;
    total += one_s * waves / p.parts;
    total += crossing_s = CROSSING_COST * p.crossing / (target->l3_gbs * 1e9) / target->threads;
    double *term = longest == 0 ? &out->compute_s : &out->level_s[longest - 1];
    *term += one_s / target->threads;
    out->uneven_s += one_s * waves / p.parts - one_s / target->threads;
    out->handover_s += crossing_s;
  }
  for (uint32_t r = 0; r < nest->n_phase; r++) {
    double phase_s = PHASE_SECONDS + PART_SECONDS * nest->n_parts[r] / target->threads;
    total += phase_s;
    out->handover_s += phase_s;
  }
  return total;
}

double seer_analytic_seconds(const seer_nest *nest, const seer_target *target) {
  seer_analytic_terms terms;
  return seer_analytic_explain(nest, target, &terms);
}
