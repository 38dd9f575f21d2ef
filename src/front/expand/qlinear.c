// qlinear.c - com.microsoft's operators on quantised values that are no products. Each computes
// what ONNX Runtime's kernel on x86 does, operation by operation: where scales are round numbers,
// as quantisers like them, every few elements lie half between two steps, and another order of the
// same operations is one step off. Elementwise, and fused with what is around it, but for the sums.
#include <float.h>
#include <math.h>
#include <string.h>

#include "front/expand/expand.h"

#define F32 SEER_DTYPE_F32
#define F64 SEER_DTYPE_F64
#define I32 SEER_DTYPE_I32

// A tensor (input k), its scale (k + 1) and its zero point (k + 2, may be absent): one of each.
static seer_status check_scale(const seer_expand *e, uint32_t scale) {
  SEER_TRY(seer_expand_needs(e, scale, scale + 1));
  for (uint32_t k = scale; k < scale + 2; k++) {
    if (seer_expand_has_in(e, k) && seer_op_elems(seer_expand_in(e, k)) != 1)
      return SEER_FAIL(INVALID, "input %u is %s, must be one number", k,
          seer_op_shape_text(seer_expand_in(e, k), e->scratch));
  }
  return SEER_OK;
}

static seer_val scale_of(seer_expand *e, uint32_t scale) {
  return seer_expand_reshape(e, e->node.in[scale], NULL, 0);
}

// Input k as a scalar of its own type; where it is absent, 0 of input 0's.
static seer_val zero_of(seer_expand *e, uint32_t k) {
  if (seer_expand_has_in(e, k)) return seer_expand_reshape(e, e->node.in[k], NULL, 0);
  return seer_expand_number(e, 0);
}

static seer_val zero_as(seer_expand *e, uint32_t k, seer_dtype dtype) {
  return seer_expand_cast(e, zero_of(e, k), dtype);
}

// Input k less its zero point, in i32.
static seer_val centred(seer_expand *e, uint32_t k) {
  seer_val x = seer_expand_cast(e, e->node.in[k], I32);
  return seer_expand_has_in(e, k + 2) ? seer_expand_2(e, "Sub", x, zero_as(e, k + 2, I32)) : x;
}

static seer_val dequantised(seer_expand *e, uint32_t k) {
  return seer_expand_2(e, "Mul", seer_expand_cast(e, centred(e, k), F32), scale_of(e, k + 1));
}

// x / scale, rounded, plus the zero point (the input behind the scale).
static void quantise(seer_expand *e, seer_val x, uint32_t scale) {
  seer_expand_output(
      e, 0, seer_expand_3(e, "QuantizeLinear", x, scale_of(e, scale), zero_of(e, scale + 1)));
}

// x, to which the zero point (input k) was added already, rounded and saturated.
static void round_off(seer_expand *e, seer_val x, uint32_t k) {
  seer_dtype dtype = seer_expand_in(e, seer_expand_has_in(e, k) ? k : 0)->dtype;
  seer_expand_output(e, 0, seer_expand_whole(e, x, seer_expand_scalar(e, dtype, 0)));
}

// ---- two operands

// x * factor + term, rounded once: a product of 24 digits and 16 is exact in f64.
static seer_val fused(seer_expand *e, seer_val x, seer_val factor, seer_val term) {
  seer_val product =
      seer_expand_2(e, "Mul", seer_expand_cast(e, x, F64), seer_expand_cast(e, factor, F64));
  return seer_expand_cast(e, seer_expand_2(e, "Add", product, seer_expand_cast(e, term, F64)), F32);
}

// Whether input 0 stays where it is along the innermost dimension of the result that has extent,
// and input 3 moves. (ONNX Runtime exchanges them then.)
static bool is_first_repeated(const seer_expand *e) {
  const seer_value *a = seer_expand_in(e, 0), *b = seer_expand_in(e, 3);
  for (uint32_t d = 1; d <= a->rank || d <= b->rank; d++) {
    int64_t of_a = d <= a->rank ? a->dim[a->rank - d] : 1;
    int64_t of_b = d <= b->rank ? b->dim[b->rank - d] : 1;
    if (of_a != 1 || of_b != 1) return of_a == 1;
  }
  return false;
}

