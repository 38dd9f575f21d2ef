// cmd_tune.c - familyseer tune: MODEL -> tuned schedules in the records, and a library with them.
// Resumes by itself; Ctrl-C (and SIGTERM) ends the search and compiles what is known, and so does a
// reader of the events that goes away, or records that cannot be written any more (status 1).
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "choose/gather.h"
#include "cli/gap.h"
#include "cli/precision.h"
#include "cli/progress.h"
#include "cli/whole.h"
#include "measure/device.h"
#include "record/speeds.h"
#include "tune/report.h"

// A signal handler has no other way to say it, and to reach the session.
static volatile sig_atomic_t is_interrupted;
static seer_session *running;

static void on_interrupt(int signal_number) {
  (void)signal_number;
  is_interrupted = 1;
  if (running) seer_session_stop(running);
}

// What signals did before. They are caught while the machine is waited for and searched on, not
// while what is known is compiled.
static struct {
  bool is_caught;
  struct sigaction interrupt, terminate;
} before;

static void catch_signals(void) {
  const struct sigaction action = {.sa_handler = on_interrupt};
  sigaction(SIGINT, &action, &before.interrupt);
  sigaction(SIGTERM, &action, &before.terminate);
  before.is_caught = true;
}

static void release_signals(void) {
  if (!before.is_caught) return;
  sigaction(SIGINT, &before.interrupt, NULL);
  sigaction(SIGTERM, &before.terminate, NULL);
  before.is_caught = false;
}

// What is left to do after the search.
typedef struct {
  seer_context *context;
  const seer_network *network;
  seer_records *records;  // NULL: none, or they cannot be trusted to say what was found
  seer_session *session;
  const char *folder;  // where the library is made and judged
  seer_precise *precise;
  seer_arena *arena;
} closing;

// Times of a formula or a table are not to be held against those of this machine.
static seer_status find_local(const seer_context *context, seer_arena *arena, bool *out_is_local) {
  seer_measure_choice measure;
  SEER_TRY(seer_measure_find(seer_context_str(context, SEER_OPT_MEASURE), arena, &measure));
  *out_is_local = strcmp(measure.desc->name, "local") == 0;
  return SEER_OK;
}

// What `compile` would take from the records; without records what the session says.
static seer_status choose(const closing *c, seer_choice **out) {
  seer_choose_counts counts;
  if (c->records) return seer_choose(c->context, c->network, c->records, 2, c->arena, out, &counts);
  *out = SEER_NEW_ARRAY(c->arena, seer_choice, c->network->n_task + 1);
  seer_session_choices(c->session, *out);
  return SEER_OK;
}

// For the gap: times of untuned schedules too, which are no part of what is compiled.
static const seer_choice *with_times(const closing *c, const seer_choice *choices) {
  uint32_t n = c->network->n_task;
  seer_choice *own = SEER_NEW_ARRAY(c->arena, seer_choice, n + 1);
  seer_session_choices(c->session, own);
  for (uint32_t t = 0; t < n; t++) {
    bool is_known =
        choices[t].seconds <= 0 && seer_schedule_equal(&own[t].schedule, &choices[t].schedule);
    double seconds = is_known ? own[t].seconds : choices[t].seconds;
    own[t] = choices[t];
    own[t].seconds = seconds;
  }
  return own;
}

// The library, held against the untuned one. *out_fault: what the records have refused, after which
// it is as decided all the same.
static seer_status compile_tuned(
    const closing *c, seer_verdict_report *out, seer_status *out_fault) {
  seer_choice *choices = NULL;
  SEER_TRY(choose(c, &choices));
  SEER_TRY(seer_select_build(c->context, c->network, choices, SEER_BUILD_LIBRARY, c->folder));
  bool is_local;
  SEER_TRY(find_local(c->context, c->arena, &is_local));
  if (!is_local) return SEER_OK;
  seer_whole whole = {.context = c->context,
      .network = c->network,
      .records = c->records,
      .session = seer_session_record_id(c->session),
      .folder = c->folder,
      .seconds = seer_cli_whole_seconds(seer_session_budget(c->session)->time_s),
      .choices = choices};
  SEER_TRY(seer_cli_whole(&whole, c->arena, out, out_fault));
  const seer_choice *timed = with_times(c, choices);
  uint32_t n = c->network->n_set, n_timed = 0;
  double latency_s = 0, tasks_s = 0;
  for (uint32_t s = 0; s < n; s++) {
    seer_gap gap;
    SEER_TRY(seer_cli_gap(c->context, c->network, s, timed, c->folder, &gap));
    n_timed += gap.latency_s > 0;
    latency_s += gap.latency_s / n;
    tasks_s += gap.tasks_s / n;
  }
  if (n_timed < n) return SEER_OK;
  out->latency_s = latency_s;
  fprintf(stderr,
      "latency%s: %.3f ms, the whole library by itself, as `bench` tells it; the sum of its tasks, "
      "each measured alone, is %.3f ms\n",
      n > 1 ? ", mean of the sets of shapes" : "", latency_s * 1e3, tasks_s * 1e3);
  return SEER_OK;
}

