// racing.c - were the schedules that racing dropped really slower? A tuning's dropped ones are
// timed again, whole, in turns with what was the best schedule of their task when they were
// dropped.
//   racing RECORDS.sqlite MODEL [N]
// N (300) of them, evenly from all of the model's tasks on this machine. An error is a dropped one
// that is as fast as that best one, or faster, by the median of its pairs; the interval is Wilson's
// (95 %). Racing's rule is in measure/worker/runner.c.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tuned.h"

#define PAIRS 21
#define SLOWER 1.15  // than the best, which is what racing says of whom it drops

typedef struct {
  uint32_t task;
  seer_schedule dropped, best;  // the best then
  double said;  // how many times as slow the least of its samples was
} trial;

typedef struct {
  bench_tuned tuned;
  trial *trials;
  size_t n, cap;
} scene;

// ---- who was dropped, and against whom

typedef struct {
  scene *scene;
  uint32_t task;
  seer_schedule best;
  double best_s;
} walk;

static void visit(void *user, const seer_record *record, const seer_schedule *schedule) {
  walk *w = user;
  scene *s = w->scene;
  if (!record->is_raced_out) {
    if (w->best_s <= 0 || record->seconds < w->best_s) {
      w->best = *schedule;
      w->best_s = record->seconds;
    }
    return;
  }
  if (w->best_s <= 0) return;
  s->trials = SEER_GROW(s->tuned.arena, trial, s->trials, s->n, &s->cap);
  s->trials[s->n++] = (trial){w->task, *schedule, w->best, record->seconds / w->best_s};
}

// ---- again

static void tell(uint32_t n, const char *what, uint32_t k) {
  const double z = 1.96;
  double p = (double)k / n, middle = p + z * z / (2 * n),
         half = z * sqrt(p * (1 - p) / n + z * z / (4.0 * n * n)), scale = 1 + z * z / n;
  printf("%-44s %5u of %u, %.2f %% [%.2f, %.2f]\n", what, k, n, 100 * p,
      100 * fmax(0, middle - half) / scale, 100 * (middle + half) / scale);
}

static void time_again(scene *s, uint32_t n_wanted) {
  bench_timer timer = bench_tuned_timer(&s->tuned);
  uint32_t n = 0, n_faster = 0, n_near = 0;
  size_t step = s->n > n_wanted ? s->n / n_wanted : 1;
  for (size_t i = 0; i < s->n && n < n_wanted; i += step) {
    const trial *t = &s->trials[i];
    seer_measure_ab ab;
    bench_die(
        timer.desc->compare(timer.measurer, SEER_MEASURE_HOME, t->task, &t->dropped, 1, &t->best, PAIRS, &ab, NULL));
    if (ab.n_pairs == 0) continue;
    n++;
    n_near += ab.speedup > 1 / SLOWER;
    n_faster += ab.speedup >= 1;
    if (ab.speedup >= 1)
      printf("task %u, %s: %.2f times as slow then, %.3f now\n", t->task,
          s->tuned.network->task[t->task].name, t->said, 1 / ab.speedup);
  }
  timer.desc->close(timer.measurer);
  if (n == 0) {
    printf("nothing was dropped\n");
    return;
  }
  printf("%zu were dropped\n", s->n);
  tell(n, "as fast as the best then, or faster (errors)", n_faster);
  tell(n, "slower by less than 15 %", n_near - n_faster);
}

int main(int argc, char **argv) {
  if (argc < 3 || argc > 4) {
    fprintf(stderr, "usage: racing RECORDS.sqlite MODEL [N]\n");
    return 2;
  }
  scene s = {0};
  bench_tuned_open(&s.tuned, argv[1], argv[2], SEER_BUILD_DIR "/familyseer");
  for (uint32_t t = 0; t < s.tuned.network->n_task; t++) {
    walk w = {.scene = &s, .task = t};
    bench_tuned_each(&s.tuned, t, visit, &w);
  }
  time_again(&s, argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 300);
  bench_tuned_close(&s.tuned);
  return 0;
}
