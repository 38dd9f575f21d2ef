// precision.h - what --precision costs and gains, for the commands that write libraries: the
// network at the precision that was asked for (of `auto` at each that there is) is held against
// itself at f32, in time and in its outputs.
//
//   open     loads it, at f32 too
//   choose   schedules and times of all
//   take     libraries of both, run on the same inputs: how far the outputs are apart, whether that
//            is within --tolerance, which precision `auto` takes
//   write    the library of what was taken
//   finish   of a tuning, in place of write: the same as take of the library that it has made
//
// What is compared is code that runs on this machine: of the target where its code does (of a GPU:
// where its driver has a device), else of the machine's own processors (what is rounded is decided
// in the graph, and code adds f32's roundings only). Both are always of the same kind.
// A refusal leaves the output folder as it was: nothing is written there before that, and a tuning
// finishes what it has written elsewhere.
//
// --tolerance refuses where it is given; `auto` keeps it, given or not. A precision that is slower
// than f32 is said to be, in a line.
//
// Memory: all is in the arena that was given; `close` closes graphs and removes files. One thread.
#ifndef SEER_TUNE_PRECISION_H
#define SEER_TUNE_PRECISION_H

#include "base/os.h"
#include "choose/choose.h"
#include "front/front.h"
#include "library/deviations.h"
#include "record/record.h"

enum { SEER_PRECISIONS = SEER_PRECISION_COUNT };

// The network at one precision.
typedef struct {
  seer_precision precision;
  seer_network *network;
  seer_choice *choices;  // by choose: what it would be compiled with
  seer_choose_counts counts;
  // A run, all sets of shapes once: by the analytic model; by what records have of each task (0:
  // not of all); by runs of its library in turns with
  // f32's, and what that took then (0: there were none).
  double estimate_s, recorded_s, run_s, f32_run_s;
  const char *folder;  // its library, to be compared; NULL: not built
  bool is_compared;
  seer_deviations deviations;  // from f32
} seer_precise_version;

typedef struct {
  seer_context *context;
  seer_arena *arena;
  bool is_auto;
  bool is_gated;  // by --tolerance
  double tolerance;
  // Of libraries that are compared: in the output folder, if there is one, so that what is written
  // has to be moved only. NULL: not made yet.
  const char *folder;
  const char *made_folder;  // the output folder, where it was missing; NULL: it was not
  seer_os_work_dir work;  // where it lies in the output folder
  uint32_t n;  // versions; [0] is f32
  seer_precise_version version[SEER_PRECISIONS];
  seer_precise_version *taken;  // what is compiled; NULL: not decided yet
  seer_build_kept *kept;  // of builds for the target, while a tuning has one; NULL: none
  const char *text;  // what `auto` has taken and why; ""
  const char *report;  // by finish, in lines: what it has said; ""
  double own_s, f32_s;  // by finish: a run of `taken` and of f32, in turns; 0: not timed
} seer_precise;

// `model` as seer_front_load takes it. To be closed whatever it returns. At f32 nothing but that is
// loaded, and nothing of what follows has anything to do.
SEER_MUST_USE seer_status seer_precise_open(
    seer_context *context, const char *model, seer_arena *arena, seer_precise *out);
SEER_MUST_USE seer_status seer_precise_open_from(
    seer_context *context, const seer_front_source *source, seer_arena *arena, seer_precise *out);
void seer_precise_close(seer_precise *precise);

// How schedules are chosen, and times compared.
typedef enum {
  // as `compile` chooses; by times of records if they have all, else by the model
  SEER_PRECISE_COMPILE,
  SEER_PRECISE_TUNE,  // untuned schedules, since tuning comes after; by runs in turns
  SEER_PRECISE_TUNE_UNTIMED  // the same by the model: where measurements are not of this machine
} seer_precise_how;

// The choices of each version; at f32 alone a tuning chooses for itself, and nothing is done.
// Errors: those of seer_choose_by_options.
SEER_MUST_USE seer_status seer_precise_choose(seer_precise *precise, seer_precise_how how);

// Sets `taken` and the option --precision, and says what was found (seer_say). `how` as before.
// Errors: INVALID an output is further off than --tolerance allows; those of compiling and running.
SEER_MUST_USE seer_status seer_precise_take(seer_precise *precise, seer_precise_how how);

// Writes what was taken into `out_dir`: the library that was judged, where it is what is to be
// written, so that nothing is compiled twice.
SEER_MUST_USE seer_status seer_precise_write(
    const seer_precise *precise, seer_build_kind kind, const char *out_dir);

// Of the library of `taken` in `folder`: how far it is from f32's, and whether it is as fast. f32
// has the schedules that `records` know (NULL: untuned ones). seconds: for the comparison of times,
// about; 0: there is none. Says what was found.
// Errors: as of take.
SEER_MUST_USE seer_status seer_precise_finish(
    seer_precise *precise, const char *folder, seer_records *records, double seconds);

// What is known of `taken`, for programs; NULL at f32 that was asked for. Owned by the caller.
json_t *seer_precise_json(const seer_precise *precise);

#endif
