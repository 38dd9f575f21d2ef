// measure.h - times of schedules on real hardware (or from the fake machine), with errors as data.
// Parent + builder processes + one runner per device; a crash, hang or wrong answer costs one
// candidate, and a runner that was killed over it once costs none.
//
// Memory: a measurer is owned, by open and close. Threads: one at a time uses it. Errors: what
// befalls a candidate is data; DEVICE when the measurer itself is lost, and it can only be closed
// then.
#ifndef SEER_MEASURE_MEASURE_H
#define SEER_MEASURE_MEASURE_H

#include <signal.h>

#include "front/front.h"
#include "measure/timing.h"
#include "setup/context.h"
#include "space/frame.h"

#define SEER_MEASURE_MAX_SAMPLES 32
#define SEER_MEASURE_MAX_CONTENDERS 8
#define SEER_MEASURE_MAX_PAIRS 64  // that a comparison takes
#define SEER_MEASURE_MESSAGE_BYTES 200
#define SEER_MEASURE_MAX_DEVICES SEER_DEVICES_MAX
#define SEER_MEASURE_NO_ROUND UINT32_MAX
#define SEER_MEASURE_HOME UINT32_MAX  // a device: where checks and comparisons are made

typedef enum {
  SEER_MEASURED_OK,
  SEER_MEASURED_BUILD_ERROR,
  SEER_MEASURED_BUILD_TIMEOUT,
  SEER_MEASURED_RUN_CRASH,
  SEER_MEASURED_RUN_TIMEOUT,
  SEER_MEASURED_WRONG_RESULT,
  SEER_MEASURED_DEVICE_LOST,
  SEER_MEASURED_COUNT
} seer_measured_class;
const char *seer_measured_class_name(seer_measured_class cls);  // "ok", "build-error", ...
bool seer_measured_class_parse(const char *text, seer_measured_class *out);  // false: it is none

// A task as the measurer sees it. `id` is the caller's; all pointers kept until the measurer is
// closed.
typedef struct {
  uint32_t id;
  const seer_dag *dag;
  const seer_sketch_list *sketches;
  seer_space_kind space;  // that `sketches` were made in: workers make them again
  uint64_t network_weight_bytes;  // decides how cold weights are timed
} seer_measure_task;

// Of a network's weights, so many bytes are read from one timed run of a task to its next one: all,
// or as many as no cache of the target holds.
double seer_measure_cold_bytes(const seer_target *target, uint64_t network_weight_bytes);
// Of all weights that the network reads in a run, of several sets of input shapes the mean.
uint64_t seer_measure_network_bytes(const seer_network *network);

typedef struct {
  uint32_t task;  // id
  seer_schedule schedule;
  double best_seconds;  // of the task so far, for racing and limits; 0: none
  // Measured again among its challengers: never a twin, never raced out. When the first request of
  // a call is a witness, later ones race against what its schedule takes now on their own device,
  // where it was timed before them, and not against best_seconds.
  bool is_witness;
  const seer_timing *timing;  // how long it is timed; NULL: as --min-repeat says
  uint32_t wanted;  // 0: any device; k + 1: device k and no other
} seer_measure_request;

typedef struct {
  seer_measured_class cls;
  uint32_t device;  // that it was timed on; 0 where the measurer has one
  uint32_t part;  // of a device that is a worker of a fleet: which of its devices
  bool is_raced_out;  // dropped after a few runs: clearly slower than the best
  bool is_twin;  // equal code bytes as an earlier candidate of this task: its time is shared
  double seconds;  // of the samples: seer_timing_seconds
  uint32_t n_samples;
  double sample[SEER_MEASURE_MAX_SAMPLES];
  double build_s, run_s;  // wall time spent
  char message[SEER_MEASURE_MESSAGE_BYTES];  // of a failure
} seer_measure_result;

#define SEER_MEASURE_LEAST_SECONDS 1e-9  // no call of a kernel takes less
// What is told to be faster than that nobody has measured: no machine of the sketches' target can.
double seer_measure_least_seconds(const seer_sketch_list *sketches);

// Work of the caller's that fits beside building: done once, perhaps on a thread of its own, over
// before anything is timed.
typedef struct {
  void (*run)(void *user);
  void *user;
  double waited_s;  // out: how long it went on when nothing was being built any more
} seer_meanwhile;

typedef struct seer_measurer seer_measurer;

