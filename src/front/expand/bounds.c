// bounds.c - between which numbers all elements of a value lie, whatever the data: by interval
// arithmetic over the few operators that durations and counts go through (Clip and what limits
// alike, sums of so many, roundings, what moves elements). A duration that is clipped gives what is
// repeated by it a bound; without one its size has none.
// Bounds are whole numbers, of floats those around them; SEER_EXTENT_FAR: nothing is known.
#include <math.h>

#include "front/expand/extent.h"

// Nodes looked at for one value: operands of operands are as many as a file likes.
enum { MAX_NODES = 256, MAX_CONSTANT = 4096 };

typedef struct {
  int64_t least, most;
} range;

static const range anything = {-SEER_EXTENT_FAR, SEER_EXTENT_FAR};

static range of(const seer_graph *graph, seer_val v, int *left);

static int64_t limited(double x) {
  if (x >= (double)SEER_EXTENT_FAR) return SEER_EXTENT_FAR;
  return x <= -(double)SEER_EXTENT_FAR ? -SEER_EXTENT_FAR : (int64_t)x;
}

static range around(double least, double most) {
  if (isnan(least) || isnan(most)) return anything;
  return (range){limited(floor(least)), limited(ceil(most))};
}

static range of_constant(const seer_tensor *tensor) {
  int64_t n = seer_tensor_elems(tensor);
  if (n < 1 || n > MAX_CONSTANT) return anything;
  double least = INFINITY, most = -INFINITY;
  for (int64_t i = 0; i < n; i++) {
    double x = seer_dtype_load_f64(tensor->dtype, tensor->data, i);
    if (isnan(x)) return anything;
    least = fmin(least, x);
    most = fmax(most, x);
  }
  return around(least, most);
}

static range either(range a, range b) {
  return (range){seer_min_i64(a.least, b.least), seer_max_i64(a.most, b.most)};
}

// n of them added up, or fewer. What is known of one side only stays known.
static range sum_of(range x, int64_t n) {
  double least = (double)seer_min_i64(x.least, 0) * (double)n,
         most = (double)seer_max_i64(x.most, 0) * (double)n;
  return (range){limited(least), limited(most)};
}

static range of_clip(const seer_graph *graph, const seer_node *node, range x, int *left) {
  range low = anything, high = anything;
  if (seer_op_has_in(node, 1)) low = of(graph, node->in[1], left);
  if (seer_op_has_in(node, 2)) high = of(graph, node->in[2], left);
  const seer_attr *least = seer_node_attr(node, "min"), *most = seer_node_attr(node, "max");
  if (least) low = around(least->f, least->f);
  if (most) high = around(most->f, most->f);
  // The larger of x and the lower bound, then the smaller of that and the upper one.
  bool has_low = least || seer_op_has_in(node, 1), has_high = most || seer_op_has_in(node, 2);
  if (has_low) x = (range){seer_max_i64(x.least, low.least), seer_max_i64(x.most, low.most)};
  if (has_high) x = (range){seer_min_i64(x.least, high.least), seer_min_i64(x.most, high.most)};
  return x;
}

// Of Min and Max: a bound of any operand is one of all.
static range of_extreme(const seer_graph *graph, const seer_node *node, bool is_most, int *left) {
  range all = of(graph, node->in[0], left);
  for (uint32_t k = 1; k < node->n_in; k++) {
    range x = of(graph, node->in[k], left);
    all.least = is_most ? seer_max_i64(all.least, x.least) : seer_min_i64(all.least, x.least);
    all.most = is_most ? seer_max_i64(all.most, x.most) : seer_min_i64(all.most, x.most);
  }
  return all;
}

static range of_added(range x, range y) {
  bool has_least = x.least > -SEER_EXTENT_FAR && y.least > -SEER_EXTENT_FAR,
       has_most = x.most < SEER_EXTENT_FAR && y.most < SEER_EXTENT_FAR;
  return (range){has_least ? limited((double)x.least + (double)y.least) : -SEER_EXTENT_FAR,
      has_most ? limited((double)x.most + (double)y.most) : SEER_EXTENT_FAR};
}

