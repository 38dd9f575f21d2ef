// tune.c - a network -> its tuned library, stage by stage: `prepare`, `search` and `make_library`
// are the whole of a tuning as calls in order. The contract: tune.h.
#include "tune/tune.h"

#include <stdlib.h>

#include "base/os.h"
#include "base/recover.h"
#include "choose/choose.h"
#include "choose/tables.h"
#include "measure/distance.h"
#include "measure/lock.h"
#include "record/speeds.h"
#include "tune/compile.h"
#include "tune/whole.h"

#define WORTH_A_WORD 1.1  // latency over the sum of tasks
#define N_NAMED 5

typedef struct {
  const seer_tuning_request *r;
  seer_context *context;
  seer_arena *arena;
  const seer_measure_desc *measure;
  // of what is tuned; NULL: its precision is not chosen yet
  const seer_network *network;
  seer_records *records;  // NULL: none, or they do not say all that was found
  seer_os_work_dir work;  // where the library is made and judged, in its folder
  const char *library;
  // Made before the search, where a budget of time is kept by what that took [s]
  const seer_choice *untuned;
  const char *untuned_folder;
  uint64_t start_ns;  // the machine was free
  double build_s;
  seer_tuning *out;
} tuning;

// Times of a formula or a table are not to be held against those of this machine.
static bool is_timed_here(const tuning *t) { return seer_measure_is_here(t->context, t->measure); }

static seer_status open_work(tuning *t) {
  if (t->work.path) return SEER_OK;
  SEER_TRY(seer_os_make_dirs(t->r->folder));
  return seer_os_work_dir_open(t->r->folder, ".build", t->arena, &t->work);
}

// ---- the time that is kept for the end

// Opening a library, which is done three times, takes less than building it (GPT-2: 1.3 of 1.4 s on
// processors, 1.9 of 3.2 s by OpenCL, 2026-11-28); the last build makes nothing anew.
#define OPENED_AND_BUILT 3.5
#define F32_AS_WELL 2.0  // for another precision a library of f32 is built and run in turns

static double end_seconds(void *user, double estimated_s, double untuned_s) {
  const tuning *t = user;
  double budget_s = seer_campaign_budget(t->out->campaign)->time_s,
         end_s = OPENED_AND_BUILT * t->build_s +
      seer_whole_expected_s(budget_s, estimated_s, untuned_s);
  bool is_f32 = t->r->precise->taken == &t->r->precise->version[0];
  return is_f32 ? end_s : F32_AS_WELL * end_s;
}

// What the library is held against in the end: built now it says what a build takes, and what keeps
// one from being made is said before the search.
static seer_status build_untuned(void *user) {
  tuning *t = user;
  seer_choice *untuned;
  seer_choose_counts counts;
  SEER_TRY(open_work(t));
  SEER_TRY(seer_choose(t->context, t->network, NULL, 1, t->arena, &untuned, &counts));
  const char *folder = seer_os_path_join(t->arena, t->work.path, "untuned");
  uint64_t start_ns = seer_os_now_ns();
  SEER_TRY(seer_choice_build(
      t->context, t->network, untuned, SEER_BUILD_LIBRARY, t->r->precise->kept, folder));
  t->build_s = (double)(seer_os_now_ns() - start_ns) * 1e-9;
  t->untuned = untuned;
  t->untuned_folder = folder;
  return SEER_OK;
}

static seer_status keep_budget(tuning *t) {
  const seer_budget *budget = seer_campaign_budget(t->out->campaign);
  bool is_judged = t->r->folder && !t->r->contest && is_timed_here(t);
  if (!is_judged || budget->is_none || budget->time_s <= 0) return SEER_OK;
  SEER_TRY(seer_recover(build_untuned, t));
  double before_s = (double)(seer_os_now_ns() - t->start_ns) * 1e-9;
  seer_campaign_keep_for_end(t->out->campaign, before_s, end_seconds, t);
  return SEER_OK;
}

// ---- search
static seer_status search(tuning *t) {
  const seer_tuning_watch *watch = &t->r->watch;
  seer_campaign **campaign = &t->out->campaign;
  SEER_TRY(seer_campaign_create(t->context, t->network, t->r->records, t->r->model, campaign));
  seer_status status = keep_budget(t);
  if (status) {  // nobody has heard of the campaign yet
    seer_campaign_destroy(*campaign);
    *campaign = NULL;
    return status;
  }
  if (watch->begin) watch->begin(watch->user, *campaign);
  status = seer_campaign_run(*campaign);
  t->out->was_run = status == SEER_OK;
  if (watch->end) watch->end(watch->user);
  t->out->fault = seer_campaign_take_fault(*campaign);
  if (!seer_campaign_has_records(*campaign)) t->records = NULL;
  return status;
}

// ---- the library

