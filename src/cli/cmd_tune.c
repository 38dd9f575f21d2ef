// cmd_tune.c - familyseer tune: MODEL -> tuned schedules in the records, and a library with them.
// Resumes by itself; Ctrl-C (and SIGTERM) ends the search and compiles what is known, and so does a
// reader of the events that goes away, or records that cannot be written any more (status 1). A
// second one ends the program, as do all that come when nothing is searched. What a tuning is says
// tune/tune.h: here are signals, what is shown of it, and the report.
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/rival.h"
#include "cli/terminal.h"
#include "measure/remote/remote.h"
#include "report/report.h"
#include "tune/tune.h"

#define RACE_S 3  // beside ONNX Runtime

// A signal handler has no other way to say it, and to reach the campaign.
static volatile sig_atomic_t is_interrupted;
static seer_campaign *running;
// What it says, made before: the end may be seconds away.
static char answer[512];

// What signals did before. They are caught while the machine is waited for and searched on, not
// while what is known is compiled.
static struct {
  bool is_caught;
  struct sigaction interrupt, terminate;
} before;

static void on_interrupt(int signal_number) {
  int kept_errno = errno;
  is_interrupted = 1;
  if (running) seer_campaign_stop(running);
  // What of it does not go out is not missed: somebody may have closed stderr.
  if (write(STDERR_FILENO, answer, strlen(answer)) < 0) errno = 0;
  // The next one ends the program, if nobody wanted signals to be ignored.
  sigaction(signal_number, signal_number == SIGINT ? &before.interrupt : &before.terminate, NULL);
  errno = kept_errno;
}

// On a terminal in place of the ^C that it shows.
static void make_answer(const char *what_follows, seer_arena *arena) {
  bool is_terminal = seer_terminal_is_there();
  const char *text = seer_arena_printf(
      arena, "stopping: what runs is finished, then %s; Ctrl-C again ends at once", what_follows);
  seer_text out;
  seer_text_init(&out, arena);
  if (is_terminal) seer_text_put(&out, "\r\033[K");
  seer_terminal_put_wrapped(&out, text, is_terminal ? seer_terminal_ask().columns - 1 : 200);
  (void)snprintf(answer, sizeof answer, "%s", out.data);
}

