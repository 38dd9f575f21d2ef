// gpu_times.c - what tunings on a GPU have timed, replayed without one: every schedule is read,
// lowered and estimated again, and the estimate by waves is held against the time.
//   zcat bench/gpu/times-h200.jsonl.gz | gpu_times
// A line for each task (DAG and target as texts), then one for each measurement (make gpu-day).
// By task: Spearman's rank correlation of estimate and time, and the estimate over the time in the
// median. These are schedules that a search chose by estimate and model, so they are more alike
// than drawn ones, and harder to order. Times of schedules that were dropped early are of few calls
// and left out. Status 1: a schedule of the table is not one any more.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "learn/feature.h"
#include "space/lower.h"
#include "support/gpu_measured.h"

enum { MOST_TASKS = 256, MOST_ROWS = 1024, FEWEST = 12 };

typedef struct {
  json_int_t id, target_id;
  const char *name;
  seer_target target;
  seer_sketch_list *list;
  seer_summariser *summariser;
  uint32_t n;
  double estimate[MOST_ROWS], seconds[MOST_ROWS], ratio[MOST_ROWS];
} task;
static task *tasks[MOST_TASKS];
static uint32_t n_tasks, n_rows, n_refused;

static void must(seer_status status) {
  if (!status) return;
  fprintf(stderr, "gpu_times: %s\n", seer_status_message(status));
  exit(2);
}

static const char *text_of(const json_t *line, const char *key) {
  const char *text = json_string_value(json_object_get(line, key));
  return text ? text : "";
}

static json_int_t number_of(const json_t *line, const char *key) {
  return json_integer_value(json_object_get(line, key));
}

static void add_task(const json_t *line, seer_arena *arena) {
  const char *dag_text = seer_arena_strdup(arena, text_of(line, "dag"));
  seer_dag *dag;
  if (n_tasks == MOST_TASKS) return;
  task *t = SEER_NEW(arena, task);
  t->id = number_of(line, "task");
  t->target_id = number_of(line, "target");
  t->name = seer_arena_strdup(arena, text_of(line, "name"));
  must(
      seer_target_parse(seer_arena_strdup(arena, text_of(line, "target_text")), arena, &t->target));
  must(seer_dag_parse("table", dag_text, strlen(dag_text), arena, &dag));
  must(seer_sketch_generate(dag, &t->target, SEER_SPACE_FULL, arena, &t->list));
  t->summariser = seer_summariser_create(t->list, arena);
  tasks[n_tasks++] = t;
}

// False: it is no schedule of today's space, or does not lower.
static bool estimate(task *t, const char *text, double *out_s) {
  seer_arena *arena = seer_arena_create("row");
  seer_schedule schedule;
  seer_loop *loop;
  seer_status status = seer_schedule_parse(t->list, "table", text, strlen(text), &schedule);
  if (!status) status = seer_loop_lower(t->list, &schedule, arena, &loop);
  if (status) {
    fprintf(stderr, "%s: %s\n", t->name, seer_status_message(status));
  } else {
    *out_s = seer_analytic_seconds(seer_summarise(t->summariser, &schedule), &t->target);
  }
  const bool is_fine = !status;
  seer_status_free(status);
  seer_arena_destroy(arena);
  return is_fine;
}

static void add_row(const json_t *line) {
  n_rows++;
  if (strcmp(text_of(line, "class"), "ok") != 0) return;
  for (uint32_t k = 0; k < n_tasks; k++) {
    task *t = tasks[k];
    if (t->id != number_of(line, "task") || t->target_id != number_of(line, "target")) continue;
    double seconds = json_number_value(json_object_get(line, "seconds")), said;
    if (!estimate(t, text_of(line, "schedule"), &said)) {
      n_refused++;
    } else if (number_of(line, "raced") == 0 && t->n < MOST_ROWS) {
      t->estimate[t->n] = said;
      t->seconds[t->n] = seconds;
      t->ratio[t->n++] = said / seconds;
    }
    return;
  }
}

int main(void) {
  seer_arena *arena = seer_arena_create("tasks");
  double rank[MOST_TASKS], ratio[MOST_TASKS];
  char *text = NULL;
  size_t n_bytes = 0;
  uint32_t n = 0;
  while (getline(&text, &n_bytes, stdin) > 0) {
    json_t *line = json_loads(text, 0, NULL);
    if (json_object_get(line, "dag"))
      add_task(line, arena);
    else if (line)
      add_row(line);
    json_decref(line);
  }
  free(text);
  for (uint32_t k = 0; k < n_tasks; k++) {
    task *t = tasks[k];
    if (t->n < FEWEST) continue;
    rank[n] = gpu_measured_rank(t->estimate, t->seconds, t->n);
    ratio[n] = seer_median(t->ratio, t->n);
    printf("%-44s %4u  rank %5.2f  estimate / time %.2f\n", t->name, t->n, rank[n], ratio[n]);
    n++;
  }
  printf("%u tasks, %u measurements, %u refused", n_tasks, n_rows, n_refused);
  if (n > 0)
    printf("; of %u tasks in the median: rank %.3f, estimate / time %.3f", n, seer_median(rank, n),
        seer_median(ratio, n));
  printf("\n");
  seer_arena_destroy(arena);
  return n_refused > 0;
}
