// internal.h - the inside of the record store, shared by its own files only.
// Memory, threads and errors are record.h's.
#ifndef SEER_RECORD_INTERNAL_H
#define SEER_RECORD_INTERNAL_H

#include <sqlite3.h>

#include "base/os.h"
#include "record/record.h"
#include "record/schema.h"

struct seer_records {
  const seer_context *context;
  seer_arena *arena;
  const char *path;
  const char *source;  // of times, where nobody measures them: "fake", "replay"; "": this machine
  sqlite3 *db;
  seer_os_file_id id;  // of the file at `path` when it was opened; zeros: none is expected there
  // the same, of one that is read as if nobody wrote to it; zeros: it is not
  seer_os_file_id quiet;
  sqlite3_stmt *add;
};

#define SEER_RECORD_COLUMNS                                                                     \
  "id, session, workload, target, schedule, class, state, seconds, reference, samples, raced, " \
  "twin, predicted, round, message, origin, place, pairs, speedup, p_value, baseline_seconds, " \
  "baseline, judged, worker, device"

// What is nobody's and reads nothing but what is already there: for merging.
SEER_MUST_USE seer_status seer_records_open_foreign(
    const seer_context *context, const char *path, seer_records **out_records);
SEER_MUST_USE seer_status seer_records_prepare_add(seer_records *records);
SEER_MUST_USE seer_status seer_records_prepare(
    seer_records *records, const char *sql, sqlite3_stmt **out);
SEER_MUST_USE seer_status seer_records_run(seer_records *records, const char *sql);
// Also an error of the file that was removed meanwhile.
SEER_MUST_USE seer_status seer_records_step(
    const seer_records *records, sqlite3_stmt *statement, bool *out_row);
SEER_MUST_USE seer_status seer_records_add_target(seer_records *records, const char *key,
    const char *feature_key, const char *text, int64_t *out_id);
// The text of this target where something was measured on it here, or by who is trusted; else NULL.
SEER_MUST_USE seer_status seer_records_target_text(
    seer_records *records, const seer_target *target, seer_arena *arena, const char **out_text);
SEER_MUST_USE seer_status seer_records_add_workload(seer_records *records, const char *structure,
    const char *shape, const char *name, const char *dag_text, int64_t *out_id);
SEER_MUST_USE seer_status seer_records_add_campaign(seer_records *records, const char *model,
    const char *policy, const char *version, int64_t rules, int64_t seed, int64_t *out_id);
// What record.h says of import, of lines that are here.
SEER_MUST_USE seer_status seer_records_take_lines(seer_records *records, const char *data,
    size_t n_bytes, bool is_trusted, seer_record_counts *out_counts);
// TIMEOUT where a file that is read as if nobody wrote to it was written to since: what was read of
// it may be of two moments. `status`: of reading, which that explains; else it is returned.
SEER_MUST_USE seer_status seer_records_check_quiet(const seer_records *records, seer_status status);
// 16 hexadecimal digits: how keys are stored.
typedef char seer_hex[17];
void seer_record_hex(uint64_t value, seer_hex out);
// A target's keys. Made-up times of it are stored as those of another machine, with keys of their
// own: nobody who asks for the target finds them.
#define SEER_RECORD_SOURCES 3
extern const char *const seer_record_sources[SEER_RECORD_SOURCES];  // the first: ""
void seer_record_target_keys(
    const seer_target *target, const char *source, seer_hex out_key, seer_hex out_features);
// Columns as in SEER_RECORD_COLUMNS; texts live until the statement's next step. False: values that
// no version of ours writes.
bool seer_record_read(sqlite3_stmt *statement, seer_record *out);
bool seer_record_provenance_parse(const char *text, seer_record_provenance *out);
bool seer_record_state_parse(const char *text, seer_record_state *out);
// Every record with an id above `after`, held against its own task and target (those that are
// stored with it). `why` (borrowed, may be NULL): the parser's words. Tasks are looked at one by
// one.
typedef struct {
  int64_t id;
  seer_record_verdict verdict;
  const char *task, *why;
} seer_examined;
typedef seer_status (*seer_examined_visit)(void *user, const seer_examined *examined);
SEER_MUST_USE seer_status seer_records_examine_after(
    seer_records *records, int64_t after, seer_examined_visit visit, void *user);

#endif
