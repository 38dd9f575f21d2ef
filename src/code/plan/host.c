// host.c - host steps of the network -> host calls of the plan, with the tensors that they read and
// write; and which outputs have sizes that only a run knows. Where values lie is plan.c's business.
#include <string.h>

#include "code/plan/internal.h"
#include "front/onnx/dtype.h"
#include "runtime/host.h"

bool seer_build_has_gaps(const seer_value *value) {
  bool is_inside = false;  // of a dimension of more than one element
  for (uint32_t d = 0; d < value->rank; d++) {
    if (value->size[d].i && is_inside) return true;
    is_inside = is_inside || value->dim[d] != 1;
  }
  return false;
}

static seer_status put_tensor(
    seer_host_list *list, const seer_value_args *args, seer_val v, uint32_t arg) {
  list->tensor =
      SEER_GROW(list->arena, seer_plan_tensor, list->tensor, list->n_tensor, &list->cap_tensor);
  size_t at = list->n_tensor++;
  list->tensor[at] = (seer_plan_tensor){0};
  if (v.i == 0) return SEER_OK;
  const seer_value *value = seer_graph_value(args->graph, v);
  seer_plan_tensor *tensor = &list->tensor[at];
  tensor->onnx_dtype = seer_onnx_dtype_number(value->dtype);
  tensor->rank = value->rank;
  tensor->arg = arg;
  if (arg == UINT32_MAX) SEER_TRY(args->put(args->user, v, &tensor->arg));
  for (uint32_t d = 0; d < value->rank; d++) {
    tensor->dim[d] = value->dim[d];
    if (value->size[d].i == 0) continue;
    SEER_TRY(args->put(args->user, value->size[d], &tensor->size_arg[d]));
    tensor->size_arg[d]++;
  }
  return SEER_OK;
}

static seer_plan_host *put_call(
    seer_host_list *list, seer_host_function function, uint32_t n_in, uint32_t n_out) {
  list->host = SEER_GROW(list->arena, seer_plan_host, list->host, list->n_host, &list->cap_host);
  seer_plan_host *host = &list->host[list->n_host++];
  *host = (seer_plan_host){.function = function, .n_in = n_in, .n_out = n_out};
  host->first_tensor = (uint32_t)list->n_tensor;
  return host;
}

// The integer attributes that the entry lists, in that order.
static void put_params(seer_plan_host *host, const seer_node *node, seer_arena *arena) {
  const char *at = node->op->attrs;
  for (uint32_t k = 0; *at && k < SEER_COUNT_OF(host->param); k++) {
    size_t n = strcspn(at, " ");
    host->param[k] = seer_node_attr_i(node, seer_arena_strndup(arena, at, n), 0);
    at += n + (at[n] == ' ');
  }
}

// Its attributes are of any kind: they are put where the call says (custom.c).
static void note_custom(seer_host_list *list, const seer_node *node) {
  list->custom =
      SEER_GROW(list->arena, seer_custom_call, list->custom, list->n_custom, &list->cap_custom);
  list->custom[list->n_custom++] = (seer_custom_call){(uint32_t)list->n_host - 1, node};
}

seer_status seer_build_host(seer_host_list *list, const seer_value_args *args,
    const seer_node *node, seer_host_room *out_room) {
  const bool is_custom = node->op->host == SEER_HOST_CUSTOM;
  uint32_t n_in = is_custom ? node->n_in : node->op->n_host_in;
  seer_plan_host *host = put_call(list, (seer_host_function)node->op->host, n_in, node->n_out);
  if (is_custom)
    note_custom(list, node);
  else
    put_params(host, node, list->arena);
  for (uint32_t k = 0; k < n_in; k++)
    SEER_TRY(put_tensor(list, args, k < node->n_in ? node->in[k] : (seer_val){0}, UINT32_MAX));
  for (uint32_t k = 0; k < node->n_out; k++)
    SEER_TRY(put_tensor(list, args, node->out[k], UINT32_MAX));
  if (is_custom) {
    *out_room = (seer_host_room){0};
    return seer_custom_scratch(args->graph, node, list->arena, &out_room->shared);
  }
  const seer_plan_tensor *in = &list->tensor[host->first_tensor];
  *out_room = seer_host_scratch((seer_host_function)host->function, in, in + n_in, host->param);
  return SEER_OK;
}

