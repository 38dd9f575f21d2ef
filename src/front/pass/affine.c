// affine.c - per-channel scale and shift: BatchNormalization and its like.
// A chain of BatchNormalization and of Mul, Add, Sub, Div by per-channel constants is y = scale[c]
// * x + shift[c]. Behind a Conv whose only reader it is, it goes into the weights and the bias,
// computed in f64; elsewhere, if there is a BatchNormalization in it, it becomes one Mul and one
// Add. What is no more than a few products and sums stays as it was written: it is one kernel
// either way, and rounds as its author saw it round (before a quantisation, half steps are common).
// A chain ends where its factors leave f32: 1e30 times 1e30 is finite here, and NaN times 0 there.
// requires: sorted, resolved, folded. provides: no BatchNormalization with constant statistics.
#include <float.h>
#include <math.h>
#include <string.h>

#include "front/pass/pass.h"

typedef struct {
  int64_t n;  // channels
  double *scale, *shift;
} affine;

// Element of channel c of a constant that broadcasts per channel over a value of rank `rank`; false
// when it does not.
static bool is_per_channel(const seer_tensor *tensor, uint32_t rank, int64_t n_channels) {
  if (!tensor || tensor->dtype != SEER_DTYPE_F32 || tensor->rank > rank) return false;
  for (uint32_t k = 0; k < tensor->rank; k++) {
    bool is_channel = k + (rank - tensor->rank) == 1;
    if (tensor->dim[k] != 1 && !(is_channel && tensor->dim[k] == n_channels)) return false;
  }
  return true;
}

static double channel_at(const seer_tensor *tensor, int64_t c) {
  return seer_dtype_load_f64(tensor->dtype, tensor->data, seer_tensor_elems(tensor) == 1 ? 0 : c);
}

static bool is_batch_norm(const seer_graph *graph, const seer_node *node, int64_t n_channels) {
  if (node->op != &seer_op_batch_norm || node->n_in != 5 || node->n_out != 1) return false;
  if (seer_node_attr_i(node, "training_mode", 0) != 0) return false;
  for (uint32_t k = 1; k < 5; k++) {
    const seer_tensor *tensor = seer_node_constant(graph, node, k);
    if (!tensor || tensor->dtype != SEER_DTYPE_F32 || seer_tensor_elems(tensor) != n_channels)
      return false;
  }
  return true;
}

// A factor that f32 has whole: a subnormal one has lost digits, and a larger one is infinite.
static bool is_factor(double v) { return v == 0 || (fabs(v) >= FLT_MIN && fabs(v) <= FLT_MAX); }
static bool is_term(double v) { return fabs(v) <= FLT_MAX; }

// Applies `node` to *a when it is affine in its (only) variable operand and the result
// can be said in f32; false otherwise, *a as before. *out_data: that operand.
static bool apply(const seer_graph *graph, const seer_node *node, affine *a, seer_val *out_data) {
  if (node->n_in == 0 || node->n_out != 1 || node->in[0].i == 0) return false;
  const seer_value *out = seer_graph_value(graph, node->out[0]);
  if (out->dtype != SEER_DTYPE_F32 || out->rank < 2) return false;
  int64_t n = out->dim[1];
  if (a->n && a->n != n) return false;
  bool is_mul = node->op == &seer_op_mul, is_add = node->op == &seer_op_add,
       is_sub = node->op == &seer_op_sub, is_div = node->op == &seer_op_div,
       is_norm = is_batch_norm(graph, node, n);
  uint32_t data = 0;
  if (is_mul || is_add || is_sub || is_div) {
    if (node->n_in != 2 || node->in[1].i == 0) return false;
    // c - x and c / x are left alone; sums and products may have their constant on either side.
    if ((is_mul || is_add) && seer_node_constant(graph, node, 0)) data = 1;
    if (!is_per_channel(seer_node_constant(graph, node, 1 - data), out->rank, n)) return false;
  } else if (!is_norm) {
    return false;
  }
  const seer_value *in = seer_graph_value(graph, node->in[data]);
  if (in->constant || in->rank != out->rank ||
      memcmp(in->dim, out->dim, in->rank * sizeof in->dim[0]) != 0)
    return false;
  double epsilon = seer_node_attr_f(node, "epsilon", 1e-5);
  // Twice: all channels are looked at before one is changed. (a->n is 0: only asked whether.)
  for (int64_t k = 0; k < (a->n ? 2 : 1) * n; k++) {
    int64_t c = k % n;
    double scale = 1, shift = 0;
    if (is_norm) {
      scale = channel_at(seer_node_constant(graph, node, 1), c) /
          sqrt(channel_at(seer_node_constant(graph, node, 4), c) + epsilon);
      shift = channel_at(seer_node_constant(graph, node, 2), c) -
          scale * channel_at(seer_node_constant(graph, node, 3), c);
    } else {
      double value = channel_at(seer_node_constant(graph, node, 1 - data), c);
      if (is_mul) scale = value;
      if (is_div) scale = 1 / value;
      if (is_add) shift = value;
      if (is_sub) shift = -value;
    }
    if (!is_factor(scale) || !is_term(shift)) return false;
    if (a->n == 0) continue;
    double whole = a->scale[c] * scale, rest = a->shift[c] * scale + shift;
    if (!is_factor(whole) || !is_term(rest)) return false;
    if (k < n) continue;
    a->scale[c] = whole;
    a->shift[c] = rest;
  }
  *out_data = node->in[data];
  return true;
}

