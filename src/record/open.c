// open.c - a path -> a file of records that may be read, or written.
// A file is looked at through a connection that cannot write before one that can is made, so that
// what is not ours stays as it was, to the byte. SQLite leaves two files beside a database in WAL
// mode that it reads; where no writer has left any, it is told that the file does not change, and
// makes none.

#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "record/internal.h"

// Checking pages takes 1.3 ms a MB: of larger files only what is read is checked at opening.
#define MAX_CHECKED_BYTES (64 << 20)
#define HEADER_BYTES 100
#define HEADER_WRITE_VERSION 18  // 2: WAL

static seer_status connect(seer_records *r, const char *name, int flags) {
  int rc = sqlite3_open_v2(name, &r->db, flags, NULL);
  if (rc == SQLITE_OK) return seer_schema_harden(r->db, r->path);
  seer_status status = seer_sql_fail(r->db, r->path, rc, "opening");
  sqlite3_close(r->db);
  r->db = NULL;
  return status;
}

static void disconnect(seer_records *r) {
  sqlite3_finalize(r->add);
  r->add = NULL;
  sqlite3_close(r->db);
  r->db = NULL;
}

// ---- looking
// In WAL mode, and nobody has it open or was killed while writing.
static seer_status is_quiet_wal(const seer_records *r, bool *out_is_quiet) {
  seer_os_map map = {0}, wal = {0};
  const char *wal_path = seer_arena_printf(r->arena, "%s-wal", r->path);
  SEER_TRY(seer_os_map_file(r->path, &map));
  bool is_wal = map.n_bytes >= HEADER_BYTES && map.data[HEADER_WRITE_VERSION] == 2;
  seer_os_unmap(&map);
  if (is_wal && seer_os_exists(wal_path)) SEER_TRY(seer_os_map_file(wal_path, &wal));
  *out_is_quiet = is_wal && wal.n_bytes == 0;
  seer_os_unmap(&wal);
  return SEER_OK;
}

// The path as an address, with all but plain characters as %XX.
static const char *uri_of(const seer_records *r) {
  seer_text uri;
  seer_text_init(&uri, r->arena);
  seer_text_put(&uri, r->path[0] == '/' ? "file://" : "file:");
  for (const char *at = r->path; *at; at++) {
    bool is_plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
        (*at >= '0' && *at <= '9') || strchr("/._-", *at);
    seer_text_printf(&uri, is_plain ? "%c" : "%%%02X", (unsigned char)*at);
  }
  seer_text_put(&uri, "?immutable=1");
  return uri.data;
}

// Opens to read, and checks. What is wrong with a file that cannot be read is said here.
static seer_status look(seer_records *r, uint64_t max_checked_bytes, int *out_version) {
  bool is_quiet = false;
  seer_os_identify(r->path, &r->quiet);
  SEER_TRY(is_quiet_wal(r, &is_quiet));
  if (!is_quiet) r->quiet = (seer_os_file_id){0, 0, 0, 0};
  SEER_TRY(connect(
      r, is_quiet ? uri_of(r) : r->path, SQLITE_OPEN_READONLY | (is_quiet ? SQLITE_OPEN_URI : 0)));
  return seer_records_check_quiet(
      r, seer_schema_check(r->db, r->path, max_checked_bytes, out_version));
}

