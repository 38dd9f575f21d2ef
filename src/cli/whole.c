// whole.c - a tuned library -> the untuned one beside it -> both in turns -> what falls back ->
// the library again.
//
// Each turn times a run of both, in alternating order, with a run before it where runs are short:
// what the other one has left in the caches is not what a library finds that is run by itself.
// Profiles take turns, too; a task's time in one is the sum over its steps, in all sets of shapes.
// In the end the profiles are what is known of the library's tasks: a kernel alone, in pairs, has
// other neighbours in the caches.

#include "cli/whole.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "base/recover.h"
#include "cli/use.h"
#include "tune/measure/cores.h"
#include "tune/select/choose.h"
#include "tune/select/gather.h"

#define MAX_REPEATS 2  // of the verdict
// A comparison's share of a time budget, and its limits [s].
#define BUDGET_SHARE 0.02
#define MIN_S 0.3
#define MAX_S 3.0
#define USUAL_S 1.0  // without a time budget
#define MIN_PAIRS 11
#define SHORT_RUN_S 0.02
#define MIN_PROFILES 8  // all lost: p = 0.004
#define MAX_PROFILES 32
#define MAX_PROFILE_RUNS 10
#define MAX_CROWDED 64  // pairs that are taken again, of either kind

double seer_cli_whole_seconds(double budget_s) {
  if (budget_s <= 0) return USUAL_S;
  return fmin(fmax(BUDGET_SHARE * budget_s, MIN_S), MAX_S);
}

// ---- a library, and which task each of its steps is

typedef struct {
  seer_use use;
  int32_t *n_steps;  // by set
  uint32_t **task_of;  // by set, by step; UINT32_MAX: none
  seer_step_info *info;  // room for the steps of any set
} side;

// One untimed profile tells the names.
static seer_status name_steps(side *s, const seer_network *network, uint32_t set) {
  seer_use *use = &s->use;
  int32_t n = seer_use_n_steps(use);
  s->n_steps[set] = n;
  s->task_of[set] = SEER_NEW_ARRAY(use->arena, uint32_t, n + 1);
  SEER_TRY(seer_use_time_steps(use, 1, s->info, n));
  for (int32_t i = 0; i < n; i++)
    s->task_of[set][i] = seer_network_find_task(network->set[set], (uint32_t)i, s->info[i].name);
  return SEER_OK;
}

static seer_status open_side(
    const seer_whole *w, const char *folder, seer_pool *pool, seer_arena *arena, side *out) {
  SEER_TRY(seer_use_open(w->context, folder, "", pool, true, arena, &out->use));
  int32_t n_most = 0;
  for (uint32_t set = 0; set < w->network->n_set; set++) {
    int32_t n = out->use.api->set_n_steps(out->use.model, (int32_t)set);
    if (n > n_most) n_most = n;
  }
  out->info = SEER_NEW_ARRAY(arena, seer_step_info, n_most + 1);
  out->n_steps = SEER_NEW_ARRAY(arena, int32_t, w->network->n_set);
  out->task_of = SEER_NEW_ARRAY(arena, uint32_t *, w->network->n_set);
  for (uint32_t set = 0; set < w->network->n_set; set++) {
    SEER_TRY(seer_use_select(&out->use, (int32_t)set));
    SEER_TRY(seer_use_fill(w->context, &out->use));
    SEER_TRY(name_steps(out, w->network, set));
  }
  return SEER_OK;
}

// The buffers of each set stay bound.
static seer_status select_set(side *s, uint32_t set) {
  if (s->use.n_sets == 1) return SEER_OK;
  s->use.set = (int32_t)set;
  return seer_rt_to_status(
      s->use.api->select(s->use.session, (int32_t)set), s->use.path, "a set is missing");
}

static seer_status run_sets(side *s, double *out_s) {
  *out_s = 0;
  for (uint32_t set = 0; set < (uint32_t)s->use.n_sets; set++) {
    SEER_TRY(select_set(s, set));
    uint64_t start = seer_os_now_ns();
    SEER_TRY(seer_use_run(&s->use));
    *out_s += (double)(seer_os_now_ns() - start) * 1e-9;
  }
  return SEER_OK;
}

