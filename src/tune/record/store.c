// store.c - the store of measurements: one SQLite file.
// Writes are prepared statements in short transactions; a measurement is announced only after its
// commit. The schema has a version (user_version); a file of another version is refused, never
// converted in place.

#include "tune/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "base/os.h"
#include "tune/record/internal.h"

#define BUSY_TIMEOUT_MS 10000
#define MAX_SCHEDULE_BYTES 65536

static const char schema[] =
    "CREATE TABLE target(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, feature_key TEXT NOT "
    "NULL,"
    " text TEXT NOT NULL);"
    "CREATE TABLE workload(id INTEGER PRIMARY KEY, structure TEXT NOT NULL, shape TEXT NOT NULL,"
    " name TEXT NOT NULL, dag TEXT NOT NULL, UNIQUE(structure, shape));"
    "CREATE TABLE session(id INTEGER PRIMARY KEY, model TEXT NOT NULL, policy TEXT NOT NULL,"
    " version TEXT NOT NULL, rules INTEGER NOT NULL, seed INTEGER NOT NULL);"
    "CREATE TABLE measurement(id INTEGER PRIMARY KEY, session INTEGER NOT NULL REFERENCES "
    "session(id),"
    " workload INTEGER NOT NULL REFERENCES workload(id), target INTEGER NOT NULL REFERENCES "
    "target(id),"
    " schedule TEXT NOT NULL, class TEXT NOT NULL, state TEXT NOT NULL, seconds REAL NOT NULL,"
    " reference REAL NOT NULL, samples BLOB, raced INTEGER NOT NULL, twin INTEGER NOT NULL,"
    " predicted REAL NOT NULL, round INTEGER NOT NULL, message TEXT NOT NULL);"
    "CREATE INDEX measurement_by_task ON measurement(workload, target);";
// The fastest of a task, and whether a measurement is known. Not in the first files of this
// version.
static const char by_time[] =
    "CREATE INDEX IF NOT EXISTS measurement_by_time ON measurement(workload, target, seconds)";

seer_status seer_sql_fail(sqlite3 *db, const char *path, int rc, const char *doing) {
  const char *why = db ? sqlite3_errmsg(db) : sqlite3_errstr(rc);
  switch (rc & 0xFF) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return SEER_FAIL(CORRUPT, "%s: not a sound database (%s): %s", path, doing, why);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return SEER_FAIL(TIMEOUT, "%s: busy for %d s (%s)", path, BUSY_TIMEOUT_MS / 1000, doing);
    case SQLITE_NOMEM:
    case SQLITE_FULL:
      return SEER_FAIL(RESOURCE, "%s: %s: %s", path, doing, why);
    default:
      return SEER_FAIL(IO, "%s: %s: %s", path, doing, why);
  }
}

static seer_status fail(const seer_records *r, int rc, const char *doing) {
  return seer_sql_fail(r->db, r->path, rc, doing);
}

static seer_status run(seer_records *r, const char *sql) {
  int rc = sqlite3_exec(r->db, sql, NULL, NULL, NULL);
  return rc == SQLITE_OK ? SEER_OK : fail(r, rc, sql);
}

seer_status seer_records_prepare(seer_records *r, const char *sql, sqlite3_stmt **out) {
  int rc = sqlite3_prepare_v2(r->db, sql, -1, out, NULL);
  return rc == SQLITE_OK ? SEER_OK : fail(r, rc, sql);
}

static seer_status step(seer_records *r, sqlite3_stmt *statement, bool *out_row) {
  int rc = sqlite3_step(statement);
  *out_row = rc == SQLITE_ROW;
  return rc == SQLITE_ROW || rc == SQLITE_DONE ? SEER_OK : fail(r, rc, sqlite3_sql(statement));
}

