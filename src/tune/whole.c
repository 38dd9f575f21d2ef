// whole.c - a tuned library -> the untuned one beside it -> both in turns -> what falls back ->
// the library again -> what it takes by itself -> the library once more, which says so.

#include "tune/whole.h"

#include <math.h>
#include <string.h>

#include "base/os.h"
#include "base/recover.h"
#include "choose/choose.h"
#include "choose/tables.h"

#define MAX_REPEATS 2  // of the verdict
// A comparison's share of a time budget, and its limits [s].
#define BUDGET_SHARE 0.02
#define MIN_S 0.3
#define MAX_S 3.0
#define USUAL_S 1.0  // without a time budget

double seer_whole_seconds(double budget_s) {
  if (budget_s <= 0) return USUAL_S;
  return fmin(fmax(BUDGET_SHARE * budget_s, MIN_S), MAX_S);
}

double seer_whole_expected_s(double budget_s, double tuned_s, double untuned_s) {
  double seconds = seer_whole_seconds(budget_s);
  return seer_contest_expected_s(seconds, tuned_s, untuned_s) +
      seer_alone_expected_s(seconds, tuned_s);
}

// ---- falling back

typedef struct {
  const seer_whole *w;
  seer_records *records;  // NULL: none, or they have refused something
  seer_status *fault;  // what
  const char *untuned_folder;
  const seer_choice *untuned;
  seer_arena *arena;
  bool *is_tuned, *falls, *has_fallen;
  seer_contest_times times;
  seer_verdict verdict;
  seer_alone alone;
  bool is_unsupported;  // these inputs lead to a side of an If that could not be built
} trial;

static seer_status refuse_one(void *user, const seer_record *record) {
  bool is_checked = record->state == SEER_RECORD_CHECKED || record->state == SEER_RECORD_ACCEPTED;
  if (!is_checked || record->provenance == SEER_RECORD_ELSEWHERE) return SEER_OK;
  return seer_records_set_state(user, record->id, SEER_RECORD_REFUSED);
}

// All that was checked of them: another of those would be compiled in the winner's place where
// tasks share weights.
static seer_status refuse_tasks(void *user) {
  const trial *t = user;
  seer_records *records = t->records;
  int64_t target, workload;
  SEER_TRY(seer_records_target(records, seer_context_target(t->w->context), &target));
  for (uint32_t k = 0; k < t->w->network->n_task; k++) {
    if (!t->falls[k]) continue;
    SEER_TRY(seer_records_find_workload(records, t->w->network->task[k].key, &workload));
    SEER_TRY(seer_records_each(records, workload, target, refuse_one, records));
  }
  return SEER_OK;
}

static void tell_wait(void *user, const char *text) {
  const trial *t = user;
  seer_say(t->w->context, "%s", text);
}

// Changes the records and takes from them what `compile` would.
static seer_status choose_after(trial *t, seer_records_writer change) {
  const seer_whole *w = t->w;
  const seer_waiter waiter = {NULL, tell_wait, t};
  SEER_TRY(seer_records_write(t->records, change, t, &waiter));
  seer_choice *choices = NULL;
  seer_choose_counts counts;
  SEER_TRY(seer_choose(w->context, w->network, t->records, 2, t->arena, &choices, &counts));
  memcpy(w->choices, choices, w->network->n_task * sizeof(*choices));
  return SEER_OK;
}

// Records that refuse are not asked again: the choices as they stand say what is compiled.
static void choose_by_records(trial *t, seer_records_writer change) {
  if (!t->records) return;
  seer_status status = choose_after(t, change);
  if (!status) return;
  *t->fault = seer_status_join(*t->fault, status);
  t->records = NULL;
}

static void choose_again(trial *t) {
  for (uint32_t k = 0; k < t->w->network->n_task; k++)
    if (t->falls[k]) t->w->choices[k] = t->untuned[k];
  choose_by_records(t, refuse_tasks);
}

// ---- times in the network

