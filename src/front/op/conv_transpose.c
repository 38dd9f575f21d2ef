// conv_transpose.c - ConvTranspose in 1 to 3 spatial dimensions: each output element gathers from
// the inputs whose windows cover it,
//   out[n, g*M + m, y] = sum ic, ky:
//       in[n, g*C/G + ic, (y + pad - ky*dilation) / stride] * w[g*C/G + ic, m, ky]
// where the quotient is whole and inside the input. With strides the quotient is whole for every
// stride-th position of the kernel only: then it is made of convolutions without strides.
#include "front/expand/expand.h"
#include "front/sized.h"

typedef struct {
  uint32_t n;  // spatial dimensions
  int64_t group, channels, out_channels;  // of the whole
  int64_t in[3], kernel[3], stride[3], dilation[3], pad[3], out[3];
} shape;

// Extents and first pads.
static seer_status read_extents(const seer_node *node, shape *s) {
  int64_t extra[3], pads[6], wanted[3];
  seer_op_auto_pad auto_pad;
  SEER_TRY(seer_op_int_list(node, "strides", s->n, 1, 1, s->stride));
  SEER_TRY(seer_op_int_list(node, "dilations", s->n, 1, 1, s->dilation));
  SEER_TRY(seer_op_int_list(node, "output_padding", s->n, 0, 0, extra));
  SEER_TRY(seer_op_int_list(node, "pads", 2 * s->n, 0, 0, pads));
  SEER_TRY(seer_op_int_list(node, "output_shape", s->n, 1, 0, wanted));
  SEER_TRY(seer_op_read_auto_pad(node, &auto_pad));
  bool is_upper = auto_pad == SEER_PAD_UPPER, is_lower = auto_pad == SEER_PAD_LOWER;
  for (uint32_t d = 0; d < s->n; d++) {
    int64_t begin = pads[d], end = pads[d + s->n], size = wanted[d];
    int64_t whole =
        s->stride[d] * (s->in[d] - 1) + extra[d] + (s->kernel[d] - 1) * s->dilation[d] + 1;
    if ((is_upper || is_lower) && size == 0) size = s->in[d] * s->stride[d];
    if (size > 0) {  // the pads follow from it
      int64_t total = seer_max_i64(0, whole - size);
      begin = is_upper ? total / 2 : total - total / 2;
      end = whole - size - begin;
    } else if (auto_pad == SEER_PAD_VALID) {
      begin = end = 0;
    }
    s->pad[d] = begin;
    s->out[d] = whole - begin - end;
    if (s->out[d] < 1)
      return SEER_FAIL(
          INVALID, "output extent %u is %" PRId64 ", must be at least 1", d, s->out[d]);
  }
  return SEER_OK;
}

static seer_status read_shape(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, shape *s) {
  const seer_value *x = NULL, *w = NULL;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(seer_op_in(graph, node, 1, &w));
  SEER_TRY(seer_op_same_dtype(x, w, 1));
  if (x->rank < 3 || x->rank > 5)
    return SEER_FAIL(UNSUPPORTED, "input 0 is %s, must have 1 to 3 spatial dimensions",
        seer_op_shape_text(x, arena));
  s->n = x->rank - 2u;
  s->group = seer_node_attr_i(node, "group", 1);
  s->channels = x->dim[1];
  if (w->rank != x->rank || w->dim[0] != s->channels)
    return SEER_FAIL(INVALID,
        "weights are %s, must have rank %u and dimension 0 like the %" PRId64 " channels",
        seer_op_shape_text(w, arena), x->rank, s->channels);
  if (s->channels == 0) return SEER_FAIL(UNSUPPORTED, "there are no input channels");
  if (s->group < 1 || s->channels % s->group != 0)
    return SEER_FAIL(INVALID, "attribute 'group' is %" PRId64 ", must divide channels %" PRId64,
        s->group, s->channels);
  s->out_channels = w->dim[1] * s->group;
  const seer_attr *kernel = seer_node_attr_ints(node, "kernel_shape");
  for (uint32_t d = 0; d < s->n; d++) {
    s->in[d] = x->dim[d + 2];
    s->kernel[d] = w->dim[d + 2];
    if (s->in[d] < 1 || s->kernel[d] < 1)
      return SEER_FAIL(UNSUPPORTED, "spatial dimension %u has no elements", d);
    if (kernel && (kernel->n != s->n || kernel->ints[d] != s->kernel[d]))
      return SEER_FAIL(INVALID, "attribute 'kernel_shape' does not match weights of shape %s",
          seer_op_shape_text(w, arena));
  }
  return read_extents(node, s);
}

