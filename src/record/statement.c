// statement.c - statements on a file of records, and transactions of them: all or nothing; another
// process that holds the file is waited for. The contract: record.h, internal.h.
#include "base/os.h"
#include "record/internal.h"

#define LOCK_PATIENCE_NS 60000000000u  // for another process that holds the file

seer_status seer_records_run(seer_records *r, const char *sql) {
  return seer_sql_run(r->db, r->path, sql);
}

seer_status seer_records_prepare(seer_records *r, const char *sql, sqlite3_stmt **out) {
  return seer_sql_prepare(r->db, r->path, sql, out);
}

seer_status seer_records_check_quiet(const seer_records *r, seer_status status) {
  seer_os_file_id now;
  if (r->quiet.file == 0) return status;
  seer_os_identify(r->path, &now);
  bool is_same = now.device == r->quiet.device && now.file == r->quiet.file &&
      now.n_bytes == r->quiet.n_bytes && now.written_ns == r->quiet.written_ns;
  if (is_same) return status;
  seer_status_free(status);
  return SEER_FAIL(
      TIMEOUT, "%s: somebody has begun to write to it while it was read; again, please", r->path);
}

// ---- a file that vanishes
// Its folder was removed, or the file alone: SQLite still has it open, and can write a copy.
static seer_status write_again(seer_records *r) {
  SEER_TRY(seer_os_make_dirs(seer_os_path_dir(r->arena, r->path)));
  sqlite3 *copy = NULL;
  int rc = sqlite3_open_v2(r->path, &copy, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
  sqlite3_backup *backup =
      rc == SQLITE_OK ? sqlite3_backup_init(copy, "main", r->db, "main") : NULL;
  if (backup) rc = sqlite3_backup_step(backup, -1);
  if (backup) (void)sqlite3_backup_finish(backup);
  seer_status status =
      rc == SQLITE_DONE ? SEER_OK : seer_sql_fail(copy, r->path, rc, "writing it again");
  sqlite3_close(copy);
  return status;
}

// IO when another file, or none, is at the path of an open one. What has been written is then put
// there again, where there is none.
static seer_status still_there(seer_records *r) {
  seer_os_file_id now;
  if (r->id.file == 0) return SEER_OK;
  seer_os_identify(r->path, &now);
  if (now.file == r->id.file && now.device == r->id.device) return SEER_OK;
  r->id = (seer_os_file_id){0, 0, 0, 0};
  if (now.file != 0)
    return SEER_FAIL(IO, "%s: another file was put in its place while it was open", r->path);
  seer_status status = write_again(r);
  if (!status)
    return SEER_FAIL(
        IO, "%s: was removed while it was open; what it held was written there again", r->path);
  return seer_status_context(status, "%s: was removed while it was open", r->path);
}

seer_status seer_records_step(const seer_records *r, sqlite3_stmt *statement, bool *out_row) {
  return seer_records_check_quiet(r, seer_sql_step(statement, r->path, out_row));
}

seer_status seer_records_begin(seer_records *r) {
  SEER_TRY(still_there(r));
  return seer_records_run(r, "BEGIN IMMEDIATE");
}

seer_status seer_records_commit(seer_records *r) { return seer_records_run(r, "COMMIT"); }

void seer_records_rollback(seer_records *r) {
  // SQLite may have rolled back by itself: then this fails, and nothing is left to do.
  seer_status_free(seer_records_run(r, "ROLLBACK"));
}

static seer_status write_once(seer_records *r, seer_records_writer write, void *user) {
  SEER_TRY(seer_records_begin(r));
  seer_status status = write(user);
  if (!status) status = seer_records_commit(r);
  if (status) seer_records_rollback(r);
  return status;
}

seer_status seer_records_write(
    seer_records *r, seer_records_writer write, void *user, const seer_waiter *waiter) {
  uint64_t start = seer_os_now_ns();
  for (bool is_told = false;; is_told = true) {
    seer_status status = write_once(r, write, user);
    bool is_busy = status && seer_status_code(status) == SEER_CODE_TIMEOUT;
    if (!is_busy || seer_waiter_is_over(waiter) || seer_os_now_ns() - start > LOCK_PATIENCE_NS)
      return status;
    if (!is_told) {
      seer_arena_mark mark = seer_arena_save(r->arena);
      waiter->tell(
          waiter->user, seer_arena_printf(r->arena, "%s; waiting", seer_status_message(status)));
      seer_arena_rewind(r->arena, mark);
    }
    seer_status_free(status);
  }
}