static bool can_apply(
    const seer_graph *graph, const seer_node *node, int64_t *out_n, seer_val *out_data) {
  affine nothing = {0};
  if (!apply(graph, node, &nothing, out_data)) return false;
  *out_n = seer_graph_value(graph, node->out[0])->dim[1];
  return true;
}

static bool can_take(const seer_graph *graph, const seer_node *conv) {
  if (conv->op != &seer_op_conv || conv->n_out != 1) return false;
  const seer_tensor *weight = seer_node_constant(graph, conv, 1),
                    *bias = seer_node_constant(graph, conv, 2);
  bool has_bias = conv->n_in > 2 && conv->in[2].i != 0;
  return weight && weight->dtype == SEER_DTYPE_F32 &&
      (!has_bias || (bias && bias->dtype == SEER_DTYPE_F32));
}

// Whether plain weights become so small by a factor that f32 loses their digits. (Those of channels
// that training has given up are as small by themselves, and so is what comes of them.)
static bool loses_digits(double most, double scale) {
  const double plain = 0x1p-60;
  return most >= plain && scale != 0 && most * fabs(scale) < (double)FLT_MIN;
}

// False, and nothing done, where a weight or the bias would leave f32.
static bool into_conv(seer_graph *graph, seer_node *conv, const affine *a) {
  seer_arena *arena = graph->arena;
  const seer_tensor *weight = seer_node_constant(graph, conv, 1),
                    *bias = seer_node_constant(graph, conv, 2);
  SEER_ASSERT(weight->dim[0] == a->n, "%s: %" PRId64 " outputs, %" PRId64 " channels", conv->name,
      weight->dim[0], a->n);
  size_t n = (size_t)seer_tensor_elems(weight);
  int64_t per_channel = (int64_t)n / a->n;
  float *scaled = seer_arena_alloc(arena, n * sizeof *scaled, 64);
  float *shifted = seer_arena_alloc(arena, (size_t)a->n * sizeof *shifted, 64);
  const float *from = weight->data;
  for (int64_t c = 0; c < a->n; c++) {
    double most = 0;
    for (int64_t k = c * per_channel; k < (c + 1) * per_channel; k++) {
      double weight_of = (double)from[k] * a->scale[c];
      most = fmax(most, fabs((double)from[k]));
      if (!is_term(weight_of)) return false;
      scaled[k] = (float)weight_of;
    }
    if (loses_digits(most, a->scale[c])) return false;
    double old = bias ? seer_dtype_load_f64(SEER_DTYPE_F32, bias->data, c) : 0;
    double term = old * a->scale[c] + a->shift[c];
    if (!is_term(term)) return false;
    shifted[c] = (float)term;
  }
  const char *name = seer_graph_value(graph, conv->in[1])->name;
  int64_t bias_dim[] = {a->n};
  seer_val in[3] = {conv->in[0], seer_pass_add_f32(graph, name, scaled, weight->dim, weight->rank),
      seer_pass_add_f32(graph, seer_arena_printf(arena, "%s.bias", name), shifted, bias_dim, 1)};
  conv->in = seer_arena_memdup(arena, in, sizeof in);
  conv->n_in = 3;
  return true;
}