static seer_status store_times(void *user) {
  const trial *t = user;
  const seer_whole *w = t->w;
  int64_t target;
  SEER_TRY(seer_records_target(t->records, seer_context_target(w->context), &target));
  for (uint32_t k = 0; k < w->network->n_task; k++) {
    const seer_task *task = &w->network->task[k];
    const seer_choice *choice = &w->choices[k];
    seer_record record = {.campaign = w->campaign,
        .target = target,
        .schedule = seer_schedule_print(choice->sketches, &choice->schedule, t->arena),
        .origin = seer_origin_name(SEER_ORIGIN_NETWORK),
        .seconds = choice->network_seconds};
    if (record.seconds <= 0) continue;
    SEER_TRY(seer_records_workload(t->records, task->dag, task->key, task->name, &record.workload));
    SEER_TRY(seer_records_add(t->records, &record));
  }
  return SEER_OK;
}

// A kernel alone, in pairs, has other neighbours in the caches: what the library takes by itself,
// and each task in it, is what is told from here on.
static seer_status keep_times(trial *t) {
  const seer_whole *w = t->w;
  SEER_TRY(seer_alone_time(w->context, w->network, w->folder, w->seconds, &t->alone));
  if (t->alone.latency_s <= 0) return SEER_OK;
  for (uint32_t k = 0; k < w->network->n_task; k++)
    w->choices[k].network_seconds = t->alone.step_s[k];
  choose_by_records(t, store_times);
  return seer_choice_build(
      w->context, w->network, w->choices, SEER_BUILD_LIBRARY, w->kept, w->folder);
}

static void say(const trial *t) {
  const seer_verdict *v = &t->verdict;
  if (v->is_all)
    seer_say(t->w->context,
        "the tuned library is slower than the untuned one (%.3f ms, untuned %.3f ms): all tasks "
        "are untuned again",
        v->whole.tuned_s * 1e3, v->whole.untuned_s * 1e3);
  for (uint32_t k = 0; k < t->w->network->n_task && !v->is_all; k++) {
    seer_pairs_summary own;
    if (!t->falls[k]) continue;
    seer_pairs_summarise(&t->times.task[k], &own);
    seer_say(t->w->context,
        "task %u, %s: slower in the network than its untuned schedule (%.1f us, untuned %.1f us): "
        "untuned again",
        k, seer_text_safe(t->arena, t->w->network->task[k].name), own.tuned_s * 1e6,
        own.untuned_s * 1e6);
  }
}

static uint32_t mark_tuned(trial *t) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < t->w->network->n_task; k++) {
    t->is_tuned[k] = !seer_schedule_equal(&t->w->choices[k].schedule, &t->untuned[k].schedule);
    n += t->is_tuned[k];
  }
  return n;
}

static seer_status compare_for(trial *t, double seconds, bool is_last) {
  const seer_whole *w = t->w;
  seer_contest contest = {w->context, w->network, w->folder, t->untuned_folder, seconds};
  SEER_TRY(w->contest ? w->contest(&contest, w->user, &t->times)
                      : seer_contest_run(&contest, NULL, &t->times));
  seer_verdict_decide(&t->times.whole, t->times.task, t->is_tuned, w->network->n_task, is_last,
      t->falls, &t->verdict);
  return SEER_OK;
}

// One that seems slower is looked at once more, for longer and with both opened again, and that
// look counts: where their weights have come to lie, and what else the machine does, lasts as long
// as a look does (doc/decisions, 63).
static seer_status compare(trial *t, bool is_last) {
  seer_status status = compare_for(t, t->w->seconds, is_last);
  if (!status && t->verdict.whole.speedup < 1) status = compare_for(t, MAX_S, is_last);
  if (!status) return SEER_OK;
  if (seer_status_code(status) != SEER_CODE_UNSUPPORTED) return status;
  seer_say(t->w->context, "not compared as a whole: %s", seer_status_message(status));
  seer_status_free(status);
  t->is_unsupported = true;
  return SEER_OK;
}

static seer_status hold(trial *t) {
  const seer_whole *w = t->w;
  for (int k = 0; k <= MAX_REPEATS && mark_tuned(t) > 0; k++) {
    bool is_last = k == MAX_REPEATS;
    SEER_TRY(compare(t, is_last));
    if (t->is_unsupported || t->verdict.n_falls == 0 || (is_last && !t->verdict.is_all))
      return SEER_OK;
    say(t);
    for (uint32_t i = 0; i < w->network->n_task; i++) t->has_fallen[i] |= t->falls[i];
    choose_again(t);
    SEER_TRY(seer_choice_build(
        w->context, w->network, w->choices, SEER_BUILD_LIBRARY, w->kept, w->folder));
    if (t->verdict.is_all) return SEER_OK;
  }
  return SEER_OK;
}

