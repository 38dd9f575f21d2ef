// bit_cast.c - BitCast: the same bits as another type of as many. Between integers that is a cast,
// which keeps the bits. Floats are copied by the host, for which they are bytes: kernels widen
// halves, and a NaN's bits are lost.
#include "front/expand/expand.h"
#include "front/onnx/dtype.h"
#include "runtime/host.h"

static seer_status read_type(const seer_node *node, const seer_value *x, seer_dtype *out_to) {
  int64_t number = seer_node_attr_i(node, "to", 0);
  bool is_known = number > 0 && number <= INT32_MAX;
  *out_to = is_known ? seer_onnx_dtype((int32_t)number) : SEER_DTYPE_NONE;
  if (*out_to != SEER_DTYPE_NONE && seer_dtype_bits(*out_to) == seer_dtype_bits(x->dtype))
    return SEER_OK;
  return SEER_FAIL(INVALID,
      "attribute 'to' is %" PRId64 " (%s), and input 0 is %s: both must have as many bits", number,
      is_known ? seer_onnx_dtype_name((int32_t)number) : "?", seer_dtype_name(x->dtype));
}

// ---- on the host

static seer_status infer_host_bits(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  (void)arena;
  const seer_value *x = NULL;
  seer_dtype to;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(read_type(node, x, &to));
  return seer_op_set(&out_values[0], to, x->dim, x->rank);
}

static seer_status fold_host_bits(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_tensor *out_tensors) {
  const seer_tensor *x = seer_op_const(graph, node, 0);
  (void)arena;
  out_tensors[0] = *x;
  out_tensors[0].dtype = seer_onnx_dtype((int32_t)seer_node_attr_i(node, "to", 0));
  return SEER_OK;
}
SEER_OP_INNER(host_bits, "Bits", 1, 1, 1, SEER_FUSE_OPAQUE, "to", SEER_HOST_BITS, 1,
    .infer = infer_host_bits, .fold = fold_host_bits, .doc = "")

// ---- ONNX's

static seer_status expand_bit_cast(seer_expand *e) {
  const seer_value *x = seer_expand_in(e, 0);
  seer_val y = e->node.in[0];
  seer_dtype from = x->dtype, to;
  SEER_TRY(read_type(&e->node, x, &to));
  bool is_float = seer_dtype_is_float(from) || seer_dtype_is_float(to);
  bool is_copied = is_float && (from != to || seer_dtype_format(to));
  // A bool is 0 or 1, whatever the byte holds: a float's goes by u8.
  if (is_copied && from == SEER_DTYPE_BOOL) y = seer_expand_cast(e, y, SEER_DTYPE_U8);
  if (is_copied) {
    seer_dtype made = to == SEER_DTYPE_BOOL ? SEER_DTYPE_U8 : to;
    seer_attr attr = seer_expand_int("to", seer_onnx_dtype_number(made));
    seer_expand_inner(e, "Bits", &y, 1, &attr, 1, &y, 1);
  }
  bool is_cast = to == SEER_DTYPE_BOOL || !is_copied;
  seer_expand_output(e, 0, is_cast && from != to ? seer_expand_cast(e, y, to) : y);
  return SEER_OK;
}
SEER_COMPOSITE(bit_cast, "", "BitCast", 26, SEER_OPSET_NEWEST, 1, 1, 1, 1, "to", expand_bit_cast,
    "types of equal size")
