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
#include "report/report.h"
#include "setup/usage.h"
#include "tune/compile.h"
#include "tune/describe.h"
#include "tune/tune.h"

#define MAX_MESSAGE 4096

struct seer_tuner {
  seer_context *context;
  seer_arena *arena;
  // What records call the network, and where it comes from.
  const char *model;
  seer_front_source source;
  const void *data;  // what load_bytes and give were called with
  size_t n_bytes;
  seer_front_tensor *tensor;  // that were given
  size_t n_tensor, cap_tensor;
  bool is_loaded;
  seer_precise precise;  // the network
  seer_description description;
  seer_missing_list missing;
  const seer_tuner_missing *missing_out;
  seer_records *records;
  seer_tuning tuning;
  seer_report *report;
  seer_campaign *running;
  seer_tuner_listener listener;
  void *user;
  volatile sig_atomic_t is_stopped;  // since the last call that could be
  seer_rt_code code;
  char message[MAX_MESSAGE];
};

// ---- what a listener hears
static void tell(const seer_tuner *t, const seer_tuner_event *event) {
  if (t->listener) t->listener(t->user, event);
}

// An event of no task, with the figures of the moment, where there are any.
static seer_tuner_event begin_event(const seer_tuner *t, const char *kind, const char *text) {
  seer_tuner_event out = {.kind = kind, .text = text, .task = -1, .task_name = ""};
  seer_campaign_totals totals;
  if (!t->tuning.campaign) return out;
  seer_campaign_get_totals(t->tuning.campaign, &totals);
  const seer_budget *budget = seer_campaign_budget(t->tuning.campaign);
  out.elapsed_s = totals.elapsed_s;
  out.estimated_ms = totals.estimated_s * 1e3;
  out.trials = totals.trials;
  out.budget_s = budget->time_s;
  out.budget_trials = budget->trials;
  return out;
}

static bool is_of_task(seer_event_kind kind) {
  switch (kind) {
    case SEER_EVENT_ROUND:
    case SEER_EVENT_MEASUREMENT:
    case SEER_EVENT_ROUND_END:
    case SEER_EVENT_BEST:
    case SEER_EVENT_ACCEPT:
      return true;
    case SEER_EVENT_START:
    case SEER_EVENT_NOTE:
    case SEER_EVENT_WAIT:
    case SEER_EVENT_DONE:
    case SEER_EVENT_KIND_COUNT:
      break;
  }
  return false;
}

static void on_event(void *user, const seer_event *event) {
  const seer_tuner *t = user;
  seer_tuner_event out =
      begin_event(t, seer_event_kind_name(event->kind), event->text ? event->text : "");
  out.elapsed_s = event->elapsed_s;
  out.estimated_ms = event->estimated_s * 1e3;
  out.trials = event->trials;
  if (is_of_task(event->kind) && event->task < t->precise.taken->network->n_task) {
    out.task = (int32_t)event->task;
    out.task_name = t->precise.taken->network->task[event->task].name;
  }
  if (event->kind == SEER_EVENT_BEST || event->kind == SEER_EVENT_ACCEPT) {
    out.before_ms = event->before_s * 1e3;
    out.after_ms = event->after_s * 1e3;
  }
  tell(t, &out);
}

static void tell_text(const seer_tuner *t, seer_event_kind kind, const char *text) {
  const seer_tuner_event event = begin_event(t, seer_event_kind_name(kind), text);
  tell(t, &event);
}

static void hear(void *user, const char *text) { tell_text(user, SEER_EVENT_NOTE, text); }

// A wait that was stopped has ended with it: what follows builds what is known.
static void tell_before(void *user, seer_event_kind kind, const char *text) {
  seer_tuner *t = user;
  if (kind == SEER_EVENT_DONE) t->is_stopped = 0;
  tell_text(t, kind, text);
}

