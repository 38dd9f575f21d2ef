// record.h - what was measured, kept in one SQLite file (WAL). Keys are canonical and versioned, in
// two parts (structure, shape); schedules are stored as text (signature, knobs by name), never by
// index.
#ifndef SEER_TUNE_RECORD_H
#define SEER_TUNE_RECORD_H

#include "front/front.h"
#include "setup/context.h"
#include "tune/measure.h"

#define SEER_RECORD_SCHEMA 1
#define SEER_RULE_SET_VERSION 1

typedef enum {
  SEER_RECORD_MEASURED,
  SEER_RECORD_CHECKED,
  SEER_RECORD_ACCEPTED,
  SEER_RECORD_REFUSED
} seer_record_state;
const char *seer_record_state_name(seer_record_state state);

typedef struct seer_records seer_records;

typedef struct {
  int64_t id;  // 0: not stored yet
  int64_t session;
  int64_t workload, target;
  const char *schedule;  // text form
  seer_measured_class cls;
  seer_record_state state;
  bool is_raced_out, is_twin;
  double seconds;  // raw median
  double reference_s;  // drift reference of the session at that time; 0: none
  uint32_t n_samples;
  double sample[SEER_MEASURE_MAX_SAMPLES];
  double predicted;  // score, or 0
  uint32_t round;
  const char *message;
} seer_record;

// `path` "" : <cache folder>/records.sqlite. Makes it, or checks its schema (CORRUPT / INVALID say
// which file).
SEER_MUST_USE seer_status seer_records_open(
    const seer_context *context, const char *path, seer_records **out_records);
// The file that the options name; NULL with --ignore-records.
SEER_MUST_USE seer_status seer_records_open_by_options(
    const seer_context *context, seer_records **out_records);
void seer_records_close(seer_records *records);  // NULL: nothing
// Ids of a target and of a workload, added if they are not there.
SEER_MUST_USE seer_status seer_records_target(
    seer_records *records, const seer_target *target, int64_t *out_id);
SEER_MUST_USE seer_status seer_records_workload(seer_records *records, const seer_dag *dag,
    seer_dag_key key, const char *name, int64_t *out_id);
// The same for those who only read: 0 if it is not there, of which nothing is known.
SEER_MUST_USE seer_status seer_records_find_workload(
    seer_records *records, seer_dag_key key, int64_t *out_id);
// Whose records may serve `target`: its own id (or 0) first, then, oldest first, those of machines
// with the same features and as many threads. Schedules of these are valid here; their times are
// not of here.
#define SEER_RECORD_MAX_TARGETS 8
SEER_MUST_USE seer_status seer_records_find_targets(seer_records *records,
    const seer_target *target, int64_t out_ids[SEER_RECORD_MAX_TARGETS], uint32_t *out_n);
SEER_MUST_USE seer_status seer_records_session(seer_records *records, const seer_context *context,
    const char *model, const char *policy, int64_t *out_id);
// Committed when it returns (batched: begin/commit around a group of adds).
SEER_MUST_USE seer_status seer_records_begin(seer_records *records);
SEER_MUST_USE seer_status seer_records_commit(seer_records *records);
SEER_MUST_USE seer_status seer_records_add(seer_records *records, seer_record *record);  // sets id
SEER_MUST_USE seer_status seer_records_set_state(
    seer_records *records, int64_t id, seer_record_state state);
// All of a workload on a target, oldest first.
typedef seer_status (*seer_record_visit)(void *user, const seer_record *record);
SEER_MUST_USE seer_status seer_records_each(
    seer_records *records, int64_t workload, int64_t target, seer_record_visit visit, void *user);
// Best of at least `state`: lower time, then older. out->id 0 if none. Strings in `arena`.
SEER_MUST_USE seer_status seer_records_best(seer_records *records, int64_t workload, int64_t target,
    seer_record_state state, seer_arena *arena, seer_record *out);
// Same structure and target, other shapes: best record of each, nearest shape first (at most
// `max`).
typedef struct {
  seer_record record;
  const char *dag_text;
  double distance;
} seer_record_near;
SEER_MUST_USE seer_status seer_records_nearest(seer_records *records, const seer_dag *dag,
    seer_dag_key key, int64_t target, seer_arena *arena, seer_record_near *out, uint32_t max,
    uint32_t *out_n);
// JSON lines.
SEER_MUST_USE seer_status seer_records_export(seer_records *records, const char *path);
// Adds what is sound and not known; the rest is skipped and counted. All of the file or nothing.
SEER_MUST_USE seer_status seer_records_import(
    seer_records *records, const char *path, uint32_t *out_added, uint32_t *out_skipped);
SEER_MUST_USE seer_status seer_records_merge(
    seer_records *records, const char *other_path, uint32_t *out_added);
// Which records no longer parse, and why; printed to `text`.
SEER_MUST_USE seer_status seer_records_check(
    seer_records *records, seer_text *text, uint32_t *out_bad);

#endif
