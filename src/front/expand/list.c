// list.c - sequences and optional values. What they are made of is known when a model is compiled:
// positions and lengths are constants, so each is a list of values, and the operators on them only
// decide who reads which value. Sequences as inputs or outputs of a network are refused.
#include <string.h>

#include "front/expand/expand.h"

// Output k of the replaced node is a list of these values; UNSUPPORTED where it is too long.
static seer_status output_list(
    seer_expand *e, uint32_t k, bool is_optional, const seer_val *item, uint32_t n) {
  const size_t most = 1 << 24;  // in all: each insertion makes a list of its own
  if (!seer_expand_wants(e, k)) return SEER_OK;
  if (n > SEER_EXPAND_MAX_ITEMS || e->graph->n_listed + n > most) {
    return SEER_FAIL(
        UNSUPPORTED, "a sequence of %u, at most %d (%zu in all)", n, SEER_EXPAND_MAX_ITEMS, most);
  }
  e->graph->n_listed += n;
  seer_list *list = SEER_NEW(e->graph->arena, seer_list);
  *list = (seer_list){.is_optional = is_optional, .n = n};
  if (n > 0) list->item = seer_arena_memdup(e->graph->arena, item, n * sizeof *item);
  seer_value *value = seer_graph_value(e->graph, e->node.out[k]);
  value->list = list;
  value->dtype = SEER_DTYPE_NONE;
  value->has_shape = false;
  return SEER_OK;
}

bool seer_identity_is_of_list(const seer_graph *graph, const seer_node *node) {
  return node->n_in > 0 && seer_graph_value(graph, node->in[0])->list != NULL;
}

seer_status seer_identity_expand(seer_expand *e) {
  const seer_list *list = seer_expand_in(e, 0)->list;
  return output_list(e, 0, list->is_optional, list->item, list->n);
}

// ---- operands

static seer_status sequence_in(const seer_expand *e, uint32_t k, const seer_list **out_list) {
  *out_list = seer_expand_has_in(e, k) ? seer_expand_in(e, k)->list : NULL;
  if (*out_list && !(*out_list)->is_optional) return SEER_OK;
  return SEER_FAIL(INVALID, "input %u is no sequence", k);
}

static seer_status tensor_in(const seer_expand *e, uint32_t k) {
  if (seer_expand_has_in(e, k) && !seer_expand_in(e, k)->list) return SEER_OK;
  return SEER_FAIL(INVALID, "input %u must be a tensor", k);
}

// Constant input k, counted from the end when negative; `otherwise` when it is absent.
static seer_status position(
    seer_expand *e, uint32_t k, uint32_t n, int64_t otherwise, uint32_t *out_position) {
  int64_t at;
  SEER_TRY(seer_op_const_int(e->graph, &e->node, k, "position", otherwise, &at));
  return seer_op_axis(at, n, "the position", out_position);
}

// The items of a sequence are of one type.
static seer_status check_item(const seer_expand *e, seer_val first, uint32_t k) {
  const seer_value *value = seer_graph_value(e->graph, first);
  SEER_TRY(tensor_in(e, k));
  return seer_op_same_dtype(value, seer_expand_in(e, k), k);
}

// ---- sequences

static seer_status expand_sequence_construct(seer_expand *e) {
  for (uint32_t k = 0; k < e->node.n_in; k++) SEER_TRY(check_item(e, e->node.in[0], k));
  return output_list(e, 0, false, e->node.in, e->node.n_in);
}

static seer_status expand_sequence_empty(seer_expand *e) {
  return output_list(e, 0, false, NULL, 0);
}

static seer_status expand_sequence_length(seer_expand *e) {
  const seer_list *list;
  SEER_TRY(sequence_in(e, 0, &list));
  seer_expand_output(e, 0, seer_expand_scalar(e, SEER_DTYPE_I64, list->n));
  return SEER_OK;
}

static seer_status expand_sequence_at(seer_expand *e) {
  const seer_list *list;
  uint32_t at;
  SEER_TRY(sequence_in(e, 0, &list));
  SEER_TRY(position(e, 1, list->n, 0, &at));
  seer_expand_output(e, 0, list->item[at]);
  return SEER_OK;
}

static seer_status expand_sequence_insert(seer_expand *e) {
  const seer_list *list;
  uint32_t at, n = 0;
  SEER_TRY(sequence_in(e, 0, &list));
  SEER_TRY(check_item(e, list->n > 0 ? list->item[0] : e->node.in[1], 1));
  // A negative position counts from the end, too: -1 is before the last one.
  int64_t given;
  at = list->n;
  SEER_TRY(seer_op_const_int(e->graph, &e->node, 2, "position", list->n, &given));
  if (given != (int64_t)list->n) SEER_TRY(position(e, 2, list->n, 0, &at));
  seer_val *item = SEER_NEW_ARRAY(e->scratch, seer_val, list->n + 1);
  for (uint32_t k = 0; k <= list->n; k++) item[k] = k == at ? e->node.in[1] : list->item[n++];
  return output_list(e, 0, false, item, list->n + 1);
}

