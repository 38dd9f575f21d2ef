// cmd_tasks.c - familyseer tasks: the subgraphs that a network is cut into, what is tuned and how
// much of the whole each one is.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "choose/choose.h"
#include "cli/command.h"
#include "cli/json.h"
#include "cli/unbuilt.h"
#include "front/select.h"
#include "models/models.h"
#include "record/sound.h"
#include "record/speeds.h"

// Of all sets of shapes.
static uint32_t n_steps(const seer_network *network, seer_step_kind kind) {
  uint32_t n = 0;
  for (uint32_t s = 0; s < network->n_set; s++)
    for (uint32_t k = 0; k < network->set[s]->n_step; k++)
      n += network->set[s]->step[k].kind == kind;
  return n;
}

// What there is to say of a task beside what it computes.
typedef struct {
  uint64_t packed_bytes;  // of its weights as -O1 packs them, in the order its kernels read them
  seer_record winner;  // id 0: none is known
  bool is_selected;  // by --tasks and --ops: shown
} task_state;

static seer_status find_winners(const seer_context *context, const seer_network *network,
    seer_records *records, const seer_choice *choices, seer_arena *arena, task_state *out) {
  int64_t targets[SEER_RECORD_MAX_TARGETS], workload;
  uint32_t n;
  if (!records) return SEER_OK;
  seer_status status =
      seer_records_find_targets(records, seer_context_target(context), targets, &n);
  for (uint32_t t = 0; t < network->n_task && !status; t++) {
    seer_record_rule rule = seer_record_rule_of(choices[t].sketches);
    status = seer_records_find_workload(records, network->task[t].key, &workload);
    if (!status)
      status =
          seer_records_winner(records, workload, targets[0], &rule, arena, &out[t].winner, NULL);
  }
  return status;
}

static seer_status find_states(seer_context *context, const seer_network *network,
    seer_records *records, seer_arena *arena, task_state **out) {
  SEER_TRY(seer_speeds_recall(context, records));
  const seer_target *target = seer_context_target(context);
  seer_choice *choices;
  seer_choose_counts counts;
  bool *is_selected = SEER_NEW_ARRAY(arena, bool, network->n_task + 1);
  SEER_TRY(seer_network_select(context, network, is_selected));
  SEER_TRY(seer_choose(context, network, NULL, 1, arena, &choices, &counts));
  task_state *states = *out = SEER_NEW_ARRAY(arena, task_state, network->n_task + 1);
  for (uint32_t t = 0; t < network->n_task; t++) {
    states[t].is_selected = is_selected[t];
    states[t].packed_bytes =
        seer_choose_estimate(target, choices[t].sketches, &choices[t].schedule).packed_bytes;
  }
  return find_winners(context, network, records, choices, arena, states);
}

static void print_tuned(const seer_record *winner) {
  if (winner->ab.n_pairs > 0)
    printf("%8.1f us %5.2fx  ", winner->seconds * 1e6, winner->ab.speedup);
  else if (winner->id)
    printf("%8.1f us %6s  ", winner->seconds * 1e6, "");
  else
    printf("%11s %6s  ", "-", "");
}

static void print_table(const seer_network *network, double total, const task_state *states) {
  printf("%4s %-20s %6s %9s %6s %10s %10s  %11s %6s  %s\n", "id", "family", "weight", "GFLOP",
      "share", "weights", "packed", "tuned", "pairs", "task");
  for (uint32_t k = 0; k < network->n_task; k++) {
    const seer_task *task = &network->task[k];
    if (!states[k].is_selected) continue;
    double share = total > 0 ? 100 * task->flops * task->weight / total : 0;
    printf("%4u %-20s %6u %9.4f %5.1f%% %6.2f MiB %6.2f MiB  ", task->id, task->anchor_class,
        task->weight, task->flops / 1e9, share, seer_dag_weight_bytes(task->dag) / 1048576,
        (double)states[k].packed_bytes / 1048576);
    print_tuned(&states[k].winner);
    printf("%s\n", task->name);
  }
  uint32_t n_kernel = n_steps(network, SEER_STEP_KERNEL), n_copy = n_steps(network, SEER_STEP_COPY),
           n_view = n_steps(network, SEER_STEP_VIEW), n_host = n_steps(network, SEER_STEP_HOST),
           n_begin = n_steps(network, SEER_STEP_LOOP_BEGIN),
           n_end = n_steps(network, SEER_STEP_LOOP_END),
           n_branch = n_steps(network, SEER_STEP_BRANCH);
  printf("%u tasks in %u steps (%u kernels, %u copies, %u views, %u on the host", network->n_task,
      n_kernel + n_copy + n_view + n_host + n_begin + n_end + n_branch, n_kernel, n_copy, n_view,
      n_host);
  if (n_begin > 0) printf(", %u at the ends of loops", n_begin + n_end);
  if (n_branch > 0) printf(", %u branches", n_branch);
  printf("), %.3f GFLOP", total / 1e9);
  if (network->n_set > 1) printf(" in all, for %u sets of input shapes", network->n_set);
  printf("\n");
  for (uint32_t s = 0; s < network->n_set && network->n_set > 1; s++)
    printf("  %s\n", network->set[s]->shapes);
}

