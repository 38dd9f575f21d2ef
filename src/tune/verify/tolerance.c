// tolerance.c - the types on the way to an output -> the error that it may have.
#include "tune/verify/tolerance.h"

#include <math.h>

// Of f32 and wider: what networks of fifty layers differ by is 1e-5 to 1e-4.
#define WIDE 1e-3
// Roundings of the narrowest type, half a step each, that may add up in an output. Seen: 3 in f16
// (DistilBERT), 4 in 8 bits (a quantised MobileNetV4).
#define N_ROUNDINGS 16
#define AT_MOST 0.25  // beyond it nothing would be judged: 4-bit integers, float8

static bool is_narrow_int(const seer_value *value) {
  return value->dtype != SEER_DTYPE_NONE && value->dtype != SEER_DTYPE_BOOL &&
      !seer_dtype_is_float(value->dtype) && seer_dtype_bits(value->dtype) <= 16;
}

// Of a value that `node` makes: half a step of its type, relative to the largest that it holds.
static double rounding(const seer_graph *graph, const seer_node *node, const seer_value *value) {
  const seer_float_format *format = seer_dtype_format(value->dtype);
  if (format) return ldexp(1, -format->mantissa_bits - 1);
  bool is_cut = false;
  for (uint32_t i = 0; i < node->n_in; i++)
    is_cut |= node->in[i].i && seer_dtype_is_float(graph->value[node->in[i].i].dtype);
  return is_cut && is_narrow_int(value) ? ldexp(1, -(int)seer_dtype_bits(value->dtype)) : 0;
}

double seer_verify_tolerance(const seer_graph *graph, seer_val output) {
  seer_arena *scratch = seer_arena_create("tolerance");
  bool *is_seen = SEER_NEW_ARRAY(scratch, bool, graph->n_value);
  uint32_t *stack = SEER_NEW_ARRAY(scratch, uint32_t, graph->n_value), depth = 0;
  double most = 0;
  stack[depth++] = output.i;
  is_seen[output.i] = true;
  while (depth > 0) {
    const seer_value *value = &graph->value[stack[--depth]];
    if (value->constant || value->producer.i == 0) continue;
    const seer_node *node = &graph->node[value->producer.i];
    most = fmax(most, rounding(graph, node, value));
    for (uint32_t i = 0; i < node->n_in; i++) {
      uint32_t v = node->in[i].i;
      if (v == 0 || is_seen[v]) continue;
      is_seen[v] = true;
      stack[depth++] = v;
    }
  }
  seer_arena_destroy(scratch);
  return fmin(AT_MOST, fmax(WIDE, N_ROUNDINGS * most));
}
