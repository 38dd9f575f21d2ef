// lanes.h - what the files of the dialect with vectors share: a type of so many lanes, the patterns
// of helpers on it, and the registers that are as long.
#ifndef SEER_CODE_SOURCE_LANES_H
#define SEER_CODE_SOURCE_LANES_H

#include "code/source/internal.h"

typedef struct {
  seer_vec_elem elem;
  uint32_t lanes, bytes;
  char v[16], half[16], mask[16], mask_half[16], u[16], n[8];
  const char *sign;
  seer_text *text;
} seer_source_vector;

seer_source_vector seer_source_vector_of(seer_text *text, seer_vec_elem elem, uint32_t lanes);
// Puts a pattern. Its words:
//   $V vector     $E its element     $N lanes     $H half a vector
//   $M masks for it: integers of its element's width; $U the same without sign
//   $L, $G        lanes of x: the first half, the second
//   $S            the sign's bit, as an integer of that width
//   $R            a vector of 16 bytes of floats, as <arm_neon.h> has it
void seer_source_put_lanes(const seer_source_vector *x, const char *pattern);
// "fma_f32x8" by halves: op(a, b, ...) of so many arguments.
void seer_source_put_by_halves(const seer_source_vector *x, const char *op, uint32_t n_args);

// Registers of x86: the prefix of what <immintrin.h> has for them, and what tells that a compiler
// has it.
typedef struct {
  uint32_t bytes;
  const char *prefix, *if_simple, *if_fma, *if_rounding;
} seer_source_register;
const seer_source_register *seer_source_register_of(const seer_source_vector *x);  // NULL: none

// ---- c_bytes.c
void seer_source_put_dot_lanes(const seer_source_vector *x);  // of i32
void seer_source_put_lookup_lanes(const seer_source_vector *x);  // of i8
void seer_source_put_dot_halves(const seer_source_vector *x);  // of halves; x is of f32

// ---- c_convert.c
void seer_source_put_conversions(seer_text *text, uint32_t lanes);

#endif