// What `compile` would take from the records; without records what the campaign says.
static seer_status choose(tuning *t) {
  seer_choose_counts counts;
  t->out->choices = SEER_NEW_ARRAY(t->arena, seer_choice, t->network->n_task + 1);
  seer_campaign_choices(t->out->campaign, t->out->choices);
  if (!t->records || !t->r->folder) return SEER_OK;
  return seer_choose(t->context, t->network, t->records, 2, t->arena, &t->out->choices, &counts);
}

static seer_status build(tuning *t) {
  SEER_TRY(open_work(t));
  t->library = seer_os_path_join(t->arena, t->work.path, "tuned");
  return seer_choice_build(
      t->context, t->network, t->out->choices, SEER_BUILD_LIBRARY, t->r->precise->kept, t->library);
}

static double whole_seconds(const tuning *t) {
  return seer_whole_seconds(seer_campaign_budget(t->out->campaign)->time_s);
}

// Of the schedule that is compiled, as it was last measured by itself; 0: never.
static double time_of_kernel(const seer_choice *compiled, const seer_choice *found) {
  if (compiled->seconds > 0) return compiled->seconds;
  bool is_same = seer_schedule_equal(&found->schedule, &compiled->schedule);
  return is_same ? found->seconds : 0;
}

typedef struct {
  const char *name;
  double alone_s, network_s;
} loss;

static int by_loss(const void *a, const void *b) {
  const loss *x = a, *y = b;
  double of_x = x->network_s - x->alone_s, of_y = y->network_s - y->alone_s;
  return of_x < of_y ? 1 : of_x > of_y ? -1 : 0;
}

// Tasks that were never measured count with what they take in the network.
static void tell_latency(tuning *t, const seer_alone *alone) {
  uint32_t n_task = t->network->n_task, n_set = t->network->n_set;
  if (alone->latency_s <= 0) return;
  seer_choice *found = SEER_NEW_ARRAY(t->arena, seer_choice, n_task + 1);
  loss *task = SEER_NEW_ARRAY(t->arena, loss, n_task + 1);
  seer_campaign_choices(t->out->campaign, found);
  double sum_s = 0;
  for (uint32_t k = 0; k < n_task; k++) {
    double kernel_s = time_of_kernel(&t->out->choices[k], &found[k]), n = alone->n_steps[k];
    double network_s = n * alone->step_s[k] / n_set;
    task[k] = (loss){
        t->network->task[k].name, kernel_s > 0 ? n * kernel_s / n_set : network_s, network_s};
    sum_s += task[k].alone_s;
  }
  seer_say(t->context,
      "latency%s: %.3f ms, the whole library by itself, as `bench` tells it; the sum of its tasks, "
      "each measured alone, is %.3f ms",
      n_set > 1 ? ", mean of the sets of shapes" : "", alone->latency_s * 1e3, sum_s * 1e3);
  if (alone->distance_ns > SEER_DISTANCE_FAR_NS)
    seer_say(t->context,
        "the processors are far from each other now: a line of memory that another one has read "
        "takes %.0f ns to write, 3 to 6 where they are near, and what steps hand over takes longer",
        alone->distance_ns);
  if (alone->latency_s <= WORTH_A_WORD * sum_s) return;
  qsort(task, n_task, sizeof *task, by_loss);
  seer_text text;
  seer_text_init(&text, t->arena);
  seer_text_put(&text, "of the difference most is lost in");
  for (uint32_t k = 0; k < n_task && k < N_NAMED && task[k].network_s > task[k].alone_s; k++)
    seer_text_printf(&text, "%s %s (%.0f us, alone %.0f us)", k ? "," : "",
        seer_text_safe(t->arena, task[k].name), task[k].network_s * 1e6, task[k].alone_s * 1e6);
  seer_say(t->context, "%s", text.data);
}

// *out_fault: what the records have refused, after which the library is as decided all the same.
static seer_status hold_against_untuned(tuning *t, seer_status *out_fault) {
  if (!is_timed_here(t) && !t->r->contest) return SEER_OK;
  seer_whole whole = {.context = t->context,
      .network = t->network,
      .records = t->records,
      .campaign = seer_campaign_record_id(t->out->campaign),
      .folder = t->library,
      .kept = t->r->precise->kept,
      .untuned = t->untuned,
      .untuned_folder = t->untuned_folder,
      .seconds = whole_seconds(t),
      .choices = t->out->choices,
      .contest = t->r->contest,
      .user = t->r->contest_user};
  seer_alone alone;
  SEER_TRY(seer_whole_hold(&whole, t->arena, &t->out->verdict, &alone, out_fault));
  tell_latency(t, &alone);
  return SEER_OK;
}

static seer_status hold_against_f32(tuning *t) {
  double seconds = is_timed_here(t) ? whole_seconds(t) : 0;
  SEER_TRY(seer_precise_finish(t->r->precise, t->library, t->records, seconds));
  t->out->verdict.precision = t->r->precise->report;
  return SEER_OK;
}