static seer_status profile(side *s, uint32_t n_runs, double *seconds) {
  for (uint32_t set = 0; set < (uint32_t)s->use.n_sets; set++) {
    SEER_TRY(select_set(s, set));
    int32_t n = seer_use_n_steps(&s->use);
    SEER_TRY(seer_use_time_steps(&s->use, n_runs, s->info, n));
    for (int32_t i = 0; i < n; i++) {
      uint32_t task = s->task_of[set][i];
      if (task != UINT32_MAX) seconds[task] += s->info[i].seconds;
    }
  }
  return SEER_OK;
}

// ---- in turns

typedef struct {
  const seer_whole *w;
  side tuned, untuned;
  seer_cores cores;
  uint32_t n_crowded;
  seer_pairs whole, *task;
} contest;

static uint64_t after(double seconds) { return seer_os_now_ns() + (uint64_t)(seconds * 1e9); }

static seer_status take_turn(contest *c, bool is_tuned, bool is_warm, double *out_s) {
  side *s = is_tuned ? &c->tuned : &c->untuned;
  if (is_warm) SEER_TRY(run_sets(s, out_s));
  return run_sets(s, out_s);
}

// What was timed while threads shared a core says nothing of either library.
static bool is_to_be_repeated(contest *c) {
  if (seer_cores_are_free(&c->cores, c->untuned.use.pool)) return false;
  return c->n_crowded++ < MAX_CROWDED;
}

static seer_status pair_runs(contest *c, double for_s) {
  double tuned_s, untuned_s;
  SEER_TRY(run_sets(&c->untuned, &untuned_s));
  SEER_TRY(run_sets(&c->tuned, &tuned_s));
  bool is_warm = fmax(tuned_s, untuned_s) < SHORT_RUN_S;
  uint64_t until = after(for_s);
  seer_pairs *p = &c->whole;
  while (p->n < SEER_VERDICT_MAX_PAIRS && (p->n < MIN_PAIRS || seer_os_now_ns() < until)) {
    bool is_first = p->n % 2 == 0;
    double first_s, second_s;
    seer_cores_await(&c->cores, c->untuned.use.pool);
    SEER_TRY(take_turn(c, is_first, is_warm, &first_s));
    SEER_TRY(take_turn(c, !is_first, is_warm, &second_s));
    if (is_to_be_repeated(c)) continue;
    p->tuned[p->n] = is_first ? first_s : second_s;
    p->untuned[p->n++] = is_first ? second_s : first_s;
  }
  return SEER_OK;
}

static seer_status pair_profiles(contest *c, double for_s, seer_arena *arena) {
  seer_pairs_summary of_run;
  seer_pairs_summarise(&c->whole, &of_run);
  double pair_s = fmax(of_run.tuned_s + of_run.untuned_s, 1e-9),
         fit = for_s / pair_s / MIN_PROFILES;
  uint32_t n_runs = (uint32_t)fmin(fmax(fit, 1), MAX_PROFILE_RUNS), n_task = c->w->network->n_task;
  double *seconds[2] = {
      SEER_NEW_ARRAY(arena, double, n_task + 1), SEER_NEW_ARRAY(arena, double, n_task + 1)};
  uint64_t until = after(for_s);
  for (uint32_t k = 0; k < MAX_PROFILES && (k < MIN_PROFILES || seer_os_now_ns() < until);) {
    bool is_first = k % 2 == 0;
    for (int i = 0; i < 2; i++) memset(seconds[i], 0, n_task * sizeof(double));
    seer_cores_await(&c->cores, c->untuned.use.pool);
    SEER_TRY(profile(is_first ? &c->tuned : &c->untuned, n_runs, seconds[is_first ? 0 : 1]));
    SEER_TRY(profile(is_first ? &c->untuned : &c->tuned, n_runs, seconds[is_first ? 1 : 0]));
    if (is_to_be_repeated(c)) continue;
    for (uint32_t t = 0; t < n_task; t++) {
      c->task[t].tuned[k] = seconds[0][t];
      c->task[t].untuned[k] = seconds[1][t];
      c->task[t].n = k + 1;
    }
    k++;
  }
  return SEER_OK;
}

static seer_status hold(contest *c, const char *untuned_folder, seer_arena *arena) {
  // The pool's code is the untuned library's, which stays as it is.
  SEER_TRY(open_side(c->w, untuned_folder, NULL, arena, &c->untuned));
  SEER_TRY(open_side(c->w, c->w->folder, c->untuned.use.pool, arena, &c->tuned));
  SEER_TRY(pair_runs(c, c->w->seconds / 2));
  return pair_profiles(c, c->w->seconds / 2, arena);
}

// ---- falling back