static seer_status expand_sequence_erase(seer_expand *e) {
  const seer_list *list;
  uint32_t at, n = 0;
  SEER_TRY(sequence_in(e, 0, &list));
  SEER_TRY(position(e, 1, list->n, -1, &at));
  seer_val *item = SEER_NEW_ARRAY(e->scratch, seer_val, list->n);
  for (uint32_t k = 0; k < list->n; k++) {
    if (k != at) item[n++] = list->item[k];
  }
  return output_list(e, 0, false, item, n);
}

// Parts of input 1's size (a scalar; the last may be smaller), of its sizes, or without it of one
// element, whose dimension may go.
static seer_status expand_split_to_sequence(seer_expand *e) {
  seer_value x = *seer_expand_in(e, 0);
  uint32_t axis, n = UINT32_MAX;
  int64_t *size = NULL, at = 0;
  SEER_TRY(seer_op_axis(seer_node_attr_i(&e->node, "axis", 0), x.rank, "attribute 'axis'", &axis));
  bool is_scalar = true,
       drops = !seer_expand_has_in(e, 1) && seer_node_attr_i(&e->node, "keepdims", 1) == 0;
  int64_t part = 1, along = axis, extent = x.dim[axis];
  if (seer_expand_has_in(e, 1)) {
    SEER_TRY(seer_op_const_ints(e->graph, &e->node, 1, "split", e->scratch, &size, &n));
    is_scalar = seer_expand_in(e, 1)->rank == 0;
    part = n > 0 ? size[0] : 0;
    if (is_scalar && part < 1)
      return SEER_FAIL(INVALID, "input 1 (split) is %" PRId64 ", must be 1 or more", part);
  }
  int64_t n_part = is_scalar ? seer_ceil_div(extent, part) : n;
  if (n_part > SEER_EXPAND_MAX_ITEMS)
    return SEER_FAIL(UNSUPPORTED, "%" PRId64 " parts, at most %d", n_part, SEER_EXPAND_MAX_ITEMS);
  seer_val *item = SEER_NEW_ARRAY(e->scratch, seer_val, n_part + 1);
  for (int64_t k = 0; k < n_part; k++) {
    int64_t next = is_scalar ? seer_min_i64(part, extent - at) : size[k];
    if (next < 0 || next > extent - at)
      return SEER_FAIL(
          INVALID, "input 1 (split) has %" PRId64 " at %" PRId64 " of %" PRId64, next, at, extent);
    item[k] = seer_expand_slice(e, e->node.in[0], along, at, at + next);
    if (drops) item[k] = seer_expand_2(e, "Squeeze", item[k], seer_expand_ints(e, &along, 1));
    at += next;
  }
  if (at != extent)
    return SEER_FAIL(INVALID, "'split' adds up to %" PRId64 ", must be %" PRId64, at, extent);
  return output_list(e, 0, false, item, (uint32_t)n_part);
}

static seer_status expand_concat_from_sequence(seer_expand *e) {
  const seer_list *list;
  SEER_TRY(sequence_in(e, 0, &list));
  if (list->n == 0) return SEER_FAIL(INVALID, "input 0 is an empty sequence");
  if (!seer_node_attr(&e->node, "axis")) return SEER_FAIL(INVALID, "attribute 'axis' is missing");
  int64_t axis = seer_node_attr_i(&e->node, "axis", 0);
  seer_val *item = SEER_NEW_ARRAY(e->scratch, seer_val, list->n);
  for (uint32_t k = 0; k < list->n; k++) {
    item[k] = list->item[k];
    if (seer_node_attr_i(&e->node, "new_axis", 0) != 0)
      item[k] = seer_expand_2(e, "Unsqueeze", item[k], seer_expand_ints(e, &axis, 1));
  }
  seer_expand_output(e, 0, seer_expand_concat(e, item, list->n, axis));
  return SEER_OK;
}