static seer_status infer_conv_transpose(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  shape s;
  SEER_TRY(read_shape(graph, node, arena, &s));
  const seer_value *x = seer_graph_value(graph, node->in[0]);
  SEER_TRY(seer_op_check_bias(graph, node, 2, x, s.out_channels, arena));
  int64_t dim[5] = {x->dim[0], s.out_channels};
  for (uint32_t d = 0; d < s.n; d++) dim[d + 2] = s.out[d];
  return seer_op_set(&out_values[0], x->dtype, dim, x->rank);
}

// The input position that output position `y` and window position `k` of dimension d meet at, and
// whether there is one (joined to `inside`).
static seer_expr meet(
    seer_emit *emit, const shape *s, uint32_t d, seer_expr y, seer_expr k, seer_expr *inside) {
  int64_t low = s->pad[d] - (s->kernel[d] - 1) * s->dilation[d], high = s->out[d] - 1 + s->pad[d],
          stride = s->stride[d];
  seer_expr reach = seer_op_2(emit, SEER_EXPR_SUB,
      seer_op_2(emit, SEER_EXPR_ADD, y, seer_op_int(emit, s->pad[d])),
      seer_op_muladd(emit, k, s->dilation[d], 0));
  *inside = seer_op_within(emit, *inside, reach, low, high, 0, stride * (s->in[d] - 1) + 1);
  if (stride == 1) return reach;
  seer_expr step = seer_op_int(emit, stride);
  seer_expr is_whole = seer_op_2(
      emit, SEER_EXPR_EQ, seer_op_2(emit, SEER_EXPR_MOD, reach, step), seer_op_int(emit, 0));
  *inside = inside->i ? seer_op_2(emit, SEER_EXPR_AND, *inside, is_whole) : is_whole;
  return seer_op_2(emit, SEER_EXPR_DIV, reach, step);
}

static seer_status emit_conv_transpose(seer_emit *emit, const seer_node *node) {
  shape s;
  SEER_TRY(read_shape(emit->graph, node, emit->arena, &s));
  const seer_value *out = seer_emit_out(emit, node, 0);
  int64_t per_group_in = s.channels / s.group, per_group_out = s.out_channels / s.group;
  static const char *const names[3][3] = {{"kx"}, {"ky", "kx"}, {"kz", "ky", "kx"}};
  seer_dag_axis reduce[4];
  for (uint32_t d = 0; d < s.n; d++)
    reduce[d] = (seer_dag_axis){names[s.n - 1][d], s.kernel[d], SEER_AXIS_OTHER};
  reduce[s.n] = (seer_dag_axis){"ic", per_group_in, SEER_AXIS_OTHER};
  seer_expr at[5], var[4], x_at[5], w_at[5], inside = {0};
  uint32_t stage = seer_op_sum_stage(emit, node, NULL, reduce, s.n + 1, at, var);
  seer_expr ic = var[s.n], m = at[1];
  if (s.group > 1) {
    seer_expr group = seer_op_2(emit, SEER_EXPR_DIV, at[1], seer_op_int(emit, per_group_out));
    ic = seer_op_2(emit, SEER_EXPR_ADD, seer_op_muladd(emit, group, per_group_in, 0), ic);
    m = seer_op_2(emit, SEER_EXPR_MOD, at[1], seer_op_int(emit, per_group_out));
  }
  x_at[0] = at[0];
  x_at[1] = w_at[0] = ic;
  w_at[1] = m;
  for (uint32_t d = 0; d < s.n; d++) {
    x_at[d + 2] = meet(emit, &s, d, at[d + 2], var[d], &inside);
    w_at[d + 2] = var[d];
  }
  seer_expr x = inside.i
      ? seer_emit_load_guarded(emit, node, 0, x_at, inside, seer_op_num(emit, out->dtype, 0))
      : seer_emit_load(emit, node, 0, x_at);
  seer_expr product = seer_op_2(emit, SEER_EXPR_MUL, x, seer_emit_load(emit, node, 1, w_at));
  seer_op_sum_body(emit, node, NULL, stage, product);
  return SEER_OK;
}

// ---- by phases
// An output position and its pad are stride * q + r: its remainder r, the phase, says which
// positions of the kernel it meets, stride * j + r, and
//   out[m, stride * q + r - pad] = sum ic, j: in[ic, q - j] * w[ic, m, stride * j + r]
// is a convolution by a part of the kernel, turned round. The outputs of all phases are put beside
// each other, and what pads cut off is cut off. Where the parts are equally long, they are one
// convolution of as many times the channels.

#define MAX_PHASES 64

