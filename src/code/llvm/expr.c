// expr.c - expressions -> LLVM values: uniform scalars stay scalars and are spread over the
// lanes only where they meet a vector. Floats narrower than f32 are computed in f32. Integer
// indices go through linear forms (lin.c).
//
// Floating-point: nothing is reordered, and a*b+c is one rounding in two places only: where a
// reduction adds its products up (seer_gen_accumulate), and where the product is exact, which
// changes nothing. Anywhere else it could turn a difference that is zero or more when both sides
// are rounded alike, E[x^2] - E[x]^2, negative. MIN and MAX let NaN through, which costs nothing
// when one side is a constant.
#include <math.h>
#include <string.h>

#include "code/llvm/gen.h"

// ---- types and constants

LLVMTypeRef seer_gen_type(const seer_gen *g, seer_dtype dtype) {
  switch (dtype) {
    case SEER_DTYPE_F32:
    case SEER_DTYPE_F16:
    case SEER_DTYPE_BF16:
    case SEER_DTYPE_F8E4M3FN:
    case SEER_DTYPE_F8E4M3FNUZ:
    case SEER_DTYPE_F8E5M2:
    case SEER_DTYPE_F8E5M2FNUZ:
      return g->f32;
    case SEER_DTYPE_F64:
      return g->f64;
    case SEER_DTYPE_I8:
    case SEER_DTYPE_U8:
    case SEER_DTYPE_I4:  // sign or zeros in the high bits
    case SEER_DTYPE_U4:
      return g->i8;
    case SEER_DTYPE_I16:
    case SEER_DTYPE_U16:
      return g->i16;
    case SEER_DTYPE_I32:
    case SEER_DTYPE_U32:
      return g->i32;
    case SEER_DTYPE_I64:
    case SEER_DTYPE_U64:
      return g->i64;
    case SEER_DTYPE_BOOL:
      return g->i1;
    case SEER_DTYPE_NONE:
    case SEER_DTYPE_COUNT:
      break;
  }
  SEER_ASSERT(false, "dtype %d", (int)dtype);
}

LLVMTypeRef seer_gen_memory_type(const seer_gen *g, seer_dtype dtype) {
  if (seer_dtype_format(dtype)) return seer_dtype_bytes(dtype) == 1 ? g->i8 : g->i16;
  return dtype == SEER_DTYPE_BOOL ? g->i8 : seer_gen_type(g, dtype);
}

LLVMTypeRef seer_gen_lanes_type(LLVMTypeRef elem, uint32_t lanes) {
  return lanes == 1 ? elem : LLVMVectorType(elem, lanes);
}

uint32_t seer_gen_width(LLVMValueRef v) {
  LLVMTypeRef type = LLVMTypeOf(v);
  return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetVectorSize(type) : 1;
}

static LLVMTypeRef like(LLVMTypeRef elem, LLVMValueRef v) {
  return seer_gen_lanes_type(elem, seer_gen_width(v));
}

LLVMValueRef seer_gen_const_i64(const seer_gen *g, int64_t v) {
  return LLVMConstInt(g->i64, (uint64_t)v, true);
}

static LLVMValueRef splat_const(LLVMValueRef c, uint32_t lanes) {
  LLVMValueRef all[256];
  if (lanes == 1) return c;
  SEER_ASSERT(lanes <= SEER_COUNT_OF(all), "%u lanes", lanes);
  for (uint32_t l = 0; l < lanes; l++) all[l] = c;
  return LLVMConstVector(all, lanes);
}

static LLVMValueRef make_const(seer_gen *g, seer_dtype dtype, double f, int64_t i, uint32_t lanes) {
  LLVMTypeRef type = seer_gen_type(g, dtype);
  LLVMValueRef c = seer_dtype_is_float(dtype)
      ? LLVMConstReal(type, dtype == SEER_DTYPE_F64 ? f : (double)(float)f)
      : LLVMConstInt(type, (unsigned long long)(dtype == SEER_DTYPE_BOOL ? i != 0 : i), true);
  return splat_const(c, lanes);
}

// An integer or float constant of v's shape.
static LLVMValueRef int_like(LLVMValueRef v, LLVMTypeRef elem, int64_t c) {
  return splat_const(LLVMConstInt(elem, (uint64_t)c, true), seer_gen_width(v));
}

static LLVMTypeRef elem_type(LLVMValueRef v) {
  LLVMTypeRef type = LLVMTypeOf(v);
  return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
}

enum { TAG_SPLAT = 100, TAG_BELOW };

LLVMValueRef seer_gen_splat(seer_gen *g, LLVMValueRef scalar, uint32_t lanes) {
  if (lanes == 1) return scalar;
  if (LLVMIsAConstantInt(scalar) || LLVMIsAConstantFP(scalar)) return splat_const(scalar, lanes);
  LLVMValueRef v = seer_gen_memo_find(g, TAG_SPLAT, scalar, NULL, lanes);
  if (v) return v;
  LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(scalar), lanes);
  v = LLVMBuildInsertElement(g->b, LLVMGetPoison(type), scalar, LLVMConstInt(g->i32, 0, false), "");
  v = LLVMBuildShuffleVector(
      g->b, v, LLVMGetPoison(type), LLVMConstNull(LLVMVectorType(g->i32, lanes)), "");
  seer_gen_memo_add(g, TAG_SPLAT, scalar, NULL, lanes, v);
  return v;
}

LLVMValueRef seer_gen_widen(seer_gen *g, seer_gen_value v) {
  return v.is_vec ? v.v : seer_gen_splat(g, v.v, g->lanes);
}

