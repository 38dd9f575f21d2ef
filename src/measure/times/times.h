// times.h - a table of measured times: of each of some tasks, thousands of schedules with the
// median of several visits, made once on a quiet machine (collect.h). What answers from it
// (replay.c) does so at once and without noise, so that searches can be judged by what is
// known of the whole pool.
//
// The file: JSON lines, compressed as gzip does it (doc/study.md). Line 1 says format, target and
// version; then lines of tasks, numbered from 0, and of schedules, each behind its task's line.
// `seconds` and `half_width` follow from `visits` and are there for other readers; a file in which
// they do not is refused.
//
// Memory: a table and its texts are in one arena, the one that it was begun or read with. Threads:
// one at a time. Errors: IO and NOT_FOUND of the file; INVALID what is no table, or a table of
// another version; CORRUPT a damaged one, with file, line and what was found. A table that was read
// in part is of no use.
#ifndef SEER_MEASURE_TIMES_TIMES_H
#define SEER_MEASURE_TIMES_TIMES_H

#include "base/map.h"
#include "front/front.h"
#include "measure/measure.h"
#include "space/sketch.h"

#define SEER_TIMES_MAX_VISITS 32
#define SEER_TIMES_DIGITS 7  // of a time in the file: more than any clock has

// How a schedule came into the table.
typedef enum {
  SEER_TIME_UNTUNED,  // the choice without trials
  SEER_TIME_DEFAULT,  // a sketch's default
  SEER_TIME_DRAWN,  // uniformly, of all sketches
  SEER_TIME_LIKED,  // of many that were drawn, by the analytic model
  SEER_TIME_SEARCHED,  // what a search asked for
  SEER_TIME_ORIGIN_COUNT
} seer_time_origin;

// Of one schedule.
typedef struct {
  const char *schedule;  // text form
  seer_time_origin origin;
  seer_measured_class cls;  // not OK: it has failed, and has no visits
  uint32_t n_visits, n_timings;  // timings: samples of all visits
  double visit_s[SEER_TIMES_MAX_VISITS];  // what each visit took it to take
  double seconds;  // their median; 0: failed
  double half_width;  // of the 95 % interval of that, relative to it; INFINITY: one visit
} seer_time;

typedef struct {
  const char *network;
  uint32_t count;  // how often it runs the task
} seer_times_use;

typedef struct {
  const char *name;
  const seer_dag *dag;
  seer_dag_key key;
  seer_space_kind space;
  uint64_t network_weight_bytes;  // with which it was timed (seer_measure_task)
  // Wall time that a trial of it took, over its first visit: for those who weigh time.
  double build_s, run_s;
  uint32_t n_use, n_time;
  size_t cap_use, cap_time;
  seer_times_use *use;
  seer_time *time;
} seer_times_task;

typedef struct {
  seer_arena *arena;
  const char *target;  // text form
  const char *version;  // of the seer that wrote it last
  uint32_t n_task;
  size_t cap_task;
  seer_times_task *task;
} seer_times;

// Begins an empty one. Texts are copied.
void seer_times_begin(const seer_target *target, seer_arena *arena, seer_times *out);
SEER_MUST_USE seer_status seer_times_read(const char *path, seer_arena *arena, seer_times *out);
// Beside `path`, then renamed: the file that was there is replaced whole, or stays.
SEER_MUST_USE seer_status seer_times_write(const seer_times *times, const char *path);
// INVALID unless `target` is the table's, by what records are keyed by (seer_target_key); says how
// to give it. `path`: of the table, for the message.
SEER_MUST_USE seer_status seer_times_check_target(
    const seer_times *times, const char *path, const seer_target *target);

// The task of that key and space, NULL: there is none.
seer_times_task *seer_times_find_task(
    const seer_times *times, seer_dag_key key, seer_space_kind space);
// A new one; `dag` is kept, the name copied. Pointers to other tasks move.
seer_times_task *seer_times_add_task(
    seer_times *times, const char *name, const seer_dag *dag, seer_space_kind space);
// Says (again) how often a network runs it.
void seer_times_set_use(
    seer_times *times, seer_times_task *task, const char *network, uint32_t count);
// A network's task: the table's, or a new one that was timed with that network's cold weights; with
// the network among its users. Pointers to others move if it is new.
seer_times_task *seer_times_use_task(seer_times *times, const char *name,
    const seer_network *network, const seer_task *task, seer_space_kind space);
// A schedule of the task, as `text` (copied), with nothing measured; pointers to others move.
seer_time *seer_times_add(
    seer_times *times, seer_times_task *task, const char *text, seer_time_origin origin);
// One more visit, at most SEER_TIMES_MAX_VISITS: sets cls, seconds, half_width. Kept to the digits
// that the file has, so that a table and its file say the same.
void seer_time_add_visit(seer_time *time, double seconds, uint32_t n_timings);

// Half the width of a 95 % interval of the median of n values, relative to it; INFINITY where n
// says nothing. Fewer than 6: Student's, of values that scatter normally; from 6 on the interval
// between order statistics, which assumes nothing of how they scatter. For tests.
double seer_times_half_width(const double *values, uint32_t n);

// What a task's sketches, as they are today, make of the table: a pool to search.
typedef struct {
  uint32_t n;
  seer_schedule *schedule;  // in the table's order, each once
  const seer_time **time;  // by schedule
  // Not in the pool: texts that no sketch knows any more, and schedules that are not allowed any
  // more. why: of the first of them, "" where there is none.
  uint32_t n_refused;
  const char *why;
  seer_map *at;  // hash -> index
} seer_times_pool;
void seer_times_pool_make(const seer_times_task *task, const seer_sketch_list *sketches,
    seer_arena *arena, seer_times_pool *out);
// NULL: not in it. For a normalised schedule.
const seer_time *seer_times_pool_find(const seer_times_pool *pool, const seer_schedule *schedule);
double seer_times_pool_best(const seer_times_pool *pool);  // seconds; 0: all have failed

#endif
