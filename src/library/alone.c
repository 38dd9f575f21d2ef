// alone.c - a compiled library -> whole runs, and profiles that say how they are made up.

#include "library/alone.h"

#include <math.h>
#include <string.h>

#include "base/os.h"
#include "base/stats.h"
#include "library/use.h"
#include "measure/distance.h"

#define MAX_RUNS 1000
#define MIN_RUNS 8
#define WARM_UPS 3
#define PROFILES_SHARE 0.3  // of the time
#define MIN_PROFILE_RUNS 8
#define MAX_PROFILE_RUNS 100

static seer_status time_runs(seer_use *use, double seconds, double *out_s) {
  double runs[MAX_RUNS];
  uint32_t n = 0;
  for (int k = 0; k < WARM_UPS; k++) SEER_TRY(seer_use_run(use));
  uint64_t until = seer_os_now_ns() + (uint64_t)(seconds * 1e9);
  while (n < MIN_RUNS || (n < MAX_RUNS && seer_os_now_ns() < until)) {
    uint64_t start = seer_os_now_ns();
    SEER_TRY(seer_use_run(use));
    runs[n++] = (double)(seer_os_now_ns() - start) * 1e-9;
  }
  *out_s = seer_median(runs, n);
  return SEER_OK;
}

// Adds to out->step_s what all steps of each task take in this set.
static seer_status share_out(
    seer_use *use, const seer_network *network, double seconds, double run_s, seer_alone *out) {
  int32_t n = seer_use_n_steps(use);
  seer_step_info *step = SEER_NEW_ARRAY(use->arena, seer_step_info, n + 1);
  double n_runs = fmin(fmax(seconds / fmax(run_s, 1e-9), MIN_PROFILE_RUNS), MAX_PROFILE_RUNS);
  SEER_TRY(seer_use_time_steps(use, (uint32_t)n_runs, step, n));
  double all_s = 0;
  for (int32_t i = 0; i < n; i++) all_s += step[i].seconds;
  for (int32_t i = 0; i < n && all_s > 0; i++) {
    uint32_t task = seer_network_find_task(network, (uint32_t)i, step[i].name);
    if (task == UINT32_MAX) continue;
    out->step_s[task] += step[i].seconds / all_s * run_s;
    out->n_steps[task]++;
  }
  return SEER_OK;
}

static seer_status time_set(seer_context *context, seer_use *use, const seer_network *network,
    uint32_t set, double seconds, seer_alone *out) {
  double run_s;
  SEER_TRY(seer_use_select(use, (int32_t)set));
  SEER_TRY(seer_use_fill(context, use));
  SEER_TRY(time_runs(use, (1 - PROFILES_SHARE) * seconds, &run_s));
  out->latency_s += run_s / network->n_set;
  return share_out(use, network->set[set], PROFILES_SHARE * seconds, run_s, out);
}

double seer_alone_expected_s(double seconds, double run_s) {
  double runs_s = fmax((1 - PROFILES_SHARE) * seconds, (WARM_UPS + MIN_RUNS) * run_s);
  return runs_s + fmax(PROFILES_SHARE * seconds, MIN_PROFILE_RUNS * run_s);
}

static void clear(const seer_network *network, seer_alone *out) {
  out->latency_s = out->distance_ns = 0;
  memset(out->step_s, 0, network->n_task * sizeof *out->step_s);
  memset(out->n_steps, 0, network->n_task * sizeof *out->n_steps);
}

seer_status seer_alone_time(seer_context *context, const seer_network *network, const char *folder,
    double seconds, seer_alone *out) {
  seer_arena *arena = seer_arena_create("alone");
  seer_use use;
  clear(network, out);
  seer_status status =
      seer_use_open(context, seer_use_path(folder, arena), "", NULL, true, arena, &use);
  for (uint32_t s = 0; !status && s < network->n_set; s++)
    status = time_set(context, &use, network, s, seconds / network->n_set, out);
  if (!status) out->distance_ns = seer_distance_ns(use.pool);
  if (status) clear(network, out);
  for (uint32_t t = 0; t < network->n_task; t++)
    if (out->n_steps[t] > 0) out->step_s[t] /= out->n_steps[t];
  if (status && seer_status_code(status) == SEER_CODE_UNSUPPORTED) {
    seer_say(context, "not timed as a whole: %s", seer_status_message(status));
    seer_status_free(status);
    status = SEER_OK;
  }
  seer_use_close(&use);
  seer_arena_destroy(arena);
  return status;
}
