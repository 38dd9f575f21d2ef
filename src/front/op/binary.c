// binary.c - elementwise operators over several inputs, with NumPy's broadcasting: arithmetic,
// comparisons, logic, variadic Min / Max / Sum / Mean, Where, PRelu. One stage whose loads read
// dimensions of extent 1 at index 0.
#include <math.h>
#include <string.h>

#include "front/sized.h"

// All inputs from `first` on are of one type and broadcast to the output.
static seer_status infer_broadcast(const seer_graph *graph, const seer_node *node, uint32_t first,
    seer_dtype result, seer_value *out_value) {
  const seer_value *in = NULL, *typed = NULL;
  int64_t dim[SEER_MAX_RANK] = {0};
  uint32_t rank = 0;
  SEER_TRY(seer_op_in(graph, node, first, &typed));
  for (uint32_t k = 0; k < node->n_in; k++) {
    SEER_TRY(seer_op_in(graph, node, k, &in));
    if (k >= first) SEER_TRY(seer_op_same_dtype(typed, in, k));
    SEER_TRY(seer_op_broadcast(in, k, dim, &rank));
  }
  return seer_op_set(out_value, result == SEER_DTYPE_NONE ? typed->dtype : result, dim, rank);
}

static seer_status infer_same_type(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  (void)arena;
  return infer_broadcast(graph, node, 0, SEER_DTYPE_NONE, &out_values[0]);
}

static seer_status infer_compare(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  (void)arena;
  return infer_broadcast(graph, node, 0, SEER_DTYPE_BOOL, &out_values[0]);
}

static seer_status infer_logic(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  SEER_TRY(infer_same_type(graph, node, arena, out_values));
  if (out_values[0].dtype == SEER_DTYPE_BOOL) return SEER_OK;
  return SEER_FAIL(INVALID, "inputs are %s, must be bool", seer_dtype_name(out_values[0].dtype));
}

// `dtype`: what is computed in, that of both.
typedef seer_expr (*join_fn)(
    seer_emit *emit, const seer_node *node, seer_dtype dtype, seer_expr a, seer_expr b);

// ((in0 op in1) op in2) ...
static seer_expr joined(seer_emit *emit, const seer_node *node, join_fn join, uint32_t *out_stage) {
  const seer_value *out = seer_emit_out(emit, node, 0);
  seer_expr at[SEER_MAX_RANK];
  *out_stage = seer_emit_stage(emit, node, 0, seer_op_stage_role(emit), NULL, NULL, 0, at, NULL);
  seer_expr body = seer_op_load_broadcast(emit, node, 0, at, out->rank);
  for (uint32_t k = 1; k < node->n_in; k++) {
    body = join(emit, node, seer_dtype_computed(seer_emit_in(emit, node, 0)->dtype), body,
        seer_op_load_broadcast(emit, node, k, at, out->rank));
  }
  return body;
}

static seer_status emit_join(seer_emit *emit, const seer_node *node, join_fn join) {
  uint32_t stage;
  seer_expr body = joined(emit, node, join, &stage);
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE, body);
  return SEER_OK;
}

#define JOIN_FN(id)                                                              \
  static seer_expr join_##id(seer_emit *emit, SEER_UNUSED const seer_node *node, \
      SEER_UNUSED seer_dtype dtype, seer_expr a, seer_expr b)

