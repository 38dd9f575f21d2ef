// cast.c - from type to type, lane by lane.
//
// Floats become integers in three steps: brought between the integer's ends as floats, converted,
// cut to the integer's width. Conversions of vectors are an instruction for what fits, and for the
// rest nothing that machines agree on; saturating ones LLVM 19 takes apart into lanes (1M elements
// as u8: 1.0 ms, where this takes 0.1).
#include <math.h>

#include "code/gen/gen.h"

static seer_vec_elem elem_of(const seer_gen *g, seer_vec v) {
  return (seer_vec_elem)seer_vec_at(g->code, v)->elem;
}

// Of v and a number, the one that `op` (FGT, FLT) says; of NaN the number.
static seer_vec limit(seer_gen *g, seer_vec_op op, seer_vec v, double number) {
  seer_vec end = seer_gen_real_like(g, v, number);
  return seer_vec_select(g->b, seer_vec2(g->b, op, v, end), v, end);
}

// Without NaN, which is 0: unsigned that is the lowest.
static seer_vec above_lowest(seer_gen *g, bool is_signed, double lowest, seer_vec v) {
  if (!is_signed) return limit(g, SEER_VEC_FGT, v, 0);
  seer_vec zero = seer_gen_real_like(g, v, 0);
  v = seer_vec_select(g->b, seer_vec2(g->b, SEER_VEC_FNAN, v, v), zero, v);
  return limit(g, SEER_VEC_FGT, v, lowest);
}

// Below 32 bits by way of i32, which holds them all, with and without sign.
static seer_vec float_to_integer(seer_gen *g, seer_dtype to, seer_vec v) {
  seer_vec_elem elem = seer_gen_elem(to);
  bool is_signed = seer_dtype_is_signed(to), is_narrow = seer_vec_elem_bits[elem] < 32;
  int n = (int)seer_dtype_bits(to) - is_signed, places = elem_of(g, v) == SEER_VEC_F32 ? 24 : 53;
  double beyond = ldexp(1.0, n);  // the least number that is too large
  bool has_highest = n <= places;  // else the greatest float below is less than the highest integer
  double greatest = beyond - (has_highest ? 1 : ldexp(1.0, n - places));
  seer_vec x = above_lowest(g, is_signed, -beyond, v);
  x = limit(g, SEER_VEC_FLT, x, greatest);
  seer_vec_op op = is_signed || is_narrow ? SEER_VEC_FLOAT_SINT : SEER_VEC_FLOAT_UINT;
  x = seer_vec_to(g->b, op, x, is_narrow ? SEER_VEC_I32 : elem);
  if (is_narrow) return seer_vec_to(g->b, SEER_VEC_TRUNC, x, elem);
  if (has_highest) return x;
  seer_vec is_beyond = seer_vec2(g->b, SEER_VEC_FGE, v, seer_gen_real_like(g, v, beyond));
  return seer_vec_select(g->b, is_beyond, seer_gen_int_like(g, x, seer_scalar_highest(to).i), x);
}

static seer_vec float_to_float(seer_gen *g, seer_dtype to, seer_dtype from, seer_vec v) {
  seer_vec_elem type = seer_gen_elem(to);
  if (!seer_dtype_format(to)) {
    return to == SEER_DTYPE_F64 ? seer_vec_to(g->b, SEER_VEC_FLOAT_WIDER, v, type)
                                : seer_vec_to(g->b, SEER_VEC_FLOAT_SHORTER, v, type);
  }
  if (from == to) return v;
  if (from == SEER_DTYPE_F64) v = seer_vec_to(g->b, SEER_VEC_FLOAT_SHORTER, v, type);
  return seer_gen_from_memory(g, to, seer_gen_to_memory(g, to, v));
}

static seer_vec integer_to_float(seer_gen *g, seer_dtype to, bool is_signed, seer_vec v) {
  seer_vec_op op = is_signed ? SEER_VEC_SINT_FLOAT : SEER_VEC_UINT_FLOAT;
  v = seer_vec_to(g->b, op, v, seer_gen_elem(to));
  return seer_dtype_format(to) ? seer_gen_from_memory(g, to, seer_gen_to_memory(g, to, v)) : v;
}

static seer_vec integer_to_integer(
    seer_gen *g, seer_dtype to, seer_dtype from, bool is_signed, seer_vec v) {
  seer_vec_elem type = seer_gen_elem(to);
  if (elem_of(g, v) != type) {
    bool is_wider = from == SEER_DTYPE_BOOL || seer_dtype_bytes(to) > seer_dtype_bytes(from);
    v = !is_wider   ? seer_vec_to(g->b, SEER_VEC_TRUNC, v, type)
        : is_signed ? seer_vec_to(g->b, SEER_VEC_SEXT, v, type)
                    : seer_vec_to(g->b, SEER_VEC_ZEXT, v, type);
  }
  return seer_dtype_is_small_int(to) ? seer_gen_wrap_small(g, to, v) : v;
}

seer_vec seer_gen_cast(seer_gen *g, seer_dtype to, seer_dtype from, seer_vec v) {
  bool is_real = seer_dtype_is_float(from);
  bool is_signed = from != SEER_DTYPE_BOOL && seer_dtype_is_signed(from);
  if (seer_dtype_is_float(to))
    return is_real ? float_to_float(g, to, from, v) : integer_to_float(g, to, is_signed, v);
  if (to == SEER_DTYPE_BOOL)
    return seer_vec2(g->b, is_real ? SEER_VEC_FNE_NAN : SEER_VEC_NE, v, seer_gen_int_like(g, v, 0));
  return is_real ? float_to_integer(g, to, v) : integer_to_integer(g, to, from, is_signed, v);
}
