// grid_sample.c - GridSample: the elements of an image, or of a volume, at the coordinates that a
// grid lists. Coordinates of the grid are in [-1, 1] from one end of a dimension to the other, the
// innermost dimension first. They are turned into places in stages of their own, for they are those
// of all channels.
#include <string.h>

#include "front/op/sample.h"
#include "front/sized.h"

enum { MAX_SPACE = 3 };

typedef struct {
  seer_sample_mode mode;
  seer_sample_padding padding;
  bool has_corners;
  uint32_t n;  // spatial dimensions
} grid_sample;

// The place of `text` in a list of `n` names; n if it is none of them.
static uint32_t find_name(const char *const *names, uint32_t n, const char *text) {
  uint32_t k = 0;
  while (k < n && strcmp(names[k], text) != 0) k++;
  return k;
}

static seer_status read_attributes(const seer_node *node, grid_sample *out) {
  // Before opset 20 and since.
  static const char *const modes[] = {"nearest", "bilinear", "bicubic", "linear", "cubic"};
  static const char *const paddings[] = {"zeros", "border", "reflection"};
  const char *mode = seer_node_attr_s(node, "mode", "linear"),
             *padding = seer_node_attr_s(node, "padding_mode", "zeros");
  uint32_t m = find_name(modes, SEER_COUNT_OF(modes), mode),
           p = find_name(paddings, SEER_COUNT_OF(paddings), padding);
  if (m == SEER_COUNT_OF(modes)) {
    return SEER_FAIL(INVALID,
        "attribute 'mode' is '%s', must be nearest, linear or cubic (before opset 20: nearest, "
        "bilinear or bicubic)",
        mode);
  }
  if (p == SEER_COUNT_OF(paddings)) {
    return SEER_FAIL(
        INVALID, "attribute 'padding_mode' is '%s', must be zeros, border or reflection", padding);
  }
  out->mode = (seer_sample_mode)(m > 2 ? m - 2 : m);
  out->has_corners = seer_node_attr_i(node, "align_corners", 0) != 0;
  out->padding = p == 0  ? SEER_SAMPLE_ZEROS
      : p == 1           ? SEER_SAMPLE_BORDER
      : out->has_corners ? SEER_SAMPLE_REFLECT_CENTRES
                         : SEER_SAMPLE_REFLECT_EDGES;
  return SEER_OK;
}

static seer_status infer_grid_sample(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *x = NULL, *grid = NULL;
  grid_sample g;
  SEER_TRY(read_attributes(node, &g));
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  SEER_TRY(seer_op_in(graph, node, 1, &grid));
  SEER_TRY(seer_op_want_float(grid, 1));
  if (g.mode != SEER_SAMPLE_NEAREST) SEER_TRY(seer_op_want_float(x, 0));
  if (x->rank < 4 || x->rank > 2 + MAX_SPACE) {
    return SEER_FAIL(UNSUPPORTED, "input 0 is %s, must have 2 or 3 spatial dimensions",
        seer_op_shape_text(x, arena));
  }
  uint32_t n = x->rank - 2u;
  if (g.mode == SEER_SAMPLE_CUBIC && n != 2)
    return SEER_FAIL(INVALID, "cubic interpolation of %u dimensions, must be 2", n);
  if (grid->rank != x->rank || grid->dim[0] != x->dim[0] || grid->dim[n + 1] != n) {
    return SEER_FAIL(INVALID, "input 1 is %s, must be [%" PRId64 ", %u sizes, %u] for input 0, %s",
        seer_op_shape_text(grid, arena), x->dim[0], n, n, seer_op_shape_text(x, arena));
  }
  int64_t dim[2 + MAX_SPACE] = {x->dim[0], x->dim[1]};
  for (uint32_t d = 0; d < n; d++) {
    dim[2 + d] = grid->dim[1 + d];
    if (x->dim[2 + d] == 0)
      return SEER_FAIL(INVALID, "input 0 is %s, has no elements", seer_op_shape_text(x, arena));
  }
  return seer_op_set(&out_values[0], x->dtype, dim, x->rank);
}

