// tuned.c - records and tasks of a tuning, by the same readers as familyseer's own.
#include "tuned.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "models/models.h"
#include "record/speeds.h"
#include "choose/plain.h"

void bench_die(seer_status status) {
  if (!status) return;
  fprintf(stderr, "%s: %s\n", program_invocation_short_name, seer_status_message(status));
  exit(1);
}

void bench_tuned_open(
    bench_tuned *out, const char *records_path, const char *model, const char *worker) {
  *out = (bench_tuned){.arena = seer_arena_create("tuned")};
  bench_die(seer_context_create(&out->context));
  bench_die(seer_context_set(out->context, "worker-path", worker));
  bench_die(seer_records_open_to_read(out->context, records_path, &out->records));
  bench_die(seer_speeds_recall(out->context, out->records));
  bench_die(seer_front_load(out->context, model, seer_model_build, out->arena, &out->network));
  out->sketches = SEER_NEW_ARRAY(out->arena, seer_sketch_list *, out->network->n_task);
  for (uint32_t t = 0; t < out->network->n_task; t++)
    bench_die(seer_choice_sketches(
        out->context, out->network->task[t].dag, out->arena, &out->sketches[t]));
}

void bench_tuned_close(bench_tuned *tuned) {
  seer_records_close(tuned->records);
  seer_graph_close(tuned->network->graph);
  seer_context_destroy(tuned->context);
  seer_arena_destroy(tuned->arena);
}

typedef struct {
  seer_record_rule rule;
  bench_tuned_visit visit;
  void *user;
  uint32_t n;
} walk;

static seer_status pass_on(void *user, const seer_record *record) {
  walk *w = user;
  seer_schedule schedule;
  bool is_timed = record->cls == SEER_MEASURED_OK && record->n_samples > 0 && !record->is_twin;
  if (!is_timed || seer_record_examine(&w->rule, record, &schedule, NULL) != SEER_RECORD_SOUND)
    return SEER_OK;
  w->visit(w->user, record, &schedule);
  w->n++;
  return SEER_OK;
}

void bench_tuned_each(
    const bench_tuned *tuned, uint32_t task, bench_tuned_visit visit, void *user) {
  int64_t targets[SEER_RECORD_MAX_TARGETS], workload;
  uint32_t n;
  bench_die(
      seer_records_find_targets(tuned->records, seer_context_target(tuned->context), targets, &n));
  bench_die(seer_records_find_workload(tuned->records, tuned->network->task[task].key, &workload));
  walk w = {seer_record_rule_of(tuned->sketches[task]), visit, user, 0};
  for (uint32_t k = 0; k < n && workload && w.n == 0; k++)
    bench_die(seer_records_each(tuned->records, workload, targets[k], pass_on, &w));
}

static bool never(void *user) {
  (void)user;
  return false;
}

static void tell(void *user, const char *text) {
  (void)user;
  fprintf(stderr, "%s\n", text);
}

bench_timer bench_tuned_timer(const bench_tuned *tuned) {
  seer_measure_choice choice;
  bench_die(seer_measure_find("local", tuned->arena, &choice));
  const seer_waiter waiter = {never, tell, NULL};
  bool is_over;
  bench_timer timer = {.desc = choice.desc};
  bench_die(
      seer_measure_lock_take(tuned->context, choice.desc, &waiter, &timer.device, &is_over));
  bench_die(timer.desc->open(
      tuned->context, seer_context_target(tuned->context), choice.argument, &timer.measurer));
  uint64_t weight_bytes = seer_measure_network_bytes(tuned->network);
  for (uint32_t t = 0; t < tuned->network->n_task; t++) {
    seer_measure_task task = {
        t, tuned->network->task[t].dag, tuned->sketches[t], SEER_SPACE_FULL, weight_bytes};
    bench_die(timer.desc->add_task(timer.measurer, &task));
  }
  return timer;
}

void bench_best_visit(void *user, const seer_record *record, const seer_schedule *schedule) {
  bench_best *best = user;
  if (record->is_raced_out || seer_schedule_equal(schedule, best->except)) return;
  uint32_t at = 0;
  while (at < best->n && !seer_schedule_equal(&best->schedule[at], schedule)) at++;
  bool is_full = at == best->n_most;
  if (is_full) at--;
  if ((is_full || at < best->n) && record->seconds >= best->seconds[at]) return;
  if (at == best->n) best->n++;
  for (; at > 0 && best->seconds[at - 1] > record->seconds; at--) {
    best->schedule[at] = best->schedule[at - 1];
    best->seconds[at] = best->seconds[at - 1];
  }
  best->schedule[at] = *schedule;
  best->seconds[at] = record->seconds;
}
