// tolerance.c - the types on the way to an output -> the error that it may have.
#include "library/tolerance.h"

#include <math.h>

#include "front/op.h"

// Of f32 and wider: what networks of fifty layers differ by is 1e-5 to 1e-4.
#define WIDE 1e-3
// Roundings of the narrowest type, half a step each, that may add up in an output. Seen: 3 in f16
// (DistilBERT), 4 in 8 bits (a quantised MobileNetV4).
#define N_ROUNDINGS 16
// Of many to integers, one behind the other, each that falls on the other side moves what follows
// by a step, this way or that: they add up as their square root. So many of those cover a million
// elements. Seen: 23 behind 12 layers of a quantised BERT, 57 in its pooled row; 16 in MobileNetV2.
// So do those of products' operands, one behind the other: 17 behind the 53 of MobileNetV2 in bf16.
#define N_DEVIATIONS 4
#define AT_MOST 0.25  // beyond it nothing would be judged: 4-bit integers, float8

static bool is_narrow_int(const seer_value *value) {
  return value->dtype != SEER_DTYPE_NONE && value->dtype != SEER_DTYPE_BOOL &&
      !seer_dtype_is_float(value->dtype) && seer_dtype_bits(value->dtype) <= 16;
}

// A product of f32 whose operands are rounded to `products`.
static bool is_narrowed(const seer_node *node, const seer_value *value, seer_precision products) {
  return products != SEER_PRECISION_F32 && node->op && node->op->multiplies &&
      value->dtype == SEER_DTYPE_F32;
}

// Of a value that `node` makes: half a step of its type, relative to the largest that it holds; of
// a product half a step of what its operands were rounded to.
static double rounding(const seer_graph *graph, const seer_node *node, const seer_value *value,
    seer_precision products) {
  if (is_narrowed(node, value, products))
    return ldexp(1, -(int)seer_precision_digits(products) - 1);
  const seer_float_format *format = seer_dtype_format(value->dtype);
  if (format) return ldexp(1, -format->mantissa_bits - 1);
  bool is_cut = false;
  for (uint32_t i = 0; i < node->n_in; i++)
    is_cut |= node->in[i].i && seer_dtype_is_float(graph->value[node->in[i].i].dtype);
  return is_cut && is_narrow_int(value) ? ldexp(1, -(int)seer_dtype_bits(value->dtype)) : 0;
}

double *seer_verify_tolerances(
    const seer_graph *graph, seer_precision products, seer_arena *arena) {
  double *most = SEER_NEW_ARRAY(arena, double, graph->n_value);
  // Roundings to integers, and of products' operands, on the way.
  uint32_t *n_cut = SEER_NEW_ARRAY(arena, uint32_t, graph->n_value);
  for (size_t k = 1; k < graph->n_node; k++) {
    const seer_node *node = &graph->node[k];
    double before = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < node->n_in && !node->is_dead; i++) {
      before = fmax(before, most[node->in[i].i]);
      if (n_cut[node->in[i].i] > n) n = n_cut[node->in[i].i];
    }
    for (uint32_t i = 0; i < node->n_out && !node->is_dead; i++) {
      uint32_t v = node->out[i].i;
      if (v == 0) continue;
      double own = rounding(graph, node, &graph->value[v], products);
      most[v] = fmax(before, own);
      const seer_value *value = &graph->value[v];
      n_cut[v] = n + (is_narrowed(node, value, products) || (own > 0 && is_narrow_int(value)));
    }
  }
  for (size_t v = 0; v < graph->n_value; v++) {
    double n = fmax(N_ROUNDINGS, N_DEVIATIONS * sqrt(n_cut[v]));
    most[v] = fmin(AT_MOST, fmax(WIDE, n * most[v]));
  }
  return most;
}

bool *seer_verify_decided(const seer_graph *graph, seer_arena *arena) {
  bool *is_decided = SEER_NEW_ARRAY(arena, bool, graph->n_value);
  for (size_t k = 1; k < graph->n_node; k++) {
    const seer_node *node = &graph->node[k];
    bool is_cut = false;
    for (uint32_t i = 0; i < node->n_in && !node->is_dead; i++) {
      const seer_value *in = &graph->value[node->in[i].i];
      is_cut |= node->in[i].i && !in->constant &&
          (seer_dtype_is_float(in->dtype) || is_decided[node->in[i].i]);
    }
    for (uint32_t i = 0; i < node->n_out && is_cut; i++) {
      const seer_value *out = &graph->value[node->out[i].i];
      // Steps of narrow integers have a tolerance.
      bool is_step = rounding(graph, node, out, SEER_PRECISION_F32) > 0;
      is_decided[node->out[i].i] = node->out[i].i && !seer_dtype_is_float(out->dtype) && !is_step;
    }
  }
  return is_decided;
}
