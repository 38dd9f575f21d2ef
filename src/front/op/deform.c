// deform.c - DeformConv: a convolution whose window has a place of its own for each of its
// elements, at each output. What the window sees there is a tensor of its own, [batch, channels,
// elements of the window, places], by interpolation among zeros; the rest is a convolution of
// windows of one.
#include <string.h>

#include "front/expand/expand.h"
#include "front/op/sample.h"

enum { MAX_SPACE = 3, OFFSET = 2, MASK = 4 };

// ---- DeformSample(x, offset, mask): what the windows see

typedef struct {
  seer_op_window window;
  int64_t groups, taps;  // of offsets; elements of the window
} deform;

static seer_status read_deform(const seer_graph *graph, const seer_node *node, seer_arena *arena,
    uint32_t offset_k, deform *out) {
  const seer_value *x = NULL, *offset = NULL;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(seer_op_in(graph, node, offset_k, &offset));
  SEER_TRY(seer_op_want_float(x, 0));
  SEER_TRY(seer_op_same_dtype(x, offset, offset_k));
  uint32_t n = x->rank - 2u;
  if (x->rank < 3 || n > MAX_SPACE || seer_op_elems(x) == 0)
    return SEER_FAIL(UNSUPPORTED, "input 0 is %s, must have 1 to 3 spatial dimensions",
        seer_op_shape_text(x, arena));
  const seer_attr *kernel = seer_node_attr_ints(node, "kernel_shape");
  if (!kernel || kernel->n != n)
    return SEER_FAIL(INVALID, "attribute 'kernel_shape' has %zu entries, must have %u",
        kernel ? kernel->n : 0, n);
  SEER_TRY(seer_op_window_read(node, kernel->ints, &x->dim[2], n, &out->window));
  out->groups = seer_node_attr_i(node, "offset_group", 1);
  if (out->groups < 1 || x->dim[1] % out->groups != 0)
    return SEER_FAIL(INVALID,
        "attribute 'offset_group' is %" PRId64 ", must divide channels %" PRId64, out->groups,
        x->dim[1]);
  out->taps = 1;
  for (uint32_t d = 0; d < n; d++) {
    if (__builtin_mul_overflow(out->taps, kernel->ints[d], &out->taps) || out->taps > 1 << 20)
      return SEER_FAIL(INVALID, "the window has more than 2^20 elements");
  }
  return SEER_OK;
}

// Input k, [batch, `channels`, places of the window].
static seer_status check_places(const seer_graph *graph, const seer_node *node, uint32_t k,
    const deform *f, int64_t channels, seer_arena *arena) {
  const seer_value *x = NULL, *value = NULL;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(seer_op_in(graph, node, k, &value));
  SEER_TRY(seer_op_same_dtype(x, value, k));
  bool fits = value->rank == x->rank && value->dim[0] == x->dim[0] && value->dim[1] == channels;
  for (uint32_t d = 0; fits && d < f->window.n; d++) fits = value->dim[2 + d] == f->window.out[d];
  if (fits) return SEER_OK;
  return SEER_FAIL(INVALID,
      "input %u is %s, must have %" PRId64 " channels at each of the window's places, %" PRId64
      " in the first spatial dimension",
      k, seer_op_shape_text(value, arena), channels, f->window.out[0]);
}

static seer_status infer_deform_sample(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  deform f;
  SEER_TRY(read_deform(graph, node, arena, 1, &f));
  const seer_value *x = seer_graph_value(graph, node->in[0]);
  int64_t dim[SEER_MAX_RANK] = {x->dim[0], x->dim[1], f.taps}, places = f.groups * f.taps;
  SEER_TRY(check_places(graph, node, 1, &f, places * f.window.n, arena));
  if (seer_op_has_in(node, 2)) SEER_TRY(check_places(graph, node, 2, &f, places, arena));
  for (uint32_t d = 0; d < f.window.n; d++) dim[3 + d] = f.window.out[d];
  return seer_op_set(&out_values[0], x->dtype, dim, f.window.n + 3);
}

