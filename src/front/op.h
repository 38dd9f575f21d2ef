// op.h - what an operator is: one self-describing entry per ONNX operator, grouped in
// op/<family>.c, listed in op/table.inc. An entry says what shapes come out and what it computes,
// as DAG; everything else (folding, fusion, tuning, checking) follows from that. Entries are
// constants; their functions keep nothing and may be called by any thread, each with a graph of its
// own.
#ifndef SEER_FRONT_OP_H
#define SEER_FRONT_OP_H

#include "dag/dag.h"
#include "front/graph.h"

typedef enum {
  SEER_FUSE_OPAQUE,  // stands alone (host steps, movement that cannot be an index map)
  // output element i needs input elements i (or broadcast): joins producer or consumer
  SEER_FUSE_ELEMENTWISE,
  // an index map: transpose, slice, concat, pad, ...: joins its consumer as a prologue
  SEER_FUSE_INJECTIVE,
  SEER_FUSE_ANCHOR,  // conv, gemm, matmul, ...: takes an epilogue
  SEER_FUSE_REDUCTION,  // pool, softmax, mean, LRN: takes an epilogue
  // reshape-like: same elements in row-major order (Reshape, Flatten, Squeeze, Unsqueeze, Identity)
  SEER_FUSE_VIEW,
  SEER_FUSE_COMPOSITE  // replaced by other operators before anything is fused
} seer_fuse_kind;

// Domain of operators that no file has: what composites are made of.
#define SEER_INNER_DOMAIN "seer"

// What an operator says of the order in which others run.
typedef enum {
  SEER_CONTROL_NONE,
  // The ends of a Loop that is not unrolled. Between them stands the body, once.
  // LoopBegin(trip, condition, value...) -> number, condition, value...: what the body reads.
  // LoopEnd(condition, value..., part..., number) -> value..., scanned..., count.
  SEER_CONTROL_LOOP_BEGIN,
  SEER_CONTROL_LOOP_END,
  // Branch(condition, then value..., else value...) -> value...: an If whose condition is data.
  // What only one side's values need is computed if that side is taken (front/order.h). A side that
  // cannot be built has no values (all absent), and the attribute `why` says why: a run that takes
  // it fails with that. Further operands tie such a branch to the loops that it is in.
  SEER_CONTROL_BRANCH
} seer_control;

struct seer_emit;
struct seer_expand;

// ONNX's own operator sets that are read. An entry whose operator means the same up to the newest
// says so by that name; doc/opsets.md lists what changed in which.
#define SEER_OPSET_OLDEST 1
#define SEER_OPSET_NEWEST 28

// What a node reads and makes, at most, that becomes a kernel: a task has room for so much. Entries
// of operators that may have any number take those with more apart (expand, is_composite).
#define SEER_OP_KERNEL_IN 64
#define SEER_OP_KERNEL_OUT SEER_DAG_MAX_OUTPUT_STAGES

