// vector_code.h - a loop with a buffer of each kind, for vector code that tests write by hand, and
// that code as text.
#ifndef SEER_TEST_VECTOR_CODE_H
#define SEER_TEST_VECTOR_CODE_H

#include "code/vector/vector.h"

enum { VECTOR_CODE_ELEMS = 64, VECTOR_CODE_PARTS = 4 };

// Buffers of VECTOR_CODE_ELEMS elements: $in, $other (inputs) and $packed of f32, $table, an input
// of i32; outputs $i8, $i16, $i32, $i64, $f32 and $f64; $shared and $local of f32. One phase of
// VECTOR_CODE_PARTS parts.
seer_loop *vector_code_loop(seer_arena *arena);
uint32_t vector_code_buf(const seer_loop *loop, const char *name);
// Inputs hold their index, outputs 0xFF.
void **vector_code_data(const seer_loop *loop, seer_arena *arena);

// `body` inside of the one phase, behind `head` (fills; may be "").
const char *vector_code_text(const char *head, const char *body, seer_arena *arena);
// Fails the test if it is no code.
seer_vec_code *vector_code_parse(const seer_loop *loop, const char *text, seer_arena *arena);

#endif
