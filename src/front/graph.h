// graph.h - a network as ONNX operators over values. Shapes, axes and attributes stay ONNX's (NCHW)
// for ever; a value's physical layout (order of dimensions, pitch) is an attribute that the layout
// pass assigns. Values and nodes are ids; nodes are kept in topological order (seer_graph_verify).
//
// Memory: a graph and all that it points to are in its arena, but for constants that lie in mapped
// files until seer_graph_close. Names that go in are copied; what attributes and tensors point to
// is kept. Threads: one at a time changes a graph or a copy of it (copies share lists); any number
// may read.
#ifndef SEER_FRONT_GRAPH_H
#define SEER_FRONT_GRAPH_H

#include "base/os.h"
#include "base/recover.h"
#include "base/status.h"
#include "base/text.h"
#include "dag/dtype.h"
#include "dag/expr.h"

typedef struct {
  uint32_t i;
} seer_val;  // 0 = none (an absent optional input)
typedef struct {
  uint32_t i;
} seer_node_id;  // 0 = none

typedef enum {
  SEER_ATTR_INT,
  SEER_ATTR_FLOAT,
  SEER_ATTR_STRING,
  SEER_ATTR_INTS,
  SEER_ATTR_FLOATS,
  SEER_ATTR_STRINGS,
  SEER_ATTR_TENSOR,
  SEER_ATTR_GRAPH
} seer_attr_kind;

struct seer_graph;

// A sequence or an optional value, while operators are resolved: which values it is made of is
// known then (front/expand/list.c), and afterwards nobody reads it any more.
typedef struct {
  bool is_optional;  // of 0 or 1 value, which may be a sequence; else a sequence of tensors
  uint32_t n;
  const seer_val *item;
} seer_list;

// Constant data. `data` is row-major, dense, in `dtype`; borrowed from the mapped file or in the
// arena. A value's constant has the value's dtype; behind the pass "narrow" that of an integer
// value may have a narrower integer type, and readers widen its numbers (seer_dtype_load_i64 does).
typedef struct {
  seer_dtype dtype;
  uint8_t rank;
  int64_t dim[SEER_MAX_RANK];
  const void *data;
  size_t n_bytes;
} seer_tensor;

typedef struct {
  const char *name;
  seer_attr_kind kind;
  int64_t i;
  double f;
  const char *s;
  size_t n;  // of the lists
  const int64_t *ints;
  const double *floats;
  const char *const *strings;
  const seer_tensor *tensor;
  // The body of an If, Loop or Scan. Its last `n` inputs stand for what it reads from outside: the
  // node's operands from `i` on.
  struct seer_graph *graph;
} seer_attr;

typedef struct {
  const char *name;  // no other value has it
  // What the model's caller knows it by, where another value has that name: an output that is an
  // input too, or that is listed twice. NULL: its name.
  const char *shown;
  seer_dtype dtype;  // NONE: not yet inferred
  uint8_t rank;
  bool has_shape;
  int64_t dim[SEER_MAX_RANK];  // -1: symbolic, not yet fixed
  // A dimension whose size is known only while running: dim is its bound, and this value (i64[1])
  // its size. Memory and code are those of the bound; elements beyond the size are any numbers.
  seer_val size[SEER_MAX_RANK];
  const seer_tensor *constant;  // not NULL: its content is known (initialiser or folded)
  const seer_list *list;  // not NULL: no tensor (dtype NONE, no shape)
  seer_node_id producer;  // 0: input or constant
  // is_output: the caller sees it, or it is the size of what the caller sees (then it is not in the
  // graph's list of outputs).
  bool is_input, is_output;
  // Physical layout: dimension order (order[k] = logical dimension that is k-th outermost), pitch
  // in elements.
  uint8_t order[SEER_MAX_RANK];
  bool has_layout;  // false: order is 0,1,2,...
  int64_t pitch;  // 0: dense
  // Part of another value's memory, which is no part itself: element 0 lies `offset` elements
  // behind element 0 of `base`, and the pitch is such that rows lie where the base has them (the
  // pass "part"). 0: the value has memory of its own.
  seer_val base;
  int64_t offset;
} seer_value;

typedef struct {
  const char *name;  // never empty (made up when the file has none)
  const char *op_type;  // "Conv"
  const char *domain;  // "" for ai.onnx
  const struct seer_op_desc *op;  // NULL until resolved
  int32_t opset;  // version of its domain
  uint32_t n_in, n_out;
  seer_val *in;  // 0 for absent
  seer_val *out;
  uint32_t n_attr;
  seer_attr *attr;
  bool is_dead;
} seer_node;

// Large constants that hold the elements of another one in another order of dimensions: a Transpose
// that was folded, or a second copy in the file. Only from SEER_PERMUTED_MIN_BYTES on.
#define SEER_PERMUTED_MIN_BYTES ((size_t)1 << 20)
typedef struct {
  seer_tensor tensor, of;
  uint8_t perm[SEER_MAX_RANK];  // dimension d of `tensor` is dimension perm[d] of `of`
} seer_permuted;
typedef struct {
  size_t n, cap;
  seer_permuted *item;
} seer_permuted_list;

