// gen.h - what the files of the generator of vector code share. Internal to code/gen.
//
// The generator runs the loop IR at compile time ("SPMD by evaluation"): an environment binds every
// loop variable to a constant (UNROLL copies), to an integer of the code (loops that stay loops) or
// to a row of lanes (VECTOR). An expression then comes out as a uniform scalar or as a vector of
// lanes, an address as a sum over what is known at run time.
//
// What becomes of each loop and local buffer was decided before (tile/tile.h).
//
// Each file uses those above it:
//   value.c     values that are at hand: numbering, constants, splats, sums, pointers
//   math.c      exp, log, erf, ... as vector code       small.c    floats narrower than f32
//   operator.c  one operator on values
//   ../access/  loads and stores at an address; packed weights, ahead of time
//   expr.c      expressions, with what they load
//   copies.c    a loop's variable, copy by copy
//   accumulators.c  targets of reductions, in registers
//   ../product/  sums that are products of matrices, or of warps
//   version.c  which versions a tile gets
//   items.c     of block programs: which item, nests
//   loop.c      blocks, loops, stores
//   generate.c  phases
//
// Memory: a seer_gen lives for one call; the code is in its arena. One thread. Errors: the first
// one is kept in `status`, and what is emitted after it is of no use.
#ifndef SEER_CODE_GEN_H
#define SEER_CODE_GEN_H

#include "code/gen/generate.h"
#include "space/matrix.h"

#define SEER_GEN_MAX_PREDS 48
#define SEER_GEN_MAX_SLOTS 128
#define SEER_GEN_MAX_OPEN 64
#define SEER_GEN_NO_VAR UINT32_MAX
#define SEER_GEN_NONE ((seer_vec){0})

// ---- values. A value of <vl x T> is a vector of the current lanes, else it is the same for all
// lanes.
typedef struct {
  seer_vec v;
  bool is_vec;
} seer_gen_value;

typedef enum {
  SEER_GEN_UNBOUND,
  SEER_GEN_CONST,  // c
  SEER_GEN_VALUE,  // value + c
  SEER_GEN_LANE,  // lane l is value + c + l (value may be NONE)
  SEER_GEN_LET,  // the expression `let`
  SEER_GEN_HULL  // anything in the variable's range (while versions are being decided)
} seer_gen_bind;

typedef struct {
  seer_gen_bind kind;
  int64_t c;
  seer_vec value;
  uint32_t depth;  // of the run-time loop that sets `value`
  seer_expr let;
} seer_gen_var;

// What must hold for the current copy of the code to be meant at all.
typedef struct {
  seer_vec cond;  // i1
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
  seer_vec base;  // pointer, in the current phase
  uint32_t align;  // of `base`
  const seer_sum *owner;  // PRIVATE: what says whose an element is; NULL: not known yet
} seer_gen_buf;

typedef struct {
  int64_t key;  // which copy of the statement it belongs to
  uint32_t lanes;
  seer_vec cell[SEER_DAG_MAX_VALUES];
} seer_gen_slot;

typedef struct {
  uint32_t store;  // node; 0: there are none
  bool is_partial;  // lanes hold partial results, combined after the loops
  uint32_t n_loop;
  uint32_t loop[32];  // the loops on the way to the store that tell slots apart
  uint32_t n;
  seer_gen_slot slot[SEER_GEN_MAX_SLOTS];
} seer_gen_accumulators;

// Statements one after the other whose instructions are to take turns.
#define SEER_GEN_TURNS 4
typedef struct {
  uint32_t n;  // statements so far
  seer_vec mark[SEER_GEN_TURNS];  // where each of them begins
} seer_gen_turns;

// A reduction by products of matrices.
typedef struct {
  seer_tile_matrix of;
  uint32_t n_x, n_y;  // matrices of rows, of columns
  int64_t rows, columns, depth;  // of each
  seer_vec held[SEER_VEC_MATRICES];  // by register: the pointer that it was loaded from
} seer_gen_matrix;