static range of_product(range x, range y) {
  if (x.least < 0 || y.least < 0) return anything;
  return (range){
      limited((double)x.least * (double)y.least), limited((double)x.most * (double)y.most)};
}

static range of_union(const seer_graph *graph, const seer_node *node, uint32_t from, int *left) {
  range all = of(graph, node->in[from], left);
  for (uint32_t k = from + 1; k < node->n_in; k++) all = either(all, of(graph, node->in[k], left));
  return all;
}

static bool is_one_of(const seer_op_desc *op, const seer_op_desc *const *list, size_t n) {
  for (size_t k = 0; k < n; k++)
    if (op == list[k]) return true;
  return false;
}

static range of_node(
    const seer_graph *graph, const seer_node *node, const seer_value *out, int *left) {
  // What keeps whole numbers around its operand around its result.
  static const seer_op_desc *const keeps[] = {&seer_op_round, &seer_op_floor, &seer_op_ceil,
      &seer_op_reduce_max, &seer_op_reduce_min, &seer_op_gather, &seer_op_gather_elements,
      &seer_op_gather_nd};
  const seer_op_desc *op = node->op;
  const seer_value *x = seer_graph_value(graph, node->in[0]);
  range in = anything;
  if (op == &seer_op_min || op == &seer_op_max)
    return of_extreme(graph, node, op == &seer_op_max, left);
  if (op == &seer_op_where) return of_union(graph, node, 1, left);
  if (op == &seer_op_concat) return of_union(graph, node, 0, left);
  in = of(graph, node->in[0], left);
  if (op == &seer_op_clip) return of_clip(graph, node, in, left);
  if (op == &seer_op_relu) return (range){seer_max_i64(in.least, 0), seer_max_i64(in.most, 0)};
  if (op == &seer_op_cast) {
    if (!seer_dtype_is_float(out->dtype) && seer_dtype_bits(out->dtype) < 32) return anything;
    // NaN becomes 0.
    bool may_be_nan = seer_dtype_is_float(x->dtype) && !seer_dtype_is_float(out->dtype);
    return may_be_nan ? either(in, (range){0, 0}) : in;
  }
  if (op == &seer_op_add) return of_added(in, of(graph, node->in[1], left));
  if (op == &seer_op_mul) return of_product(in, of(graph, node->in[1], left));
  bool is_product = op == &seer_op_host_running && seer_node_attr_i(node, "form", 0) & 4;
  if (op == &seer_op_cum_sum || (op == &seer_op_host_running && !is_product))
    return sum_of(in, seer_value_elems(x));
  if (op == &seer_op_reduce_sum) return sum_of(in, seer_value_elems(x));
  bool moves = op->moves || op->fuse == SEER_FUSE_VIEW;
  return moves || is_one_of(op, keeps, SEER_COUNT_OF(keeps)) ? in : anything;
}

static range of(const seer_graph *graph, seer_val v, int *left) {
  const seer_value *value = seer_graph_value(graph, v);
  if (value->dtype == SEER_DTYPE_BOOL) return (range){0, 1};
  if (value->constant) return of_constant(value->constant);
  if (!value->producer.i || (*left)-- <= 0) return anything;
  const seer_node *node = seer_graph_node(graph, value->producer);
  // Of inner operators only the one that long running sums are made of.
  bool is_known = node->op && (!node->domain[0] || node->op == &seer_op_host_running);
  if (!is_known || node->n_in == 0 || node->in[0].i == 0) return anything;
  return of_node(graph, node, value, left);
}

void seer_extent_elements(
    const seer_graph *graph, seer_val v, int64_t *out_least, int64_t *out_most) {
  int left = MAX_NODES;
  range r = of(graph, v, &left);
  *out_least = r.least;
  *out_most = r.most;
}
