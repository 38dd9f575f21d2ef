// kinds.h - what --precision is about: what operands of products are rounded to.
// Threads: any; the table is constant.
#ifndef SEER_FRONT_WIDTH_KINDS_H
#define SEER_FRONT_WIDTH_KINDS_H

#include "setup/target.h"

// F32: to nothing. TF32: in the product itself, and as far as tensor cores can multiply it (front:
// pass "precision"); its numbers lie in memory as f32.
typedef enum {
  SEER_PRECISION_F32,
  SEER_PRECISION_BF16,
  SEER_PRECISION_F16,
  SEER_PRECISION_TF32,
  SEER_PRECISION_COUNT
} seer_precision;

const char *seer_precision_name(seer_precision precision);  // "tf32"
bool seer_precision_parse(const char *name, seer_precision *out);
// Digits behind the first one that an operand keeps; 0: all.
uint32_t seer_precision_digits(seer_precision precision);
// Whether code for the target may have it: all may but TF32, which is CUDA's from sm_80 on.
bool seer_precision_is_of(seer_precision precision, const seer_target *target);
// UNSUPPORTED, with the target's name and what it may have, unless it is.
SEER_MUST_USE seer_status seer_precision_check(seer_precision precision, const seer_target *target);

#endif
