// tuned.h - what a tuning has left, for benches that time its schedules again: its records, the
// network's tasks with their sketches, and the local measurer; the machine's speeds are those that
// the tuning has measured.
// An error ends the program: status 1 and "<program>: <what is wrong>".
#ifndef BENCH_TUNED_H
#define BENCH_TUNED_H

#include "measure/lock.h"
#include "record/record.h"
#include "record/sound.h"

typedef struct {
  seer_context *context;
  seer_records *records;  // only read
  seer_arena *arena;  // has all of it
  seer_network *network;
  seer_sketch_list **sketches;  // [task id], those of a tuning with default options
} bench_tuned;

void bench_die(seer_status status);  // SEER_OK: nothing

// `worker`: the program that measurers start, familyseer.
void bench_tuned_open(
    bench_tuned *out, const char *records_path, const char *model, const char *worker);
void bench_tuned_close(bench_tuned *tuned);

// A sound record of a task that is of a measurement (ok, with samples, no twin), raced out or not;
// oldest first. Of several machines that are like this one, the first that has any.
typedef void (*bench_tuned_visit)(
    void *user, const seer_record *record, const seer_schedule *schedule);
void bench_tuned_each(const bench_tuned *tuned, uint32_t task, bench_tuned_visit visit, void *user);

// The fastest that were measured of a task, by time; each schedule once, none of those that were
// raced out, nor `except`. Begin with zeros, and what it is for; several records may be visited.
#define BENCH_BEST_MAX 32
typedef struct {
  const seer_schedule *except;
  uint32_t n_most;  // at most BENCH_BEST_MAX
  uint32_t n;
  seer_schedule schedule[BENCH_BEST_MAX];
  double seconds[BENCH_BEST_MAX];
} bench_best;
void bench_best_visit(
    void *best, const seer_record *record, const seer_schedule *schedule);  // a bench_tuned_visit

// The local measurer, which knows all tasks by their ids, and times them in pairs.
typedef struct {
  const seer_measure_desc *desc;
  seer_measurer *measurer;  // owned: desc->close
  seer_measure_lock device;  // taken until the program ends
} bench_timer;
bench_timer bench_tuned_timer(const bench_tuned *tuned);

#endif