typedef struct {
  const seer_whole *w;
  const char *untuned_folder;
  const seer_choice *untuned;
  seer_arena *arena;
  bool *is_tuned, *falls, *has_fallen;
  seer_pairs *task;
  uint32_t *n_steps;  // by task, of all sets
  seer_verdict verdict;
  bool is_unsupported;  // these inputs lead to a side of an If that could not be built
} trial;

static seer_status refuse_one(void *user, const seer_record *record) {
  bool is_checked = record->state == SEER_RECORD_CHECKED || record->state == SEER_RECORD_ACCEPTED;
  if (!is_checked || record->place == SEER_RECORD_ELSEWHERE) return SEER_OK;
  return seer_records_set_state(user, record->id, SEER_RECORD_REFUSED);
}

// All that was checked of them: another of those would be compiled in the winner's place where
// tasks share weights.
static seer_status refuse_tasks(const trial *t) {
  seer_records *records = t->w->records;
  int64_t target, workload;
  SEER_TRY(seer_records_target(records, seer_context_target(t->w->context), &target));
  for (uint32_t k = 0; k < t->w->network->n_task; k++) {
    if (!t->falls[k]) continue;
    SEER_TRY(seer_records_find_workload(records, t->w->network->task[k].key, &workload));
    SEER_TRY(seer_records_each(records, workload, target, refuse_one, records));
  }
  return SEER_OK;
}

// Changes the records, all or nothing, and takes from them what `compile` would.
static seer_status choose_after(const trial *t, seer_status (*change)(const trial *t)) {
  const seer_whole *w = t->w;
  SEER_TRY(seer_records_begin(w->records));
  seer_status status = change(t);
  if (!status) status = seer_records_commit(w->records);
  if (status) seer_records_rollback(w->records);
  SEER_TRY(status);
  seer_choice *choices = NULL;
  seer_choose_counts counts;
  SEER_TRY(seer_choose(w->context, w->network, w->records, 2, t->arena, &choices, &counts));
  memcpy(w->choices, choices, w->network->n_task * sizeof(*choices));
  return SEER_OK;
}

static seer_status choose_again(const trial *t) {
  for (uint32_t k = 0; k < t->w->network->n_task; k++)
    if (t->falls[k]) t->w->choices[k] = t->untuned[k];
  return t->w->records ? choose_after(t, refuse_tasks) : SEER_OK;
}

// ---- times in the network

// What one occurrence took in the library that is there now, which is the untuned one if all fell
// back; 0: not known.
static double network_seconds(const trial *t, uint32_t task) {
  seer_pairs_summary own;
  if (t->n_steps[task] == 0) return 0;
  seer_pairs_summarise(&t->task[task], &own);
  return (t->verdict.is_all ? own.untuned_s : own.tuned_s) / t->n_steps[task];
}

static seer_status store_times(const trial *t) {
  const seer_whole *w = t->w;
  int64_t target;
  SEER_TRY(seer_records_target(w->records, seer_context_target(w->context), &target));
  for (uint32_t k = 0; k < w->network->n_task; k++) {
    const seer_task *task = &w->network->task[k];
    const seer_choice *choice = &w->choices[k];
    seer_record record = {.session = w->session,
        .target = target,
        .schedule = seer_schedule_print(choice->sketches, &choice->schedule, t->arena),
        .origin = seer_origin_name(SEER_ORIGIN_NETWORK),
        .seconds = network_seconds(t, k)};
    if (record.seconds <= 0) continue;
    SEER_TRY(seer_records_workload(w->records, task->dag, task->key, task->name, &record.workload));
    SEER_TRY(seer_records_add(w->records, &record));
  }
  return SEER_OK;
}

static seer_status keep_times(const trial *t) {
  const seer_whole *w = t->w;
  for (uint32_t k = 0; k < w->network->n_task; k++)
    w->choices[k].network_seconds = network_seconds(t, k);
  if (w->records) SEER_TRY(choose_after(t, store_times));
  return seer_select_build(w->context, w->network, w->choices, SEER_BUILD_LIBRARY, w->folder);
}