static bool has_phases(const seer_graph *graph, const seer_node *node) {
  shape s;
  if (!seer_op_has_in(node, 0) || !seer_op_has_in(node, 1)) return false;
  const seer_value *x = seer_graph_value(graph, node->in[0]);
  if (!x->has_shape || !seer_graph_value(graph, node->in[1])->has_shape || seer_value_is_sized(x))
    return false;
  seer_arena *scratch = seer_arena_create("phases");
  seer_status status = read_shape(graph, node, scratch, &s);
  bool has = !status;  // inference says what is wrong
  int64_t n_phases = 1;
  for (uint32_t d = 0; d < s.n && has; d++) {
    has = s.dilation[d] == 1 && s.kernel[d] >= s.stride[d] && s.stride[d] <= MAX_PHASES;
    n_phases *= s.stride[d];
  }
  if (status) seer_status_free(status);
  seer_arena_destroy(scratch);
  return has && n_phases > 1 && n_phases <= MAX_PHASES;
}

// What phases have in common.
typedef struct {
  shape of;
  int64_t batch, first[3], last[3];  // of q
} phases;

// A convolution by `w`, [group, in, out, (taps, phases) for each dimension], of which it has all.
static seer_val of_phases(seer_expand *e, const phases *p, seer_val w, const int64_t *taps,
    const int64_t *n_phase, seer_val bias) {
  const shape *s = &p->of;
  int64_t per_out = s->out_channels / s->group, per_in = s->channels / s->group, all = 1;
  int64_t perm[9] = {0, 2}, dim[5], pads[6];
  for (uint32_t d = 0; d < s->n; d++) {
    all *= n_phase[d];
    if (taps[d] > 1) w = seer_expand_reversed(e, w, 3 + 2 * (int64_t)d);
    perm[2 + d] = 4 + 2 * (int64_t)d;
    perm[3 + s->n + d] = 3 + 2 * (int64_t)d;
    dim[2 + d] = taps[d];
    pads[d] = taps[d] - 1 - p->first[d];
    pads[s->n + d] = p->last[d] + 1 - s->in[d];
  }
  perm[2 + s->n] = 1;
  dim[0] = s->group * per_out * all;
  dim[1] = per_in;
  const seer_attr order = seer_expand_ints_attr("perm", perm, 3 + 2 * s->n);
  w = seer_expand_reshape(e, seer_expand_add(e, "Transpose", &w, 1, &order, 1), dim, 2 + s->n);
  seer_val in[3] = {e->node.in[0], w};
  if (bias.i != 0 && all > 1) {
    const int64_t one[2] = {s->out_channels, 1}, each[2] = {s->out_channels, all};
    bias = seer_expand_2(
        e, "Expand", seer_expand_reshape(e, bias, one, 2), seer_expand_ints(e, each, 2));
    bias = seer_expand_reshape(e, bias, dim, 1);
  }
  in[2] = bias;
  const seer_attr attr[2] = {
      seer_expand_int("group", s->group), seer_expand_ints_attr("pads", pads, 2 * s->n)};
  return seer_expand_add(e, "Conv", in, bias.i != 0 ? 3 : 2, attr, 2);
}

// Elements from, from + step, ... of one axis.
static seer_val every(seer_expand *e, seer_val a, int64_t axis, int64_t from, int64_t step) {
  const int64_t end = INT64_MAX;
  seer_val in[5] = {a, seer_expand_ints(e, &from, 1), seer_expand_ints(e, &end, 1),
      seer_expand_ints(e, &axis, 1), seer_expand_ints(e, &step, 1)};
  return seer_expand_add(e, "Slice", in, 5, NULL, 0);
}

// `w` as of_phases takes it.
static seer_val split_weights(
    seer_expand *e, const shape *s, seer_val w, const int64_t *taps, const int64_t *n_phase) {
  int64_t split[9] = {s->group, s->channels / s->group, s->out_channels / s->group};
  for (uint32_t d = 0; d < s->n; d++) {
    split[3 + 2 * d] = taps[d];
    split[4 + 2 * d] = n_phase[d];
  }
  return seer_expand_reshape(e, w, split, 3 + 2 * s->n);
}

// A convolution for each phase: [batch, channels, phases, q...].
static seer_val one_by_one(seer_expand *e, const phases *p, int64_t n_phases, seer_val bias) {
  const shape *s = &p->of;
  static const int64_t one[3] = {1, 1, 1};
  int64_t size[6] = {p->batch, s->out_channels, 1}, taps[3];
  seer_val part[MAX_PHASES];
  for (uint32_t d = 0; d < s->n; d++) size[3 + d] = p->last[d] - p->first[d] + 1;
  for (int64_t k = 0; k < n_phases; k++) {
    seer_val w = e->node.in[1];
    int64_t rest = k;
    for (uint32_t d = s->n; d-- > 0; rest /= s->stride[d]) {
      int64_t r = rest % s->stride[d];
      taps[d] = seer_ceil_div(s->kernel[d] - r, s->stride[d]);
      w = every(e, w, 2 + (int64_t)d, r, s->stride[d]);
    }
    w = split_weights(e, s, w, taps, one);
    part[k] = seer_expand_reshape(e, of_phases(e, p, w, taps, one, bias), size, 3 + s->n);
  }
  return seer_expand_concat(e, part, (uint32_t)n_phases, 2);
}