static seer_status expand_qlinear_add(seer_expand *e) {
  for (uint32_t k = 0; k < 3; k++) SEER_TRY(check_scale(e, 3 * k + (k < 2)));
  seer_val scale = scale_of(e, 6);
  if (seer_dtype_bytes(seer_expand_in(e, 0)->dtype) != 1) {
    seer_val sum = seer_expand_2(e, "Add", dequantised(e, 0), dequantised(e, 3));
    sum = seer_expand_2(e, "Div", sum, scale);
    round_off(e, seer_expand_2(e, "Add", sum, zero_as(e, 7, F32)), 7);
    return SEER_OK;
  }
  uint32_t a = is_first_repeated(e) ? 3 : 0, b = 3 - a;
  seer_val ratio_a = seer_expand_2(e, "Div", scale_of(e, a + 1), scale);
  seer_val ratio_b = seer_expand_2(e, "Div", scale_of(e, b + 1), scale);
  // What does not depend on the elements is one term.
  seer_val zeros = fused(
      e, zero_as(e, a + 2, F32), ratio_a, seer_expand_2(e, "Mul", ratio_b, zero_as(e, b + 2, F32)));
  seer_val term = seer_expand_2(e, "Sub", zero_as(e, 7, F32), zeros);
  term = fused(e, e->node.in[b], ratio_b, term);
  round_off(e, fused(e, e->node.in[a], ratio_a, term), 7);
  return SEER_OK;
}
SEER_CONTRIB(qlinear_add, "QLinearAdd", 2, 8, 1, "", "as ONNX Runtime rounds")

static seer_status expand_qlinear_mul(seer_expand *e) {
  for (uint32_t k = 0; k < 3; k++) SEER_TRY(check_scale(e, 3 * k + (k < 2)));
  seer_val ratio = seer_expand_2(e, "Mul", scale_of(e, 1), scale_of(e, 4));
  ratio = seer_expand_2(e, "Div", ratio, scale_of(e, 6));
  seer_val product = seer_expand_2(e, "Mul", centred(e, 0), centred(e, 3));
  product = seer_expand_2(e, "Mul", seer_expand_cast(e, product, F32), ratio);
  round_off(e, seer_expand_2(e, "Add", product, zero_as(e, 7, F32)), 7);
  return SEER_OK;
}
SEER_CONTRIB(qlinear_mul, "QLinearMul", 2, 8, 1, "", "as ONNX Runtime rounds")

// ---- one operand: 256 results in f32

static seer_status of_one(seer_expand *e, const char *op_type) {
  SEER_TRY(check_scale(e, 1));
  SEER_TRY(check_scale(e, 3));
  seer_val x = dequantised(e, 0);
  quantise(e, seer_expand_add(e, op_type, &x, 1, e->node.attr, e->node.n_attr), 3);
  return SEER_OK;
}

static seer_status expand_qlinear_sigmoid(seer_expand *e) { return of_one(e, "Sigmoid"); }
SEER_CONTRIB(qlinear_sigmoid, "QLinearSigmoid", 2, 5, 1, "", "through f32")

static seer_status expand_qlinear_leaky_relu(seer_expand *e) { return of_one(e, "LeakyRelu"); }
SEER_CONTRIB(qlinear_leaky_relu, "QLinearLeakyRelu", 2, 5, 1, "alpha", "through f32")

static seer_status expand_qlinear_concat(seer_expand *e) {
  uint32_t n = (e->node.n_in - 2) / 3;
  if (e->node.n_in != 2 + 3 * n)
    return SEER_FAIL(INVALID, "%u inputs, must be 2 and 3 for each part", e->node.n_in);
  SEER_TRY(check_scale(e, 0));
  seer_val *part = SEER_NEW_ARRAY(e->scratch, seer_val, n);
  for (uint32_t k = 0; k < n; k++) {
    SEER_TRY(seer_expand_needs(e, 2 + 3 * k, 3 + 3 * k));
    SEER_TRY(check_scale(e, 3 + 3 * k));
    part[k] = dequantised(e, 2 + 3 * k);
  }
  quantise(e, seer_expand_concat(e, part, n, seer_node_attr_i(&e->node, "axis", 0)), 0);
  return SEER_OK;
}
SEER_CONTRIB(qlinear_concat, "QLinearConcat", 5, 255, 1, "axis", "through f32")

