// versions.c - is there anything to choose in the network that finals, which see a task alone, do
// not see? Of each task what was chosen and the best that was measured are put into libraries that
// mix them, each candidate in at least one. These take turns, and a candidate is judged by what its
// steps take there.
//   versions RECORDS.sqlite MODEL FOLDER [--best N] [--rounds N]
// N (4) candidates of a task, all but the chosen one within 1.15 times the fastest of those; rounds
// (60) of profiles. Rounds with even numbers choose, those with odd ones say what it is worth: what
// noise has chosen is judged by other noise. In the end a library of the new choices takes turns
// with the old one, whole runs. FOLDER is for the libraries. One set of input shapes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/stats.h"
#include "choose/choose.h"
#include "choose/tables.h"
#include "library/use.h"
#include "library.h"
#include "tuned.h"

enum { MAX_BEST = 8, MAX_ROUNDS = 200, RUNS_A_PROFILE = 4, MAX_PAIRS = 2000, N_CONTESTS = 3 };
#define NEAR 1.15
#define WORTH_CHANGING 0.99  // of what the chosen one takes
#define CONTEST_NS 6000000000u

typedef struct {
  seer_schedule schedule;
  double step_s[MAX_ROUNDS];  // what all steps of the task took in each round
} candidate;

typedef struct {
  candidate *best;  // [0] is what was chosen, the others by time
  uint32_t n;
} contenders;

// A library that runs, and which task each of its steps is.
typedef struct {
  seer_use use;
  seer_step_info *info;
  uint32_t *task_of;
  int32_t n_steps;
} version;

static void gather(const bench_tuned *tuned, const seer_choice *choice, uint32_t n_best,
    uint32_t task, contenders *out) {
  bench_best fastest = {.except = &choice[task].schedule, .n_most = n_best - 1};
  bench_tuned_each(tuned, task, bench_best_visit, &fastest);
  *out = (contenders){SEER_NEW_ARRAY(tuned->arena, candidate, n_best), 1};
  memset(out->best, 0, n_best * sizeof *out->best);
  out->best[0].schedule = choice[task].schedule;
  for (uint32_t k = 0; k < fastest.n; k++)
    if (fastest.seconds[k] <= NEAR * fastest.seconds[0])
      out->best[out->n++].schedule = fastest.schedule[k];
}

// Which of a task's candidates library j has; neighbours are not all of one rank.
static uint32_t candidate_in(const contenders *f, uint32_t task, uint32_t j) {
  return (j + task * 7u + task / 3u) % f->n;
}

static void open_version(const bench_tuned *tuned, const seer_choice *choice, const char *folder,
    seer_pool *pool, version *out) {
  bench_die(
      seer_choice_build(tuned->context, tuned->network, choice, SEER_BUILD_LIBRARY, NULL, folder));
  bench_die(seer_use_open(tuned->context, folder, "", pool, true, tuned->arena, &out->use));
  bench_die(seer_use_fill(tuned->context, &out->use));
  int32_t n = out->n_steps = seer_use_n_steps(&out->use);
  out->info = SEER_NEW_ARRAY(tuned->arena, seer_step_info, n + 1);
  out->task_of = SEER_NEW_ARRAY(tuned->arena, uint32_t, n + 1);
  bench_die(seer_use_time_steps(&out->use, 1, out->info, n));
  for (int32_t i = 0; i < n; i++)
    out->task_of[i] =
        seer_network_find_task(tuned->network->set[0], (uint32_t)i, out->info[i].name);
}

// seconds[n_task] of all steps of each task.
static void profile(version *v, uint32_t n_task, double *seconds) {
  bench_die(seer_use_time_steps(&v->use, RUNS_A_PROFILE, v->info, v->n_steps));
  memset(seconds, 0, n_task * sizeof *seconds);
  for (int32_t i = 0; i < v->n_steps; i++)
    if (v->task_of[i] != UINT32_MAX) seconds[v->task_of[i]] += v->info[i].seconds;
}

// By how much library j is slower than all, in the middle of its tasks: where its weights have come
// to lie is no candidate's doing.
static double level(double *const *seconds, uint32_t n_best, uint32_t n_task, uint32_t j) {
  double *ratio = malloc((n_task + 1) * sizeof *ratio);
  if (!ratio) bench_fail("memory", "there is none");
  uint32_t n = 0;
  for (uint32_t t = 0; t < n_task; t++) {
    double sum_s = 0;
    for (uint32_t k = 0; k < n_best; k++) sum_s += seconds[k][t];
    if (sum_s > 0) ratio[n++] = seconds[j][t] * n_best / sum_s;
  }
  double middle = n ? seer_median(ratio, n) : 1;
  free(ratio);
  return middle;
}

// A candidate that is in several libraries has their mean.
static void take_round(version *mixed, uint32_t n_best, uint32_t round, contenders *all,
    uint32_t n_task, double *const *seconds) {
  for (uint32_t k = 0; k < n_best; k++) {
    uint32_t j = (k + round) % n_best;
    profile(&mixed[j], n_task, seconds[j]);
  }
  for (uint32_t j = 0; j < n_best; j++) {
    double by = level(seconds, n_best, n_task, j);
    for (uint32_t t = 0; t < n_task; t++) {
      uint32_t c = candidate_in(&all[t], t, j), n = 0;
      for (uint32_t k = 0; k < n_best; k++) n += candidate_in(&all[t], t, k) == c;
      all[t].best[c].step_s[round] += seconds[j][t] / by / n;
    }
  }
}

// Of the rounds with even numbers (first 0) or odd ones.
static double median_s(const candidate *c, uint32_t n_rounds, uint32_t first) {
  double half[MAX_ROUNDS];
  uint32_t n = 0;
  for (uint32_t r = first; r < n_rounds; r += 2) half[n++] = c->step_s[r];
  return seer_median(half, n);
}