// `...`: the text, and what else the entry says.
#define ENTRY(id, onnx, from, n_min, n_max, attributes, infer_fn, ...)                            \
  SEER_OP_ENTRY(id, onnx, from, n_min, n_max, 1, SEER_FUSE_ELEMENTWISE, attributes, .rtol = 1e-5, \
      .atol = 1e-6, .infer = infer_fn, .emit = emit_##id, .doc = __VA_ARGS__)

#define JOIN(id, onnx, from, n_min, n_max, attributes, infer_fn, ...)    \
  static seer_status emit_##id(seer_emit *emit, const seer_node *node) { \
    return emit_join(emit, node, join_##id);                             \
  }                                                                      \
  ENTRY(id, onnx, from, n_min, n_max, attributes, infer_fn, __VA_ARGS__)

#define DIRECT(id, onnx, from, op, n_min, n_max, infer_fn, ...) \
  JOIN_FN(id) { return seer_op_2(emit, op, a, b); }             \
  JOIN(id, onnx, from, n_min, n_max, "", infer_fn, __VA_ARGS__)

#define NUMPY "NumPy broadcasting"

// Of any number of operands: one of them is itself.
static bool is_of_one(SEER_UNUSED const seer_graph *graph, const seer_node *node) {
  return node->n_in == 1;
}

// More operands than a kernel reads: the first of them, then that and the next, in the same order.
static bool is_of_many(SEER_UNUSED const seer_graph *graph, const seer_node *node) {
  return node->n_in > SEER_OP_KERNEL_IN;
}

static seer_val add_chain(seer_expand *e, const char *op_type) {
  seer_val in[SEER_OP_KERNEL_IN];
  uint32_t n = 0;
  for (uint32_t k = 0; k < e->node.n_in; k++) {
    in[n++] = e->node.in[k];
    if (n < SEER_OP_KERNEL_IN && k + 1 < e->node.n_in) continue;
    in[0] = seer_expand_add(e, op_type, in, n, NULL, 0);
    n = 1;
  }
  return in[0];
}

static seer_status expand_chain(seer_expand *e) {
  seer_expand_output(e, 0, add_chain(e, e->node.op_type));
  return SEER_OK;
}
#define OF_ANY_NUMBER(expand_fn) \
  .is_copy = is_of_one, .is_composite = is_of_many, .expand = expand_fn, .expands_sized = true

// Sums are rounded once.
static seer_status expand_sum(seer_expand *e) {
  SEER_TRY(seer_expand_widen(e, SEER_EXPAND_ALL));
  return expand_chain(e);
}

// The least of the constants among the operands of Min; if there are none, the first operand.
static seer_val least_operand(const seer_graph *graph, const seer_node *node) {
  seer_val least = node->in[0];
  int64_t number = 0;
  bool is_known = false;
  for (uint32_t k = 0; k < node->n_in; k++) {
    const seer_tensor *most = seer_op_const(graph, node, k);
    if (!most || seer_tensor_elems(most) != 1) continue;
    int64_t other = seer_dtype_load_i64(most->dtype, most->data, 0);
    if (!is_known || other < number) {
      least = node->in[k];
      number = other;
    }
    is_known = true;
  }
  return least;
}

DIRECT(add, "Add", 7, SEER_EXPR_ADD, 2, 2, infer_same_type, NUMPY, .treats_alike = true)
DIRECT(sub, "Sub", 7, SEER_EXPR_SUB, 2, 2, infer_same_type, NUMPY, .treats_alike = true)
DIRECT(mul, "Mul", 7, SEER_EXPR_MUL, 2, 2, infer_same_type, NUMPY, .treats_alike = true)
DIRECT(min, "Min", 6, SEER_EXPR_MIN, 1, SEER_OP_ANY, infer_same_type, NUMPY, .treats_alike = true,
    .bounded_by = least_operand, OF_ANY_NUMBER(expand_chain))
DIRECT(max, "Max", 6, SEER_EXPR_MAX, 1, SEER_OP_ANY, infer_same_type, NUMPY, .treats_alike = true,
    OF_ANY_NUMBER(expand_chain))
DIRECT(
    sum, "Sum", 6, SEER_EXPR_ADD, 1, SEER_OP_ANY, infer_same_type, NUMPY, OF_ANY_NUMBER(expand_sum))
DIRECT(equal, "Equal", 7, SEER_EXPR_EQ, 2, 2, infer_compare, NUMPY)
DIRECT(less, "Less", 7, SEER_EXPR_LT, 2, 2, infer_compare, NUMPY)
DIRECT(greater, "Greater", 7, SEER_EXPR_GT, 2, 2, infer_compare, NUMPY)
DIRECT(less_or_equal, "LessOrEqual", 12, SEER_EXPR_LE, 2, 2, infer_compare, NUMPY)
DIRECT(greater_or_equal, "GreaterOrEqual", 12, SEER_EXPR_GE, 2, 2, infer_compare, NUMPY)
DIRECT(and, "And", 7, SEER_EXPR_AND, 2, 2, infer_logic, NUMPY)
DIRECT(or, "Or", 7, SEER_EXPR_OR, 2, 2, infer_logic, NUMPY)
DIRECT(xor, "Xor", 7, SEER_EXPR_XOR, 2, 2, infer_logic, NUMPY)

// ---- bits

static seer_status infer_bits(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  SEER_TRY(infer_same_type(graph, node, arena, out_values));
  seer_dtype dtype = out_values[0].dtype;
  if (!seer_dtype_is_float(dtype) && dtype != SEER_DTYPE_BOOL) return SEER_OK;
  return SEER_FAIL(INVALID, "inputs are %s, must be an integer type", seer_dtype_name(dtype));
}

static seer_status infer_shift(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const char *direction = seer_node_attr_s(node, "direction", "");
  SEER_TRY(infer_bits(graph, node, arena, out_values));
  if (strcmp(direction, "LEFT") == 0 || strcmp(direction, "RIGHT") == 0) return SEER_OK;
  return SEER_FAIL(INVALID, "attribute 'direction' is '%s', must be LEFT or RIGHT", direction);
}

DIRECT(bitwise_and, "BitwiseAnd", 18, SEER_EXPR_AND, 2, 2, infer_bits, NUMPY)
DIRECT(bitwise_or, "BitwiseOr", 18, SEER_EXPR_OR, 2, 2, infer_bits, NUMPY)
DIRECT(bitwise_xor, "BitwiseXor", 18, SEER_EXPR_XOR, 2, 2, infer_bits, NUMPY)
// Of signed types to the right: copies of the sign come in. By less than 0 or by all bits: only
// those are left. So the DAG's.
JOIN_FN(bit_shift) {
  bool is_left = strcmp(seer_node_attr_s(node, "direction", ""), "LEFT") == 0;
  return seer_op_2(emit, is_left ? SEER_EXPR_SHL : SEER_EXPR_SHR, a, b);
}
JOIN(bit_shift, "BitShift", 11, 2, 2, "direction", infer_shift, NUMPY "; signed types, too")

// ---- arithmetic that is more than one operator

// A whole number by zero stops the program, and beyond an operand's size there may be zeros.
static seer_status carry_division(seer_expand *e) {
  SEER_SIZED_EACH(e, at) {
    if (at.k == 1 && !seer_dtype_is_float(seer_expand_in(e, 1)->dtype))
      return seer_sized_refuse(e, at, "integers cannot be divided by such a value");
  }
  return seer_sized_broadcast(e);
}

// ONNX's integer division truncates, the DAG's is floor: one more where they differ.
JOIN_FN(div) {
  seer_expr quotient = seer_op_2(emit, SEER_EXPR_DIV, a, b);
  if (seer_dtype_is_float(dtype) || !seer_dtype_is_signed(dtype)) return quotient;
  seer_expr zero = seer_op_num(emit, dtype, 0);
  seer_expr product = seer_op_2(emit, SEER_EXPR_MUL, quotient, b);
  seer_expr is_inexact = seer_op_2(emit, SEER_EXPR_NE, product, a);
  seer_expr is_negative = seer_op_2(emit, SEER_EXPR_LT, quotient, zero);
  return seer_expr_select(&emit->dag->expr, seer_op_2(emit, SEER_EXPR_AND, is_inexact, is_negative),
      seer_op_2(emit, SEER_EXPR_ADD, quotient, seer_op_num(emit, dtype, 1)), quotient);
}
JOIN(div, "Div", 7, 2, 2, "", infer_same_type, NUMPY, .treats_alike = true,
    .carry_sizes = carry_division)

// fmod = 0: the sign is the divisor's (of integers the DAG's floor modulus). fmod = 1: the
// dividend's (of floats the DAG's, C's fmod).
JOIN_FN(mod) {
  bool is_divisors = seer_node_attr_i(node, "fmod", 0) == 0;
  seer_expr rest = seer_op_2(emit, SEER_EXPR_MOD, a, b);
  if (seer_dtype_is_float(dtype) ? !is_divisors : is_divisors || !seer_dtype_is_signed(dtype))
    return rest;
  if (!seer_dtype_is_float(dtype)) {
    return seer_op_2(emit, SEER_EXPR_SUB, a,
        seer_op_2(emit, SEER_EXPR_MUL, join_div(emit, node, dtype, a, b), b));
  }
  // Of other sign than the divisor: that much below it. Zeros have its sign, too.
  seer_expr_pool *pool = &emit->dag->expr;
  seer_expr zero = seer_op_num(emit, dtype, 0);
  seer_expr is_below = seer_op_2(emit, SEER_EXPR_LT, b, zero);
  seer_expr differs =
      seer_op_2(emit, SEER_EXPR_XOR, seer_op_2(emit, SEER_EXPR_LT, rest, zero), is_below);
  seer_expr nothing = seer_expr_select(pool, is_below, seer_op_num(emit, dtype, -0.0), zero);
  return seer_expr_select(pool, seer_op_2(emit, SEER_EXPR_EQ, rest, zero), nothing,
      seer_expr_select(pool, differs, seer_op_2(emit, SEER_EXPR_ADD, rest, b), rest));
}
JOIN(mod, "Mod", 10, 2, 2, "fmod", infer_same_type, NUMPY "; exact", .carry_sizes = carry_division)

// ---- Mean: the sum divided by n

static seer_status infer_mean(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *in = NULL;
  SEER_TRY(seer_op_in(graph, node, 0, &in));
  SEER_TRY(seer_op_want_float(in, 0));
  return infer_same_type(graph, node, arena, out_values);
}

static seer_status emit_mean(seer_emit *emit, const seer_node *node) {
  uint32_t stage;
  seer_expr sum = joined(emit, node, join_sum, &stage);
  seer_expr n = seer_op_num(emit, seer_emit_out(emit, node, 0)->dtype, node->n_in);
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE, seer_op_2(emit, SEER_EXPR_DIV, sum, n));
  return SEER_OK;
}

