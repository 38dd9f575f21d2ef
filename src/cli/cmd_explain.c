// cmd_explain.c - familyseer explain MODEL [TASK]: where a network's time goes, and why; of one
// task also its schedule, its loops and what was tried. Nothing is measured: times are the
// records', else the analytic estimate, which is marked.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "choose/choose.h"
#include "cli/command.h"
#include "cli/explain.h"
#include "cli/json.h"
#include "models/models.h"
#include "record/speeds.h"
#include "space/lower.h"

#define RECORD_LEVEL 2  // the winner of exactly this task, else the untuned choice

typedef struct {
  seer_context *context;
  const seer_network *network;
  seer_choice *choices;
  seer_explained *of;
  seer_arena *arena;
} explanation;

static uint32_t *order_by_share(const explanation *e) {
  uint32_t n = e->network->n_task, *order = SEER_NEW_ARRAY(e->arena, uint32_t, n + 1);
  for (uint32_t t = 0; t < n; t++) {
    uint32_t at = t;
    for (; at > 0 && e->of[order[at - 1]].share < e->of[t].share; at--) order[at] = order[at - 1];
    order[at] = t;
  }
  return order;
}

static double percent(double part, double of) { return of > 0 ? 100 * part / of : 0; }

// ---- all tasks

static void print_task_row(const explanation *e, uint32_t t) {
  const seer_explained *of = &e->of[t];
  double one_s = seer_explained_seconds(of);
  printf("%4u %5.1f%% %6u %9.1f us%s %6.0f%%  %-14s %3.0f%%  %6u  %s\n", t, 100 * of->share,
      e->network->task[t].weight, one_s * 1e6, of->seconds > 0 ? " " : "~",
      percent(of->bound_s, one_s), seer_limit_name(of->limit),
      percent(of->of_limit[of->limit], of->estimate_s), of->n_measured,
      seer_text_safe(e->arena, e->network->task[t].name));
}

static void print_sums(const explanation *e) {
  double all_s = 0, bound_s = 0, of_limit[SEER_LIMIT_COUNT] = {0};
  uint32_t n_measured = 0, n = e->network->n_task;
  for (uint32_t t = 0; t < n; t++) {
    const seer_explained *of = &e->of[t];
    double weight = e->network->task[t].weight;
    all_s += weight * seer_explained_seconds(of);
    bound_s += weight * of->bound_s;
    n_measured += of->seconds > 0;
    for (seer_limit k = 0; k < SEER_LIMIT_COUNT; k++)
      of_limit[k] += of->share * percent(of->of_limit[k], of->estimate_s);
  }
  printf("sum of tasks %.3f ms, of %u of %u tasks measured; their bounds %.3f ms, %.0f %% of it\n",
      all_s * 1e3, n_measured, n, bound_s * 1e3, percent(bound_s, all_s));
  printf("time goes to");
  for (seer_limit k = 0; k < SEER_LIMIT_COUNT; k++)
    printf("%s %s %.0f %%", k ? "," : "", seer_limit_name(k), of_limit[k]);
  printf("\n");
}

static void print_tasks(const explanation *e) {
  const uint32_t *order = order_by_share(e);
  printf("%4s %6s %6s %13s %7s  %-19s  %6s  %s\n", "id", "share", "weight", "time  ", "bound",
      "limited by", "trials", "task");
  for (uint32_t i = 0; i < e->network->n_task; i++) print_task_row(e, order[i]);
  if (e->network->n_task > 0) print_sums(e);
  printf(
      "~ is an estimate; bound: the share of the time that no schedule gets below; `familyseer "
      "explain MODEL ID` shows one\n");
}

// ---- one

static void print_limits(const seer_explained *of) {
  printf("limited by  %s, %.0f %% of the estimate: %s\n", seer_limit_name(of->limit),
      percent(of->of_limit[of->limit], of->estimate_s), seer_limit_doc(of->limit));
  printf("            ");
  for (seer_limit k = 0; k < SEER_LIMIT_COUNT; k++)
    printf("%s%s %.1f us", k ? ", " : "", seer_limit_name(k), of->of_limit[k] * 1e6);
  printf("\n");
}

static void print_tried(const seer_explained *of) {
  if (of->n_measured == 0) {
    printf("tried       nothing is in the records\n");
    return;
  }
  printf("tried       %u measured: %u failed, %u dropped early", of->n_measured, of->n_failed,
      of->n_dropped);
  if (of->best_s > 0) printf("; the best one took %.1f us", of->best_s * 1e6);
  printf("\n");
}

static seer_status print_loops(const explanation *e, uint32_t t) {
  const seer_choice *choice = &e->choices[t];
  seer_loop *loop;
  SEER_TRY(seer_loop_lower(choice->sketches, &choice->schedule, e->arena, &loop));
  printf("\n%s\n%s", seer_schedule_print(choice->sketches, &choice->schedule, e->arena),
      seer_loop_print(loop, e->arena));
  return SEER_OK;
}

