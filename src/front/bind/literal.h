// literal.h - small tensors as people write them: 3, -1.5e3, true, [1, 2], [[1, 2], [3, 4]].
// Pure but for the arena: safe from any thread.
#ifndef SEER_FRONT_BIND_LITERAL_H
#define SEER_FRONT_BIND_LITERAL_H

#include "front/graph.h"

// `text` can only be meant as a literal: it begins with [, or is one number, or true or false.
bool seer_literal_is_meant(const char *text);

// Lists nest as deep as the tensor has dimensions; integers are decimal, floats may be inf and nan,
// bool is true, false, 1 or 0.
//   out_tensor  of `dtype`; data in `arena`
// Errors: INVALID quotes the text, says where in it, what was found and what is allowed: a number
// that the type cannot have, lists of several lengths, more dimensions than tensors have.
SEER_MUST_USE seer_status seer_literal_parse(
    const char *text, seer_dtype dtype, seer_arena *arena, seer_tensor *out_tensor);

// The text that parses to the same tensor, in `arena`; NULL where it would have more than
// `max_elems` numbers, or there is none (a shape such as [0,3]).
const char *seer_literal_print(const seer_tensor *tensor, int64_t max_elems, seer_arena *arena);

#endif