static seer_status expand_mean(seer_expand *e) {
  SEER_TRY(seer_op_want_float(seer_expand_in(e, 0), 0));
  SEER_TRY(seer_expand_widen(e, SEER_EXPAND_ALL));
  seer_val n = seer_expand_scalar(e, seer_expand_in(e, 0)->dtype, e->node.n_in);
  seer_expand_output(e, 0, seer_expand_2(e, "Div", add_chain(e, "Sum"), n));
  return SEER_OK;
}
ENTRY(mean, "Mean", 6, 1, SEER_OP_ANY, "", infer_mean, NUMPY, OF_ANY_NUMBER(expand_mean))

// ---- Pow: the exponents that networks use are cheaper as products and roots

static seer_status infer_pow(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  (void)arena;
  const seer_value *base = NULL, *exponent = NULL;
  int64_t dim[SEER_MAX_RANK] = {0};
  uint32_t rank = 0;
  SEER_TRY(seer_op_in(graph, node, 0, &base));
  SEER_TRY(seer_op_in(graph, node, 1, &exponent));
  SEER_TRY(seer_op_broadcast(base, 0, dim, &rank));
  SEER_TRY(seer_op_broadcast(exponent, 1, dim, &rank));
  return seer_op_set(&out_values[0], base->dtype, dim, rank);
}