// [batch, channels, phases..., q...] -> [batch, channels, (q, phase)...], less what pads cut off.
static seer_val beside_each_other(seer_expand *e, const phases *p, seer_val all) {
  const shape *s = &p->of;
  int64_t size[8] = {p->batch, s->out_channels}, perm[8] = {0, 1};
  for (uint32_t d = 0; d < s->n; d++) {
    size[2 + d] = s->stride[d];
    size[2 + s->n + d] = p->last[d] - p->first[d] + 1;
    perm[2 + 2 * d] = 2 + s->n + d;
    perm[3 + 2 * d] = 2 + d;
  }
  const seer_attr order = seer_expand_ints_attr("perm", perm, 2 + 2 * s->n);
  all = seer_expand_reshape(e, all, size, 2 + 2 * s->n);
  all = seer_expand_add(e, "Transpose", &all, 1, &order, 1);
  for (uint32_t d = 0; d < s->n; d++) size[2 + d] = s->stride[d] * (p->last[d] - p->first[d] + 1);
  all = seer_expand_reshape(e, all, size, 2 + s->n);
  int64_t from[3], to[3], axes[3];
  bool is_cut = false;
  for (uint32_t d = 0; d < s->n; d++) {
    from[d] = s->pad[d] - s->stride[d] * p->first[d];
    to[d] = from[d] + s->out[d];
    axes[d] = 2 + (int64_t)d;
    is_cut = is_cut || from[d] != 0 || to[d] != size[2 + d];
  }
  if (!is_cut) return all;
  seer_val in[4] = {all, seer_expand_ints(e, from, s->n), seer_expand_ints(e, to, s->n),
      seer_expand_ints(e, axes, s->n)};
  all = seer_expand_add(e, "Slice", in, 4, NULL, 0);
  return all;
}

static seer_status expand_phases(seer_expand *e) {
  phases p;
  shape *s = &p.of;
  SEER_TRY(read_shape(e->graph, &e->node, e->scratch, s));
  const seer_value *x = seer_expand_in(e, 0);
  SEER_TRY(seer_op_check_bias(e->graph, &e->node, 2, x, s->out_channels, e->scratch));
  int64_t n_phases = 1, taps[3];
  bool is_even = true;
  p.batch = x->dim[0];
  for (uint32_t d = 0; d < s->n; d++) {
    n_phases *= s->stride[d];
    is_even = is_even && s->kernel[d] % s->stride[d] == 0;
    taps[d] = s->kernel[d] / s->stride[d];  // of the shortest part
    p.first[d] = seer_min_i64(seer_floor_div(s->pad[d], s->stride[d]), taps[d] - 1);
    p.last[d] = seer_max_i64(seer_floor_div(s->pad[d] + s->out[d] - 1, s->stride[d]), s->in[d] - 1);
  }
  seer_val bias = seer_op_has_in(&e->node, 2) ? e->node.in[2] : (seer_val){0}, all;
  if (is_even) {
    seer_val w = split_weights(e, s, e->node.in[1], taps, s->stride);
    all = of_phases(e, &p, w, taps, s->stride, bias);
  } else {
    all = one_by_one(e, &p, n_phases, bias);
  }
  seer_expand_output(e, 0, beside_each_other(e, &p, all));
  return SEER_OK;
}

static void put_label(seer_text *text, const seer_graph *graph, const seer_node *node) {
  const seer_value *in = seer_graph_value(graph, node->in[0]),
                   *weight = seer_graph_value(graph, node->in[1]);
  int64_t group = seer_node_attr_i(node, "group", 1);
  seer_text_put(text, "deconv");
  seer_op_put_window(text, node, weight->dim + 2, weight->rank - 2u);
  seer_text_put(text, " ");
  seer_op_put_spatial(text, in);
  seer_text_printf(text, "->%" PRId64, seer_graph_value(graph, node->out[0])->dim[1]);
  if (group > 1) seer_text_printf(text, " g%" PRId64, group);
}

SEER_OP_ENTRY(conv_transpose, "ConvTranspose", 1, 2, 3, 1, SEER_FUSE_ANCHOR,
    "auto_pad dilations group kernel_shape output_padding output_shape pads strides", .rtol = 1e-4,
    .atol = 1e-5, .infer = infer_conv_transpose, .emit = emit_conv_transpose,
    .is_composite = has_phases, .expand = expand_phases, .carry_sizes = seer_sized_batch,
    .wants_channels_last = true, .multiplies = true, .label = put_label,
    .doc = "1 to 3 spatial dimensions, groups, dilations, strides, all paddings, output_shape")
