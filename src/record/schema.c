// schema.c - the tables of a file of records, and the checks of a database that claims to have
// them. What SQLite stores of a CREATE statement is its text: a schema is ours if its texts are
// those of an empty database that we have just made.

#include "record/schema.h"

#include <stdio.h>
#include <string.h>

#define BUSY_S 10
// Steps of SQLite's machine until the schema is read and compared: ours takes about 2,000. Pages
// that are linked in a circle of many ways would take for ever.
#define MAX_SCHEMA_STEPS 1000000

// A campaign is a session in files.
#define TABLES                                                                                  \
  "CREATE TABLE target(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, feature_key TEXT NOT " \
  "NULL, text TEXT NOT NULL);"                                                                  \
  "CREATE TABLE workload(id INTEGER PRIMARY KEY, structure TEXT NOT NULL, shape TEXT NOT NULL," \
  " name TEXT NOT NULL, dag TEXT NOT NULL, UNIQUE(structure, shape));"                          \
  "CREATE TABLE session(id INTEGER PRIMARY KEY, model TEXT NOT NULL, policy TEXT NOT NULL,"     \
  " version TEXT NOT NULL, rules INTEGER NOT NULL, seed INTEGER NOT NULL);"
#define MEASUREMENT                                                                             \
  "CREATE TABLE measurement(id INTEGER PRIMARY KEY, session INTEGER NOT NULL REFERENCES "       \
  "session(id), workload INTEGER NOT NULL REFERENCES workload(id), target INTEGER NOT NULL "    \
  "REFERENCES target(id), schedule TEXT NOT NULL, class TEXT NOT NULL, state TEXT NOT NULL, "   \
  "seconds REAL NOT NULL, reference REAL NOT NULL, samples BLOB, raced INTEGER NOT NULL, twin " \
  "INTEGER NOT NULL, predicted REAL NOT NULL, round INTEGER NOT NULL, message TEXT NOT NULL"
#define BY_TASK "CREATE INDEX measurement_by_task ON measurement(workload, target);"
// The fastest of a task, and whether a measurement is known.
#define BY_TIME "CREATE INDEX measurement_by_time ON measurement(workload, target, seconds);"

// The first files of version 1 had no index by time.
static const char version_1_first[] = TABLES MEASUREMENT ");" BY_TASK;
static const char version_1[] = TABLES MEASUREMENT ");" BY_TASK BY_TIME;
#define ADDITIONS_2                                                                                \
  ", origin TEXT NOT NULL, place TEXT NOT NULL, pairs INTEGER NOT NULL, speedup REAL NOT NULL, "   \
  "p_value REAL NOT NULL, baseline_seconds REAL NOT NULL, baseline TEXT NOT NULL, judged INTEGER " \
  "NOT NULL"
#define WINNER                                                                             \
  "CREATE UNIQUE INDEX measurement_winner ON measurement(workload, target) WHERE state = " \
  "'accepted' AND place <> 'elsewhere';"
#define INDICES BY_TASK BY_TIME WINNER
static const char version_2[] = TABLES MEASUREMENT ADDITIONS_2 ");" INDICES;
#define MEASUREMENT_3 \
  MEASUREMENT ADDITIONS_2 ", worker TEXT NOT NULL, device TEXT NOT NULL);" INDICES
static const char version_3[] = TABLES MEASUREMENT_3;

// The table is made anew: one that a column was added to is not, by its text, one that we make.
#define ASIDE                                 \
  "DROP INDEX measurement_by_task;"           \
  "DROP INDEX IF EXISTS measurement_by_time;" \
  "DROP INDEX IF EXISTS measurement_winner;"  \
  "ALTER TABLE measurement RENAME TO measurement_old;" MEASUREMENT_3
static const char from_version_1[] = ASIDE
    "INSERT INTO measurement SELECT id, session, workload, target, schedule, class, CASE WHEN state"
    " = 'accepted' AND id NOT IN (SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY "
    "workload, target ORDER BY seconds, id) AS nth FROM measurement_old WHERE state = 'accepted' "
    "AND class = 'ok' AND raced = 0 AND seconds >= 1e-9) WHERE nth = 1) THEN 'checked' ELSE state "
    "END, seconds, reference, samples, raced, twin, predicted, round, message, '', 'here', 0, 0, "
    "1, 0, '', 0, '', '' FROM measurement_old;"
    "DROP TABLE measurement_old;";
static const char from_version_2[] = ASIDE
    "INSERT INTO measurement SELECT *, '', '' FROM measurement_old;"
    "DROP TABLE measurement_old;";

