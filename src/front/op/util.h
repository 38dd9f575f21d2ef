// util.h - what the operator files share: reading inputs, attributes and axes with good errors;
// broadcasting; small expression builders. Private to src/front/op.
// Errors say what was found and what is allowed; the caller (seer_front_resolve) adds node and
// operator.
//
// Memory: what has no `arena` parameter allocates nothing that outlives the call. Threads: as for
// the graph and the DAG that are given.
#ifndef SEER_FRONT_OP_UTIL_H
#define SEER_FRONT_OP_UTIL_H

#include "front/op.h"

#define SEER_OP_ANY 255  // of n_in_max, n_out_max

// ---- inference
// Input k with its shape. INVALID when absent, of unknown shape or dtype.
SEER_MUST_USE seer_status seer_op_in(
    const seer_graph *graph, const seer_node *node, uint32_t k, const seer_value **out_value);
bool seer_op_has_in(const seer_node *node, uint32_t k);
// Sets dtype and dimensions; INVALID for negative dimensions and for more than 2^48 elements.
SEER_MUST_USE seer_status seer_op_set(
    seer_value *value, seer_dtype dtype, const int64_t *dim, uint32_t rank);
// axis in [-rank, rank) -> [0, rank). `what` names it in the error: "attribute 'axis'".
SEER_MUST_USE seer_status seer_op_axis(
    int64_t axis, uint32_t rank, const char *what, uint32_t *out_axis);
// The int64 (or int32) content of constant input k, any rank. UNSUPPORTED when it is not constant.
SEER_MUST_USE seer_status seer_op_const_ints(const seer_graph *graph, const seer_node *node,
    uint32_t k, const char *what, seer_arena *arena, int64_t **out_ints, uint32_t *out_n);
// One of them; `otherwise` when input k is absent.
SEER_MUST_USE seer_status seer_op_const_int(const seer_graph *graph, const seer_node *node,
    uint32_t k, const char *what, int64_t otherwise, int64_t *out_int);
// Integers from attribute `name` (older opsets) or else from constant input k (newer ones). *out_n
// is UINT32_MAX when both are absent.
SEER_MUST_USE seer_status seer_op_ints(const seer_graph *graph, const seer_node *node,
    const char *name, uint32_t k, seer_arena *arena, int64_t **out_ints, uint32_t *out_n);
// Bits of the axes named by `ints` (n of them), normalised; INVALID for doubles and for axes out of
// range.
SEER_MUST_USE seer_status seer_op_axes_mask(
    const int64_t *ints, uint32_t n, uint32_t rank, uint32_t *out_mask);
// NumPy's rule; `dim` (rank) is widened by `value`'s dimensions. `k` is the input's number, for the
// error.
SEER_MUST_USE seer_status seer_op_broadcast(
    const seer_value *value, uint32_t k, int64_t *dim, uint32_t *rank);
SEER_MUST_USE seer_status seer_op_want_float(const seer_value *value, uint32_t k);
// No float of a byte or less, and no integer of less: ONNX gives operators that compare elements
// none of those.
SEER_MUST_USE seer_status seer_op_want_compared(const seer_value *value, uint32_t k);
SEER_MUST_USE seer_status seer_op_same_dtype(const seer_value *a, const seer_value *b, uint32_t k);
// The operands of a product of bytes: u8, and i8.
SEER_MUST_USE seer_status seer_op_want_bytes(const seer_value *a, const seer_value *b);
const char *seer_op_shape_text(const seer_value *value, seer_arena *arena);  // "[1,3,224,224]"
int64_t seer_op_elems(const seer_value *value);

// Output 0 is input 0's dtype and shape.
seer_status seer_op_infer_same(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values);
seer_status seer_op_infer_same_float(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values);
// Fold of anything whose elements keep their row-major order: input 0's data under output 0's
// dimensions.
seer_status seer_op_fold_view(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_tensor *out_tensors);
// Header and zeroed data for output k as inferred.
SEER_MUST_USE seer_status seer_op_fold_start(const seer_graph *graph, const seer_node *node,
    uint32_t k, seer_arena *arena, seer_tensor *out_tensor);
// NULL: not constant
const seer_tensor *seer_op_const(const seer_graph *graph, const seer_node *node, uint32_t k);
void seer_op_copy_elem(
    seer_tensor *to, int64_t to_index, const seer_tensor *from, int64_t from_index);

// ---- emission
// physical order; constants: as in ONNX
void seer_op_order(const seer_value *value, uint8_t *out_order);
// of elementwise and injective stages
seer_stage_role seer_op_stage_role(const seer_emit *emit);
// Input k at the indices of an output of `rank` dimensions, broadcast: dimensions of extent 1 are
// read at 0.
seer_expr seer_op_load_broadcast(
    seer_emit *emit, const seer_node *node, uint32_t k, const seer_expr *index, uint32_t rank);