// An input that --bind has given a value: a constant since then, and no input any more. What passes
// do to the value's constant does not show here.
typedef struct {
  const char *name;
  seer_tensor tensor;
} seer_bound;

// An input and an output for which a caller may have one memory (--share), by their numbers.
typedef struct {
  uint32_t input, output;
} seer_shared;

// What the file calls an unknown size of an input ("batch"): sizes of one name are one size.
typedef struct {
  seer_val input;
  uint32_t dim;
  const char *name;
} seer_dim_name;

// An operator without support, for programs: what stands in the way, once a kind.
typedef struct {
  const char *op;  // "Foo", "com.example.Foo"
  uint32_t n;  // nodes
  const char *reason;
} seer_missing_op;
typedef struct {
  size_t n, cap;
  seer_missing_op *item;
} seer_missing_list;

typedef struct seer_graph {
  seer_arena *arena;  // model
  const char *name;
  size_t n_value, cap_value;
  seer_value *value;  // [0] unused: ids are 1 .. n_value-1. Adding a value may move the array.
  size_t n_node, cap_node;
  // [0] unused: ids are 1 .. n_node-1; dead ones are skipped. Adding a node may move the array.
  seer_node *node;
  uint32_t n_input, n_output;
  size_t cap_input, cap_output;
  seer_val *input, *output;
  uint32_t n_bound;
  size_t cap_bound;
  seer_bound *bound;
  uint32_t n_shared;
  seer_shared *shared;  // does not change once the file is read
  size_t n_dim_name, cap_dim_name;
  seer_dim_name *dim_name;  // does not change once the file is read
  size_t n_map, cap_map;
  seer_os_map *map;  // files that constants are borrowed from; unmapped by seer_graph_close
  size_t n_listed;  // items of all lists
  struct seer_extents *extents;  // while types are inferred (front/expand/extent.h); NULL: none yet
  seer_permuted_list *permuted;  // never NULL; shared with copies
  struct seer_map *names;  // names of the first n_named values and more that are taken; NULL: none
  size_t n_named;
  uint64_t file_bytes;  // of all files that it was read from; 0: from none
  seer_recover_owned owned;  // while files are mapped
  int64_t opset;  // of ai.onnx, as the file says (0: not from a file)
  const char *producer;
  seer_missing_list missing;  // filled by resolving that fails: UNSUPPORTED
  struct seer_custom *custom;  // operators of users (front/custom/custom.h); NULL: none
} seer_graph;

seer_graph *seer_graph_create(seer_arena *arena, const char *name);
// A copy whose values and nodes can be changed without changing the original's; in the same arena.
// What nobody changes is shared: names, attributes' contents and above all constants. It borrows
// the original's files: seer_graph_close of the copy does nothing.
seer_graph *seer_graph_copy(const seer_graph *graph);
// Unmaps the files that constants are borrowed from. To be called once, when nothing reads
// constants any more; the rest of the graph lives as long as its arena.
void seer_graph_close(seer_graph *graph);
// IO when a file that constants are borrowed from has been cut short since: what was made of the
// graph is not to be used.
SEER_MUST_USE seer_status seer_graph_check_files(const seer_graph *graph);
seer_val seer_graph_add_value(seer_graph *graph, const char *name, seer_dtype dtype,
    const int64_t *dim, int32_t rank);  // rank -1: unknown
seer_val seer_graph_add_constant(seer_graph *graph, const char *name,
    const seer_tensor *tensor);  // tensor header copied, data kept
void seer_graph_mark_input(seer_graph *graph, seer_val value);
// "x f32[1,3,?,?], n i64[]", in `arena`: for messages.
const char *seer_graph_inputs_text(const seer_graph *graph, seer_arena *arena);
void seer_graph_mark_output(seer_graph *graph, seer_val value);
// Input `index` becomes a constant; those behind it move up. tensor: header copied, data kept.
void seer_graph_bind_input(seer_graph *graph, uint32_t index, const seer_tensor *tensor);
const seer_bound *seer_graph_find_bound(const seer_graph *graph, const char *name);  // or NULL
// The value is an input that shares memory with an output: what puts rows into it writes no others.
bool seer_graph_is_shared(const seer_graph *graph, seer_val value);
void seer_graph_name_dim(seer_graph *graph, seer_val input, uint32_t dim, const char *name);
// in/out/attr arrays are copied.
seer_node_id seer_graph_add_node(seer_graph *graph, const char *name, const char *domain,
    const char *op_type, int32_t opset, const seer_val *in, uint32_t n_in, const seer_val *out,
    uint32_t n_out, const seer_attr *attr, uint32_t n_attr);
