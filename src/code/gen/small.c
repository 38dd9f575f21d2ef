// small.c - between the types that values are computed in and those that lie in memory: floats
// narrower than f32, one-byte truths, integers of a few bits.
#include <math.h>

#include "code/gen/gen.h"

static seer_vec shifted(seer_gen *g, seer_vec v, int by) {  // > 0: left
  seer_vec n = seer_gen_int_like(g, v, by > 0 ? by : -by);
  return by > 0 ? seer_vec2(g->b, SEER_VEC_SHL, v, n) : seer_vec2(g->b, SEER_VEC_LSHR, v, n);
}
static seer_vec masked(seer_gen *g, seer_vec v, uint32_t bits) {
  return seer_vec2(g->b, SEER_VEC_AND, v, seer_gen_int_like(g, v, (int64_t)(int32_t)bits));
}
static seer_vec plus(seer_gen *g, seer_vec v, uint32_t c) {
  return seer_vec2(g->b, SEER_VEC_ADD, v, seer_gen_int_like(g, v, (int64_t)(int32_t)c));
}
static seer_vec bits_of(seer_gen *g, seer_vec f) {
  return seer_vec_to(g->b, SEER_VEC_BITCAST, f, SEER_VEC_I32);
}
static seer_vec float_of(seer_gen *g, seer_vec b) {
  return seer_vec_to(g->b, SEER_VEC_BITCAST, b, SEER_VEC_F32);
}
static seer_vec is_above(seer_gen *g, seer_vec v, uint32_t c) {  // v > c, unsigned
  return seer_vec2(g->b, SEER_VEC_UGT, v, seer_gen_int_like(g, v, (int64_t)(int32_t)c));
}

static seer_vec choose(seer_gen *g, seer_vec cond, uint32_t c, seer_vec otherwise) {
  seer_vec value = seer_gen_int_like(g, otherwise, (int64_t)(int32_t)c);
  return seer_vec_select(g->b, cond, value, otherwise);
}

// A power of two is its exponent; 2^-127 is a denormal number of f32.
static seer_vec power_to_float(seer_gen *g, seer_vec bits) {
  seer_vec w = seer_vec_to(g->b, SEER_VEC_ZEXT, bits, SEER_VEC_I32);
  seer_vec is_least = seer_vec2(g->b, SEER_VEC_EQ, w, seer_gen_int_like(g, w, 0));
  seer_vec r = choose(g, is_least, 0x400000, shifted(g, w, 23));
  return float_of(g, choose(g, is_above(g, w, 254), 0x7FC00000, r));
}

// Half a step added, the exponent is that of the nearer one. Below 2^-126 half a step is another.
static seer_vec float_to_power(seer_gen *g, seer_vec v) {
  seer_vec w = bits_of(g, v);
  seer_vec r = shifted(g, plus(g, w, 0x400000), -23);
  r = choose(g, seer_vec2(g->b, SEER_VEC_ULT, w, seer_gen_int_like(g, w, 0x600000)), 0, r);
  seer_vec is_number = seer_vec2(g->b, SEER_VEC_ULT, plus(g, w, 0u - 0x400000),
      seer_gen_int_like(g, w, 0x7F400000 - 0x400000));
  r = seer_vec_select(g->b, is_number, r, seer_gen_int_like(g, r, 255));
  return seer_vec_to(g->b, SEER_VEC_TRUNC, r, SEER_VEC_I8);
}