bool seer_gen_const_bool(LLVMValueRef v, bool *out) {
  if (!LLVMIsAConstantInt(v)) return false;
  *out = LLVMConstIntGetZExtValue(v) != 0;
  return true;
}

LLVMValueRef seer_gen_and(seer_gen *g, LLVMValueRef a, LLVMValueRef b) {
  bool c;
  if (a && seer_gen_const_bool(a, &c) && c) a = NULL;
  if (b && seer_gen_const_bool(b, &c) && c) b = NULL;
  if (!a || !b || a == b) return a ? a : b;
  return LLVMBuildAnd(g->b, a, b, "");
}

LLVMValueRef seer_gen_select(seer_gen *g, LLVMValueRef cond, LLVMValueRef a, LLVMValueRef b) {
  bool c;
  if (seer_gen_const_bool(cond, &c)) return c ? a : b;
  return a == b ? a : LLVMBuildSelect(g->b, cond, a, b, "");
}

bool seer_gen_const_real(LLVMValueRef v, double *out) {
  LLVMBool loses;
  if (LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind) {
    if (!LLVMIsConstant(v)) return false;
    v = LLVMGetAggregateElement(v, 0);  // the only vector constants here are splats
  }
  if (!v || !LLVMIsAConstantFP(v)) return false;
  *out = LLVMConstRealGetDouble(v, &loses);
  return true;
}

LLVMValueRef seer_gen_call(seer_gen *g, const char *intrinsic, LLVMTypeRef *types, uint32_t n_types,
    LLVMValueRef *args, uint32_t n_args) {
  unsigned id = LLVMLookupIntrinsicID(intrinsic, strlen(intrinsic));
  SEER_ASSERT(id != 0, "intrinsic %s", intrinsic);
  LLVMValueRef fn = LLVMGetIntrinsicDeclaration(g->module, id, types, n_types);
  LLVMTypeRef type = LLVMIntrinsicGetType(g->context, id, types, n_types);
  return LLVMBuildCall2(g->b, type, fn, args, n_args, "");
}

static LLVMValueRef call1(seer_gen *g, const char *intrinsic, LLVMValueRef a) {
  LLVMTypeRef type = LLVMTypeOf(a);
  return seer_gen_call(g, intrinsic, &type, 1, &a, 1);
}

static LLVMValueRef call2(seer_gen *g, const char *intrinsic, LLVMValueRef a, LLVMValueRef b) {
  LLVMTypeRef type = LLVMTypeOf(a);
  LLVMValueRef args[2] = {a, b};
  return seer_gen_call(g, intrinsic, &type, 1, args, 2);
}

// ---- floats narrower than f32

static LLVMValueRef shifted(seer_gen *g, LLVMValueRef v, int by) {  // > 0: left
  LLVMValueRef n = int_like(v, g->i32, by > 0 ? by : -by);
  return by > 0 ? LLVMBuildShl(g->b, v, n, "") : LLVMBuildLShr(g->b, v, n, "");
}
static LLVMValueRef masked(seer_gen *g, LLVMValueRef v, uint32_t bits) {
  return LLVMBuildAnd(g->b, v, int_like(v, g->i32, (int64_t)(int32_t)bits), "");
}
static LLVMValueRef plus(seer_gen *g, LLVMValueRef v, uint32_t c) {
  return LLVMBuildAdd(g->b, v, int_like(v, g->i32, (int64_t)(int32_t)c), "");
}
static LLVMValueRef bits_of(seer_gen *g, LLVMValueRef f) {
  return LLVMBuildBitCast(g->b, f, like(g->i32, f), "");
}
static LLVMValueRef float_of(seer_gen *g, LLVMValueRef b) {
  return LLVMBuildBitCast(g->b, b, like(g->f32, b), "");
}
static LLVMValueRef is_above(seer_gen *g, LLVMValueRef v, uint32_t c) {  // v > c, unsigned
  return LLVMBuildICmp(g->b, LLVMIntUGT, v, int_like(v, g->i32, (int64_t)(int32_t)c), "");
}

static LLVMValueRef choose(seer_gen *g, LLVMValueRef cond, uint32_t c, LLVMValueRef otherwise) {
  LLVMValueRef value = int_like(otherwise, g->i32, (int64_t)(int32_t)c);
  return LLVMBuildSelect(g->b, cond, value, otherwise, "");
}

// Bits -> f32. Shifted into place they are 2^(bias - 127) of their value, denormals included.
static LLVMValueRef small_to_float(seer_gen *g, const seer_float_format *f, LLVMValueRef bits) {
  int width = f->exponent_bits + f->mantissa_bits, up = 23 - f->mantissa_bits;
  uint32_t sign = 1u << width;
  LLVMValueRef w = LLVMBuildZExt(g->b, bits, like(g->i32, bits), "");
  LLVMValueRef magnitude = shifted(g, masked(g, w, sign - 1), up);
  LLVMValueRef scale =
      splat_const(LLVMConstReal(g->f32, ldexp(1.0, 127 - f->bias)), seer_gen_width(bits));
  LLVMValueRef r = bits_of(g, LLVMBuildFMul(g->b, float_of(g, magnitude), scale, ""));
  if (f->is_unsigned_zero) {
    LLVMValueRef is_nan = LLVMBuildICmp(g->b, LLVMIntEQ, w, int_like(w, g->i32, f->nan), "");
    r = choose(g, is_nan, 0x7FC00000, r);
  } else if (f->overflow == f->nan) {
    r = choose(g, is_above(g, magnitude, (uint32_t)f->largest << up), 0x7FC00000, r);
  } else {  // infinity and NaNs keep their mantissa
    LLVMValueRef special = LLVMBuildOr(g->b, magnitude, int_like(w, g->i32, 0x7F800000), "");
    LLVMValueRef is_special = is_above(g, magnitude, (uint32_t)f->largest << up);
    r = LLVMBuildSelect(g->b, is_special, special, r, "");
  }
  return float_of(g, LLVMBuildOr(g->b, r, shifted(g, masked(g, w, sign), 31 - width), ""));
}

