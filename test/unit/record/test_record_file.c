// Files of records as files: what is damaged or another program's is refused and left as it was, to
// the byte; files of the first version are read, and carried over; who only reads leaves no trace.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "base/os.h"
#include "record/record.h"
#include "support/test.h"
#include "support/test_target.h"

typedef struct {
  seer_context *context;
  seer_arena *arena;
  const char *folder, *path, *own_path;
} world;

static void open_world(world *w) {
  must(seer_context_create(&w->context));
  w->arena = seer_arena_create("test");
  must(seer_os_temp_dir("seer-test", w->arena, &w->folder));
  w->path = seer_os_path_join(w->arena, w->folder, "a 100%?.sqlite");
  w->own_path = seer_os_path_join(w->arena, w->folder, "own.sqlite");
}

static void close_world(world *w) {
  must(seer_os_remove_tree(w->folder));
  seer_arena_destroy(w->arena);
  seer_context_destroy(w->context);
}

static void run_sql(const char *path, const char *sql) {
  sqlite3 *db = NULL;
  char *message = NULL;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  (void)sqlite3_exec(db, sql, NULL, NULL, &message);
  if (message) fail_msg("%s: %s", sql, message);
  sqlite3_close(db);
}

static int64_t ask(const char *path, const char *sql) {
  sqlite3 *db = NULL;
  sqlite3_stmt *statement = NULL;
  assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
  int64_t value = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  sqlite3_close(db);
  return value;
}

typedef struct {
  char *data;
  size_t n;
} bytes;

static bytes read_bytes(world *w, const char *path) {
  bytes b;
  must(seer_os_read_file(path, w->arena, 1 << 24, &b.data, &b.n));
  return b;
}

static bool same_bytes(bytes a, bytes b) { return a.n == b.n && memcmp(a.data, b.data, a.n) == 0; }

static bool has_beside(world *w, const char *suffix) {
  return seer_os_exists(seer_arena_printf(w->arena, "%s%s", w->path, suffix));
}

// An empty file of records of today, with its journal folded in.
static void make_records(world *w) {
  seer_records *records;
  must(seer_records_open(w->context, w->path, &records));
  seer_records_close(records);
}

static void expect(seer_status status, seer_code code, const char *text) {
  assert_non_null(status);
  if (seer_status_code(status) != code || !strstr(seer_status_message(status), text))
    fail_msg("%s", seer_status_message(status));
  seer_status_free(status);
}

// Every way to open it says so, and changes nothing.
static void expect_refused(world *w, seer_code code, const char *text) {
  bytes before = read_bytes(w, w->path);
  bool had_wal = has_beside(w, "-wal");
  seer_records *records, *own;
  expect(seer_records_open(w->context, w->path, &records), code, text);
  assert_null(records);
  expect(seer_records_open_to_read(w->context, w->path, &records), code, text);
  assert_null(records);
  must(seer_records_open(w->context, w->own_path, &own));
  seer_record_counts counts;
  expect(seer_records_merge(own, w->path, true, &counts), code, text);
  seer_records_close(own);
  if (!same_bytes(before, read_bytes(w, w->path))) fail_msg("the file was changed (%s)", text);
  assert_int_equal(has_beside(w, "-wal"), had_wal);
  assert_false(has_beside(w, "-journal"));
}

static void test_what_is_no_file_of_records_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *sql;
    seer_code code;
    const char *text;
  } cases[] = {
      {"DROP TABLE target; CREATE VIEW target AS SELECT 1 AS id, 'k' AS key, 'f' AS feature_key, "
       "'t' AS text",
          SEER_CODE_INVALID, "its tables are not those of version 3"},
      {"CREATE VIEW more AS SELECT 1", SEER_CODE_INVALID, "its tables are not those of version 3"},
      {"CREATE TRIGGER t AFTER INSERT ON measurement BEGIN DELETE FROM measurement; END",
          SEER_CODE_INVALID, "its tables are not those of version 3"},
      {"CREATE TABLE more(x)", SEER_CODE_INVALID, "its tables are not those of version 3"},
      {"DROP INDEX measurement_by_time", SEER_CODE_INVALID, "not those of version 3"},
      {"ALTER TABLE session ADD COLUMN more TEXT DEFAULT (1)", SEER_CODE_INVALID,
          "its tables are not those of version 3"},
      {"PRAGMA application_id = 7", SEER_CODE_INVALID, "a database of something else"},
      {"PRAGMA user_version = 0", SEER_CODE_INVALID, "a database of something else"},
      {"PRAGMA user_version = 1", SEER_CODE_INVALID, "a database of something else"},
      {"PRAGMA user_version = 2", SEER_CODE_INVALID, "not those of version 2"},
      {"PRAGMA user_version = 4", SEER_CODE_INVALID, "records of version 4"},
      {"PRAGMA user_version = -1", SEER_CODE_INVALID, "not a file of records"}};
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    world w;
    open_world(&w);
    make_records(&w);
    run_sql(w.path, cases[i].sql);
    expect_refused(&w, cases[i].code, cases[i].text);
    run_sql(w.path, "PRAGMA journal_mode = DELETE");
    expect_refused(&w, cases[i].code, cases[i].text);
    close_world(&w);
  }
}

