// infer.c - a node of a user's operator -> the call that its shape rule gets, and what may be
// believed of the answer. The rule is code of somebody else: all that it sets is checked.
#include <string.h>

#include "front/custom/custom.h"
#include "front/onnx/dtype.h"
#include "front/op/util.h"

#define MESSAGE_BYTES 1024
#define MEMORY_ALIGN 64

const seer_custom_op *seer_custom_of(const seer_node *node) {
  // `desc` is the entry's first member.
  const bool is_custom = node->op && node->op->infer == seer_custom_infer;
  return is_custom ? (const seer_custom_op *)(const void *)node->op : NULL;
}

static const char *full_name(const seer_operator *entry, seer_arena *arena) {
  return entry->domain[0] ? seer_arena_printf(arena, "%s.%s", entry->domain, entry->name)
                          : entry->name;
}

// ---- what it is told

static seer_status put_attribute(
    const seer_attr *attr, seer_arena *arena, seer_operator_attribute *out) {
  *out = (seer_operator_attribute){.name = attr->name, .n = 1};
  const double *from = &attr->f;
  switch (attr->kind) {
    case SEER_ATTR_INT:
      out->kind = SEER_OPERATOR_INT;
      out->ints = &attr->i;
      return SEER_OK;
    case SEER_ATTR_INTS:
      out->kind = SEER_OPERATOR_INTS;
      out->n = (uint32_t)attr->n;
      out->ints = attr->ints;
      return SEER_OK;
    case SEER_ATTR_STRING:
      out->kind = SEER_OPERATOR_STRING;
      out->strings = &attr->s;
      return SEER_OK;
    case SEER_ATTR_STRINGS:
      out->kind = SEER_OPERATOR_STRINGS;
      out->n = (uint32_t)attr->n;
      out->strings = attr->strings;
      return SEER_OK;
    case SEER_ATTR_FLOAT:
      out->kind = SEER_OPERATOR_FLOAT;
      break;
    case SEER_ATTR_FLOATS:
      out->kind = SEER_OPERATOR_FLOATS;
      out->n = (uint32_t)attr->n;
      from = attr->floats;
      break;
    case SEER_ATTR_TENSOR:
    case SEER_ATTR_GRAPH:
      return SEER_FAIL(UNSUPPORTED,
          "attribute '%s' is a %s; operators of --operators have integers, floats, strings and "
          "lists of them",
          attr->name, attr->kind == SEER_ATTR_TENSOR ? "tensor" : "graph");
  }
  float *floats = SEER_NEW_ARRAY(arena, float, out->n + 1);
  for (uint32_t k = 0; k < out->n; k++) floats[k] = (float)from[k];
  out->floats = floats;
  return SEER_OK;
}

static seer_status put_tensor(const seer_graph *graph, seer_val v, const char *what, uint32_t k,
    seer_arena *arena, seer_operator_tensor *out) {
  *out = (seer_operator_tensor){0};
  if (v.i == 0) return SEER_OK;
  const seer_value *value = seer_graph_value(graph, v);
  if (!value->has_shape || value->dtype == SEER_DTYPE_NONE)
    return SEER_FAIL(INVALID, "%s %u ('%s') is of unknown type or shape", what, k, value->name);
  if (seer_value_is_sized(value))
    return SEER_FAIL(UNSUPPORTED,
        "%s %u ('%s') is %s: operators of --operators take sizes that are known when compiling",
        what, k, value->name, seer_value_type_text(value, arena));
  out->type = seer_onnx_dtype_number(value->dtype);
  out->rank = value->rank;
  memcpy(out->dim, value->dim, sizeof out->dim);
  if (!value->constant || value->constant->dtype != value->dtype) return SEER_OK;
  const seer_tensor *constant = value->constant;
  const bool is_aligned = (uintptr_t)constant->data % MEMORY_ALIGN == 0;
  void *data = (void *)(uintptr_t)constant->data;
  if (!is_aligned) {
    data = seer_arena_alloc(arena, constant->n_bytes + 1, MEMORY_ALIGN);
    memcpy(data, constant->data, constant->n_bytes);
  }
  out->data = data;
  return SEER_OK;
}

