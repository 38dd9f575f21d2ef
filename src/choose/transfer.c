// transfer.c - records from elsewhere, of similar machines and of other shapes, as schedules of a
// task.

#include "choose/transfer.h"

#include <string.h>

#include "record/sound.h"

typedef struct {
  seer_records *records;
  const seer_target *target;
  seer_space_kind space;
  const seer_sketch_list *sketches;
  seer_arena *arena;
  uint32_t n;
  seer_transfer *out;
} finder;

static void add(
    finder *f, const seer_schedule *schedule, seer_transfer_kind kind, bool is_elsewhere) {
  f->out[f->n++] = (seer_transfer){*schedule, kind, is_elsewhere};
}

static seer_status add_heard(
    finder *f, int64_t workload, int64_t target, const seer_record_rule *rule) {
  seer_schedule heard[SEER_TRANSFER_HEARD];
  uint32_t n;
  SEER_TRY(seer_records_heard(f->records, workload, target, rule, heard, SEER_TRANSFER_HEARD, &n));
  for (uint32_t i = 0; i < n; i++) add(f, &heard[i], SEER_TRANSFER_HEARD_OF, true);
  return SEER_OK;
}

static seer_status add_similar(
    finder *f, int64_t workload, int64_t target, const seer_record_rule *rule) {
  seer_record record;
  seer_schedule schedule;
  SEER_TRY(seer_records_best(
      f->records, workload, target, SEER_RECORD_ACCEPTED, rule, f->arena, &record, &schedule));
  if (record.id != 0)
    add(f, &schedule, SEER_TRANSFER_SIMILAR_TARGET, record.provenance == SEER_RECORD_ELSEWHERE);
  return SEER_OK;
}

// The best record of another shape, judged as one of that shape, re-fitted to the task's.
static seer_status add_shape(finder *f, const seer_record_near *near, int64_t target) {
  seer_dag *dag = NULL;
  seer_sketch_list *theirs = NULL;
  seer_status status =
      seer_dag_parse("record", near->dag_text, strlen(near->dag_text), f->arena, &dag);
  if (!status) status = seer_sketch_generate(dag, f->target, f->space, f->arena, &theirs);
  bool is_ok = status == SEER_OK;
  seer_status_free(status);  // `records check` names it
  if (!is_ok) return SEER_OK;
  seer_record_rule rule = seer_record_rule_of(theirs);
  seer_record record;
  seer_schedule schedule, fitted;
  SEER_TRY(seer_records_best(f->records, near->workload, target, SEER_RECORD_ACCEPTED, &rule,
      f->arena, &record, &schedule));
  if (record.id == 0) return SEER_OK;
  if (seer_schedule_refit(theirs, &schedule, f->sketches, &fitted) == SEER_REJECT_NONE)
    add(f, &fitted, SEER_TRANSFER_NEAR_SHAPE, record.provenance == SEER_RECORD_ELSEWHERE);
  return SEER_OK;
}

static seer_status find(finder *f, const seer_task *task) {
  int64_t workload, ids[SEER_RECORD_MAX_TARGETS];
  uint32_t n_target, n_near;
  seer_record_rule rule = seer_record_rule_of(f->sketches);
  SEER_TRY(seer_records_find_workload(f->records, task->key, &workload));
  SEER_TRY(seer_records_find_targets(f->records, f->target, ids, &n_target));
  SEER_TRY(add_heard(f, workload, ids[0], &rule));
  for (uint32_t i = 1; i < n_target; i++) SEER_TRY(add_similar(f, workload, ids[i], &rule));
  seer_record_near near[SEER_TRANSFER_SHAPES];
  SEER_TRY(seer_records_nearest(
      f->records, task->dag, task->key, ids[0], f->arena, near, SEER_TRANSFER_SHAPES, &n_near));
  for (uint32_t i = 0; i < n_near; i++) SEER_TRY(add_shape(f, &near[i], ids[0]));
  return SEER_OK;
}

seer_status seer_find_transfers(seer_records *records, const seer_target *target,
    seer_space_kind space, const seer_task *task, const seer_sketch_list *sketches,
    seer_transfer out[SEER_TRANSFER_MAX], uint32_t *out_n) {
  finder f = {.records = records,
      .target = target,
      .space = space,
      .sketches = sketches,
      .arena = seer_arena_create("transfer"),
      .out = out};
  seer_status status = find(&f, task);
  *out_n = status ? 0 : f.n;
  seer_arena_destroy(f.arena);
  return status;
}