// x^(1/2): +0 for -0 and infinite for -infinity, where the square root is -0 and NaN.
static seer_expr root_of(seer_emit *emit, seer_dtype dtype, seer_expr x) {
  seer_expr low = seer_op_num(emit, dtype, -(double)INFINITY);
  seer_expr high = seer_op_num(emit, dtype, (double)INFINITY);
  seer_expr root = seer_op_2(emit, SEER_EXPR_ADD, x, seer_op_num(emit, dtype, 0));
  root = seer_op_1(emit, SEER_EXPR_SQRT, root);
  return seer_expr_select(&emit->dag->expr, seer_op_2(emit, SEER_EXPR_EQ, x, low), high, root);
}

static seer_status emit_pow(seer_emit *emit, const seer_node *node) {
  const seer_value *out = seer_emit_out(emit, node, 0);
  seer_expr_pool *pool = &emit->dag->expr;
  seer_expr at[SEER_MAX_RANK];
  uint32_t stage =
      seer_emit_stage(emit, node, 0, seer_op_stage_role(emit), NULL, NULL, 0, at, NULL);
  seer_expr x = seer_op_load_broadcast(emit, node, 0, at, out->rank);
  seer_expr y = seer_op_load_broadcast(emit, node, 1, at, out->rank);
  bool is_float = seer_dtype_is_float(out->dtype);
  double exponent = NAN;
  const seer_tensor *constant = seer_op_const(emit->graph, node, 1);
  if (constant && seer_tensor_elems(constant) == 1) {
    exponent = seer_dtype_load_f64(constant->dtype, constant->data, 0);
  }
  seer_expr body;
  if (exponent == 1.0) {
    body = x;
  } else if (exponent == 2.0) {
    body = seer_op_2(emit, SEER_EXPR_MUL, x, x);
  } else if (exponent == 3.0) {
    body = seer_op_2(emit, SEER_EXPR_MUL, seer_op_2(emit, SEER_EXPR_MUL, x, x), x);
  } else if (exponent == 0.5 && is_float) {
    body = root_of(emit, seer_dtype_computed(out->dtype), x);
  } else if (exponent == -1.0 && is_float) {
    body = seer_op_2(emit, SEER_EXPR_DIV, seer_op_num(emit, out->dtype, 1), x);
  } else if (exponent == -0.5 && is_float) {
    seer_dtype dtype = seer_dtype_computed(out->dtype);
    body = seer_op_2(emit, SEER_EXPR_DIV, seer_op_num(emit, dtype, 1), root_of(emit, dtype, x));
  } else {
    // Mixed and integer types are computed in floating point, as runtimes do.
    seer_dtype wide = is_float ? seer_dtype_computed(out->dtype) : SEER_DTYPE_F64;
    if (seer_op_dtype(emit, x) != wide) x = seer_expr_cast(pool, wide, x);
    if (seer_op_dtype(emit, y) != wide) y = seer_expr_cast(pool, wide, y);
    body = seer_op_2(emit, SEER_EXPR_POW, x, y);
    if (!is_float) {  // 3^6 is not to be 728: powers are exact to 1e-14 or so, not more
      body = seer_op_2(emit, SEER_EXPR_MUL, body, seer_op_num(emit, wide, 1 + 1e-13));
      body = seer_expr_cast(pool, out->dtype, body);
    }
  }
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE, body);
  return SEER_OK;
}
ENTRY(pow, "Pow", 7, 2, 2, "", infer_pow, NUMPY ", mixed types", .treats_alike = true)

