// window.c - sliding windows, shared by convolution and pooling: output extents from strides,
// dilations and paddings; the padded input as a stage of its own, so that the window's loads are
// plain.
#include <string.h>

#include "front/op/util.h"

// No network pads by more; without a limit a damaged file would ask for a padded copy of any size.
enum { MAX_PAD = 65535 };

seer_status seer_op_int_list(const seer_node *node, const char *name, uint32_t n, int64_t low,
    int64_t otherwise, int64_t *out) {
  const seer_attr *attr = seer_node_attr_ints(node, name);
  if (!attr) {
    if (seer_node_attr(node, name))
      return SEER_FAIL(INVALID, "attribute '%s' must be a list of integers", name);
    for (uint32_t d = 0; d < n; d++) out[d] = otherwise;
    return SEER_OK;
  }
  if (attr->n != n)
    return SEER_FAIL(INVALID, "attribute '%s' has %zu entries, must have %u", name, attr->n, n);
  for (uint32_t d = 0; d < n; d++) {
    out[d] = attr->ints[d];
    if (out[d] < low || out[d] > INT32_MAX) {
      return SEER_FAIL(INVALID, "attribute '%s' has entry %" PRId64 ", must be at least %" PRId64,
          name, out[d], low);
    }
  }
  return SEER_OK;
}