static void test_other_databases_are_refused(void **state) {
  (void)state;
  world w;
  open_world(&w);
  run_sql(w.path, "CREATE TABLE bookmarks(url TEXT); INSERT INTO bookmarks VALUES('here')");
  expect_refused(&w, SEER_CODE_INVALID, "a database of something else");
  static const char junk[] =
      "this is not a database, it is a text that is long enough to look like a header .....";
  must(seer_os_write_file(w.path, junk, sizeof junk));
  expect_refused(&w, SEER_CODE_CORRUPT, "move it away");
  close_world(&w);
}

static void put_measurements(const char *path, int n) {
  char sql[1024];
  (void)snprintf(sql, sizeof sql,
      "INSERT INTO target VALUES(1, 'k', 'f', 't'); INSERT INTO workload VALUES(1, 's', 'p', 'n', "
      "'d'); INSERT INTO session VALUES(1, 'm', 'p', 'v', 1, 1); WITH RECURSIVE c(i) AS (SELECT 1 "
      "UNION ALL SELECT i + 1 FROM c WHERE i < %d) INSERT INTO measurement SELECT i, 1, 1, 1, "
      "printf('sched %%d %%.1000c', i, 'x'), 'ok', 'measured', 1e-3, 0, NULL, 0, 0, 0, 0, '', '', "
      "'here', 0, 0, 1, 0, '', 0, '', '' FROM c",
      n);
  run_sql(path, sql);
}

// Cut off, or with a page that says nonsense: said, with what can be done, and not touched.
static void test_damaged_files_are_refused(void **state) {
  (void)state;
  world w;
  open_world(&w);
  make_records(&w);
  put_measurements(w.path, 200);
  bytes whole = read_bytes(&w, w.path);
  must(seer_os_write_file(w.path, whole.data, whole.n / 2));
  expect_refused(&w, SEER_CODE_CORRUPT, "move it away");
  char *page = seer_arena_alloc(w.arena, whole.n, 16);
  memcpy(page, whole.data, whole.n);
  memset(page + whole.n - 3 * 4096, 0xA5, 4096);
  must(seer_os_write_file(w.path, page, whole.n));
  expect_refused(&w, SEER_CODE_CORRUPT, "damaged: Page ");
  close_world(&w);
}

// No file, and nothing beside it, where somebody only asks.
static void test_readers_leave_no_trace(void **state) {
  (void)state;
  world w;
  open_world(&w);
  seer_records *records;
  expect(seer_records_open_to_read(w.context, w.path, &records), SEER_CODE_NOT_FOUND, "no such");
  assert_false(seer_os_exists(w.path));
  make_records(&w);
  bytes before = read_bytes(&w, w.path);
  must(seer_records_open_to_read(w.context, w.path, &records));
  assert_false(has_beside(&w, "-wal") || has_beside(&w, "-shm"));
  seer_records_close(records);
  assert_true(same_bytes(before, read_bytes(&w, w.path)));
  // An empty file is one without records.
  must(seer_os_write_file(w.path, "", 0));
  must(seer_records_open_to_read(w.context, w.path, &records));
  seer_records_close(records);
  assert_int_equal(read_bytes(&w, w.path).n, 0);
  close_world(&w);
}

