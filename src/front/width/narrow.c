// narrow.c - large integer constants are stored as narrow as their numbers allow.
// Quantised products whose weights fit no i8 are written as products of i32 (front/expand/quant.c):
// "weights less their zero point" folds into a constant of i32 whose numbers are those of 9 bits.
// Such a constant gets a tensor of i8, u8, i16 or u16, while the value stays what its readers think
// it is; they load and widen in one go (front/op/emit.c). A cast as a node would not do: where it
// reads a constant it is folded, and what is left is computed before the program runs
// (code/constant.h). Steps of the host and the caller get the bytes themselves: what they read
// stays as it is.
// requires: sorted, resolved, folded; nobody behind it changes constants.
#include "dag/scalar.h"
#include "front/pass/pass.h"

// Widening is an instruction for each vector of weights. Where each is used for several rows that
// is lost in the multiplications (128x1024x1024: 1.02 times the time of i32, tuned; 1.06 untuned),
// and products by a vector gain (2048x2048: 0.36); but a depthwise convolution of 384 channels took
// 1.14 times as long to save 10 KB. 2026-11-22, AVX-512. Small constants are in a near cache all
// the time.
static const int64_t min_saved_bytes = 65536;

static bool holds(seer_dtype dtype, int64_t low, int64_t high) {
  return low >= seer_scalar_lowest(dtype).i && high <= seer_scalar_highest(dtype).i;
}

// The narrowest type, or the tensor's own.
static seer_dtype narrowest(const seer_tensor *tensor, int64_t n) {
  static const seer_dtype from_narrow[] = {
      SEER_DTYPE_I8, SEER_DTYPE_U8, SEER_DTYPE_I16, SEER_DTYPE_U16, SEER_DTYPE_I32};
  int64_t low = INT64_MAX, high = INT64_MIN;
  for (int64_t i = 0; i < n; i++) {
    int64_t number = seer_dtype_load_i64(tensor->dtype, tensor->data, i);
    low = seer_min_i64(low, number);
    high = seer_max_i64(high, number);
  }
  for (size_t k = 0; k < SEER_COUNT_OF(from_narrow); k++)
    if (holds(from_narrow[k], low, high)) return from_narrow[k];
  return tensor->dtype;
}

static void narrow(seer_graph *graph, seer_val v) {
  const seer_tensor *wide = seer_graph_value(graph, v)->constant;
  int64_t n = seer_tensor_elems(wide);
  uint32_t wide_bytes = seer_dtype_bytes(wide->dtype);
  if (n * (wide_bytes - 1) < min_saved_bytes) return;
  seer_dtype dtype = narrowest(wide, n);
  uint32_t bytes = seer_dtype_bytes(dtype);
  if (n * (wide_bytes - bytes) < min_saved_bytes) return;
  void *data = seer_arena_alloc(graph->arena, (size_t)n * bytes, 64);
  for (int64_t i = 0; i < n; i++)
    seer_dtype_store_i64(dtype, data, i, seer_dtype_load_i64(wide->dtype, wide->data, i));
  seer_tensor tensor = *wide;
  tensor.dtype = dtype;
  tensor.data = data;
  tensor.n_bytes = (size_t)n * bytes;
  seer_graph_value(graph, v)->constant = seer_arena_memdup(graph->arena, &tensor, sizeof tensor);
}

static seer_status run(const seer_context *context, seer_graph *graph) {
  (void)context;
  seer_arena *scratch = seer_arena_create("narrow");
  bool *needs_bytes = SEER_NEW_ARRAY(scratch, bool, graph->n_value);
  for (uint32_t k = 1; k < graph->n_node; k++) {
    const seer_node *node = &graph->node[k];
    if (node->is_dead || (node->op && !seer_op_is_for_runtime(node->op))) continue;
    for (uint32_t i = 0; i < node->n_in; i++) needs_bytes[node->in[i].i] = true;
  }
  for (uint32_t v = 1; v < graph->n_value; v++) {
    const seer_value *value = &graph->value[v];
    bool is_wide = value->dtype == SEER_DTYPE_I32 || value->dtype == SEER_DTYPE_I64;
    if (value->constant && is_wide && !value->is_output && !needs_bytes[v])
      narrow(graph, (seer_val){v});
  }
  seer_arena_destroy(scratch);
  return SEER_OK;
}

const seer_pass_desc seer_pass_narrow = {
    "narrow", "large integer constants as narrow as their numbers", run};
