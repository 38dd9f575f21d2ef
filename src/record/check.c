// check.c - stored records -> which of them are sound, each held against its own task and target.
// Task by task, so that one task's sketches are in memory at a time.

#include <string.h>

#include "record/internal.h"
#include "record/sound.h"

typedef struct {
  seer_records *r;
  int64_t after;
  seer_examined_visit visit;
  void *user;
  seer_arena *arena;  // of one task
} examiner;

typedef struct {
  int64_t workload, target;
  const char *name, *dag_text, *target_text;
  seer_dag *dag;
  seer_target machine;
  // In both spaces; the second when the first does not know a schedule.
  bool has_rule[SEER_SPACE_ANSOR + 1];
  seer_record_rule rule[SEER_SPACE_ANSOR + 1];
  seer_record_verdict verdict;  // of all its records, if it is not SOUND
  const char *why;
} task;

static void note(task *t, seer_record_verdict verdict, seer_status status, seer_arena *arena) {
  if (!status) return;
  t->verdict = verdict;
  t->why = seer_arena_strdup(arena, seer_status_message(status));
  seer_status_free(status);
}

static void read_task(task *t, seer_arena *arena) {
  t->verdict = SEER_RECORD_SOUND;
  note(t, SEER_RECORD_BAD_TARGET, seer_target_parse(t->target_text, arena, &t->machine), arena);
  if (t->verdict != SEER_RECORD_SOUND) return;
  // Sketches are made for CPUs alone.
  note(t, SEER_RECORD_BAD_TARGET, seer_target_check_cpu(&t->machine), arena);
  if (t->verdict != SEER_RECORD_SOUND) return;
  seer_status status = seer_dag_parse("records", t->dag_text, strlen(t->dag_text), arena, &t->dag);
  if (!status) status = seer_dag_verify(t->dag);
  note(t, SEER_RECORD_BAD_TASK, status, arena);
}

// NULL where there are no sketches: the task has the reason then.
static const seer_record_rule *rule_of(task *t, seer_space_kind space, seer_arena *arena) {
  seer_sketch_list *sketches = NULL;
  if (!t->has_rule[space] && t->verdict == SEER_RECORD_SOUND) {
    seer_status status = seer_sketch_generate(t->dag, &t->machine, space, arena, &sketches);
    note(t, SEER_RECORD_BAD_TASK, status, arena);
    if (t->verdict == SEER_RECORD_SOUND) t->rule[space] = seer_record_rule_of(sketches);
    t->has_rule[space] = t->verdict == SEER_RECORD_SOUND;
  }
  return t->has_rule[space] ? &t->rule[space] : NULL;
}

static seer_status examine_row(examiner *e, task *t, sqlite3_stmt *row) {
  seer_record record;
  seer_schedule schedule;
  seer_examined examined = {.verdict = SEER_RECORD_MALFORMED, .task = t->name, .why = t->why};
  seer_status why = SEER_OK;
  bool is_read = seer_record_read(row, &record);
  examined.id = record.id;
  for (seer_space_kind space = SEER_SPACE_FULL; is_read && space <= SEER_SPACE_ANSOR; space++) {
    const seer_record_rule *rule = rule_of(t, space, e->arena);
    seer_status_free(why);
    why = SEER_OK;
    examined.verdict = t->verdict;
    if (rule) examined.verdict = seer_record_examine(rule, &record, &schedule, &why);
    if (examined.verdict != SEER_RECORD_OTHER_RULES) break;
  }
  examined.why = why ? seer_status_message(why) : t->why;
  seer_status status = e->visit(e->user, &examined);
  seer_status_free(why);
  return status;
}

static seer_status examine_task(examiner *e, task *t) {
  sqlite3_stmt *row = NULL;
  read_task(t, e->arena);
  SEER_TRY(seer_records_prepare(e->r,
      "SELECT " SEER_RECORD_COLUMNS
      " FROM measurement WHERE workload = ? AND target = ? AND id > ? ORDER BY id",
      &row));
  sqlite3_bind_int64(row, 1, t->workload);
  sqlite3_bind_int64(row, 2, t->target);
  sqlite3_bind_int64(row, 3, e->after);
  bool has_row = true;
  seer_status status = SEER_OK;
  while (!status && has_row) {
    status = seer_sql_step(row, e->r->path, &has_row);
    if (!status && has_row) status = examine_row(e, t, row);
  }
  sqlite3_finalize(row);
  return status;
}

seer_status seer_records_examine_after(
    seer_records *r, int64_t after, seer_examined_visit visit, void *user) {
  sqlite3_stmt *row = NULL;
  SEER_TRY(seer_records_prepare(r,
      "SELECT DISTINCT w.id, t.id, w.name, w.dag, t.text FROM measurement m"
      " JOIN workload w ON w.id = m.workload JOIN target t ON t.id = m.target"
      " WHERE m.id > ? ORDER BY w.id, t.id",
      &row));
  sqlite3_bind_int64(row, 1, after);
  examiner e = {r, after, visit, user, seer_arena_create("check")};
  bool has_row = true;
  seer_status status = SEER_OK;
  while (!status && has_row) {
    status = seer_sql_step(row, r->path, &has_row);
    if (status || !has_row) break;
    task t = {.workload = sqlite3_column_int64(row, 0), .target = sqlite3_column_int64(row, 1)};
    t.name = seer_arena_strdup(e.arena, seer_sql_text(row, 2));
    t.dag_text = seer_arena_strdup(e.arena, seer_sql_text(row, 3));
    t.target_text = seer_arena_strdup(e.arena, seer_sql_text(row, 4));
    status = examine_task(&e, &t);
    seer_arena_reset(e.arena);
  }
  sqlite3_finalize(row);
  seer_arena_destroy(e.arena);
  return status;
}

// ---- for people
typedef struct {
  seer_text *text;
  seer_record_counts *counts;
} listing;

static seer_status list_one(void *user, const seer_examined *examined) {
  listing *l = user;
  l->counts->n[examined->verdict]++;
  if (examined->verdict == SEER_RECORD_SOUND) return SEER_OK;
  seer_text_printf(l->text, "record %" PRId64 " of '%s': %s%s%s\n", examined->id,
      seer_text_safe(l->text->arena, examined->task), seer_record_verdict_text(examined->verdict),
      examined->why ? ": " : "", examined->why ? examined->why : "");
  return SEER_OK;
}

seer_status seer_records_check(seer_records *r, seer_text *text, seer_record_counts *out_counts) {
  *out_counts = (seer_record_counts){0};
  listing l = {text, out_counts};
  return seer_records_examine_after(r, 0, list_one, &l);
}