static seer_status print_one(const explanation *e, uint32_t t) {
  const seer_task *task = &e->network->task[t];
  const seer_explained *of = &e->of[t];
  const seer_choice *choice = &e->choices[t];
  const seer_roofline *r = &of->roofline;
  printf("task %u      %s: %s, %u time%s, %.4f GFLOP, %.1f %% of the network's time\n", t,
      seer_text_safe(e->arena, task->name), task->anchor_class, task->weight,
      task->weight == 1 ? "" : "s", task->flops / 1e9, 100 * of->share);
  if (of->seconds > 0)
    printf("time        %.1f us measured, %.1f us by the estimate", of->seconds * 1e6,
        of->estimate_s * 1e6);
  else
    printf("time        %.1f us by the estimate, never measured", of->estimate_s * 1e6);
  if (choice->n_pairs > 0)
    printf("; untuned %.1f us, in %u pairs %.2f times as fast", choice->untuned_seconds * 1e6,
        choice->n_pairs, choice->speedup);
  printf("\nschedule    %s\n", seer_origin_name(choice->origin));
  printf(
      "bound       %.1f us, %.0f %% of the time; compute %.1f us, L2 %.1f, L3 %.1f, memory %.1f\n",
      of->bound_s * 1e6, percent(of->bound_s, seer_explained_seconds(of)), r->compute_s * 1e6,
      r->level_s[0] * 1e6, r->level_s[1] * 1e6, r->level_s[2] * 1e6);
  print_limits(of);
  print_tried(of);
  return print_loops(e, t);
}

// ---- JSON

static json_t *limits_json(const seer_explained *of) {
  json_t *limits = json_object();
  for (seer_limit k = 0; k < SEER_LIMIT_COUNT; k++)
    json_object_set_new(limits, seer_limit_name(k), json_real(of->of_limit[k]));
  return limits;
}

static json_t *task_json(const explanation *e, uint32_t t) {
  const seer_explained *of = &e->of[t];
  const seer_task *task = &e->network->task[t];
  json_t *line = json_pack("{s:i, s:s, s:i, s:f, s:f, s:f, s:s, s:o, s:s, s:i, s:i, s:i}", "id",
      (int)t, "name", seer_text_safe_whole(e->arena, task->name), "weight", (int)task->weight,
      "share", of->share, "estimated_seconds", of->estimate_s, "bound_seconds", of->bound_s,
      "limited_by", seer_limit_name(of->limit), "estimate", limits_json(of), "source",
      seer_origin_name(e->choices[t].origin), "measured", (int)of->n_measured, "failed",
      (int)of->n_failed, "dropped", (int)of->n_dropped);
  if (line && of->seconds > 0) json_object_set_new(line, "seconds", json_real(of->seconds));
  if (line && of->best_s > 0) json_object_set_new(line, "best_seconds", json_real(of->best_s));
  return line;
}

static seer_status put_tasks(const explanation *e) {
  const uint32_t *order = order_by_share(e);
  json_t *tasks = json_array();
  for (uint32_t i = 0; i < e->network->n_task; i++)
    json_array_append_new(tasks, task_json(e, order[i]));
  return seer_cli_put_json(json_pack("{s:s, s:o}", "model",
      seer_text_safe_whole(e->arena, e->network->graph->name), "tasks", tasks));
}

static seer_status put_one(const explanation *e, uint32_t t) {
  const seer_choice *choice = &e->choices[t];
  seer_loop *loop;
  SEER_TRY(seer_loop_lower(choice->sketches, &choice->schedule, e->arena, &loop));
  json_t *line = task_json(e, t);
  if (line) {
    json_object_set_new(line, "schedule",
        json_string(seer_schedule_print(choice->sketches, &choice->schedule, e->arena)));
    json_object_set_new(line, "loops", json_string(seer_loop_print(loop, e->arena)));
  }
  return seer_cli_put_json(line);
}

// ---- the command

static seer_status explain(
    seer_context *context, const seer_network *network, const char *text, seer_arena *arena) {
  bool is_json = seer_context_bool(context, SEER_OPT_JSON);
  explanation e = {.context = context, .network = network, .arena = arena};
  seer_records *records = NULL;
  seer_choose_counts counts;
  uint32_t t = 0;
  if (text) SEER_TRY(seer_explain_find(network, text, arena, &t));
  seer_status status = seer_records_open_by_options(context, false, &records);
  if (!status) status = seer_speeds_recall(context, records);
  if (!status)
    status = seer_choose(context, network, records, RECORD_LEVEL, arena, &e.choices, &counts);
  if (!status) status = seer_explain(context, network, e.choices, records, arena, &e.of);
  seer_records_close(records);
  if (status) return status;
  if (text) return is_json ? put_one(&e, t) : print_one(&e, t);
  if (is_json) return put_tasks(&e);
  print_tasks(&e);
  return SEER_OK;
}

static seer_status run(seer_context *context, int argc, char **argv) {
  SEER_TRY(seer_context_find_target(context));
  seer_arena *arena = seer_arena_create("model");
  seer_network *network = NULL;
  seer_status status = seer_front_load(context, argv[0], seer_model_build, arena, &network);
  if (!status) {
    seer_cli_print_notices(network);
    status = explain(context, network, argc > 1 ? argv[1] : NULL, arena);
    seer_graph_close(network->graph);
  }
  seer_arena_destroy(arena);
  return status;
}

const seer_command seer_command_explain = {
    .name = "explain",
    .args = "MODEL [TASK] [--input-shapes x:1x8]... [--records FILE] [--json]",
    .doc =
        "where a network's time goes, and what limits each task: arithmetic, a level of memory, "
        "threads; of one (its number, or a part of its name) the loops, and what was tried",
    .example = "  familyseer explain my.onnx\n  familyseer explain my.onnx 3\n",
    .flags = "target threads input-shapes precision records json",
    .min_args = 1,
    .max_args = 2,
    .run = run,
};
