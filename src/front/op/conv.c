// conv.c - Conv in 1 to 3 spatial dimensions: a contraction over the window and the input channels,
//   out[n, oc, y, x] = sum ky, kx, ic:
//       in[n, g*C/G + ic, y*sy + ky*dy - py, x*sx + kx*dx - px] * w[oc, ic, ky, kx]
// as [pad stage,] anchor [, bias stage]. Depthwise convolution has no ic axis; its channels are
// spatial.
// IntegerConv is the same of u8 and i8, summed in i32 and padded by a number of u8: what quantised
// convolutions are made of (front/expand/integer.h).
#include "front/sized.h"

typedef struct {
  seer_op_window window;
  int64_t group, channels, out_channels;  // of the whole
} conv_shape;

static bool is_integer(const seer_node *node) { return node->op == &seer_op_integer_conv; }

static seer_status read_conv(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, conv_shape *out) {
  const seer_value *x = NULL, *w = NULL;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(seer_op_in(graph, node, 1, &w));
  SEER_TRY(is_integer(node) ? seer_op_want_bytes(x, w) : seer_op_same_dtype(x, w, 1));
  if (x->rank < 3 || x->rank > 5) {
    return SEER_FAIL(UNSUPPORTED, "input 0 is %s, must have 1 to 3 spatial dimensions",
        seer_op_shape_text(x, arena));
  }
  if (w->rank != x->rank) {
    return SEER_FAIL(INVALID, "weights are %s, must have rank %u like the input",
        seer_op_shape_text(w, arena), x->rank);
  }
  out->group = seer_node_attr_i(node, "group", 1);
  out->channels = x->dim[1];
  out->out_channels = w->dim[0];
  if (out->group < 1 || out->channels % out->group != 0 || out->out_channels % out->group != 0) {
    return SEER_FAIL(INVALID,
        "attribute 'group' is %" PRId64 ", must divide channels %" PRId64
        " and output channels %" PRId64,
        out->group, out->channels, out->out_channels);
  }
  if (w->dim[1] != out->channels / out->group) {
    return SEER_FAIL(INVALID,
        "weights are %s, dimension 1 must be channels / group = %" PRId64 " / %" PRId64,
        seer_op_shape_text(w, arena), out->channels, out->group);
  }
  const seer_attr *kernel = seer_node_attr_ints(node, "kernel_shape");
  for (uint32_t d = 0; kernel && d < x->rank - 2u; d++) {
    if (kernel->n != x->rank - 2u || kernel->ints[d] != w->dim[d + 2]) {
      return SEER_FAIL(INVALID, "attribute 'kernel_shape' does not match weights of shape %s",
          seer_op_shape_text(w, arena));
    }
  }
  return seer_op_window_read(node, &w->dim[2], &x->dim[2], x->rank - 2u, &out->window);
}

static seer_status infer_conv(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  conv_shape conv;
  SEER_TRY(read_conv(graph, node, arena, &conv));
  const seer_value *x = seer_graph_value(graph, node->in[0]);
  if (!is_integer(node)) SEER_TRY(seer_op_check_bias(graph, node, 2, x, conv.out_channels, arena));
  int64_t dim[5] = {x->dim[0], conv.out_channels};
  for (uint32_t d = 0; d < conv.window.n; d++) dim[d + 2] = conv.window.out[d];
  return seer_op_set(&out_values[0], is_integer(node) ? SEER_DTYPE_I32 : x->dtype, dim, x->rank);
}

