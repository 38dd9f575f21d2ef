// finals.c - how much faster could what a tuning has found be, had its finals chosen with an
// oracle's care? Of each task what they chose and the best that was measured, as many as finals
// take, are timed again in turns.
//   finals RECORDS.sqlite MODEL [--pairs N] [--models FILE] [--seed N] [--also RECORDS.sqlite]...
// Chosen is the winner; where it fell back in the network it is still the finals' choice; else the
// untuned one. N (300) pairs of each contender and of it, in visits some time apart. The pairs with
// odd numbers choose the oracle's, the even ones say what it is worth: who is chosen by some pairs
// is judged by others, so chance favours neither. FILE, --seed: --pretrained and --seed of the
// tuning, on which depends what is untuned; "none": --no-pretrained. --also: contenders are the
// best of those records, too: regret is then what the tuning has left of what is known.
// Regret: by how much the network's sum of what was chosen is above that of what the oracle takes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "tune/finals.h"
#include "choose/choose.h"
#include "tuned.h"

#define VISITS 6
#define LOT 20  // tasks whose kernels the measurer keeps together: 25 of each
#define MAX_ALSO 16
#define MAX_PAIRS (VISITS * SEER_MEASURE_MAX_PAIRS)

typedef struct {
  seer_schedule schedule;
  double speedup[MAX_PAIRS];  // over what was chosen, by pair
  uint32_t n;
} contender;

typedef struct {
  uint32_t task;
  seer_schedule chosen;
  bool has_fallen;
  contender best[SEER_FINALS_MAX];  // by time
  uint32_t n;
  double chosen_s[MAX_PAIRS];
  uint32_t n_chosen;
} final;

// What has won here and was slower in the network.
static void note_fallen(void *user, const seer_record *record, const seer_schedule *schedule) {
  final *f = user;
  if (record->state != SEER_RECORD_REFUSED || record->ab.n_pairs == 0 ||
      record->ab.speedup < SEER_FINALS_MIN_SPEEDUP)
    return;
  f->chosen = *schedule;
  f->has_fallen = true;
}

