// dag.h - the DAG: what one task computes. Stages in topological order, each an expression over
// loads, with spatial and reduction axes. Text form: doc/ir/dag.md.
// Dimensions, axes and indices are in PHYSICAL order (the layout pass has chosen it): the last
// dimension of a buffer is the contiguous one. A buffer is row-major but for `pitch`, the distance
// in elements between two consecutive rows (>= last extent): element address = ((i0*d1 + i1)*d2 +
// ...)*pitch + i_last. Invariants (seer_dag_verify): extents > 0; every plain load in bounds;
// guarded loads in bounds where the predicate holds; stages read only inputs and earlier stages;
// every stage's spatial axes are its output's dimensions, in order. Floats narrower than f32 are
// neither computed with nor summed up or multiplied: such a reduction is one of f32, and a cast
// stands in a stage behind it. So where values are kept, and in which order sums are taken, rounds
// nothing to a narrow type that the DAG does not say.
//
// Memory: a DAG and all that it points to are in the arena that it was made with; texts that go in
// are copied. Threads: one builds or edits it; what is finished any number may read, each
// interpreting it with a seer_dag_eval of its own.
#ifndef SEER_DAG_DAG_H
#define SEER_DAG_DAG_H

#include "base/status.h"
#include "base/text.h"
#include "dag/expr.h"
#include "dag/scalar.h"

#define SEER_DAG_MAX_VALUES 4
#define SEER_DAG_MAX_STAGES 64
#define SEER_DAG_MAX_OUTPUT_STAGES 8
#define SEER_DAG_MAX_BUFFERS 128
#define SEER_DAG_MAX_AXES 16  // of one stage

typedef enum {
  SEER_AXIS_OTHER,
  SEER_AXIS_BATCH,
  SEER_AXIS_Y,
  SEER_AXIS_X,
  SEER_AXIS_OUT_CHANNEL,
  SEER_AXIS_IN_CHANNEL,
  SEER_AXIS_KY,
  SEER_AXIS_KX,
  SEER_AXIS_GROUP,
  SEER_AXIS_M,
  SEER_AXIS_N,
  SEER_AXIS_K,
  SEER_AXIS_HEAD,
  SEER_AXIS_ROLE_COUNT
} seer_axis_role;

typedef enum {
  SEER_STAGE_ANCHOR,
  SEER_STAGE_PROLOGUE,
  SEER_STAGE_EPILOGUE,
  SEER_STAGE_PAD,
  SEER_STAGE_PACK,
  SEER_STAGE_TRANSFORM_IN,
  SEER_STAGE_TRANSFORM_OUT,
  SEER_STAGE_REDUCE_LOCAL,
  SEER_STAGE_FETCH,  // a copy made where the kernel runs: of weights, too, so never const
  SEER_STAGE_ROLE_COUNT
} seer_stage_role;

typedef enum {
  SEER_COMBINE_NONE,  // no reduction axes
  SEER_COMBINE_SUM,
  SEER_COMBINE_PROD,
  SEER_COMBINE_MAX,
  SEER_COMBINE_MIN,
  // values (x, index): smallest index of the extreme, in any order; NaN is the extreme of both
  SEER_COMBINE_ARGMAX,
  SEER_COMBINE_ARGMIN,
  SEER_COMBINE_AND,
  SEER_COMBINE_OR,
  SEER_COMBINE_COUNT
} seer_combiner;

typedef enum { SEER_BUF_ACTIVATION, SEER_BUF_WEIGHT, SEER_BUF_STAGE } seer_buf_kind;

typedef struct {
  const char *name;
  seer_dtype dtype;
  // ACTIVATION and WEIGHT are inputs of the DAG; WEIGHT is known when compiling
  seer_buf_kind kind;
  bool is_output;  // STAGE only
  uint8_t rank;
  uint8_t value;  // STAGE: which value of the stage
  uint32_t stage;  // STAGE: index of the stage that makes it
  int64_t dim[SEER_MAX_RANK];
  int64_t pitch;  // elements from row to row; dim[rank-1] when dense; 1 for rank 0
} seer_dag_buf;

typedef struct {
  const char *name;
  int64_t extent;
  seer_axis_role role;
} seer_dag_axis;

