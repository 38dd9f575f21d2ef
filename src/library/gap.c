// gap.c - a compiled library -> whole runs and a profile -> held against the tasks' own times.

#include "library/gap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/stats.h"
#include "library/use.h"

#define MAX_RUNS 200
#define MIN_RUNS 8
#define BUDGET_NS 500000000u
#define PROFILE_RUNS 8
#define WORTH_A_WORD 1.1
#define N_NAMED 5

typedef struct {
  const char *name;
  double expected_s, found_s;
} step_gap;

static int by_loss(const void *a, const void *b) {
  const step_gap *x = a, *y = b;
  double of_x = x->found_s - x->expected_s, of_y = y->found_s - y->expected_s;
  return of_x < of_y ? 1 : of_x > of_y ? -1 : 0;
}

static seer_status time_runs(seer_use *use, seer_gap *out) {
  double seconds[MAX_RUNS];
  uint32_t n = 0;
  for (int k = 0; k < 3; k++) SEER_TRY(seer_use_run(use));
  uint64_t until = seer_os_now_ns() + BUDGET_NS;
  while (n < MIN_RUNS || (n < MAX_RUNS && seer_os_now_ns() < until)) {
    uint64_t start = seer_os_now_ns();
    SEER_TRY(seer_use_run(use));
    seconds[n++] = (double)(seer_os_now_ns() - start) * 1e-9;
  }
  seer_sort_f64(seconds, n);
  out->latency_s = seer_sorted_median(seconds, n);
  out->network_s = seer_sorted_quartile(seconds, n);
  return SEER_OK;
}

static seer_status look(const seer_context *context, seer_use *use, const seer_network *network,
    const seer_choice *choices, seer_gap *out) {
  SEER_TRY(time_runs(use, out));
  int32_t n = seer_use_n_steps(use);
  seer_step_info *info = SEER_NEW_ARRAY(use->arena, seer_step_info, n + 1);
  step_gap *steps = SEER_NEW_ARRAY(use->arena, step_gap, n + 1);
  SEER_TRY(seer_use_time_steps(use, PROFILE_RUNS, info, n));
  out->tasks_s = 0;
  for (int32_t i = 0; i < n; i++) {
    uint32_t task = seer_network_find_task(network, (uint32_t)i, info[i].name);
    double expected = task == UINT32_MAX ? 0 : choices[task].seconds;
    steps[i] = (step_gap){info[i].name, expected, info[i].seconds};
    if (expected <= 0) steps[i].expected_s = info[i].seconds;
    out->tasks_s += steps[i].expected_s;
  }
  if (out->network_s <= WORTH_A_WORD * out->tasks_s) return SEER_OK;
  qsort(steps, (size_t)n, sizeof *steps, by_loss);
  seer_text text;
  seer_text_init(&text, use->arena);
  if (network->n_set > 1) seer_text_printf(&text, "%s: ", network->shapes);
  seer_text_printf(&text,
      "the network takes %.3f ms, its parts one by one %.3f ms; most is lost in",
      out->network_s * 1e3, out->tasks_s * 1e3);
  for (int32_t i = 0; i < n && i < N_NAMED && steps[i].found_s > steps[i].expected_s; i++) {
    seer_text_printf(&text, "%s %s (%.0f us, alone %.0f us)", i ? "," : "",
        seer_text_safe(use->arena, steps[i].name), steps[i].found_s * 1e6,
        steps[i].expected_s * 1e6);
  }
  seer_say(context, "%s", text.data);
  return SEER_OK;
}

seer_status seer_gap_find(seer_context *context, const seer_network *network, uint32_t set,
    const seer_choice *choices, const char *folder, seer_gap *out_gap) {
  *out_gap = (seer_gap){.latency_s = 0};
  seer_arena *arena = seer_arena_create("gap");
  seer_use use;
  seer_status status =
      seer_use_open(context, seer_use_path(folder, arena), "", NULL, true, arena, &use);
  if (!status) status = seer_use_select(&use, (int32_t)set);
  if (!status) status = seer_use_fill(context, &use);
  if (!status) status = look(context, &use, network->set[set], choices, out_gap);
  if (status && seer_status_code(status) == SEER_CODE_UNSUPPORTED) {
    // These inputs lead to a side of an If that could not be built; others may not.
    seer_say(context, "not timed as a whole: %s", seer_status_message(status));
    seer_status_free(status);
    status = SEER_OK;
  }
  seer_use_close(&use);
  seer_arena_destroy(arena);
  return status;
}