static inline seer_expr seer_op_int(seer_emit *emit, int64_t value) {
  return seer_expr_i(&emit->dag->expr, value);
}
static inline seer_expr seer_op_2(seer_emit *emit, seer_expr_op op, seer_expr a, seer_expr b) {
  return seer_expr_binary(&emit->dag->expr, op, a, b);
}
static inline seer_expr seer_op_1(seer_emit *emit, seer_expr_op op, seer_expr a) {
  return seer_expr_unary(&emit->dag->expr, op, a);
}
seer_dtype seer_op_dtype(const seer_emit *emit, seer_expr e);
// The attribute of products that says what they round their operands to (width/tf32.c).
#define SEER_OP_PRODUCTS "products"
// a * b, of operands of f32 that `node` multiplies, rounded where it says so.
seer_expr seer_op_product(seer_emit *emit, const seer_node *node, seer_expr a, seer_expr b);
// a * b, each widened to i32.
seer_expr seer_op_wide_product(seer_emit *emit, seer_expr a, seer_expr b);
// A literal of what numbers of `dtype` are computed in, saturated.
seer_expr seer_op_num(seer_emit *emit, seer_dtype dtype, double value);
// `e` cast to a float8 type, at most its largest number in magnitude; NaN stays NaN.
seer_expr seer_op_saturate(seer_emit *emit, seer_dtype dtype, seer_expr e);
// index*factor + offset
seer_expr seer_op_muladd(seer_emit *emit, seer_expr index, int64_t factor, int64_t offset);
seer_expr seer_op_to_i64(seer_emit *emit, seer_expr e);
// min(max(index, 0), n - 1): bounds are plain to see for every reader of the expression.
seer_expr seer_op_clamp(seer_emit *emit, seer_expr index, int64_t n);
// An index that is data: negative ones count from the end, and it is clamped so that none leaves
// the buffer.
seer_expr seer_op_data_index(seer_emit *emit, seer_expr k, int64_t extent);
// low <= index < high as a predicate; bounds that always hold (index in [index_low, index_high])
// are left out; joined to `predicate` (0: none) by AND.
seer_expr seer_op_within(seer_emit *emit, seer_expr predicate, seer_expr index, int64_t index_low,
    int64_t index_high, int64_t low, int64_t high);

// ---- rows: elements of x that are reduced together, shared by normalisations, Softmax and ArgMax
// All along the dimensions in `mask`, and with `group` > 0 also `group` neighbours along dimension
// 1.
typedef struct {
  const seer_value *x;
  uint32_t mask;
  int64_t group;
} seer_op_rows;
int64_t seer_op_row_elems(const seer_op_rows *rows);
// A helper stage with one value per row. With `at`: a reduction, at[] are the indices of x;
// without: elementwise. out_row: the stage's indices (NULL: not needed).
uint32_t seer_op_row_stage(seer_emit *emit, const seer_op_rows *rows, const char *suffix,
    seer_expr *at, seer_expr *out_row);
// The row that x's element `at` belongs to.
void seer_op_row_at(
    seer_emit *emit, const seer_op_rows *rows, const seer_expr *at, seer_expr *out_row);

// ---- windows, shared by convolution and pooling
// n entries of an integer attribute, each at least `low`; all `otherwise` when it is absent.
SEER_MUST_USE seer_status seer_op_int_list(const seer_node *node, const char *name, uint32_t n,
    int64_t low, int64_t otherwise, int64_t *out);
typedef enum { SEER_PAD_GIVEN, SEER_PAD_UPPER, SEER_PAD_LOWER, SEER_PAD_VALID } seer_op_auto_pad;
SEER_MUST_USE seer_status seer_op_read_auto_pad(const seer_node *node, seer_op_auto_pad *out);
// Optional input k as a bias of n channels, of x's type.
SEER_MUST_USE seer_status seer_op_check_bias(const seer_graph *graph, const seer_node *node,
    uint32_t k, const seer_value *x, int64_t n, seer_arena *arena);
// Output 0 as a sum over `reduce`, and its terms; with input 2, a bias along dimension 1, the sum
// is a stage of its own in front of the one that adds it. `roles` of the output's dimensions may be
// NULL; `at` and `var` as seer_emit_stage gives them.
uint32_t seer_op_sum_stage(seer_emit *emit, const seer_node *node, const seer_axis_role *roles,
    const seer_dag_axis *reduce, uint32_t n_reduce, seer_expr *at, seer_expr *var);
