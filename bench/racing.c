// racing.c - were the schedules that racing dropped really slower? A tuning's dropped ones are timed
// again, whole, in turns with what was the best schedule of their task when they were dropped.
//   racing RECORDS.sqlite MODEL [N]
// N (300) of them, evenly from all of the model's tasks on this machine. An error is a dropped one
// that is as fast as that best one, or faster, by the median of its pairs; the interval is Wilson's
// (95 %). Racing's rule is in tune/measure/runner.c.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "front/front.h"
#include "models/models.h"
#include "setup/context.h"
#include "tune/measure.h"
#include "tune/record.h"
#include "tune/record/sound.h"

#define PAIRS 21
#define SLOWER 1.15  // than the best, which is what racing says of whom it drops

typedef struct {
  uint32_t task;
  seer_schedule dropped, best;  // the best then
  double said;  // how many times as slow the least of its samples was
} trial;

typedef struct {
  seer_context *context;
  seer_records *records;
  seer_arena *arena;
  const seer_network *network;
  seer_sketch_list **sketches;
  trial *trials;
  size_t n, cap;
} scene;

static void die(seer_status status) {
  if (!status) return;
  fprintf(stderr, "racing: %s\n", seer_status_message(status));
  exit(1);
}

// ---- who was dropped, and against whom

typedef struct {
  scene *scene;
  uint32_t task;
  seer_record_rule rule;
  seer_schedule best;
  double best_s;
} walk;

static seer_status visit(void *user, const seer_record *record) {
  walk *w = user;
  scene *s = w->scene;
  seer_schedule schedule;
  bool is_timed = record->cls == SEER_MEASURED_OK && record->n_samples > 0 && !record->is_twin;
  if (!is_timed || seer_record_judge(&w->rule, record, &schedule, NULL) != SEER_RECORD_SOUND)
    return SEER_OK;
  if (!record->is_raced_out) {
    if (w->best_s <= 0 || record->seconds < w->best_s) {
      w->best = schedule;
      w->best_s = record->seconds;
    }
    return SEER_OK;
  }
  if (w->best_s <= 0) return SEER_OK;
  s->trials = SEER_GROW(s->arena, trial, s->trials, s->n, &s->cap);
  s->trials[s->n++] = (trial){w->task, schedule, w->best, record->seconds / w->best_s};
  return SEER_OK;
}

static void find_trials(scene *s) {
  int64_t targets[SEER_RECORD_MAX_TARGETS], workload;
  uint32_t n;
  die(seer_records_find_targets(s->records, seer_context_target(s->context), targets, &n));
  for (uint32_t t = 0; t < s->network->n_task; t++) {
    const seer_task *task = &s->network->task[t];
    die(seer_sketch_generate(task->dag, seer_context_target(s->context), SEER_SPACE_FULL, s->arena,
        &s->sketches[t]));
    die(seer_records_find_workload(s->records, task->key, &workload));
    size_t before = s->n;
    for (uint32_t k = 0; k < n && workload && s->n == before; k++) {
      walk w = {.scene = s, .task = t, .rule = seer_record_rule_of(s->sketches[t])};
      die(seer_records_each(s->records, workload, targets[k], visit, &w));
    }
  }
}

// ---- again

static const seer_measure_desc *open_measurer(scene *s, seer_measurer **out) {
  seer_measure_choice choice;
  die(seer_measure_find("local", s->arena, &choice));
  const seer_measure_desc *measure = choice.desc;
  die(measure->open(s->context, seer_context_target(s->context), choice.argument, out));
  double weight_bytes = 0;
  for (uint32_t t = 0; t < s->network->n_task; t++)
    weight_bytes += seer_dag_weight_bytes(s->network->task[t].dag) * s->network->task[t].weight;
  for (uint32_t t = 0; t < s->network->n_task; t++) {
    seer_measure_task task = {t, s->network->task[t].dag, s->sketches[t], SEER_SPACE_FULL,
        (uint64_t)(weight_bytes / s->network->n_set)};
    die(measure->add_task(*out, &task));
  }
  return measure;
}

static void tell(uint32_t n, const char *what, uint32_t k) {
  const double z = 1.96;
  double p = (double)k / n, middle = p + z * z / (2 * n),
         half = z * sqrt(p * (1 - p) / n + z * z / (4.0 * n * n)), scale = 1 + z * z / n;
  printf("%-44s %5u of %u, %.2f %% [%.2f, %.2f]\n", what, k, n, 100 * p,
      100 * fmax(0, middle - half) / scale, 100 * (middle + half) / scale);
}

static void time_again(scene *s, uint32_t n_wanted) {
  seer_measurer *measurer;
  const seer_measure_desc *measure = open_measurer(s, &measurer);
  uint32_t n = 0, n_faster = 0, n_near = 0;
  size_t step = s->n > n_wanted ? s->n / n_wanted : 1;
  for (size_t i = 0; i < s->n && n < n_wanted; i += step) {
    const trial *t = &s->trials[i];
    seer_measure_ab ab;
    die(measure->compare(measurer, t->task, &t->dropped, 1, &t->best, PAIRS, &ab, NULL));
    if (ab.n_pairs == 0) continue;
    n++;
    n_near += ab.speedup > 1 / SLOWER;
    n_faster += ab.speedup >= 1;
    if (ab.speedup >= 1)
      printf("task %u, %s: %.2f times as slow then, %.3f now\n", t->task,
          s->network->task[t->task].name, t->said, 1 / ab.speedup);
  }
  measure->close(measurer);
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
  scene s = {.arena = seer_arena_create("racing")};
  die(seer_context_create(&s.context));
  die(seer_context_set(s.context, "worker-path", SEER_BUILD_DIR "/familyseer"));
  die(seer_context_find_target(s.context));
  die(seer_records_open_to_read(s.context, argv[1], &s.records));
  seer_network *network;
  die(seer_front_load(s.context, argv[2], seer_model_build, s.arena, &network));
  s.network = network;
  s.sketches = SEER_NEW_ARRAY(s.arena, seer_sketch_list *, network->n_task);
  find_trials(&s);
  time_again(&s, argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 300);
  seer_records_close(s.records);
  seer_graph_close(network->graph);
  seer_context_destroy(s.context);
  seer_arena_destroy(s.arena);
  return 0;
}