static void take_turns(const bench_timer *timer, final *f, uint32_t n_pairs) {
  for (uint32_t from = 0; from < f->n; from += SEER_MEASURE_MAX_CONTENDERS) {
    uint32_t n =
        f->n - from < SEER_MEASURE_MAX_CONTENDERS ? f->n - from : SEER_MEASURE_MAX_CONTENDERS;
    seer_schedule schedules[SEER_MEASURE_MAX_CONTENDERS];
    seer_measure_ab ab[SEER_MEASURE_MAX_CONTENDERS];
    seer_measure_pair pairs[SEER_MEASURE_MAX_CONTENDERS * SEER_MEASURE_MAX_PAIRS];
    for (uint32_t i = 0; i < n; i++) schedules[i] = f->best[from + i].schedule;
    bench_die(timer->desc->compare(
        timer->measurer, SEER_MEASURE_HOME, f->task, schedules, n, &f->chosen, n_pairs, ab, pairs));
    for (uint32_t i = 0; i < n; i++) {
      contender *c = &f->best[from + i];
      for (uint32_t k = 0; k < ab[i].n_pairs; k++) {
        const seer_measure_pair *pair = &pairs[i * n_pairs + k];
        c->speedup[c->n++] = pair->baseline_seconds / pair->seconds;
        if (from == 0 && i == 0) f->chosen_s[f->n_chosen++] = pair->baseline_seconds;
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

// Time of what the oracle takes, over that of what was chosen; 1 where it takes the same.
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

typedef struct {
  const char *models, *seed, *also[MAX_ALSO];
  uint32_t n_also;
  unsigned long n_pairs;
} request;

static bool read_flags(int argc, char **argv, request *out) {
  *out = (request){.models = "", .seed = "1", .n_pairs = 300};
  if (argc < 3 || argc % 2 == 0) return false;
  for (int i = 3; i < argc; i += 2) {
    const char *flag = argv[i], *value = argv[i + 1];
    if (strcmp(flag, "--pairs") == 0) {
      out->n_pairs = strtoul(value, NULL, 10);
    } else if (strcmp(flag, "--models") == 0) {
      out->models = value;
    } else if (strcmp(flag, "--seed") == 0) {
      out->seed = value;
    } else if (strcmp(flag, "--also") == 0 && out->n_also < MAX_ALSO) {
      out->also[out->n_also++] = value;
    } else {
      return false;
    }
  }
  return out->n_pairs >= 2 * VISITS && out->n_pairs <= MAX_PAIRS;
}

// What compile takes: the accepted schedule, otherwise the untuned choice.
static seer_choice *choose(bench_tuned *tuned, const request *r) {
  seer_choice *choice;
  seer_choose_counts counts;
  if (strcmp(r->models, "none") == 0) {
    bench_die(seer_context_set(tuned->context, "no-pretrained", "true"));
  } else if (r->models[0]) {
    bench_die(seer_context_set(tuned->context, "pretrained", r->models));
  }
  bench_die(seer_context_set(tuned->context, "seed", r->seed));
  bench_die(seer_choose(
      tuned->context, tuned->network, tuned->records, 2, tuned->arena, &choice, &counts));
  printf("%u of %u tasks ship what was accepted\n", counts.n_record, tuned->network->n_task);
  return choice;
}

static void gather(const bench_tuned *tuned, const request *r, final *out) {
  bench_tuned_each(tuned, out->task, note_fallen, out);
  bench_best best = {.except = &out->chosen, .n_most = SEER_FINALS_MAX};
  bench_tuned_each(tuned, out->task, bench_best_visit, &best);
  for (uint32_t i = 0; i < r->n_also; i++) {
    bench_tuned other = *tuned;
    bench_die(seer_records_open_to_read(tuned->context, r->also[i], &other.records));
    bench_tuned_each(&other, out->task, bench_best_visit, &best);
    seer_records_close(other.records);
  }
  out->n = best.n;
  for (uint32_t k = 0; k < best.n; k++) out->best[k] = (contender){.schedule = best.schedule[k]};
}

static void print(const bench_tuned *tuned, final *finals, uint32_t n) {
  double chosen_s = 0, oracle_s = 0;
  printf("| task | contenders | chosen us | the oracle's, times as long | its place by time |\n");
  printf("|---|---|---|---|---|\n");
  for (uint32_t i = 0; i < n; i++) {
    final *f = &finals[i];
    const seer_task *task = &tuned->network->task[f->task];
    const contender *who;
    double seconds = f->n_chosen ? seer_median(f->chosen_s, f->n_chosen) : 0;
    double ratio = oracle(f, &who);
    chosen_s += seconds * task->weight;
    oracle_s += seconds * task->weight * ratio;
    printf("| %s%s | %u | %.1f | %.4f | ", task->name,
        f->has_fallen ? " (fell back in the network)" : "", f->n, seconds * 1e6, ratio);
    if (who) printf("%d |\n", (int)(who - f->best) + 1);
    if (!who) printf("- |\n");
  }
  printf("\nregret %.2f %% of %.3f ms\n", 100 * (chosen_s / oracle_s - 1), chosen_s * 1e3);
}

int main(int argc, char **argv) {
  request r;
  if (!read_flags(argc, argv, &r)) {
    fprintf(stderr,
        "usage: finals RECORDS.sqlite MODEL [--pairs %d to %d] [--models FILE|none] [--seed N] "
        "[--also RECORDS.sqlite]...\n",
        2 * VISITS, MAX_PAIRS);
    return 2;
  }
  bench_tuned tuned;
  bench_tuned_open(&tuned, argv[1], argv[2], SEER_BUILD_DIR "/familyseer");
  const seer_choice *choice = choose(&tuned, &r);
  bench_timer timer = bench_tuned_timer(&tuned);
  final *finals = SEER_NEW_ARRAY(tuned.arena, final, tuned.network->n_task);
  uint32_t n = 0;
  for (uint32_t t = 0; t < tuned.network->n_task; t++) {
    finals[n] = (final){.task = t, .chosen = choice[t].schedule};
    gather(&tuned, &r, &finals[n]);
    if (finals[n].n > 0) n++;
  }
  for (uint32_t from = 0; from < n; from += LOT)
    for (uint32_t v = 0; v < VISITS; v++)
      for (uint32_t i = from; i < n && i < from + LOT; i++)
        take_turns(&timer, &finals[i], (uint32_t)r.n_pairs / VISITS);
  print(&tuned, finals, n);
  timer.desc->close(timer.measurer);
  bench_tuned_close(&tuned);
  return 0;
}
