// linear.h - integer expressions of the loop IR as sums, and a prover of inequalities between them.
// Internal to space: lowering decides with it which clamps and bounds are needed, verify proves
// accesses in bounds. A linear form is constant + sum coef * atom; an atom is a VAR or any other
// expression that is no sum (a division, a minimum, a load): expressions are interned, so equal
// atoms have equal ids.
//
// Threads: all is pure but for the pool that seer_linear_emit and seer_linear_normal add to, and
// the prover, which is one thread's. Errors: none; what does not fit or is not proven is false.
#ifndef SEER_SPACE_LINEAR_H
#define SEER_SPACE_LINEAR_H

#include "space/loop.h"

// False when `e` has too many terms.
bool seer_linear_from(const seer_expr_pool *pool, seer_expr e, seer_linear *out);
// Canonical expression: variables by ascending id (outer first), other atoms, the constant.
seer_expr seer_linear_emit(seer_expr_pool *pool, const seer_linear *x);
// True if every atom is a VAR.
bool seer_linear_is_affine(const seer_expr_pool *pool, const seer_linear *x);
// The canonical form of an integer expression (as it is when it has too many terms).
seer_expr seer_linear_normal(seer_expr_pool *pool, seer_expr e);

// What is known at a place in the loop IR: the loops and LETs that enclose it, and a predicate that
// holds.
#define SEER_PROVER_MAX_FACTS 16
#define SEER_PROVER_MAX_QUOTIENTS 32
#define SEER_PROVER_MAX_CASES 8
typedef struct {
  const seer_loop *loop;
  const uint32_t *def;  // by variable: its FOR or LET node
  const uint32_t *depth;  // by variable: 1 = outermost, 0 = not in scope
  uint32_t n_fact, n_quotient;
  // What facts say of quotients, and loops of what is outside; only tried as they are.
  seer_linear quotient[SEER_PROVER_MAX_QUOTIENTS];
  seer_linear fact[SEER_PROVER_MAX_FACTS];  // each <= 0
  // verify: a proof that is there should be found; else it is one question of many
  bool is_thorough;
  // The prover's own: which ways are in use and would have been, minima and maxima that are taken
  // to be one of theirs.
  bool use_tied, use_pairs, use_cases, keeps_quotients, met_tied, met_pair, met_quotient;
  uint32_t n_case;
  struct {
    seer_expr atom, value;
  } cases[SEER_PROVER_MAX_CASES];
  uint32_t steps_left;  // proofs that take too long are not found
} seer_prover;

// All kept as long as the prover: `def` and `depth` may change, and are read when it is asked.
void seer_prover_init(
    seer_prover *prover, const seer_loop *loop, const uint32_t *def, const uint32_t *depth);
// Adds the affine comparisons of a conjunction (0: nothing). Other parts are ignored.
void seer_prover_assume(seer_prover *prover, seer_expr predicate);
// Adds that the enclosing loops run at all: their bounds are at least 1.
void seer_prover_assume_loops(seer_prover *prover);
// True if x <= 0 for every iteration that reaches this place; false: not proven.
bool seer_prove_not_positive(seer_prover *prover, const seer_linear *x);

#endif
