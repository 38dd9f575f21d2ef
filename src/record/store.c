// store.c - the store of measurements: rows of one SQLite file.
// Writes are prepared statements in short transactions; a measurement is announced only after its
// commit.

#include "record/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/near.h"
#include "record/internal.h"
#include "record/sound.h"

// ---- small tables
void seer_record_hex(uint64_t value, seer_hex out) {
  (void)snprintf(out, sizeof(seer_hex), "%016" PRIx64, value);
}

const char *const seer_record_sources[SEER_RECORD_SOURCES] = {"", "fake", "replay"};

void seer_record_target_keys(
    const seer_target *target, const char *source, seer_hex out_key, seer_hex out_features) {
  uint64_t key = seer_target_key(target), features = seer_target_feature_key(target);
  seer_record_hex(source[0] ? seer_hash_str(source, key) : key, out_key);
  seer_record_hex(source[0] ? seer_hash_str(source, features) : features, out_features);
}

// The id that `select` gives for its n text parameters; 0: no row.
static seer_status find_id(
    seer_records *r, const char *select, const char *const *values, int n, int64_t *out_id) {
  sqlite3_stmt *statement = NULL;
  bool has_row = false;
  SEER_TRY(seer_records_prepare(r, select, &statement));
  for (int i = 0; i < n; i++) sqlite3_bind_text(statement, i + 1, values[i], -1, SQLITE_TRANSIENT);
  seer_status status = seer_records_step(r, statement, &has_row);
  *out_id = !status && has_row ? sqlite3_column_int64(statement, 0) : 0;
  sqlite3_finalize(statement);
  return status;
}

// Runs `insert` (OR IGNORE) then `select`, with the same text parameters first.
static seer_status get_or_add(seer_records *r, const char *insert, const char *select,
    const char *const *values, int n_insert, int n_select, int64_t *out_id) {
  int64_t none;
  SEER_TRY(find_id(r, insert, values, n_insert, &none));
  SEER_TRY(find_id(r, select, values, n_select, out_id));
  return *out_id ? SEER_OK
                 : SEER_FAIL(INTERNAL, "%s: a row that was just added is missing", r->path);
}

static const char select_target[] = "SELECT id FROM target WHERE key = ?";
static const char select_workload[] = "SELECT id FROM workload WHERE structure = ? AND shape = ?";

seer_status seer_records_add_target(
    seer_records *r, const char *key, const char *feature_key, const char *text, int64_t *out_id) {
  const char *values[] = {key, feature_key, text};
  return get_or_add(r, "INSERT OR IGNORE INTO target(key, feature_key, text) VALUES(?,?,?)",
      select_target, values, 3, 1, out_id);
}

// What a target can do is what its last tuning says.
static seer_status put_text(seer_records *r, int64_t id, const char *text) {
  sqlite3_stmt *statement = NULL;
  bool has_row;
  SEER_TRY(seer_records_prepare(
      r, "UPDATE target SET text = ?1 WHERE id = ?2 AND text <> ?1", &statement));
  sqlite3_bind_text(statement, 1, text, -1, SQLITE_TRANSIENT);
  sqlite3_bind_int64(statement, 2, id);
  seer_status status = seer_records_step(r, statement, &has_row);
  sqlite3_finalize(statement);
  return status;
}

seer_status seer_records_target(seer_records *r, const seer_target *target, int64_t *out_id) {
  seer_hex key, feature_key;
  seer_record_target_keys(target, r->source, key, feature_key);
  seer_arena_mark mark = seer_arena_save(r->arena);
  const char *text = seer_target_print(target, r->arena);
  seer_status status = seer_records_add_target(r, key, feature_key, text, out_id);
  if (!status && target->is_measured) status = put_text(r, *out_id, text);
  seer_arena_rewind(r->arena, mark);
  return status;
}