// f32 -> bits, to nearest even. Below the smallest normal number, adding a power of two whose last
// place is that of the subnormals does the rounding.
static LLVMValueRef float_to_small(seer_gen *g, const seer_float_format *f, LLVMValueRef v) {
  int width = f->exponent_bits + f->mantissa_bits, down = 23 - f->mantissa_bits;
  uint32_t first_normal = (uint32_t)(128 - f->bias) << 23;
  uint32_t round = (1u << (down - 1)) - 1 - ((uint32_t)(127 - f->bias) << 23);
  uint32_t unit_exponent = (uint32_t)(127 + 1 - f->bias - f->mantissa_bits + 23);
  LLVMValueRef w = bits_of(g, v), magnitude = masked(g, w, 0x7FFFFFFF);
  LLVMValueRef unit = float_of(g, int_like(w, g->i32, (int64_t)unit_exponent << 23));
  LLVMValueRef small = LLVMBuildFAdd(g->b, float_of(g, magnitude), unit, "");
  small = plus(g, bits_of(g, small), 0u - (unit_exponent << 23));
  LLVMValueRef odd = masked(g, shifted(g, magnitude, -down), 1);
  LLVMValueRef normal = shifted(g, LLVMBuildAdd(g->b, plus(g, magnitude, round), odd, ""), -down);
  LLVMValueRef r =
      LLVMBuildSelect(g->b, is_above(g, magnitude, first_normal - 1), normal, small, "");
  LLVMValueRef sign = masked(g, shifted(g, w, width - 31), 1u << width);
  LLVMValueRef is_beyond = is_above(g, r, f->largest);
  LLVMValueRef is_nan = is_above(g, magnitude, 0x7F800000);
  if (f->is_unsigned_zero) {
    LLVMValueRef is_zero = LLVMBuildICmp(g->b, LLVMIntEQ, r, int_like(r, g->i32, 0), "");
    r = choose(g, is_zero, 0, LLVMBuildOr(g->b, r, sign, ""));
    r = choose(g, is_nan, f->nan, choose(g, is_beyond, f->overflow, r));
  } else {
    r = choose(g, is_nan, f->nan, choose(g, is_beyond, f->overflow, r));
    r = LLVMBuildOr(g->b, r, sign, "");
  }
  return LLVMBuildTrunc(g->b, r, like(width == 7 ? g->i8 : g->i16, v), "");
}

static LLVMValueRef float_to_bf16(seer_gen *g, LLVMValueRef f) {
  LLVMValueRef w = bits_of(g, f), high = shifted(g, w, -16);
  LLVMValueRef rounded =
      shifted(g, LLVMBuildAdd(g->b, plus(g, w, 0x7FFF), masked(g, high, 1), ""), -16);
  LLVMValueRef nan = LLVMBuildOr(g->b, high, int_like(w, g->i32, 0x40), "");
  LLVMValueRef r =
      LLVMBuildSelect(g->b, is_above(g, masked(g, w, 0x7FFFFFFF), 0x7F800000), nan, rounded, "");
  return LLVMBuildTrunc(g->b, r, like(g->i16, f), "");
}

LLVMValueRef seer_gen_to_memory(seer_gen *g, seer_dtype dtype, LLVMValueRef v) {
  const seer_float_format *format = seer_dtype_format(dtype);
  if (dtype == SEER_DTYPE_BOOL) return LLVMBuildZExt(g->b, v, like(g->i8, v), "");
  if (dtype == SEER_DTYPE_BF16) return float_to_bf16(g, v);
  if (!format) return v;
  if (dtype != SEER_DTYPE_F16 || !g->has_half) return float_to_small(g, format, v);
  LLVMTypeRef half = like(LLVMHalfTypeInContext(g->context), v);
  return LLVMBuildBitCast(g->b, LLVMBuildFPTrunc(g->b, v, half, ""), like(g->i16, v), "");
}

// The low four bits of i8 lanes as a 4-bit integer in an i8.
static LLVMValueRef wrap_4(seer_gen *g, seer_dtype dtype, LLVMValueRef v) {
  if (dtype == SEER_DTYPE_U4) return LLVMBuildAnd(g->b, v, int_like(v, g->i8, 15), "");
  LLVMValueRef by = int_like(v, g->i8, 4);
  return LLVMBuildAShr(g->b, LLVMBuildShl(g->b, v, by, ""), by, "");
}

LLVMValueRef seer_gen_from_memory(seer_gen *g, seer_dtype dtype, LLVMValueRef v) {
  const seer_float_format *format = seer_dtype_format(dtype);
  if (dtype == SEER_DTYPE_BOOL) {
    return LLVMBuildICmp(g->b, LLVMIntNE, v, LLVMConstNull(LLVMTypeOf(v)), "");
  }
  if (dtype == SEER_DTYPE_BF16)
    return float_of(g, shifted(g, LLVMBuildZExt(g->b, v, like(g->i32, v), ""), 16));
  if (seer_dtype_bits(dtype) == 4) return wrap_4(g, dtype, v);  // whatever the caller passed
  if (!format) return v;
  if (dtype != SEER_DTYPE_F16 || !g->has_half) return small_to_float(g, format, v);
  LLVMTypeRef half = like(LLVMHalfTypeInContext(g->context), v);
  return LLVMBuildFPExt(g->b, LLVMBuildBitCast(g->b, v, half, ""), like(g->f32, v), "");
}