// ---- opening
static seer_status set_up(seer_records *r) {
  SEER_TRY(run(r, "PRAGMA foreign_keys = ON"));
  sqlite3_stmt *statement = NULL;
  SEER_TRY(seer_records_prepare(r, "PRAGMA journal_mode = WAL", &statement));
  bool has_row;
  seer_status status = step(r, statement, &has_row);
  bool is_wal =
      !status && has_row && strcmp((const char *)sqlite3_column_text(statement, 0), "wal") == 0;
  sqlite3_finalize(statement);
  SEER_TRY(status);
  if (!is_wal) {
    SEER_TRY(run(r, "PRAGMA journal_mode = DELETE"));
    seer_log(r->context, "record", 0,
        "%s: no shared memory on this file system; journal mode DELETE", r->path);
  }
  SEER_TRY(run(r, "PRAGMA synchronous = NORMAL"));
  SEER_TRY(seer_records_prepare(r, "PRAGMA user_version", &statement));
  status = step(r, statement, &has_row);
  int version = !status && has_row ? sqlite3_column_int(statement, 0) : -1;
  sqlite3_finalize(statement);
  SEER_TRY(status);
  if (version == SEER_RECORD_SCHEMA) return run(r, by_time);
  if (version != 0) {
    return SEER_FAIL(INVALID, "%s: records of version %d, this program reads version %d", r->path,
        version, SEER_RECORD_SCHEMA);
  }
  // Two processes may come here at once: the second finds the version set once it holds the lock.
  SEER_TRY(run(r, "BEGIN IMMEDIATE"));
  SEER_TRY(seer_records_prepare(r, "PRAGMA user_version", &statement));
  status = step(r, statement, &has_row);
  version = !status && has_row ? sqlite3_column_int(statement, 0) : -1;
  sqlite3_finalize(statement);
  if (!status && version == 0) status = run(r, schema);
  if (!status && version == 0) {
    char set[48];
    (void)snprintf(set, sizeof set, "PRAGMA user_version = %d", SEER_RECORD_SCHEMA);
    status = run(r, set);
  }
  if (!status) status = run(r, by_time);
  return seer_status_join(status, run(r, status ? "ROLLBACK" : "COMMIT"));
}

