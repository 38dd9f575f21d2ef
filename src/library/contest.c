// contest.c - each turn times a run of both, in alternating order, with a run before it where runs
// are short: what the other one has left in the caches is not what a library finds that is run by
// itself. Profiles take turns, too; a task's time in one is the sum over its steps, in all sets of
// shapes.

#include "library/contest.h"

#include <math.h>
#include <string.h>

#include "base/os.h"
#include "library/use.h"
#include "measure/cores.h"

#define MIN_PAIRS 11
#define SHORT_RUN_S 0.02
#define MIN_PROFILES 8  // all lost: p = 0.004
#define MAX_PROFILES 32
#define MAX_PROFILE_RUNS 10
#define MAX_CROWDED 64  // pairs that are taken again, of either kind

// ---- a library, and which task each of its steps is

typedef struct {
  seer_use use;
  uint32_t **task_of;  // by set, by step; UINT32_MAX: none
  seer_step_info *info;  // room for the steps of any set
} side;

// One untimed profile tells the names.
static seer_status name_steps(side *s, const seer_network *network, uint32_t set) {
  seer_use *use = &s->use;
  int32_t n = seer_use_n_steps(use);
  s->task_of[set] = SEER_NEW_ARRAY(use->arena, uint32_t, n + 1);
  SEER_TRY(seer_use_time_steps(use, 1, s->info, n));
  for (int32_t i = 0; i < n; i++)
    s->task_of[set][i] = seer_network_find_task(network->set[set], (uint32_t)i, s->info[i].name);
  return SEER_OK;
}

static seer_status open_side(
    const seer_contest *w, const char *folder, seer_pool *pool, seer_arena *arena, side *out) {
  SEER_TRY(seer_use_open(w->context, folder, "", pool, true, arena, &out->use));
  int32_t n_most = 0;
  for (uint32_t set = 0; set < w->network->n_set; set++) {
    int32_t n = out->use.api->set_n_steps(out->use.model, (int32_t)set);
    if (n > n_most) n_most = n;
  }
  out->info = SEER_NEW_ARRAY(arena, seer_step_info, n_most + 1);
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

// seconds[n_task]
static seer_status profile(side *s, uint32_t n_runs, uint32_t n_task, double *seconds) {
  memset(seconds, 0, n_task * sizeof(double));
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
  const seer_contest *w;
  side tuned, untuned;
  seer_cores cores;
  uint32_t n_crowded;
  seer_contest_times *out;
} turns;

static uint64_t after(double seconds) { return seer_os_now_ns() + (uint64_t)(seconds * 1e9); }

static seer_status take_turn(turns *c, bool is_tuned, bool is_warm, double *out_s) {
  side *s = is_tuned ? &c->tuned : &c->untuned;
  if (is_warm) SEER_TRY(run_sets(s, out_s));
  return run_sets(s, out_s);
}

// What was timed while threads shared a core says nothing of either library.
static bool is_to_be_repeated(turns *c) {
  if (seer_cores_are_free(&c->cores, c->untuned.use.pool)) return false;
  return c->n_crowded++ < MAX_CROWDED;
}

static seer_status pair_runs(turns *c, double for_s) {
  double tuned_s, untuned_s;
  SEER_TRY(run_sets(&c->untuned, &untuned_s));
  SEER_TRY(run_sets(&c->tuned, &tuned_s));
  bool is_warm = fmax(tuned_s, untuned_s) < SHORT_RUN_S;
  uint64_t until = after(for_s);
  seer_pairs *p = &c->out->whole;
  while (p->n < SEER_VERDICT_MAX_PAIRS && (p->n < MIN_PAIRS || seer_os_now_ns() < until) &&
      !seer_context_is_stopped(c->w->context)) {
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

static void add_profiles(turns *c, const double *tuned, const double *untuned) {
  seer_contest_times *out = c->out;
  uint32_t n_task = c->w->network->n_task;
  for (uint32_t t = 0; t < n_task; t++) {
    seer_pairs *p = &out->task[t];
    p->tuned[p->n] = tuned[t];
    p->untuned[p->n++] = untuned[t];
  }
}

static seer_status pair_profiles(turns *c, double for_s, seer_arena *arena) {
  seer_pairs_summary of_run;
  seer_pairs_summarise(&c->out->whole, &of_run);
  double pair_s = fmax(of_run.tuned_s + of_run.untuned_s, 1e-9),
         fit = for_s / pair_s / MIN_PROFILES;
  uint32_t n_runs = (uint32_t)fmin(fmax(fit, 1), MAX_PROFILE_RUNS), n_task = c->w->network->n_task;
  double *tuned = SEER_NEW_ARRAY(arena, double, n_task + 1),
         *untuned = SEER_NEW_ARRAY(arena, double, n_task + 1);
  uint32_t n = 0;
  uint64_t until = after(for_s);
  while (n < MAX_PROFILES && (n < MIN_PROFILES || seer_os_now_ns() < until) &&
      !seer_context_is_stopped(c->w->context)) {
    bool is_first = n % 2 == 0;
    seer_cores_await(&c->cores, c->untuned.use.pool);
    if (is_first) SEER_TRY(profile(&c->tuned, n_runs, n_task, tuned));
    SEER_TRY(profile(&c->untuned, n_runs, n_task, untuned));
    if (!is_first) SEER_TRY(profile(&c->tuned, n_runs, n_task, tuned));
    if (is_to_be_repeated(c)) continue;
    add_profiles(c, tuned, untuned);
    n++;
  }
  return SEER_OK;
}

double seer_contest_expected_s(double seconds, double tuned_s, double untuned_s) {
  double pair_s = tuned_s + untuned_s;
  double runs_s = fmax(seconds / 2, (MIN_PAIRS + 1) * pair_s);
  double profiles_s = fmax(seconds / 2, MIN_PROFILES * pair_s);
  return pair_s + runs_s + profiles_s;  // names of steps are told by a run
}

static seer_status take_turns(turns *c, seer_arena *arena) {
  const seer_contest *w = c->w;
  // The pool's code is the untuned library's, which stays as it is.
  SEER_TRY(open_side(w, w->untuned_folder, NULL, arena, &c->untuned));
  SEER_TRY(open_side(w, w->tuned_folder, c->untuned.use.pool, arena, &c->tuned));
  SEER_TRY(pair_runs(c, w->seconds / 2));
  return pair_profiles(c, w->seconds / 2, arena);
}

seer_status seer_contest_run(const seer_contest *contest, void *user, seer_contest_times *out) {
  (void)user;
  seer_arena *arena = seer_arena_create("contest");
  turns *c = SEER_NEW(arena, turns);
  c->w = contest;
  c->out = out;
  out->whole.n = 0;
  for (uint32_t k = 0; k < contest->network->n_task; k++) out->task[k].n = 0;
  seer_status status = take_turns(c, arena);
  seer_use_close(&c->tuned.use);
  seer_use_close(&c->untuned.use);
  seer_arena_destroy(arena);
  return status;
}
