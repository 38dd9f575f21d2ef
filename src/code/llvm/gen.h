// gen.h - what the files of the LLVM code generator share. Internal to code/.
//
// The generator runs the loop IR at compile time ("SPMD by evaluation"): an environment binds every
// loop variable to a constant (UNROLL copies), to an LLVM integer (loops that stay loops) or to a
// row of lanes (VECTOR). An expression then comes out as a uniform scalar or as a vector of lanes,
// an address as a linear form over what is known at run time.
//
// What becomes of each loop and local buffer was decided before (tile/tile.h).
//
//   module.c   module, passes, object            lin.c      sums, value numbering
//   loop.c     phases, blocks, loops, stores     expr.c     expressions
//   version.c  versions of a tile                memory.c   loads, stores, guards
//   hoist.c    accumulators kept in registers    math.c     exp, log, erf, ... as vector code
//   prefetch.c packed weights, ahead of time
#ifndef SEER_CODE_LLVM_GEN_H
#define SEER_CODE_LLVM_GEN_H

#include <llvm-c/Core.h>

#include "code/kernel.h"
#include "code/tile/tile.h"

#define SEER_GEN_MAX_PREDS 48
#define SEER_GEN_MAX_SLOTS 128
#define SEER_GEN_MAX_OPEN 64
#define SEER_GEN_NO_VAR UINT32_MAX

// ---- values. A value of <vl x T> is a vector of the current lanes, else it is the same for all
// lanes.
typedef struct {
  LLVMValueRef v;
  bool is_vec;
} seer_gen_value;

typedef enum {
  SEER_GEN_UNBOUND,
  SEER_GEN_CONST,  // c
  SEER_GEN_VALUE,  // value + c
  SEER_GEN_LANE,  // lane l is value + c + l (value may be NULL)
  SEER_GEN_LET,  // the expression `let`
  SEER_GEN_HULL  // anything in the variable's range (while versions are being decided)
} seer_gen_bind;

typedef struct {
  seer_gen_bind kind;
  int64_t c;
  LLVMValueRef value;
  uint32_t depth;  // of the run-time loop that sets `value`
  seer_expr let;
} seer_gen_var;

// What must hold for the current copy of the code to be meant at all.
typedef struct {
  LLVMValueRef cond;  // i1
  uint32_t depth;
  // the unrolled loop that it comes from; SEER_GEN_NO_VAR: concerns every access
  uint32_t var;
} seer_gen_pred;

// A FOR of the loop IR in the version that is being emitted.
typedef struct {
  bool is_full;  // it runs exactly `trip` times
  int64_t trip;  // at most so many iterations; the extent but in the version of a known tail
} seer_gen_now;

typedef struct {
  bool is_written;  // in this phase
  LLVMValueRef base;  // pointer, in the current function
  uint32_t align;  // of `base`
  LLVMValueRef scope, noalias;  // alias metadata
} seer_gen_buf;

typedef struct {
  int64_t key;  // which copy of the statement it belongs to
  uint32_t lanes;
  LLVMValueRef cell[SEER_DAG_MAX_VALUES];
} seer_gen_slot;

typedef struct {
  uint32_t store;  // node; 0: no hoist is active
  bool is_partial;  // lanes hold partial results, combined after the loops
  uint32_t n_loop;
  uint32_t loop[32];  // the loops on the way to the store that tell slots apart
  uint32_t n;
  seer_gen_slot slot[SEER_GEN_MAX_SLOTS];
} seer_gen_hoist;

// Multiples of an innermost loop's counter that are counted up beside it (LLVM's own strength
// reduction is off: it took half of the time of code generation and gave the same loops).
#define SEER_GEN_MAX_STRIDES 6
typedef struct {
  LLVMBasicBlockRef block;  // NULL: not in an innermost loop
  LLVMValueRef i;
  uint32_t n;
  struct {
    LLVMValueRef phi;
    int64_t step;
  } stride[SEER_GEN_MAX_STRIDES];
} seer_gen_counter;

