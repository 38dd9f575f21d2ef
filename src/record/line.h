// line.h - a record as one line of JSON, self-contained: target, workload (with its DAG), schedule,
// times, pairs. Paths, host names and messages are not written: a worker, and a board, of which the
// name has a host in it, is its hash there ("#1f2e3d4c"), so that what one has measured can be told
// from what another one has. All other texts come back byte by byte. What is read may be hostile.
// The inside of record/ only.
//
// Memory: what is read is in the line's own JSON and in the arena. Threads: any.
#ifndef SEER_RECORD_LINE_H
#define SEER_RECORD_LINE_H

#include <jansson.h>

#include "record/internal.h"

#define SEER_RECORD_LINE_VERSION 3  // 1 had no origin, place and pairs, 2 no worker and device
#define SEER_RECORD_LINE_MAX_BYTES ((size_t)1 << 22)

// ---- out
// All records, oldest first: rows for what follows.
extern const char seer_record_line_sql[];
// With its end of line. False: it has a time that is no number, which no line can have; nothing is
// put.
bool seer_record_line_put(sqlite3_stmt *row, seer_text *out);

// ---- in
// The next line that is not empty, of *out_n bytes; NULL: that was all. *at: 0 at first.
const char *seer_record_line_next(const char *data, size_t n_bytes, size_t *at, size_t *out_n);
typedef struct {
  const char *target_key, *features, *target_text, *structure, *shape, *name, *dag, *model, *policy,
      *version;
  const char *schedule, *cls, *state, *origin, *provenance, *baseline, *worker, *device;
  json_int_t rules, seed, round, n_pairs, judged;
  double seconds, reference, predicted, speedup, p_value, baseline_s;
  int is_raced, is_twin;
  json_t *samples;
  json_t *json;  // the line, in which texts are; seer_record_line_clear
} seer_record_line;

// False: malformed; nothing is to be cleared.
bool seer_record_line_read(
    const char *data, size_t n_bytes, seer_arena *arena, seer_record_line *out);
void seer_record_line_clear(seer_record_line *line);
// Words and numbers as a measurement has them; target, workload and campaign are not set. Samples
// beyond our number of them are left out.
seer_record_verdict seer_record_line_record(const seer_record_line *line, seer_record *out);

// ---- which one it is
// Records with the same of all this are one.
typedef struct {
  const char *structure, *shape, *target_key, *schedule;
  double seconds;
  int64_t n_pairs, judged;
} seer_record_identity;
typedef char seer_record_name[33];  // 32 hexadecimal digits
void seer_record_line_identify(const seer_record_identity *identity, seer_record_name out);
seer_record_identity seer_record_line_identity(const seer_record_line *line);
seer_record_identity seer_record_row_identity(sqlite3_stmt *row);  // of seer_record_line_sql

#endif