// The library, held against f32.
static seer_status finish_precision(const closing *c, seer_verdict_report *out) {
  bool is_local;
  SEER_TRY(find_local(c->context, c->arena, &is_local));
  double seconds = seer_cli_whole_seconds(seer_session_budget(c->session)->time_s);
  SEER_TRY(seer_precise_finish(c->precise, c->folder, c->records, is_local ? seconds : 0));
  out->precision = c->precise->report;
  return SEER_OK;
}

// An older library in `out_dir` is replaced when all has been judged, and by what has passed.
static seer_status close_into(const closing *c, const char *out_dir, seer_verdict_report *out) {
  closing own = *c;
  seer_os_work_dir work;
  seer_status fault = SEER_OK;
  SEER_TRY(seer_os_work_dir_open(out_dir, ".build", c->arena, &work));
  own.folder = seer_os_path_join(c->arena, work.path, "tuned");
  seer_status status = compile_tuned(&own, out, &fault);
  if (!status) status = finish_precision(&own, out);
  if (!status) status = seer_build_move(own.folder, out_dir);
  if (!status) fprintf(stderr, "wrote %s/model.so\n", out_dir);
  status = seer_status_join(status, fault);
  return seer_status_join(status, seer_os_work_dir_close(&work));
}

static seer_status tune(seer_context *context, seer_precise *precise, seer_records *records,
    const char *model, seer_arena *arena) {
  const seer_network *network = precise->taken->network;
  seer_session *session = NULL;
  SEER_TRY(seer_session_create(context, network, records, model, &session));
  seer_progress progress;
  seer_progress_init(&progress, session, network);
  bool is_json = seer_context_bool(context, SEER_OPT_JSON);
  if (is_json) seer_session_listen(session, seer_progress_on_event_json, &progress);
  seer_session_listen(session, seer_progress_on_event, &progress);
  seer_report *report = seer_report_create(model, arena);
  seer_session_listen(session, seer_report_on_event, report);
  running = session;
  if (is_interrupted) seer_session_stop(session);
  seer_status status = seer_session_run(session);
  release_signals();
  running = NULL;
  const char *out_dir = seer_context_str(context, SEER_OPT_OUTPUT);
  if (!status) seer_progress_summary(&progress);
  // All else is done then: what went wrong on the way still has to be told.
  seer_status fault = seer_session_take_fault(session);
  seer_verdict_report verdict = {.text = ""};
  seer_records *trusted = seer_session_has_records(session) ? records : NULL;
  closing last = {context, network, trusted, session, NULL, precise, arena};
  if (!status && out_dir[0]) status = close_into(&last, out_dir, &verdict);
  if (!status && !out_dir[0])
    fprintf(stderr, "%s; no library is written without -o\n",
        records ? "what was found is in the records" : "what was found is kept nowhere");
  if (is_json) seer_progress_done_json(&progress, &verdict);
  json_t *of_precision = is_json && !status ? seer_precise_json(precise) : NULL;
  if (of_precision) seer_progress_put_json(&progress, of_precision);
  if (!status && is_json) seer_progress_verdict_json(&progress, &verdict);
  seer_report_verdict(report, &verdict);
  const char *report_path = seer_context_str(context, SEER_OPT_REPORT);
  if (!report_path[0] && out_dir[0]) report_path = seer_os_path_join(arena, out_dir, "report.html");
  if (!status && report_path[0])
    status = seer_report_write(report, context, session, network, report_path);
  status = seer_status_join(status, fault);
  seer_session_destroy(session);
  return status;
}

// ---- the machine
static bool is_over(void *user) {
  (void)user;
  return is_interrupted;
}

static void tell_wait(void *user, const char *text) {
  seer_progress_before(SEER_EVENT_WAIT, text, seer_context_bool(user, SEER_OPT_JSON));
}