// A loop whose body is being emitted.
typedef struct {
  uint32_t var;
  int64_t trip;  // at most so many iterations
  bool is_copies;  // one copy of the body per value; else it stays a loop (or numbers the parts)
} seer_gen_open;

typedef struct seer_gen_memo seer_gen_memo;

typedef struct {
  const seer_loop *loop;
  seer_arena *arena;
  seer_status status;  // first failure
  uint64_t l2_bytes;
  bool is_x86, has_half;  // half <-> float in hardware
  bool has_rounding;  // to integers, in hardware
  // masked loads and stores exist for elements of at least this many bytes
  uint32_t masked_bytes;
  // LLVM
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMBuilderRef b, at_entry;  // at_entry: before the first instruction of the function (allocas)
  LLVMTypeRef i1, i8, i16, i32, i64, f32, f64, ptr;
  LLVMValueRef fn, scratch;
  unsigned md_scope, md_noalias, md_invariant;
  // what was decided, and where we are in it
  seer_tile *tile;
  seer_gen_now *now;  // by node of the loop IR
  seer_gen_buf *buf;
  uint8_t *proof;  // by expression: what seer_gen_is_true found
  bool *full_proof;  // by expression: true in the FULL version that is being emitted
  // environment
  seer_gen_var *var;
  uint32_t depth;
  uint32_t lane_var, lanes, chunk;
  uint32_t outer_lanes;  // VECTOR node whose vectors are a run-time loop further out; 0: none
  LLVMValueRef outer_first;  // its first lane now
  LLVMValueRef lane_mask;  // <lanes x i1>, NULL: all
  uint32_t n_open;
  seer_gen_open open[SEER_GEN_MAX_OPEN];  // outermost first
  uint32_t n_pred;
  seer_gen_pred pred[SEER_GEN_MAX_PREDS];
  bool in_version, is_general;
  seer_gen_hoist *hoist;
  uint32_t n_tight;  // open loops that are tight windows
  int64_t fence;  // how many there were: loads before and after one are not the same
  seer_gen_counter counter;
  // expressions of the current copy
  uint32_t tick;
  uint32_t *memo_tick;
  seer_gen_value *memo_value;
  seer_gen_memo *memo;  // values by content, scoped like the control flow
} seer_gen;

#define SEER_GEN_FAIL(g, code, ...)                               \
  do {                                                            \
    if (!(g)->status) (g)->status = SEER_FAIL(code, __VA_ARGS__); \
  } while (0)

static inline const seer_expr_node *seer_gen_at(const seer_gen *g, seer_expr e) {
  return &g->loop->expr.node[e.i];
}

// ---- module.c
void seer_gen_init_llvm(void);  // targets of LLVM, once per process

// ---- switches.c
// For the process, from the first switch_off to the last switch_on. Threads: any.
void seer_gen_switch_off(void);
void seer_gen_switch_on(void);

// ---- lin.c
// Atoms are run-time values, and HULL variables by their numbers.
static inline uint64_t seer_gen_atom_of(LLVMValueRef v) { return (uint64_t)(uintptr_t)v; }
// NULL: a HULL variable.
static inline LLVMValueRef seer_gen_value_of(const seer_sum_term *term) {
  return term->atom > UINT32_MAX ? (LLVMValueRef)(uintptr_t)term->atom : NULL;
}
// False when `e` is not linear in the lanes (or unknown while versions are decided).
bool seer_gen_sum_of(seer_gen *g, seer_expr e, seer_sum *out);
// i64; the term's atom is a run-time value.
LLVMValueRef seer_gen_term_value(seer_gen *g, const seer_sum_term *term, int64_t scale);
LLVMValueRef seer_gen_sum_value(seer_gen *g, const seer_sum *x);  // of lane 0, i64
seer_gen_value seer_gen_sum_lanes(seer_gen *g, const seer_sum *x);
// innermost run-time loop that it depends on
uint32_t seer_gen_expr_depth(const seer_gen *g, seer_expr e);