void seer_build_host_scratch(seer_host_list *list, uint32_t arg) {
  list->host[list->n_host - 1].scratch_arg = arg + 1;
}

seer_status seer_build_compact(
    seer_host_list *list, const seer_value_args *args, seer_val value, uint32_t from, uint32_t to) {
  put_call(list, SEER_HOST_COMPACT, 1, 1);
  SEER_TRY(put_tensor(list, args, value, from));
  return put_tensor(list, args, value, to);
}

seer_status seer_build_sizes_of(
    seer_host_list *list, const seer_value_args *args, seer_val value, uint32_t output) {
  const seer_value *out = seer_graph_value(args->graph, value);
  for (uint32_t d = 0; d < out->rank; d++) {
    if (out->size[d].i == 0) continue;
    list->size = SEER_GROW(list->arena, seer_plan_size, list->size, list->n_size, &list->cap_size);
    seer_plan_size *size = &list->size[list->n_size++];
    *size = (seer_plan_size){.output = output, .dim = d};
    SEER_TRY(args->put(args->user, out->size[d], &size->arg));
  }
  return SEER_OK;
}

// ---- loops and branches

static seer_status put_number(const seer_value_args *args, seer_val v, uint32_t *out_number) {
  *out_number = 0;
  if (v.i == 0) return SEER_OK;
  SEER_TRY(args->put(args->user, v, out_number));
  ++*out_number;
  return SEER_OK;
}

static seer_status put_move(seer_host_list *list, const seer_value_args *args, seer_val from,
    seer_val to, seer_plan_move move) {
  const seer_value *made = seer_graph_value(args->graph, from);
  move.n_bytes = (uint64_t)seer_value_elems(made) * seer_dtype_bytes(made->dtype);
  SEER_TRY(put_number(args, from, &move.out_arg));
  SEER_TRY(put_number(args, to, &move.result_arg));
  list->move = SEER_GROW(list->arena, seer_plan_move, list->move, list->n_move, &list->cap_move);
  list->move[list->n_move++] = move;
  return SEER_OK;
}

seer_status seer_build_loop(seer_host_list *list, const seer_value_args *args,
    const seer_node *begin, const seer_node *end) {
  uint32_t n_carried = begin->n_out - 2, n_all = end->n_out - 1;
  seer_plan_loop loop = {
      .first_move = (uint32_t)list->n_move, .n_carried = n_carried, .n_scan = n_all - n_carried};
  SEER_TRY(put_number(args, begin->in[0], &loop.trip_arg));
  SEER_TRY(put_number(args, begin->in[1], &loop.start_arg));
  SEER_TRY(put_number(args, begin->out[0], &loop.number_arg));
  SEER_TRY(put_number(args, begin->out[1], &loop.go_arg));
  SEER_TRY(put_number(args, end->in[0], &loop.next_arg));
  SEER_TRY(put_number(args, end->out[n_all], &loop.count_arg));
  for (uint32_t k = 0; k < n_all; k++) {
    seer_plan_move move = {0};
    if (k < n_carried) {
      SEER_TRY(put_number(args, begin->in[k + 2], &move.before_arg));
      SEER_TRY(put_number(args, begin->out[k + 2], &move.in_arg));
    }
    SEER_TRY(put_move(list, args, end->in[k + 1], end->out[k], move));
  }
  list->loop = SEER_GROW(list->arena, seer_plan_loop, list->loop, list->n_loop, &list->cap_loop);
  list->loop[list->n_loop++] = loop;
  return SEER_OK;
}

seer_status seer_build_branch(seer_host_list *list, const seer_value_args *args,
    const seer_node *node, const bool *is_there) {
  seer_plan_branch branch = {.first_move = (uint32_t)list->n_move};
  SEER_TRY(put_number(args, node->in[0], &branch.condition_arg));
  for (uint32_t side = 0, at = 0; side < 2; side++) {
    for (uint32_t k = 0; k < node->n_out; k++, at++) {
      if (is_there[at]) continue;
      SEER_TRY(put_move(list, args, node->in[at + 1], node->out[k], (seer_plan_move){0}));
      ++*(side == 0 ? &branch.n_then_move : &branch.n_else_move);
    }
  }
  list->branch =
      SEER_GROW(list->arena, seer_plan_branch, list->branch, list->n_branch, &list->cap_branch);
  list->branch[list->n_branch++] = branch;
  return SEER_OK;
}