// ---- SQLite's calls as statuses
seer_status seer_sql_fail(sqlite3 *db, const char *path, int rc, const char *doing) {
  const char *why = db ? sqlite3_errmsg(db) : sqlite3_errstr(rc);
  if (db && sqlite3_extended_errcode(db) == SQLITE_READONLY_ROLLBACK)
    return SEER_FAIL(IO,
        "%s: its writer was cut off; the next tuning undoes what it left, who only reads cannot",
        path);
  switch (rc & 0xFF) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_TOOBIG:
      return SEER_FAIL(CORRUPT,
          "%s: not a sound file of records (%s): %s; it is left as it is: move it away, and a new "
          "one is made",
          path, doing, why);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return SEER_FAIL(TIMEOUT, "%s: busy for %d s (%s)", path, BUSY_S, doing);
    case SQLITE_NOMEM:
    case SQLITE_FULL:
      return SEER_FAIL(RESOURCE, "%s: %s: %s", path, doing, why);
    case SQLITE_INTERRUPT:
      return SEER_FAIL(CORRUPT, "%s: not a file of records: its schema has no end", path);
    default:
      return SEER_FAIL(IO, "%s: %s: %s", path, doing, why);
  }
}

seer_status seer_sql_run(sqlite3 *db, const char *path, const char *sql) {
  int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
  return rc == SQLITE_OK ? SEER_OK : seer_sql_fail(db, path, rc, sql);
}

seer_status seer_sql_prepare(sqlite3 *db, const char *path, const char *sql, sqlite3_stmt **out) {
  int rc = sqlite3_prepare_v2(db, sql, -1, out, NULL);
  return rc == SQLITE_OK ? SEER_OK : seer_sql_fail(db, path, rc, sql);
}

seer_status seer_sql_step(sqlite3_stmt *statement, const char *path, bool *out_row) {
  int rc = sqlite3_step(statement);
  *out_row = rc == SQLITE_ROW;
  if (rc == SQLITE_ROW || rc == SQLITE_DONE) return SEER_OK;
  return seer_sql_fail(sqlite3_db_handle(statement), path, rc, sqlite3_sql(statement));
}