typedef struct seer_op_desc {
  const char *name;  // ONNX name
  const char *domain;  // "" = ai.onnx
  int32_t opset_min, opset_max;
  uint8_t n_in_min, n_in_max, n_out_min, n_out_max;  // 255: any
  seer_fuse_kind fuse;
  const char *attrs;  // names that are understood, space-separated: an unknown one is an error
  double rtol, atol;  // against a reference in f32
  // Shapes and dtypes of the outputs from those of the inputs (all fixed) and constant inputs.
  // Errors name the attribute or input, what was found and what is allowed; the caller adds node
  // name and operator.
  seer_status (*infer)(
      const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values);
  // What it computes. Uses seer_emit_* below. NULL for VIEW (generic) and for what only folds.
  seer_status (*emit)(struct seer_emit *emit, const seer_node *node);
  // Optional direct evaluation for shape arithmetic and data that is not numbers-as-f64; NULL: by
  // DAG eval. Fills the tensors whole (dtype, dims, data in `arena` or borrowed from an input).
  // Needs constant inputs, but for folds_from_shape (Shape, Size): there fixed dimensions are
  // enough.
  seer_status (*fold)(
      const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_tensor *out_tensors);
  bool folds_from_shape;
  // Runs on the host: a seer_host_function (runtime/host.h), else 0. The first n_host_in inputs are
  // its operands; others are sizes of those. The integer attributes `attrs`, in their order, are
  // its parameters. `emit`, if there is one, says the same as DAG, of operands whose sizes are all
  // known: for who judges.
  uint32_t host;
  uint8_t n_host_in;
  seer_control control;  // becomes a step of its own kind
  // A composite: replaces the node by simpler ones, in place of all the above (front/expand). With
  // is_composite only the nodes that it names.
  seer_status (*expand)(struct seer_expand *expand);
  bool (*is_composite)(const seer_graph *graph, const seer_node *node);
  // Its parts compute with their operands: floats narrower than f32 are widened for them, and its
  // outputs are rounded to that type (seer_expand_output).
  bool computes;
  bool takes_lists;  // sequences and optional values, as operands
  // its graphs are sides, of which a run takes one: the other may lack anything
  bool takes_one_body;

  // ---- dimensions whose size only a run knows (front/sized.h). An operator that says nothing here
  // refuses them, by name; ELEMENTWISE ones broadcast them.
  // The sizes of the outputs of e->node, which are inferred at its bounds.
  seer_status (*carry_sizes)(struct seer_expand *e);
  bool expands_sized;  // of `expand`: its operands may have such dimensions
  // Outputs that are indices or counts, so 0 or more, as bits.
  uint8_t counts;
  // Each element of output 0 is one of input 0's, of whatever type. (Of VIEW that is known.)
  bool moves;
  // A value that the result, one integer, is not larger than; 0: none is known. (VIEW: input 0.)
  seer_val (*bounded_by)(const seer_graph *graph, const seer_node *node);

  // ---- what passes make use of
  // Output 0 is input 0, which has the same type and sizes. (Of VIEW that is known.) NULL: never
  bool (*is_copy)(const seer_graph *graph, const seer_node *node);
  // Faster with channels last, [0, 2, 3, ..., 1], in what it reads first and what it makes.
  bool wants_channels_last;
  // Each element of the result is made of those in its place, whatever the dimensions mean: what is
  // transposed before it can be transposed behind it instead.
  bool treats_alike;
  // The result is its operands one after another: those without elements can be left out, and
  // each can be written to its place by what makes it.
  bool joins_parts;
  // Each result is a part of input 0, which can be read there.
  bool gives_parts;
  // With one of these: where operand k begins in the result, or result k in input 0, by dimension.
  // False: its elements are not neighbours there (a slice with steps).
  bool (*part_start)(
      const seer_graph *graph, const seer_node *node, uint32_t k, int64_t *out_start);
  // Input 0, [m,k], times a constant matrix, and nothing else reads input 0: an order of k can be
  // changed in both. *out_by_column: the matrix has k as its columns.
  bool (*is_dense_layer)(const seer_graph *graph, const seer_node *node, bool *out_by_column);
  // A sum of products of operands 0 and 1: what --precision is about.
  bool multiplies;
  // What the task's name says of it: "conv 3x3 s2 112x112x32->64". NULL: its name and dimensions.
  void (*label)(seer_text *text, const seer_graph *graph, const seer_node *node);
  const char *doc;  // one line: what is covered, for doc/operators.md
} seer_op_desc;

// Every entry by its id. What a pass is about, an entry it names: `node->op == &seer_op_transpose`.
#include "front/op/table.inc"
#define SEER_DECLARE_OP(id) extern const seer_op_desc seer_op_##id;
SEER_OPS(SEER_DECLARE_OP)
SEER_OLD_OPS(SEER_DECLARE_OP)
SEER_INNER_OPS(SEER_DECLARE_OP)
#undef SEER_DECLARE_OP

extern const seer_op_desc *const seer_op_table[];
extern const size_t seer_op_table_count;
// NULL if none
const seer_op_desc *seer_op_find(const char *domain, const char *name, int32_t opset);

// The runtime carries it out, and no kernel: host functions, loops, branches.
static inline bool seer_op_is_for_runtime(const seer_op_desc *op) {
  return op->host != 0 || op->control != SEER_CONTROL_NONE;
}

// The dimension of its input that each dimension of a Transpose's output is, of a node whose types
// are inferred: that is when `perm` is checked (each of `rank` dimensions once, from 0 on: ONNX
// counts none from the end here). Nobody else reads the attribute.
void seer_transpose_perm(const seer_node *node, uint32_t rank, uint8_t *out_perm);

// Of a Branch with a side that cannot be built: why, and which; NULL for all other nodes.
const char *seer_branch_why(const seer_node *node);
bool seer_branch_lacks_then(const seer_node *node);  // of such a Branch: then, not else