// Stopped while it waited for the machine: what is known is compiled, as by a search that was
// ended.
static seer_status end_early(seer_context *context, seer_precise *precise) {
  const char *out_dir = seer_context_str(context, SEER_OPT_OUTPUT);
  seer_progress_before(SEER_EVENT_DONE,
      "stopped by the user before the machine was free; nothing was measured",
      seer_context_bool(context, SEER_OPT_JSON));
  if (!out_dir[0]) return SEER_OK;
  SEER_TRY(seer_precise_decide(precise, SEER_PRECISE_COMPILE));
  SEER_TRY(seer_precise_write(precise, SEER_BUILD_LIBRARY, out_dir));
  fprintf(stderr, "wrote %s/model.so\n", out_dir);
  return SEER_OK;
}

static seer_status decide_and_tune(seer_context *context, seer_precise *precise,
    seer_records *records, const char *model, seer_arena *arena) {
  bool is_local;
  SEER_TRY(find_local(context, arena, &is_local));
  SEER_TRY(seer_speeds_measure(context, records));
  SEER_TRY(seer_precise_decide(precise, is_local ? SEER_PRECISE_TUNE : SEER_PRECISE_TUNE_UNTIMED));
  return tune(context, precise, records, model, arena);
}

static seer_status tune_on_device(seer_context *context, seer_precise *precise,
    seer_records *records, const char *model, seer_arena *arena) {
  seer_measure_choice measure;
  SEER_TRY(seer_measure_find(seer_context_str(context, SEER_OPT_MEASURE), arena, &measure));
  const seer_waiter waiter = {is_over, tell_wait, context};
  seer_device device;
  bool is_stopped;
  catch_signals();
  seer_status status = seer_device_take(context, measure.desc, &waiter, &device, &is_stopped);
  if (!status && is_stopped) {
    release_signals();
    status = end_early(context, precise);
  } else if (!status) {
    status = decide_and_tune(context, precise, records, model, arena);
  }
  release_signals();
  seer_device_release(&device);
  return status;
}

// What cannot be written in the end is said before the tuning.
static seer_status check_folder(const char *folder, seer_arena *arena) {
  seer_os_work_dir trial;
  SEER_TRY(seer_os_make_dirs(folder));
  SEER_TRY(seer_os_work_dir_open(folder, ".build", arena, &trial));
  return seer_os_work_dir_close(&trial);
}

// All sets of input shapes are timed in turns, on inputs of their own.
static seer_status check_inputs(const seer_context *context, const seer_network *network) {
  if (network->n_set == 1 || seer_context_n_values(context, SEER_OPT_INPUT) == 0) return SEER_OK;
  return seer_cli_usage_error(
      "-i is for one set of input shapes, --input-shapes gives %u, which are all timed",
      network->n_set);
}

static seer_status run_tune(seer_context *context, int argc, char **argv) {
  (void)argc;
  SEER_TRY(seer_context_find_target(context));
  SEER_TRY(seer_target_check_here(seer_context_target(context)));
  seer_arena *arena = seer_arena_create("model");
  seer_precise precise;
  seer_records *records = NULL;
  seer_status status = seer_precise_open(context, argv[0], arena, &precise);
  if (!status) seer_cli_print_notices(precise.version[0].network);
  if (!status) status = check_inputs(context, precise.version[0].network);
  const char *out_dir = seer_context_str(context, SEER_OPT_OUTPUT);
  if (!status && out_dir[0]) status = check_folder(out_dir, arena);
  const char *report = seer_context_str(context, SEER_OPT_REPORT);
  if (!status && report[0]) status = seer_os_check_writable(report);
  if (!status) status = seer_records_open_by_options(context, true, &records);
  if (!status) status = tune_on_device(context, &precise, records, argv[0], arena);
  seer_records_close(records);
  seer_precise_close(&precise);
  seer_arena_destroy(arena);
  return status;
}

const seer_command seer_command_tune = {
    .name = "tune",
    .args =
        "MODEL [-o DIR] [--input-shapes x:1x8]... [--bind NAME=x.npy]... [--preset "
        "quick|normal|thorough] [--time-budget "
        "T] [--trials N] [--precision bf16|f16|auto [--tolerance X] [-i NAME=x.npy]...]",
    .doc = "finds fast code for a network by measuring on this machine, then compiles it",
    .min_args = 1,
    .max_args = 1,
    .outlives_readers = true,
    .run = run_tune,
};