// ---- operators

static LLVMValueRef cast(seer_gen *g, seer_dtype to, seer_dtype from, LLVMValueRef v) {
  LLVMTypeRef type = like(seer_gen_type(g, to), v);
  bool to_float = seer_dtype_is_float(to), from_float = seer_dtype_is_float(from);
  if (to_float && from_float) {
    if (seer_dtype_format(to)) {
      if (from == to) return v;
      if (from == SEER_DTYPE_F64) v = LLVMBuildFPTrunc(g->b, v, type, "");
      return seer_gen_from_memory(g, to, seer_gen_to_memory(g, to, v));
    }
    return LLVMTypeOf(v) == type ? v
        : to == SEER_DTYPE_F64   ? LLVMBuildFPExt(g->b, v, type, "")
                                 : LLVMBuildFPTrunc(g->b, v, type, "");
  }
  if (to_float) {
    bool is_signed = from != SEER_DTYPE_BOOL && seer_dtype_is_signed(from);
    v = is_signed ? LLVMBuildSIToFP(g->b, v, type, "") : LLVMBuildUIToFP(g->b, v, type, "");
    return seer_dtype_format(to) ? seer_gen_from_memory(g, to, seer_gen_to_memory(g, to, v)) : v;
  }
  if (from_float) {
    if (to == SEER_DTYPE_BOOL)
      return LLVMBuildFCmp(g->b, LLVMRealUNE, v, LLVMConstNull(LLVMTypeOf(v)), "");
    bool is_signed = seer_dtype_is_signed(to);
    LLVMTypeRef types[2] = {type, LLVMTypeOf(v)};
    v = seer_gen_call(g, is_signed ? "llvm.fptosi.sat" : "llvm.fptoui.sat", types, 2, &v, 1);
    if (seer_dtype_bits(to) != 4) return v;
    if (is_signed) v = call2(g, "llvm.smax", v, int_like(v, g->i8, -8));
    return call2(
        g, is_signed ? "llvm.smin" : "llvm.umin", v, int_like(v, g->i8, is_signed ? 7 : 15));
  }
  if (to == SEER_DTYPE_BOOL)
    return LLVMBuildICmp(g->b, LLVMIntNE, v, LLVMConstNull(LLVMTypeOf(v)), "");
  if (LLVMTypeOf(v) != type) {
    bool is_signed = from != SEER_DTYPE_BOOL && seer_dtype_is_signed(from);
    bool is_wider = from == SEER_DTYPE_BOOL || seer_dtype_bytes(to) > seer_dtype_bytes(from);
    v = !is_wider   ? LLVMBuildTrunc(g->b, v, type, "")
        : is_signed ? LLVMBuildSExt(g->b, v, type, "")
                    : LLVMBuildZExt(g->b, v, type, "");
  }
  return seer_dtype_bits(to) == 4 ? wrap_4(g, to, v) : v;
}

static LLVMValueRef compare(
    seer_gen *g, seer_expr_op op, seer_dtype dtype, LLVMValueRef a, LLVMValueRef b) {
  static const LLVMRealPredicate real[6] = {
      LLVMRealOLT, LLVMRealOLE, LLVMRealOGT, LLVMRealOGE, LLVMRealOEQ, LLVMRealUNE};
  static const LLVMIntPredicate with_sign[6] = {
      LLVMIntSLT, LLVMIntSLE, LLVMIntSGT, LLVMIntSGE, LLVMIntEQ, LLVMIntNE};
  static const LLVMIntPredicate without[6] = {
      LLVMIntULT, LLVMIntULE, LLVMIntUGT, LLVMIntUGE, LLVMIntEQ, LLVMIntNE};
  int k = (int)op - SEER_EXPR_LT;
  if (seer_dtype_is_float(dtype)) return LLVMBuildFCmp(g->b, real[k], a, b, "");
  bool is_signed = dtype != SEER_DTYPE_BOOL && seer_dtype_is_signed(dtype);
  return LLVMBuildICmp(g->b, is_signed ? with_sign[k] : without[k], a, b, "");
}

// MAXPS(a, b) is a > b ? a : b, so b when either is NaN: a constant goes left and NaN survives for
// free.
static LLVMValueRef float_extreme(seer_gen *g, bool is_max, LLVMValueRef a, LLVMValueRef b) {
  if (!g->is_x86) return call2(g, is_max ? "llvm.maximum" : "llvm.minimum", a, b);
  if (LLVMIsConstant(b)) {
    LLVMValueRef t = a;
    a = b;
    b = t;
  }
  LLVMValueRef wins = LLVMBuildFCmp(g->b, is_max ? LLVMRealOGT : LLVMRealOLT, a, b, "");
  LLVMValueRef r = LLVMBuildSelect(g->b, wins, a, b, "");
  if (LLVMIsConstant(a)) return r;
  return LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealUNO, a, a, ""), a, r, "");
}