static seer_status emit_conv(seer_emit *emit, const seer_node *node) {
  conv_shape conv;
  SEER_TRY(read_conv(emit->graph, node, emit->arena, &conv));
  const seer_op_window *w = &conv.window;
  const seer_value *x = seer_emit_in(emit, node, 0);
  int64_t ic_extent = conv.channels / conv.group, oc_per_group = conv.out_channels / conv.group;
  if (ic_extent == 0) return SEER_FAIL(UNSUPPORTED, "there are no input channels");
  int64_t fill = is_integer(node) ? seer_node_attr_i(node, "pad_value", 0) : 0;
  seer_op_padded padded =
      seer_op_pad_input(emit, node, 0, w, seer_op_num(emit, x->dtype, (double)fill));

  // Reduction axes ky, kx, ic; those of extent 1 only if nothing else is left.
  seer_dag_axis reduce[4];
  seer_expr var[4], at_reduce[4];
  uint32_t n_reduce = 0, slot[4];
  for (uint32_t d = 0; d <= w->n; d++) {
    seer_dag_axis axis = d < w->n ? seer_op_window_axis(w, d)
                                  : (seer_dag_axis){"ic", ic_extent, SEER_AXIS_IN_CHANNEL};
    slot[d] = UINT32_MAX;
    if (axis.extent == 1 && !(d == w->n && n_reduce == 0)) continue;
    slot[d] = n_reduce;
    reduce[n_reduce++] = axis;
  }

  seer_axis_role roles[5];
  seer_expr at[5], x_at[5], w_at[5];
  seer_op_window_roles(w->n, roles);
  uint32_t stage = seer_op_sum_stage(emit, node, roles, reduce, n_reduce, at, var);
  for (uint32_t d = 0; d <= w->n; d++)
    at_reduce[d] = slot[d] == UINT32_MAX ? seer_op_int(emit, 0) : var[slot[d]];
  seer_expr ic = at_reduce[w->n];
  x_at[0] = at[0];
  x_at[1] = ic;
  if (conv.group > 1) {  // depthwise: this becomes oc itself
    seer_expr group = seer_op_2(emit, SEER_EXPR_DIV, at[1], seer_op_int(emit, oc_per_group));
    x_at[1] = seer_op_2(emit, SEER_EXPR_ADD,
        seer_op_2(emit, SEER_EXPR_MUL, group, seer_op_int(emit, ic_extent)), ic);
  }
  w_at[0] = at[1];
  w_at[1] = ic;
  for (uint32_t d = 0; d < w->n; d++) {
    x_at[d + 2] = seer_op_2(emit, SEER_EXPR_ADD, seer_op_muladd(emit, at[d + 2], w->stride[d], 0),
        seer_op_muladd(emit, at_reduce[d], w->dilation[d], 0));
    w_at[d + 2] = at_reduce[d];
  }
  // Weights first: a DAG's buffers stand in the order in which they were met, and it is known by
  // it.
  seer_expr of_w = seer_emit_load(emit, node, 1, w_at),
            of_x = seer_op_load_padded(emit, node, 0, &padded, x_at);
  seer_op_sum_body(emit, node, roles, stage,
      is_integer(node) ? seer_op_wide_product(emit, of_x, of_w)
                       : seer_op_product(emit, node, of_x, of_w));
  return SEER_OK;
}

static void put_label(seer_text *text, const seer_graph *graph, const seer_node *node) {
  const seer_value *in = seer_graph_value(graph, node->in[0]),
                   *weight = seer_graph_value(graph, node->in[1]);
  int64_t group = seer_node_attr_i(node, "group", 1);
  bool is_depthwise = group > 1 && group == in->dim[1];
  int64_t made = seer_graph_value(graph, node->out[0])->dim[1];
  seer_text_put(text, is_depthwise ? "dwconv" : "conv");
  seer_op_put_window(text, node, weight->dim + 2, weight->rank - 2u);
  seer_text_put(text, " ");
  seer_op_put_spatial(text, in);
  if (!is_depthwise || made != in->dim[1]) seer_text_printf(text, "->%" PRId64, made);
  if (group > 1 && !is_depthwise) seer_text_printf(text, " g%" PRId64, group);
}

SEER_OP_ENTRY(conv, "Conv", 1, 2, 3, 1, SEER_FUSE_ANCHOR,
    "auto_pad dilations group kernel_shape pads strides", .rtol = 1e-4, .atol = 1e-5,
    .infer = infer_conv, .emit = emit_conv, .carry_sizes = seer_sized_batch,
    .wants_channels_last = true, .multiplies = true, .label = put_label,
    .doc = "1 to 3 spatial dimensions, groups, depthwise, dilations, strides, all paddings")

SEER_OP_INNER(integer_conv, "IntegerConv", 2, 1, 1, SEER_FUSE_ANCHOR,
    "auto_pad dilations group kernel_shape pads strides pad_value", 0, 0, .infer = infer_conv,
    .emit = emit_conv, .wants_channels_last = true, .label = put_label, .doc = "")

SEER_OP_INNER(whole_conv, "WholeConv", 2, 1, 1, SEER_FUSE_ANCHOR,
    "auto_pad dilations group kernel_shape pads strides", 0, 0, .infer = infer_conv,
    .emit = emit_conv, .wants_channels_last = true, .label = put_label, .doc = "")