// ---- Softmax

// Exponentials of 0 to 255 steps below the largest, [256] in f32: at step 255 as large as a sum of
// `n` may be, e^-5 of it. ONNX Runtime multiplies them by the number of steps in 1, which passes
// f32 where those are more than e^5 / 2: 2^-8 of them, whose digits are the same, does not.
static seer_val exponentials(seer_expand *e, int64_t n) {
  enum { STEPS = 256 };
  const double room = logf(FLT_MAX / (float)n) - 5;
  const int64_t dim[1] = {STEPS};
  double below[STEPS];
  for (int k = 0; k < STEPS; k++) below[k] = k - (STEPS - 1);
  seer_val scale = seer_expand_cast(e, scale_of(e, 1), F64);
  seer_val shift = seer_expand_2(e, "Div", seer_expand_scalar(e, F64, room > 0 ? room : 0), scale);
  seer_val x = seer_expand_2(e, "Add", seer_expand_tensor(e, F64, dim, 1, below), shift);
  x = seer_expand_1(e, "Exp", seer_expand_2(e, "Mul", x, scale));
  x = seer_expand_2(e, "Mul", x, seer_expand_scalar(e, F64, 0x1p-8));
  return seer_expand_cast(e, x, F32);
}

// x in i32, along `axis` of extent n.
static seer_val softmax(seer_expand *e, seer_val x, int64_t axis, int64_t n) {
  seer_val axes = seer_expand_ints(e, &axis, 1);
  seer_val below = seer_expand_2(e, "Sub", x, seer_expand_2(e, "ReduceMax", x, axes));
  below = seer_expand_2(e, "Add", below, seer_expand_scalar(e, I32, 255));
  seer_val power = seer_expand_2(e, "Gather", exponentials(e, n), below);
  seer_val sum = seer_expand_2(e, "ReduceSum", power, axes);
  seer_val steps = seer_expand_1(
      e, "Floor", seer_expand_2(e, "Div", seer_expand_scalar(e, F32, 1), scale_of(e, 3)));
  return seer_expand_2(e, "Div", seer_expand_2(e, "Mul", power, steps), sum);
}

// Before opset 13, which attribute 'opset' names, Softmax runs over all dimensions from the axis
// on.
static seer_status expand_qlinear_softmax(seer_expand *e) {
  const seer_value in = *seer_expand_in(e, 0);
  int64_t opset = seer_node_attr_i(&e->node, "opset", 0);
  uint32_t axis;
  SEER_TRY(seer_op_axis(
      seer_node_attr_i(&e->node, "axis", opset < 13 ? 1 : -1), in.rank, "attribute 'axis'", &axis));
  if (opset < 1) return SEER_FAIL(INVALID, "attribute 'opset' is %" PRId64, opset);
  if (seer_dtype_bytes(in.dtype) != 1 || seer_dtype_is_float(in.dtype))
    return SEER_FAIL(INVALID, "input 0 is %s, must be i8 or u8", seer_dtype_name(in.dtype));
  SEER_TRY(check_scale(e, 1));
  SEER_TRY(check_scale(e, 3));
  seer_val x = seer_expand_cast(e, e->node.in[0], I32);
  if (opset >= 13) {
    x = softmax(e, x, axis, in.dim[axis]);
  } else {
    int64_t rows[2] = {
        seer_dims_elems(in.dim, axis), seer_dims_elems(in.dim + axis, in.rank - axis)};
    x = softmax(e, seer_expand_reshape(e, x, rows, 2), 1, rows[1]);
    x = seer_expand_reshape(e, x, in.dim, in.rank);
  }
  seer_expand_output(e, 0, seer_expand_whole(e, x, zero_of(e, 4)));
  return SEER_OK;
}
SEER_CONTRIB(qlinear_softmax, "QLinearSoftmax", 2, 5, 1, "axis opset",
    "by a table of 256 exponentials, saturated")