// Floor division and modulus; a divisor of 0 (or -1 of the smallest number) must not trap.
static LLVMValueRef int_divide(
    seer_gen *g, bool is_mod, bool is_signed, LLVMValueRef a, LLVMValueRef b) {
  LLVMTypeRef elem = elem_type(a);
  LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(a)), one = int_like(a, elem, 1);
  if (!LLVMIsConstant(b) || LLVMIsNull(b)) {
    b = LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntEQ, b, zero, ""), one, b, "");
  }
  if (!is_signed) return is_mod ? LLVMBuildURem(g->b, a, b, "") : LLVMBuildUDiv(g->b, a, b, "");
  LLVMValueRef is_minus = LLVMBuildICmp(g->b, LLVMIntEQ, b, int_like(a, elem, -1), "");
  LLVMValueRef by = LLVMBuildSelect(g->b, is_minus, one, b, "");
  LLVMValueRef rest = LLVMBuildSRem(g->b, a, by, "");
  LLVMValueRef differ = LLVMBuildICmp(g->b, LLVMIntSLT, LLVMBuildXor(g->b, rest, by, ""), zero, "");
  LLVMValueRef fix = LLVMBuildAnd(g->b, differ, LLVMBuildICmp(g->b, LLVMIntNE, rest, zero, ""), "");
  if (is_mod) {
    return LLVMBuildSelect(g->b, is_minus, zero,
        LLVMBuildSelect(g->b, fix, LLVMBuildAdd(g->b, rest, by, ""), rest, ""), "");
  }
  LLVMValueRef q = LLVMBuildSDiv(g->b, a, by, "");
  q = LLVMBuildSelect(g->b, fix, LLVMBuildSub(g->b, q, one, ""), q, "");
  return LLVMBuildSelect(g->b, is_minus, LLVMBuildSub(g->b, zero, a, ""), q, "");
}

static LLVMValueRef int_shift(
    seer_gen *g, bool is_left, bool is_signed, seer_dtype dtype, LLVMValueRef a, LLVMValueRef by) {
  int64_t bits = (int64_t)seer_dtype_bits(dtype);
  LLVMTypeRef elem = elem_type(a);
  LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(a));
  LLVMValueRef is_far = LLVMBuildICmp(g->b, LLVMIntUGE, by, int_like(a, elem, bits), "");
  if (!is_left && is_signed) {
    by = LLVMBuildSelect(g->b, is_far, int_like(a, elem, bits - 1), by, "");
    return LLVMBuildAShr(g->b, a, by, "");
  }
  by = LLVMBuildSelect(g->b, is_far, zero, by, "");
  LLVMValueRef r = is_left ? LLVMBuildShl(g->b, a, by, "") : LLVMBuildLShr(g->b, a, by, "");
  return LLVMBuildSelect(g->b, is_far, zero, r, "");
}

static LLVMValueRef apply_int(
    seer_gen *g, seer_expr_op op, seer_dtype dtype, LLVMValueRef a, LLVMValueRef b) {
  bool is_bool = dtype == SEER_DTYPE_BOOL, is_signed = !is_bool && seer_dtype_is_signed(dtype);
  LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(a));
  switch ((int)op) {
    case SEER_EXPR_ADD:
      return is_bool ? LLVMBuildOr(g->b, a, b, "") : LLVMBuildAdd(g->b, a, b, "");
    case SEER_EXPR_SUB:
      return is_bool ? LLVMBuildXor(g->b, a, b, "") : LLVMBuildSub(g->b, a, b, "");
    case SEER_EXPR_MUL:
      return is_bool ? LLVMBuildAnd(g->b, a, b, "") : LLVMBuildMul(g->b, a, b, "");
    case SEER_EXPR_DIV:
      return is_bool ? LLVMBuildAnd(g->b, a, b, "") : int_divide(g, false, is_signed, a, b);
    case SEER_EXPR_MOD:
      return is_bool ? zero : int_divide(g, true, is_signed, a, b);
    case SEER_EXPR_MIN:
      return call2(g, is_signed ? "llvm.smin" : "llvm.umin", a, b);
    case SEER_EXPR_MAX:
      return call2(g, is_signed ? "llvm.smax" : "llvm.umax", a, b);
    case SEER_EXPR_NEG:
      return is_bool ? a : LLVMBuildNeg(g->b, a, "");
    case SEER_EXPR_ABS: {
      if (!is_signed) return a;
      LLVMTypeRef type = LLVMTypeOf(a);
      LLVMValueRef args[2] = {a, LLVMConstInt(g->i1, 0, false)};
      return seer_gen_call(g, "llvm.abs", &type, 1, args, 2);
    }
    case SEER_EXPR_SIGN: {
      LLVMTypeRef elem = elem_type(a);
      LLVMValueRef one = int_like(a, elem, 1);
      LLVMValueRef r =
          LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntNE, a, zero, ""), one, zero, "");
      if (!is_signed) return r;
      return LLVMBuildSelect(
          g->b, LLVMBuildICmp(g->b, LLVMIntSLT, a, zero, ""), int_like(a, elem, -1), r, "");
    }
    case SEER_EXPR_FLOOR:
    case SEER_EXPR_CEIL:
    case SEER_EXPR_ROUND:
      return a;
    case SEER_EXPR_AND:
      return LLVMBuildAnd(g->b, a, b, "");
    case SEER_EXPR_OR:
      return LLVMBuildOr(g->b, a, b, "");
    case SEER_EXPR_XOR:
      return LLVMBuildXor(g->b, a, b, "");
    case SEER_EXPR_NOT:
      return LLVMBuildNot(g->b, a, "");
    case SEER_EXPR_SHL:
      return int_shift(g, true, is_signed, dtype, a, b);
    case SEER_EXPR_SHR:
      return int_shift(g, false, is_signed, dtype, a, b);
    case SEER_EXPR_ISNAN:
      return LLVMConstNull(like(g->i1, a));
    case SEER_EXPR_POW:
      if (seer_gen_width(b) == 1 && LLVMIsAConstantInt(b)) {
        int64_t n = LLVMConstIntGetSExtValue(b);
        LLVMValueRef r = int_like(a, elem_type(a), 1);
        for (int64_t k = 0; k < n && n <= 8; k++) r = LLVMBuildMul(g->b, r, a, "");
        if (n >= 0 && n <= 8) return r;
      }
      break;
    default:
      break;
  }
  SEER_GEN_FAIL(g, UNSUPPORTED, "loop %s: operator %s on %s has no code", g->loop->name,
      seer_expr_op_text(op), seer_dtype_name(dtype));
  return zero;
}