// Multiples of an innermost loop's counter that are counted up beside it (LLVM's own strength
// reduction is off: it took half of the time of code generation and gave the same loops).
#define SEER_GEN_MAX_STRIDES 6
typedef struct {
  uint32_t loop;  // 0: not in an innermost loop
  seer_vec i;
  uint32_t n;
  struct {
    seer_vec value;
    int64_t step;
  } stride[SEER_GEN_MAX_STRIDES];
} seer_gen_counter;

// A loop whose body is being emitted.
typedef struct {
  uint32_t node;
  uint32_t var;
  uint32_t nth;  // of all that were opened
  int64_t trip;  // at most so many iterations
  bool is_copies;  // one copy of the body per value; else it stays a loop (or numbers the parts)
  bool is_cut;  // some of its copies may not be meant
  uint32_t depth;  // of run-time loops around it
} seer_gen_open;

// A variable of THREAD loops: item / divisor, of `extent` values.
#define SEER_GEN_MAX_ITEM_VARS 64
typedef struct {
  int64_t divisor, extent;
  seer_vec value;
} seer_gen_item_var;

typedef struct seer_gen_memo seer_gen_memo;

typedef struct {
  const seer_loop *loop;
  seer_arena *arena;
  seer_status status;  // first failure
  const seer_gen_machine *machine;
  seer_vec_code *code;
  seer_vec_builder *b;
  seer_vec scratch;
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
  uint32_t n_vector;  // that the loop of the lanes is cut into here
  uint32_t outer_lanes;  // VECTOR node whose vectors are a run-time loop further out; 0: none
  seer_vec outer_first;  // its first lane now
  seer_vec lane_mask;  // i1 lanes, NONE: all
  bool is_in_sum;  // the value of a sum over an axis is being built
  uint32_t n_open;
  seer_gen_open open[SEER_GEN_MAX_OPEN];  // outermost first
  uint32_t n_opened;  // so far
  uint32_t n_pred;
  seer_gen_pred pred[SEER_GEN_MAX_PREDS];
  bool in_version, is_general;
  seer_gen_accumulators *accumulators;
  seer_vec_shapes shapes;  // of registers outside of reductions; zeros: none
  uint32_t cleared;  // the loop whose reduction's sums begin at 0, set nowhere else; 0: none
  seer_gen_turns *turns;  // of what is being emitted; NULL: none
  seer_gen_matrix *matrix;  // whose reduction is being emitted; NULL: none
  // Items of a block, 0: there are none; variables that were made of their number.
  int64_t n_items;
  seer_vec item;
  uint32_t n_item_var;
  seer_gen_item_var item_var[SEER_GEN_MAX_ITEM_VARS];
  bool in_nest;
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

// ---- value.c
seer_vec_elem seer_gen_elem(seer_dtype dtype);  // of values
seer_vec_elem seer_gen_memory_elem(seer_dtype dtype);  // in memory
static inline uint32_t seer_gen_width(const seer_gen *g, seer_vec v) {
  return seer_vec_at(g->code, v)->lanes;
}
// Scoped value numbering: what was built in a scope that is still open is used again.
void seer_gen_memo_init(seer_gen *g);
void seer_gen_memo_push(seer_gen *g);
void seer_gen_memo_pop(seer_gen *g);
seer_vec seer_gen_memo_find(seer_gen *g, uint32_t tag, seer_vec a, seer_vec b, int64_t c);
void seer_gen_memo_add(seer_gen *g, uint32_t tag, seer_vec a, seer_vec b, int64_t c, seer_vec v);
seer_vec seer_gen_splat(seer_gen *g, seer_vec scalar, uint32_t lanes);
seer_vec seer_gen_widen(seer_gen *g, seer_gen_value v);  // to the current lanes
seer_vec seer_gen_and(seer_gen *g, seer_vec a, seer_vec b);  // NONE = true
seer_vec seer_gen_const_i64(seer_gen *g, int64_t v);
// A constant of the type and the lanes of `like`.
seer_vec seer_gen_int_like(seer_gen *g, seer_vec like, int64_t c);
seer_vec seer_gen_real_like(seer_gen *g, seer_vec like, double c);
seer_vec seer_gen_select(seer_gen *g, seer_vec cond, seer_vec a, seer_vec b);
// The lesser or the greater; NaN where one is.
seer_vec seer_gen_float_extreme(seer_gen *g, bool is_max, seer_vec a, seer_vec b);
bool seer_gen_const_bool(const seer_gen *g, seer_vec v, bool *out);  // v is a constant i1
// i1 lanes: lane < limit (i64).
seer_vec seer_gen_lanes_below(seer_gen *g, seer_vec limit);
seer_vec seer_gen_mul_i64(seer_gen *g, seer_vec a, int64_t b);
// A pointer, by so many elements of type `elem`.
seer_vec seer_gen_move(seer_gen *g, seer_vec_elem elem, seer_vec p, seer_vec index);
seer_vec seer_gen_move_by(seer_gen *g, seer_vec_elem elem, seer_vec p, int64_t index);
// Atoms of sums are run-time values, and HULL variables by their numbers.
static inline uint64_t seer_gen_atom_of(seer_vec v) { return (uint64_t)v.i << 32; }
// NONE: a HULL variable.
static inline seer_vec seer_gen_value_of(const seer_sum_term *term) {
  return (seer_vec){(uint32_t)(term->atom >> 32)};
}
// i64; the term's atom is a run-time value.
seer_vec seer_gen_term_value(seer_gen *g, const seer_sum_term *term, int64_t scale);
seer_vec seer_gen_sum_value(seer_gen *g, const seer_sum *x);  // of lane 0, i64
seer_gen_value seer_gen_sum_lanes(seer_gen *g, const seer_sum *x);

// ---- math/: each function states its error.
seer_vec seer_gen_math(seer_gen *g, seer_expr_op op, seer_vec x);
// math/pieces.c: erf of |x|, where the machine has picks.
seer_vec seer_gen_erf_by_pieces(seer_gen *g, seer_vec x);
seer_vec seer_gen_math_f64(seer_gen *g, seer_expr_op op, seer_vec x);
typedef enum { SEER_GEN_FLOOR, SEER_GEN_CEIL, SEER_GEN_TRUNC, SEER_GEN_EVEN } seer_gen_rounding;
// To an integer, f32 and f64, exactly as the instruction does it, the sign of zero too.
seer_vec seer_gen_round(seer_gen *g, seer_gen_rounding how, seer_vec x);
seer_vec seer_gen_math_pow(seer_gen *g, seer_vec x, seer_vec y);

// ---- far.c
// Where |x| is above `limit`, f32 or f64: *rest is x less its nearest multiple of pi / 2, and that
// multiple the lower two bits of *quadrant (integers as wide as x); elsewhere both stay.
void seer_gen_far_angle(seer_gen *g, seer_vec x, double limit, seer_vec *rest, seer_vec *quadrant);
seer_vec seer_gen_fmod(seer_gen *g, seer_vec x, seer_vec y);  // C's, exact

// ---- small.c: between what is computed with and what lies in memory.
seer_vec seer_gen_to_memory(seer_gen *g, seer_dtype dtype, seer_vec v);
seer_vec seer_gen_from_memory(seer_gen *g, seer_dtype dtype, seer_vec v);
seer_vec seer_gen_tf32(seer_gen *g, seer_vec f);  // an f32 rounded to TF32 (dag/scalar.h)
// As to_memory; of a number of `dtype`, a float narrower than f32, that v is known to be, those
// that it was widened from: rounding is not done twice.
seer_vec seer_gen_bits(seer_gen *g, seer_dtype dtype, seer_vec v);
// The low bits of i8 lanes as an integer of fewer than 8 bits in an i8.
seer_vec seer_gen_wrap_small(seer_gen *g, seer_dtype dtype, seer_vec v);

// ---- cast.c
// v, of type `from`, as `to`. Floats become integers towards zero, saturating; NaN is 0.
seer_vec seer_gen_cast(seer_gen *g, seer_dtype to, seer_dtype from, seer_vec v);

// ---- operator.c
seer_vec seer_gen_const(seer_gen *g, seer_dtype dtype, seer_scalar value, uint32_t lanes);
seer_vec seer_gen_compare(seer_gen *g, seer_expr_op op, seer_dtype dtype, seer_vec a, seer_vec b);
// Operands that `op` does not have: NONE.
seer_vec seer_gen_apply(seer_gen *g, seer_expr_op op, seer_dtype dtype, seer_dtype arg_dtype,
    seer_vec a, seer_vec b, seer_vec c);
// acc (f32) + the products of the two f16 in the words (i32) of a and b, one multiply-add each: no
// instruction does more of it for a sum in f32.
seer_vec seer_gen_dot2_f16(seer_gen *g, seer_vec a, seer_vec b, seer_vec acc);
// acc[k] = combine(acc[k], value[k]); all of equal width.
void seer_gen_combine(seer_gen *g, seer_combiner combiner, const seer_dtype *dtype, uint32_t n,
    seer_vec *acc, const seer_vec *value);
seer_vec seer_gen_identity(
    seer_gen *g, seer_combiner combiner, const seer_dtype *dtype, uint32_t k, uint32_t lanes);

// ---- ../access/
typedef struct {
  uint32_t buf;
  bool is_regular;  // `at` holds; else `lanes` has one i64 element offset per lane
  bool is_inside;  // every dimension's index is inside the buffer whatever the variables are
  const seer_expr *index;  // what it is the place of
  seer_sum at;
  seer_vec lanes;
} seer_gen_addr;
// What must hold for an access to be meant.
typedef struct {
  seer_vec uniform, mask;  // i1, and one for each lane; NONE: true
  uint32_t depth;  // of the innermost loop at run time that `uniform` depends on
  bool is_guarded;  // what is meant may differ between copies, though it is known in each of them
} seer_gen_condition;
// The address is inside the buffer's memory whatever the run-time values are.
bool seer_gen_is_safe(const seer_gen *g, const seer_gen_addr *addr);
// A LOCAL buffer in registers. What conditions exclude is read as it is, or 0.
seer_gen_value seer_gen_read_register(seer_gen *g, const seer_gen_addr *addr);
// Another buffer; `c` has a mask only where lanes have addresses of their own. What it excludes is
// `fill` (a constant; NONE: anything).
//   out_pointer  of a whole row of lanes, NONE: it was something else
seer_gen_value seer_gen_read(seer_gen *g, const seer_gen_addr *addr, const seer_gen_condition *c,
    seer_vec fill, seer_vec *out_pointer);
// As seer_gen_read: the four bytes, or two halves, from a regular address on as an i32, `fill` each
// where `c` excludes them. False: a mask that there is no instruction for, or lanes that run
// backwards.
bool seer_gen_read_word(seer_gen *g, const seer_gen_addr *addr, const seer_gen_condition *c,
    uint16_t fill, seer_gen_value *out);
// Of the table of 256 bytes that the whole buffer is: those that `number` (i8) names.
seer_vec seer_gen_read_table(seer_gen *g, uint32_t buf, seer_vec number);
// The word whose parts, of so many bytes, are all `part`.
uint64_t seer_gen_word_of(uint64_t part, uint32_t part_bytes);
// For targets of stores: `uniform` and `mask` say what may be touched; NONE: all.
seer_gen_value seer_gen_load_target(
    seer_gen *g, const seer_gen_addr *addr, seer_vec uniform, seer_vec mask);
void seer_gen_store_target(
    seer_gen *g, const seer_gen_addr *addr, seer_gen_value value, seer_vec uniform, seer_vec mask);

// ../access/wide.c: of a block program's code, accesses to neighbours as one of several lanes.
void seer_gen_join_accesses(seer_vec_code *code);
// ../access/copies.c: and what is stored into LATE memory as it was loaded is copied.
void seer_gen_make_copies(seer_vec_code *code);

// The address of an item's element of a PRIVATE buffer: what its item says goes.
void seer_gen_own_address(seer_gen *g, seer_gen_addr *addr);

// Rows that are `stride` bytes apart, from a regular address on.
seer_vec seer_gen_matrix_pointer(seer_gen *g, const seer_gen_addr *addr);
void seer_gen_load_matrix(seer_gen *g, const seer_gen_addr *addr, uint32_t matrix, int64_t stride);
void seer_gen_store_matrix(seer_gen *g, const seer_gen_addr *addr, uint32_t matrix, int64_t stride);

// After a load of one of packed weights that do not stay in a core's cache: asks for one that is
// needed later.
void seer_gen_request_matrix(seer_gen *g, const seer_gen_addr *addr, int64_t rows, int64_t stride);

// After a load of a vector at pointer `p`: asks for what loads of the same stream need later, where
// that is worth an instruction.
void seer_gen_prefetch(
    seer_gen *g, const seer_expr *index, uint32_t n_index, const seer_gen_addr *addr, seer_vec p);

// ---- expr.c
// False when `e` is not linear in the lanes (or unknown while versions are decided).
bool seer_gen_sum_of(seer_gen *g, seer_expr e, seer_sum *out);
// innermost run-time loop that it depends on
uint32_t seer_gen_expr_depth(const seer_gen *g, seer_expr e);
void seer_gen_address(
    seer_gen *g, uint32_t buf, const seer_expr *index, uint32_t n_index, seer_gen_addr *out);
seer_gen_value seer_gen_expr(seer_gen *g, seer_expr e);
bool seer_gen_is_true(seer_gen *g, seer_expr predicate);

// ---- copies.c
bool seer_gen_cuts(const seer_gen *g, uint32_t node);  // the bound has to be looked at
seer_tile_mode seer_gen_mode_of(const seer_gen *g, uint32_t node);  // in the current version
void seer_gen_bind_var(seer_gen *g, uint32_t var, seer_gen_bind kind, int64_t c, seer_vec value);
void seer_gen_open_loop(seer_gen *g, uint32_t node, int64_t trip, bool is_copies);
// What takes turns so far does; before a block begins or ends.
void seer_gen_end_turns(seer_gen *g);
void seer_gen_fence(seer_gen *g);  // loads after it are not merged with loads before it
// An open `for (i = 0; i < trips; i++)`.
typedef struct {
  seer_vec i;
  seer_gen_counter outer;
} seer_gen_open_run;
seer_gen_open_run seer_gen_begin_loop(
    seer_gen *g, seer_vec trips, bool may_be_empty, bool is_innermost);
void seer_gen_end_loop(seer_gen *g, const seer_gen_open_run *loop);
// Binds the loop's variable to each copy or chunk of lanes in turn (with predicates and masks) and
// calls `each`.
void seer_gen_for_copies(seer_gen *g, uint32_t node, void (*each)(void *user), void *user);

// ---- accumulators.c
// What the current copy's store may touch: for memory, and (reduce_*) what concerns only loops that
// are not in the address.
typedef struct {
  seer_vec uniform, mask;  // of all enclosing copies
  // of those whose variable the address does not depend on
  seer_vec reduce_uniform, reduce_mask;
} seer_gen_active;
void seer_gen_active_of(
    seer_gen *g, const seer_loop_node *store, bool is_lane_in_address, seer_gen_active *out);
// acc[k] = combine(acc[k], the store's value k), over `lanes` lanes, where `cond` (i1, or one per
// lane, or NONE: always) holds. SUM of a product becomes one multiply-add.
void seer_gen_accumulate(
    seer_gen *g, const seer_loop_node *store, uint32_t lanes, seer_vec cond, seer_vec *acc);
// Combines the lanes of acc[] into scalars.
void seer_gen_horizontal(
    seer_gen *g, seer_combiner combiner, const seer_dtype *dtype, uint32_t n, seer_vec *acc);

// Starts keeping the targets of the reduction below `root` (a FOR) in registers; false if it cannot
// be done.
bool seer_gen_accumulators_begin(seer_gen *g, uint32_t root);
void seer_gen_accumulators_end(seer_gen *g, uint32_t root);  // writes them back
// Combines the store's values into the accumulators of the current copy.
void seer_gen_accumulators_update(seer_gen *g, const seer_loop_node *store,
    const seer_gen_addr *addr, const seer_gen_active *active);

// ---- ../product/matrices.c
void seer_gen_matrix_phase(seer_gen *g, uint32_t id);  // in front of all else: the block `id`
// Whether the loop `init` does nothing but set to 0 what the reduction right behind it, whose
// outermost loop is `root`, sums up in matrices: then it is left out, and they are cleared.
bool seer_gen_matrix_clears(seer_gen *g, uint32_t init, uint32_t root);
// Starts keeping the sums of the reduction that begins with the loop `root` in matrices; false if
// it is none that is made of them in this version.
bool seer_gen_matrix_begin(seer_gen *g, uint32_t root);
void seer_gen_matrix_products(seer_gen *g);  // in place of g->matrix->of.reduce
void seer_gen_matrix_end(seer_gen *g);

// ---- ../product/warps.c
// The loop `id` of tile IR as products of warps, in place of its own code; false: here and now it
// can't be.
bool seer_gen_warps(seer_gen *g, uint32_t id);

// ---- version.c
#define SEER_GEN_MAX_PROVED 256
#define SEER_GEN_MAX_TAILS 2
// Loops with the same bound, which is the extent or more, or else `tail`.
typedef struct {
  seer_sum bound;
  int64_t extent, tail;
  uint32_t n;
  uint32_t node[64];
} seer_gen_tails;
// What a tile is emitted under, apart from the general case.
typedef struct {
  seer_vec all;  // FULL: what its tests come to; NONE: nothing to test
  uint32_t n_node, n_expr;
  uint32_t node[SEER_GEN_MAX_PROVED];  // loops whose bounds never cut in it
  uint32_t expr[SEER_GEN_MAX_PROVED];  // guards that always hold in it
  uint32_t n_tail;
  seer_gen_tails tail[SEER_GEN_MAX_TAILS];
} seer_gen_versions;
// The node `id` (is_alone), or it and all that follow it in its block.
bool seer_gen_needs_versions(seer_gen *g, uint32_t id, bool is_alone);
const seer_gen_versions *seer_gen_find_versions(seer_gen *g, uint32_t id, bool is_alone);
void seer_gen_assume_full(seer_gen *g, const seer_gen_versions *versions, bool is_full);
void seer_gen_assume_trip(seer_gen *g, const seer_gen_tails *tails, bool is_full, int64_t trip);

// ---- items.c
// Whether what is emitted is what all items of a block do alike, outside of nests.
static inline bool seer_gen_is_shared(const seer_gen *g) { return g->n_items > 0 && !g->in_nest; }
// Of a phase: the item's number, and what all nests make of it. Nothing, where it has no items.
void seer_gen_items_begin(seer_gen *g, uint32_t phase);
// The nest at node `id`, for those of its items that are not cut off.
typedef struct {
  uint32_t body, n_loop, n_when;
} seer_gen_open_nest;
seer_gen_open_nest seer_gen_begin_nest(seer_gen *g, uint32_t id);
void seer_gen_end_nest(seer_gen *g, const seer_gen_open_nest *nest);

// ---- loop.c
void seer_gen_block(seer_gen *g, uint32_t id);

#endif
