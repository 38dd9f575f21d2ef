// expand.h - composite operators, replaced by simpler ones while the graph is resolved.
// An entry of the operator table with `expand` has neither shapes nor a DAG of its own: when the
// types of its operands are known, it adds nodes that compute its outputs. Those are resolved at
// once, in the order in which they were added (and may be composite themselves), so that what is
// constant among them folds like any shape arithmetic, and the rest is fused and tuned like any
// other node.
// The nodes' names are the replaced node's with "/<operator>" behind; values are known by id, and a
// node's pointer is good until the next node is added.
//
// Memory: new nodes and values are in the graph's arena; what goes in is copied, but for texts of
// attributes, which are kept as long. `scratch` ends with the node. One thread, as for its graph.
// An entry that fails leaves what it has added; the graph is of no use then.
#ifndef SEER_FRONT_EXPAND_EXPAND_H
#define SEER_FRONT_EXPAND_EXPAND_H

#include "front/op/util.h"

typedef struct seer_expand seer_expand;
struct seer_expand {
  seer_graph *graph;
  seer_node node;  // the one that is replaced: a copy, its lists stay where they are
  seer_arena *scratch;
  // Resolves what was added so far: its types are known then, and what is constant is folded.
  seer_status (*resolve)(seer_expand *e);
  uint32_t next;  // node that is resolved next
  seer_dtype narrow;  // what its outputs are rounded to; NONE: they are as they are made
};

// Of an entry that computes: of the operands `which` (bits), when their floats are all of one type
// narrower than f32, those are widened, and `narrow` is that type.
#define SEER_EXPAND_ALL UINT32_MAX
SEER_MUST_USE seer_status seer_expand_widen(seer_expand *e, uint32_t which);

// An entry of the operator table for opsets [from, to] of a domain. `...`: the text, and what else
// the entry says.
#define SEER_COMPOSITE(                                                                      \
    id, space, onnx, from, to, in_min, in_max, out_min, out_max, attributes, expand_fn, ...) \
  const seer_op_desc seer_op_##id = {.name = onnx,                                           \
      .domain = space,                                                                       \
      .opset_min = from,                                                                     \
      .opset_max = to,                                                                       \
      .n_in_min = in_min,                                                                    \
      .n_in_max = in_max,                                                                    \
      .n_out_min = out_min,                                                                  \
      .n_out_max = out_max,                                                                  \
      .fuse = SEER_FUSE_COMPOSITE,                                                           \
      .attrs = attributes,                                                                   \
      .expand = expand_fn,                                                                   \
      .doc = __VA_ARGS__};