// If v is x times a power of two: x and that factor, of v's shape.
static bool is_exact_product(LLVMValueRef v, LLVMValueRef *out_x, LLVMValueRef *out_factor) {
  if (!LLVMIsAInstruction(v) || LLVMGetInstructionOpcode(v) != LLVMFMul) return false;
  for (unsigned k = 0; k < 2; k++) {
    double c;
    int exponent;
    *out_factor = LLVMGetOperand(v, k);
    *out_x = LLVMGetOperand(v, 1 - k);
    if (seer_gen_const_real(*out_factor, &c) && fabs(frexp(c, &exponent)) == 0.5) return true;
  }
  return false;
}

// a + b or a - b; one rounding where a product in it is exact (but for underflow) and rounding it
// alone changes nothing: Winograd's transforms are full of them. Fast-math flags would not do:
// InstCombine hands `contract` on from a sum to products that it makes anew.
static LLVMValueRef float_sum(seer_gen *g, LLVMValueRef a, LLVMValueRef b, bool is_minus) {
  LLVMTypeRef type = LLVMTypeOf(a);
  LLVMValueRef x, factor;
  if (is_exact_product(b, &x, &factor)) {
    LLVMValueRef args[3] = {x, is_minus ? LLVMBuildFNeg(g->b, factor, "") : factor, a};
    return seer_gen_call(g, "llvm.fmuladd", &type, 1, args, 3);
  }
  if (is_exact_product(a, &x, &factor)) {
    LLVMValueRef args[3] = {x, factor, is_minus ? LLVMBuildFNeg(g->b, b, "") : b};
    return seer_gen_call(g, "llvm.fmuladd", &type, 1, args, 3);
  }
  return is_minus ? LLVMBuildFSub(g->b, a, b, "") : LLVMBuildFAdd(g->b, a, b, "");
}

static LLVMValueRef apply_float(
    seer_gen *g, seer_expr_op op, seer_dtype dtype, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(a));
  switch ((int)op) {
    case SEER_EXPR_ADD:
      return float_sum(g, a, b, false);
    case SEER_EXPR_SUB:
      return float_sum(g, a, b, true);
    case SEER_EXPR_MUL:
      return LLVMBuildFMul(g->b, a, b, "");
    case SEER_EXPR_DIV:
      return LLVMBuildFDiv(g->b, a, b, "");
    case SEER_EXPR_MOD: {  // without fmod's exactness for huge quotients: no loop in vector code
      LLVMValueRef q = seer_gen_round(g, SEER_GEN_TRUNC, LLVMBuildFDiv(g->b, a, b, ""));
      LLVMTypeRef type = LLVMTypeOf(a);
      LLVMValueRef args[3] = {LLVMBuildFNeg(g->b, q, ""), b, a};
      return seer_gen_call(g, "llvm.fmuladd", &type, 1, args, 3);
    }
    case SEER_EXPR_MIN:
      return float_extreme(g, false, a, b);
    case SEER_EXPR_MAX:
      return float_extreme(g, true, a, b);
    case SEER_EXPR_NEG:
      return LLVMBuildFNeg(g->b, a, "");
    case SEER_EXPR_ABS:
      return call1(g, "llvm.fabs", a);
    case SEER_EXPR_SIGN: {
      LLVMValueRef one = splat_const(LLVMConstReal(elem_type(a), 1.0), seer_gen_width(a));
      LLVMValueRef minus = splat_const(LLVMConstReal(elem_type(a), -1.0), seer_gen_width(a));
      LLVMValueRef r =
          LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealOGT, a, zero, ""), one, a, "");
      return LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealOLT, a, zero, ""), minus, r, "");
    }
    case SEER_EXPR_FLOOR:
      return seer_gen_round(g, SEER_GEN_FLOOR, a);
    case SEER_EXPR_CEIL:
      return seer_gen_round(g, SEER_GEN_CEIL, a);
    case SEER_EXPR_ROUND:
      return seer_gen_round(g, SEER_GEN_EVEN, a);
    case SEER_EXPR_SQRT:
      return call1(g, "llvm.sqrt", a);
    case SEER_EXPR_ISNAN:
      return LLVMBuildFCmp(g->b, LLVMRealUNO, a, a, "");
    case SEER_EXPR_EXP:
    case SEER_EXPR_LOG:
    case SEER_EXPR_SIN:
    case SEER_EXPR_COS:
    case SEER_EXPR_TANH:
    case SEER_EXPR_ERF:
    case SEER_EXPR_SIGMOID:
      if (dtype != SEER_DTYPE_F64) return seer_gen_math(g, op, a);
      a = seer_gen_math_f64(g, op, a);
      if (a) return a;
      break;
    case SEER_EXPR_POW:
      return seer_gen_math_pow(g, a, b);
    default:
      break;
  }
  SEER_GEN_FAIL(g, UNSUPPORTED, "loop %s: operator %s on %s has no code", g->loop->name,
      seer_expr_op_text(op), seer_dtype_name(dtype));
  return zero;
}