// A file that is read without locks, since nobody had it open, is not read on when somebody begins
// to write to it: its pages could be of two moments.
static void test_a_writer_beside_a_reader_is_noticed(void **state) {
  (void)state;
  world w;
  open_world(&w);
  make_records(&w);
  seer_records *reader, *writer;
  seer_target target = test_target_narrow;
  int64_t ids[SEER_RECORD_MAX_TARGETS];
  uint32_t n;
  must(seer_records_open_to_read(w.context, w.path, &reader));
  must(seer_records_find_targets(reader, &target, ids, &n));
  must(seer_records_open(w.context, w.path, &writer));
  must(seer_records_target(writer, &target, &ids[0]));
  seer_records_close(writer);  // what it wrote goes to the file itself
  expect(seer_records_find_targets(reader, &target, ids, &n), SEER_CODE_TIMEOUT, "begun to write");
  seer_records_close(reader);
  must(seer_records_open_to_read(w.context, w.path, &reader));
  must(seer_records_find_targets(reader, &target, ids, &n));
  assert_true(n == 1 && ids[0] > 0);
  seer_records_close(reader);
  close_world(&w);
}

// What a killed writer has left in its journal belongs to the file.
static void test_a_journal_that_was_left_is_read(void **state) {
  (void)state;
  world w;
  open_world(&w);
  sqlite3 *writer = NULL;
  seer_records *records;
  must(seer_records_open(w.context, w.own_path, &records));
  seer_records_close(records);
  assert_int_equal(sqlite3_open(w.own_path, &writer), SQLITE_OK);
  assert_int_equal(
      sqlite3_exec(writer, "INSERT INTO session VALUES(1, 'm', 'p', 'v', 1, 1)", NULL, NULL, NULL),
      SQLITE_OK);
  const char *own_wal = seer_arena_printf(w.arena, "%s-wal", w.own_path),
             *wal = seer_arena_printf(w.arena, "%s-wal", w.path);
  bytes file = read_bytes(&w, w.own_path), journal = read_bytes(&w, own_wal);
  assert_true(journal.n > 0);
  must(seer_os_write_file(w.path, file.data, file.n));
  must(seer_os_write_file(wal, journal.data, journal.n));
  sqlite3_close(writer);
  must(seer_records_open_to_read(w.context, w.path, &records));
  seer_records_close(records);
  assert_true(same_bytes(file, read_bytes(&w, w.path)));
  assert_true(same_bytes(journal, read_bytes(&w, wal)));
  assert_int_equal(ask(w.path, "SELECT count(*) FROM session"), 1);
  close_world(&w);
}

