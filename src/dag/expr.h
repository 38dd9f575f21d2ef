// expr.h - scalar expressions over loads, shared by the DAG (leaves are axes) and the loop IR
// (leaves are loop variables). Nodes are 32-bit ids into a pool; 0 is "none".
// Builders fold constants and drop neutral elements of integer arithmetic (x+0, x*1, x*0, x/1,
// x%1), and fold float constants; integer constants move to the right and merge ((x+1)+2 is x+3;
// x-1 is x + -1); they never reorder float arithmetic. What one operator computes is scalar.h.
//
// Memory: a pool grows in its arena; what seer_expr_at returns is good until the next expression is
// added, ids are for ever. Threads: one adds, or any number read.
#ifndef SEER_DAG_EXPR_H
#define SEER_DAG_EXPR_H

#include "base/arena.h"
#include "dag/dtype.h"

typedef struct {
  uint32_t i;
} seer_expr;  // 0 = none

typedef enum {
  SEER_EXPR_NONE,
  SEER_EXPR_CONST_F,  // value.f
  SEER_EXPR_CONST_I,  // value.i (integers and BOOL)
  SEER_EXPR_VAR,  // ref: axis id in a DAG, variable id in loop IR; dtype I64
  // ref: buffer id; indices; guarded: arg[0] predicate (0 = plain), arg[1] value if false
  SEER_EXPR_LOAD,
#define SEER_SCALAR(ID, text, arity, class, cost) SEER_EXPR_##ID,
#include "dag/scalar.inc"
#undef SEER_SCALAR
  SEER_EXPR_COUNT
} seer_expr_op;

#define SEER_MAX_RANK 12

typedef struct {
  uint8_t op;  // seer_expr_op
  uint8_t dtype;  // seer_dtype of the result
  uint8_t n_index;
  seer_expr arg[3];
  uint32_t ref;
  uint32_t index0;  // LOAD: n_index expressions from pool->index[index0]
  union {
    double f;
    int64_t i;
  } value;
} seer_expr_node;

typedef struct {
  seer_arena *arena;
  seer_expr_node *node;  // node[0] is unused
  size_t n, cap;
  seer_expr *index;
  size_t n_index, cap_index;
  // equal nodes are one node: a == b iff a.i == b.i. Nodes are never changed in place.
  uint32_t *bucket;
  size_t n_bucket;
} seer_expr_pool;

void seer_expr_pool_init(seer_expr_pool *pool, seer_arena *arena);  // `arena` kept
static inline const seer_expr_node *seer_expr_at(const seer_expr_pool *pool, seer_expr e) {
  return &pool->node[e.i];
}
static inline seer_expr seer_expr_index(const seer_expr_pool *pool, seer_expr load, uint32_t k) {
  return pool->index[pool->node[load.i].index0 + k];
}

seer_expr seer_expr_f(seer_expr_pool *pool, seer_dtype dtype, double value);
seer_expr seer_expr_i(seer_expr_pool *pool, int64_t value);  // I64
// any integer type, BOOL
seer_expr seer_expr_int(seer_expr_pool *pool, seer_dtype dtype, int64_t value);
// a constant of any type
seer_expr seer_expr_scalar(seer_expr_pool *pool, seer_dtype dtype, seer_scalar value);
seer_expr seer_expr_var(seer_expr_pool *pool, uint32_t ref);  // I64
seer_expr seer_expr_load(
    seer_expr_pool *pool, seer_dtype dtype, uint32_t buffer, const seer_expr *index, uint32_t n);
seer_expr seer_expr_load_guarded(seer_expr_pool *pool, seer_dtype dtype, uint32_t buffer,
    const seer_expr *index, uint32_t n, seer_expr predicate, seer_expr otherwise);
seer_expr seer_expr_unary(seer_expr_pool *pool, seer_expr_op op, seer_expr a);
// equal dtypes
seer_expr seer_expr_binary(seer_expr_pool *pool, seer_expr_op op, seer_expr a, seer_expr b);
seer_expr seer_expr_select(
    seer_expr_pool *pool, seer_expr cond, seer_expr then, seer_expr otherwise);
// A narrow float that was widened, cast back, is itself. A rounded f32 that was made a byte, cast
// back, is that number between the byte's ends: it stays in f32.
seer_expr seer_expr_cast(seer_expr_pool *pool, seer_dtype dtype, seer_expr a);
uint32_t seer_expr_arity(seer_expr_op op);
// The type that an operator on one or two operands of type `of` has (not CAST).
seer_dtype seer_expr_op_gives(seer_expr_op op, seer_dtype of);
// Whether it is there for floats narrower than f32: it rounds nothing.
bool seer_expr_op_is_of_stored(seer_expr_op op);
// What an operator takes; NOTHING: constants, variables, loads.
typedef enum {
  SEER_COST_NOTHING,
  SEER_COST_SUM,
  SEER_COST_PRODUCT,
  SEER_COST_QUOTIENT,
  SEER_COST_CHOICE,
  SEER_COST_SERIES
} seer_expr_cost;
seer_expr_cost seer_expr_op_cost(seer_expr_op op);
const char *seer_expr_op_text(seer_expr_op op);