static LLVMValueRef apply_op(seer_gen *g, seer_expr_op op, seer_dtype dtype, seer_dtype arg_dtype,
    LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
  if (op == SEER_EXPR_SELECT) return seer_gen_select(g, a, b, c);
  if (op == SEER_EXPR_CAST) return cast(g, dtype, arg_dtype, a);
  if (op >= SEER_EXPR_LT && op <= SEER_EXPR_NE) return compare(g, op, arg_dtype, a, b);
  if (seer_dtype_is_float(arg_dtype)) return apply_float(g, op, arg_dtype, a, b);
  LLVMValueRef v = apply_int(g, op, arg_dtype, a, b);
  return seer_dtype_bits(dtype) == 4 ? wrap_4(g, dtype, v) : v;
}

// ---- combiners

LLVMValueRef seer_gen_identity(
    seer_gen *g, seer_combiner combiner, const seer_dtype *dtype, uint32_t k, uint32_t lanes) {
  bool is_index = k == 1 && seer_combiner_is_arg(combiner);
  double identity = seer_combiner_identity(is_index ? SEER_COMBINE_MIN : combiner, dtype[k]);
  int64_t i = seer_dtype_is_float(dtype[k])              ? 0
      : dtype[k] == SEER_DTYPE_I64 && identity >= 0x1p63 ? INT64_MAX
      : dtype[k] == SEER_DTYPE_U64 && identity >= 0x1p64 ? -1
                                                         : (int64_t)identity;
  return make_const(g, dtype[k], identity, i, lanes);
}

void seer_gen_combine(seer_gen *g, seer_combiner combiner, const seer_dtype *dtype, uint32_t n,
    LLVMValueRef *acc, const LLVMValueRef *value) {
  seer_expr_op op = seer_combiner_op(combiner);
  if (!seer_combiner_is_arg(combiner)) {
    for (uint32_t k = 0; k < n; k++)
      acc[k] = apply_op(g, op, dtype[k], dtype[k], acc[k], value[k], NULL);
    return;
  }
  LLVMValueRef better = compare(g, op, dtype[0], value[0], acc[0]);
  LLVMValueRef equal = compare(g, SEER_EXPR_EQ, dtype[0], value[0], acc[0]);
  LLVMValueRef earlier = compare(g, SEER_EXPR_LT, dtype[1], value[1], acc[1]);
  LLVMValueRef wins = LLVMBuildOr(g->b, better, LLVMBuildAnd(g->b, equal, earlier, ""), "");
  for (uint32_t k = 0; k < n; k++) acc[k] = LLVMBuildSelect(g->b, wins, value[k], acc[k], "");
}

// ---- expressions

LLVMValueRef seer_gen_lanes_below(seer_gen *g, LLVMValueRef limit) {
  LLVMValueRef v = seer_gen_memo_find(g, TAG_BELOW, limit, NULL, g->lanes);
  if (v) return v;
  LLVMValueRef iota[256];
  for (uint32_t l = 0; l < g->lanes; l++) iota[l] = LLVMConstInt(g->i32, l, false);
  LLVMValueRef at = call2(g, "llvm.smin", limit, seer_gen_const_i64(g, g->lanes));
  at = LLVMBuildTrunc(g->b, call2(g, "llvm.smax", at, seer_gen_const_i64(g, 0)), g->i32, "");
  v = LLVMBuildICmp(
      g->b, LLVMIntSLT, LLVMConstVector(iota, g->lanes), seer_gen_splat(g, at, g->lanes), "");
  seer_gen_memo_add(g, TAG_BELOW, limit, NULL, g->lanes, v);
  return v;
}

// a `op` b of indices. Along unit-stride lanes the answer changes at one lane: i32 lane numbers
// against a limit.
static bool compare_lin(seer_gen *g, const seer_expr_node *node, seer_gen_value *out) {
  seer_sum d, b;
  if (!seer_gen_sum_of(g, node->arg[0], &d) || !seer_gen_sum_of(g, node->arg[1], &b)) return false;
  if (!seer_sum_add(&d, &b, -1)) return false;
  int op = node->op;
  int64_t low, high;
  if (seer_sum_range(&d, g->lanes, &low, &high)) {
    int known = -1;
    if (op == SEER_EXPR_LT) known = high < 0 ? 1 : low >= 0 ? 0 : -1;
    if (op == SEER_EXPR_LE) known = high <= 0 ? 1 : low > 0 ? 0 : -1;
    if (op == SEER_EXPR_GT) known = low > 0 ? 1 : high <= 0 ? 0 : -1;
    if (op == SEER_EXPR_GE) known = low >= 0 ? 1 : high < 0 ? 0 : -1;
    if (op == SEER_EXPR_EQ || op == SEER_EXPR_NE) {
      known = low > 0 || high < 0 ? op == SEER_EXPR_NE
          : low == 0 && high == 0 ? op == SEER_EXPR_EQ
                                  : -1;
    }
    if (known >= 0) {
      *out = (seer_gen_value){.v = LLVMConstInt(g->i1, (unsigned)known, false)};
      return true;
    }
  }
  if (d.lane == 0) {
    LLVMValueRef zero = seer_gen_const_i64(g, 0);
    *out = (seer_gen_value){
        .v = compare(g, (seer_expr_op)op, SEER_DTYPE_I64, seer_gen_sum_value(g, &d), zero)};
    return true;
  }
  bool is_order =
      op == SEER_EXPR_LT || op == SEER_EXPR_LE || op == SEER_EXPR_GT || op == SEER_EXPR_GE;
  if (is_order && (d.lane == 1 || d.lane == -1)) {
    // d = base + l < 0 iff l < -base; base - l < 0 iff not l < base + 1; the other two by
    // complement
    bool is_less = op == SEER_EXPR_LT || op == SEER_EXPR_LE;
    if (op == SEER_EXPR_LE || op == SEER_EXPR_GT) d.c -= 1;  // d <= 0 iff d - 1 < 0
    seer_sum limit;
    memset(&limit, 0, sizeof(limit));
    if (!seer_sum_add(&limit, &d, d.lane == 1 ? -1 : 1)) return false;
    limit.lane = 0;
    if (d.lane == -1) limit.c += 1;
    LLVMValueRef below = seer_gen_lanes_below(g, seer_gen_sum_value(g, &limit));
    bool flip = (d.lane == 1) != is_less;
    *out = (seer_gen_value){.v = flip ? LLVMBuildNot(g->b, below, "") : below, .is_vec = true};
    return true;
  }
  seer_gen_value v = seer_gen_sum_lanes(g, &d);
  LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(v.v));
  *out = (seer_gen_value){
      .v = compare(g, (seer_expr_op)op, SEER_DTYPE_I64, v.v, zero), .is_vec = true};
  return true;
}

