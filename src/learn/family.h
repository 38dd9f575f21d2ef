// family.h - groups tasks into families: a table of grouping algorithms.
// All is pure but for the arena: safe from any thread.
#ifndef SEER_LEARN_FAMILY_H
#define SEER_LEARN_FAMILY_H

#include "front/front.h"

typedef struct {
  const char *name;  // "anchor-op"
  const char *aliases;  // space-separated foreign names: "op"
  const char *doc;
  const char *(*key)(
      const seer_task *task, seer_arena *arena);  // tasks with equal keys are one family
} seer_family_desc;

extern const seer_family_desc *const seer_family_table[];
extern const size_t seer_family_table_count;

// Errors: INVALID lists the names.
SEER_MUST_USE seer_status seer_family_find(
    const char *name_or_alias, const seer_family_desc **out_desc);

typedef struct {
  uint32_t n_family;
  const char **name;  // by family, in first-seen order
  uint32_t *family_of;  // by task
} seer_families;

// In `arena`, where the tasks are to live as long: names may be theirs.
void seer_families_build(const seer_family_desc *desc, const seer_task *tasks, uint32_t n_task,
    seer_arena *arena, seer_families *out);

#endif
