// same.c - two sets of a range, as their graphs are resolved -> whether the one is the other but
// for its batch. Both come from one model by the same steps, so that nodes stand in the same order;
// what is compared is what shapes may have gone into: how many nodes there are, the sizes of what
// they make, and constants that were folded.
#include <string.h>

#include "front/op.h"
#include "front/range.h"

typedef struct {
  const seer_graph *a, *b;  // set 0, and the other one
  int64_t of_a, of_b;  // their batches
} pair;

// The same sizes, but for at most one that is as many times as large as the batch.
static bool are_alike(const pair *p, const seer_value *x, const seer_value *y) {
  uint32_t n_other = 0;
  if (x->rank != y->rank || x->has_shape != y->has_shape || x->dtype != y->dtype) return false;
  for (uint32_t d = 0; d < x->rank; d++) {
    if (x->dim[d] == y->dim[d]) continue;
    if (x->dim[d] < 0 || y->dim[d] < 0 || x->dim[d] % p->of_a != 0 ||
        x->dim[d] / p->of_a * p->of_b != y->dim[d])
      return false;
    n_other++;
  }
  return n_other <= 1;
}

bool seer_range_is_repeated(const seer_tensor *tensor, int64_t batch, size_t *out_block) {
  if (!tensor || tensor->rank == 0 || tensor->dim[0] != batch) return false;
  *out_block = tensor->n_bytes / (size_t)batch;
  for (int64_t k = 1; k < batch; k++)
    if (memcmp((const char *)tensor->data + (size_t)k * *out_block, tensor->data, *out_block) != 0)
      return false;
  return true;
}

static bool are_same_constants(const pair *p, const seer_tensor *x, const seer_tensor *y) {
  if (x->dtype != y->dtype || x->rank != y->rank) return false;
  if (x->n_bytes == y->n_bytes && memcmp(x->dim, y->dim, x->rank * sizeof x->dim[0]) == 0 &&
      (x->data == y->data || memcmp(x->data, y->data, x->n_bytes) == 0))
    return true;
  size_t block = 0, other = 0;
  for (uint32_t d = 1; d < x->rank; d++)
    if (x->dim[d] != y->dim[d]) return false;
  return seer_range_is_repeated(x, p->of_a, &block) && seer_range_is_repeated(y, p->of_b, &other) &&
      block == other && memcmp(x->data, y->data, block) == 0;
}

// An operand that says nothing but the sizes of the result, which are compared.
static bool is_size_operand(const seer_node *node, uint32_t k) {
  static const struct {
    const seer_op_desc *op;
    uint32_t operand;
  } known[] = {{&seer_op_reshape, 1}, {&seer_op_expand, 1}, {&seer_op_constant_of_shape, 0}};
  for (size_t i = 0; i < SEER_COUNT_OF(known); i++)
    if (known[i].op == node->op) return known[i].operand == k;
  return false;
}

static seer_status check_node(const pair *p, const seer_node *x, const seer_node *y) {
  bool is_same = x->op == y->op && x->n_in == y->n_in && x->n_out == y->n_out;
  for (uint32_t k = 0; is_same && k < x->n_in; k++)
    is_same = (x->in[k].i == 0) == (y->in[k].i == 0);
  for (uint32_t k = 0; is_same && k < x->n_in; k++) {
    const seer_value *v = seer_graph_value(p->a, x->in[k]), *w = seer_graph_value(p->b, y->in[k]);
    is_same = x->in[k].i == 0 || !v->constant == !w->constant;
    if (!is_same || x->in[k].i == 0 || !v->constant || is_size_operand(x, k)) continue;
    if (!are_same_constants(p, v->constant, w->constant))
      return SEER_FAIL(UNSUPPORTED,
          "a range of batches: operand %u of node '%s' (%s) is a number that follows from the "
          "batch; " SEER_RANGE_INSTEAD,
          k, x->name, x->op_type);
  }
  for (uint32_t k = 0; is_same && k < x->n_out; k++) {
    is_same = (x->out[k].i == 0) == (y->out[k].i == 0);
    if (is_same && x->out[k].i)
      is_same = are_alike(p, seer_graph_value(p->a, x->out[k]), seer_graph_value(p->b, y->out[k]));
  }
  if (is_same) return SEER_OK;
  return SEER_FAIL(UNSUPPORTED,
      "a range of batches: node '%s' (%s) is another one for another batch, or its sizes do not "
      "grow with it; " SEER_RANGE_INSTEAD,
      x->name, x->op_type);
}

static seer_status check_inputs(seer_range *range, const pair *p) {
  if (!range->is_ranged) range->is_ranged = SEER_NEW_ARRAY(p->a->arena, bool, p->a->n_input + 1);
  for (uint32_t k = 0; k < p->a->n_input && k < p->b->n_input; k++) {
    const seer_value *x = seer_graph_value(p->a, p->a->input[k]),
                     *y = seer_graph_value(p->b, p->b->input[k]);
    range->is_ranged[k] = x->rank > 0 && x->dim[0] == p->of_a && y->dim[0] == p->of_b;
    bool is_same = x->rank == y->rank;
    for (uint32_t d = 0; is_same && d < x->rank; d++)
      is_same = x->dim[d] == y->dim[d] || (d == 0 && range->is_ranged[k]);
    if (!is_same)
      return SEER_FAIL(INVALID,
          "a range of batches: more changes of input '%s' than its first dimension, or that is not "
          "the batch",
          x->name);
  }
  return SEER_OK;
}

seer_status seer_range_check_same(
    seer_range *range, const seer_graph *first, const seer_graph *graph, uint32_t s) {
  const pair p = {first, graph, range->size[0], range->size[s]};
  SEER_TRY(check_inputs(range, &p));
  size_t i = 1, k = 1;
  for (;; i++, k++) {
    while (i < first->n_node && first->node[i].is_dead) i++;
    while (k < graph->n_node && graph->node[k].is_dead) k++;
    if (i >= first->n_node || k >= graph->n_node) break;
    SEER_TRY(check_node(&p, &first->node[i], &graph->node[k]));
  }
  if (i >= first->n_node && k >= graph->n_node) return SEER_OK;
  return SEER_FAIL(UNSUPPORTED,
      "a range of batches: the network has more nodes for one batch than for "
      "another; " SEER_RANGE_INSTEAD);
}