// Changes `choice` to the candidates that were fastest.
static void choose_again(
    const bench_tuned *tuned, contenders *all, uint32_t n_rounds, seer_choice *choice) {
  double before_s = 0, after_s = 0;
  uint32_t n_changed = 0, n_task = tuned->network->n_task;
  for (uint32_t t = 0; t < n_task; t++) {
    uint32_t best = 0;
    double least_s = WORTH_CHANGING * median_s(&all[t].best[0], n_rounds, 0);
    for (uint32_t c = 1; c < all[t].n; c++) {
      double s = median_s(&all[t].best[c], n_rounds, 0);
      if (s >= least_s) continue;
      least_s = s;
      best = c;
    }
    double was_s = median_s(&all[t].best[0], n_rounds, 1);
    double is_s = median_s(&all[t].best[best], n_rounds, 1);
    before_s += was_s;
    after_s += is_s;
    if (best == 0) continue;
    n_changed++;
    choice[t].schedule = all[t].best[best].schedule;
    printf("%s: %.1f us, of %u %.1f us\n", tuned->network->task[t].name, was_s * 1e6, all[t].n,
        is_s * 1e6);
  }
  printf("%u of %u tasks change; their steps %.3f ms, before %.3f ms: %.4f times as fast\n",
      n_changed, n_task, after_s * 1e3, before_s * 1e3, before_s / after_s);
}

static double run_s(version *v) {
  bench_die(seer_use_run(&v->use));  // what the other one has left in the caches is nobody's time
  uint64_t start = seer_os_now_ns();
  bench_die(seer_use_run(&v->use));
  return (double)(seer_os_now_ns() - start) * 1e-9;
}

static void hold_contest(version *before, version *after) {
  double speedup[MAX_PAIRS];
  uint32_t n = 0;
  uint64_t until = seer_os_now_ns() + CONTEST_NS;
  while (n < MAX_PAIRS && (n == 0 || seer_os_now_ns() < until)) {
    bool is_first = n % 2 == 0;
    double first_s = run_s(is_first ? before : after), second_s = run_s(is_first ? after : before);
    speedup[n++] = is_first ? first_s / second_s : second_s / first_s;
  }
  printf("whole runs, %u pairs: %.4f times as fast\n", n, seer_median(speedup, n));
}

static bool read_flags(int argc, char **argv, uint32_t *n_best, uint32_t *n_rounds) {
  *n_best = 4;
  *n_rounds = 60;
  if (argc < 4 || argc % 2 != 0) return false;
  for (int i = 4; i < argc; i += 2) {
    bool is_best = strcmp(argv[i], "--best") == 0;
    if (!is_best && strcmp(argv[i], "--rounds") != 0) return false;
    *(is_best ? n_best : n_rounds) = (uint32_t)strtoul(argv[i + 1], NULL, 10);
  }
  return *n_best >= 2 && *n_best <= MAX_BEST && *n_rounds >= 4 && *n_rounds <= MAX_ROUNDS;
}

int main(int argc, char **argv) {
  uint32_t n_best, n_rounds;
  if (!read_flags(argc, argv, &n_best, &n_rounds)) {
    fprintf(stderr,
        "usage: versions RECORDS.sqlite MODEL FOLDER [--best 2 to %d] [--rounds 4 to %d]\n",
        MAX_BEST, MAX_ROUNDS);
    return 2;
  }
  bench_tuned tuned;
  bench_tuned_open(&tuned, argv[1], argv[2], SEER_BUILD_DIR "/familyseer");
  seer_choice *choice;
  seer_choose_counts counts;
  bench_die(seer_choose(
      tuned.context, tuned.network, tuned.records, 2, tuned.arena, &choice, &counts));
  uint32_t n_task = tuned.network->n_task;
  contenders *all = SEER_NEW_ARRAY(tuned.arena, contenders, n_task);
  for (uint32_t t = 0; t < n_task; t++) gather(&tuned, choice, n_best, t, &all[t]);
  version chosen, mixed[MAX_BEST], again;
  open_version(&tuned, choice, seer_os_path_join(tuned.arena, argv[3], "chosen"), NULL, &chosen);
  seer_choice *mix = SEER_NEW_ARRAY(tuned.arena, seer_choice, n_task + 1);
  memcpy(mix, choice, n_task * sizeof *mix);
  for (uint32_t j = 0; j < n_best; j++) {
    for (uint32_t t = 0; t < n_task; t++)
      mix[t].schedule = all[t].best[candidate_in(&all[t], t, j)].schedule;
    const char *folder = seer_arena_printf(tuned.arena, "%s/mixed%u", argv[3], j);
    open_version(&tuned, mix, folder, chosen.use.pool, &mixed[j]);
  }
  double *seconds[MAX_BEST];
  for (uint32_t j = 0; j < n_best; j++) seconds[j] = SEER_NEW_ARRAY(tuned.arena, double, n_task);
  for (uint32_t r = 0; r < n_rounds; r++) take_round(mixed, n_best, r, all, n_task, seconds);
  choose_again(&tuned, all, n_rounds, choice);
  const char *folder = seer_os_path_join(tuned.arena, argv[3], "again");
  open_version(&tuned, choice, folder, chosen.use.pool, &again);
  for (int k = 0; k < N_CONTESTS; k++) hold_contest(&chosen, &again);
  seer_use_close(&again.use);
  for (uint32_t j = 0; j < n_best; j++) seer_use_close(&mixed[j].use);
  seer_use_close(&chosen.use);
  bench_tuned_close(&tuned);
  return 0;
}