seer_status seer_records_open(
    const seer_context *context, const char *path, seer_records **out_records) {
  *out_records = NULL;
  seer_records *r = calloc(1, sizeof(*r));
  if (!r) return SEER_FAIL(RESOURCE, "no memory for the records");
  r->context = context;
  r->arena = seer_arena_create("records");
  seer_status status = SEER_OK;
  if (path[0]) {
    r->path = seer_arena_strdup(r->arena, path);
  } else {
    const char *folder = "";
    status = seer_os_cache_dir(r->arena, &folder);
    if (!status) r->path = seer_os_path_join(r->arena, folder, "records.sqlite");
  }
  if (!status) {
    int rc = sqlite3_open_v2(r->path, &r->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    if (rc != SQLITE_OK) status = fail(r, rc, "opening");
  }
  if (!status) sqlite3_busy_timeout(r->db, BUSY_TIMEOUT_MS);
  if (!status) status = set_up(r);
  if (!status) {
    status = seer_records_prepare(r,
        "INSERT INTO measurement(session, workload, target, schedule, class, state, seconds, "
        "reference, samples,"
        " raced, twin, predicted, round, message) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        &r->add);
  }
  if (status) {
    seer_records_close(r);
    return status;
  }
  *out_records = r;
  return SEER_OK;
}

seer_status seer_records_open_by_options(const seer_context *context, seer_records **out_records) {
  *out_records = NULL;
  if (seer_context_bool(context, SEER_OPT_IGNORE_RECORDS)) return SEER_OK;
  return seer_records_open(context, seer_context_str(context, SEER_OPT_RECORDS), out_records);
}

void seer_records_close(seer_records *r) {
  if (!r) return;
  sqlite3_finalize(r->add);
  sqlite3_close(r->db);
  seer_arena_destroy(r->arena);
  free(r);
}

seer_status seer_records_begin(seer_records *r) { return run(r, "BEGIN IMMEDIATE"); }
seer_status seer_records_commit(seer_records *r) { return run(r, "COMMIT"); }

// ---- small tables
void seer_record_hex(uint64_t value, seer_hex out) {
  (void)snprintf(out, sizeof(seer_hex), "%016" PRIx64, value);
}

// The id that `select` gives for its n text parameters; 0: no row.
static seer_status find_id(
    seer_records *r, const char *select, const char *const *values, int n, int64_t *out_id) {
  sqlite3_stmt *statement = NULL;
  bool has_row = false;
  SEER_TRY(seer_records_prepare(r, select, &statement));
  for (int i = 0; i < n; i++) sqlite3_bind_text(statement, i + 1, values[i], -1, SQLITE_TRANSIENT);
  seer_status status = step(r, statement, &has_row);
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

seer_status seer_records_target(seer_records *r, const seer_target *target, int64_t *out_id) {
  seer_hex key, feature_key;
  seer_record_hex(seer_target_key(target), key);
  seer_record_hex(seer_target_feature_key(target), feature_key);
  seer_arena_mark mark = seer_arena_save(r->arena);
  seer_status status =
      seer_records_add_target(r, key, feature_key, seer_target_print(target, r->arena), out_id);
  seer_arena_rewind(r->arena, mark);
  return status;
}

seer_status seer_records_find_targets(seer_records *r, const seer_target *target,
    int64_t out_ids[SEER_RECORD_MAX_TARGETS], uint32_t *out_n) {
  seer_hex key, feature_key;
  seer_record_hex(seer_target_key(target), key);
  seer_record_hex(seer_target_feature_key(target), feature_key);
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
    status = step(r, statement, &has_row);
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

seer_status seer_records_add_session(seer_records *r, const char *model, const char *policy,
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
  seer_status status = step(r, statement, &has_row);
  sqlite3_finalize(statement);
  *out_id = sqlite3_last_insert_rowid(r->db);
  return status;
}

seer_status seer_records_session(seer_records *r, const seer_context *context, const char *model,
    const char *policy, int64_t *out_id) {
  return seer_records_add_session(r, model, policy, SEER_VERSION, SEER_RULE_SET_VERSION,
      seer_context_i64(context, SEER_OPT_SEED), out_id);
}

// ---- measurements
static const char *const state_names[] = {"measured", "checked", "accepted", "refused"};
const char *seer_record_state_name(seer_record_state state) { return state_names[state]; }

bool seer_record_state_parse(const char *text, seer_record_state *out) {
  for (uint32_t i = 0; i < SEER_COUNT_OF(state_names); i++) {
    if (strcmp(text, state_names[i]) == 0) {
      *out = (seer_record_state)i;
      return true;
    }
  }
  return false;
}

bool seer_measured_class_parse(const char *text, seer_measured_class *out) {
  for (uint32_t i = 0; i < SEER_MEASURED_COUNT; i++) {
    if (strcmp(text, seer_measured_class_name((seer_measured_class)i)) == 0) {
      *out = (seer_measured_class)i;
      return true;
    }
  }
  return false;
}

seer_status seer_records_add(seer_records *r, seer_record *record) {
  sqlite3_stmt *add = r->add;
  bool has_row;
  sqlite3_reset(add);
  sqlite3_bind_int64(add, 1, record->session);
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
  sqlite3_bind_text(add, 14, record->message ? record->message : "", -1, SQLITE_TRANSIENT);
  SEER_TRY(step(r, add, &has_row));
  record->id = sqlite3_last_insert_rowid(r->db);
  sqlite3_reset(add);
  return SEER_OK;
}

seer_status seer_records_set_state(seer_records *r, int64_t id, seer_record_state state) {
  sqlite3_stmt *statement = NULL;
  bool has_row;
  SEER_TRY(seer_records_prepare(r, "UPDATE measurement SET state = ? WHERE id = ?", &statement));
  sqlite3_bind_text(statement, 1, seer_record_state_name(state), -1, SQLITE_STATIC);
  sqlite3_bind_int64(statement, 2, id);
  seer_status status = step(r, statement, &has_row);
  sqlite3_finalize(statement);
  return status;
}

static const char *text_of(sqlite3_stmt *statement, int column) {
  const unsigned char *text = sqlite3_column_text(statement, column);
  return text ? (const char *)text : "";
}

// Columns as in `seer_record_columns`. False: a value that no version of ours writes.
bool seer_record_read(sqlite3_stmt *statement, seer_record *out) {
  memset(out, 0, sizeof(*out));
  out->id = sqlite3_column_int64(statement, 0);
  out->session = sqlite3_column_int64(statement, 1);
  out->workload = sqlite3_column_int64(statement, 2);
  out->target = sqlite3_column_int64(statement, 3);
  out->schedule = text_of(statement, 4);
  if (!seer_measured_class_parse(text_of(statement, 5), &out->cls)) return false;
  if (!seer_record_state_parse(text_of(statement, 6), &out->state)) return false;
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
  out->round = (uint32_t)sqlite3_column_int64(statement, 13);
  out->message = text_of(statement, 14);
  return isfinite(out->seconds) && out->seconds >= 0 && strlen(out->schedule) < MAX_SCHEDULE_BYTES;
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
    status = step(r, statement, &has_row);
    if (!status && has_row && seer_record_read(statement, &record)) status = visit(user, &record);
  }
  sqlite3_finalize(statement);
  return status;
}

static void keep_strings(seer_record *record, seer_arena *arena) {
  record->schedule = seer_arena_strdup(arena, record->schedule);
  record->message = seer_arena_strdup(arena, record->message);
}

seer_status seer_records_best(seer_records *r, int64_t workload, int64_t target,
    seer_record_state state, seer_arena *arena, seer_record *out) {
  memset(out, 0, sizeof(*out));
  sqlite3_stmt *statement = NULL;
  SEER_TRY(seer_records_prepare(r,
      "SELECT " SEER_RECORD_COLUMNS
      " FROM measurement WHERE workload = ? AND target = ?"
      " AND class = 'ok' AND raced = 0 AND (state = 'accepted' OR (?3 < 2 AND state = 'checked')"
      " OR (?3 < 1 AND state = 'measured')) ORDER BY seconds, id LIMIT 1",
      &statement));
  sqlite3_bind_int64(statement, 1, workload);
  sqlite3_bind_int64(statement, 2, target);
  sqlite3_bind_int(statement, 3, (int)state);
  bool has_row;
  seer_status status = step(r, statement, &has_row);
  if (!status && has_row) {
    if (seer_record_read(statement, out)) {
      keep_strings(out, arena);
    } else {
      memset(out, 0, sizeof(*out));
    }
  }
  sqlite3_finalize(statement);
  return status;
}

// Sum over buffers and dimensions of |log2(a / b)|: shapes of one structure are compared factor by
// factor.
static double distance(const seer_dag *a, const seer_dag *b) {
  double sum = 0;
  if (a->n_stage != b->n_stage) return INFINITY;
  for (uint32_t s = 0; s < a->n_stage; s++) {
    uint32_t n = (uint32_t)a->stage[s].n_space + a->stage[s].n_reduce;
    if (n != (uint32_t)b->stage[s].n_space + b->stage[s].n_reduce) return INFINITY;
    for (uint32_t k = 0; k < n; k++) {
      sum += fabs(log2((double)a->stage[s].axis[k].extent / (double)b->stage[s].axis[k].extent));
    }
  }
  return sum;
}

static int by_distance(const void *a, const void *b) {
  const seer_record_near *x = a, *y = b;
  if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
  return (x->record.id > y->record.id) - (x->record.id < y->record.id);
}

seer_status seer_records_nearest(seer_records *r, const seer_dag *dag, seer_dag_key key,
    int64_t target, seer_arena *arena, seer_record_near *out, uint32_t max, uint32_t *out_n) {
  *out_n = 0;
  seer_hex structure, shape;
  seer_record_hex(key.structure, structure);
  seer_record_hex(key.shape, shape);
  sqlite3_stmt *statement = NULL;
  SEER_TRY(seer_records_prepare(r,
      "SELECT id, dag FROM workload WHERE structure = ? AND shape != ? ORDER BY id", &statement));
  sqlite3_bind_text(statement, 1, structure, -1, SQLITE_TRANSIENT);
  sqlite3_bind_text(statement, 2, shape, -1, SQLITE_TRANSIENT);
  seer_record_near *all = NULL;
  uint32_t n = 0;
  size_t cap = 0;
  bool has_row = true;
  seer_status status = SEER_OK;
  while (!status && has_row) {
    status = step(r, statement, &has_row);
    if (status || !has_row) break;
    all = SEER_GROW(arena, seer_record_near, all, n, &cap);
    seer_record_near *near = &all[n];
    near->dag_text = seer_arena_strdup(arena, text_of(statement, 1));
    seer_dag *other = NULL;
    seer_status parsed =
        seer_dag_parse("record", near->dag_text, strlen(near->dag_text), arena, &other);
    seer_status_free(parsed);
    if (!other) continue;
    near->distance = distance(dag, other);
    status = seer_records_best(
        r, sqlite3_column_int64(statement, 0), target, SEER_RECORD_ACCEPTED, arena, &near->record);
    n += !status && near->record.id != 0 && isfinite(near->distance);
  }
  sqlite3_finalize(statement);
  SEER_TRY(status);
  if (n > 1) qsort(all, n, sizeof(all[0]), by_distance);
  *out_n = n < max ? n : max;
  for (uint32_t i = 0; i < *out_n; i++) out[i] = all[i];
  return SEER_OK;
}
