// table.c - the measurers, and the names of what can go wrong.

#include <stdio.h>
#include <string.h>

#include "base/near.h"
#include "tune/measure.h"
#include "tune/measure/backends.h"

static const char *const class_names[SEER_MEASURED_COUNT] = {"ok", "build-error", "build-timeout",
    "run-crash", "run-timeout", "wrong-result", "device-lost"};

const char *seer_measured_class_name(seer_measured_class cls) {
  return cls < SEER_MEASURED_COUNT ? class_names[cls] : "unknown";
}

// To add a measurer: its file, its line here and in backends.h.
const seer_measure_desc *const seer_measure_table[] = {
    &seer_measure_local, &seer_measure_fake, &seer_measure_replay};
const size_t seer_measure_table_count = SEER_COUNT_OF(seer_measure_table);

seer_status seer_measure_find(
    const char *text, const seer_measure_desc **out_desc, const char **out_argument) {
  size_t n = strcspn(text, ":");
  char known[256] = "";
  for (size_t i = 0; i < seer_measure_table_count; i++) {
    const seer_measure_desc *desc = seer_measure_table[i];
    char form[64];
    (void)snprintf(form, sizeof form, "%s%s%s", desc->name, desc->argument ? ":" : "",
        desc->argument ? desc->argument : "");
    seer_words_add(known, sizeof known, form);
    if (strlen(desc->name) != n || strncmp(desc->name, text, n) != 0) continue;
    *out_desc = desc;
    *out_argument = text[n] ? text + n + 1 : "";
    if (desc->argument && !(*out_argument)[0])
      return SEER_FAIL(INVALID, "measurer %s: its %s is missing: %s", text, desc->argument, form);
    if (!desc->argument && text[n])
      return SEER_FAIL(INVALID, "measurer %s takes nothing behind its name, and got '%s'",
          desc->name, *out_argument);
    return SEER_OK;
  }
  return SEER_FAIL(INVALID, "unknown measurer '%s'; allowed: %s", text, known);
}

// Copies of this size are never found in the last-level cache whole.
#define COLD_FACTOR 1.5

double seer_measure_cold_bytes(const seer_target *target, uint64_t network_weight_bytes) {
  double l2 = (double)target->l2_bytes * target->threads, l3 = (double)target->l3_bytes;
  double most = COLD_FACTOR * (l3 > l2 ? l3 : l2), all = (double)network_weight_bytes;
  return all < most ? all : most;
}