// One of ONNX's own whose operands may be sequences and optional values; its function is
// expand_<id>.
#define SEER_LIST_COMPOSITE(id, onnx, from, in_min, in_max, out_max, attributes, ...)           \
  SEER_COMPOSITE(id, "", onnx, from, SEER_OPSET_NEWEST, in_min, in_max, 1, out_max, attributes, \
      expand_##id, __VA_ARGS__, .takes_lists = true)

// An operator of com.microsoft; its function is expand_<id>. `...`: as above.
#define SEER_CONTRIB(id, onnx, in_min, in_max, out_max, attributes, ...)                       \
  SEER_COMPOSITE(ms_##id, "com.microsoft", onnx, 1, 1, in_min, in_max, 1, out_max, attributes, \
      expand_##id, __VA_ARGS__)

// ---- operands of the replaced node
bool seer_expand_has_in(const seer_expand *e, uint32_t k);
seer_val seer_expand_operand(const seer_expand *e, uint32_t k);  // input k; 0: it is absent
bool seer_expand_wants(const seer_expand *e, uint32_t k);  // output k is there, and used
// Inputs [from, to) are there; for those behind the first that may be absent.
SEER_MUST_USE seer_status seer_expand_needs(const seer_expand *e, uint32_t from, uint32_t to);
// Input k, which must be there and have a type. (Good until the next value is added.)
const seer_value *seer_expand_in(const seer_expand *e, uint32_t k);

// ---- new nodes of ai.onnx (in the version SEER_EXPAND_OPSET)
#define SEER_EXPAND_OPSET 20
seer_val seer_expand_add(seer_expand *e, const char *op_type, const seer_val *in, uint32_t n_in,
    const seer_attr *attr, uint32_t n_attr);
void seer_expand_add_outs(seer_expand *e, const char *op_type, const seer_val *in, uint32_t n_in,
    const seer_attr *attr, uint32_t n_attr, seer_val *out, uint32_t n_out);
// One of the operators of SEER_INNER_DOMAIN. Behind its operands stand the sizes of those whose
// sizes only a run knows; they are added here.
void seer_expand_inner(seer_expand *e, const char *op_type, const seer_val *in, uint32_t n_in,
    const seer_attr *attr, uint32_t n_attr, seer_val *out, uint32_t n_out);
// `x` again, with sizes (i64[1]) for its dimensions `axes`.
seer_val seer_expand_sized(
    seer_expand *e, seer_val x, const int64_t *axes, const seer_val *sizes, uint32_t n);
seer_val seer_expand_1(seer_expand *e, const char *op_type, seer_val a);
seer_val seer_expand_2(seer_expand *e, const char *op_type, seer_val a, seer_val b);
seer_val seer_expand_3(seer_expand *e, const char *op_type, seer_val a, seer_val b, seer_val c);
// With one integer attribute.
seer_val seer_expand_1i(
    seer_expand *e, const char *op_type, seer_val a, const char *name, int64_t value);
seer_val seer_expand_2i(
    seer_expand *e, const char *op_type, seer_val a, seer_val b, const char *name, int64_t value);
seer_val seer_expand_cast(seer_expand *e, seer_val a, seer_dtype dtype);
seer_val seer_expand_reshape(seer_expand *e, seer_val a, const int64_t *dim, uint32_t rank);
// Elements [from, to) of one axis.
seer_val seer_expand_slice(seer_expand *e, seer_val a, int64_t axis, int64_t from, int64_t to);
// Along one axis from the last to the first.
seer_val seer_expand_reversed(seer_expand *e, seer_val a, int64_t axis);
// Any number of parts: Concat of Concats where there are many.
seer_val seer_expand_concat(seer_expand *e, const seer_val *part, uint32_t n, int64_t axis);
// x with its last two dimensions exchanged.
seer_val seer_expand_turned(seer_expand *e, seer_val x, uint32_t rank);
// [n, spatial..., c] -> [n, c, spatial...], or back.
seer_val seer_expand_channels(seer_expand *e, seer_val x, uint32_t rank, bool to_last);
// Of input 0's type: a constant, and x by a constant.
seer_val seer_expand_number(seer_expand *e, double value);
seer_val seer_expand_times(seer_expand *e, seer_val x, double factor);
// x (f32) rounded half to even, plus the zero point, of whose type it is and saturates; 0: u8.
seer_val seer_expand_whole(seer_expand *e, seer_val x, seer_val zero);
// x plus input k, if that is there.
seer_val seer_expand_biased(seer_expand *e, seer_val x, uint32_t k);
static inline seer_attr seer_expand_int(const char *name, int64_t value) {
  return (seer_attr){.name = name, .kind = SEER_ATTR_INT, .i = value};
}
static inline seer_attr seer_expand_ints_attr(const char *name, const int64_t *ints, uint32_t n) {
  return (seer_attr){.name = name, .kind = SEER_ATTR_INTS, .ints = ints, .n = n};
}
static inline seer_attr seer_expand_string(const char *name, const char *value) {
  return (seer_attr){.name = name, .kind = SEER_ATTR_STRING, .s = value};
}

// ---- new constants
// Room for a table of a x b numbers (zeros) in `scratch`; UNSUPPORTED when it would be larger than
// what a constant of a composite may be: sizes come from the file.
SEER_MUST_USE seer_status seer_expand_table(
    const seer_expand *e, int64_t a, int64_t b, double **out_numbers);
seer_val seer_expand_tensor(
    seer_expand *e, seer_dtype dtype, const int64_t *dim, uint32_t rank, const double *data);
seer_val seer_expand_scalar(seer_expand *e, seer_dtype dtype, double value);
seer_val seer_expand_ints(seer_expand *e, const int64_t *ints, uint32_t n);  // i64[n]

// ---- sequences and optional values
#define SEER_EXPAND_MAX_ITEMS 4096

// ---- results
// Output k of the replaced node is `value`. Each output that is there must get one.
void seer_expand_output(seer_expand *e, uint32_t k, seer_val value);
// Of an entry that computes: one that is no float, or has been rounded.
void seer_expand_output_as_is(seer_expand *e, uint32_t k, seer_val value);

// ---- entries of front/op that are composite in one form: is_composite and expand
// Identity of a sequence or optional value.
bool seer_identity_is_of_list(const seer_graph *graph, const seer_node *node);
seer_status seer_identity_expand(seer_expand *e);
// Dropout whose mask is read.
bool seer_dropout_has_mask(const seer_graph *graph, const seer_node *node);
seer_status seer_dropout_expand(seer_expand *e);
// BatchNormalization with the statistics of its own input.
bool seer_batch_norm_is_training(const seer_graph *graph, const seer_node *node);
seer_status seer_batch_norm_expand(seer_expand *e);

// ---- bodies of If, Loop and Scan
// A body is a graph of its own; its inputs are the formal ones, then what it reads from outside
// (node->in[attr->i ...], attr->n of them).
uint32_t seer_expand_n_formal(const seer_attr *body);
// The body's nodes, copied for the operands `formal`; out[k]: what its output k is out here.
// `constants` keeps its constants between copies of one body: body->graph->n_value ids, zero at
// first.
void seer_expand_inline(seer_expand *e, const seer_attr *body, const seer_val *formal,
    seer_val *constants, seer_val *out);

// ---- masked.c: along dimensions whose sizes are data
// The least or largest number of a type: infinite for floats.
seer_val seer_expand_extreme(seer_expand *e, seer_dtype dtype, bool is_largest);
// x (its type is known) with `neutral`, a scalar, beyond the sizes of its dimensions `mask` (bits;
// at least one has such a size): those are as large as their bounds now, others keep their sizes.
seer_val seer_expand_masked(seer_expand *e, seer_val x, uint32_t mask, seer_val neutral);
seer_status seer_expand_sized_mean(seer_expand *e);  // replaces ReduceMean
seer_status seer_expand_sized_concat(seer_expand *e);  // replaces Concat along such a dimension

// 0, 1, 2, ... along dimension d of `rank`; `size` is some size that is data.
seer_val seer_expand_index(
    seer_expand *e, int64_t extent, uint32_t d, uint32_t rank, seer_val size);

// ---- shaped.c: operators whose result's shape is data, and when that is so
bool seer_shaped_by_data(const seer_graph *graph, const seer_node *node);
bool seer_shaped_constant_by_data(const seer_graph *graph, const seer_node *node);
bool seer_shaped_pad_is_data(const seer_graph *graph, const seer_node *node);
bool seer_shaped_slice_is_data(const seer_graph *graph, const seer_node *node);
bool seer_shaped_reshape_is_data(const seer_graph *graph, const seer_node *node);
seer_status seer_shaped_constant(seer_expand *e);
seer_status seer_shaped_expand(seer_expand *e);
seer_status seer_shaped_reshape(seer_expand *e);
seer_status seer_shaped_flatten(seer_expand *e);
seer_status seer_shaped_pad(seer_expand *e);
seer_status seer_shaped_slice(seer_expand *e);

// ---- select.c: what replaces NonZero and Range when their result's size is data
seer_status seer_expand_non_zero(seer_expand *e);
seer_status seer_expand_range(seer_expand *e);

#endif
