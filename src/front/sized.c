// sized.c - dimensions whose size only a run knows: what operators do with them that have a rule in
// common, for their entries to name (op.h: carry_sizes); operators with a rule of their own have it
// where they are defined.
// Computing at the bound is right where each element of the result that counts depends on elements
// that count only: elementwise operators, index maps, and reductions and products along other
// dimensions. Reductions along such a dimension read what does not change them beyond its size, and
// parts are put together by index (expand/masked.c). Indices that count from a dimension's end do
// not: the end is the size, not the bound.
#include "front/sized.h"

#include <string.h>

#include "front/expand/extent.h"

bool seer_sized_reads(const seer_graph *graph, const seer_node *node) {
  for (uint32_t k = 0; k < node->n_in; k++)
    if (node->in[k].i && seer_value_is_sized(seer_graph_value(graph, node->in[k]))) return true;
  return false;
}

static seer_status refuse(
    const seer_graph *graph, const seer_node *node, seer_sized_place at, const char *why) {
  const seer_value *x = seer_graph_value(graph, node->in[at.k]);
  return SEER_FAIL(UNSUPPORTED,
      "dimension %u of input %u ('%s') has a size that is known only while running (at most "
      "%" PRId64 "): %s",
      at.d, at.k, x->name, x->dim[at.d], why);
}

seer_status seer_sized_refuse(const seer_expand *e, seer_sized_place at, const char *why) {
  return refuse(e->graph, &e->node, at, why);
}

static bool next_sized(const seer_graph *graph, const seer_node *node, seer_sized_place *at) {
  for (; at->k < node->n_in; at->k++, at->d = 0) {
    const seer_value *x = node->in[at->k].i ? seer_graph_value(graph, node->in[at->k]) : NULL;
    for (; x && at->d < x->rank; at->d++)
      if (x->size[at->d].i) return true;
  }
  return false;
}

bool seer_sized_next(const seer_expand *e, seer_sized_place *at) {
  return next_sized(e->graph, &e->node, at);
}

seer_status seer_sized_refuse_any(const seer_graph *graph, const seer_node *node, const char *why) {
  seer_sized_place at = {0, 0};
  if (next_sized(graph, node, &at)) return refuse(graph, node, at, why);
  return SEER_FAIL(INTERNAL, "no input of unknown size");
}

uint32_t seer_sized_reduced(const seer_graph *graph, const seer_node *node) {
  const seer_attr *attr = seer_node_attr_ints(node, "axes");
  const seer_tensor *tensor = attr ? NULL : seer_op_const(graph, node, 1);
  int64_t rank = seer_graph_value(graph, node->in[0])->rank, n = 0;
  if (attr) n = (int64_t)attr->n;
  if (tensor) n = seer_tensor_elems(tensor);
  if (n == 0) return seer_node_attr_i(node, "noop_with_empty_axes", 0) ? 0 : (1u << rank) - 1;
  uint32_t mask = 0;
  for (int64_t i = 0; i < n; i++) {
    int64_t axis = attr ? attr->ints[i] : seer_dtype_load_i64(tensor->dtype, tensor->data, i);
    if (axis < 0) axis += rank;
    if (axis >= 0 && axis < rank) mask |= 1u << axis;
  }
  return mask;
}

uint32_t seer_sized_dims(const seer_graph *graph, const seer_node *node, uint32_t k) {
  const seer_value *x = seer_graph_value(graph, node->in[k]);
  uint32_t mask = 0;
  for (uint32_t d = 0; d < SEER_MAX_RANK && d < x->rank; d++) mask |= (x->size[d].i ? 1u : 0u) << d;
  return mask;
}

static const char needs_to_know[] = "this operator needs to know it";

seer_status seer_sized_check_composite(const seer_graph *graph, const seer_node *node) {
  return node->op->expands_sized ? SEER_OK : seer_sized_refuse_any(graph, node, needs_to_know);
}

// ---- sizes of outputs

seer_status seer_sized_give(seer_expand *e, seer_sized_place from, uint32_t k, uint32_t to) {
  if (k >= e->node.n_out || e->node.out[k].i == 0) return SEER_OK;
  seer_val size = seer_graph_value(e->graph, e->node.in[from.k])->size[from.d];
  seer_value *out = seer_graph_value(e->graph, e->node.out[k]);
  if (out->size[to].i && !seer_extent_same_size(e->graph, out->size[to], size))
    return seer_sized_refuse(e, from, "another input has another size there");
  if (out->size[to].i == 0) out->size[to] = size;
  return SEER_OK;
}