seer_status seer_records_target_text(
    seer_records *r, const seer_target *target, seer_arena *arena, const char **out_text) {
  *out_text = NULL;
  seer_hex key, feature_key;
  seer_record_target_keys(target, r->source, key, feature_key);
  sqlite3_stmt *statement = NULL;
  bool has_row = false;
  SEER_TRY(seer_records_prepare(r,
      "SELECT text FROM target WHERE key = ? AND EXISTS (SELECT 1 FROM measurement WHERE "
      "measurement.target = target.id AND place <> 'elsewhere')",
      &statement));
  sqlite3_bind_text(statement, 1, key, -1, SQLITE_TRANSIENT);
  seer_status status = seer_records_step(r, statement, &has_row);
  if (!status && has_row) *out_text = seer_arena_strdup(arena, seer_sql_text(statement, 0));
  sqlite3_finalize(statement);
  return status;
}

seer_status seer_records_find_targets(seer_records *r, const seer_target *target,
    int64_t out_ids[SEER_RECORD_MAX_TARGETS], uint32_t *out_n) {
  seer_hex key, feature_key;
  seer_record_target_keys(target, r->source, key, feature_key);
  SEER_TRY(find_id(r, select_target, (const char *[]){key}, 1, &out_ids[0]));
  *out_n = 1;
  sqlite3_stmt *statement = NULL;
  SEER_TRY(seer_records_prepare(
      r, "SELECT id FROM target WHERE feature_key = ? AND id != ? ORDER BY id", &statement));
  sqlite3_bind_text(statement, 1, feature_key, -1, SQLITE_TRANSIENT);
  sqlite3_bind_int64(statement, 2, out_ids[0]);
  bool has_row = true;
  seer_status status = SEER_OK;
  while (!status && has_row && *out_n < SEER_RECORD_MAX_TARGETS) {
    status = seer_records_step(r, statement, &has_row);
    if (!status && has_row) out_ids[(*out_n)++] = sqlite3_column_int64(statement, 0);
  }
  sqlite3_finalize(statement);
  return status;
}

seer_status seer_records_add_workload(seer_records *r, const char *structure, const char *shape,
    const char *name, const char *dag_text, int64_t *out_id) {
  const char *values[] = {structure, shape, name, dag_text};
  return get_or_add(r,
      "INSERT OR IGNORE INTO workload(structure, shape, name, dag) VALUES(?,?,?,?)",
      select_workload, values, 4, 2, out_id);
}

seer_status seer_records_workload(
    seer_records *r, const seer_dag *dag, seer_dag_key key, const char *name, int64_t *out_id) {
  seer_hex structure, shape;
  seer_record_hex(key.structure, structure);
  seer_record_hex(key.shape, shape);
  seer_arena_mark mark = seer_arena_save(r->arena);
  seer_status status =
      seer_records_add_workload(r, structure, shape, name, seer_dag_print(dag, r->arena), out_id);
  seer_arena_rewind(r->arena, mark);
  return status;
}

seer_status seer_records_find_workload(seer_records *r, seer_dag_key key, int64_t *out_id) {
  seer_hex structure, shape;
  seer_record_hex(key.structure, structure);
  seer_record_hex(key.shape, shape);
  return find_id(r, select_workload, (const char *[]){structure, shape}, 2, out_id);
}

seer_status seer_records_add_campaign(seer_records *r, const char *model, const char *policy,
    const char *version, int64_t rules, int64_t seed, int64_t *out_id) {
  sqlite3_stmt *statement = NULL;
  bool has_row;
  SEER_TRY(seer_records_prepare(
      r, "INSERT INTO session(model, policy, version, rules, seed) VALUES(?,?,?,?,?)", &statement));
  sqlite3_bind_text(statement, 1, model, -1, SQLITE_TRANSIENT);
  sqlite3_bind_text(statement, 2, policy, -1, SQLITE_TRANSIENT);
  sqlite3_bind_text(statement, 3, version, -1, SQLITE_TRANSIENT);
  sqlite3_bind_int64(statement, 4, rules);
  sqlite3_bind_int64(statement, 5, seed);
  seer_status status = seer_records_step(r, statement, &has_row);
  sqlite3_finalize(statement);
  *out_id = sqlite3_last_insert_rowid(r->db);
  return status;
}