static void catch_signals(void) {
  const struct sigaction action = {.sa_handler = on_interrupt};
  sigaction(SIGINT, NULL, &before.interrupt);
  sigaction(SIGTERM, NULL, &before.terminate);
  before.is_caught = true;
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

static void release_signals(void) {
  if (!before.is_caught) return;
  sigaction(SIGINT, &before.interrupt, NULL);
  sigaction(SIGTERM, &before.terminate, NULL);
  before.is_caught = false;
}

// What is shown while it tunes, and after.
typedef struct {
  seer_context *context;
  seer_precise *precise;
  bool is_json;
  seer_progress progress;
  seer_report *report;
} display;

static bool is_over(void *user) {
  (void)user;
  return is_interrupted;
}

// What comes before there is a campaign; behind its end nothing is waited for any more.
static void show_before(void *user, seer_event_kind kind, const char *text) {
  const display *d = user;
  if (kind == SEER_EVENT_DONE) release_signals();
  seer_progress_before(kind, text, d->is_json);
}

static void begin(void *user, seer_campaign *campaign) {
  display *d = user;
  seer_progress_init(
      &d->progress, d->context, campaign, d->precise->taken->network, &is_interrupted);
  if (d->is_json) seer_campaign_listen(campaign, seer_progress_on_event_json, &d->progress);
  seer_campaign_listen(campaign, seer_progress_on_event, &d->progress);
  seer_campaign_listen(campaign, seer_report_on_event, d->report);
  running = campaign;
  if (is_interrupted) seer_campaign_stop(campaign);
}

static void end(void *user) {
  (void)user;
  release_signals();
  running = NULL;
}

// What only the end of it knows.
static void show_verdict(display *d, const seer_tuning *tuning, bool is_fine) {
  seer_progress_done_json(&d->progress, &tuning->verdict);
  json_t *of_precision = is_fine ? seer_precise_json(d->precise) : NULL;
  if (of_precision) seer_progress_put_json(&d->progress, of_precision);
  if (is_fine) seer_progress_verdict_json(&d->progress, &tuning->verdict);
}

// The library beside ONNX Runtime, where that was asked for; what keeps it from being run does not
// undo the tuning.
static void race(display *d, const char *out_dir, const char *model) {
  seer_context *context = d->context;
  if (!seer_context_is_set(context, SEER_OPT_AGAINST)) return;
  cpu_set_t processors;
  bool is_known = sched_getaffinity(0, sizeof processors, &processors) == 0;
  seer_arena *arena = seer_arena_create("race");
  seer_use use;
  seer_rival rival;
  seer_status status = seer_use_open(context, out_dir, "", NULL, true, arena, &use);
  if (!status) status = seer_use_choose(context, &use);
  if (!status) status = seer_use_fill(context, &use);
  if (!status)
    status = seer_rival_race(context, &use, model, is_known ? &processors : NULL, RACE_S, &rival);
  if (status) {
    fprintf(stderr, "not held against ONNX Runtime: %s\n", seer_status_message(status));
  } else {
    fprintf(stderr, "%s\n", seer_rival_text(&rival, use.path, arena));
    if (d->is_json) {
      json_t *line = json_pack("{s:s}", "event", "rival");
      seer_rival_put(&rival, line);
      seer_progress_put_json(&d->progress, line);
    }
  }
  seer_status_free(status);
  seer_use_close(&use);
  seer_arena_destroy(arena);
}

static seer_status tune(seer_context *context, seer_precise *precise, seer_records *records,
    const char *model, seer_arena *arena) {
  const char *out_dir = seer_context_str(context, SEER_OPT_OUTPUT);
  display d = {.context = context,
      .precise = precise,
      .is_json = seer_context_bool(context, SEER_OPT_JSON),
      .report = seer_report_create(model, arena)};
  seer_tuning_request request = {.context = context,
      .model = model,
      .precise = precise,
      .records = records,
      .folder = out_dir[0] ? out_dir : NULL,
      .watch = {&d, is_over, show_before, begin, end}};
  seer_tuning tuning;
  make_answer(out_dir[0] ? "the library is written from what was found"
          : records      ? "what was found stays in the records"
                         : "the tuning ends",
      arena);
  catch_signals();
  seer_status status = seer_tune_network(&request, &tuning);
  release_signals();
  if (tuning.was_run)
    seer_progress_summary(&d.progress, tuning.is_written ? tuning.choices : NULL, &tuning.verdict);
  if (tuning.is_written) fprintf(stderr, "wrote %s/model.so\n", out_dir);
  if (tuning.was_run && !out_dir[0])
    fprintf(stderr, "%s; no library is written without -o\n",
        records ? "what was found is in the records" : "what was found is kept nowhere");
  if (tuning.campaign && d.is_json) show_verdict(&d, &tuning, !status);
  if (!status) status = seer_report_write(d.report, context, &tuning, precise, out_dir);
  if (!status && tuning.is_written) race(&d, out_dir, model);
  status = seer_status_join(status, tuning.fault);
  tuning.fault = SEER_OK;
  seer_tuning_clear(&tuning);
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
  return seer_usage_error(
      "-i is for one set of input shapes, --input-shapes gives %u, which are all timed",
      network->n_set);
}

static seer_status run_tune(seer_context *context, int argc, char **argv) {
  (void)argc;
  SEER_TRY(seer_remote_find_target(context));
  SEER_TRY(seer_measure_check_target(context));
  seer_arena *arena = seer_arena_create("model");
  seer_precise precise;
  seer_records *records = NULL;
  seer_status status = seer_precise_open(context, argv[0], arena, &precise);
  if (!status) seer_cli_print_notices(precise.version[0].network);
  if (!status) status = check_inputs(context, precise.version[0].network);
  const char *out_dir = seer_context_str(context, SEER_OPT_OUTPUT);
  if (!status && out_dir[0]) status = check_folder(out_dir, arena);
  if (!status && !out_dir[0] && seer_context_is_set(context, SEER_OPT_AGAINST))
    status = seer_usage_error("--against needs a library to hold against it: -o DIR is missing");
  const char *report = seer_context_str(context, SEER_OPT_REPORT);
  if (!status && report[0]) status = seer_os_check_writable(report);
  if (!status) status = seer_records_open_by_options(context, true, &records);
  if (!status) status = tune(context, &precise, records, argv[0], arena);
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
        "T] [--trials N] [--precision bf16|f16|tf32|auto [--tolerance X] [-i NAME=x.npy]...]",
    .doc = "finds fast code for a network by measuring on this machine, then compiles it",
    .group = "from a network to a library",
    .example =
        "  familyseer tune my.onnx -o out --time-budget 2m\n"
        "  familyseer tune my.onnx -o out --input-shapes x:1x3x224x224 --precision auto\n",
    .flags =
        "time-budget preset output input-shapes threads target precision tolerance bind records "
        "report",
    .min_args = 1,
    .max_args = 1,
    .outlives_readers = true,
    .takes_gpus = true,
    .run = run_tune,
};