typedef struct {
  const char *name;
  seer_stage_role role;
  uint8_t n_space, n_reduce;  // axis[0 .. n_space) spatial, then n_reduce reduction axes
  seer_dag_axis axis[SEER_DAG_MAX_AXES];
  // axis k is SEER_EXPR_VAR with ref var0 + k (unique within the DAG)
  uint32_t var0;
  seer_combiner combiner;
  uint8_t n_values;
  seer_expr body[SEER_DAG_MAX_VALUES];  // over this stage's vars
  uint32_t out[SEER_DAG_MAX_VALUES];  // buffer ids
  // Not to be evaluated per run: depends on weights only (set by seer_dag_finish).
  bool is_const;
  // May sums be reordered / is the body exact up to the tolerance of this relative size (0: default
  // of f32)
  double tolerance;
} seer_dag_stage;

typedef struct seer_dag {
  seer_arena *arena;
  const char *name;
  seer_expr_pool expr;
  uint32_t n_buf, n_stage, n_var;
  uint32_t cap_buf, cap_stage;  // MAX_BUFFERS and MAX_STAGES, or what there is of a sealed one
  seer_dag_buf *buf;
  seer_dag_stage *stage;
  // What each stage reads (access.h), set by seer_dag_finish; NULL while the DAG is built or
  // edited.
  const struct seer_access_table *access;
} seer_dag;

// ---- building (build.c); edit.h changes what is built. Names are made fit for the text form
// (letters, digits, _ .) and unique. Errors of the caller are assertions; seer_dag_verify judges
// what came from outside.
seer_dag *seer_dag_create(seer_arena *arena, const char *name);
// An input. pitch 0: dense. Returns the buffer id.
uint32_t seer_dag_add_input(seer_dag *dag, const char *name, seer_buf_kind kind, seer_dtype dtype,
    const int64_t *dim, uint32_t rank, int64_t pitch);
// Starts a stage; its vars can be used at once: seer_dag_var(dag, stage, k). Returns the stage
// index.
uint32_t seer_dag_add_stage(seer_dag *dag, const char *name, seer_stage_role role,
    const seer_dag_axis *axes, uint32_t n_space, uint32_t n_reduce);
// Its axes, with new variables; a body that it had is gone.
void seer_dag_set_axes(
    seer_dag *dag, uint32_t stage, const seer_dag_axis *axes, uint32_t n_space, uint32_t n_reduce);
seer_expr seer_dag_var(seer_dag *dag, uint32_t stage, uint32_t axis);
// Ends it: one buffer per value, named like the stage (".1", ".2" appended for further values), or
// those that it has already; returns the id of the first. combiner NONE iff n_reduce == 0.
uint32_t seer_dag_set_body(seer_dag *dag, uint32_t stage, seer_combiner combiner,
    const seer_expr *body, uint32_t n_values);
seer_expr seer_dag_load(seer_dag *dag, uint32_t buf, const seer_expr *index);  // rank indices
seer_expr seer_dag_load_guarded(
    seer_dag *dag, uint32_t buf, const seer_expr *index, seer_expr predicate, seer_expr otherwise);
void seer_dag_mark_output(seer_dag *dag, uint32_t buf, int64_t pitch);  // pitch 0: dense
// Derived facts: is_const and dag->access. Needed before analysis and scheduling, not to verify or
// evaluate.
void seer_dag_finish(seer_dag *dag);
seer_dag *seer_dag_clone(const seer_dag *dag, seer_arena *arena);  // shares nothing that changes
// A copy that takes no more memory than it must: it is only read, or cloned.
const seer_dag *seer_dag_seal(const seer_dag *dag, seer_arena *arena);
// Alike in every id, number and name, so that each can stand for the other. (Equal keys allow more:
// other names, another order of buffers.)
bool seer_dag_is_like(const seer_dag *a, const seer_dag *b);
// By buffer: its number in the order in which the keys meet it. Of DAGs with equal keys, buffers of
// one number stand for each other. 0: an input that nothing reads.
void seer_dag_numbers(const seer_dag *dag, uint32_t out_number[SEER_DAG_MAX_BUFFERS]);
// Made fit, and unlike those of all stages and buffers; in the DAG's arena.
const char *seer_dag_fresh_name(const seer_dag *dag, const char *wanted);
const char *seer_dag_value_name(const seer_dag *dag, const seer_dag_stage *stage, uint32_t value);
int64_t seer_dag_buf_elems(const seer_dag_buf *buf);  // with pitch: what must be allocated
// What changes nothing when it is joined as value `value` of the combiner, exactly. (An arg's index
// is the largest integer.) That of MAX and MIN is an end of the type, which scalar.h knows.
seer_scalar seer_combiner_identity(seer_combiner combiner, uint32_t value, seer_dtype dtype);
// What a reduction starts from, and one step of it: acc = acc (+) value, f32 rounded each time.
void seer_combiner_init(
    seer_combiner combiner, const seer_dtype *dtype, uint32_t n_values, seer_scalar *out_acc);