seer_status seer_sized_broadcast(seer_expand *e) {
  SEER_SIZED_EACH(e, at) {
    const seer_value *x = seer_expand_in(e, at.k), *out = seer_sized_out(e, 0);
    uint32_t to = at.d + out->rank - x->rank;
    if (x->dim[at.d] != out->dim[to]) return seer_sized_refuse(e, at, "it cannot be broadcast");
    for (uint32_t k = 0; k < e->node.n_in; k++) {
      const seer_value *other = e->node.in[k].i ? seer_expand_in(e, k) : NULL;
      if (!other || k == at.k || to + other->rank < out->rank) continue;
      uint32_t d = to + other->rank - out->rank;
      bool fits = (other->dim[d] == 1 && !other->size[d].i) ||
          seer_extent_same_size(e->graph, other->size[d], x->size[at.d]);
      if (!fits) return seer_sized_refuse(e, at, "another input has another size there");
    }
    SEER_TRY(seer_sized_give(e, at, 0, to));
  }
  return SEER_OK;
}

seer_status seer_sized_same(seer_expand *e) {
  SEER_SIZED_EACH(e, at) {
    for (uint32_t k = 0; at.k == 0 && k < e->node.n_out; k++)
      SEER_TRY(seer_sized_give(e, at, k, at.d));
  }
  return SEER_OK;
}

seer_status seer_sized_but(
    seer_expand *e, int64_t axis, bool only_first, const char *why_not_axis) {
  uint32_t own;
  SEER_TRY(seer_op_axis(axis, seer_expand_in(e, 0)->rank, "attribute 'axis'", &own));
  SEER_SIZED_EACH(e, at) {
    if (only_first && at.k > 0)
      return seer_sized_refuse(e, at, "this operand must have a known size");
    if (at.d == own) return seer_sized_refuse(e, at, why_not_axis);
    for (uint32_t k = 0; k < e->node.n_in && !only_first; k++)
      if (!seer_extent_same_size(
              e->graph, seer_expand_in(e, k)->size[at.d], seer_expand_in(e, at.k)->size[at.d]))
        return seer_sized_refuse(e, at, "another input has another size there");
    for (uint32_t o = 0; o < e->node.n_out; o++) SEER_TRY(seer_sized_give(e, at, o, at.d));
  }
  return SEER_OK;
}

// ---- indices

// `v`, an output of `node`, counts, as the entry says.
static bool is_counted(const seer_node *node, seer_val v) {
  for (uint32_t k = 0; k < node->n_out; k++)
    if (node->out[k].i == v.i) return (node->op->counts >> k) & 1u;
  return false;
}

bool seer_sized_is_position(const seer_graph *graph, seer_val v) {
  for (int depth = 0; depth < 32; depth++) {
    const seer_value *value = seer_graph_value(graph, v);
    if (value->constant) {
      for (int64_t i = 0, n = seer_tensor_elems(value->constant); i < n; i++)
        if (seer_dtype_load_i64(value->constant->dtype, value->constant->data, i) < 0) return false;
      return true;
    }
    if (!value->producer.i) return false;
    const seer_node *node = seer_graph_node(graph, value->producer);
    if (!node->op) return false;
    if (is_counted(node, v)) return true;
    if (node->op->fuse != SEER_FUSE_VIEW && !node->op->moves) return false;
    v = node->in[0];
  }
  return false;
}

seer_status seer_sized_count_from_size(seer_expand *e, uint32_t d) {
  seer_val index = e->node.in[1], size = seer_expand_in(e, 0)->size[d];
  if (seer_sized_is_position(e->graph, index)) return SEER_OK;
  if (seer_expand_in(e, 1)->constant)
    return seer_sized_refuse(e, (seer_sized_place){0, d}, "a constant index must be 0 or more");
  seer_dtype dtype = seer_expand_in(e, 1)->dtype;
  seer_val from_end = seer_expand_2(e, "Add", index, seer_expand_cast(e, size, dtype));
  seer_val is_back = seer_expand_2(e, "Less", index, seer_expand_scalar(e, dtype, 0));
  if (seer_expand_in(e, 1)->rank == 0) from_end = seer_expand_reshape(e, from_end, NULL, 0);
  // The node's own list: it reads the new value from now on.
  e->node.in[1] = seer_expand_3(e, "Where", is_back, from_end, index);
  return SEER_OK;
}