// Scoped value numbering: what was built in a scope that is still open is used again.
void seer_gen_memo_init(seer_gen *g);
void seer_gen_memo_push(seer_gen *g);
void seer_gen_memo_pop(seer_gen *g);
LLVMValueRef seer_gen_memo_find(seer_gen *g, uint32_t tag, const void *a, const void *b, int64_t c);
void seer_gen_memo_add(
    seer_gen *g, uint32_t tag, const void *a, const void *b, int64_t c, LLVMValueRef v);
LLVMValueRef seer_gen_mul_i64(seer_gen *g, LLVMValueRef a, int64_t b);
LLVMValueRef seer_gen_gep(seer_gen *g, LLVMTypeRef elem, LLVMValueRef p, LLVMValueRef index);
LLVMValueRef seer_gen_gep_const(seer_gen *g, LLVMTypeRef elem, LLVMValueRef p, int64_t index);

// ---- expr.c
LLVMTypeRef seer_gen_type(const seer_gen *g, seer_dtype dtype);  // in registers
LLVMTypeRef seer_gen_memory_type(const seer_gen *g, seer_dtype dtype);  // in memory
LLVMTypeRef seer_gen_lanes_type(LLVMTypeRef elem, uint32_t lanes);  // elem itself for 1 lane
LLVMValueRef seer_gen_splat(seer_gen *g, LLVMValueRef scalar, uint32_t lanes);
LLVMValueRef seer_gen_widen(seer_gen *g, seer_gen_value v);  // to the current lanes
LLVMValueRef seer_gen_and(seer_gen *g, LLVMValueRef a, LLVMValueRef b);  // NULL = true
LLVMValueRef seer_gen_const_i64(const seer_gen *g, int64_t v);
LLVMValueRef seer_gen_call(seer_gen *g, const char *intrinsic, LLVMTypeRef *types, uint32_t n_types,
    LLVMValueRef *args, uint32_t n_args);
LLVMValueRef seer_gen_select(seer_gen *g, LLVMValueRef cond, LLVMValueRef a, LLVMValueRef b);
bool seer_gen_const_real(LLVMValueRef v, double *out);  // a constant, or one in all lanes
bool seer_gen_const_bool(LLVMValueRef v, bool *out);  // v is a constant i1
seer_gen_value seer_gen_expr(seer_gen *g, seer_expr e);
// the operator on its operands, without linear forms
seer_gen_value seer_gen_expr_raw(seer_gen *g, seer_expr e);
bool seer_gen_is_true(seer_gen *g, seer_expr predicate);
// <lanes x i1>: lane < limit (i64).
LLVMValueRef seer_gen_lanes_below(seer_gen *g, LLVMValueRef limit);
// One operator on values of equal width (scalars or vectors).
LLVMValueRef seer_gen_to_memory(seer_gen *g, seer_dtype dtype, LLVMValueRef v);
LLVMValueRef seer_gen_from_memory(seer_gen *g, seer_dtype dtype, LLVMValueRef v);
// acc[k] = combine(acc[k], value[k]); all of equal width.
void seer_gen_combine(seer_gen *g, seer_combiner combiner, const seer_dtype *dtype, uint32_t n,
    LLVMValueRef *acc, const LLVMValueRef *value);
LLVMValueRef seer_gen_identity(
    seer_gen *g, seer_combiner combiner, const seer_dtype *dtype, uint32_t k, uint32_t lanes);
uint32_t seer_gen_width(LLVMValueRef v);  // lanes of a value's type

// ---- memory.c
typedef struct {
  uint32_t buf;
  bool is_regular;  // `at` holds; else `lanes` has one i64 element offset per lane
  bool is_inside;  // every dimension's index is inside the buffer whatever the variables are
  seer_sum at;
  LLVMValueRef lanes;
} seer_gen_addr;

void seer_gen_address(
    seer_gen *g, uint32_t buf, const seer_expr *index, uint32_t n_index, seer_gen_addr *out);