seer_status seer_records_campaign(seer_records *r, const seer_context *context, const char *model,
    const char *policy, int64_t *out_id) {
  return seer_records_add_campaign(r, model, policy, SEER_VERSION, SEER_RULE_SET_VERSION,
      seer_context_i64(context, SEER_OPT_SEED), out_id);
}

// ---- measurements
static const char *const state_names[] = {"measured", "checked", "accepted", "refused"};
const char *seer_record_state_name(seer_record_state state) { return state_names[state]; }

bool seer_record_state_parse(const char *text, seer_record_state *out) {
  size_t i = seer_words_find(state_names, SEER_COUNT_OF(state_names), text);
  if (i < SEER_COUNT_OF(state_names)) *out = (seer_record_state)i;
  return i < SEER_COUNT_OF(state_names);
}

static const char *const provenance_names[] = {"here", "elsewhere", "trusted"};
const char *seer_record_provenance_name(seer_record_provenance provenance) {
  return provenance_names[provenance];
}

bool seer_record_provenance_parse(const char *text, seer_record_provenance *out) {
  size_t i = seer_words_find(provenance_names, SEER_COUNT_OF(provenance_names), text);
  if (i < SEER_COUNT_OF(provenance_names)) *out = (seer_record_provenance)i;
  return i < SEER_COUNT_OF(provenance_names);
}

// SQLite has the clock: pairs that were not judged before are judged now.
seer_status seer_records_prepare_add(seer_records *r) {
  return seer_records_prepare(r,
      "INSERT INTO measurement(session, workload, target, schedule, class, state, seconds, "
      "reference, samples, raced, twin, predicted, round, message, origin, place, pairs, speedup, "
      "p_value, baseline_seconds, baseline, judged, worker, device) "
      "VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?17,?,?,"
      "?,?,CASE WHEN ?17 > 0 AND ?22 = 0 THEN CAST(strftime('%s', 'now') AS INTEGER) ELSE ?22 "
      "END,?23,?24)",
      &r->add);
}

static void bind_text(sqlite3_stmt *statement, int at, const char *text) {
  sqlite3_bind_text(statement, at, text ? text : "", -1, SQLITE_TRANSIENT);
}

static void bind_pairs(sqlite3_stmt *add, const seer_record *record) {
  bool has_pairs = record->ab.n_pairs > 0;
  sqlite3_bind_int64(add, 17, record->ab.n_pairs);
  sqlite3_bind_double(add, 18, has_pairs ? record->ab.speedup : 0);
  sqlite3_bind_double(add, 19, has_pairs ? record->ab.p_value : 1);
  sqlite3_bind_double(add, 20, has_pairs ? record->ab.baseline_seconds : 0);
  bind_text(add, 21, record->baseline);
  sqlite3_bind_int64(add, 22, record->judged);
}

