// twins.c - (task, object) -> the first result. The contract: twins.h.
#include "measure/local/twins.h"

#include <stdio.h>
#include <string.h>

#include "base/map.h"

enum { N_VALUES = 2 };
_Static_assert(sizeof(seer_twin) <= N_VALUES * sizeof(uint64_t), "a twin fits");

static uint64_t key_of(uint32_t task, uint64_t object_hash) {
  return seer_hash_u64(object_hash, task + 1);
}

void seer_twins_init(seer_table *twins) { twins->n_values = N_VALUES; }

void seer_twins_add(
    seer_table *twins, uint32_t task, uint64_t object_hash, const seer_twin *first) {
  uint64_t key = key_of(task, object_hash);
  (void)seer_table_add(twins, key);
  memcpy(seer_table_values(twins, key), first, sizeof *first);
}

bool seer_twins_find(
    const seer_table *twins, uint32_t task, uint64_t object_hash, seer_twin *out_first) {
  const uint64_t *known = seer_table_values(twins, key_of(task, object_hash));
  if (known) memcpy(out_first, known, sizeof *out_first);
  return known != NULL;
}

void seer_twin_result(const seer_twin *first, seer_measure_result *out) {
  *out = (seer_measure_result){.cls = first->cls,
      .is_raced_out = first->is_raced_out,
      .is_twin = true,
      .seconds = first->seconds,
      .n_samples = first->seconds > 0,
      .sample = {first->seconds}};
  if (first->cls != SEER_MEASURED_OK)
    (void)snprintf(out->message, sizeof out->message, "as equal code before it");
}
