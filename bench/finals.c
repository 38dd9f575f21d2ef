// finals.c - how much faster could what a tuning has found be, had its finals chosen with an
// oracle's care? Of each task what ships and the best that was measured, as many as finals take,
// are timed again in turns.
//   finals RECORDS.sqlite MODEL [--pairs N] [--models FILE]
// N (300) pairs of each contender and of what ships, in visits some time apart. The pairs with odd
// numbers choose the oracle's, the even ones say what it is worth: who is chosen by some pairs is
// judged by others, so chance favours neither. FILE: --pretrained of the tuning, on which depends
// what ships where nothing was accepted; "none": --no-pretrained.
// Regret: by how much the network's sum of what ships is above that of what the oracle takes.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/stats.h"
#include "tune/finals.h"
#include "tune/select/choose.h"
#include "tuned.h"

#define VISITS 6
#define LOT 20  // tasks whose kernels the measurer keeps together: 25 of each
#define MAX_PAIRS (VISITS * SEER_MEASURE_MAX_PAIRS)

typedef struct {
  seer_schedule schedule;
  double seconds;  // as it was measured
  double speedup[MAX_PAIRS];  // over what ships, by pair
  uint32_t n;
} contender;

typedef struct {
  uint32_t task;
  seer_schedule ships;
  contender best[SEER_FINALS_MAX];  // by time
  uint32_t n;
  double ships_s[MAX_PAIRS];
  uint32_t n_ships;
} final;

static void visit(void *user, const seer_record *record, const seer_schedule *schedule) {
  final *f = user;
  if (record->is_raced_out || seer_schedule_equal(schedule, &f->ships)) return;
  uint32_t at = 0;
  while (at < f->n && !seer_schedule_equal(&f->best[at].schedule, schedule)) at++;
  if (at == f->n) {
    if (f->n == SEER_FINALS_MAX && record->seconds >= f->best[f->n - 1].seconds) return;
    if (f->n < SEER_FINALS_MAX) f->n++;
    at = f->n - 1;
  } else if (record->seconds >= f->best[at].seconds) {
    return;
  }
  contender entry = {.schedule = *schedule, .seconds = record->seconds};
  for (; at > 0 && f->best[at - 1].seconds > entry.seconds; at--) f->best[at] = f->best[at - 1];
  f->best[at] = entry;
}

static void take_turns(const bench_timer *timer, final *f, uint32_t n_pairs) {
  for (uint32_t from = 0; from < f->n; from += SEER_MEASURE_MAX_CONTENDERS) {
    uint32_t n = f->n - from < SEER_MEASURE_MAX_CONTENDERS ? f->n - from : SEER_MEASURE_MAX_CONTENDERS;
    seer_schedule schedules[SEER_MEASURE_MAX_CONTENDERS];
    seer_measure_ab ab[SEER_MEASURE_MAX_CONTENDERS];
    seer_measure_pair pairs[SEER_MEASURE_MAX_CONTENDERS * SEER_MEASURE_MAX_PAIRS];
    for (uint32_t i = 0; i < n; i++) schedules[i] = f->best[from + i].schedule;
    bench_die(timer->desc->compare(
        timer->measurer, f->task, schedules, n, &f->ships, n_pairs, ab, pairs));
    for (uint32_t i = 0; i < n; i++) {
      contender *c = &f->best[from + i];
      for (uint32_t k = 0; k < ab[i].n_pairs; k++) {
        const seer_measure_pair *pair = &pairs[i * n_pairs + k];
        c->speedup[c->n++] = pair->baseline_seconds / pair->seconds;
        if (from == 0 && i == 0) f->ships_s[f->n_ships++] = pair->baseline_seconds;
      }
    }
  }
}

static double median_of(const double *values, uint32_t n, uint32_t first) {
  double half[MAX_PAIRS];
  uint32_t n_half = 0;
  for (uint32_t i = first; i < n; i += 2) half[n_half++] = values[i];
  return n_half ? seer_median(half, n_half) : 0;
}