seer_status seer_records_add(seer_records *r, seer_record *record) {
  sqlite3_stmt *add = r->add;
  bool has_row;
  sqlite3_reset(add);
  sqlite3_bind_int64(add, 1, record->campaign);
  sqlite3_bind_int64(add, 2, record->workload);
  sqlite3_bind_int64(add, 3, record->target);
  sqlite3_bind_text(add, 4, record->schedule, -1, SQLITE_TRANSIENT);
  sqlite3_bind_text(add, 5, seer_measured_class_name(record->cls), -1, SQLITE_STATIC);
  sqlite3_bind_text(add, 6, seer_record_state_name(record->state), -1, SQLITE_STATIC);
  sqlite3_bind_double(add, 7, record->seconds);
  sqlite3_bind_double(add, 8, record->reference_s);
  sqlite3_bind_blob(
      add, 9, record->sample, (int)(record->n_samples * sizeof(double)), SQLITE_TRANSIENT);
  sqlite3_bind_int(add, 10, record->is_raced_out);
  sqlite3_bind_int(add, 11, record->is_twin);
  sqlite3_bind_double(add, 12, record->predicted);
  sqlite3_bind_int64(add, 13, record->round);
  bind_text(add, 14, record->message);
  bind_text(add, 15, record->origin);
  sqlite3_bind_text(add, 16, seer_record_provenance_name(record->provenance), -1, SQLITE_STATIC);
  bind_pairs(add, record);
  bind_text(add, 23, record->worker);
  bind_text(add, 24, record->device);
  SEER_TRY(seer_records_step(r, add, &has_row));
  record->id = sqlite3_last_insert_rowid(r->db);
  sqlite3_reset(add);
  return SEER_OK;
}

seer_status seer_records_first_reference(
    seer_records *r, int64_t campaign, int64_t target, double *out_s) {
  sqlite3_stmt *statement = NULL;
  bool has_row = false;
  SEER_TRY(seer_records_prepare(r,
      "SELECT reference FROM measurement WHERE session = ? AND target = ? AND reference > 0 ORDER "
      "BY id LIMIT 1",
      &statement));
  sqlite3_bind_int64(statement, 1, campaign);
  sqlite3_bind_int64(statement, 2, target);
  seer_status status = seer_records_step(r, statement, &has_row);
  *out_s = !status && has_row ? sqlite3_column_double(statement, 0) : 0;
  sqlite3_finalize(statement);
  return status;
}

seer_status seer_records_set_state(seer_records *r, int64_t id, seer_record_state state) {
  sqlite3_stmt *statement = NULL;
  bool has_row;
  SEER_TRY(seer_records_prepare(r, "UPDATE measurement SET state = ? WHERE id = ?", &statement));
  sqlite3_bind_text(statement, 1, seer_record_state_name(state), -1, SQLITE_STATIC);
  sqlite3_bind_int64(statement, 2, id);
  seer_status status = seer_records_step(r, statement, &has_row);
  sqlite3_finalize(statement);
  return status;
}

// What pairs have shown: a median of ratios, and how likely it is by chance.
static bool read_pairs(sqlite3_stmt *statement, seer_record *out) {
  int64_t n = sqlite3_column_int64(statement, 17);
  out->baseline = seer_sql_text(statement, 21);
  out->judged = sqlite3_column_int64(statement, 22);
  if (n < 0 || n > UINT32_MAX) return false;
  if (n == 0) return true;
  out->ab = (seer_measure_ab){.n_pairs = (uint32_t)n,
      .seconds = out->seconds,
      .speedup = sqlite3_column_double(statement, 18),
      .p_value = sqlite3_column_double(statement, 19),
      .baseline_seconds = sqlite3_column_double(statement, 20)};
  return true;
}

bool seer_record_read(sqlite3_stmt *statement, seer_record *out) {
  memset(out, 0, sizeof(*out));
  out->id = sqlite3_column_int64(statement, 0);
  out->campaign = sqlite3_column_int64(statement, 1);
  out->workload = sqlite3_column_int64(statement, 2);
  out->target = sqlite3_column_int64(statement, 3);
  out->schedule = seer_sql_text(statement, 4);
  if (!seer_measured_class_parse(seer_sql_text(statement, 5), &out->cls)) return false;
  if (!seer_record_state_parse(seer_sql_text(statement, 6), &out->state)) return false;
  out->seconds = sqlite3_column_double(statement, 7);
  out->reference_s = sqlite3_column_double(statement, 8);
  size_t n_bytes = (size_t)sqlite3_column_bytes(statement, 9);
  if (n_bytes > sizeof out->sample) n_bytes = sizeof out->sample;
  out->n_samples = (uint32_t)(n_bytes / sizeof(double));
  if (n_bytes)
    memcpy(out->sample, sqlite3_column_blob(statement, 9), out->n_samples * sizeof(double));
  out->is_raced_out = sqlite3_column_int(statement, 10) != 0;
  out->is_twin = sqlite3_column_int(statement, 11) != 0;
  out->predicted = sqlite3_column_double(statement, 12);
  int64_t round = sqlite3_column_int64(statement, 13);
  out->round = (uint32_t)round;
  if (round < 0 || round > UINT32_MAX) return false;
  out->message = seer_sql_text(statement, 14);
  out->origin = seer_sql_text(statement, 15);
  if (!seer_record_provenance_parse(seer_sql_text(statement, 16), &out->provenance)) return false;
  out->worker = seer_sql_text(statement, 23);
  out->device = seer_sql_text(statement, 24);
  return read_pairs(statement, out);
}

