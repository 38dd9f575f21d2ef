// family.c - the grouping algorithms, and tasks grouped by one of them.
// The default groups by the anchor operator's access pattern, found by analysis of the DAG; the
// others are the paper's (FamilySeer, 2022, table of groupings) and the two extremes.

#include "learn/family.h"

#include <string.h>
#include <strings.h>

#include "base/map.h"
#include "base/near.h"
#include "dag/access.h"
#include "learn/family_artifact.h"

static const char *key_anchor_op(const seer_task *task, seer_arena *arena) {
  (void)arena;
  return task->anchor_class;
}

// By how much the indices of all loads move with their axes, whatever the order of the loads.
static uint64_t hash_steps(const seer_dag *dag) {
  const seer_access_table *table = dag->access;
  uint64_t sum = 0;
  for (uint32_t i = 0; i < table->n_load; i++) {
    const seer_access *load = &table->load[i];
    for (uint32_t d = 0; d < load->rank; d++) {
      const seer_access_dim *dim = seer_access_index(table, load, d);
      for (uint32_t a = 0; a < SEER_DAG_MAX_AXES; a++) {
        if (dim->coef[a] == 0 || dim->coef[a] == 1) continue;
        sum += seer_hash_u64((uint64_t)dim->coef[a], seer_hash_u64(a, d + 1));
      }
    }
  }
  return sum;
}

// The sequence of operators with shapes ignored, strides and dilations not: the structure part of
// the key, in which only a stride of 1 shows, and those.
static const char *key_op_sequence(const seer_task *task, seer_arena *arena) {
  uint64_t steps = hash_steps(task->dag);
  return seer_arena_printf(arena, "%016" PRIx64,
      steps ? seer_hash_u64(steps, task->key.structure) : task->key.structure);
}

static const char *key_op_count(const seer_task *task, seer_arena *arena) {
  return seer_arena_printf(arena, "%u operators", task->n_op);
}

// The key beside the name: a model that was learnt for the task is found again in other networks.
static const char *key_single(const seer_task *task, seer_arena *arena) {
  return seer_arena_printf(arena, "%s #%08x", task->name,
      (unsigned)(seer_hash_u64(task->key.structure, task->key.shape) >> 32));
}

static const char *key_all(const seer_task *task, seer_arena *arena) {
  (void)task, (void)arena;
  return "all";
}

static const seer_family_desc family_anchor_op = {
    "anchor-op", "op", "same access pattern of the anchor operator (paper: op)", key_anchor_op};
static const seer_family_desc family_artifact_op = {"artifact-op", "",
    "the first operator's name, cut as FamilySeer's code cuts it", seer_family_artifact_op};
static const seer_family_desc family_op_sequence = {"op-sequence", "hash",
    "same operators in the same order, shapes ignored (paper: hash)", key_op_sequence};
static const seer_family_desc family_op_count = {
    "op-count", "count size", "same number of operators (paper: count)", key_op_count};
static const seer_family_desc family_single = {
    "single", "ind", "every task alone (paper: ind)", key_single};
static const seer_family_desc family_all = {
    "all", "none", "one family: Ansor's single model", key_all};

// To add a grouping: write its key function above, its entry here. The first one is the default.
const seer_family_desc *const seer_family_table[] = {&family_anchor_op, &family_artifact_op,
    &family_op_sequence, &family_op_count, &family_single, &family_all};
const size_t seer_family_table_count = SEER_COUNT_OF(seer_family_table);

seer_status seer_family_find(const char *name, const seer_family_desc **out_desc) {
  for (size_t i = 0; i < seer_family_table_count; i++) {
    const seer_family_desc *desc = seer_family_table[i];
    if (strcmp(desc->name, name) == 0 || seer_words_have(desc->aliases, name)) {
      *out_desc = desc;
      return SEER_OK;
    }
  }
  char known[256] = "";
  for (size_t i = 0; i < seer_family_table_count; i++)
    seer_words_add(known, sizeof known, seer_family_table[i]->name);
  return SEER_FAIL(INVALID, "unknown grouping '%s'; allowed: %s", name, known);
}

void seer_families_build(const seer_family_desc *desc, const seer_task *tasks, uint32_t n_task,
    seer_arena *arena, seer_families *out) {
  out->n_family = 0;
  out->name = SEER_NEW_ARRAY(arena, const char *, n_task);
  out->family_of = SEER_NEW_ARRAY(arena, uint32_t, n_task);
  seer_map *seen = seer_map_create(arena);
  for (uint32_t t = 0; t < n_task; t++) {
    const char *key = desc->key(&tasks[t], arena);
    uint64_t family = out->n_family;
    if (!seer_map_get_str(seen, key, &family)) {
      seer_map_set_str(seen, key, family);
      out->name[out->n_family++] = key;
    }
    out->family_of[t] = (uint32_t)family;
  }
}