// Element `tap` of the window along dimension d.
static seer_expr tap_at(seer_emit *emit, const seer_op_window *w, uint32_t d, seer_expr tap) {
  int64_t inner = 1;
  for (uint32_t k = d + 1; k < w->n; k++) inner *= w->kernel[k];
  tap = seer_op_2(emit, SEER_EXPR_DIV, tap, seer_op_int(emit, inner));
  return seer_op_2(emit, SEER_EXPR_MOD, tap, seer_op_int(emit, w->kernel[d]));
}

// Where the windows' elements are along dimension d, [batch, group, element, places].
static uint32_t emit_places(seer_emit *emit, const seer_node *node, const deform *f, uint32_t d) {
  const seer_op_window *w = &f->window;
  seer_dag_axis dims[3 + MAX_SPACE] = {{NULL, seer_emit_in(emit, node, 0)->dim[0], SEER_AXIS_OTHER},
      {NULL, f->groups, SEER_AXIS_OTHER}, {NULL, f->taps, SEER_AXIS_OTHER}};
  for (uint32_t k = 0; k < w->n; k++)
    dims[3 + k] = (seer_dag_axis){NULL, w->out[k], SEER_AXIS_OTHER};
  seer_expr at[3 + MAX_SPACE], from[2 + MAX_SPACE];
  uint32_t stage =
      seer_emit_temp(emit, "at", SEER_STAGE_PROLOGUE, dims, w->n + 3, NULL, NULL, 0, at, NULL);
  from[0] = at[0];
  from[1] = seer_op_2(emit, SEER_EXPR_ADD, seer_op_muladd(emit, at[1], f->taps, 0), at[2]);
  from[1] = seer_op_muladd(emit, from[1], w->n, d);
  for (uint32_t k = 0; k < w->n; k++) from[2 + k] = at[3 + k];
  seer_expr offset = seer_emit_load(emit, node, 1, from);
  seer_expr regular = seer_op_2(emit, SEER_EXPR_ADD,
      seer_op_muladd(emit, at[3 + d], w->stride[d], -w->pad_begin[d]),
      seer_op_muladd(emit, tap_at(emit, w, d, at[2]), w->dilation[d], 0));
  regular = seer_expr_cast(&emit->dag->expr, seer_op_dtype(emit, offset), regular);
  seer_emit_temp_body(
      emit, stage, SEER_COMBINE_NONE, seer_op_2(emit, SEER_EXPR_ADD, regular, offset));
  return stage;
}

static seer_status emit_deform_sample(seer_emit *emit, const seer_node *node) {
  const seer_value *x = seer_emit_in(emit, node, 0);
  deform f;
  SEER_TRY(read_deform(emit->graph, node, emit->arena, 1, &f));
  const seer_op_window *w = &f.window;
  uint32_t places[MAX_SPACE];
  for (uint32_t d = 0; d < w->n; d++) places[d] = emit_places(emit, node, &f, d);
  seer_expr at[3 + MAX_SPACE], from[3 + MAX_SPACE];
  uint32_t stage = seer_emit_stage(emit, node, 0, SEER_STAGE_EPILOGUE, NULL, NULL, 0, at, NULL);
  from[0] = at[0];
  from[1] = seer_op_2(emit, SEER_EXPR_DIV, at[1], seer_op_int(emit, x->dim[1] / f.groups));
  for (uint32_t d = 2; d < w->n + 3; d++) from[d] = at[d];
  seer_sample_taps taps[MAX_SPACE];
  for (uint32_t d = 0; d < w->n; d++)
    seer_sample_make(emit, SEER_SAMPLE_LINEAR, SEER_SAMPLE_ZEROS, 0,
        seer_emit_load_temp(emit, places[d], from), x->dim[2 + d], &taps[d]);
  seer_expr body = seer_sample_load(emit, node, taps, 2, w->n, at, seer_dtype_computed(x->dtype));
  if (seer_emit_has_in(emit, node, 2)) {
    seer_expr mask[2 + MAX_SPACE] = {
        at[0], seer_op_2(emit, SEER_EXPR_ADD, seer_op_muladd(emit, from[1], f.taps, 0), at[2])};
    for (uint32_t d = 0; d < w->n; d++) mask[2 + d] = at[3 + d];
    body = seer_op_2(emit, SEER_EXPR_MUL, body, seer_emit_load(emit, node, 2, mask));
  }
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE, body);
  return SEER_OK;
}