// Bits -> f32. Shifted into place they are 2^(bias - 127) of their value, denormals included.
static seer_vec small_to_float(seer_gen *g, const seer_float_format *f, seer_vec bits) {
  if (f->is_power) return power_to_float(g, bits);
  int width = f->exponent_bits + f->mantissa_bits, up = 23 - f->mantissa_bits;
  uint32_t sign = 1u << width;
  seer_vec w = seer_vec_to(g->b, SEER_VEC_ZEXT, bits, SEER_VEC_I32);
  seer_vec magnitude = shifted(g, masked(g, w, sign - 1), up);
  seer_vec scale =
      seer_vec_real(g->b, SEER_VEC_F32, seer_gen_width(g, bits), ldexp(1.0, 127 - f->bias));
  seer_vec r = bits_of(g, seer_vec2(g->b, SEER_VEC_FMUL, float_of(g, magnitude), scale));
  if (f->is_unsigned_zero) {
    seer_vec is_nan = seer_vec2(g->b, SEER_VEC_EQ, w, seer_gen_int_like(g, w, f->nan));
    r = choose(g, is_nan, 0x7FC00000, r);
  } else if (f->overflow == f->largest) {  // all bits are numbers
  } else if (f->overflow == f->nan) {
    r = choose(g, is_above(g, magnitude, (uint32_t)f->largest << up), 0x7FC00000, r);
  } else {  // infinity and NaNs keep their mantissa
    seer_vec special = seer_vec2(g->b, SEER_VEC_OR, magnitude, seer_gen_int_like(g, w, 0x7F800000));
    seer_vec is_special = is_above(g, magnitude, (uint32_t)f->largest << up);
    r = seer_vec_select(g->b, is_special, special, r);
  }
  return float_of(g, seer_vec2(g->b, SEER_VEC_OR, r, shifted(g, masked(g, w, sign), 31 - width)));
}

// f32 -> bits, to nearest even. Below the smallest normal number, adding a power of two whose last
// place is that of the subnormals does the rounding.
static seer_vec float_to_small(seer_gen *g, const seer_float_format *f, seer_vec v) {
  if (f->is_power) return float_to_power(g, v);
  int width = f->exponent_bits + f->mantissa_bits, down = 23 - f->mantissa_bits;
  uint32_t first_normal = (uint32_t)(128 - f->bias) << 23;
  uint32_t round = (1u << (down - 1)) - 1 - ((uint32_t)(127 - f->bias) << 23);
  uint32_t unit_exponent = (uint32_t)(127 + 1 - f->bias - f->mantissa_bits + 23);
  seer_vec w = bits_of(g, v), magnitude = masked(g, w, 0x7FFFFFFF);
  seer_vec unit = float_of(g, seer_gen_int_like(g, w, (int64_t)unit_exponent << 23));
  seer_vec small = seer_vec2(g->b, SEER_VEC_FADD, float_of(g, magnitude), unit);
  small = plus(g, bits_of(g, small), 0u - (unit_exponent << 23));
  seer_vec odd = masked(g, shifted(g, magnitude, -down), 1);
  seer_vec normal =
      shifted(g, seer_vec2(g->b, SEER_VEC_ADD, plus(g, magnitude, round), odd), -down);
  seer_vec r = seer_vec_select(g->b, is_above(g, magnitude, first_normal - 1), normal, small);
  seer_vec sign = masked(g, shifted(g, w, width - 31), 1u << width);
  seer_vec is_beyond = is_above(g, r, f->largest);
  seer_vec is_nan = is_above(g, magnitude, 0x7F800000);
  if (f->is_unsigned_zero) {
    seer_vec is_zero = seer_vec2(g->b, SEER_VEC_EQ, r, seer_gen_int_like(g, r, 0));
    r = choose(g, is_zero, 0, seer_vec2(g->b, SEER_VEC_OR, r, sign));
    r = choose(g, is_nan, f->nan, choose(g, is_beyond, f->overflow, r));
  } else {
    r = choose(g, is_nan, f->nan, choose(g, is_beyond, f->overflow, r));
    r = seer_vec2(g->b, SEER_VEC_OR, r, sign);
  }
  return seer_vec_to(g->b, SEER_VEC_TRUNC, r, width <= 7 ? SEER_VEC_I8 : SEER_VEC_I16);
}

static seer_vec float_to_bf16(seer_gen *g, seer_vec f) {
  seer_vec w = bits_of(g, f), high = shifted(g, w, -16);
  seer_vec rounded =
      shifted(g, seer_vec2(g->b, SEER_VEC_ADD, plus(g, w, 0x7FFF), masked(g, high, 1)), -16);
  seer_vec nan = seer_vec2(g->b, SEER_VEC_OR, high, seer_gen_int_like(g, w, 0x40));
  seer_vec r = seer_vec_select(g->b, seer_vec2(g->b, SEER_VEC_FNAN, f, f), nan, rounded);
  return seer_vec_to(g->b, SEER_VEC_TRUNC, r, SEER_VEC_I16);
}