static void add_tuned(json_t *line, const seer_record *winner) {
  if (!line || !winner->id) return;
  json_object_set_new(line, "tuned_seconds", json_real(winner->seconds));
  if (winner->ab.n_pairs == 0) return;
  json_object_set_new(line, "untuned_seconds", json_real(winner->ab.baseline_seconds));
  json_object_set_new(line, "speedup", json_real(winner->ab.speedup));
  json_object_set_new(line, "pairs", json_integer(winner->ab.n_pairs));
}

static seer_status print_json(
    const seer_network *network, double total, const task_state *states, seer_arena *arena) {
  json_t *tasks = json_array();
  for (uint32_t k = 0; k < network->n_task; k++) {
    const seer_task *task = &network->task[k];
    if (!states[k].is_selected) continue;
    char key[40];
    snprintf(key, sizeof key, "%016" PRIx64 "-%016" PRIx64, task->key.structure, task->key.shape);
    json_t *line = json_pack("{s:i, s:s, s:i, s:f, s:f, s:f, s:I, s:s, s:s, s:s}", "id",
        (int)task->id, "family", task->anchor_class, "weight", (int)task->weight, "gflop",
        task->flops / 1e9, "share", total > 0 ? task->flops * task->weight / total : 0.0,
        "weight_bytes", seer_dag_weight_bytes(task->dag), "packed_bytes",
        (json_int_t)states[k].packed_bytes, "name", task->name, "key", key, "operators", task->ops);
    add_tuned(line, &states[k].winner);
    json_array_append_new(tasks, line);
  }
  json_t *sets = json_array();
  for (uint32_t s = 0; s < network->n_set; s++)
    json_array_append_new(sets, json_string(network->set[s]->shapes));
  json_t *unbuilt = json_array();
  for (uint32_t s = 0; s < network->n_set; s++)
    seer_unbuilt_list(network->set[s]->graph, unbuilt, arena);
  json_t *all = json_pack("{s:s, s:o, s:f, s:i, s:i, s:i, s:o, s:o}", "model",
      seer_text_safe_whole(arena, network->graph->name), "inputs", sets, "gflop", total / 1e9,
      "kernels", (int)n_steps(network, SEER_STEP_KERNEL), "copies",
      (int)n_steps(network, SEER_STEP_COPY), "views", (int)n_steps(network, SEER_STEP_VIEW),
      "not_built", unbuilt, "tasks", tasks);
  return seer_cli_put_json(all);
}

static seer_status run(seer_context *context, int argc, char **argv) {
  (void)argc;
  SEER_TRY(seer_context_find_target(context));  // which steps are tasks of one image
  seer_arena *arena = seer_arena_create("model");
  seer_network *network = NULL;
  seer_status status = seer_front_load(context, argv[0], seer_model_build, arena, &network);
  if (!status) {
    seer_cli_print_notices(network);
    double total = seer_network_flops(network);
    seer_records *records = NULL;
    task_state *states = NULL;
    status = seer_records_open_by_options(context, false, &records);
    if (!status) status = find_states(context, network, records, arena, &states);
    seer_records_close(records);
    if (!status && seer_context_bool(context, SEER_OPT_JSON)) {
      status = print_json(network, total, states, arena);
    } else if (!status) {
      print_table(network, total, states);
    }
    seer_graph_close(network->graph);
  }
  seer_arena_destroy(arena);
  return status;
}

const seer_command seer_command_tasks = {
    .name = "tasks",
    .args =
        "MODEL [--ops Conv,Gemm] [--tasks 0,2,5-9] [--input-shapes x:1x3x224x224]... [--bind "
        "NAME=x.npy]... [--json]",
    .doc =
        "the subgraphs that are tuned: id, family, weight (how often it occurs), GFLOP, share, "
        "weights; the winner's time, and how much faster than the untuned one it was in pairs",
    .example = "  familyseer tasks my.onnx\n",
    .flags = "target threads input-shapes tasks ops precision records json",
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