// Time of what the oracle takes, over that of what ships; 1 where it takes what ships.
static double oracle(const final *f, const contender **out_who) {
  *out_who = NULL;
  double most = 1;
  for (uint32_t i = 0; i < f->n; i++) {
    double speedup = median_of(f->best[i].speedup, f->best[i].n, 1);
    if (speedup <= most) continue;
    most = speedup;
    *out_who = &f->best[i];
  }
  return *out_who ? 1 / median_of((*out_who)->speedup, (*out_who)->n, 0) : 1;
}

// What compile takes: the accepted schedule, otherwise the untuned choice.
static seer_choice *choose(bench_tuned *tuned, const char *models) {
  seer_choice *choice;
  seer_choose_counts counts;
  if (strcmp(models, "none") == 0) {
    bench_die(seer_context_set(tuned->context, "no-pretrained", "true"));
  } else if (models[0]) {
    bench_die(seer_context_set(tuned->context, "pretrained", models));
  }
  bench_die(seer_choose(
      tuned->context, tuned->network, tuned->records, 2, tuned->arena, &choice, &counts));
  printf("%u of %u tasks ship what was accepted\n", counts.n_record, tuned->network->n_task);
  return choice;
}

int main(int argc, char **argv) {
  const char *models = "";
  unsigned long n_pairs = 300;
  bool is_wrong = argc < 3 || argc % 2 == 0;
  for (int i = 3; i + 1 < argc && !is_wrong; i += 2) {
    if (strcmp(argv[i], "--pairs") == 0) {
      n_pairs = strtoul(argv[i + 1], NULL, 10);
    } else if (strcmp(argv[i], "--models") == 0) {
      models = argv[i + 1];
    } else {
      is_wrong = true;
    }
  }
  if (is_wrong || n_pairs < 2 * VISITS || n_pairs > MAX_PAIRS) {
    fprintf(stderr, "usage: finals RECORDS.sqlite MODEL [--pairs %d to %d] [--models FILE|none]\n",
        2 * VISITS, MAX_PAIRS);
    return 2;
  }
  bench_tuned tuned;
  bench_tuned_open(&tuned, argv[1], argv[2], SEER_BUILD_DIR "/familyseer");
  const seer_choice *choice = choose(&tuned, models);
  bench_timer timer = bench_tuned_timer(&tuned);
  final *finals = SEER_NEW_ARRAY(tuned.arena, final, tuned.network->n_task);
  uint32_t n = 0;
  for (uint32_t t = 0; t < tuned.network->n_task; t++) {
    finals[n] = (final){.task = t, .ships = choice[t].schedule};
    bench_tuned_each(&tuned, t, visit, &finals[n]);
    if (finals[n].n > 0) n++;
  }
  for (uint32_t from = 0; from < n; from += LOT)
    for (uint32_t v = 0; v < VISITS; v++)
      for (uint32_t i = from; i < n && i < from + LOT; i++)
        take_turns(&timer, &finals[i], (uint32_t)n_pairs / VISITS);
  double ships_s = 0, oracle_s = 0;
  printf("| task | contenders | ships us | the oracle's, times as long | its place by time |\n|---|---|---|---|---|\n");
  for (uint32_t i = 0; i < n; i++) {
    const seer_task *task = &tuned.network->task[finals[i].task];
    const contender *who;
    double seconds = finals[i].n_ships ? seer_median(finals[i].ships_s, finals[i].n_ships) : 0;
    double ratio = oracle(&finals[i], &who);
    ships_s += seconds * task->weight;
    oracle_s += seconds * task->weight * ratio;
    printf("| %s | %u | %.1f | %.4f | ", task->name, finals[i].n, seconds * 1e6, ratio);
    if (who) printf("%d |\n", (int)(who - finals[i].best) + 1);
    if (!who) printf("- |\n");
  }
  printf("\nregret %.2f %% of %.3f ms\n", 100 * (ships_s / oracle_s - 1), ships_s * 1e3);
  timer.desc->close(timer.measurer);
  bench_tuned_close(&tuned);
  return 0;
}
