// table.c - the measurers, and the names of what can go wrong.

#include <string.h>

#include "tune/measure.h"
#include "tune/measure/backends.h"

static const char *const class_names[SEER_MEASURED_COUNT] = {"ok", "build-error", "build-timeout",
    "run-crash", "run-timeout", "wrong-result", "device-lost"};

const char *seer_measured_class_name(seer_measured_class cls) {
  return cls < SEER_MEASURED_COUNT ? class_names[cls] : "unknown";
}

// To add a measurer: its file, its line here and in backends.h.
const seer_measure_desc *const seer_measure_table[] = {&seer_measure_local, &seer_measure_fake};
const size_t seer_measure_table_count = SEER_COUNT_OF(seer_measure_table);

seer_status seer_measure_find(const char *name, const seer_measure_desc **out_desc) {
  for (size_t i = 0; i < seer_measure_table_count; i++) {
    if (strcmp(seer_measure_table[i]->name, name) == 0) {
      *out_desc = seer_measure_table[i];
      return SEER_OK;
    }
  }
  return SEER_FAIL(INVALID, "unknown measurer '%s'; allowed: local, fake", name);
}

// Copies of this size are never found in the last-level cache whole.
#define COLD_FACTOR 1.5

double seer_measure_cold_bytes(const seer_target *target, uint64_t network_weight_bytes) {
  double l2 = (double)target->l2_bytes * target->threads, l3 = (double)target->l3_bytes;
  double most = COLD_FACTOR * (l3 > l2 ? l3 : l2), all = (double)network_weight_bytes;
  return all < most ? all : most;
}
