// collect.h - networks -> a table of measured times (times.h).
// For each task that they have, each once: the untuned choice, every sketch's default, schedules
// drawn uniformly of all sketches, those that the analytic model likes of many, and those that a
// search with a learned model visits; timed by the ordinary measurer, never dropped early, in
// several visits: a visit is all schedules of a task once more, in another order, and between two
// of them all other tasks have theirs. A schedule is visited until the interval of its median is
// narrow enough, or often enough.
//
// Goes on with what a table has, and saves it after each visit of a task: what ends it costs a
// visit at most. Threads: one; is_stopped may be set by a signal handler. Errors: of the measurer,
// of the models, of the file; the table on disk is whole.
#ifndef SEER_STUDY_COLLECT_H
#define SEER_STUDY_COLLECT_H

#include <signal.h>

#include "measure/times/times.h"

#define SEER_COLLECT_MIN_VISITS 3
#define SEER_COLLECT_MAX_VISITS 15

typedef struct {
  const char *name;
  const seer_network *network;  // of one set of input shapes
} seer_collect_network;

typedef struct {
  uint32_t n_schedules;  // of a task
  uint32_t n_heaviest;  // tasks of each network, by estimate and count; 0: all
  double half_interval;  // relative half width of the median's 95 % interval
  double time_s;  // for all of it; 0: no limit
  const char *path;
  const volatile sig_atomic_t *is_stopped;
  // After each visit: what was done, in words, a line.
  void (*tell)(void *user, const char *text);
  void *user;
} seer_collect_options;

typedef struct {
  uint32_t n_task, n_schedule, n_failed;
  uint32_t n_precise;  // schedules whose interval is narrow enough
  uint32_t n_visited;  // those that were visited as often as they may be, and are not
  uint32_t n_open;  // neither: the time ran out
} seer_collect_counts;

// By the options of `context`: measure, seed, space, and those of the measurer. `times`: begun or
// read, of the context's target.
SEER_MUST_USE seer_status seer_collect(seer_context *context, const seer_collect_network *networks,
    uint32_t n, const seer_collect_options *options, seer_times *times,
    seer_collect_counts *out_counts);

#endif
