// signal.c - windows, DFT and STFT. A discrete Fourier transform is a product with constant
// matrices of cosines and sines: quadratic, but a product like any other to the tuner.
#include <math.h>

#include "front/expand/expand.h"
#include "front/onnx/dtype.h"

// `...`: the text, and what else the entry says.
#define SIGNAL(id, onnx, in_min, in_max, attributes, ...)                               \
  SEER_COMPOSITE(id, "", onnx, 17, SEER_OPSET_NEWEST, in_min, in_max, 1, 1, attributes, \
      expand_##id, __VA_ARGS__)

// ---- windows: a sum of cosines c[0] - c[1] cos(2 pi i / n) + c[2] cos(4 pi i / n)

static seer_status expand_window(seer_expand *e, const double *c) {
  int64_t size;
  SEER_TRY(seer_op_const_int(e->graph, &e->node, 0, "size", 0, &size));
  if (size < 1) return SEER_FAIL(INVALID, "the size is %" PRId64 ", must be 1 or more", size);
  seer_dtype dtype = seer_onnx_dtype((int32_t)seer_node_attr_i(&e->node, "output_datatype", 1));
  if (dtype == SEER_DTYPE_NONE)
    return SEER_FAIL(UNSUPPORTED, "attribute 'output_datatype' is no type of numbers");
  double period = (double)(seer_node_attr_i(&e->node, "periodic", 1) ? size : size - 1);
  double *value;
  SEER_TRY(seer_expand_table(e, size, 1, &value));
  for (int64_t i = 0; i < size; i++) {
    double angle = period > 0 ? 2 * M_PI * (double)i / period : 0;
    value[i] = c[0] - c[1] * cos(angle) + c[2] * cos(2 * angle);
  }
  seer_expand_output(e, 0, seer_expand_tensor(e, dtype, &size, 1, value));
  return SEER_OK;
}

static seer_status expand_hann_window(seer_expand *e) {
  return expand_window(e, (double[]){0.5, 0.5, 0});
}
static seer_status expand_hamming_window(seer_expand *e) {
  return expand_window(e, (double[]){25.0 / 46, 21.0 / 46, 0});
}
static seer_status expand_blackman_window(seer_expand *e) {
  return expand_window(e, (double[]){0.42, 0.5, 0.08});
}
SIGNAL(hann_window, "HannWindow", 1, 1, "output_datatype periodic", "constant size")
SIGNAL(hamming_window, "HammingWindow", 1, 1, "output_datatype periodic", "constant size")
SIGNAL(blackman_window, "BlackmanWindow", 1, 1, "output_datatype periodic", "constant size")

// ---- DFT

// x [..., n] (real; `imaginary` may be none) -> [..., m, 2]: the first m of the transform of
// `length` points; what x has less is zero.
static seer_status transform(seer_expand *e, seer_dtype dtype, seer_val real, seer_val imaginary,
    int64_t n, int64_t length, int64_t m, bool is_inverse, seer_val *out_y) {
  if (n > length) n = length;
  double *c = NULL, *s = NULL;
  SEER_TRY(seer_expand_table(e, n, m, &c));
  SEER_TRY(seer_expand_table(e, n, m, &s));
  double factor = is_inverse ? 1.0 / (double)length : 1;
  for (int64_t i = 0; i < n; i++) {
    for (int64_t k = 0; k < m; k++) {
      double angle = 2 * M_PI * (double)(i * k % length) / (double)length;
      c[i * m + k] = factor * cos(angle);
      s[i * m + k] = factor * (is_inverse ? sin(angle) : -sin(angle));
    }
  }
  const int64_t dim[2] = {n, m}, last = -1;
  seer_val cosines = seer_expand_tensor(e, dtype, dim, 2, c),
           sines = seer_expand_tensor(e, dtype, dim, 2, s), part[2];
  real = seer_expand_slice(e, real, -1, 0, n);
  part[0] = seer_expand_2(e, "MatMul", real, cosines);
  part[1] = seer_expand_2(e, "MatMul", real, sines);
  if (imaginary.i) {
    imaginary = seer_expand_slice(e, imaginary, -1, 0, n);
    part[0] = seer_expand_2(e, "Sub", part[0], seer_expand_2(e, "MatMul", imaginary, sines));
    part[1] = seer_expand_2(e, "Add", part[1], seer_expand_2(e, "MatMul", imaginary, cosines));
  }
  for (int k = 0; k < 2; k++)
    part[k] = seer_expand_2(e, "Unsqueeze", part[k], seer_expand_ints(e, &last, 1));
  *out_y = seer_expand_concat(e, part, 2, -1);
  return SEER_OK;
}

// The first bins of a real signal's transform, x [..., n] -> the signal [..., length, 1]. Bins that
// are not there are zero; those between the first and the middle stand for themselves and for their
// mirrors.
static seer_status real_signal(seer_expand *e, seer_dtype dtype, seer_val real, seer_val imaginary,
    int64_t n, int64_t length, seer_val *out_y) {
  if (n > length / 2 + 1) n = length / 2 + 1;
  double *c = NULL, *s = NULL;
  SEER_TRY(seer_expand_table(e, n, length, &c));
  SEER_TRY(seer_expand_table(e, n, length, &s));
  for (int64_t k = 0; k < n; k++) {
    double factor = (k == 0 || 2 * k == length ? 1.0 : 2.0) / (double)length;
    for (int64_t i = 0; i < length; i++) {
      double angle = 2 * M_PI * (double)(i * k % length) / (double)length;
      c[k * length + i] = factor * cos(angle);
      s[k * length + i] = k == 0 || 2 * k == length ? 0 : -factor * sin(angle);
    }
  }
  const int64_t dim[2] = {n, length}, last = -1;
  seer_val y = seer_expand_2(
      e, "MatMul", seer_expand_slice(e, real, -1, 0, n), seer_expand_tensor(e, dtype, dim, 2, c));
  if (imaginary.i) {
    seer_val part = seer_expand_2(e, "MatMul", seer_expand_slice(e, imaginary, -1, 0, n),
        seer_expand_tensor(e, dtype, dim, 2, s));
    y = seer_expand_2(e, "Add", y, part);
  }
  *out_y = seer_expand_2(e, "Unsqueeze", y, seer_expand_ints(e, &last, 1));
  return SEER_OK;
}

// Part k (0 real, 1 imaginary) of [..., 1 or 2], without that dimension.
static seer_val complex_part(seer_expand *e, seer_val x, int64_t k) {
  const int64_t last = -1;
  return seer_expand_2(
      e, "Squeeze", seer_expand_slice(e, x, -1, k, k + 1), seer_expand_ints(e, &last, 1));
}

static seer_status expand_dft(seer_expand *e) {
  seer_value x = *seer_expand_in(e, 0);
  bool is_inverse = seer_node_attr_i(&e->node, "inverse", 0) != 0;
  bool is_onesided = seer_node_attr_i(&e->node, "onesided", 0) != 0;
  int64_t axis, length;
  uint32_t d = 0;
  SEER_TRY(seer_op_want_float(&x, 0));
  if (x.rank < 2 || x.dim[x.rank - 1] < 1 || x.dim[x.rank - 1] > 2)
    return SEER_FAIL(INVALID, "input 0 is %s, its last dimension must be 1 or 2",
        seer_op_shape_text(&x, e->scratch));
  SEER_TRY(seer_op_const_int(e->graph, &e->node, 2, "axis", e->node.opset >= 20 ? -2 : 1, &axis));
  axis = seer_node_attr_i(&e->node, "axis", axis);
  SEER_TRY(seer_op_axis(axis, x.rank, "'axis'", &d));
  if (d == x.rank - 1u) return SEER_FAIL(INVALID, "'axis' is that of real and imaginary part");
  bool is_real = is_onesided && is_inverse;  // what comes out
  int64_t usual = is_real ? 2 * (x.dim[d] - 1) : x.dim[d];
  SEER_TRY(seer_op_const_int(e->graph, &e->node, 1, "dft_length", usual, &length));
  if (length < 1 || length > 1 << 14)
    return SEER_FAIL(UNSUPPORTED, "%" PRId64 " points, must be 1 to %d", length, 1 << 14);
  // The axis goes to the place before the last, and back afterwards.
  int64_t perm[SEER_MAX_RANK];
  for (uint32_t k = 0; k + 1 < x.rank; k++) perm[k] = k;
  perm[x.rank - 1u] = x.rank - 1;
  perm[d] = x.rank - 2;
  perm[x.rank - 2u] = d;
  seer_attr swap = seer_expand_ints_attr("perm", perm, x.rank);
  seer_val all = seer_expand_add(e, "Transpose", &e->node.in[0], 1, &swap, 1), imaginary = {0};
  if (x.dim[x.rank - 1] == 2) imaginary = complex_part(e, all, 1);
  seer_val real = complex_part(e, all, 0), y;
  if (is_real) {
    SEER_TRY(real_signal(e, x.dtype, real, imaginary, x.dim[d], length, &y));
  } else {
    int64_t m = is_onesided ? length / 2 + 1 : length;
    SEER_TRY(transform(e, x.dtype, real, imaginary, x.dim[d], length, m, is_inverse, &y));
  }
  seer_expand_output(e, 0, seer_expand_add(e, "Transpose", &y, 1, &swap, 1));
  return SEER_OK;
}
SIGNAL(dft, "DFT", 1, 3, "axis inverse onesided", "constant length and axis; work: its square",
    .computes = true)

// ---- STFT: signal [batch, length, 1 or 2], frame step, window, frame length

static seer_status expand_stft(seer_expand *e) {
  seer_value x = *seer_expand_in(e, 0);
  int64_t step, window = 0, length;
  SEER_TRY(seer_op_want_float(&x, 0));
  if (x.rank == 2) x.dim[x.rank++] = 1;
  if (x.rank != 3 || x.dim[2] < 1 || x.dim[2] > 2)
    return SEER_FAIL(INVALID, "input 0 is %s, must be [batch, length, 1 or 2]",
        seer_op_shape_text(&x, e->scratch));
  SEER_TRY(seer_op_const_int(e->graph, &e->node, 1, "frame_step", 0, &step));
  if (seer_expand_has_in(e, 2)) window = seer_op_elems(seer_expand_in(e, 2));
  SEER_TRY(seer_op_const_int(e->graph, &e->node, 3, "frame_length", window, &length));
  if (step < 1 || length < 1 || length > x.dim[1] || (window && window != length)) {
    return SEER_FAIL(INVALID,
        "frames of %" PRId64 " every %" PRId64 ", a window of %" PRId64 ", %" PRId64 " samples",
        length, step, window, x.dim[1]);
  }
  int64_t n_frame = (x.dim[1] - length) / step + 1, dim[2] = {n_frame, length};
  int64_t bins = seer_node_attr_i(&e->node, "onesided", 1) ? length / 2 + 1 : length;
  double *at = NULL;
  SEER_TRY(seer_expand_table(e, n_frame, length, &at));
  for (int64_t f = 0; f < n_frame; f++) {
    for (int64_t i = 0; i < length; i++) at[f * length + i] = (double)(f * step + i);
  }
  seer_val signal = seer_expand_reshape(e, e->node.in[0], x.dim, 3), part[2] = {{0}};
  seer_val index = seer_expand_tensor(e, SEER_DTYPE_I64, dim, 2, at);
  for (int64_t k = 0; k < x.dim[2]; k++) {
    part[k] = seer_expand_2i(e, "Gather", complex_part(e, signal, k), index, "axis", 1);
    if (window) part[k] = seer_expand_2(e, "Mul", part[k], e->node.in[2]);
  }
  seer_val y;
  SEER_TRY(transform(e, x.dtype, part[0], part[1], length, length, bins, false, &y));
  seer_expand_output(e, 0, y);
  return SEER_OK;
}
SIGNAL(stft, "STFT", 2, 4, "onesided", "constant step and length", .computes = true)

// ---- MelWeightMatrix: triangles over the bins of a spectrum, equally far apart in mel

static seer_status mel_number(const seer_expand *e, uint32_t k, double *out) {
  const seer_tensor *tensor = seer_op_const(e->graph, &e->node, k);
  if (!tensor) return SEER_FAIL(UNSUPPORTED, "input %u must be constant", k);
  if (seer_tensor_elems(tensor) != 1)
    return SEER_FAIL(
        INVALID, "input %u has %" PRId64 " elements, must have 1", k, seer_tensor_elems(tensor));
  *out = seer_dtype_load_f64(tensor->dtype, tensor->data, 0);
  return SEER_OK;
}

static seer_status expand_mel_weights(seer_expand *e) {
  double number[5], *weight, *point;
  for (uint32_t k = 0; k < 5; k++) SEER_TRY(mel_number(e, k, &number[k]));
  double dft = number[1], rate = number[2];
  bool is_sane = number[0] >= 1 && number[0] <= 1e6 && dft >= 1 && dft <= 1e9 && rate > 0 &&
      number[3] >= 0 && number[4] > number[3] && number[4] <= 1e9;
  if (!is_sane)
    return SEER_FAIL(INVALID, "%g bins of %g points at %g Hz from %g to %g Hz", number[0], dft,
        rate, number[3], number[4]);
  int64_t dim[2] = {(int64_t)dft / 2 + 1, (int64_t)number[0]};
  seer_dtype dtype = seer_onnx_dtype((int32_t)seer_node_attr_i(&e->node, "output_datatype", 1));
  if (dtype == SEER_DTYPE_NONE || dtype == SEER_DTYPE_BOOL)
    return SEER_FAIL(INVALID, "attribute 'output_datatype' is %" PRId64 ", must be a number's type",
        seer_node_attr_i(&e->node, "output_datatype", 1));
  SEER_TRY(seer_expand_table(e, dim[0], dim[1], &weight));
  SEER_TRY(seer_expand_table(e, dim[1] + 2, 1, &point));
  double low = 2595 * log10(1 + number[3] / 700), high = 2595 * log10(1 + number[4] / 700);
  for (int64_t k = 0; k < dim[1] + 2; k++) {
    double mel = low + (double)k * (high - low) / (double)(dim[1] + 2);
    point[k] = floor((dft + 1) * (700 * (pow(10, mel / 2595) - 1)) / rate);
  }
  for (int64_t k = 0; k < dim[1]; k++) {
    double from = point[k], center = point[k + 1], to = point[k + 2];
    for (int64_t j = 0; j < dim[0]; j++) {
      double at = (double)j, *w = &weight[j * dim[1] + k];
      if (at >= from && at <= center) *w = center > from ? (at - from) / (center - from) : 1;
      if (at >= center && at < to) *w = (to - at) / (to - center);
    }
  }
  seer_expand_output(e, 0, seer_expand_tensor(e, dtype, dim, 2, weight));
  return SEER_OK;
}

SEER_COMPOSITE(mel_weights, "", "MelWeightMatrix", 17, SEER_OPSET_NEWEST, 5, 5, 1, 1,
    "output_datatype", expand_mel_weights, "constant inputs")
