// familyseer.c - include/seer/familyseer.h: the steps of the commands tune and compile, one by one.

#include <seer/familyseer.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/recover.h"
#include "choose/choose.h"
#include "choose/gather.h"
#include "code/artefact.h"
#include "measure/device.h"
#include "models/models.h"
#include "record/speeds.h"
#include "tune/session.h"

#define MAX_MESSAGE 4096

struct seer_tuner {
  seer_context *context;
  seer_arena *arena;
  const char *model;
  seer_network *network;
  seer_records *records;
  seer_session *session;
  seer_tuner_listener listener;
  void *user;
  seer_device device;
  volatile sig_atomic_t is_stopped;  // perhaps before there was a session
  bool is_tuned;
  char message[MAX_MESSAGE];
};

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
  (void)snprintf(t->message, sizeof t->message, "%s", seer_status_message(status));
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
  return seer_context_create(&t->context);
}

int seer_tuner_create(seer_tuner **out_tuner) {
  seer_tuner *t = *out_tuner = calloc(1, sizeof(*t));
  if (!t) return 1;
  t->device = SEER_DEVICE_NONE;
  return enter(t, create_arena, NULL, NULL) || enter(t, create, NULL, NULL);
}

void seer_tuner_destroy(seer_tuner *t) {
  if (!t) return;
  seer_session_destroy(t->session);
  seer_device_release(&t->device);
  seer_records_close(t->records);
  if (t->network) seer_graph_close(t->network->graph);
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
  SEER_TRY(need(t, !t->network, "options are set before a network is loaded"));
  return seer_context_set(t->context, option, value);
}

int seer_tuner_set(seer_tuner *t, const char *option, const char *value) {
  return enter(t, set, option, value);
}

// Nothing here runs a network at f32 beside another one.
static seer_status check_precision(const seer_context *context) {
  seer_dtype dtype;
  SEER_TRY(seer_front_precision(context, &dtype));
  if (dtype == SEER_DTYPE_F32 || !seer_context_is_set(context, SEER_OPT_TOLERANCE)) return SEER_OK;
  return SEER_FAIL(UNSUPPORTED,
      "option 'precision' is '%s' beside 'tolerance': only the commands compile and tune hold "
      "outputs against f32",
      seer_dtype_name(dtype));
}

static seer_status load(seer_tuner *t, const char *model, const char *b) {
  (void)b;
  SEER_TRY(need(t, !t->network, "a network is loaded already; one tuner is for one network"));
  SEER_TRY(check_precision(t->context));
  t->model = seer_arena_strdup(t->arena, model);
  SEER_TRY(seer_context_find_target(t->context));
  return seer_front_load(t->context, model, seer_model_build, t->arena, &t->network);
}

int seer_tuner_load(seer_tuner *t, const char *model) { return enter(t, load, model, NULL); }

void seer_tuner_listen(seer_tuner *t, seer_tuner_listener listener, void *user) {
  t->listener = listener;
  t->user = user;
}

static void on_event(void *user, const seer_event *event) {
  seer_tuner *t = user;
  seer_tuner_event out = {.kind = seer_event_kind_name(event->kind),
      .text = event->text ? event->text : "",
      .elapsed_s = event->elapsed_s,
      .estimated_ms = event->estimated_s * 1e3,
      .trials = event->trials};
  if (t->listener) t->listener(t->user, &out);
}

static bool is_over(void *user) { return ((const seer_tuner *)user)->is_stopped; }

static void tell_wait(void *user, const char *text) {
  const seer_event event = {.kind = SEER_EVENT_WAIT, .text = text};
  on_event(user, &event);
}

// Takes the machine, then the session; without one of them nothing is measured.
static seer_status begin(seer_tuner *t, bool *out_is_stopped) {
  seer_measure_choice measure;
  const seer_waiter waiter = {is_over, tell_wait, t};
  SEER_TRY(seer_target_check_here(seer_context_target(t->context)));
  SEER_TRY(seer_measure_find(seer_context_str(t->context, SEER_OPT_MEASURE), t->arena, &measure));
  SEER_TRY(seer_records_open_by_options(t->context, true, &t->records));
  SEER_TRY(seer_device_take(t->context, measure.desc, &waiter, &t->device, out_is_stopped));
  if (*out_is_stopped) return SEER_OK;
  SEER_TRY(seer_speeds_measure(t->context, t->records));
  return seer_session_create(t->context, t->network, t->records, t->model, &t->session);
}

static seer_status run(seer_tuner *t) {
  if (t->is_stopped) seer_session_stop(t->session);
  seer_session_listen(t->session, on_event, t);
  SEER_TRY(seer_session_run(t->session));
  t->is_tuned = true;
  return seer_session_take_fault(t->session);
}

static seer_status tune(seer_tuner *t, const char *a, const char *b) {
  (void)a, (void)b;
  SEER_TRY(need(t, t->network, "no network is loaded"));
  SEER_TRY(need(t, !t->session, "tuned already; one tuner tunes once"));
  bool is_stopped = false;
  seer_status status = begin(t, &is_stopped);
  if (!t->session) {  // then it may be tried again
    seer_records_close(t->records);
    t->records = NULL;
  }
  if (!status && is_stopped) {
    const seer_event done = {.kind = SEER_EVENT_DONE, .text = "stopped by the user"};
    on_event(t, &done);
  } else if (!status) {
    status = run(t);
  }
  seer_device_release(&t->device);
  return status;
}

int seer_tuner_tune(seer_tuner *t) { return enter(t, tune, NULL, NULL); }

void seer_tuner_stop(seer_tuner *t) {
  t->is_stopped = 1;
  if (t->session) seer_session_stop(t->session);
}

static seer_status compile(seer_tuner *t, const char *folder, const char *b) {
  (void)b;
  SEER_TRY(need(t, t->network, "no network is loaded"));
  seer_choice *choices = NULL;
  seer_choose_counts counts;
  if (t->is_tuned) {
    choices = SEER_NEW_ARRAY(t->arena, seer_choice, t->network->n_task + 1);
    seer_session_choices(t->session, choices);
  } else {
    SEER_TRY(seer_choose_by_options(t->context, t->network, t->arena, &choices, &counts));
  }
  return seer_select_build(t->context, t->network, choices, SEER_BUILD_LIBRARY, folder);
}

int seer_tuner_compile(seer_tuner *t, const char *folder) {
  return enter(t, compile, folder, NULL);
}