// Without WAL a transaction that was cut off has to be undone: who writes does so, who reads says
// so.
static void test_a_transaction_that_was_cut_off_is_undone(void **state) {
  (void)state;
  world w;
  open_world(&w);
  sqlite3 *writer = NULL;
  seer_records *records;
  must(seer_records_open(w.context, w.own_path, &records));
  seer_records_close(records);
  put_measurements(w.own_path, 200);
  assert_int_equal(sqlite3_open(w.own_path, &writer), SQLITE_OK);
  assert_int_equal(sqlite3_exec(writer,
                       "PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; BEGIN; UPDATE "
                       "measurement SET message = schedule, seconds = 2",
                       NULL, NULL, NULL),
      SQLITE_OK);
  const char *own_journal = seer_arena_printf(w.arena, "%s-journal", w.own_path),
             *journal = seer_arena_printf(w.arena, "%s-journal", w.path);
  bytes file = read_bytes(&w, w.own_path), undo = read_bytes(&w, own_journal);
  assert_true(undo.n > 512);
  must(seer_os_write_file(w.path, file.data, file.n));
  must(seer_os_write_file(journal, undo.data, undo.n));
  assert_int_equal(sqlite3_exec(writer, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(writer);
  expect(seer_records_open_to_read(w.context, w.path, &records), SEER_CODE_IO, "was cut off");
  assert_true(same_bytes(file, read_bytes(&w, w.path)));
  must(seer_records_open(w.context, w.path, &records));
  seer_records_close(records);
  assert_int_equal(ask(w.path, "SELECT count(*) FROM measurement WHERE seconds < 1"), 200);
  close_world(&w);
}

// ---- the first version
#define OLD_FILES SEER_SOURCE_DIR "/test/unit/record/old/"

static void put_old_file(world *w, const char *path) {
  bytes old = read_bytes(w, path);
  must(seer_os_write_file(w->path, old.data, old.n));
}

static uint32_t n_sound(seer_records *records, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  seer_record_counts counts;
  must(seer_records_check(records, &text, &counts));
  assert_int_equal(seer_record_counts_bad(&counts), 0);
  return counts.n[SEER_RECORD_SOUND];
}

static void test_the_first_version_is_read_as_it_lies(void **state) {
  (void)state;
  world w;
  open_world(&w);
  put_old_file(&w, OLD_FILES "records_1.sqlite");
  bytes before = read_bytes(&w, w.path);
  seer_records *records;
  must(seer_records_open_to_read(w.context, w.path, &records));
  assert_int_equal(n_sound(records, w.arena), 55);
  seer_records_close(records);
  must(seer_records_open(w.context, w.own_path, &records));
  seer_record_counts counts;
  must(seer_records_merge(records, w.path, false, &counts));
  assert_true(counts.n[SEER_RECORD_SOUND] > 0);
  assert_int_equal(seer_record_counts_bad(&counts), 0);
  seer_records_close(records);
  assert_true(same_bytes(before, read_bytes(&w, w.path)));
  assert_int_equal(
      ask(w.own_path, "SELECT count(*) FROM measurement WHERE place <> 'elsewhere'"), 0);
  close_world(&w);
}

static void test_the_first_version_is_carried_over(void **state) {
  (void)state;
  world w;
  open_world(&w);
  put_old_file(&w, OLD_FILES "records_1.sqlite");
  assert_int_equal(ask(w.path, "SELECT count(*) FROM measurement WHERE state = 'accepted'"), 8);
  seer_records *records;
  for (int i = 0; i < 2; i++) {
    must(seer_records_open(w.context, w.path, &records));
    assert_int_equal(n_sound(records, w.arena), 55);
    seer_records_close(records);
  }
  assert_int_equal(ask(w.path, "PRAGMA user_version"), 3);
  // One winner for each of the two tasks that had any: the fastest that was accepted.
  assert_int_equal(ask(w.path, "SELECT count(*) FROM measurement WHERE state = 'accepted'"), 2);
  assert_int_equal(ask(w.path, "SELECT count(*) FROM measurement WHERE state = 'checked'"), 6);
  assert_int_equal(ask(w.path,
                       "SELECT count(*) FROM measurement a, measurement b WHERE a.state = "
                       "'accepted' AND b.state "
                       "= 'checked' AND a.workload = b.workload AND b.seconds < a.seconds"),
      0);
  close_world(&w);
}

// Of version 2 all that it had is there, and nobody says who has measured it.
static void test_the_second_version_is_read_and_carried_over(void **state) {
  (void)state;
  world w;
  open_world(&w);
  put_old_file(&w, OLD_FILES "records_2.sqlite");
  bytes before = read_bytes(&w, w.path);
  seer_records *records;
  must(seer_records_open_to_read(w.context, w.path, &records));
  assert_int_equal(n_sound(records, w.arena), 26);
  seer_records_close(records);
  assert_true(same_bytes(before, read_bytes(&w, w.path)));
  int64_t pairs = ask(w.path, "SELECT sum(id * pairs) + sum(length(samples)) FROM measurement");
  must(seer_records_open(w.context, w.path, &records));
  assert_int_equal(n_sound(records, w.arena), 26);
  seer_records_close(records);
  assert_int_equal(ask(w.path, "PRAGMA user_version"), 3);
  assert_int_equal(
      ask(w.path, "SELECT sum(id * pairs) + sum(length(samples)) FROM measurement"), pairs);
  assert_int_equal(
      ask(w.path, "SELECT count(*) FROM measurement WHERE worker = '' AND device = ''"), 26);
  assert_int_equal(ask(w.path, "SELECT count(*) FROM measurement WHERE state = 'accepted'"), 1);
  close_world(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_is_no_file_of_records_is_refused),
      cmocka_unit_test(test_other_databases_are_refused),
      cmocka_unit_test(test_damaged_files_are_refused),
      cmocka_unit_test(test_readers_leave_no_trace),
      cmocka_unit_test(test_a_writer_beside_a_reader_is_noticed),
      cmocka_unit_test(test_a_journal_that_was_left_is_read),
      cmocka_unit_test(test_a_transaction_that_was_cut_off_is_undone),
      cmocka_unit_test(test_the_first_version_is_read_as_it_lies),
      cmocka_unit_test(test_the_first_version_is_carried_over),
      cmocka_unit_test(test_the_second_version_is_read_and_carried_over)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