seer_status seer_records_each(
    seer_records *r, int64_t workload, int64_t target, seer_record_visit visit, void *user) {
  sqlite3_stmt *statement = NULL;
  SEER_TRY(seer_records_prepare(r,
      "SELECT " SEER_RECORD_COLUMNS
      " FROM measurement WHERE workload = ? AND target = ? ORDER BY id",
      &statement));
  sqlite3_bind_int64(statement, 1, workload);
  sqlite3_bind_int64(statement, 2, target);
  bool has_row = true;
  seer_status status = SEER_OK;
  seer_record record;
  while (!status && has_row) {
    status = seer_records_step(r, statement, &has_row);
    if (!status && has_row && seer_record_read(statement, &record)) status = visit(user, &record);
  }
  sqlite3_finalize(statement);
  return status;
}

seer_status seer_records_each_workload(
    seer_records *r, seer_record_visit_workload visit, void *user) {
  sqlite3_stmt *statement = NULL;
  SEER_TRY(seer_records_prepare(r, "SELECT id, name, dag FROM workload ORDER BY id", &statement));
  bool has_row = true;
  seer_status status = SEER_OK;
  while (!status && has_row) {
    status = seer_records_step(r, statement, &has_row);
    if (status || !has_row) break;
    seer_record_workload one = {sqlite3_column_int64(statement, 0), seer_sql_text(statement, 1),
        seer_sql_text(statement, 2)};
    status = visit(user, &one);
  }
  sqlite3_finalize(statement);
  return status;
}

static void keep_strings(seer_record *record, seer_arena *arena) {
  record->schedule = seer_arena_strdup(arena, record->schedule);
  record->message = seer_arena_strdup(arena, record->message);
  record->origin = seer_arena_strdup(arena, record->origin);
  record->baseline = seer_arena_strdup(arena, record->baseline);
  record->worker = seer_arena_strdup(arena, record->worker);
  record->device = seer_arena_strdup(arena, record->device);
}

// The first row that can be read and, with a rule, is sound.
static seer_status first_sound(const seer_records *r, sqlite3_stmt *statement,
    const seer_record_rule *rule, seer_arena *arena, seer_record *out,
    seer_schedule *out_schedule) {
  seer_schedule schedule;
  bool has_row = true;
  seer_status status = SEER_OK;
  for (memset(out, 0, sizeof(*out)); !status && has_row && out->id == 0;) {
    seer_record record;
    status = seer_records_step(r, statement, &has_row);
    if (status || !has_row || !seer_record_read(statement, &record)) continue;
    if (rule && seer_record_examine(rule, &record, &schedule, NULL) != SEER_RECORD_SOUND) continue;
    if (rule && out_schedule) *out_schedule = schedule;
    *out = record;
    keep_strings(out, arena);
  }
  sqlite3_finalize(statement);
  return status;
}

static seer_status prepare_task(
    seer_records *r, const char *sql, int64_t workload, int64_t target, sqlite3_stmt **out) {
  SEER_TRY(seer_records_prepare(r, sql, out));
  sqlite3_bind_int64(*out, 1, workload);
  sqlite3_bind_int64(*out, 2, target);
  return SEER_OK;
}