// The body once for each element; sequences beside the first are read in step, tensors whole.
static seer_status expand_sequence_map(seer_expand *e) {
  const seer_attr *body = seer_node_attr(&e->node, "body");
  if (!body || body->kind != SEER_ATTR_GRAPH)
    return SEER_FAIL(INVALID, "attribute 'body' must be a graph");
  uint32_t n_formal = seer_expand_n_formal(body), n_out = body->graph->n_output;
  if (body->i != n_formal || e->node.n_out > n_out || n_formal == 0) {
    return SEER_FAIL(INVALID,
        "%" PRId64 " inputs and %u outputs do not fit a body of %u inputs and %u outputs", body->i,
        e->node.n_out, n_formal, n_out);
  }
  const seer_list *first;
  SEER_TRY(sequence_in(e, 0, &first));
  uint32_t n = first->n;
  seer_val *formal = SEER_NEW_ARRAY(e->scratch, seer_val, n_formal),
           *out = SEER_NEW_ARRAY(e->scratch, seer_val, n_out),
           *constants = SEER_NEW_ARRAY(e->scratch, seer_val, body->graph->n_value),
           *item = SEER_NEW_ARRAY(e->scratch, seer_val, (size_t)n * n_out + 1);
  for (uint32_t i = 0; i < n; i++) {
    for (uint32_t k = 0; k < n_formal; k++) {
      formal[k] = e->node.in[k];
      const seer_list *list = formal[k].i ? seer_graph_value(e->graph, formal[k])->list : NULL;
      if (!formal[k].i) return SEER_FAIL(INVALID, "input %u is absent and may not be", k);
      if (!list || list->is_optional) continue;
      if (list->n != n)
        return SEER_FAIL(INVALID, "input %u is a sequence of %u, input 0 of %u", k, list->n, n);
      formal[k] = list->item[i];
    }
    seer_expand_inline(e, body, formal, constants, out);
    SEER_TRY(e->resolve(e));
    for (uint32_t k = 0; k < n_out; k++) item[(size_t)k * n + i] = out[k];
  }
  for (uint32_t k = 0; k < e->node.n_out; k++)
    SEER_TRY(output_list(e, k, false, item + (size_t)k * n, n));
  return SEER_OK;
}

// ---- optional values

static seer_status expand_optional(seer_expand *e) {
  uint32_t n = seer_expand_has_in(e, 0) ? 1 : 0;
  if (n > 0 && seer_expand_in(e, 0)->list && seer_expand_in(e, 0)->list->is_optional)
    return SEER_FAIL(INVALID, "input 0 is an optional value itself");
  return output_list(e, 0, true, e->node.in, n);
}

static seer_status expand_optional_has_element(seer_expand *e) {
  const seer_list *list = seer_expand_has_in(e, 0) ? seer_expand_in(e, 0)->list : NULL;
  bool has = seer_expand_has_in(e, 0) && !(list && list->is_optional && list->n == 0);
  seer_expand_output(e, 0, seer_expand_scalar(e, SEER_DTYPE_BOOL, has));
  return SEER_OK;
}

static seer_status expand_optional_get_element(seer_expand *e) {
  const seer_list *list = seer_expand_in(e, 0)->list;
  if (list && list->is_optional && list->n == 0)
    return SEER_FAIL(INVALID, "input 0 is an optional value without an element");
  seer_expand_output(e, 0, list && list->is_optional ? list->item[0] : e->node.in[0]);
  return SEER_OK;
}

SEER_LIST_COMPOSITE(sequence_construct, "SequenceConstruct", 11, 1, SEER_OP_ANY, 1, "", "")
SEER_LIST_COMPOSITE(sequence_empty, "SequenceEmpty", 11, 0, 0, 1, "dtype", "")
SEER_LIST_COMPOSITE(sequence_length, "SequenceLength", 11, 1, 1, 1, "", "")
SEER_LIST_COMPOSITE(sequence_at, "SequenceAt", 11, 2, 2, 1, "", "constant position")
SEER_LIST_COMPOSITE(sequence_insert, "SequenceInsert", 11, 2, 3, 1, "", "constant position")
SEER_LIST_COMPOSITE(sequence_erase, "SequenceErase", 11, 1, 2, 1, "", "constant position")
SEER_LIST_COMPOSITE(concat_from_sequence, "ConcatFromSequence", 11, 1, 1, 1, "axis new_axis", "")
SEER_LIST_COMPOSITE(
    sequence_map, "SequenceMap", 17, 1, SEER_OP_ANY, SEER_OP_ANY, "body", "unrolled")
SEER_LIST_COMPOSITE(optional, "Optional", 15, 0, 1, 1, "type", "")
SEER_LIST_COMPOSITE(optional_has_element, "OptionalHasElement", 15, 0, 1, 1, "", "")
SEER_LIST_COMPOSITE(optional_get_element, "OptionalGetElement", 15, 1, 1, 1, "", "")
SEER_COMPOSITE(split_to_sequence, "", "SplitToSequence", 11, SEER_OPSET_NEWEST, 1, 2, 1, 1,
    "axis keepdims", expand_split_to_sequence, "constant sizes")
