// result.c - what can befall a candidate, by name, and what its time is on a slower device. The
// contract: measure.h.
#include <math.h>

#include "base/near.h"
#include "measure/measure.h"

// The arithmetic of a task at this share of its time on the machine's peak is still taken for a
// measurement. Half for a peak that was taken beside other work (decision 29), an eighth for
// operations that a DAG repeats along an axis and code does once (a sigmoid counts 10 to 20).
#define LEAST_SHARE (1.0 / 16)

static const char *const class_names[SEER_MEASURED_COUNT] = {"ok", "build-error", "build-timeout",
    "run-crash", "run-timeout", "wrong-result", "device-lost"};

const char *seer_measured_class_name(seer_measured_class cls) {
  return cls < SEER_MEASURED_COUNT ? class_names[cls] : "unknown";
}

bool seer_measured_class_parse(const char *text, seer_measured_class *out) {
  size_t i = seer_words_find(class_names, SEER_MEASURED_COUNT, text);
  if (i < SEER_MEASURED_COUNT) *out = (seer_measured_class)i;
  return i < SEER_MEASURED_COUNT;
}

double seer_measure_least_seconds(const seer_sketch_list *sketches) {
  const seer_target *target = sketches->target;
  double flops = INFINITY;  // a formulation may need less arithmetic than another
  for (uint32_t k = 0; k < sketches->n; k++)
    flops = fmin(flops, seer_dag_flops(sketches->sketch[k]->dag));
  if (!seer_target_has_own_rates(target)) return SEER_MEASURE_LEAST_SECONDS;
  double gflops = target->peak_gflops * target->threads;
  if (target->kind != SEER_TARGET_CPU) {
    const seer_target_gpu *gpu = &target->gpu;
    double a_cycle = fmax(2.0 * gpu->n_fmas,
        fmax((double)gpu->f16_flops, fmax((double)gpu->bf16_flops, (double)gpu->tf32_flops)));
    gflops = a_cycle * gpu->n_processors * gpu->clock_ghz;
  }
  double at_peak_s = flops / (gflops * 1e9);
  return fmax(SEER_MEASURE_LEAST_SECONDS, LEAST_SHARE * at_peak_s);
}

uint32_t seer_measure_devices_left(const seer_measure_facts *facts) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < facts->n_devices; k++) n += !facts->is_left_out[k];
  return n;
}

// What has equal code is not run again, and what has none is not run at all.
static bool was_run(const seer_measure_result *result) {
  bool has_code = result->cls != SEER_MEASURED_BUILD_ERROR &&
      result->cls != SEER_MEASURED_BUILD_TIMEOUT && result->cls != SEER_MEASURED_DEVICE_LOST;
  return has_code && !result->is_twin;
}

double seer_measure_delay(double delay_s, double took_s, seer_measure_result *results, uint32_t n) {
  double needed_s = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (!was_run(&results[i])) continue;
    if (results[i].run_s < delay_s) results[i].run_s = delay_s;
    needed_s += delay_s;
  }
  return needed_s > took_s ? needed_s - took_s : 0;
}
