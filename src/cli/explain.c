#include "cli/explain.h"

#include <stdlib.h>
#include <string.h>

#include "measure/measure.h"
#include "record/sound.h"

static const struct {
  const char *name, *doc;
} limits[SEER_LIMIT_COUNT] = {
    [SEER_LIMIT_COMPUTE] = {"compute", "arithmetic, and loads that hit L1"},
    [SEER_LIMIT_L2] = {"L2", "bytes from L2: tiles that are larger than L1, or are read too often"},
    [SEER_LIMIT_L3] = {"L3", "bytes from L3: what is read again does not fit L2"},
    [SEER_LIMIT_MEMORY] = {"memory",
        "bytes from memory: weights, or activations that fit no cache"},
    [SEER_LIMIT_UNEVEN] = {"uneven threads", "parts that do not go evenly into threads"},
    [SEER_LIMIT_HANDOVER] = {"hand-over",
        "waking threads and handing work on, which takes as long however little there is to do"},
};
const char *seer_limit_name(seer_limit limit) { return limits[limit].name; }
const char *seer_limit_doc(seer_limit limit) { return limits[limit].doc; }

double seer_explained_seconds(const seer_explained *of) {
  return of->seconds > 0 ? of->seconds : of->estimate_s;
}

static void estimate(const seer_target *target, const seer_choice *choice, seer_explained *out) {
  seer_arena *arena = seer_arena_create("explain");
  const seer_nest *nest =
      seer_summarise(seer_summariser_create(choice->sketches, arena), &choice->schedule);
  seer_analytic_terms terms;
  out->estimate_s = seer_analytic_explain(nest, target, &terms);
  out->of_limit[SEER_LIMIT_COMPUTE] = terms.compute_s;
  for (int k = 0; k < 3; k++) out->of_limit[SEER_LIMIT_L2 + k] = terms.level_s[k];
  out->of_limit[SEER_LIMIT_UNEVEN] = terms.uneven_s;
  out->of_limit[SEER_LIMIT_HANDOVER] = terms.handover_s;
  for (seer_limit k = 0; k < SEER_LIMIT_COUNT; k++)
    if (out->of_limit[k] > out->of_limit[out->limit]) out->limit = k;
  seer_arena_destroy(arena);
}

// ---- what was tried

static seer_status count_record(void *user, const seer_record *record) {
  seer_explained *out = user;
  if (record->provenance == SEER_RECORD_ELSEWHERE || !seer_record_is_own_time(record))
    return SEER_OK;
  out->n_measured++;
  out->n_failed += record->cls != SEER_MEASURED_OK;
  out->n_dropped += record->is_raced_out;
  if (record->cls != SEER_MEASURED_OK || record->is_raced_out) return SEER_OK;
  if (out->best_s == 0 || record->seconds < out->best_s) out->best_s = record->seconds;
  return SEER_OK;
}

static seer_status count_records(const seer_network *network, seer_records *records,
    const seer_target *target, seer_explained *of) {
  int64_t targets[SEER_RECORD_MAX_TARGETS], workload;
  uint32_t n;
  if (!records) return SEER_OK;
  SEER_TRY(seer_records_find_targets(records, target, targets, &n));
  for (uint32_t t = 0; t < network->n_task; t++) {
    SEER_TRY(seer_records_find_workload(records, network->task[t].key, &workload));
    if (workload && targets[0])
      SEER_TRY(seer_records_each(records, workload, targets[0], count_record, &of[t]));
  }
  return SEER_OK;
}

seer_status seer_explain(seer_context *context, const seer_network *network,
    const seer_choice *choices, seer_records *records, seer_arena *arena, seer_explained **out) {
  const seer_target *target = seer_context_target(context);
  seer_explained *of = *out = SEER_NEW_ARRAY(arena, seer_explained, network->n_task + 1);
  double cold_bytes = seer_measure_cold_bytes(target, seer_measure_network_bytes(network)),
         all_s = 0;
  for (uint32_t t = 0; t < network->n_task; t++) {
    const seer_task *task = &network->task[t];
    estimate(target, &choices[t], &of[t]);
    of[t].seconds = choices[t].seconds;
    of[t].roofline = seer_roofline_build(task->dag, target, cold_bytes);
    of[t].bound_s = seer_roofline_task_seconds(task->dag, choices[t].sketches, target, cold_bytes);
    all_s += task->weight * seer_explained_seconds(&of[t]);
  }
  for (uint32_t t = 0; t < network->n_task && all_s > 0; t++)
    of[t].share = network->task[t].weight * seer_explained_seconds(&of[t]) / all_s;
  return count_records(network, records, target, of);
}

// ---- a task by name

seer_status seer_explain_find(
    const seer_network *network, const char *text, seer_arena *arena, uint32_t *out_task) {
  char *end;
  unsigned long number = strtoul(text, &end, 10);
  if (*text >= '0' && *text <= '9' && !*end) {
    *out_task = (uint32_t)number;
    if (number < network->n_task) return SEER_OK;
    return SEER_FAIL(NOT_FOUND, "task %s: the network has %u, from 0 on", text, network->n_task);
  }
  uint32_t n = 0;
  seer_text found;
  seer_text_init(&found, arena);
  for (uint32_t t = 0; t < network->n_task; t++) {
    if (!strstr(network->task[t].name, text)) continue;
    if (n++ == 0) *out_task = t;
    seer_text_printf(&found, "%s%u", n > 1 ? ", " : "", t);
  }
  if (n == 1) return SEER_OK;
  const char *safe = seer_text_safe(arena, text);
  if (n == 0) return SEER_FAIL(NOT_FOUND, "no task's name has '%s' in it; `tasks` names all", safe);
  return SEER_FAIL(
      INVALID, "'%s' is in the names of %u tasks: %s", safe, n, seer_text_safe(arena, found.data));
}
