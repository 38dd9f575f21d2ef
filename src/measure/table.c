// table.c - the measurers, and the names of what can go wrong.

#include <stdio.h>
#include <string.h>

#include "base/near.h"
#include "measure/backends.h"
#include "measure/measure.h"

static const char *const class_names[SEER_MEASURED_COUNT] = {"ok", "build-error", "build-timeout",
    "run-crash", "run-timeout", "wrong-result", "device-lost"};

const char *seer_measured_class_name(seer_measured_class cls) {
  return cls < SEER_MEASURED_COUNT ? class_names[cls] : "unknown";
}

// To add a measurer: its file, its line here and in backends.h.
const seer_measure_desc *const seer_measure_table[] = {
    &seer_measure_local, &seer_measure_fake, &seer_measure_replay};
const size_t seer_measure_table_count = SEER_COUNT_OF(seer_measure_table);

// "x:delay=500ms" -> the bytes before the delay, and its seconds; without one all of them, and 0.
static seer_status split_delay(const char *text, size_t *out_n, double *out_delay_s) {
  static const char mark[] = ":delay=";
  const char *at = NULL;
  for (const char *next = strstr(text, mark); next; next = strstr(next + 1, mark)) at = next;
  *out_n = at ? (size_t)(at - text) : strlen(text);
  *out_delay_s = 0;
  if (!at) return SEER_OK;
  at += strlen(mark);
  bool is_time = seer_duration_parse(at, out_delay_s);
  if (is_time && *out_delay_s >= 0 && *out_delay_s <= SEER_MEASURE_MAX_DELAY_S) return SEER_OK;
  return SEER_FAIL(INVALID,
      "measurer %s: the delay is '%s', must be a time from 0 to %g seconds, as in delay=500ms",
      text, at, SEER_MEASURE_MAX_DELAY_S);
}

seer_status seer_measure_find(const char *text, seer_arena *arena, seer_measure_choice *out) {
  *out = (seer_measure_choice){0};
  size_t n_all, n;
  SEER_TRY(split_delay(text, &n_all, &out->delay_s));
  const char *own = seer_arena_strndup(arena, text, n_all);
  n = strcspn(own, ":");
  out->argument = own[n] ? own + n + 1 : "";
  char known[256] = "";
  for (size_t i = 0; i < seer_measure_table_count; i++) {
    const seer_measure_desc *desc = seer_measure_table[i];
    char form[64];
    (void)snprintf(form, sizeof form, "%s%s%s", desc->name, desc->argument ? ":" : "",
        desc->argument ? desc->argument : "");
    seer_words_add(known, sizeof known, form);
    if (strlen(desc->name) != n || strncmp(desc->name, own, n) != 0) continue;
    out->desc = desc;
    if (desc->argument && !out->argument[0])
      return SEER_FAIL(INVALID, "measurer %s: its %s is missing: %s", text, desc->argument, form);
    if (!desc->argument && own[n])
      return SEER_FAIL(INVALID,
          "measurer %s takes nothing behind its name but delay=TIME, and got '%s'", desc->name,
          out->argument);
    return SEER_OK;
  }
  return SEER_FAIL(
      INVALID, "unknown measurer '%s'; allowed: %s, each perhaps with :delay=TIME", text, known);
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

// Copies of this size are never found in the last-level cache whole.
#define COLD_FACTOR 1.5

double seer_measure_cold_bytes(const seer_target *target, uint64_t network_weight_bytes) {
  double l2 = (double)target->l2_bytes * target->threads, l3 = (double)target->l3_bytes;
  double most = COLD_FACTOR * (l3 > l2 ? l3 : l2), all = (double)network_weight_bytes;
  return all < most ? all : most;
}

uint64_t seer_measure_network_bytes(const seer_network *network) {
  double total = 0;
  for (uint32_t t = 0; t < network->n_task; t++)
    total += seer_dag_weight_bytes(network->task[t].dag) * network->task[t].weight;
  return (uint64_t)(total / network->n_set);  // every set reads them all
}
