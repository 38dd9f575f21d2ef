// familyseer.c - include/seer/familyseer.h: a tuning (tune.h), and the library of what it has
// found.

#include <seer/familyseer.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/recover.h"
#include "choose/tables.h"
#include "code/gpu/here.h"
#include "measure/remote/remote.h"
#include "setup/usage.h"
#include "tune/compile.h"
#include "tune/tune.h"

#define MAX_MESSAGE 4096

struct seer_tuner {
  seer_context *context;
  seer_arena *arena;
  const char *model;
  bool is_loaded;
  seer_precise precise;  // the network
  seer_records *records;
  seer_tuning tuning;
  seer_campaign *running;
  seer_tuner_listener listener;
  void *user;
  volatile sig_atomic_t is_stopped;  // perhaps before there was a campaign
  char message[MAX_MESSAGE];
};

// ---- what a listener hears
static void tell(const seer_tuner *t, const seer_tuner_event *event) {
  if (t->listener) t->listener(t->user, event);
}

static void on_event(void *user, const seer_event *event) {
  const seer_tuner_event out = {.kind = seer_event_kind_name(event->kind),
      .text = event->text ? event->text : "",
      .elapsed_s = event->elapsed_s,
      .estimated_ms = event->estimated_s * 1e3,
      .trials = event->trials};
  tell(user, &out);
}

// With the figures of the moment, where there are any.
static void tell_text(const seer_tuner *t, seer_event_kind kind, const char *text) {
  seer_campaign_totals totals = {0};
  if (t->tuning.campaign) seer_campaign_get_totals(t->tuning.campaign, &totals);
  const seer_tuner_event event = {.kind = seer_event_kind_name(kind),
      .text = text,
      .elapsed_s = totals.elapsed_s,
      .estimated_ms = totals.estimated_s * 1e3,
      .trials = totals.trials};
  tell(t, &event);
}

static void hear(void *user, const char *text) { tell_text(user, SEER_EVENT_NOTE, text); }

static void tell_before(void *user, seer_event_kind kind, const char *text) {
  tell_text(user, kind, text);
}

static void tell_verdict(const seer_tuner *t) {
  const seer_verdict_report *verdict = &t->tuning.verdict;
  seer_campaign_totals totals;
  if (!verdict->text[0] && verdict->latency_s <= 0) return;
  seer_campaign_get_totals(t->tuning.campaign, &totals);
  double known_s = verdict->latency_s > 0 ? verdict->latency_s : totals.estimated_s;
  const seer_tuner_event event = {.kind = "verdict",
      .text = verdict->text,
      .elapsed_s = totals.elapsed_s,
      .estimated_ms = known_s * 1e3,
      .trials = totals.trials,
      .latency_ms = verdict->latency_s * 1e3,
      .untuned_ms = verdict->untuned_s * 1e3,
      .speedup = verdict->n_pairs > 0 ? verdict->speedup : 1};
  tell(t, &event);
}

// ---- calls
// One call of the library, with what it was given.
typedef struct {
  seer_tuner *t;
  const char *a, *b;
  seer_status (*run)(seer_tuner *t, const char *a, const char *b);
} entry;

static seer_status run_entry(void *user) {
  entry *e = user;
  return e->run(e->t, e->a, e->b);
}

static int end(seer_tuner *t, seer_status status);

// All public functions come in here: memory that runs out is a message, and the tuner can be asked
// and destroyed after it.
static int enter(seer_tuner *t, seer_status (*run)(seer_tuner *, const char *, const char *),
    const char *a, const char *b) {
  entry e = {t, a, b, run};
  return end(t, seer_recover(run_entry, &e));
}

// Keeps the message; what the public functions return.
static int end(seer_tuner *t, seer_status status) {
  t->message[0] = '\0';
  if (!status) return 0;
  const char *message = seer_usage_text(seer_status_message(status), NULL);
  (void)snprintf(t->message, sizeof t->message, "%s", message);
  seer_status_free(status);
  return 1;
}

static seer_status create_arena(seer_tuner *t, const char *a, const char *b) {
  (void)a, (void)b;
  t->arena = seer_arena_create("tuner");
  return SEER_OK;
}

static seer_status create(seer_tuner *t, const char *a, const char *b) {
  (void)a, (void)b;
  seer_status status = seer_context_create(&t->context);
  if (t->context) seer_context_hear(t->context, hear, t);
  return status;
}

int seer_tuner_create(seer_tuner **out_tuner) {
  seer_tuner *t = *out_tuner = calloc(1, sizeof(*t));
  if (!t) return 1;
  return enter(t, create_arena, NULL, NULL) || enter(t, create, NULL, NULL);
}