// ---- pooling

// Input 0: its spatial dimensions are [first, first + n).
typedef struct {
  uint32_t first, n;
  bool is_last;  // the channels
} image;

static seer_status read_image(seer_expand *e, image *out) {
  const seer_value *in = seer_expand_in(e, 0);
  out->is_last = seer_node_attr_i(&e->node, "channels_last", 0) != 0;
  out->first = out->is_last ? 1 : 2;
  out->n = in->rank - 2u;
  if (in->rank < 3 || in->rank > 5)
    return SEER_FAIL(INVALID, "input 0 is %s, must have a batch, channels and 1 to 3 more",
        seer_op_shape_text(in, e->scratch));
  SEER_TRY(check_scale(e, 1));
  return check_scale(e, 3);
}

static void average_all(seer_expand *e, const image *im) {
  const seer_value *in = seer_expand_in(e, 0);
  int64_t axes[3] = {0};
  double n = 1;
  for (uint32_t d = 0; d < im->n; d++) {
    axes[d] = im->first + d;
    n *= (double)in->dim[axes[d]];
  }
  seer_val sum = seer_expand_2(e, "ReduceSum", centred(e, 0), seer_expand_ints(e, axes, im->n));
  seer_val divisor = seer_expand_2(e, "Mul", scale_of(e, 3), seer_expand_scalar(e, F32, n));
  seer_val ratio = seer_expand_2(e, "Div", scale_of(e, 1), divisor);
  sum = seer_expand_2(e, "Mul", seer_expand_cast(e, sum, F32), ratio);
  seer_expand_output(e, 0, seer_expand_whole(e, sum, zero_of(e, 4)));
}

static seer_status expand_qlinear_global_average_pool(seer_expand *e) {
  image im;
  SEER_TRY(read_image(e, &im));
  average_all(e, &im);
  return SEER_OK;
}
SEER_CONTRIB(qlinear_global_average_pool, "QLinearGlobalAveragePool", 2, 5, 1, "channels_last",
    "in i32, quantised by f32")

// x with zeros where windows leave it.
static seer_val padded(seer_expand *e, const image *im, const seer_op_window *w, seer_val x) {
  uint32_t rank = im->n + 2;
  int64_t pads[2 * SEER_MAX_RANK] = {0};
  bool is_padded = false;
  for (uint32_t d = 0; d < im->n; d++) {
    int64_t low, reach = seer_op_window_reach(w, d, &low);
    pads[im->first + d] = -low;
    pads[rank + im->first + d] = seer_max_i64(0, low + reach - w->in[d]);
    is_padded |= low < 0 || low + reach > w->in[d];
  }
  return is_padded ? seer_expand_2(e, "Pad", x, seer_expand_ints(e, pads, 2 * rank)) : x;
}

// What the windows have at place `tap`.
static seer_val at_tap(
    seer_expand *e, const image *im, const seer_op_window *w, seer_val x, const int64_t *tap) {
  int64_t to[3] = {0}, axes[3] = {0};
  for (uint32_t d = 0; d < im->n; d++) {
    to[d] = tap[d] + (w->out[d] - 1) * w->stride[d] + 1;
    axes[d] = im->first + d;
  }
  seer_val in[5] = {x, seer_expand_ints(e, tap, im->n), seer_expand_ints(e, to, im->n),
      seer_expand_ints(e, axes, im->n), seer_expand_ints(e, w->stride, im->n)};
  return seer_expand_add(e, "Slice", in, 5, NULL, 0);
}

