// from_records.c - a network's tasks -> their records -> entries of the table.
#include "study/from_records.h"

#include <string.h>

#include "base/map.h"
#include "choose/choose.h"
#include "record/sound.h"

typedef struct {
  seer_times *times;
  uint32_t at;  // of the task in the table
  seer_record_rule rule;
  seer_map *known;  // hashes of the schedules that the table has
  seer_gather_counts *counts;
  seer_arena *arena;
} gathering;

static seer_status take(void *user, const seer_record *record) {
  gathering *g = user;
  seer_schedule schedule;
  if (record->provenance != SEER_RECORD_HERE || !seer_record_is_own_time(record)) {
    g->counts->n_left_out++;
    return SEER_OK;
  }
  if (seer_record_examine(&g->rule, record, &schedule, NULL) != SEER_RECORD_SOUND) {
    g->counts->n_unsound++;
    return SEER_OK;
  }
  uint64_t hash = seer_schedule_hash(&schedule), known;
  if (seer_map_get(g->known, hash, &known)) {
    g->counts->n_known++;
    return SEER_OK;
  }
  seer_map_set(g->known, hash, 1);
  bool is_untuned = strcmp(record->origin, seer_origin_name(SEER_ORIGIN_UNTUNED)) == 0;
  seer_time *time = seer_times_add(g->times, &g->times->task[g->at], record->schedule,
      is_untuned ? SEER_TIME_UNTUNED : SEER_TIME_SEARCHED);
  time->cls = record->cls;
  if (record->cls == SEER_MEASURED_OK)
    seer_time_add_visit(time, record->seconds, record->n_samples);
  g->counts->n_schedule++;
  return SEER_OK;
}

// What the table has of it, by hash.
static seer_map *known_of(
    const seer_times_task *task, const seer_sketch_list *sketches, seer_arena *arena) {
  seer_map *known = seer_map_create(arena);
  seer_times_pool pool;
  seer_times_pool_make(task, sketches, arena, &pool);
  for (uint32_t i = 0; i < pool.n; i++)
    seer_map_set(known, seer_schedule_hash(&pool.schedule[i]), 1);
  return known;
}

static seer_status gather_task(seer_context *context, const seer_network *network,
    const seer_task *task, const char *name, seer_records *records, gathering *g) {
  const seer_target *target = seer_context_target(context);
  seer_space_kind space = seer_choice_space(context);
  int64_t workload, targets[SEER_RECORD_MAX_TARGETS];
  uint32_t n;
  SEER_TRY(seer_records_find_workload(records, task->key, &workload));
  SEER_TRY(seer_records_find_targets(records, target, targets, &n));
  if (workload == 0 || n == 0 || targets[0] == 0) return SEER_OK;
  seer_times_task *own = seer_times_use_task(g->times, name, network, task, space);
  g->at = (uint32_t)(own - g->times->task);
  seer_sketch_list *sketches;
  SEER_TRY(seer_sketch_generate(own->dag, target, space, g->arena, &sketches));
  g->rule = seer_record_rule_of(sketches);
  g->known = known_of(own, sketches, g->arena);
  uint32_t before = g->counts->n_schedule;
  SEER_TRY(seer_records_each(records, workload, targets[0], take, g));
  g->counts->n_task += g->counts->n_schedule > before;
  return SEER_OK;
}

seer_status seer_gather(seer_context *context, const char *name, const seer_network *network,
    seer_records *records, seer_times *times, seer_gather_counts *out_counts) {
  *out_counts = (seer_gather_counts){0};
  for (uint32_t t = 0; t < network->n_task; t++) {
    gathering g = {.times = times, .counts = out_counts, .arena = seer_arena_create("gather")};
    seer_status status = gather_task(context, network, &network->task[t], name, records, &g);
    seer_arena_destroy(g.arena);
    SEER_TRYF(status, "task %s", network->task[t].name);
  }
  if (out_counts->n_schedule + out_counts->n_known > 0) return SEER_OK;
  return SEER_FAIL(NOT_FOUND, "nothing of network %s that was measured on this target", name);
}
