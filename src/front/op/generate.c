// generate.c - tensors made of nothing but their shape: EyeLike, and the random ones, RandomNormal,
// RandomUniform, their Like forms and Bernoulli. A random number is a hash of a seed and of the
// element's number, so the same in every run and on every machine: `seed` picks the stream, and
// where there is none the node's name does. Hash: lowbias32 (C. Wellons, 2018); normal numbers by
// Box and Muller.
#include <math.h>
#include <string.h>

#include "front/onnx/dtype.h"
#include "front/sized.h"

// What is made: `dtype`, or like the input, or f32.
static seer_status made_dtype(const seer_node *node, const seer_value *like, seer_dtype *out) {
  *out = like ? like->dtype : SEER_DTYPE_F32;
  if (!seer_node_attr(node, "dtype")) return SEER_OK;
  int64_t number = seer_node_attr_i(node, "dtype", 0);
  *out = seer_onnx_dtype((int32_t)seer_max_i64(-1, seer_min_i64(number, INT32_MAX)));
  if (*out != SEER_DTYPE_NONE) return SEER_OK;
  return SEER_FAIL(UNSUPPORTED, "attribute 'dtype' is %" PRId64 ", no type that is known", number);
}

// ---- EyeLike

static seer_status infer_eye_like(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *x = NULL;
  seer_dtype dtype;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(made_dtype(node, x, &dtype));
  if (x->rank != 2)
    return SEER_FAIL(INVALID, "input 0 is %s, must have rank 2", seer_op_shape_text(x, arena));
  return seer_op_set(&out_values[0], dtype, x->dim, 2);
}

static seer_status emit_eye_like(seer_emit *emit, const seer_node *node) {
  const seer_value *out = seer_emit_out(emit, node, 0);
  seer_expr at[2];
  uint32_t stage =
      seer_emit_stage(emit, node, 0, seer_op_stage_role(emit), NULL, NULL, 0, at, NULL);
  // k beyond the corners is as good as the corner's neighbour, and keeps sums of indices small.
  int64_t k = seer_max_i64(-out->dim[0], seer_min_i64(out->dim[1], seer_node_attr_i(node, "k", 0)));
  seer_expr is_one = seer_op_2(
      emit, SEER_EXPR_EQ, seer_op_2(emit, SEER_EXPR_ADD, at[0], seer_op_int(emit, k)), at[1]);
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE,
      seer_expr_select(&emit->dag->expr, is_one, seer_op_num(emit, out->dtype, 1),
          seer_op_num(emit, out->dtype, 0)));
  return SEER_OK;
}

SEER_OP_INJECTIVE(
    eye_like, "EyeLike", 9, 1, 1, 1, "dtype k", NULL, "all of it", .carry_sizes = seer_sized_same)

// ---- random numbers

static uint32_t stream_of(const seer_node *node) {
  float seed = (float)seer_node_attr_f(node, "seed", 0);
  uint32_t hash = 2166136261u;  // FNV-1a
  const char *name = node->name ? node->name : "";
  size_t n = seer_node_attr(node, "seed") ? sizeof seed : strlen(name);
  unsigned char bytes[sizeof seed];
  memcpy(bytes, &seed, sizeof bytes);
  for (size_t k = 0; k < n; k++)
    hash = (hash ^ (seer_node_attr(node, "seed") ? bytes[k] : (unsigned char)name[k])) * 16777619u;
  return hash;
}

static seer_expr u32(seer_emit *emit, uint32_t value) {
  return seer_expr_int(&emit->dag->expr, SEER_DTYPE_U32, value);
}

// x ^ (x >> shift)
static seer_expr folded(seer_emit *emit, seer_expr x, uint32_t shift) {
  return seer_op_2(emit, SEER_EXPR_XOR, x, seer_op_2(emit, SEER_EXPR_SHR, x, u32(emit, shift)));
}

// Between 0 and 1, neither of them, of 2^24 numbers.
static seer_expr uniform(seer_emit *emit, seer_expr number, uint32_t stream, seer_dtype dtype) {
  seer_expr x = seer_op_2(emit, SEER_EXPR_MUL, number, u32(emit, 0x9e3779b9u));
  x = seer_op_2(emit, SEER_EXPR_ADD, x, u32(emit, stream));
  x = seer_op_2(emit, SEER_EXPR_MUL, folded(emit, x, 16), u32(emit, 0x7feb352du));
  x = seer_op_2(emit, SEER_EXPR_MUL, folded(emit, x, 15), u32(emit, 0x846ca68bu));
  x = seer_op_2(emit, SEER_EXPR_SHR, folded(emit, x, 16), u32(emit, 8));
  // 24 bits fit a signed integer, whose way to a float is shorter
  x = seer_expr_cast(&emit->dag->expr, SEER_DTYPE_I32, x);
  x = seer_expr_cast(&emit->dag->expr, dtype, x);
  x = seer_op_2(emit, SEER_EXPR_ADD, x, seer_op_num(emit, dtype, 0.5));
  return seer_op_2(emit, SEER_EXPR_MUL, x, seer_op_num(emit, dtype, 0x1p-24));
}