// By how many elements windows are divided: by all places, or by those inside the input.
static seer_status counts(
    seer_expand *e, const image *im, const seer_op_window *w, seer_val *out_count) {
  bool counts_pads = seer_node_attr_i(&e->node, "count_include_pad", 0) != 0;
  int64_t dim[5] = {1, 1, 1, 1, 1}, extent[3] = {1, 1, 1};
  double *count = NULL;
  memcpy(&extent[3 - w->n], w->out, w->n * sizeof *extent);
  for (uint32_t d = 0; d < w->n; d++) dim[im->first + d] = w->out[d];
  SEER_TRY(seer_expand_table(e, extent[0] * extent[1], extent[2], &count));
  for (int64_t i = 0; i < extent[0] * extent[1] * extent[2]; i++) {
    int64_t rest = i, n = 1;
    for (uint32_t d = w->n; d-- > 0; rest /= w->out[d]) {
      int64_t from = rest % w->out[d] * w->stride[d] - w->pad_begin[d];
      int64_t to = seer_min_i64(from + w->kernel[d], w->in[d]);
      n *= counts_pads ? w->kernel[d] : to - seer_max_i64(from, 0);
    }
    count[i] = (double)n;
  }
  *out_count = seer_expand_tensor(e, F32, dim, w->n + 2, count);
  return SEER_OK;
}

// The sum over each window, in row-major order of its places.
static seer_val window_sum(seer_expand *e, const image *im, const seer_op_window *w, seer_val x) {
  int64_t n = seer_dims_elems(w->kernel, w->n);
  seer_val sum = {0};
  x = padded(e, im, w, x);
  for (int64_t k = 0; k < n; k++) {
    int64_t tap[3] = {0}, rest = k;
    for (uint32_t d = w->n; d-- > 0; rest /= w->kernel[d]) tap[d] = rest % w->kernel[d];
    seer_val one = at_tap(e, im, w, x, tap);
    sum = k == 0 ? one : seer_expand_2(e, "Add", sum, one);
  }
  return sum;
}

// Larger windows are summed up as the schedule has it: an element in some thousands is a step off.
enum { MAX_ORDERED = 36 };

static seer_val average_any(seer_expand *e, const image *im, seer_val x) {
  uint32_t n_attr = 0;
  seer_attr *attr = SEER_NEW_ARRAY(e->scratch, seer_attr, e->node.n_attr + 1);
  for (uint32_t k = 0; k < e->node.n_attr; k++) {
    if (strcmp(e->node.attr[k].name, "channels_last") != 0) attr[n_attr++] = e->node.attr[k];
  }
  if (im->is_last) x = seer_expand_channels(e, x, im->n + 2, false);
  x = seer_expand_add(e, "AveragePool", &x, 1, attr, n_attr);
  return im->is_last ? seer_expand_channels(e, x, im->n + 2, true) : x;
}

static seer_status expand_qlinear_average_pool(seer_expand *e) {
  image im;
  seer_op_window w;
  SEER_TRY(read_image(e, &im));
  const seer_attr *kernel = seer_node_attr_ints(&e->node, "kernel_shape");
  if (!kernel || kernel->n != im.n)
    return SEER_FAIL(INVALID, "attribute 'kernel_shape' has %zu entries, must have %u",
        kernel ? kernel->n : 0, im.n);
  SEER_TRY(
      seer_op_window_read(&e->node, kernel->ints, &seer_expand_in(e, 0)->dim[im.first], im.n, &w));
  bool is_all = true;
  for (uint32_t d = 0; d < im.n; d++)
    is_all &= w.kernel[d] == w.in[d] && w.pad_begin[d] == 0 && w.pad_end[d] == 0;
  if (is_all) {
    average_all(e, &im);
    return SEER_OK;
  }
  seer_val x = dequantised(e, 0), count;
  if (seer_dims_elems(w.kernel, w.n) <= MAX_ORDERED) {
    SEER_TRY(counts(e, &im, &w, &count));
    x = seer_expand_2(e, "Div", window_sum(e, &im, &w, x), count);
  } else {
    x = average_any(e, &im, x);
  }
  x = seer_expand_2(e, "Div", x, scale_of(e, 3));
  round_off(e, seer_expand_2(e, "Add", x, zero_as(e, 4, F32)), 4);
  return SEER_OK;
}
SEER_CONTRIB(qlinear_average_pool, "QLinearAveragePool", 2, 5, 1,
    "auto_pad ceil_mode channels_last count_include_pad kernel_shape pads strides",
    "through f32, windows of up to 36 elements summed up as ONNX Runtime does")
