// internal.h - the inside of the record store, shared by store.c and lines.c only.
#ifndef SEER_TUNE_RECORD_INTERNAL_H
#define SEER_TUNE_RECORD_INTERNAL_H

#include <sqlite3.h>

#include "tune/record.h"

struct seer_records {
  const seer_context *context;
  seer_arena *arena;
  const char *path;
  sqlite3 *db;
  sqlite3_stmt *add;
};

#define SEER_RECORD_COLUMNS                                                                     \
  "id, session, workload, target, schedule, class, state, seconds, reference, samples, raced, " \
  "twin, predicted, round, message"

SEER_MUST_USE seer_status seer_sql_fail(sqlite3 *db, const char *path, int rc, const char *doing);
SEER_MUST_USE seer_status seer_records_prepare(
    seer_records *records, const char *sql, sqlite3_stmt **out);
SEER_MUST_USE seer_status seer_records_add_target(seer_records *records, const char *key,
    const char *feature_key, const char *text, int64_t *out_id);
SEER_MUST_USE seer_status seer_records_add_workload(seer_records *records, const char *structure,
    const char *shape, const char *name, const char *dag_text, int64_t *out_id);
SEER_MUST_USE seer_status seer_records_add_session(seer_records *records, const char *model,
    const char *policy, const char *version, int64_t rules, int64_t seed, int64_t *out_id);
// 16 hexadecimal digits: how keys are stored.
typedef char seer_hex[17];
void seer_record_hex(uint64_t value, seer_hex out);
bool seer_record_read(sqlite3_stmt *statement, seer_record *out);
bool seer_record_state_parse(const char *text, seer_record_state *out);
bool seer_measured_class_parse(const char *text, seer_measured_class *out);

#endif