static seer_expr normal(seer_emit *emit, seer_expr number, uint32_t stream, seer_dtype dtype) {
  seer_expr radius = seer_op_1(emit, SEER_EXPR_LOG, uniform(emit, number, stream, dtype));
  radius = seer_op_1(
      emit, SEER_EXPR_SQRT, seer_op_2(emit, SEER_EXPR_MUL, radius, seer_op_num(emit, dtype, -2)));
  seer_expr angle =
      seer_op_2(emit, SEER_EXPR_MUL, uniform(emit, number, stream ^ 0x5bd1e995u, dtype),
          seer_op_num(emit, dtype, 6.283185307179586));
  return seer_op_2(emit, SEER_EXPR_MUL, radius, seer_op_1(emit, SEER_EXPR_COS, angle));
}

// The number of the element at `at`, in row-major order.
static seer_expr element_number(seer_emit *emit, const seer_value *out, const seer_expr *at) {
  seer_expr number = seer_op_int(emit, 0);
  for (uint32_t d = 0; d < out->rank; d++)
    number = seer_op_2(emit, SEER_EXPR_ADD, seer_op_muladd(emit, number, out->dim[d], 0), at[d]);
  return seer_expr_cast(&emit->dag->expr, SEER_DTYPE_U32, number);
}

static bool is_like(const seer_node *node) { return node->n_in > 0; }

static seer_status infer_random(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  (void)arena;
  const seer_value *x = NULL;
  seer_dtype dtype;
  if (is_like(node)) SEER_TRY(seer_op_in(graph, node, 0, &x));
  const seer_attr *shape = seer_node_attr_ints(node, "shape");
  if (!x && (!shape || shape->n > SEER_MAX_RANK))
    return SEER_FAIL(
        INVALID, "attribute 'shape' must be a list of at most %d sizes", SEER_MAX_RANK);
  SEER_TRY(made_dtype(node, x, &dtype));
  if (!seer_dtype_is_float(dtype))
    return SEER_FAIL(
        INVALID, "random numbers of type %s, must be a float type", seer_dtype_name(dtype));
  static const char *const numbers[] = {"mean", "scale", "low", "high"};
  for (uint32_t k = 0; k < SEER_COUNT_OF(numbers); k++) {
    if (!isfinite(seer_node_attr_f(node, numbers[k], 0)))
      return SEER_FAIL(INVALID, "attribute '%s' is no number", numbers[k]);
  }
  return x ? seer_op_set(&out_values[0], dtype, x->dim, x->rank)
           : seer_op_set(&out_values[0], dtype, shape->ints, (uint32_t)shape->n);
}

static seer_status emit_random(seer_emit *emit, const seer_node *node, bool is_normal) {
  const seer_value *out = seer_emit_out(emit, node, 0);
  seer_dtype dtype = seer_dtype_computed(out->dtype);
  double low = seer_node_attr_f(node, "low", 0), high = seer_node_attr_f(node, "high", 1);
  double begin = is_normal ? seer_node_attr_f(node, "mean", 0) : low;
  double scale = is_normal ? seer_node_attr_f(node, "scale", 1) : high - low;
  seer_expr at[SEER_MAX_RANK];
  uint32_t stage =
      seer_emit_stage(emit, node, 0, seer_op_stage_role(emit), NULL, NULL, 0, at, NULL);
  seer_expr body = seer_op_num(emit, dtype, begin);
  if (scale != 0) {
    seer_expr number = element_number(emit, out, at);
    uint32_t stream = stream_of(node);
    seer_expr x =
        is_normal ? normal(emit, number, stream, dtype) : uniform(emit, number, stream, dtype);
    x = seer_op_2(emit, SEER_EXPR_MUL, x, seer_op_num(emit, dtype, scale));
    body = seer_op_2(emit, SEER_EXPR_ADD, x, body);
  }
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE, body);
  return SEER_OK;
}

static seer_status emit_random_normal(seer_emit *emit, const seer_node *node) {
  return emit_random(emit, node, true);
}
static seer_status emit_random_uniform(seer_emit *emit, const seer_node *node) {
  return emit_random(emit, node, false);
}

#define RANDOM_TEXT "the same numbers in every run: `seed`, or else the node's name, picks them"
#define RANDOM(id, onnx, n_in, which, attributes)                                          \
  SEER_OP_ENTRY(id, onnx, 1, n_in, n_in, 1, SEER_FUSE_INJECTIVE, attributes, .rtol = 1e-4, \
      .atol = 1e-4, .infer = infer_random, .emit = emit_random_##which,                    \
      .carry_sizes = seer_sized_same, .doc = RANDOM_TEXT)