// What a measurer has to work with, now.
typedef struct {
  uint32_t n_devices, n_builders;
  const char *name[SEER_MEASURE_MAX_DEVICES];  // of a device; the measurer's
  bool is_left_out[SEER_MEASURE_MAX_DEVICES];  // it was lost for good
  // Of one that is a worker of a fleet, its own devices by name: "cpu:0, cpu:1"; else NULL.
  const char *parts[SEER_MEASURE_MAX_DEVICES];
  uint32_t n_rounds;  // that may be on their way at a time (send); 0: rounds are waited for
} seer_measure_facts;
uint32_t seer_measure_devices_left(const seer_measure_facts *facts);

// What a device takes for what the first one takes 1 for; 0: not known. It is timed with a schedule
// when it joins, and then followed by what it takes for schedules that others have timed.
typedef struct {
  double takes;
  uint32_t n_shared;  // rounds whose incumbent has followed it
} seer_measure_bias;

// How a measurer waits. delay_s stands for a slower device than there is: what is timed takes so
// long at least, on each device.
typedef struct {
  double delay_s;
  const volatile sig_atomic_t *is_stopped;  // then that is not waited for any more
  // Can be read when what is not done is to be left: what is being asked fails with DEVICE, and the
  // measurer is to be closed. 0: never.
  int leave_fd;
} seer_measure_pace;

// One turn of a contender and of what it is held against.
typedef struct {
  double seconds, baseline_seconds;
} seer_measure_pair;

typedef struct {
  double speedup;  // median of per-pair ratios baseline / candidate
  double p_value;  // sign test
  uint32_t n_pairs;
  double seconds, baseline_seconds;  // medians
  seer_measured_class cls;  // why there are no pairs; OK where there are, or none were asked for
} seer_measure_ab;
// What n pairs, of one comparison or of several, show (pairs.c). None: p_value 1, else zeros.
#define SEER_MEASURE_MAX_SUMMARISED 1024  // pairs
seer_measure_ab seer_measure_summarise(const seer_measure_pair *pairs, uint32_t n);

// What a check or a comparison is asked for. Borrowed.
typedef struct {
  uint32_t device, task;  // of a check: SEER_MEASURE_HOME
  const seer_schedule *schedules;  // of a comparison: contenders, the baseline last
  uint32_t n, n_pairs;  // n_pairs 0: a check, of one
} seer_measure_question;

typedef struct {
  const char *name;  // "local", "fake", "replay"
  const char *doc;
  // What stands behind the name and a colon: "FILE"; in brackets: what may. NULL: nothing does.
  // Where nothing does, open is given "".
  const char *argument;
  bool is_on_device;  // its times are this machine's, now: who uses it takes that first (lock.h)
  seer_status (*open)(const seer_context *context, const seer_target *target, const char *argument,
      seer_measurer **out_measurer);
  void (*close)(seer_measurer *measurer);
  void (*describe)(const seer_measurer *measurer, seer_measure_facts *out_facts);
  // (optional) `pace` is kept. NULL: times are another day's, and a delay is reckoned
  // (seer_measure_delay) and not waited for.
  void (*set_pace)(seer_measurer *measurer, const seer_measure_pace *pace);
  seer_status (*add_task)(seer_measurer *measurer, const seer_measure_task *task);
  // Builds and times; results[i] for requests[i]. A status only when the measurer itself is lost.
  // `meanwhile` (may be NULL) is done in any case.
  seer_status (*measure)(seer_measurer *measurer, const seer_measure_request *requests, uint32_t n,
      seer_meanwhile *meanwhile, seer_measure_result *results);
  // (optional) As measure, without waiting for it: any of the devices, but one alone, does the
  // whole round. `requests` and `results` are the caller's, and stay until the round is back. NULL:
  // there is `measure` only.
  seer_status (*send)(seer_measurer *measurer, const seer_measure_request *requests, uint32_t n,
      seer_measure_result *results, uint32_t *out_round);
  // The next round that is back, whatever became of it; *out_round SEER_MEASURE_NO_ROUND: none was
  // for timeout_ns.
  seer_status (*await)(seer_measurer *measurer, uint64_t timeout_ns, uint32_t *out_round);
  // What is still on its way, or was foreseen, is not waited for any more: no result of it is
  // written.
  void (*recall)(seer_measurer *measurer);
  // Is the answer right? Against DAG eval on sampled elements and in full against the default
  // schedule of the first sketch, which is of the direct formulation: exact.
  seer_status (*check)(seer_measurer *measurer, const seer_measure_request *request,
      seer_measured_class *out_class, char *message, size_t message_bytes);
  // Contenders (at most SEER_MEASURE_MAX_CONTENDERS) and a baseline take turns, n_pairs times, on
  // one device: SEER_MEASURE_HOME is the task's (home), and if that is lost over it
  // the next one; of another one that is lost, DEVICE_LOST.
  // n_pairs is at most SEER_MEASURE_MAX_PAIRS. out_ab[i] of contender i; its n_pairs 0 where that
  // one has no code or, all of them, when one crashed (twice) or the baseline has no code.
  // out_pairs (may be NULL): those of contender i from i * n_pairs on, where it has any. Pairs with
  // the same number, of whichever contenders, are of the same moment.
  seer_status (*compare)(seer_measurer *measurer, uint32_t device, uint32_t task,
      const seer_schedule *contenders, uint32_t n, const seer_schedule *baseline, uint32_t n_pairs,
      seer_measure_ab *out_ab, seer_measure_pair *out_pairs);
  // (optional) The device that is a task's SEER_MEASURE_HOME from now on, unless it is lost. NULL:
  // the first one that is left, of all tasks.
  uint32_t (*home)(seer_measurer *measurer, uint32_t task);
  // (optional) What will be asked next, in any order, n_times in all, or may be: it is begun, and
  // nobody waits for it. What was foreseen of the same question before and was not asked yet is
  // part of that. What is certain is done first. NULL: nothing is gained by knowing.
  seer_status (*foresee)(seer_measurer *measurer, const seer_measure_question *question,
      uint32_t n_times, bool is_certain);
  // (with foresee) Waits until, of one of these tasks at least, the answers to all are known that
  // were foreseen as certain and not asked yet. Which these are, by place.
  seer_status (*settle)(
      seer_measurer *measurer, const uint32_t *tasks, uint32_t n, bool *out_is_settled);
  // (with foresee) What was foreseen of a task and not asked will not be.
  seer_status (*forgo)(seer_measurer *measurer, uint32_t task);
  // (optional) How fast devices are against each other as far as its user has found out, for people
  // to see: of each of the first `n` of them.
  void (*tell_bias)(seer_measurer *measurer, const seer_measure_bias *bias, uint32_t n);
  // (optional) The only schedules of a task that it can say anything of, each once: a search is
  // restricted to them. NULL: any schedule. The measurer's, until it is closed.
  seer_status (*pool)(
      seer_measurer *measurer, uint32_t task, const seer_schedule **out_schedules, uint32_t *out_n);
} seer_measure_desc;