void seer_combiner_apply(seer_combiner combiner, const seer_dtype *dtype, uint32_t n_values,
    seer_scalar *acc, const seer_scalar *value);
const char *seer_combiner_name(seer_combiner combiner);
bool seer_combiner_is_arg(seer_combiner combiner);  // argmax, argmin: two values
// What joins accumulator and value; of argmax and argmin what a better value fulfils (> or <).
seer_expr_op seer_combiner_op(seer_combiner combiner);
const char *seer_axis_role_name(seer_axis_role role);
const char *seer_stage_role_name(seer_stage_role role);

// ---- text (text/text.c); print -> parse -> print is a fixpoint. What is parsed has no derived
// facts yet, and nobody has verified it. Errors: INVALID with line and column.
const char *seer_dag_print(const seer_dag *dag, seer_arena *arena);
SEER_MUST_USE seer_status seer_dag_parse(
    const char *source, const char *text, size_t n_bytes, seer_arena *arena, seer_dag **out_dag);

// ---- verify (verify.c): INVALID with stage, load and range that are wrong.
SEER_MUST_USE seer_status seer_dag_verify(const seer_dag *dag);

// ---- interpreter (eval.c): the reference for everything. On demand, memoised per stage. data[b]:
// inputs are borrowed and must be set; stage buffers are made when needed. Layout as declared (with
// pitch).
// `dag` is kept and may not change; it and what is computed live as long as `arena`.
typedef struct seer_dag_eval seer_dag_eval;
seer_dag_eval *seer_dag_eval_create(const seer_dag *dag, seer_arena *arena);
// kept as long as `eval`
void seer_dag_eval_set_input(seer_dag_eval *eval, uint32_t buf, const void *data);
double seer_dag_eval_at(seer_dag_eval *eval, uint32_t buf, const int64_t *index);  // one element
// the whole buffer
void seer_dag_eval_all(seer_dag_eval *eval, uint32_t buf, void *out_data);

// ---- analysis (analyse.c) of a finished DAG
// Ansor's needs_multi_level_tiling
bool seer_dag_needs_tiling(const seer_dag *dag, uint32_t stage);
// strictly inlineable (Ansor), exp-like not
bool seer_dag_is_inlineable(const seer_dag *dag, uint32_t stage);
// The stages that read it (Ansor: consumers), at most MAX_STAGES.
uint32_t seer_dag_readers(const seer_dag *dag, uint32_t stage, uint32_t *out_stages);
// Those that it reads. For tests.
uint32_t seer_dag_makers(const seer_dag *dag, uint32_t stage, uint32_t *out_stages);
// add, mul, ... 1 each; exp-like 8; casts and indices 0
double seer_dag_stage_flops(const seer_dag *dag, uint32_t stage);
double seer_dag_flops(const seer_dag *dag);  // const stages excluded
uint32_t seer_dag_anchor(const seer_dag *dag);  // stage index
// Class of the anchor by access pattern and dtype: "conv.f32", "depthwise.f32", "contraction.f32",
// "window.f32", "row-reduction.f32", "elementwise.f32", "movement.f32", "group-conv.f32"
const char *seer_dag_anchor_class(const seer_dag *dag, seer_arena *arena);
// Iterations of each stage that one run needs: all of an output's, of others no more than there are
// loads (readers take a part of it: a slice); const stages 0.
void seer_dag_count_iterations(const seer_dag *dag, double out[SEER_DAG_MAX_STAGES]);
// Bytes that come in and go out: each element once, and of what is read no more than there are
// loads.
typedef struct {
  double read, written;
  double large_weights;  // of those read: weights of some size, at places that axes say
} seer_dag_io;
// min_bytes: of a large weight.
seer_dag_io seer_dag_count_io(const seer_dag *dag, double min_bytes);
// For tests.
double seer_dag_io_bytes(const seer_dag *dag);  // both ways together
double seer_dag_weight_bytes(const seer_dag *dag);  // as in the model: unpacked

// ---- hashes (hash.c). Free of names; float literals only in the content hash.
typedef struct {
  uint64_t structure, shape, content;
} seer_dag_key;
seer_dag_key seer_dag_hash(const seer_dag *dag);

#endif