// ---- all of it

static void report(trial *t, seer_verdict_report *out) {
  uint32_t n = t->w->network->n_task;
  uint32_t *fallen = SEER_NEW_ARRAY(t->arena, uint32_t, n + 1);
  for (uint32_t k = 0; k < n; k++)
    if (t->has_fallen[k]) fallen[out->n_fallen++] = k;
  out->fallen = fallen;
  out->is_all = mark_tuned(t) == 0;
  out->speedup = 1;
  out->text = "the library is the untuned one";
  if (out->is_all) return;
  const seer_pairs_summary *whole = &t->verdict.whole;
  out->n_pairs = whole->n;
  out->speedup = whole->speedup;
  out->tuned_s = whole->tuned_s;
  out->untuned_s = whole->untuned_s;
  out->text = seer_arena_printf(t->arena,
      "tuned against untuned, whole library, %u pairs: %.3f ms and %.3f ms, %.2f times as fast",
      whole->n, whole->tuned_s * 1e3, whole->untuned_s * 1e3, whole->speedup);
}

typedef struct {
  const seer_whole *w;
  const char *untuned_folder;
  seer_arena *arena;
  seer_verdict_report *out;
  seer_alone *out_alone;
  seer_status *fault;
} request;

static seer_status choose_untuned(
    const seer_whole *w, seer_arena *arena, const seer_choice **out_choices) {
  seer_choice *untuned = NULL;
  seer_choose_counts counts;
  seer_status status = seer_choose(w->context, w->network, NULL, 1, arena, &untuned, &counts);
  *out_choices = untuned;
  return status;
}

static seer_status run(void *user) {
  request *r = user;
  const seer_whole *w = r->w;
  seer_arena *arena = r->arena;
  uint32_t n = w->network->n_task;
  const seer_choice *untuned = w->untuned;
  if (!untuned) SEER_TRY(choose_untuned(w, arena, &untuned));
  trial t = {.w = w,
      .records = w->records,
      .fault = r->fault,
      .untuned_folder = r->untuned_folder,
      .untuned = untuned,
      .arena = arena,
      .is_tuned = SEER_NEW_ARRAY(arena, bool, n + 1),
      .falls = SEER_NEW_ARRAY(arena, bool, n + 1),
      .has_fallen = SEER_NEW_ARRAY(arena, bool, n + 1),
      .times = {.task = SEER_NEW_ARRAY(arena, seer_pairs, n + 1)},
      .alone = {.step_s = SEER_NEW_ARRAY(arena, double, n + 1),
          .n_steps = SEER_NEW_ARRAY(arena, uint32_t, n + 1)}};
  bool is_compared = mark_tuned(&t) > 0;
  if (is_compared && !w->untuned_folder)
    SEER_TRY(seer_choice_build(
        w->context, w->network, untuned, SEER_BUILD_LIBRARY, w->kept, r->untuned_folder));
  if (is_compared) SEER_TRY(hold(&t));
  SEER_TRY(keep_times(&t));
  if (is_compared && !t.is_unsupported) report(&t, r->out);
  if (r->out->text[0]) seer_say(w->context, "%s", r->out->text);
  r->out->latency_s = t.alone.latency_s;
  *r->out_alone = t.alone;
  return SEER_OK;
}

seer_status seer_whole_hold(const seer_whole *w, seer_arena *arena, seer_verdict_report *out,
    seer_alone *out_alone, seer_status *out_fault) {
  *out = (seer_verdict_report){.speedup = 1, .text = ""};
  *out_alone = (seer_alone){.latency_s = 0};
  *out_fault = SEER_OK;
  seer_os_work_dir work;
  SEER_TRY(seer_os_work_dir_open(w->folder, ".build", arena, &work));
  // A folder of its own within: a build locks the one that it builds into.
  const char *untuned_folder =
      w->untuned_folder ? w->untuned_folder : seer_os_path_join(arena, work.path, "untuned");
  request r = {w, untuned_folder, arena, out, out_alone, out_fault};
  seer_status status = seer_recover(run, &r);
  return seer_status_join(status, seer_os_work_dir_close(&work));
}