static void tell_verdict(const seer_tuner *t) {
  const seer_verdict_report *verdict = &t->tuning.verdict;
  if (!verdict->text[0] && verdict->latency_s <= 0) return;
  seer_tuner_event event = begin_event(t, "verdict", verdict->text);
  if (verdict->latency_s > 0) event.estimated_ms = verdict->latency_s * 1e3;
  event.latency_ms = verdict->latency_s * 1e3;
  event.untuned_ms = verdict->untuned_s * 1e3;
  event.speedup = verdict->n_pairs > 0 ? verdict->speedup : 1;
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

// For those that take long: each stop ends one of them, or the next.
static int enter_stoppable(seer_tuner *t,
    seer_status (*run)(seer_tuner *, const char *, const char *), const char *a, const char *b) {
  int failed = enter(t, run, a, b);
  t->is_stopped = 0;
  return failed;
}

// Keeps message and code; what the public functions return.
static int end(seer_tuner *t, seer_status status) {
  t->message[0] = '\0';
  t->code = SEER_RT_OK;
  if (!status) return 0;
  t->code = seer_describe_code(seer_status_code(status));
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
  if (t->context) seer_context_stop_by(t->context, &t->is_stopped);
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

int seer_tuner_code(const seer_tuner *t) { return t ? (int)t->code : SEER_RT_RESOURCE; }

const char *seer_tuner_code_text(int code) { return seer_rt_code_text(code); }

const char *seer_version(void) { return SEER_VERSION; }

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

// ---- loading
static void take_missing(seer_tuner *t) {
  seer_tuner_missing *out = SEER_NEW_ARRAY(t->arena, seer_tuner_missing, t->missing.n + 1);
  for (size_t k = 0; k < t->missing.n; k++) {
    const seer_missing_op *of = &t->missing.item[k];
    out[k] = (seer_tuner_missing){of->op, of->n, of->reason};
  }
  t->missing_out = out;
}

static void tell_notices(const seer_tuner *t) {
  const seer_network *network = t->precise.version[0].network;
  for (uint32_t s = 0; s < network->n_set; s++) {
    const char *notice = seer_network_notice(network, s);
    if (*notice) tell_text(t, SEER_EVENT_NOTE, notice);
  }
}

// From what `source` says.
static seer_status load_source(seer_tuner *t) {
  t->missing = (seer_missing_list){0};
  t->source.missing = &t->missing;
  SEER_TRY(seer_remote_find_target(t->context));
  seer_precise_close(&t->precise);  // of a model that could not be loaded
  seer_status status = seer_precise_open_from(t->context, &t->source, t->arena, &t->precise);
  take_missing(t);
  SEER_TRY(status);
  const seer_network *network = t->precise.version[0].network;
  if (t->source.is_bytes && network->graph->name[0]) t->model = network->graph->name;
  seer_describe(network, t->arena, &t->description);
  t->is_loaded = true;
  tell_notices(t);
  return SEER_OK;
}

static seer_status begin_load(seer_tuner *t, const char *model) {
  SEER_TRY(need(t, !t->is_loaded, "a network is loaded already; one tuner is for one network"));
  t->model = seer_arena_strdup(t->arena, model);
  t->source = (seer_front_source){.model = t->model};
  return SEER_OK;
}

static seer_status load(seer_tuner *t, const char *model, const char *b) {
  (void)b;
  SEER_TRY(begin_load(t, model));
  return load_source(t);
}

int seer_tuner_load(seer_tuner *t, const char *model) {
  return enter_stoppable(t, load, model, NULL);
}

static seer_status load_bytes(seer_tuner *t, const char *folder, const char *b) {
  (void)b;
  SEER_TRY(begin_load(t, "bytes in memory"));
  t->source.is_bytes = true;
  t->source.data = t->data;
  t->source.n_bytes = t->n_bytes;
  t->source.folder = folder ? seer_arena_strdup(t->arena, folder) : NULL;
  t->source.tensor = t->tensor;
  t->source.n_tensor = (uint32_t)t->n_tensor;
  return load_source(t);
}

int seer_tuner_load_bytes(seer_tuner *t, const void *data, size_t n_bytes, const char *folder) {
  t->data = data;
  t->n_bytes = n_bytes;
  return enter_stoppable(t, load_bytes, folder, NULL);
}

static seer_status give(seer_tuner *t, const char *location, const char *b) {
  (void)b;
  SEER_TRY(need(t, !t->is_loaded, "tensors are given before a network is loaded"));
  size_t k = 0;
  while (k < t->n_tensor && strcmp(t->tensor[k].location, location) != 0) k++;
  if (k == t->n_tensor) {
    t->tensor = SEER_GROW(t->arena, seer_front_tensor, t->tensor, t->n_tensor, &t->cap_tensor);
    t->tensor[t->n_tensor++] =
        (seer_front_tensor){.location = seer_arena_strdup(t->arena, location)};
  }
  t->tensor[k].data = t->data;
  t->tensor[k].n_bytes = t->n_bytes;
  return SEER_OK;
}

int seer_tuner_give(seer_tuner *t, const char *location, const void *data, size_t n_bytes) {
  t->data = data;
  t->n_bytes = n_bytes;
  return enter(t, give, location, NULL);
}

uint32_t seer_tuner_n_missing(const seer_tuner *t) { return (uint32_t)t->missing.n; }

const seer_tuner_missing *seer_tuner_missing_at(const seer_tuner *t, uint32_t index) {
  return index < t->missing.n ? &t->missing_out[index] : NULL;
}

uint32_t seer_tuner_n_sets(const seer_tuner *t) { return t->description.n_set; }
uint32_t seer_tuner_n_inputs(const seer_tuner *t) { return t->description.n_input; }
uint32_t seer_tuner_n_outputs(const seer_tuner *t) { return t->description.n_output; }
uint32_t seer_tuner_n_tasks(const seer_tuner *t) { return t->description.n_task; }

const seer_io_info *seer_tuner_input(const seer_tuner *t, uint32_t set, uint32_t index) {
  const seer_description *d = &t->description;
  return set < d->n_set && index < d->n_input ? &d->input[set][index] : NULL;
}

const seer_io_info *seer_tuner_output(const seer_tuner *t, uint32_t set, uint32_t index) {
  const seer_description *d = &t->description;
  return set < d->n_set && index < d->n_output ? &d->output[set][index] : NULL;
}

const seer_tuner_task *seer_tuner_task_at(const seer_tuner *t, uint32_t index) {
  return index < t->description.n_task ? &t->description.task[index] : NULL;
}

void seer_tuner_listen(seer_tuner *t, seer_tuner_listener listener, void *user) {
  t->listener = listener;
  t->user = user;
}

// ---- tuning
static bool is_over(void *user) { return ((const seer_tuner *)user)->is_stopped; }

static void begin(void *user, seer_campaign *campaign) {
  seer_tuner *t = user;
  seer_campaign_listen(campaign, on_event, t);
  seer_campaign_listen(campaign, seer_report_on_event, t->report);
  t->running = campaign;
  if (t->is_stopped) seer_campaign_stop(campaign);
  t->is_stopped = 0;
}

// What ended the search has been heard: the next stop is for what follows it.
static void end_search(void *user) {
  seer_tuner *t = user;
  t->running = NULL;
  t->is_stopped = 0;
}

// Judged in a folder of its own; what has passed is compiled from `choices`, which is the same.
static seer_status make_folder(seer_tuner *t, const char **out_folder) {
  const char *output = seer_context_str(t->context, SEER_OPT_OUTPUT);
  if (!output[0]) return seer_os_temp_dir("familyseer", t->arena, out_folder);
  SEER_TRY(seer_os_make_dirs(output));
  return seer_os_temp_dir_in(output, "familyseer", t->arena, out_folder);
}

// Stopped outside of the search: what is known stays, as of a search that was ended.
static seer_status take_stop(const seer_tuner *t, seer_status status) {
  if (!status || seer_status_code(status) != SEER_CODE_STOPPED) return status;
  seer_status_free(status);
  if (t->tuning.campaign)
    tell_text(t, SEER_EVENT_NOTE, "stopped by the user: the library was not judged as a whole");
  else
    tell_text(t, SEER_EVENT_DONE, "stopped by the user before the search; nothing was measured");
  return SEER_OK;
}

static seer_status tune_judged(seer_tuner *t) {
  seer_tuning_request request = {.context = t->context,
      .model = t->model,
      .precise = &t->precise,
      .records = t->records,
      .watch = {t, is_over, tell_before, begin, end_search}};
  const char *folder = NULL, *report = seer_context_str(t->context, SEER_OPT_REPORT);
  if (report[0]) SEER_TRY(seer_os_check_writable(report));
  SEER_TRY(make_folder(t, &folder));
  t->report = seer_report_create(t->model, t->arena);
  request.folder = folder;
  seer_status status = take_stop(t, seer_tune_network(&request, &t->tuning));
  if (!status) tell_verdict(t);
  if (!status)
    status = seer_report_write(t->report, t->context, &t->tuning, &t->precise,
        seer_context_str(t->context, SEER_OPT_OUTPUT));
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

int seer_tuner_tune(seer_tuner *t) { return enter_stoppable(t, tune, NULL, NULL); }

void seer_tuner_stop(seer_tuner *t) {
  // A search ends itself, in order: to whatever works for it a stop would be a fault.
  seer_campaign *running = t->running;
  if (running)
    seer_campaign_stop(running);
  else
    t->is_stopped = 1;
}

static seer_status build(seer_tuner *t, const char *folder, seer_build_kind kind) {
  if (t->tuning.was_run && t->tuning.choices)
    return seer_choice_build(
        t->context, t->precise.taken->network, t->tuning.choices, kind, NULL, folder);
  const seer_compile_request r = {.context = t->context, .kind = kind, .folder = folder};
  return seer_compile(&r, t->arena, &t->precise);
}

static seer_status compile(seer_tuner *t, const char *folder, const char *b) {
  (void)b;
  SEER_TRY(need(t, t->is_loaded, "no network is loaded"));
  return build(t, folder, SEER_BUILD_LIBRARY);
}

int seer_tuner_compile(seer_tuner *t, const char *folder) {
  return enter_stoppable(t, compile, folder, NULL);
}

static seer_status emit_kernels(seer_tuner *t, const char *folder) {
  const seer_target *target = seer_context_target(t->context);
  char name[SEER_TARGET_NAME_BYTES];
  seer_target_name(target, name);
  if (target->kind == SEER_TARGET_CPU)
    return SEER_FAIL(INVALID, "kernels are of GPUs, and target %s is a processor", name);
  const seer_compile_request r = {.context = t->context, .folder = folder};
  seer_emitted done;
  return seer_compile_kernels_of(&r, t->precise.version[0].network, t->arena, &done);
}

static seer_status emit(seer_tuner *t, const char *kind, const char *folder) {
  static const struct {
    const char *word;
    seer_build_kind kind;
  } kinds[] = {{"so", SEER_BUILD_LIBRARY}, {"obj", SEER_BUILD_OBJECT}, {"c", SEER_BUILD_SOURCE}};
  SEER_TRY(need(t, t->is_loaded, "no network is loaded"));
  for (size_t k = 0; k < SEER_COUNT_OF(kinds); k++)
    if (strcmp(kind, kinds[k].word) == 0) return build(t, folder, kinds[k].kind);
  if (strcmp(kind, "kernels") == 0) return emit_kernels(t, folder);
  return SEER_FAIL(INVALID, "a network is emitted as so, obj, c or kernels, not as '%s'", kind);
}

int seer_tuner_emit(seer_tuner *t, const char *kind, const char *folder) {
  return enter_stoppable(t, emit, kind, folder);
}