// ---- what a reduction reads

void seer_sized_mask(seer_expand *e, uint32_t mask, seer_val neutral) {
  // The node's own list: it reads the new value from now on.
  if (seer_sized_dims(e->graph, &e->node, 0) & mask)
    e->node.in[0] = seer_expand_masked(e, e->node.in[0], mask, neutral);
}

// Of old, 'axis' and all behind it were one dimension. What is beyond the size is no part of a
// row's sum, and its own result does not count.
seer_status seer_sized_softmax(seer_expand *e) {
  bool is_old = e->node.opset < 13;
  uint32_t axis, rank = seer_expand_in(e, 0)->rank;
  int64_t given = seer_node_attr_i(&e->node, "axis", is_old ? 1 : -1);
  SEER_TRY(seer_op_axis(given, rank, "attribute 'axis'", &axis));
  uint32_t mask = is_old ? (1u << rank) - (1u << axis) : 1u << axis;
  SEER_TRY(seer_sized_same(e));
  seer_sized_mask(e, mask, seer_expand_extreme(e, seer_expand_in(e, 0)->dtype, false));
  return SEER_OK;
}

seer_status seer_sized_batch(seer_expand *e) {
  SEER_SIZED_EACH(e, at) {
    if (at.k > 0 || at.d > 0)
      return seer_sized_refuse(e, at, "only the batch of input 0 may have it");
    for (uint32_t k = 0; k < e->node.n_out; k++) SEER_TRY(seer_sized_give(e, at, k, 0));
  }
  return SEER_OK;
}

// ---- what the entry says

seer_status seer_sized_carry(seer_expand *e) {
  const seer_op_desc *op = e->node.op;
  // Its shape rule has said it.
  if (seer_op_is_for_runtime(op) || strcmp(e->node.domain, SEER_INNER_DOMAIN) == 0) return SEER_OK;
  if (op->carry_sizes) return op->carry_sizes(e);
  if (op->fuse == SEER_FUSE_ELEMENTWISE) return seer_sized_broadcast(e);
  return seer_sized_refuse_any(e->graph, &e->node, needs_to_know);
}

// ---- bounds of sizes

bool seer_sized_at_most(const seer_graph *graph, seer_val v, int64_t *out_most) {
  for (int depth = 0; depth < 32; depth++) {
    const seer_value *value = seer_graph_value(graph, v);
    if (value->constant) {
      if (seer_tensor_elems(value->constant) != 1) return false;
      *out_most = seer_dtype_load_i64(value->constant->dtype, value->constant->data, 0);
      return true;
    }
    if (!value->producer.i || seer_value_elems(value) != 1) return false;
    const seer_node *node = seer_graph_node(graph, value->producer);
    if (node->op && seer_op_is_for_runtime(node->op)) {
      for (uint32_t k = 0; k < node->n_out; k++) {
        const seer_value *found = seer_graph_value(graph, node->out[k]);
        for (uint32_t d = 0; node->out[k].i && d < found->rank; d++) {
          if (found->size[d].i != v.i) continue;
          *out_most = found->dim[d];
          return true;
        }
      }
      return false;
    }
    if (!node->op) return false;
    v = node->op->bounded_by               ? node->op->bounded_by(graph, node)
        : node->op->fuse == SEER_FUSE_VIEW ? node->in[0]
                                           : (seer_val){0};
    if (!v.i) return false;
  }
  return false;
}

void seer_sized_keep(seer_graph *graph) {
  for (uint32_t k = 0; k < graph->n_output; k++) {
    const seer_value *out = seer_graph_value(graph, graph->output[k]);
    for (uint32_t d = 0; d < out->rank; d++) {
      seer_value *size = out->size[d].i ? seer_graph_value(graph, out->size[d]) : NULL;
      if (size && size->producer.i) size->is_output = true;
    }
  }
}