static seer_status move_into_place(tuning *t) {
  SEER_TRY(seer_build_move(t->library, t->r->folder));
  t->out->is_written = true;
  return SEER_OK;
}

// ---- all of it
// What memory that runs out ends is one of these: the machine and the folder are given back, and
// the campaign can be asked.

static void tell_devices(const tuning *t) {
  const seer_device_list *devices = seer_context_devices(t->context);
  if (devices->n == 0 || devices->device[0].n_processors == 0) return;
  seer_text names;
  seer_text_init(&names, t->arena);
  for (uint32_t k = 0; k < devices->n; k++)
    seer_text_printf(&names, "%s%s", k ? ", " : "", devices->device[k].name);
  uint32_t n = devices->device[0].n_processors;
  seer_say(
      t->context, "devices %s: the library is for %u thread%s", names.data, n, n == 1 ? "" : "s");
  const seer_tuning_device *one, *other;
  if (seer_devices_share_a_core("", devices, &one, &other))
    seer_say(t->context,
        "devices %s and %s are threads of one core: what is timed on one disturbs the other",
        one->name, other->name);
}

static seer_status prepare(void *user) {
  tuning *t = user;
  tell_devices(t);
  // Made-up times need none of this machine's speeds but what is known: they are then the same on
  // each run, and half a second of measuring is nobody's.
  SEER_TRY(is_timed_here(t) ? seer_speeds_measure(t->context, t->r->records)
                            : seer_speeds_recall(t->context, t->r->records));
  seer_precise_how how = is_timed_here(t) ? SEER_PRECISE_TUNE : SEER_PRECISE_TUNE_UNTIMED;
  SEER_TRY(seer_precise_choose(t->r->precise, how));
  SEER_TRY(seer_precise_take(t->r->precise, how));
  t->network = t->r->precise->taken->network;
  return SEER_OK;
}

static seer_status make_library(void *user) {
  tuning *t = user;
  seer_status refused = SEER_OK;
  SEER_TRY(choose(t));
  if (!t->r->folder) return SEER_OK;
  seer_status status = build(t);
  if (!status) status = hold_against_untuned(t, &refused);
  if (!status) status = hold_against_f32(t);
  if (!status) status = move_into_place(t);
  return seer_status_join(status, refused);
}

static seer_status begin_keeping(void *user) {
  const tuning *t = user;
  t->r->precise->kept = seer_build_kept_create();
  return SEER_OK;
}

static seer_status tune_here(tuning *t) {
  t->start_ns = seer_os_now_ns();
  seer_status status = seer_recover(begin_keeping, t);
  if (!status) status = seer_recover(prepare, t);
  if (!status) status = search(t);
  if (!status) status = seer_recover(make_library, t);
  seer_build_kept_destroy(t->r->precise->kept);
  t->r->precise->kept = NULL;
  return seer_status_join(status, seer_os_work_dir_close(&t->work));
}

static bool is_over(void *user) {
  const seer_tuning_watch *watch = &((const tuning *)user)->r->watch;
  return watch->is_over && watch->is_over(watch->user);
}

static void tell_before(const tuning *t, seer_event_kind kind, const char *text) {
  const seer_tuning_watch *watch = &t->r->watch;
  if (watch->before) watch->before(watch->user, kind, text);
}

static void tell_wait(void *user, const char *text) { tell_before(user, SEER_EVENT_WAIT, text); }

// Stopped while it waited for the machine: what is known is compiled, as by a search that was
// ended.
static seer_status end_early(void *user) {
  tuning *t = user;
  tell_before(
      t, SEER_EVENT_DONE, "stopped by the user before the machine was free; nothing was measured");
  if (!t->r->folder) return SEER_OK;
  const seer_compile_request r = {
      .context = t->context, .kind = SEER_BUILD_LIBRARY, .folder = t->r->folder};
  SEER_TRY(seer_compile(&r, t->arena, t->r->precise));
  t->out->is_written = true;
  return SEER_OK;
}

seer_status seer_tune_network(const seer_tuning_request *r, seer_tuning *out) {
  *out = (seer_tuning){.verdict = {.text = ""}};
  tuning t = {
      .r = r, .context = r->context, .arena = r->precise->arena, .records = r->records, .out = out};
  seer_measure_choice measure;
  SEER_TRY(seer_measure_choose(r->context, t.arena, &measure));
  t.measure = measure.desc;
  const seer_waiter waiter = {is_over, tell_wait, &t};
  seer_measure_lock device;
  bool is_stopped;
  seer_status status =
      seer_measure_lock_take(r->context, measure.desc, &waiter, &device, &is_stopped);
  if (!status) status = is_stopped ? seer_recover(end_early, &t) : tune_here(&t);
  seer_measure_lock_release(&device);
  return status;
}

void seer_tuning_clear(seer_tuning *ended) {
  seer_campaign_destroy(ended->campaign);
  seer_status_free(ended->fault);
  *ended = (seer_tuning){.verdict = {.text = ""}};
}