seer_status seer_op_read_auto_pad(const seer_node *node, seer_op_auto_pad *out) {
  static const char *const names[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
  const char *given = seer_node_attr_s(node, "auto_pad", "NOTSET");
  *out = SEER_PAD_GIVEN;
  if (given[0] == 0) return SEER_OK;
  for (uint32_t k = 0; k < SEER_COUNT_OF(names); k++) {
    *out = (seer_op_auto_pad)k;
    if (strcmp(given, names[k]) == 0) return SEER_OK;
  }
  return SEER_FAIL(INVALID,
      "attribute 'auto_pad' is '%s', must be NOTSET, SAME_UPPER, SAME_LOWER or VALID", given);
}

seer_status seer_op_check_bias(const seer_graph *graph, const seer_node *node, uint32_t k,
    const seer_value *x, int64_t n, seer_arena *arena) {
  const seer_value *bias = NULL;
  if (!seer_op_has_in(node, k)) return SEER_OK;
  SEER_TRY(seer_op_in(graph, node, k, &bias));
  SEER_TRY(seer_op_same_dtype(x, bias, k));
  if (bias->rank == 1 && bias->dim[0] == n) return SEER_OK;
  return SEER_FAIL(
      INVALID, "bias is %s, must be [%" PRId64 "]", seer_op_shape_text(bias, arena), n);
}

enum { BIAS = 2 };

uint32_t seer_op_sum_stage(seer_emit *emit, const seer_node *node, const seer_axis_role *roles,
    const seer_dag_axis *reduce, uint32_t n_reduce, seer_expr *at, seer_expr *var) {
  if (!seer_emit_has_in(emit, node, BIAS))
    return seer_emit_stage(emit, node, 0, SEER_STAGE_ANCHOR, roles, reduce, n_reduce, at, var);
  const seer_value *out = seer_emit_out(emit, node, 0);
  seer_dag_axis dims[SEER_MAX_RANK];
  uint8_t order[SEER_MAX_RANK];
  seer_op_order(out, order);
  for (uint32_t d = 0; d < out->rank; d++)
    dims[d] = (seer_dag_axis){NULL, out->dim[d], roles ? roles[d] : SEER_AXIS_OTHER};
  return seer_emit_temp(
      emit, "acc", SEER_STAGE_ANCHOR, dims, out->rank, order, reduce, n_reduce, at, var);
}

void seer_op_sum_body(seer_emit *emit, const seer_node *node, const seer_axis_role *roles,
    uint32_t stage, seer_expr term) {
  if (!seer_emit_has_in(emit, node, BIAS)) {
    seer_emit_body(emit, node, 0, stage, SEER_COMBINE_SUM, term);
    return;
  }
  seer_emit_temp_body(emit, stage, SEER_COMBINE_SUM, term);
  seer_expr at[SEER_MAX_RANK];
  uint32_t last = seer_emit_stage(emit, node, 0, SEER_STAGE_EPILOGUE, roles, NULL, 0, at, NULL);
  seer_emit_body(emit, node, 0, last, SEER_COMBINE_NONE,
      seer_op_2(emit, SEER_EXPR_ADD, seer_emit_load_temp(emit, stage, at),
          seer_emit_load(emit, node, BIAS, &at[1])));
}

seer_status seer_op_window_read(const seer_node *node, const int64_t *kernel, const int64_t *in,
    uint32_t n, seer_op_window *out_window) {
  SEER_ASSERT(n >= 1 && n <= 3, "%u spatial dimensions", n);
  seer_op_window w = {.n = n};
  int64_t pads[6];
  SEER_TRY(seer_op_int_list(node, "strides", n, 1, 1, w.stride));
  SEER_TRY(seer_op_int_list(node, "dilations", n, 1, 1, w.dilation));
  SEER_TRY(seer_op_int_list(node, "pads", 2 * n, 0, 0, pads));
  seer_op_auto_pad auto_pad;
  SEER_TRY(seer_op_read_auto_pad(node, &auto_pad));
  bool is_explicit = auto_pad == SEER_PAD_GIVEN, is_upper = auto_pad == SEER_PAD_UPPER,
       is_lower = auto_pad == SEER_PAD_LOWER;
  bool is_ceil = seer_node_attr_i(node, "ceil_mode", 0) != 0;
  for (uint32_t d = 0; d < n; d++) {
    w.kernel[d] = kernel[d];
    w.in[d] = in[d];
    if (kernel[d] < 1 || kernel[d] > INT32_MAX) {
      return SEER_FAIL(
          INVALID, "the window's extent %u is %" PRId64 ", must be at least 1", d, kernel[d]);
    }
    int64_t span = (kernel[d] - 1) * w.dilation[d] + 1;
    if (is_explicit) {
      w.pad_begin[d] = pads[d];
      w.pad_end[d] = pads[d + n];
    } else if (is_upper || is_lower) {
      int64_t out = seer_ceil_div(in[d], w.stride[d]);
      int64_t total = seer_max_i64(0, (out - 1) * w.stride[d] + span - in[d]);
      w.pad_begin[d] = is_upper ? total / 2 : total - total / 2;
      w.pad_end[d] = total - w.pad_begin[d];
    }
    if (w.pad_begin[d] > MAX_PAD || w.pad_end[d] > MAX_PAD) {
      return SEER_FAIL(INVALID,
          "attribute 'pads' has %" PRId64 " and %" PRId64 " for spatial dimension %u, at most %d",
          w.pad_begin[d], w.pad_end[d], d, MAX_PAD);
    }
    int64_t room = in[d] + w.pad_begin[d] + w.pad_end[d] - span;
    if (room < 0) {
      return SEER_FAIL(INVALID,
          "the window (extent %" PRId64 ", dilation %" PRId64
          ") is larger than spatial "
          "dimension %u: %" PRId64 " with paddings %" PRId64 " and %" PRId64,
          kernel[d], w.dilation[d], d, in[d], w.pad_begin[d], w.pad_end[d]);
    }
    w.out[d] = (is_ceil ? seer_ceil_div(room, w.stride[d]) : room / w.stride[d]) + 1;
    // A window of ceil_mode must begin inside the input or its leading padding (ONNX since 5741,
    // PyTorch).
    if (is_ceil && (w.out[d] - 1) * w.stride[d] >= in[d] + w.pad_begin[d]) w.out[d]--;
  }
  *out_window = w;
  return SEER_OK;
}

int64_t seer_op_window_reach(const seer_op_window *w, uint32_t d, int64_t *out_low) {
  *out_low = -w->pad_begin[d];
  return (w->out[d] - 1) * w->stride[d] + (w->kernel[d] - 1) * w->dilation[d] + 1;
}

static bool leaves_input(const seer_op_window *w) {
  for (uint32_t d = 0; d < w->n; d++) {
    int64_t low, reach = seer_op_window_reach(w, d, &low);
    if (low < 0 || low + reach > w->in[d]) return true;
  }
  return false;
}

void seer_op_window_roles(uint32_t n, seer_axis_role *out_roles) {
  out_roles[0] = SEER_AXIS_BATCH;
  out_roles[1] = SEER_AXIS_OUT_CHANNEL;
  if (n == 3) out_roles[2] = SEER_AXIS_OTHER;
  if (n >= 2) out_roles[n] = SEER_AXIS_Y;
  out_roles[n + 1] = SEER_AXIS_X;
}

seer_dag_axis seer_op_window_axis(const seer_op_window *w, uint32_t d) {
  static const seer_dag_axis axes[3] = {
      {"kz", 0, SEER_AXIS_OTHER}, {"ky", 0, SEER_AXIS_KY}, {"kx", 0, SEER_AXIS_KX}};
  seer_dag_axis axis = axes[d + 3 - w->n];
  axis.extent = w->kernel[d];
  return axis;
}

seer_op_padded seer_op_pad_input(
    seer_emit *emit, const seer_node *node, uint32_t k, const seer_op_window *w, seer_expr fill) {
  const seer_value *in = seer_emit_in(emit, node, k);
  seer_op_padded padded = {.is_padded = leaves_input(w)};
  if (!padded.is_padded) return padded;  // then the leading pads are 0; trailing ones are not read
  seer_axis_role roles[5];
  seer_dag_axis dims[5];
  uint8_t order[SEER_MAX_RANK];
  int64_t low[3];
  seer_op_window_roles(w->n, roles);
  roles[1] = SEER_AXIS_IN_CHANNEL;
  seer_op_order(in, order);
  for (uint32_t d = 0; d < w->n + 2; d++) {
    int64_t extent = d < 2 ? in->dim[d] : seer_op_window_reach(w, d - 2, &low[d - 2]);
    dims[d] = (seer_dag_axis){NULL, extent, roles[d]};
  }
  seer_expr at[5], predicate = {0};
  padded.stage =
      seer_emit_temp(emit, "pad", SEER_STAGE_PAD, dims, w->n + 2, order, NULL, 0, at, NULL);
  for (uint32_t d = 0; d < w->n; d++) {
    at[d + 2] = seer_op_2(emit, SEER_EXPR_ADD, at[d + 2], seer_op_int(emit, low[d]));
    predicate = seer_op_within(
        emit, predicate, at[d + 2], low[d], low[d] + dims[d + 2].extent - 1, 0, w->in[d]);
  }
  seer_emit_temp_body(emit, padded.stage, SEER_COMBINE_NONE,
      seer_emit_load_guarded(emit, node, k, at, predicate, fill));
  return padded;
}

seer_expr seer_op_load_padded(seer_emit *emit, const seer_node *node, uint32_t k,
    const seer_op_padded *padded, const seer_expr *at) {
  if (padded->is_padded) return seer_emit_load_temp(emit, padded->stage, at);
  return seer_emit_load(emit, node, k, at);
}

// ---- labels

void seer_op_put_spatial(seer_text *text, const seer_value *value) {
  for (uint32_t k = 2; k < value->rank; k++) seer_text_printf(text, "%" PRId64 "x", value->dim[k]);
  seer_text_printf(text, "%" PRId64, value->dim[1]);
}

void seer_op_put_window(seer_text *text, const seer_node *node, const int64_t *kernel, size_t n) {
  seer_text_put(text, " ");
  for (size_t k = 0; k < n; k++) seer_text_printf(text, "%s%" PRId64, k ? "x" : "", kernel[k]);
  const struct { const char *attr, *letter; } extras[] = {{"strides", "s"}, {"dilations", "d"}};
  for (size_t e = 0; e < SEER_COUNT_OF(extras); e++) {
    const seer_attr *attr = seer_node_attr_ints(node, extras[e].attr);
    bool is_one = true, is_equal = true;
    for (size_t k = 0; attr && k < attr->n; k++) {
      is_one &= attr->ints[k] == 1;
      is_equal &= attr->ints[k] == attr->ints[0];
    }
    if (is_one && e > 0) continue;
    seer_text_printf(
        text, " %s%" PRId64, extras[e].letter, attr && attr->n ? attr->ints[0] : (int64_t)1);
    for (size_t k = 1; !is_equal && k < attr->n; k++)
      seer_text_printf(text, "x%" PRId64, attr->ints[k]);
  }
}
