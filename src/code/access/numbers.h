// numbers.h - what is known of the values of a phase: which are equal, what indices and pointers
// are as sums, and which powers of two divide them. Equal values have one number, the first such
// value's; operators of equal values are equal, sums whatever order they were made in, and
// comparisons of sums that come to the same for what divides them: 4x + 3 < 40 and 4x < 40.
//
// Memory: in the arena. Threads: as the code's. The code is read, and may be changed afterwards:
// what is new has no number.
#ifndef SEER_CODE_ACCESS_NUMBERS_H
#define SEER_CODE_ACCESS_NUMBERS_H

#include "code/tile/sum.h"
#include "code/vector/vector.h"

typedef struct seer_numbers seer_numbers;

// Of the instructions of `body` and of the blocks inside. `code` is kept.
seer_numbers *seer_numbers_find(
    const seer_vec_code *code, const seer_vec_block *body, seer_arena *arena);
uint32_t seer_numbers_of(const seer_numbers *numbers, seer_vec v);
// Of an i64 or a pointer, of one lane; a pointer's is in bytes, its buffer an atom. Atoms are
// numbers.
seer_sum seer_numbers_sum(const seer_numbers *numbers, seer_vec v);
// The largest power of two, up to 2^20, that is known to divide all values of the sum.
uint64_t seer_numbers_divisor(const seer_numbers *numbers, const seer_sum *x);
// Whether two sums differ by nothing but their constants.
bool seer_numbers_is_apart(const seer_sum *x, const seer_sum *y);

#endif