static inline seer_value *seer_graph_value(const seer_graph *graph, seer_val v) {
  return &graph->value[v.i];
}
static inline const char *seer_value_shown(const seer_value *value) {
  return value->shown ? value->shown : value->name;
}
static inline seer_node *seer_graph_node(const seer_graph *graph, seer_node_id n) {
  return &graph->node[n.i];
}
uint32_t seer_graph_n_uses(
    const seer_graph *graph, seer_val value);  // by live nodes and as model output
void seer_graph_replace_uses(
    seer_graph *graph, seer_val from, seer_val to);  // by nodes; model outputs stay
// behind(before(x)) -> before(behind(x)) for two nodes' first operands and results, where nobody
// else reads what is between. The value between them then is of `dtype`, with the dimensions of
// `shaped` and a name of its own, the result's and `suffix`.
void seer_graph_swap_nodes(seer_graph *graph, seer_node_id before, seer_node_id behind,
    seer_dtype dtype, seer_val shaped, const char *suffix);
void seer_graph_kill_node(
    seer_graph *graph, seer_node_id node);  // dead; its outputs have no producer
void seer_graph_set_constant(
    seer_graph *graph, seer_val value, const seer_tensor *tensor);  // as add_constant
// Notes that dimension d of `tensor` is dimension perm[d] of `of`, all elements being the same.
// Small tensors are left out, and so is what is known already.
void seer_graph_note_permuted(
    seer_graph *graph, const seer_tensor *tensor, const seer_tensor *of, const uint8_t *perm);
// What is known of a constant with this content and these dimensions; NULL: it is no permuted one.
const seer_permuted *seer_graph_permuted(const seer_graph *graph, const seer_tensor *tensor);
// The one that was made of `of` in this way; NULL: none.
const seer_tensor *seer_graph_find_permuted(
    const seer_graph *graph, const seer_tensor *of, const uint8_t *perm);
// A name that no value has: `base`, or `base` with a number after it. In the graph's arena, and
// taken from now on.
const char *seer_graph_fresh_name(seer_graph *graph, const char *base);
// Names in files, and names made of several, are at most this long: exporters that name nodes by
// the path of their module stay below 500.
#define SEER_GRAPH_NAME_BYTES ((size_t)2048)
// prefix + "/" + name, in `arena`. Where that is too long, its beginning and a hash of it all:
// different ones stay different.
const char *seer_graph_join_names(seer_arena *arena, const char *prefix, const char *name);
// Who reads what, for passes: the readers of value v are node[first[v] .. first[v + 1]), a node
// once per operand.
typedef struct {
  uint32_t *first, *node;
} seer_graph_uses;
seer_graph_uses seer_graph_index_uses(const seer_graph *graph, seer_arena *arena);
// Topological, keeping the given order where it can; drops dead nodes, so node ids change. A cycle
// is INVALID, naming a node on it; the graph stays as it was.
SEER_MUST_USE seer_status seer_graph_sort(seer_graph *graph);
SEER_MUST_USE seer_status seer_graph_verify(const seer_graph *graph);
// Text form: doc/ir/graph.md. Constants of more than 64 elements that are not all equal are printed
// as hex; brief: elided (such a text is for people, it cannot be parsed). Parsing: INVALID with
// line and column; what is parsed is not sorted or verified.
const char *seer_graph_print(const seer_graph *graph, seer_arena *arena);
// For tests.
const char *seer_graph_print_brief(const seer_graph *graph, seer_arena *arena);
SEER_MUST_USE seer_status seer_graph_parse(const char *source, const char *text, size_t n_bytes,
    seer_arena *arena, seer_graph **out_graph);

const seer_attr *seer_node_attr(const seer_node *node, const char *name);  // NULL when absent
int64_t seer_node_attr_i(const seer_node *node, const char *name, int64_t otherwise);
// `otherwise` is rounded to f32, as an attribute is.
double seer_node_attr_f(const seer_node *node, const char *name, double otherwise);
const char *seer_node_attr_s(const seer_node *node, const char *name, const char *otherwise);
const seer_attr *seer_node_attr_ints(
    const seer_node *node, const char *name);  // NULL when absent or another kind
// Product of the dimensions; -1 when one is unknown or the product does not fit.
int64_t seer_dims_elems(const int64_t *dim, uint32_t rank);
int64_t seer_tensor_elems(const seer_tensor *tensor);
// The tensor has this type, or it and `dtype` are integers and `dtype` holds all that it can have.
bool seer_tensor_widens_to(const seer_tensor *tensor, seer_dtype dtype);
bool seer_value_is_sized(const seer_value *value);  // some dimension is a bound
// In memory: elements of a row (the physically last dimension; 1 for scalars), and from row to row.
int64_t seer_value_row(const seer_value *value);
int64_t seer_value_pitch(const seer_value *value);
// Elements from the first one to behind the last one, with what lies between rows. For tests and
// to verify.
int64_t seer_value_span(const seer_value *value);
int64_t seer_value_elems(const seer_value *value);  // -1 without a fixed shape
// "f32[1,3,224,224]", "f32[?,3]", "f32[<=100,4]", "f32" without a shape
const char *seer_value_type_text(const seer_value *value, seer_arena *arena);

#endif