static void say(const trial *t) {
  const seer_verdict *v = &t->verdict;
  if (v->is_all)
    fprintf(stderr,
        "the tuned library is slower than the untuned one (%.3f ms, untuned %.3f ms): all tasks "
        "are untuned again\n",
        v->whole.tuned_s * 1e3, v->whole.untuned_s * 1e3);
  for (uint32_t k = 0; k < t->w->network->n_task && !v->is_all; k++) {
    seer_pairs_summary own;
    if (!t->falls[k]) continue;
    seer_pairs_summarise(&t->task[k], &own);
    fprintf(stderr,
        "task %u, %s: slower in the network than its untuned schedule (%.1f us, untuned %.1f us): "
        "untuned again\n",
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

static void count_steps(const trial *t, const side *s) {
  memset(t->n_steps, 0, t->w->network->n_task * sizeof(*t->n_steps));
  for (uint32_t set = 0; set < t->w->network->n_set; set++)
    for (int32_t i = 0; i < s->n_steps[set]; i++)
      if (s->task_of[set][i] != UINT32_MAX) t->n_steps[s->task_of[set][i]]++;
}

static seer_status compare(trial *t, bool is_last) {
  seer_arena *arena = seer_arena_create("comparison");
  contest *c = SEER_NEW(arena, contest);
  c->w = t->w;
  c->task = t->task;
  for (uint32_t k = 0; k < t->w->network->n_task; k++) t->task[k].n = 0;
  seer_status status = hold(c, t->untuned_folder, arena);
  if (!status) count_steps(t, &c->tuned);
  seer_use_close(&c->tuned.use);
  seer_use_close(&c->untuned.use);
  if (!status)
    seer_verdict_decide(
        &c->whole, t->task, t->is_tuned, t->w->network->n_task, is_last, t->falls, &t->verdict);
  seer_arena_destroy(arena);
  if (!status || seer_status_code(status) != SEER_CODE_UNSUPPORTED) return status;
  fprintf(stderr, "not compared as a whole: %s\n", seer_status_message(status));
  seer_status_free(status);
  t->is_unsupported = true;
  return SEER_OK;
}

static seer_status judge(trial *t) {
  const seer_whole *w = t->w;
  for (int k = 0; k <= MAX_REPEATS && mark_tuned(t) > 0; k++) {
    bool is_last = k == MAX_REPEATS;
    SEER_TRY(compare(t, is_last));
    if (t->is_unsupported || t->verdict.n_falls == 0 || (is_last && !t->verdict.is_all))
      return SEER_OK;
    say(t);
    for (uint32_t i = 0; i < w->network->n_task; i++) t->has_fallen[i] |= t->falls[i];
    seer_status status = choose_again(t);
    // What was decided is built also where the records cannot say so.
    status = seer_status_join(status,
        seer_select_build(w->context, w->network, w->choices, SEER_BUILD_LIBRARY, w->folder));
    SEER_TRY(status);
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
} request;

static seer_status run(void *user) {
  request *r = user;
  const seer_whole *w = r->w;
  seer_arena *arena = r->arena;
  uint32_t n = w->network->n_task;
  seer_choice *untuned = NULL;
  seer_choose_counts counts;
  SEER_TRY(seer_choose(w->context, w->network, NULL, 1, arena, &untuned, &counts));
  trial t = {.w = w,
      .untuned_folder = r->untuned_folder,
      .untuned = untuned,
      .arena = arena,
      .is_tuned = SEER_NEW_ARRAY(arena, bool, n + 1),
      .falls = SEER_NEW_ARRAY(arena, bool, n + 1),
      .has_fallen = SEER_NEW_ARRAY(arena, bool, n + 1),
      .task = SEER_NEW_ARRAY(arena, seer_pairs, n + 1),
      .n_steps = SEER_NEW_ARRAY(arena, uint32_t, n + 1)};
  if (mark_tuned(&t) == 0) return SEER_OK;
  SEER_TRY(
      seer_select_build(w->context, w->network, untuned, SEER_BUILD_LIBRARY, r->untuned_folder));
  SEER_TRY(judge(&t));
  if (t.is_unsupported) return SEER_OK;
  SEER_TRY(keep_times(&t));
  report(&t, r->out);
  fprintf(stderr, "%s\n", r->out->text);
  return SEER_OK;
}

seer_status seer_cli_whole(const seer_whole *w, seer_arena *arena, seer_verdict_report *out) {
  *out = (seer_verdict_report){.speedup = 1, .text = ""};
  seer_os_work_dir work;
  SEER_TRY(seer_os_work_dir_open(w->folder, ".build", arena, &work));
  // A folder of its own within: a build locks the one that it builds into.
  request r = {w, seer_os_path_join(arena, work.path, "untuned"), arena, out};
  seer_status status = seer_recover(run, &r);
  return seer_status_join(status, seer_os_work_dir_close(&work));
}
