// signature.h - when two blocks of a phase, or two iterations of a serial loop in it, do the same:
// all that decides on their accesses (indices, guards, bounds, LETs) is taken apart into what is
// fixed there and what goes on inside, and where the fixed part can only matter within limits (a
// bound that cuts nothing), it is clamped to them. Equal signatures: the same accesses, one by one.
//
// Memory: in the arena that is given. Threads: pure.
#ifndef SEER_SPACE_SIGNATURE_H
#define SEER_SPACE_SIGNATURE_H

#include "space/items/reach.h"

typedef struct seer_signature seer_signature;

// Reads a variable-free value of an integer expression.
typedef int64_t seer_signature_value(void *user, seer_expr e);

//   is_fixed  by variable, borrowed: has one value where the signature is asked for
//   roots     expressions, borrowed; extent[k] > 0: of a bound of a loop with that extent
seer_signature *seer_signature_make(const seer_loop *loop, const bool *is_fixed,
    const seer_expr *roots, const int64_t *extent, uint32_t n_roots, seer_arena *arena);
// For the values that fixed variables have now, as `value` says them.
uint64_t seer_signature_now(
    const seer_signature *signature, seer_signature_value *value, void *user);

#endif
