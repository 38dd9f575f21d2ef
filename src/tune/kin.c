// kin.c - records of similar machines and of other shapes, as schedules of a task.

#include "tune/kin.h"

#include <string.h>

#define MAX_SHAPES (SEER_KIN_MAX - (SEER_RECORD_MAX_TARGETS - 1))

static bool parse(
    const seer_sketch_list *sketches, const seer_record *record, seer_schedule *out_schedule) {
  seer_status status = seer_schedule_parse(
      sketches, "record", record->schedule, strlen(record->schedule), out_schedule);
  bool is_ok = status == SEER_OK;
  seer_status_free(status);  // made by other rules: `records check` names it
  return is_ok;
}

// The record's schedule with its own shapes, re-fitted to the task's.
static bool refit(const seer_record_near *near, const seer_target *target, seer_space_kind space,
    const seer_sketch_list *sketches, seer_arena *arena, seer_schedule *out_schedule) {
  seer_dag *dag = NULL;
  seer_sketch_list *theirs = NULL;
  seer_schedule schedule;
  seer_status status =
      seer_dag_parse("record", near->dag_text, strlen(near->dag_text), arena, &dag);
  if (!status) status = seer_sketch_generate(dag, target, space, arena, &theirs);
  bool is_ok = status == SEER_OK;
  seer_status_free(status);
  return is_ok && parse(theirs, &near->record, &schedule) &&
      seer_schedule_refit(theirs, &schedule, sketches, out_schedule) == SEER_REJECT_NONE;
}

static seer_status find(seer_records *records, const seer_target *target, seer_space_kind space,
    const seer_task *task, const seer_sketch_list *sketches, seer_arena *arena,
    seer_kin out[SEER_KIN_MAX], uint32_t *out_n) {
  int64_t workload, ids[SEER_RECORD_MAX_TARGETS];
  uint32_t n = 0, n_target, n_near;
  seer_record record;
  SEER_TRY(seer_records_find_workload(records, task->key, &workload));
  SEER_TRY(seer_records_find_targets(records, target, ids, &n_target));
  for (uint32_t i = 1; i < n_target; i++) {
    SEER_TRY(seer_records_best(records, workload, ids[i], SEER_RECORD_ACCEPTED, arena, &record));
    if (record.id != 0 && parse(sketches, &record, &out[n].schedule))
      out[n++].kind = SEER_KIN_SIMILAR_TARGET;
  }
  seer_record_near near[MAX_SHAPES];
  SEER_TRY(seer_records_nearest(
      records, task->dag, task->key, ids[0], arena, near, MAX_SHAPES, &n_near));
  for (uint32_t i = 0; i < n_near; i++) {
    if (refit(&near[i], target, space, sketches, arena, &out[n].schedule))
      out[n++].kind = SEER_KIN_NEAR_SHAPE;
  }
  *out_n = n;
  return SEER_OK;
}

seer_status seer_find_kin(seer_records *records, const seer_target *target, seer_space_kind space,
    const seer_task *task, const seer_sketch_list *sketches, seer_kin out[SEER_KIN_MAX],
    uint32_t *out_n) {
  *out_n = 0;
  seer_arena *arena = seer_arena_create("kin");
  seer_status status = find(records, target, space, task, sketches, arena, out, out_n);
  seer_arena_destroy(arena);
  return status;
}