RANDOM(random_normal, "RandomNormal", 0, normal, "dtype mean scale seed shape")
RANDOM(random_normal_like, "RandomNormalLike", 1, normal, "dtype mean scale seed")
RANDOM(random_uniform, "RandomUniform", 0, uniform, "dtype high low seed shape")
RANDOM(random_uniform_like, "RandomUniformLike", 1, uniform, "dtype high low seed")

// ---- Bernoulli: 1 with the probability that the input is

static seer_status infer_bernoulli(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  (void)arena;
  const seer_value *x = NULL;
  seer_dtype dtype;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(seer_op_want_float(x, 0));
  SEER_TRY(made_dtype(node, x, &dtype));
  return seer_op_set(&out_values[0], dtype, x->dim, x->rank);
}

static seer_status emit_bernoulli(seer_emit *emit, const seer_node *node) {
  const seer_value *out = seer_emit_out(emit, node, 0);
  seer_expr at[SEER_MAX_RANK];
  uint32_t stage =
      seer_emit_stage(emit, node, 0, seer_op_stage_role(emit), NULL, NULL, 0, at, NULL);
  seer_expr p = seer_emit_load(emit, node, 0, at);
  seer_expr x =
      uniform(emit, element_number(emit, out, at), stream_of(node), seer_op_dtype(emit, p));
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE,
      seer_expr_select(&emit->dag->expr, seer_op_2(emit, SEER_EXPR_LT, x, p),
          seer_op_num(emit, out->dtype, 1), seer_op_num(emit, out->dtype, 0)));
  return SEER_OK;
}
SEER_OP_INJECTIVE(bernoulli, "Bernoulli", 15, 1, 1, 1, "dtype seed", NULL, RANDOM_TEXT,
    .carry_sizes = seer_sized_same)

// ---- Multinomial: rows of unnormalised logarithms of probabilities -> classes, each the first
// whose sum of probabilities so far is beyond a random number

static seer_status expand_multinomial(seer_expand *e) {
  const seer_value *x = seer_expand_in(e, 0);
  int64_t n = seer_node_attr_i(&e->node, "sample_size", 1);
  seer_dtype dtype = SEER_DTYPE_I32;
  if (seer_node_attr(&e->node, "dtype")) SEER_TRY(made_dtype(&e->node, x, &dtype));
  if (x->rank != 2 || x->dim[1] < 1)
    return SEER_FAIL(
        INVALID, "input 0 is %s, must be [batch, classes]", seer_op_shape_text(x, e->scratch));
  if (n < 1 || n > 1 << 24)
    return SEER_FAIL(INVALID, "attribute 'sample_size' is %" PRId64 ", must be at least 1", n);
  if (dtype != SEER_DTYPE_I32 && dtype != SEER_DTYPE_I64)
    return SEER_FAIL(
        INVALID, "attribute 'dtype' says %s, must be i32 or i64", seer_dtype_name(dtype));
  const int64_t wide[3] = {x->dim[0], 1, x->dim[1]}, drawn[3] = {x->dim[0], n, 1},
                classes = x->dim[1];
  seer_val p =
      seer_expand_1i(e, "Softmax", seer_expand_cast(e, e->node.in[0], SEER_DTYPE_F32), "axis", 1);
  seer_val sums = seer_expand_2(e, "CumSum", p, seer_expand_scalar(e, SEER_DTYPE_I64, 1));
  sums = seer_expand_reshape(e, sums, wide, 3);
  seer_attr attr[2] = {
      seer_expand_ints_attr("shape", drawn, 3), {.name = "seed", .kind = SEER_ATTR_FLOAT}};
  bool has_seed = seer_node_attr(&e->node, "seed") != NULL;
  attr[1].f = seer_node_attr_f(&e->node, "seed", 0);
  seer_val u = seer_expand_add(e, "RandomUniform", NULL, 0, attr, has_seed ? 2 : 1);
  seer_val before = seer_expand_cast(e, seer_expand_2(e, "LessOrEqual", sums, u), dtype);
  int64_t axis = 2;
  seer_val y = seer_expand_2i(e, "ReduceSum", before, seer_expand_ints(e, &axis, 1), "keepdims", 0);
  seer_expand_output(
      e, 0, seer_expand_2(e, "Min", y, seer_expand_scalar(e, dtype, (double)classes - 1)));
  return SEER_OK;
}
SEER_COMPOSITE(multinomial, "", "Multinomial", 7, SEER_OPSET_NEWEST, 1, 1, 1, 1,
    "dtype sample_size seed", expand_multinomial, RANDOM_TEXT)