static bool is_all(const double *values, int64_t n, double value) {
  for (int64_t k = 0; k < n; k++) {
    if (values[k] != value) return false;
  }
  return true;
}

// One node `op` of `x` and a per-channel constant, making `out` (0: a new value like `like`).
static seer_val add_binary(seer_graph *graph, const char *op, const char *name, seer_val x,
    const double *values, int64_t n, seer_val like, seer_val out) {
  seer_value type = *seer_graph_value(graph, like);
  int64_t dim[SEER_MAX_RANK] = {n};
  for (uint32_t k = 1; k + 1 < type.rank; k++) dim[k] = 1;
  float *data = seer_arena_alloc(graph->arena, (size_t)n * sizeof *data, 64);
  for (int64_t c = 0; c < n; c++) data[c] = (float)values[c];
  const char *base = seer_arena_printf(graph->arena, "%s.%s", name, op);
  seer_val in[2] = {x,
      seer_pass_add_f32(
          graph, seer_arena_printf(graph->arena, "%s.const", base), data, dim, type.rank - 1u)};
  if (out.i == 0)
    out = seer_graph_add_value(
        graph, seer_graph_fresh_name(graph, base), type.dtype, type.dim, type.rank);
  enum { OPSET = 13 };
  seer_node_id id = seer_graph_add_node(graph, base, "", op, OPSET, in, 2, &out, 1, NULL, 0);
  seer_graph_node(graph, id)->op = seer_op_find("", op, OPSET);
  SEER_ASSERT(seer_graph_node(graph, id)->op, "no operator %s", op);
  return out;
}

static void into_mul_add(
    seer_graph *graph, const char *name, seer_val x, seer_val out, const affine *a) {
  bool has_scale = !is_all(a->scale, a->n, 1), has_shift = !is_all(a->shift, a->n, 0);
  if (has_scale || !has_shift) {
    x = add_binary(graph, "Mul", name, x, a->scale, a->n, out, has_shift ? (seer_val){0} : out);
  }
  if (has_shift) add_binary(graph, "Add", name, x, a->shift, a->n, out, out);
}

void seer_pass_affine(seer_graph *graph) {
  seer_arena *scratch = seer_arena_create("affine");
  seer_graph_uses uses = seer_graph_index_uses(graph, scratch);
  uint32_t n_node = (uint32_t)graph->n_node;
  for (uint32_t k = 1; k < n_node; k++) {
    affine a = {0};
    seer_val x, at;
    int64_t n;
    if (graph->node[k].is_dead || !can_apply(graph, &graph->node[k], &n, &x)) continue;
    seer_arena_mark mark = seer_arena_save(scratch);
    a = (affine){n, SEER_NEW_ARRAY(scratch, double, n), SEER_NEW_ARRAY(scratch, double, n)};
    for (int64_t c = 0; c < n; c++) a.scale[c] = 1;
    // The chain: this node and its only readers as long as they are affine.
    uint32_t last = k;
    bool has_norm = false;
    for (uint32_t j = k; j != 0;) {
      if (!apply(graph, &graph->node[j], &a, &at)) break;
      has_norm |= graph->node[j].op == &seer_op_batch_norm;
      last = j;
      j = seer_pass_only_reader(graph, &uses, graph->node[j].out[0]);
    }
    seer_node_id producer = seer_graph_value(graph, x)->producer;
    bool into_weights = producer.i && seer_pass_only_reader(graph, &uses, x) == k &&
        can_take(graph, &graph->node[producer.i]) && into_conv(graph, &graph->node[producer.i], &a);
    if (into_weights || has_norm) {
      seer_val out = graph->node[last].out[0];
      const char *name = graph->node[k].name;
      for (uint32_t j = k;;) {
        uint32_t next = j == last ? 0 : seer_pass_only_reader(graph, &uses, graph->node[j].out[0]);
        seer_graph_kill_node(graph, (seer_node_id){j});
        if (next == 0) break;
        j = next;
      }
      if (into_weights) {
        graph->value[x.i].producer = (seer_node_id){0};
        graph->node[producer.i].out[0] = out;
        graph->value[out.i].producer = producer;
      } else {
        into_mul_add(graph, name, x, out, &a);
      }
    }
    seer_arena_rewind(scratch, mark);
  }
  seer_arena_destroy(scratch);
}