// Copies `e` of pool `from` into `to`, replacing VAR v by var_map[v] (an expression of `to`; 0:
// keep VAR v) and LOAD buffers through on_load, which builds the replacement from the already
// copied indices, predicate and otherwise value (on_load NULL: same buffer id).
typedef seer_expr (*seer_expr_on_load)(void *user, seer_expr_pool *to, const seer_expr_node *load,
    const seer_expr *index, seer_expr predicate, seer_expr otherwise);
seer_expr seer_expr_copy(seer_expr_pool *to, const seer_expr_pool *from, seer_expr e,
    const seer_expr *var_map, size_t n_var_map, seer_expr_on_load on_load, void *user);

// Of words of two floats, whose products' sum is an f32.
static inline bool seer_expr_is_dot2(seer_expr_op op) {
  return op == SEER_EXPR_DOT2 || op == SEER_EXPR_DOT2_F16;
}

// ---- neighbours in memory as a word of 32 bits: DOT4 and DOT2 take words, memory has bytes and
// halves. What is matched here is one load where code is made, and no work where work is counted.
#define SEER_WORD_MAX_PARTS 4
// How many a word has of the type of `part`: 4 of u8 or i8, 2 of f16 or bf16; 0 of others.
uint32_t seer_expr_word_parts(const seer_expr_pool *pool, seer_expr part);
// part[0] | part[1] << 8 (or 16) | ..., i32: the bits of as many as make a word, of one type.
seer_expr seer_expr_word(seer_expr_pool *pool, const seer_expr *part);

// Whether `e` is a word as made above of loads from one buffer under one guard (or none), with one
// value where it does not hold: those loads, and how many. Whether they are neighbours is for the
// caller to see.
bool seer_expr_is_word(
    const seer_expr_pool *pool, seer_expr e, seer_expr *out_load, uint32_t *out_n);
// Whether they are, by indices that are sums of variables: one load. *out_first: of the lowest
// part.
bool seer_expr_is_word_load(const seer_expr_pool *pool, seer_expr e, seer_expr *out_first);

// ---- analysis of integer expressions
#define SEER_LINEAR_MAX_TERMS 32
// constant + sum coef * key. What a key is, whoever makes the sum says: a variable, or an
// expression of the pool (space/loop/linear.h).
typedef struct {
  int64_t constant;
  uint32_t n;
  struct {
    union {
      uint32_t key;
      uint32_t var;
      seer_expr atom;
    };
    // != 0, and below 2^56 in magnitude: negating one and adding two cannot overflow
    int64_t coef;
  } term[SEER_LINEAR_MAX_TERMS];  // by ascending key
} seer_linear;
typedef seer_linear seer_affine;  // all keys are variables

// False where there is no room, or a number becomes too large; `out` is of no use then.
bool seer_linear_add_term(seer_linear *out, seer_expr atom, int64_t coef);
bool seer_linear_add(seer_linear *out, const seer_linear *x, int64_t scale);  // out += scale * x
// The coefficient of a key; 0: it is none of x's.
int64_t seer_linear_coef(const seer_linear *x, uint32_t key);
// x = c * whole + rest, c > 0: in the whole go the terms that c divides, and floor(constant / c).
void seer_linear_part(const seer_linear *x, int64_t c, seer_linear *whole, seer_linear *rest);

// True if `e` is constant + sum coef*var; else false. Floor div/mod are not affine (unless they
// fold away).
bool seer_expr_affine(const seer_expr_pool *pool, seer_expr e, seer_affine *out_affine);
// Bounds of an integer (or BOOL) expression when var v lies in [low[v], high[v]]; false if unknown
// (a load).
bool seer_expr_range(const seer_expr_pool *pool, seer_expr e, const int64_t *low,
    const int64_t *high, int64_t *out_low, int64_t *out_high);
// As seer_expr_range, knowing that `predicate` holds (0: nothing known): its conjunction of affine
// comparisons tightens the bounds. *out_low > *out_high where the predicate can never hold.
bool seer_expr_range_given(const seer_expr_pool *pool, seer_expr e, const int64_t *low,
    const int64_t *high, seer_expr predicate, int64_t *out_low, int64_t *out_high);
// For tests.
bool seer_expr_uses_var(const seer_expr_pool *pool, seer_expr e, uint32_t var);
// Calls visit(user, node id) for `e` and everything below it, parents first; shared nodes may be
// seen again.
void seer_expr_visit(
    const seer_expr_pool *pool, seer_expr e, void (*visit)(void *user, seer_expr e), void *user);

#endif