bool seer_gen_is_true(seer_gen *g, seer_expr predicate) {
  enum { UNKNOWN, ALWAYS, NOT_ALWAYS };
  if (g->full_proof[predicate.i]) return true;
  if (g->proof[predicate.i] == UNKNOWN) {
    int64_t low, high;
    bool is_known =
        seer_expr_range(&g->loop->expr, predicate, g->tile->low, g->tile->high, &low, &high);
    g->proof[predicate.i] = is_known && low >= 1 ? ALWAYS : NOT_ALWAYS;
  }
  return g->proof[predicate.i] == ALWAYS;
}

seer_gen_value seer_gen_expr_raw(seer_gen *g, seer_expr e) {
  const seer_expr_node *node = seer_gen_at(g, e);
  seer_expr_op op = (seer_expr_op)node->op;
  if (op == SEER_EXPR_VAR) {
    const seer_gen_var *var = &g->var[node->ref];
    if (var->kind == SEER_GEN_LET) return seer_gen_expr(g, var->let);
    SEER_ASSERT(false, "variable %s is not bound", g->loop->var[node->ref].name);
  }
  seer_gen_value arg[3] = {{0}};
  bool is_vec = false;
  uint32_t n = seer_expr_arity(op);
  for (uint32_t k = 0; k < n; k++) {
    arg[k] = seer_gen_expr(g, node->arg[k]);
    is_vec = is_vec || arg[k].is_vec;
  }
  bool keep = op == SEER_EXPR_SELECT && !arg[0].is_vec;  // a uniform choice between vectors
  for (uint32_t k = keep ? 1 : 0; is_vec && k < n; k++) arg[k].v = seer_gen_widen(g, arg[k]);
  seer_dtype arg_dtype = (seer_dtype)seer_gen_at(g, node->arg[0])->dtype;
  LLVMValueRef v =
      apply_op(g, op, (seer_dtype)node->dtype, arg_dtype, arg[0].v, arg[1].v, arg[2].v);
  return (seer_gen_value){.v = v, .is_vec = is_vec};
}

static seer_gen_value build(seer_gen *g, seer_expr e) {
  const seer_expr_node *node = seer_gen_at(g, e);
  seer_dtype dtype = (seer_dtype)node->dtype;
  switch ((int)node->op) {
    case SEER_EXPR_CONST_F:
      return (seer_gen_value){.v = make_const(g, dtype, node->value.f, 0, 1)};
    case SEER_EXPR_CONST_I:
      return (seer_gen_value){.v = make_const(g, dtype, 0, node->value.i, 1)};
    case SEER_EXPR_LOAD:
      return seer_gen_load(g, e);
    case SEER_EXPR_LT:
    case SEER_EXPR_LE:
    case SEER_EXPR_GT:
    case SEER_EXPR_GE:
    case SEER_EXPR_EQ:
    case SEER_EXPR_NE: {
      seer_gen_value v;
      if (seer_gen_is_true(g, e)) return (seer_gen_value){.v = LLVMConstInt(g->i1, 1, false)};
      if (seer_gen_at(g, node->arg[0])->dtype == SEER_DTYPE_I64 && compare_lin(g, node, &v))
        return v;
      break;
    }
    case SEER_EXPR_VAR:
    case SEER_EXPR_ADD:
    case SEER_EXPR_SUB:
    case SEER_EXPR_MUL:
    case SEER_EXPR_NEG:
    case SEER_EXPR_DIV:
    case SEER_EXPR_MOD: {
      seer_sum x;
      if (dtype == SEER_DTYPE_I64 && seer_gen_sum_of(g, e, &x)) return seer_gen_sum_lanes(g, &x);
      break;
    }
    case SEER_EXPR_SELECT: {  // a condition that is known decides before the other side is built
      seer_gen_value cond = seer_gen_expr(g, node->arg[0]);
      bool is_true;
      if (!cond.is_vec && seer_gen_const_bool(cond.v, &is_true))
        return seer_gen_expr(g, node->arg[is_true ? 1 : 2]);
      break;
    }
    default:
      break;
  }
  return seer_gen_expr_raw(g, e);
}

seer_gen_value seer_gen_expr(seer_gen *g, seer_expr e) {
  if (g->memo_tick[e.i] == g->tick) return g->memo_value[e.i];
  seer_gen_value v = build(g, e);
  g->memo_tick[e.i] = g->tick;
  g->memo_value[e.i] = v;
  return v;
}
