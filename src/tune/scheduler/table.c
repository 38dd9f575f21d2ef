// table.c - the policies.

#include <string.h>

#include "base/near.h"
#include "tune/scheduler.h"

// To add a policy: its file, its line. The first one is the default.
const seer_scheduler_desc *const seer_scheduler_table[] = {&seer_scheduler_seer,
    &seer_scheduler_familyseer, &seer_scheduler_ansor, &seer_scheduler_round_robin};
const size_t seer_scheduler_table_count = SEER_COUNT_OF(seer_scheduler_table);

seer_status seer_scheduler_find(const char *name, const seer_scheduler_desc **out_desc) {
  for (size_t i = 0; i < seer_scheduler_table_count; i++) {
    const seer_scheduler_desc *desc = seer_scheduler_table[i];
    if (strcmp(desc->name, name) == 0 || seer_words_have(desc->aliases, name)) {
      *out_desc = desc;
      return SEER_OK;
    }
  }
  return SEER_FAIL(
      INVALID, "unknown search policy '%s'; allowed: seer, familyseer, ansor, round-robin", name);
}