#define OF_TASK                 \
  "SELECT " SEER_RECORD_COLUMNS \
  " FROM measurement WHERE workload = ?1 AND target = ?2 AND class = 'ok' AND raced = 0 AND "
#define IS_WINNER "(state = 'accepted' AND place <> 'elsewhere')"

seer_status seer_records_winner(seer_records *r, int64_t workload, int64_t target,
    const seer_record_rule *rule, seer_arena *arena, seer_record *out,
    seer_schedule *out_schedule) {
  sqlite3_stmt *statement = NULL;
  SEER_TRY(prepare_task(r, OF_TASK IS_WINNER, workload, target, &statement));
  return first_sound(r, statement, rule, arena, out, out_schedule);
}

seer_status seer_records_best(seer_records *r, int64_t workload, int64_t target,
    seer_record_state state, const seer_record_rule *rule, seer_arena *arena, seer_record *out,
    seer_schedule *out_schedule) {
  sqlite3_stmt *statement = NULL;
  SEER_TRY(
      prepare_task(r,
          OF_TASK "(state = 'accepted' OR (?3 < 2 AND state = 'checked') OR (?3 < 1 AND state = "
                  "'measured')) ORDER BY " IS_WINNER " DESC, place = 'elsewhere', seconds, id",
          workload, target, &statement));
  sqlite3_bind_int(statement, 3, (int)state);
  return first_sound(r, statement, rule, arena, out, out_schedule);
}

seer_status seer_records_heard(seer_records *r, int64_t workload, int64_t target,
    const seer_record_rule *rule, seer_schedule *out, uint32_t max, uint32_t *out_n) {
  sqlite3_stmt *statement = NULL;
  *out_n = 0;
  SEER_TRY(
      prepare_task(r,
          OF_TASK "place = 'elsewhere' AND state <> 'refused' ORDER BY state = 'accepted' DESC, "
                  "seconds, id",
          workload, target, &statement));
  bool has_row = true;
  seer_status status = SEER_OK;
  while (!status && has_row && *out_n < max) {
    seer_record record;
    status = seer_records_step(r, statement, &has_row);
    if (status || !has_row || !seer_record_read(statement, &record)) continue;
    if (seer_record_examine(rule, &record, &out[*out_n], NULL) != SEER_RECORD_SOUND) continue;
    bool is_new = true;
    for (uint32_t k = 0; k < *out_n && is_new; k++)
      is_new = !seer_schedule_equal(&out[k], &out[*out_n]);
    *out_n += is_new;
  }
  sqlite3_finalize(statement);
  return status;
}

// ---- winners
seer_status seer_records_dethrone(
    seer_records *r, int64_t workload, int64_t target, seer_record_state state) {
  sqlite3_stmt *statement = NULL;
  bool has_row;
  SEER_TRY(prepare_task(r,
      "UPDATE measurement SET state = ?3 WHERE workload = ?1 AND target = ?2 AND " IS_WINNER,
      workload, target, &statement));
  sqlite3_bind_text(statement, 3, seer_record_state_name(state), -1, SQLITE_STATIC);
  seer_status status = seer_records_step(r, statement, &has_row);
  sqlite3_finalize(statement);
  return status;
}

seer_status seer_records_accept(seer_records *r, seer_record *record) {
  record->state = SEER_RECORD_ACCEPTED;
  SEER_TRY(seer_records_run(r, "SAVEPOINT accept"));
  seer_status status =
      seer_records_dethrone(r, record->workload, record->target, SEER_RECORD_CHECKED);
  if (!status) status = seer_records_add(r, record);
  if (status) sqlite3_exec(r->db, "ROLLBACK TO accept", NULL, NULL, NULL);
  return seer_status_join(status, seer_records_run(r, "RELEASE accept"));
}
