// sum.h - integer expressions of the loop IR as sums c + lane * l + sum coef * atom, l being the
// lane of the vector that is spoken of. What atoms stand for is the reader's affair: values that a
// program has at run time, or loop variables of which only the range is known. Sums that differ by
// nothing but constants are what copies of one statement come to, so a reader decides with them
// what all copies have in common. (Why this is not a seer_linear: doc/decisions, 44.)
//
// Division and modulus: x = d*A + r, where A takes the terms whose coefficients d divides. When r
// is within [0, d) for every lane and atom, x/d = A and x%d = r without any arithmetic (this is
// what fused reshapes come down to); otherwise only r is divided, if the reader can.
//
// Threads: all is pure but for the reader's own functions. Errors: none; false where there is no
// sum.
#ifndef SEER_CODE_TILE_SUM_H
#define SEER_CODE_TILE_SUM_H

#include "dag/expr.h"

#define SEER_SUM_MAX_TERMS 16

typedef struct {
  int64_t coef;  // != 0
  uint64_t atom;
  uint32_t depth;  // number of the innermost loop at run time that it depends on; 0: of none
  int64_t low, high;  // of the atom; INT64_MIN / INT64_MAX: unknown
} seer_sum_term;

typedef struct {
  int64_t c, lane;
  uint32_t n;
  seer_sum_term term[SEER_SUM_MAX_TERMS];  // by depth: the outermost loop's first
} seer_sum;

// What a sum is made of, for whoever reads expressions. Each returns false when it can say nothing;
// then there is no sum.
typedef struct {
  const seer_expr_pool *expr;
  uint32_t lanes;  // lane is in [0, lanes)
  void *user;
  // Variable `ref`.
  bool (*variable)(void *user, uint32_t ref, seer_sum *out);
  // An expression that is no sum (a load, a product of two variables). NULL: never.
  bool (*other)(void *user, seer_expr e, seer_sum *out);
  // floor(x / d), or x mod d, of a sum without lanes that d divides no part of; [low, high] is x's
  // range if is_known. NULL: never.
  bool (*divide)(void *user, const seer_sum *x, int64_t d, bool is_mod, bool is_known, int64_t low,
      int64_t high, seer_sum *out);
} seer_sum_reader;

static inline seer_sum seer_sum_const(int64_t c) { return (seer_sum){.c = c}; }
static inline seer_sum seer_sum_atom(seer_sum_term term) {
  return (seer_sum){.n = 1, .term = {term}};
}

// e: of type I64. False: no sum, or more than SEER_SUM_MAX_TERMS terms that cannot be one.
bool seer_sum_of(const seer_sum_reader *reader, seer_expr e, seer_sum *out);
// a += scale * b; false when there is no room, and `a` is of no use then.
bool seer_sum_add(seer_sum *a, const seer_sum *b, int64_t scale);
// Range over all lanes and all that its atoms can be; false: unknown.
bool seer_sum_range(const seer_sum *x, uint32_t lanes, int64_t *out_low, int64_t *out_high);

#endif