void seer_tuner_destroy(seer_tuner *t) {
  if (!t) return;
  seer_tuning_clear(&t->tuning);
  seer_records_close(t->records);
  seer_precise_close(&t->precise);
  seer_context_destroy(t->context);
  seer_arena_destroy(t->arena);
  free(t);
}

const char *seer_tuner_message(const seer_tuner *t) {
  return t ? t->message : "no memory for a tuner";
}

static seer_status need(const seer_tuner *t, bool is_ready, const char *what) {
  if (!t->context) return SEER_FAIL(INVALID, "the tuner was not created");
  return is_ready ? SEER_OK : SEER_FAIL(INVALID, "%s", what);
}

static seer_status set(seer_tuner *t, const char *option, const char *value) {
  SEER_TRY(need(t, !t->is_loaded, "options are set before a network is loaded"));
  return seer_context_set(t->context, option, value);
}

int seer_tuner_set(seer_tuner *t, const char *option, const char *value) {
  return enter(t, set, option, value);
}

static seer_status load(seer_tuner *t, const char *model, const char *b) {
  (void)b;
  SEER_TRY(need(t, !t->is_loaded, "a network is loaded already; one tuner is for one network"));
  t->model = seer_arena_strdup(t->arena, model);
  SEER_TRY(seer_remote_find_target(t->context));
  seer_precise_close(&t->precise);  // of a model that could not be loaded
  SEER_TRY(seer_precise_open(t->context, model, t->arena, &t->precise));
  t->is_loaded = true;
  return SEER_OK;
}

int seer_tuner_load(seer_tuner *t, const char *model) { return enter(t, load, model, NULL); }

void seer_tuner_listen(seer_tuner *t, seer_tuner_listener listener, void *user) {
  t->listener = listener;
  t->user = user;
}

// ---- tuning
static bool is_over(void *user) { return ((const seer_tuner *)user)->is_stopped; }

static void begin(void *user, seer_campaign *campaign) {
  seer_tuner *t = user;
  seer_campaign_listen(campaign, on_event, t);
  t->running = campaign;
  if (t->is_stopped) seer_campaign_stop(campaign);
}

static void end_search(void *user) { ((seer_tuner *)user)->running = NULL; }

// Judged in a folder of its own; what has passed is compiled from `choices`, which is the same.
static seer_status make_folder(seer_tuner *t, const char **out_folder) {
  const char *output = seer_context_str(t->context, SEER_OPT_OUTPUT);
  if (!output[0]) return seer_os_temp_dir("familyseer", t->arena, out_folder);
  SEER_TRY(seer_os_make_dirs(output));
  return seer_os_temp_dir_in(output, "familyseer", t->arena, out_folder);
}

static seer_status tune_judged(seer_tuner *t) {
  seer_tuning_request request = {.context = t->context,
      .model = t->model,
      .precise = &t->precise,
      .records = t->records,
      .watch = {t, is_over, tell_before, begin, end_search}};
  const char *folder = NULL;
  SEER_TRY(make_folder(t, &folder));
  request.folder = folder;
  seer_status status = seer_tune_network(&request, &t->tuning);
  if (!status) tell_verdict(t);
  status = seer_status_join(status, t->tuning.fault);
  t->tuning.fault = SEER_OK;
  return seer_status_join(status, seer_os_remove_tree(folder));
}

static seer_status tune(seer_tuner *t, const char *a, const char *b) {
  (void)a, (void)b;
  SEER_TRY(need(t, t->is_loaded, "no network is loaded"));
  SEER_TRY(need(t, !t->tuning.campaign, "tuned already; one tuner tunes once"));
  SEER_TRY(seer_gpu_find_here(t->context, true));
  SEER_TRY(seer_measure_check_target(t->context));
  SEER_TRY(seer_records_open_by_options(t->context, true, &t->records));
  seer_status status = tune_judged(t);
  if (!t->tuning.campaign) {  // then it may be tried again
    seer_records_close(t->records);
    t->records = NULL;
  }
  return status;
}

int seer_tuner_tune(seer_tuner *t) { return enter(t, tune, NULL, NULL); }

void seer_tuner_stop(seer_tuner *t) {
  t->is_stopped = 1;
  if (t->running) seer_campaign_stop(t->running);
}

static seer_status compile(seer_tuner *t, const char *folder, const char *b) {
  (void)b;
  SEER_TRY(need(t, t->is_loaded, "no network is loaded"));
  if (t->tuning.was_run && t->tuning.choices)
    return seer_choice_build(
        t->context, t->precise.taken->network, t->tuning.choices, SEER_BUILD_LIBRARY, folder);
  const seer_compile_request r = {
      .context = t->context, .kind = SEER_BUILD_LIBRARY, .folder = folder};
  return seer_compile(&r, t->arena, &t->precise);
}

int seer_tuner_compile(seer_tuner *t, const char *folder) {
  return enter(t, compile, folder, NULL);
}
