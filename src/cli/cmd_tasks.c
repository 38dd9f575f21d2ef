// cmd_tasks.c - familyseer tasks: the subgraphs that a network is cut into, what is tuned and how
// much of the whole each one is.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "front/front.h"
#include "models/models.h"
#include "tune/choose.h"

// Of all sets of shapes.
static uint32_t n_steps(const seer_network *network, seer_step_kind kind) {
  uint32_t n = 0;
  for (uint32_t s = 0; s < network->n_set; s++)
    for (uint32_t k = 0; k < network->set[s]->n_step; k++)
      n += network->set[s]->step[k].kind == kind;
  return n;
}

// The same as -O1 packs them, in the order in which its kernels read them: by task.
static seer_status pack_bytes(
    seer_context *context, const seer_network *network, seer_arena *arena, uint64_t **out_bytes) {
  SEER_TRY(seer_context_find_target(context));
  const seer_target *target = seer_context_target(context);
  seer_choice *choices;
  seer_choose_counts counts;
  SEER_TRY(seer_choose(context, network, NULL, 1, arena, &choices, &counts));
  uint64_t *bytes = SEER_NEW_ARRAY(arena, uint64_t, network->n_task + 1);
  for (uint32_t t = 0; t < network->n_task; t++)
    bytes[t] = seer_choose_estimate(target, choices[t].sketches, &choices[t].schedule).packed_bytes;
  *out_bytes = bytes;
  return SEER_OK;
}

static void print_table(const seer_network *network, double total, const uint64_t *packed) {
  printf("%4s %-20s %6s %9s %6s %10s %10s  %s\n", "id", "family", "weight", "GFLOP", "share",
      "weights", "packed", "task");
  for (uint32_t k = 0; k < network->n_task; k++) {
    const seer_task *task = &network->task[k];
    double share = total > 0 ? 100 * task->flops * task->weight / total : 0;
    printf("%4u %-20s %6u %9.4f %5.1f%% %6.2f MiB %6.2f MiB  %s\n", task->id, task->anchor_class,
        task->weight, task->flops / 1e9, share, seer_dag_weight_bytes(task->dag) / 1048576,
        (double)packed[k] / 1048576, task->name);
  }
  uint32_t n_kernel = n_steps(network, SEER_STEP_KERNEL), n_copy = n_steps(network, SEER_STEP_COPY),
           n_view = n_steps(network, SEER_STEP_VIEW), n_host = n_steps(network, SEER_STEP_HOST);
  printf("%u tasks in %u steps (%u kernels, %u copies, %u views, %u on the host), %.3f GFLOP",
      network->n_task, n_kernel + n_copy + n_view + n_host, n_kernel, n_copy, n_view, n_host,
      total / 1e9);
  if (network->n_set > 1) printf(" in all, for %u sets of input shapes", network->n_set);
  printf("\n");
  for (uint32_t s = 0; s < network->n_set && network->n_set > 1; s++)
    printf("  %s\n", network->set[s]->shapes);
}

static seer_status print_json(
    const seer_network *network, double total, const uint64_t *packed, seer_arena *arena) {
  json_t *tasks = json_array();
  for (uint32_t k = 0; k < network->n_task; k++) {
    const seer_task *task = &network->task[k];
    char key[40];
    snprintf(key, sizeof key, "%016" PRIx64 "-%016" PRIx64, task->key.structure, task->key.shape);
    json_array_append_new(tasks,
        json_pack("{s:i, s:s, s:i, s:f, s:f, s:f, s:I, s:s, s:s}", "id", (int)task->id, "family",
            task->anchor_class, "weight", (int)task->weight, "gflop", task->flops / 1e9, "share",
            total > 0 ? task->flops * task->weight / total : 0.0, "weight_bytes",
            seer_dag_weight_bytes(task->dag), "packed_bytes", (json_int_t)packed[k], "name",
            task->name, "key", key));
  }
  json_t *sets = json_array();
  for (uint32_t s = 0; s < network->n_set; s++)
    json_array_append_new(sets, json_string(network->set[s]->shapes));
  json_t *all = json_pack("{s:s, s:o, s:f, s:i, s:i, s:i, s:o}", "model",
      seer_text_safe_whole(arena, network->graph->name), "inputs", sets, "gflop", total / 1e9,
      "kernels", (int)n_steps(network, SEER_STEP_KERNEL), "copies",
      (int)n_steps(network, SEER_STEP_COPY), "views", (int)n_steps(network, SEER_STEP_VIEW),
      "tasks", tasks);
  char *dump = all ? json_dumps(all, JSON_COMPACT) : NULL;
  json_decref(all);
  if (!dump) return SEER_FAIL(RESOURCE, "out of memory for JSON");
  puts(dump);
  free(dump);
  return SEER_OK;
}

static seer_status run(seer_context *context, int argc, char **argv) {
  (void)argc;
  seer_arena *arena = seer_arena_create("model");
  seer_network *network = NULL;
  seer_status status = seer_front_load(context, argv[0], seer_model_build, arena, &network);
  if (!status) {
    seer_cli_print_notices(network);
    double total = seer_network_flops(network);
    uint64_t *packed = NULL;
    status = pack_bytes(context, network, arena, &packed);
    if (!status && seer_context_bool(context, SEER_OPT_JSON)) {
      status = print_json(network, total, packed, arena);
    } else if (!status) {
      print_table(network, total, packed);
    }
    seer_graph_close(network->graph);
  }
  seer_arena_destroy(arena);
  return status;
}

const seer_command seer_command_tasks = {
    .name = "tasks",
    .args = "MODEL [--input-shapes x:1x3x224x224]... [--bind NAME=x.npy]... [--json]",
    .doc =
        "the subgraphs that are tuned: id, family, weight (how often it occurs), GFLOP, share, "
        "weights",
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