seer_gen_value seer_gen_load(seer_gen *g, seer_expr e);
// For targets of stores: `uniform` (i1) and `mask` (<lanes x i1>) say what may be touched; NULL =
// all.
seer_gen_value seer_gen_load_target(
    seer_gen *g, const seer_gen_addr *addr, LLVMValueRef uniform, LLVMValueRef mask);
void seer_gen_store_target(seer_gen *g, const seer_gen_addr *addr, seer_gen_value value,
    LLVMValueRef uniform, LLVMValueRef mask);

// ---- loop.c
LLVMValueRef seer_gen_phase(seer_gen *g, uint32_t phase, const char *name);
// Binds the loop's variable to each copy or chunk of lanes in turn (with predicates and masks) and
// calls `each`.
void seer_gen_for_copies(seer_gen *g, uint32_t node, void (*each)(void *user), void *user);
seer_tile_mode seer_gen_mode_of(const seer_gen *g, uint32_t node);  // in the current version
bool seer_gen_cuts(const seer_gen *g, uint32_t node);  // the bound has to be looked at
LLVMValueRef seer_gen_alloca(seer_gen *g, LLVMTypeRef type, uint32_t align);
// What the current copy's store may touch: for memory, and (out_reduce_*) what concerns only loops
// that are not in the address.
typedef struct {
  LLVMValueRef uniform, mask;  // of all enclosing copies
  // of those whose variable the address does not depend on
  LLVMValueRef reduce_uniform, reduce_mask;
} seer_gen_active;
void seer_gen_active_of(
    seer_gen *g, const seer_loop_node *store, bool is_lane_in_address, seer_gen_active *out);

// Emits one node (is_alone), or it and all that follow it in its block.
void seer_gen_nodes(seer_gen *g, uint32_t id, bool is_alone);

// ---- version.c
bool seer_gen_needs_versions(seer_gen *g, uint32_t id, bool is_alone);
void seer_gen_versions(seer_gen *g, uint32_t id, bool is_alone);

// ---- prefetch.c
// After a load of a vector at pointer `p`: asks for what loads of the same stream need later, where
// that is worth an instruction.
void seer_gen_prefetch(seer_gen *g, const seer_expr *index, uint32_t n_index,
    const seer_gen_addr *addr, LLVMValueRef p);

// ---- hoist.c
// Starts keeping the targets of the reduction below `root` (a FOR) in registers; false if it cannot
// be done.
bool seer_gen_hoist_begin(seer_gen *g, uint32_t root);
void seer_gen_hoist_end(seer_gen *g, uint32_t root);  // writes them back
// Combines the store's values into the active hoist's accumulators of the current copy.
void seer_gen_hoist_update(seer_gen *g, const seer_loop_node *store, const seer_gen_addr *addr,
    const seer_gen_active *active);
// acc[k] = combine(acc[k], the store's value k), over `lanes` lanes, where `cond` (i1, or one per
// lane, or NULL: always) holds. SUM of a product becomes one multiply-add.
void seer_gen_accumulate(
    seer_gen *g, const seer_loop_node *store, uint32_t lanes, LLVMValueRef cond, LLVMValueRef *acc);
// Combines the lanes of acc[] into scalars.
void seer_gen_horizontal(
    seer_gen *g, seer_combiner combiner, const seer_dtype *dtype, uint32_t n, LLVMValueRef *acc);

// ---- math.c: f32 only; each function states its error.
LLVMValueRef seer_gen_math(seer_gen *g, seer_expr_op op, LLVMValueRef x);
LLVMValueRef seer_gen_math_f64(seer_gen *g, seer_expr_op op, LLVMValueRef x);  // NULL: has no code
typedef enum { SEER_GEN_FLOOR, SEER_GEN_CEIL, SEER_GEN_TRUNC, SEER_GEN_EVEN } seer_gen_rounding;
// To an integer, f32 and f64, exactly as the instruction does it, the sign of zero too.
LLVMValueRef seer_gen_round(seer_gen *g, seer_gen_rounding how, LLVMValueRef x);
LLVMValueRef seer_gen_math_pow(seer_gen *g, LLVMValueRef x, LLVMValueRef y);

#endif