// ---- distrust
seer_status seer_schema_harden(sqlite3 *db, const char *path) {
  static const struct {
    int what, on;
  } settings[] = {{SQLITE_DBCONFIG_DEFENSIVE, 1}, {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
      {SQLITE_DBCONFIG_ENABLE_VIEW, 0}, {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
      {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0}, {SQLITE_DBCONFIG_ENABLE_FKEY, 1},
      {SQLITE_DBCONFIG_DQS_DDL, 0}, {SQLITE_DBCONFIG_DQS_DML, 0}};
  static const struct {
    int what, most;
  } limits[] = {{SQLITE_LIMIT_LENGTH, SEER_RECORD_MAX_VALUE_BYTES},
      {SQLITE_LIMIT_SQL_LENGTH, 1 << 16}, {SQLITE_LIMIT_COLUMN, 64}, {SQLITE_LIMIT_EXPR_DEPTH, 64},
      {SQLITE_LIMIT_COMPOUND_SELECT, 4}, {SQLITE_LIMIT_VDBE_OP, 1 << 16},
      {SQLITE_LIMIT_FUNCTION_ARG, 8}, {SQLITE_LIMIT_ATTACHED, 0},
      {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 64}, {SQLITE_LIMIT_VARIABLE_NUMBER, 64},
      {SQLITE_LIMIT_TRIGGER_DEPTH, 1}, {SQLITE_LIMIT_WORKER_THREADS, 0}};
  for (size_t i = 0; i < SEER_COUNT_OF(settings); i++) {
    int rc = sqlite3_db_config(db, settings[i].what, settings[i].on, NULL);
    if (rc != SQLITE_OK) return seer_sql_fail(db, path, rc, "making SQLite careful");
  }
  for (size_t i = 0; i < SEER_COUNT_OF(limits); i++)
    sqlite3_limit(db, limits[i].what, limits[i].most);
  sqlite3_busy_timeout(db, BUSY_S * 1000);
  SEER_TRY(seer_sql_run(db, path, "PRAGMA cell_size_check = ON"));
  return seer_sql_run(db, path, "PRAGMA mmap_size = 0");
}

static int stop(void *user) {
  (void)user;
  return 1;
}

// The number that a pragma gives.
static seer_status ask(sqlite3 *db, const char *path, const char *pragma, int64_t *out) {
  sqlite3_stmt *statement = NULL;
  bool has_row = false;
  SEER_TRY(seer_sql_prepare(db, path, pragma, &statement));
  seer_status status = seer_sql_step(statement, path, &has_row);
  *out = !status && has_row ? sqlite3_column_int64(statement, 0) : 0;
  sqlite3_finalize(statement);
  return status;
}

static const char objects[] =
    "SELECT type, name, tbl_name, ifnull(sql, '') FROM sqlite_schema ORDER BY type, name";

const char *seer_sql_text(sqlite3_stmt *row, int column) {
  const unsigned char *text = sqlite3_column_text(row, column);
  return text ? (const char *)text : "";
}

static bool same_object(sqlite3_stmt *a, sqlite3_stmt *b) {
  for (int k = 0; k < 4; k++)
    if (strcmp(seer_sql_text(a, k), seer_sql_text(b, k)) != 0) return false;
  return true;
}

// Are the objects of `db` those that `schema` makes?
static seer_status compare(sqlite3 *db, const char *path, const char *schema, bool *out_same) {
  sqlite3 *model = NULL;
  sqlite3_stmt *ours = NULL, *theirs = NULL;
  *out_same = false;
  int rc = sqlite3_open_v2(":memory:", &model, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
  seer_status status = rc == SQLITE_OK ? SEER_OK : seer_sql_fail(model, path, rc, "comparing");
  if (!status) status = seer_sql_run(model, path, schema);
  if (!status) status = seer_sql_prepare(model, path, objects, &ours);
  if (!status) status = seer_sql_prepare(db, path, objects, &theirs);
  bool is_same = true, has_ours = true, has_theirs = true;
  while (!status && is_same && has_ours && has_theirs) {
    status = seer_sql_step(ours, path, &has_ours);
    if (!status) status = seer_sql_step(theirs, path, &has_theirs);
    is_same = has_ours == has_theirs && (!has_ours || same_object(ours, theirs));
  }
  *out_same = !status && is_same;
  sqlite3_finalize(ours);
  sqlite3_finalize(theirs);
  sqlite3_close(model);
  return status;
}

static seer_status check_tables(sqlite3 *db, const char *path, int64_t version) {
  bool is_same = false;
  if (version == SEER_RECORD_SCHEMA) SEER_TRY(compare(db, path, version_3, &is_same));
  if (version == 2) SEER_TRY(compare(db, path, version_2, &is_same));
  if (version == 1) SEER_TRY(compare(db, path, version_1, &is_same));
  if (version == 1 && !is_same) SEER_TRY(compare(db, path, version_1_first, &is_same));
  if (version == 0) SEER_TRY(compare(db, path, "", &is_same));
  if (is_same) return SEER_OK;
  if (version == 0)
    return SEER_FAIL(INVALID, "%s: a database of something else, not a file of records", path);
  return SEER_FAIL(INVALID,
      "%s: not a file of records: its tables are not those of version %d, which it says it has",
      path, (int)version);
}

static seer_status check_version(sqlite3 *db, const char *path, int64_t *out_version) {
  int64_t application;
  SEER_TRY(ask(db, path, "PRAGMA application_id", &application));
  SEER_TRY(ask(db, path, "PRAGMA user_version", out_version));
  bool is_ours = application == (*out_version < 2 ? 0 : SEER_RECORD_APPLICATION);
  if (!is_ours)
    return SEER_FAIL(INVALID, "%s: a database of something else, not a file of records", path);
  if (*out_version < 0 || *out_version > SEER_RECORD_SCHEMA)
    return SEER_FAIL(INVALID, "%s: records of version %d, this program reads versions 1 to %d",
        path, (int)*out_version, SEER_RECORD_SCHEMA);
  return check_tables(db, path, *out_version);
}

// Links, orders, free pages of the file; it says "ok" or what is wrong first.
static seer_status check_pages(sqlite3 *db, const char *path, uint64_t max_bytes) {
  int64_t n_pages, page_bytes;
  SEER_TRY(ask(db, path, "PRAGMA page_count", &n_pages));
  SEER_TRY(ask(db, path, "PRAGMA page_size", &page_bytes));
  if ((uint64_t)n_pages * (uint64_t)page_bytes > max_bytes) return SEER_OK;
  sqlite3_stmt *statement = NULL;
  bool has_row = false;
  SEER_TRY(seer_sql_prepare(db, path, "PRAGMA quick_check(1)", &statement));
  seer_status status = seer_sql_step(statement, path, &has_row);
  const char *says = !status && has_row ? seer_sql_text(statement, 0) : "";
  if (!status && strcmp(says, "ok") != 0) {
    const char *what = strchr(says, '\n');  // behind a headline
    what = what ? what + 1 : says;
    size_t n = strcspn(what, "\n");
    status = SEER_FAIL(CORRUPT,
        "%s: damaged: %.*s; it is left as it is: move it away, and a new one is made", path,
        (int)(n < 200 ? n : 200), what);
  }
  sqlite3_finalize(statement);
  return status;
}

seer_status seer_schema_check(
    sqlite3 *db, const char *path, uint64_t max_checked_bytes, int *out_version) {
  int64_t version = 0;
  sqlite3_progress_handler(db, MAX_SCHEMA_STEPS, stop, NULL);
  seer_status status = check_version(db, path, &version);
  sqlite3_progress_handler(db, 0, NULL, NULL);
  *out_version = (int)version;
  return status ? status : check_pages(db, path, max_checked_bytes);
}

// ---- making
seer_status seer_schema_update(sqlite3 *db, const char *path) {
  // Two processes may come here at once: the second finds the version set once it holds the lock.
  SEER_TRY(seer_sql_run(db, path, "BEGIN IMMEDIATE"));
  int64_t version = 0;
  seer_status status = ask(db, path, "PRAGMA user_version", &version);
  if (!status && version < SEER_RECORD_SCHEMA) {
    char set[96];
    (void)snprintf(set, sizeof set, "PRAGMA user_version = %d; PRAGMA application_id = %d",
        SEER_RECORD_SCHEMA, SEER_RECORD_APPLICATION);
    status = seer_sql_run(db, path,
        version == 0       ? version_3
            : version == 1 ? from_version_1
                           : from_version_2);
    if (!status) status = seer_sql_run(db, path, set);
  }
  if (!status) return seer_sql_run(db, path, "COMMIT");
  sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
  return status;
}
