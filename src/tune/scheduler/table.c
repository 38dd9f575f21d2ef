// table.c - the policies.

#include <string.h>

#include "base/near.h"
#include "tune/scheduler.h"

// To add a policy: its file with `const seer_scheduler_desc seer_scheduler_<name>`, its line
// (doc/how-to). The first one is the default.
// clang-format off
#define POLICIES(X)                                                                               \
  X(seer)                                                                                         \
  X(familyseer)                                                                                   \
  X(familyseer_artifact)                                                                          \
  X(familyseer_model)                                                                             \
  X(familyseer_foresee)                                                                           \
  X(familyseer_warm)                                                                              \
  X(familyseer_single)                                                                            \
  X(ansor)                                                                                        \
  X(ansor_quarter)                                                                                \
  X(round_robin)                                                                                  \
  X(random)
// clang-format on

#define DECLARE(name) extern const seer_scheduler_desc seer_scheduler_##name;
POLICIES(DECLARE)
#undef DECLARE

const seer_scheduler_desc *const seer_scheduler_table[] = {
#define ENTRY(name) &seer_scheduler_##name,
    POLICIES(ENTRY)
#undef ENTRY
};
const size_t seer_scheduler_table_count = SEER_COUNT_OF(seer_scheduler_table);

// Names that users of Ansor and FamilySeer know, and what they mean there. The grouping of a plain
// sketch.* is the policy's own.
const seer_policy seer_policy_alias_table[] = {
    {"default", &seer_scheduler_seer, NULL, NULL},
    {"sketch.xgb", &seer_scheduler_ansor, "all", "xgboost"},
    {"sketch.random", &seer_scheduler_ansor, "all", "random"},
    {"sketch.xgb.family_op", &seer_scheduler_familyseer, "anchor-op", "xgboost"},
    {"sketch.xgb.family_hash", &seer_scheduler_familyseer, "op-sequence", "xgboost"},
    {"sketch.xgb.family_ind", &seer_scheduler_familyseer, "single", "xgboost"},
};
const size_t seer_policy_alias_table_count = SEER_COUNT_OF(seer_policy_alias_table);

seer_status seer_policy_find(const char *name, seer_policy *out) {
  char known[512] = "";
  for (size_t i = 0; i < seer_scheduler_table_count; i++) {
    const seer_scheduler_desc *desc = seer_scheduler_table[i];
    *out = (seer_policy){desc->name, desc, desc->grouping, NULL};
    if (strcmp(desc->name, name) == 0) return SEER_OK;
    seer_words_add(known, sizeof known, desc->name);
  }
  for (size_t i = 0; i < seer_policy_alias_table_count; i++) {
    *out = seer_policy_alias_table[i];
    if (strcmp(out->name, name) == 0) return SEER_OK;
    seer_words_add(known, sizeof known, out->name);
  }
  return SEER_FAIL(INVALID, "unknown search policy '%s'; allowed: %s", name, known);
}