// ---- PRelu: the slope broadcasts to x, never the other way

static seer_status infer_prelu(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *x = NULL, *slope = NULL;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(seer_op_in(graph, node, 1, &slope));
  SEER_TRY(infer_same_type(graph, node, arena, out_values));
  if (out_values[0].rank != x->rank || seer_op_elems(&out_values[0]) != seer_op_elems(x)) {
    return SEER_FAIL(INVALID, "input 1 is %s, must broadcast to %s",
        seer_op_shape_text(slope, arena), seer_op_shape_text(x, arena));
  }
  return SEER_OK;
}

JOIN_FN(prelu) {
  seer_expr is_negative = seer_op_2(emit, SEER_EXPR_LT, a, seer_op_num(emit, dtype, 0));
  return seer_expr_select(&emit->dag->expr, is_negative, seer_op_2(emit, SEER_EXPR_MUL, a, b), a);
}
JOIN(prelu, "PRelu", 7, 2, 2, "", infer_prelu, NUMPY)

// ---- Where

static seer_status infer_where(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  (void)arena;
  const seer_value *condition = NULL;
  SEER_TRY(seer_op_in(graph, node, 0, &condition));
  if (condition->dtype != SEER_DTYPE_BOOL) {
    return SEER_FAIL(INVALID, "input 0 is %s, must be bool", seer_dtype_name(condition->dtype));
  }
  return infer_broadcast(graph, node, 1, SEER_DTYPE_NONE, &out_values[0]);
}

static seer_status emit_where(seer_emit *emit, const seer_node *node) {
  const seer_value *out = seer_emit_out(emit, node, 0);
  seer_expr at[SEER_MAX_RANK], in[3];
  uint32_t stage =
      seer_emit_stage(emit, node, 0, seer_op_stage_role(emit), NULL, NULL, 0, at, NULL);
  for (uint32_t k = 0; k < 3; k++) in[k] = seer_op_load_broadcast(emit, node, k, at, out->rank);
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE,
      seer_expr_select(&emit->dag->expr, in[0], in[1], in[2]));
  return SEER_OK;
}
ENTRY(where, "Where", 9, 3, 3, "", infer_where, NUMPY)