const seer_op_desc seer_op_deform_sample = {.name = "DeformSample",
    .domain = SEER_INNER_DOMAIN,
    .opset_min = 1,
    .opset_max = 1,
    .n_in_min = 2,
    .n_in_max = 3,
    .n_out_min = 1,
    .n_out_max = 1,
    .fuse = SEER_FUSE_REDUCTION,
    .attrs = "dilations group kernel_shape offset_group pads strides",
    .rtol = 1e-4,
    .atol = 1e-5,
    .infer = infer_deform_sample,
    .emit = emit_deform_sample,
    .doc = ""};

// ---- DeformConv

static seer_status expand_deform_conv(seer_expand *e) {
  const seer_value x = *seer_expand_in(e, 0), w = *seer_expand_in(e, 1);
  uint32_t n = x.rank - 2u;
  if (x.rank < 3 || n > MAX_SPACE || w.rank != x.rank)
    return SEER_FAIL(UNSUPPORTED,
        "inputs 0 and 1 are %s and %s, must both have 1 to 3 spatial dimensions",
        seer_op_shape_text(&x, e->scratch), seer_op_shape_text(&w, e->scratch));
  int64_t group = seer_node_attr_i(&e->node, "group", 1), kernel[MAX_SPACE];
  SEER_TRY(seer_op_int_list(&e->node, "kernel_shape", n, 1, 0, kernel));
  for (uint32_t d = 0; d < n; d++) {
    if (kernel[d] == 0) kernel[d] = w.dim[2 + d];
    if (kernel[d] != w.dim[2 + d])
      return SEER_FAIL(INVALID, "attribute 'kernel_shape' has %" PRId64 ", weights are %s",
          kernel[d], seer_op_shape_text(&w, e->scratch));
  }
  if (group < 1 || x.dim[1] % group != 0 || w.dim[1] != x.dim[1] / group)
    return SEER_FAIL(INVALID,
        "attribute 'group' is %" PRId64 ", weights are %s, must fit channels %" PRId64, group,
        seer_op_shape_text(&w, e->scratch), x.dim[1]);
  // What the window sees, by the node's attributes and the window's extents.
  seer_attr *attr = SEER_NEW_ARRAY(e->scratch, seer_attr, e->node.n_attr + 1u);
  uint32_t n_attr = 0;
  for (uint32_t k = 0; k < e->node.n_attr; k++)
    if (strcmp(e->node.attr[k].name, "kernel_shape") != 0) attr[n_attr++] = e->node.attr[k];
  attr[n_attr++] = seer_expand_ints_attr("kernel_shape", kernel, n);
  seer_val in[3] = {e->node.in[0], e->node.in[OFFSET]}, seen;
  bool has_mask = seer_expand_has_in(e, MASK);
  if (has_mask) in[2] = e->node.in[MASK];
  seer_expand_inner(e, "DeformSample", in, has_mask ? 3 : 2, attr, n_attr, &seen, 1);
  SEER_TRY(e->resolve(e));
  const seer_value *sampled = seer_graph_value(e->graph, seen);
  int64_t taps = sampled->dim[2], flat[2 + MAX_SPACE] = {x.dim[0], x.dim[1] * taps},
          wide[2 + MAX_SPACE] = {w.dim[0], w.dim[1] * taps};
  for (uint32_t d = 0; d < n; d++) {
    flat[2 + d] = sampled->dim[3 + d];
    wide[2 + d] = 1;
  }
  seer_val conv[3] = {seer_expand_reshape(e, seen, flat, n + 2),
      seer_expand_reshape(e, e->node.in[1], wide, n + 2)};
  if (seer_expand_has_in(e, 3)) conv[2] = e->node.in[3];
  seer_attr groups = seer_expand_int("group", group);
  seer_expand_output(e, 0, seer_expand_add(e, "Conv", conv, 3, &groups, 1));
  return SEER_OK;
}
SEER_COMPOSITE(deform_conv, "", "DeformConv", 19, SEER_OPSET_NEWEST, 3, 5, 1, 1,
    "dilations group kernel_shape offset_group pads strides", expand_deform_conv,
    "1 to 3 spatial dimensions, groups, groups of offsets, mask", .computes = true)
