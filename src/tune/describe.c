// describe.c - a network -> flat structs. The contract: describe.h.
#include "tune/describe.h"

#include <inttypes.h>
#include <string.h>

#include "front/onnx/dtype.h"

static void describe_value(
    const seer_graph *graph, seer_val v, seer_arena *arena, seer_io_info *out) {
  const seer_value *value = seer_graph_value(graph, v);
  *out = (seer_io_info){.name = seer_arena_strdup(arena, seer_value_shown(value)),
      .onnx_dtype = seer_onnx_dtype_number(value->dtype),
      .rank = value->rank,
      .n_bytes = (uint64_t)seer_value_elems(value) * seer_dtype_bytes(value->dtype)};
  for (uint32_t d = 0; d < value->rank; d++) {
    out->dim[d] = value->dim[d];
    if (value->size[d].i) out->bounded |= 1u << d;
  }
}

static seer_io_info *describe_values(
    const seer_graph *graph, const seer_val *values, uint32_t n, seer_arena *arena) {
  seer_io_info *out = SEER_NEW_ARRAY(arena, seer_io_info, n + 1);
  for (uint32_t k = 0; k < n; k++) describe_value(graph, values[k], arena, &out[k]);
  return out;
}

static double total_flops(const seer_network *network) {
  double sum = 0;
  for (uint32_t k = 0; k < network->n_task; k++)
    sum += network->task[k].flops * network->task[k].weight;
  return sum;
}

static void describe_tasks(const seer_network *network, seer_arena *arena, seer_description *out) {
  double total = total_flops(network);
  out->n_task = network->n_task;
  out->task = SEER_NEW_ARRAY(arena, seer_tuner_task, network->n_task + 1);
  for (uint32_t k = 0; k < network->n_task; k++) {
    const seer_task *task = &network->task[k];
    out->task[k] = (seer_tuner_task){.name = seer_arena_strdup(arena, task->name),
        .key = seer_arena_printf(
            arena, "%016" PRIx64 "-%016" PRIx64, task->key.structure, task->key.shape),
        .operators = seer_arena_strdup(arena, task->ops),
        .weight = task->weight,
        .flops = task->flops,
        .share = total > 0 ? task->flops * task->weight / total : 0};
  }
}

void seer_describe(const seer_network *network, seer_arena *arena, seer_description *out) {
  *out = (seer_description){.n_set = network->n_set,
      .n_input = network->graph->n_input,
      .n_output = network->graph->n_output};
  out->input = SEER_NEW_ARRAY(arena, seer_io_info *, network->n_set);
  out->output = SEER_NEW_ARRAY(arena, seer_io_info *, network->n_set);
  for (uint32_t s = 0; s < network->n_set; s++) {
    const seer_graph *graph = network->set[s]->graph;
    out->input[s] = describe_values(graph, graph->input, graph->n_input, arena);
    out->output[s] = describe_values(graph, graph->output, graph->n_output, arena);
  }
  describe_tasks(network, arena, out);
}

seer_rt_code seer_describe_code(seer_code code) {
  switch (code) {
    case SEER_CODE_INVALID:
      return SEER_RT_INVALID;
    case SEER_CODE_UNSUPPORTED:
      return SEER_RT_UNSUPPORTED;
    case SEER_CODE_NOT_FOUND:
      return SEER_RT_NOT_FOUND;
    case SEER_CODE_IO:
      return SEER_RT_IO;
    case SEER_CODE_CORRUPT:
      return SEER_RT_CORRUPT;
    case SEER_CODE_RESOURCE:
      return SEER_RT_RESOURCE;
    case SEER_CODE_TIMEOUT:
      return SEER_RT_TIMEOUT;
    case SEER_CODE_DEVICE:
      return SEER_RT_DEVICE;
    case SEER_CODE_STOPPED:
      return SEER_RT_STOPPED;
    case SEER_CODE_INTERNAL:
    case SEER_CODE_COUNT:
      break;
  }
  return SEER_RT_INTERNAL;
}