extern const seer_measure_desc *const seer_measure_table[];
extern const size_t seer_measure_table_count;
// Which measurer, and how slow a device it is to stand for.
typedef struct {
  const seer_measure_desc *desc;
  const char *argument;  // for its open
  double delay_s;  // that a measurement takes at least
} seer_measure_choice;
#define SEER_MEASURE_MAX_DELAY_S 60.0

// text: "NAME" or "NAME:ARGUMENT", and perhaps ":delay=TIME" behind it ("local:delay=500ms"). The
// argument is in `arena`. Errors: INVALID lists the names, or says that an argument is missing or
// too much, or what a delay may be.
SEER_MUST_USE seer_status seer_measure_find(
    const char *text, seer_arena *arena, seer_measure_choice *out_choice);
// The one that options say: a fleet's (--fleet), or that of --measure. In a fleet --measure is what
// its workers measure with.
SEER_MUST_USE seer_status seer_measure_choose(
    const seer_context *context, seer_arena *arena, seer_measure_choice *out_choice);
// Of n results that have taken took_s: those that were run take delay_s at least, which their run_s
// says from now on. Returns the seconds that are to pass until all of them have. Building goes on
// beside running, so time that it took is none that is added to.
double seer_measure_delay(double delay_s, double took_s, seer_measure_result *results, uint32_t n);

// Whether option DEVICES names runners on other machines: what is timed says nothing of this one.
bool seer_measure_is_elsewhere(const seer_context *context);
// Whether what this measurer times with these options is this machine's.
bool seer_measure_is_here(const seer_context *context, const seer_measure_desc *measure);
// The target is a GPU. Errors: NOT_FOUND no driver of it is here, or no device that option DEVICES
// names; UNSUPPORTED code for the target does not run on one of these; INVALID they are OpenCL's of
// several models or drivers; DEVICE.
SEER_MUST_USE seer_status seer_measure_check_devices(const seer_context *context);
// Errors: seer_target_check_here, where the target's code would be timed on this machine.
SEER_MUST_USE seer_status seer_measure_check_target(const seer_context *context);

// Entry of a worker process (`familyseer worker`): speaks over the socket named in argv.
SEER_MUST_USE seer_status seer_worker_main(seer_context *context, int argc, char **argv);

#endif