// Half a step added to the magnitude, which may carry into the exponent, and what is below a step
// cut off. Infinity has no bits there, NaN would become one.
seer_vec seer_gen_tf32(seer_gen *g, seer_vec f) {
  seer_vec rounded = float_of(g, masked(g, plus(g, bits_of(g, f), 0x1000), ~0x1FFFu));
  return seer_vec_select(g->b, seer_vec2(g->b, SEER_VEC_FNAN, f, f), f, rounded);
}

seer_vec seer_gen_to_memory(seer_gen *g, seer_dtype dtype, seer_vec v) {
  const seer_float_format *format = seer_dtype_format(dtype);
  if (dtype == SEER_DTYPE_BOOL) return seer_vec_to(g->b, SEER_VEC_ZEXT, v, SEER_VEC_I8);
  if (dtype == SEER_DTYPE_BF16) return float_to_bf16(g, v);
  if (!format) return v;
  if (dtype != SEER_DTYPE_F16 || !g->machine->has_half) return float_to_small(g, format, v);
  return seer_vec_to(g->b, SEER_VEC_HALF_BITS, v, SEER_VEC_I16);
}

// Where v is a number that was widened from its bits, which is how it came from memory or was
// rounded, they are still at hand.
seer_vec seer_gen_bits(seer_gen *g, seer_dtype dtype, seer_vec v) {
  const seer_vec_node *node = seer_vec_at(g->code, v);
  if (dtype == SEER_DTYPE_F16 && node->op == SEER_VEC_BITS_HALF) return node->arg[0];
  if (dtype == SEER_DTYPE_BF16 && node->op == SEER_VEC_BITCAST) {
    const seer_vec_node *moved = seer_vec_at(g->code, node->arg[0]);
    uint64_t by = 0;
    bool is_high =
        moved->op == SEER_VEC_SHL && seer_vec_const_bits(g->code, moved->arg[1], &by) && by == 16;
    const seer_vec_node *wide = is_high ? seer_vec_at(g->code, moved->arg[0]) : NULL;
    bool is_widened = wide && wide->op == SEER_VEC_ZEXT;
    if (is_widened && seer_vec_at(g->code, wide->arg[0])->elem == SEER_VEC_I16) return wide->arg[0];
  }
  return seer_gen_to_memory(g, dtype, v);
}

seer_vec seer_gen_wrap_small(seer_gen *g, seer_dtype dtype, seer_vec v) {
  int64_t bits = (int64_t)seer_dtype_bits(dtype);
  if (!seer_dtype_is_signed(dtype))
    return seer_vec2(g->b, SEER_VEC_AND, v, seer_gen_int_like(g, v, (1 << bits) - 1));
  seer_vec by = seer_gen_int_like(g, v, 8 - bits);
  return seer_vec2(g->b, SEER_VEC_ASHR, seer_vec2(g->b, SEER_VEC_SHL, v, by), by);
}

seer_vec seer_gen_from_memory(seer_gen *g, seer_dtype dtype, seer_vec v) {
  const seer_float_format *format = seer_dtype_format(dtype);
  if (dtype == SEER_DTYPE_BOOL) return seer_vec2(g->b, SEER_VEC_NE, v, seer_gen_int_like(g, v, 0));
  if (dtype == SEER_DTYPE_BF16)
    return float_of(g, shifted(g, seer_vec_to(g->b, SEER_VEC_ZEXT, v, SEER_VEC_I32), 16));
  // whatever the caller passed
  if (seer_dtype_is_small_int(dtype)) return seer_gen_wrap_small(g, dtype, v);
  if (!format) return v;
  if (dtype != SEER_DTYPE_F16 || !g->machine->has_half) return small_to_float(g, format, v);
  return seer_vec_to(g->b, SEER_VEC_BITS_HALF, v, SEER_VEC_F32);
}