// Outputs are `room` tensors, absent.
static seer_status make_call(const seer_graph *graph, const seer_node *node, uint32_t room,
    seer_arena *arena, seer_operator_call *out) {
  if (node->n_in + node->n_out > SEER_OPERATOR_MAX_TENSORS)
    return SEER_FAIL(UNSUPPORTED,
        "%u inputs and %u outputs; operators of --operators have at most %d in all", node->n_in,
        node->n_out, SEER_OPERATOR_MAX_TENSORS);
  seer_operator_tensor *in = SEER_NEW_ARRAY(arena, seer_operator_tensor, node->n_in + 1);
  seer_operator_attribute *attribute =
      SEER_NEW_ARRAY(arena, seer_operator_attribute, node->n_attr + 1);
  for (uint32_t k = 0; k < node->n_in; k++)
    SEER_TRY(put_tensor(graph, node->in[k], "input", k, arena, &in[k]));
  for (uint32_t k = 0; k < node->n_attr; k++)
    SEER_TRY(put_attribute(&node->attr[k], arena, &attribute[k]));
  *out = (seer_operator_call){.node = node->name,
      .n_input = node->n_in,
      .n_output = node->n_out,
      .n_attribute = node->n_attr,
      .input = in,
      .output = SEER_NEW_ARRAY(arena, seer_operator_tensor, room),
      .attribute = attribute,
      .message = SEER_NEW_ARRAY(arena, char, MESSAGE_BYTES),
      .message_bytes = MESSAGE_BYTES};
  return SEER_OK;
}

// ---- what it says

static seer_status check_output(
    const seer_operator_tensor *out, uint32_t k, const char *who, bool is_named) {
  if (out->type == 0 && !is_named) return SEER_OK;
  if (out->type == 0)
    return SEER_FAIL(INVALID, "the shape rule of %s does not set output %u", who, k);
  if (seer_onnx_dtype(out->type) == SEER_DTYPE_NONE)
    return SEER_FAIL(INVALID,
        "the shape rule of %s gives output %u type %d, which is none of ONNX's that are known", who,
        k, out->type);
  if (out->rank < 0 || out->rank > SEER_MAX_RANK)
    return SEER_FAIL(INVALID, "the shape rule of %s gives output %u %d dimensions, must be 0 to %d",
        who, k, out->rank, SEER_MAX_RANK);
  for (int32_t d = 0; d < out->rank; d++)
    if (out->dim[d] < 0)
      return SEER_FAIL(INVALID,
          "the shape rule of %s gives output %u size %" PRId64
          " in dimension %d, must be 0 or more",
          who, k, out->dim[d], d);
  return SEER_OK;
}

seer_status seer_custom_infer(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_custom_op *op = seer_custom_of(node);
  const char *who = seer_arena_printf(arena, "%s (%s)", full_name(op->entry, arena), op->path);
  seer_operator_call call;
  SEER_TRY(make_call(graph, node, SEER_OPERATOR_MAX_TENSORS, arena, &call));
  int code = op->entry->shape(&call);
  call.message[MESSAGE_BYTES - 1] = 0;
  if (code != 0)
    return SEER_FAIL(INVALID, "the shape rule of %s refuses it: %s", who,
        call.message[0] ? call.message : seer_arena_printf(arena, "it returned %d", code));
  for (uint32_t k = node->n_out; k < SEER_OPERATOR_MAX_TENSORS; k++)
    if (call.output[k].type != 0)
      return SEER_FAIL(
          INVALID, "the shape rule of %s sets output %u, and the node has %u", who, k, node->n_out);
  for (uint32_t k = 0; k < node->n_out; k++) {
    const seer_operator_tensor *out = &call.output[k];
    SEER_TRY(check_output(out, k, who, node->out[k].i != 0));
    if (node->out[k].i == 0) continue;
    SEER_TRY(
        seer_op_set(&out_values[k], seer_onnx_dtype(out->type), out->dim, (uint32_t)out->rank));
  }
  return SEER_OK;
}

seer_status seer_custom_scratch(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, uint64_t *out_bytes) {
  const seer_custom_op *op = seer_custom_of(node);
  seer_operator_call call;
  *out_bytes = 0;
  if (!op->entry->scratch) return SEER_OK;
  SEER_TRY(make_call(graph, node, node->n_out + 1, arena, &call));
  for (uint32_t k = 0; k < node->n_out; k++) {
    SEER_TRY(put_tensor(graph, node->out[k], "output", k, arena, &call.output[k]));
    call.output[k].data = NULL;
  }
  *out_bytes = op->entry->scratch(&call);
  if (*out_bytes >> 48 == 0) return SEER_OK;
  return SEER_FAIL(INVALID, "%s asks for %" PRIu64 " bytes of scratch, must be less than 2^48",
      full_name(op->entry, arena), *out_bytes);
}