// Files of earlier versions, and empty ones, are read as what they would be after an update: a copy
// in memory is updated, and the file stays as it is.
static seer_status update_copy(seer_records *r) {
  sqlite3 *file = r->db;
  r->db = NULL;
  seer_status status = connect(r, ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  sqlite3_backup *backup = status ? NULL : sqlite3_backup_init(r->db, "main", file, "main");
  if (backup) {
    (void)sqlite3_backup_step(backup, -1);
    int rc = sqlite3_backup_finish(backup);
    if (rc != SQLITE_OK) status = seer_sql_fail(r->db, r->path, rc, "copying into memory");
  } else if (!status) {
    status = seer_sql_fail(r->db, r->path, sqlite3_errcode(r->db), "copying into memory");
  }
  sqlite3_close(file);
  return status ? status : seer_schema_update(r->db, r->path);
}

static seer_status open_to_read(seer_records *r, uint64_t max_checked_bytes) {
  int version = 0;
  if (!seer_os_exists(r->path))
    return SEER_FAIL(NOT_FOUND, "%s: no such file of records; a tuning makes it", r->path);
  SEER_TRY(look(r, max_checked_bytes, &version));
  if (version == SEER_RECORD_SCHEMA) return SEER_OK;
  SEER_TRY(seer_records_check_quiet(r, update_copy(r)));
  r->quiet = (seer_os_file_id){0, 0, 0, 0};  // what is read now lies in memory
  return SEER_OK;
}

// ---- writing
static seer_status use_wal(seer_records *r) {
  sqlite3_stmt *statement = NULL;
  bool has_row = false;
  SEER_TRY(seer_records_prepare(r, "PRAGMA journal_mode = WAL", &statement));
  seer_status status = seer_sql_step(statement, r->path, &has_row);
  const char *mode = !status && has_row ? (const char *)sqlite3_column_text(statement, 0) : "";
  bool is_wal = mode && strcmp(mode, "wal") == 0;
  sqlite3_finalize(statement);
  if (!status && !is_wal) {
    status = seer_sql_run(r->db, r->path, "PRAGMA journal_mode = DELETE");
    seer_log(r->context, "record", 0,
        "%s: no shared memory on this file system; journal mode DELETE", r->path);
  }
  return status ? status : seer_sql_run(r->db, r->path, "PRAGMA synchronous = NORMAL");
}

// Where there is no shared memory for WAL, a transaction that was cut off is undone from this file,
// which takes a connection that can write.
static bool has_journal(const seer_records *r) {
  seer_os_map map = {NULL, 0};
  const char *path = seer_arena_printf(r->arena, "%s-journal", r->path);
  seer_status status = seer_os_exists(path) ? seer_os_map_file(path, &map) : SEER_OK;
  bool has_any = !status && map.n_bytes > 0;
  seer_status_free(status);
  seer_os_unmap(&map);
  return has_any;
}

static seer_status open_to_write(seer_records *r) {
  int version = 0;
  bool is_file = strcmp(r->path, ":memory:") != 0 && seer_os_exists(r->path),
       is_cut_off = is_file && has_journal(r);
  if (is_file && !is_cut_off) {
    SEER_TRY(look(r, MAX_CHECKED_BYTES, &version));
    disconnect(r);
    r->quiet = (seer_os_file_id){0, 0, 0, 0};
  }
  SEER_TRY(connect(r, r->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  if (is_cut_off) SEER_TRY(seer_schema_check(r->db, r->path, MAX_CHECKED_BYTES, &version));
  SEER_TRY(use_wal(r));
  if (version > 0 && version < SEER_RECORD_SCHEMA)
    seer_log(r->context, "record", 0, "%s: carried over from version %d to %d", r->path, version,
        SEER_RECORD_SCHEMA);
  if (version != SEER_RECORD_SCHEMA) SEER_TRY(seer_schema_update(r->db, r->path));
  seer_os_identify(r->path, &r->id);
  return seer_records_prepare_add(r);
}

// ---- opening
// Times of a formula, or of another day's table: nobody has measured them now.
static const char *source_of(const seer_context *context) {
  const char *measure = seer_context_str(context, SEER_OPT_MEASURE);
  size_t n = strcspn(measure, ":");
  for (size_t i = 1; i < SEER_RECORD_SOURCES; i++) {
    const char *source = seer_record_sources[i];
    if (strlen(source) == n && strncmp(measure, source, n) == 0) return source;
  }
  return "";
}

seer_status seer_records_path(const char *path, seer_arena *arena, const char **out) {
  *out = path;
  if (path[0]) return SEER_OK;
  const char *folder = "";
  SEER_TRY(seer_os_cache_dir(arena, &folder));
  *out = seer_os_path_join(arena, folder, "records.sqlite");
  return SEER_OK;
}

static seer_status create(const seer_context *context, const char *path, seer_records **out) {
  seer_records *r = *out = calloc(1, sizeof(*r));
  if (!r) return SEER_FAIL(RESOURCE, "no memory for the records");
  r->context = context;
  r->arena = seer_arena_create("records");
  r->source = source_of(context);
  return seer_records_path(seer_arena_strdup(r->arena, path), r->arena, &r->path);
}

static seer_status end(seer_status status, seer_records *r, seer_records **out_records) {
  if (status) seer_records_close(r);
  *out_records = status ? NULL : r;
  return status;
}

seer_status seer_records_open(
    const seer_context *context, const char *path, seer_records **out_records) {
  seer_records *r = NULL;
  seer_status status = create(context, path, &r);
  if (!status) status = open_to_write(r);
  return end(status, r, out_records);
}

seer_status seer_records_open_to_read(
    const seer_context *context, const char *path, seer_records **out_records) {
  seer_records *r = NULL;
  seer_status status = create(context, path, &r);
  if (!status) status = open_to_read(r, MAX_CHECKED_BYTES);
  return end(status, r, out_records);
}

seer_status seer_records_open_foreign(
    const seer_context *context, const char *path, seer_records **out_records) {
  seer_records *r = NULL;
  seer_status status = create(context, path, &r);
  if (!status) status = open_to_read(r, UINT64_MAX);
  return end(status, r, out_records);
}

seer_status seer_records_open_by_options(
    const seer_context *context, bool is_to_write, seer_records **out_records) {
  *out_records = NULL;
  if (seer_context_bool(context, SEER_OPT_IGNORE_RECORDS)) return SEER_OK;
  const char *path = seer_context_str(context, SEER_OPT_RECORDS);
  if (is_to_write && !path[0] && source_of(context)[0]) return SEER_OK;
  if (is_to_write) return seer_records_open(context, path, out_records);
  seer_status status = seer_records_open_to_read(context, path, out_records);
  // Nothing was tuned yet by this user; a file that is named has to be there.
  if (!status || path[0] || seer_status_code(status) != SEER_CODE_NOT_FOUND) return status;
  seer_status_free(status);
  return SEER_OK;
}

void seer_records_close(seer_records *r) {
  if (!r) return;
  disconnect(r);
  seer_arena_destroy(r->arena);
  free(r);
}