void seer_op_sum_body(seer_emit *emit, const seer_node *node, const seer_axis_role *roles,
    uint32_t stage, seer_expr term);
typedef struct {
  uint32_t n;  // spatial dimensions, 1 to 3
  int64_t kernel[3], stride[3], dilation[3], pad_begin[3], pad_end[3], in[3], out[3];
} seer_op_window;
// Reads strides, dilations, pads, auto_pad, ceil_mode; `kernel` (n extents) is known to the caller;
// `in` are the spatial extents. Fills all of out_window.
SEER_MUST_USE seer_status seer_op_window_read(const seer_node *node, const int64_t *kernel,
    const int64_t *in, uint32_t n, seer_op_window *out_window);
// What the windows of spatial dimension d read: [*out_low, *out_low + result), relative to the
// unpadded input.
int64_t seer_op_window_reach(const seer_op_window *window, uint32_t d, int64_t *out_low);
// Input `k` of `node`, logical [N, C, spatial...], as the windows see it: a PAD stage filled with
// `fill` when any window leaves the input. Loads take window positions: output index * stride +
// window index * dilation.
typedef struct {
  bool is_padded;
  uint32_t stage;
} seer_op_padded;
seer_op_padded seer_op_pad_input(seer_emit *emit, const seer_node *node, uint32_t k,
    const seer_op_window *window, seer_expr fill);
seer_expr seer_op_load_padded(seer_emit *emit, const seer_node *node, uint32_t k,
    const seer_op_padded *padded,
    const seer_expr *at);  // [n, c, spatial...]
// Roles and reduction axes of a window over n spatial dimensions: kz, ky, kx.
// [BATCH, OUT_CHANNEL, spatial...]
void seer_op_window_roles(uint32_t n, seer_axis_role *out_roles);
seer_dag_axis seer_op_window_axis(const seer_op_window *window, uint32_t d);

// ---- labels of tasks
void seer_op_put_spatial(seer_text *text, const seer_value *value);  // "112x112x32": channels last
// " 3x3 s2", with a dilation that is not 1: " 3x3 s1 d2".
void seer_op_put_window(seer_text *text, const seer_node *node, const int64_t *kernel, size_t n);

// ---- bounds of sizes
// One entry of a list: of a Concat of single numbers, the one that constant input 1 names.
seer_val seer_op_listed_number(const seer_graph *graph, const seer_node *node);

// ---- entries
// An entry of one of ONNX's own operators, whose first output is always there. `...`: what else it
// says, by name.
#define SEER_OP_ENTRY(id, onnx, from, in_min, in_max, out_max, kind, attributes, ...) \
  const seer_op_desc seer_op_##id = {.name = onnx,                                    \
      .domain = "",                                                                   \
      .opset_min = from,                                                              \
      .opset_max = SEER_OPSET_NEWEST,                                                 \
      .n_in_min = in_min,                                                             \
      .n_in_max = in_max,                                                             \
      .n_out_min = 1,                                                                 \
      .n_out_max = out_max,                                                           \
      .fuse = kind,                                                                   \
      .attrs = attributes,                                                            \
      __VA_ARGS__};

// One of the inner domain, which has one version. `number`, `n_operand`: op.h's `host` and
// `n_host_in`. `...`: what else the entry says.
#define SEER_OP_INNER(                                                            \
    id, onnx, in_min, out_min, out_max, kind, attributes, number, n_operand, ...) \
  const seer_op_desc seer_op_##id = {.name = onnx,                                \
      .domain = SEER_INNER_DOMAIN,                                                \
      .opset_min = 1,                                                             \
      .opset_max = 1,                                                             \
      .n_in_min = in_min,                                                         \
      .n_in_max = SEER_OP_ANY,                                                    \
      .n_out_min = out_min,                                                       \
      .n_out_max = out_max,                                                       \
      .fuse = kind,                                                               \
      .attrs = attributes,                                                        \
      .host = number,                                                             \
      .n_host_in = n_operand,                                                     \
      __VA_ARGS__};

// An index map: infer_<id> and emit_<id> stand in front of it. `...`: the text, and what else the
// entry says.
#define SEER_OP_INJECTIVE(id, onnx, from, in_min, in_max, out_max, attributes, fold_fn, ...) \
  SEER_OP_ENTRY(id, onnx, from, in_min, in_max, out_max, SEER_FUSE_INJECTIVE, attributes,    \
      .rtol = 0, .atol = 0, .infer = infer_##id, .emit = emit_##id, .fold = fold_fn,         \
      .doc = __VA_ARGS__)

#endif