// ---- emission. A group of nodes is emitted in order into one DAG. A value of the graph is, inside
// the DAG, a buffer with dimensions in the value's physical order; emitters speak logical (ONNX)
// indices only.
typedef struct seer_emit {
  const seer_graph *graph;
  seer_dag *dag;
  seer_arena *arena;
  uint32_t *buf_of_value;  // by value id; buffer id + 1, 0 = not in the DAG yet
  // Set by seer_emit_node: the operator's, in lower case; base of its stages' names.
  const char *node_name;
  // of stages of elementwise and injective nodes: EPILOGUE (also if ANCHOR) or PROLOGUE
  seer_stage_role default_role;
  uint8_t temp_order[SEER_DAG_MAX_STAGES][SEER_MAX_RANK];  // of helper stages, by stage index
  // Values without elements have no buffers. A stage that reduces over none of them (an axis of
  // extent 0) becomes its combiner's identity, so what its body would load does not matter;
  // elsewhere a load of such a value is the operator's error, its name kept here until the end.
  bool is_over_nothing[SEER_DAG_MAX_STAGES];
  uint32_t last_stage;
  const char *empty;
} seer_emit;

// `graph`, `dag` and `arena` are kept. buf_of_value is made in `arena`; default_role is EPILOGUE.
void seer_emit_init(seer_emit *emit, const seer_graph *graph, seer_dag *dag, seer_arena *arena);
// Emits `node` (resolved: node->op is set) through its entry; a VIEW without an emitter becomes the
// index map of its row-major order. UNSUPPORTED for what only folds, for outputs without elements
// (resolving makes them constants) and for reading from inputs without elements; a reduction over
// nothing is its combiner's identity. Afterwards each output that is made has its buffer in
// buf_of_value; the caller says which values leave the DAG (seer_emit_output) and calls
// seer_dag_finish.
SEER_MUST_USE seer_status seer_emit_node(seer_emit *emit, const seer_node *node);

// Value `v`, which was emitted, is an output of the DAG, with this pitch (0: dense): its buffer,
// which is of the value's type from now on. Once for each, behind all nodes. Floats narrower than
// f32 are rounded here: inside the DAG they are f32.
uint32_t seer_emit_output(seer_emit *emit, seer_val v, int64_t pitch);

// The dimensions of node input k / output k (logical). Input must be present.
const seer_value *seer_emit_in(const seer_emit *emit, const seer_node *node, uint32_t k);
const seer_value *seer_emit_out(const seer_emit *emit, const seer_node *node, uint32_t k);
bool seer_emit_has_in(const seer_emit *emit, const seer_node *node, uint32_t k);
// Loads input k at logical indices (rank of them), in the type that the value's numbers are
// computed in (seer_dtype_computed), as are `otherwise` and the bodies of stages. Constants of one
// element become literals.
seer_expr seer_emit_load(
    seer_emit *emit, const seer_node *node, uint32_t k, const seer_expr *index);
seer_expr seer_emit_load_guarded(seer_emit *emit, const seer_node *node, uint32_t k,
    const seer_expr *index, seer_expr predicate, seer_expr otherwise);
// Starts the stage that makes output k of `node`: spatial axes are the output's logical dimensions
// (roles by logical dimension in `roles`, may be NULL), in physical order inside; then the
// reduction axes. out_index[logical dim] are the vars. Returns the stage.
uint32_t seer_emit_stage(seer_emit *emit, const seer_node *node, uint32_t k, seer_stage_role role,
    const seer_axis_role *roles, const seer_dag_axis *reduce, uint32_t n_reduce,
    seer_expr *out_index, seer_expr *out_reduce);
void seer_emit_body(seer_emit *emit, const seer_node *node, uint32_t k, uint32_t stage,
    seer_combiner combiner, seer_expr body);
// A helper stage that is no graph value (a padded input, a row maximum): logical dims given with
// the physical order that its axes take (order NULL: as given). Returns the stage; index vars by
// logical dim. Its name is the node's with ".<suffix>". The buffer exists, and may be loaded, once
// the body is set.
uint32_t seer_emit_temp(seer_emit *emit, const char *suffix, seer_stage_role role,
    const seer_dag_axis *dims, uint32_t n_dim, const uint8_t *order, const seer_dag_axis *reduce,
    uint32_t n_reduce, seer_expr *out_index, seer_expr *out_reduce);
// buffer id
uint32_t seer_emit_temp_body(
    seer_emit *emit, uint32_t stage, seer_combiner combiner, seer_expr body);
// Loads a temp by the logical indices that it was made with.
seer_expr seer_emit_load_temp(seer_emit *emit, uint32_t stage, const seer_expr *index);

#endif