// -1 and 1 are the middles of the first and last element, or their outer edges.
static seer_expr to_place(seer_emit *emit, seer_expr at, bool has_corners, int64_t extent) {
  seer_dtype dtype = seer_op_dtype(emit, at);
  at = seer_op_2(emit, SEER_EXPR_ADD, at, seer_op_num(emit, dtype, 1));
  seer_expr half = seer_op_num(emit, dtype, 0.5);
  if (has_corners) {
    at = seer_op_2(emit, SEER_EXPR_MUL, at, half);
    return seer_op_2(emit, SEER_EXPR_MUL, at, seer_op_num(emit, dtype, (double)(extent - 1)));
  }
  at = seer_op_2(emit, SEER_EXPR_MUL, at, seer_op_num(emit, dtype, (double)extent));
  return seer_op_2(
      emit, SEER_EXPR_MUL, seer_op_2(emit, SEER_EXPR_SUB, at, seer_op_num(emit, dtype, 1)), half);
}

// The places along spatial dimension d, [batch, sizes of the grid].
static uint32_t emit_places(
    seer_emit *emit, const seer_node *node, const grid_sample *g, uint32_t d, seer_dtype dtype) {
  const seer_value *grid = seer_emit_in(emit, node, 1), *x = seer_emit_in(emit, node, 0);
  seer_dag_axis dims[1 + MAX_SPACE];
  seer_expr at[2 + MAX_SPACE];
  for (uint32_t k = 0; k <= g->n; k++)
    dims[k] = (seer_dag_axis){NULL, grid->dim[k], SEER_AXIS_OTHER};
  uint32_t stage =
      seer_emit_temp(emit, "at", SEER_STAGE_PROLOGUE, dims, g->n + 1, NULL, NULL, 0, at, NULL);
  at[g->n + 1] = seer_op_int(emit, g->n - 1 - d);
  seer_expr place = seer_expr_cast(&emit->dag->expr, dtype, seer_emit_load(emit, node, 1, at));
  seer_emit_temp_body(
      emit, stage, SEER_COMBINE_NONE, to_place(emit, place, g->has_corners, x->dim[2 + d]));
  return stage;
}

static seer_status emit_grid_sample(seer_emit *emit, const seer_node *node) {
  const seer_value *x = seer_emit_in(emit, node, 0), *grid = seer_emit_in(emit, node, 1);
  grid_sample g;
  SEER_TRY(read_attributes(node, &g));
  g.n = x->rank - 2u;
  seer_dtype place_dtype = seer_dtype_computed(grid->dtype);
  uint32_t places[MAX_SPACE];
  for (uint32_t d = 0; d < g.n; d++) places[d] = emit_places(emit, node, &g, d, place_dtype);
  seer_axis_role roles[2 + MAX_SPACE];
  seer_expr at[2 + MAX_SPACE], from[1 + MAX_SPACE];
  seer_op_window_roles(g.n, roles);
  uint32_t stage = seer_emit_stage(emit, node, 0, SEER_STAGE_EPILOGUE, roles, NULL, 0, at, NULL);
  from[0] = at[0];
  for (uint32_t d = 0; d < g.n; d++) from[1 + d] = at[2 + d];
  seer_sample_taps taps[MAX_SPACE];
  for (uint32_t d = 0; d < g.n; d++)
    seer_sample_make(emit, g.mode, g.padding, -0.75, seer_emit_load_temp(emit, places[d], from),
        x->dim[2 + d], &taps[d]);
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE,
      seer_sample_load(emit, node, taps, 2, g.n, at, seer_dtype_computed(x->dtype)));
  return SEER_OK;
}

SEER_OP_ENTRY(grid_sample, "GridSample", 16, 2, 2, 1, SEER_FUSE_REDUCTION,
    "align_corners mode padding_mode", .rtol = 1e-4, .atol = 1e-5, .infer = infer_grid_sample,
    .emit = emit_grid_sample, .carry_sizes = seer_sized_batch, .wants_channels_last = true,
    .doc = "nearest, linear, cubic; zeros, border, reflection; 2 or 3 spatial dimensions")
