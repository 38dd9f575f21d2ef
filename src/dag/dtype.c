// dtype.c - element types: names, sizes, and elements of memory to double or int64 and back.
// All access goes through memcpy: buffers of the world may be unaligned.
#include "dag/dtype.h"

#include <math.h>
#include <string.h>

#include "dag/scalar.h"

static const struct {
  const char *name;
  uint8_t bytes, bits;
  bool is_float, is_signed;
} kinds[SEER_DTYPE_COUNT] = {
    [SEER_DTYPE_NONE] = {"none", 0, 0, false, false},
    [SEER_DTYPE_F32] = {"f32", 4, 32, true, true},
    [SEER_DTYPE_F64] = {"f64", 8, 64, true, true},
    [SEER_DTYPE_F16] = {"f16", 2, 16, true, true},
    [SEER_DTYPE_BF16] = {"bf16", 2, 16, true, true},
    [SEER_DTYPE_I8] = {"i8", 1, 8, false, true},
    [SEER_DTYPE_I16] = {"i16", 2, 16, false, true},
    [SEER_DTYPE_I32] = {"i32", 4, 32, false, true},
    [SEER_DTYPE_I64] = {"i64", 8, 64, false, true},
    [SEER_DTYPE_U8] = {"u8", 1, 8, false, false},
    [SEER_DTYPE_U16] = {"u16", 2, 16, false, false},
    [SEER_DTYPE_U32] = {"u32", 4, 32, false, false},
    [SEER_DTYPE_U64] = {"u64", 8, 64, false, false},
    [SEER_DTYPE_BOOL] = {"bool", 1, 8, false, false},
    [SEER_DTYPE_F8E4M3FN] = {"f8e4m3fn", 1, 8, true, true},
    [SEER_DTYPE_F8E4M3FNUZ] = {"f8e4m3fnuz", 1, 8, true, true},
    [SEER_DTYPE_F8E5M2] = {"f8e5m2", 1, 8, true, true},
    [SEER_DTYPE_F8E5M2FNUZ] = {"f8e5m2fnuz", 1, 8, true, true},
    [SEER_DTYPE_I4] = {"i4", 1, 4, false, true},
    [SEER_DTYPE_U4] = {"u4", 1, 4, false, false},
    [SEER_DTYPE_I2] = {"i2", 1, 2, false, true},
    [SEER_DTYPE_U2] = {"u2", 1, 2, false, false},
    [SEER_DTYPE_F4E2M1] = {"f4e2m1", 1, 4, true, true},
    [SEER_DTYPE_F8E8M0] = {"f8e8m0", 1, 8, true, false},
};

uint32_t seer_dtype_bytes(seer_dtype dtype) {
  SEER_ASSERT(dtype < SEER_DTYPE_COUNT, "dtype %d", (int)dtype);
  return kinds[dtype].bytes;
}

uint32_t seer_dtype_bits(seer_dtype dtype) {
  SEER_ASSERT(dtype < SEER_DTYPE_COUNT, "dtype %d", (int)dtype);
  return kinds[dtype].bits;
}

const char *seer_dtype_name(seer_dtype dtype) {
  SEER_ASSERT(dtype < SEER_DTYPE_COUNT, "dtype %d", (int)dtype);
  return kinds[dtype].name;
}

bool seer_dtype_parse(const char *name, seer_dtype *out_dtype) {
  for (int k = SEER_DTYPE_NONE + 1; k < SEER_DTYPE_COUNT; k++) {
    if (strcmp(name, kinds[k].name) == 0) {
      *out_dtype = (seer_dtype)k;
      return true;
    }
  }
  return false;
}

bool seer_dtype_is_float(seer_dtype dtype) { return kinds[dtype].is_float; }
bool seer_dtype_is_signed(seer_dtype dtype) { return kinds[dtype].is_signed; }
bool seer_dtype_is_byte(seer_dtype dtype) {
  return dtype == SEER_DTYPE_U8 || dtype == SEER_DTYPE_I8;
}

bool seer_dtype_is_small_int(seer_dtype dtype) {
  return !kinds[dtype].is_float && kinds[dtype].bits > 0 && kinds[dtype].bits < 8;
}

// ---- floats narrower than f32: one rounding in double arithmetic, which is exact at these widths

static const seer_float_format formats[] = {
    [SEER_DTYPE_F16] = {5, 10, 15, 0x7BFF, 0x7C00, 0x7E00, false, false},
    [SEER_DTYPE_BF16] = {8, 7, 127, 0x7F7F, 0x7F80, 0x7FC0, false, false},
    [SEER_DTYPE_F8E4M3FN] = {4, 3, 7, 0x7E, 0x7F, 0x7F, false, false},
    [SEER_DTYPE_F8E4M3FNUZ] = {4, 3, 8, 0x7F, 0x80, 0x80, true, false},
    [SEER_DTYPE_F8E5M2] = {5, 2, 15, 0x7B, 0x7C, 0x7F, false, false},
    [SEER_DTYPE_F8E5M2FNUZ] = {5, 2, 16, 0x7F, 0x80, 0x80, true, false},
    [SEER_DTYPE_F4E2M1] = {2, 1, 1, 7, 7, 8, false, false},
    [SEER_DTYPE_F8E8M0] = {8, 0, 127, 0xFE, 0xFF, 0xFF, false, true},
};

const seer_float_format *seer_dtype_format(seer_dtype dtype) {
  bool has = (size_t)dtype < SEER_COUNT_OF(formats) && formats[dtype].exponent_bits > 0;
  return has ? &formats[dtype] : NULL;
}

seer_dtype seer_dtype_computed(seer_dtype dtype) {
  return seer_dtype_format(dtype) ? SEER_DTYPE_F32 : dtype;
}

static uint16_t sign_of(const seer_float_format *f) {
  return (uint16_t)(1u << (f->exponent_bits + f->mantissa_bits));
}

static uint16_t power_to_bits(const seer_float_format *f, double value) {
  int e;
  if (!(value > 0) || isinf(value)) return f->nan;
  double m = frexp(value, &e);  // value = m * 2^e, 0.5 <= m < 1
  int64_t code = (int64_t)e - (m < 0.75) + f->bias;
  // below the least one there is no neighbour
  return ldexp(value, f->bias) < 1 || code > f->largest ? f->nan : (uint16_t)code;
}

uint16_t seer_float_to_bits(const seer_float_format *f, double value) {
  if (f->is_power) return power_to_bits(f, value);
  uint16_t sign = signbit(value) ? sign_of(f) : 0u;
  uint16_t beyond = f->is_unsigned_zero ? f->overflow : (uint16_t)(sign | f->overflow);
  if (isnan(value)) return f->is_unsigned_zero ? f->nan : (uint16_t)(sign | f->nan);
  double a = fabs(value);
  if (isinf(a)) return beyond;
  if (a == 0) return f->is_unsigned_zero ? 0u : sign;
  int e, min_exponent = 1 - f->bias;
  frexp(a, &e);
  e -= 1;  // a = m * 2^e, 1 <= m < 2
  if (e < min_exponent) e = min_exponent;
  double steps = nearbyint(ldexp(a, f->mantissa_bits - e));  // a in units of the last place
  if (steps >= ldexp(1.0, f->mantissa_bits + 1)) {
    steps /= 2;
    e += 1;
  }
  // The leading 1 of a normal number is not stored, but is part of `steps`: added, it raises the
  // exponent's field from 0 to 1, the least of normal numbers.
  double code = ldexp((double)(e - min_exponent), f->mantissa_bits) + steps;
  if (code > f->largest) return beyond;
  return (uint16_t)(code == 0 && f->is_unsigned_zero ? 0u : sign | (uint32_t)code);
}

double seer_float_from_bits(const seer_float_format *f, uint16_t bits) {
  if (f->is_power) return bits == f->nan ? (double)NAN : ldexp(1, (int)bits - f->bias);
  uint16_t sign = sign_of(f), rest = bits & (uint16_t)(sign - 1u);
  double a;
  if (bits == sign && f->is_unsigned_zero) return (double)NAN;
  if (rest > f->largest) {
    a = rest == f->overflow && seer_float_has_infinity(f) ? (double)INFINITY : (double)NAN;
  } else {
    uint32_t m = rest & ((1u << f->mantissa_bits) - 1u), e = (uint32_t)rest >> f->mantissa_bits;
    if (e > 0) m += 1u << f->mantissa_bits;
    a = ldexp((double)m, (e > 0 ? (int)e : 1) - f->bias - f->mantissa_bits);
  }
  return bits & sign ? -a : a;
}

double seer_dtype_largest(seer_dtype dtype) {
  const seer_float_format *f = seer_dtype_format(dtype);
  SEER_ASSERT(f, "%s has no format", seer_dtype_name(dtype));
  return seer_float_from_bits(f, f->largest);
}

// ---- one element

#define ELEMENT(type) (memcpy(&x, (const char *)data + index * (int64_t)sizeof(type), sizeof(type)))

static double load_float(seer_dtype dtype, const void *data, int64_t index) {
  if (dtype == SEER_DTYPE_F32) {  // nearly always
    float x;
    ELEMENT(float);
    return (double)x;
  }
  if (dtype == SEER_DTYPE_F64) {
    double x;
    ELEMENT(double);
    return x;
  }
  if (seer_dtype_bytes(dtype) == 1) {
    uint8_t x;
    ELEMENT(uint8_t);
    return seer_float_from_bits(seer_dtype_format(dtype), x);
  }
  uint16_t x;
  ELEMENT(uint16_t);
  return seer_float_from_bits(seer_dtype_format(dtype), x);
}

#define LOAD(name, type)    \
  case SEER_DTYPE_##name: { \
    type x;                 \
    ELEMENT(type);          \
    return (int64_t)x;      \
  }

static int64_t load_integer(seer_dtype dtype, const void *data, int64_t index) {
  uint8_t small;
  switch ((int)dtype) {
    LOAD(I8, int8_t)
    LOAD(I16, int16_t)
    LOAD(I32, int32_t)
    LOAD(I64, int64_t)
    LOAD(U8, uint8_t)
    LOAD(U16, uint16_t)
    LOAD(U32, uint32_t)
    LOAD(U64, uint64_t)
    case SEER_DTYPE_I4:
    case SEER_DTYPE_U4:
    case SEER_DTYPE_I2:
    case SEER_DTYPE_U2:
    case SEER_DTYPE_BOOL:
      memcpy(&small, (const char *)data + index, sizeof small);
      return dtype == SEER_DTYPE_BOOL ? small != 0 : seer_scalar_wrap(dtype, small);
    default:
      SEER_ASSERT(false, "load of dtype %d", (int)dtype);
  }
}
#undef LOAD

seer_scalar seer_scalar_load(seer_dtype dtype, const void *data, int64_t index) {
  if (seer_dtype_is_float(dtype)) return (seer_scalar){.f = load_float(dtype, data, index)};
  return (seer_scalar){.i = load_integer(dtype, data, index)};
}

#undef ELEMENT
#define ELEMENT(type) (memcpy((char *)data + index * (int64_t)sizeof(type), &x, sizeof(type)))

void seer_scalar_store(seer_dtype dtype, void *data, int64_t index, seer_scalar value) {
  switch (dtype) {
    case SEER_DTYPE_F32: {
      float x = (float)value.f;
      ELEMENT(float);
      break;
    }
    case SEER_DTYPE_F64: {
      double x = value.f;
      ELEMENT(double);
      break;
    }
    case SEER_DTYPE_F16:
    case SEER_DTYPE_BF16: {
      uint16_t x = seer_float_to_bits(seer_dtype_format(dtype), value.f);
      ELEMENT(uint16_t);
      break;
    }
    case SEER_DTYPE_F8E4M3FN:
    case SEER_DTYPE_F8E4M3FNUZ:
    case SEER_DTYPE_F8E5M2:
    case SEER_DTYPE_F8E5M2FNUZ:
    case SEER_DTYPE_F4E2M1:
    case SEER_DTYPE_F8E8M0: {
      uint8_t x = (uint8_t)seer_float_to_bits(seer_dtype_format(dtype), value.f);
      ELEMENT(uint8_t);
      break;
    }
    case SEER_DTYPE_I4:
    case SEER_DTYPE_U4:
    case SEER_DTYPE_I2:
    case SEER_DTYPE_U2: {
      uint8_t x = (uint8_t)seer_scalar_wrap(dtype, value.i);
      ELEMENT(uint8_t);
      break;
    }
    case SEER_DTYPE_I8:
    case SEER_DTYPE_U8: {
      uint8_t x = (uint8_t)value.i;
      ELEMENT(uint8_t);
      break;
    }
    case SEER_DTYPE_I16:
    case SEER_DTYPE_U16: {
      uint16_t x = (uint16_t)value.i;
      ELEMENT(uint16_t);
      break;
    }
    case SEER_DTYPE_I32:
    case SEER_DTYPE_U32: {
      uint32_t x = (uint32_t)value.i;
      ELEMENT(uint32_t);
      break;
    }
    case SEER_DTYPE_I64:
    case SEER_DTYPE_U64: {
      int64_t x = value.i;
      ELEMENT(int64_t);
      break;
    }
    case SEER_DTYPE_BOOL: {
      uint8_t x = value.i != 0;
      ELEMENT(uint8_t);
      break;
    }
    case SEER_DTYPE_NONE:
    case SEER_DTYPE_COUNT:
      SEER_ASSERT(false, "store of dtype %d", (int)dtype);
  }
}

#undef ELEMENT

double seer_dtype_load_f64(seer_dtype dtype, const void *data, int64_t index) {
  seer_scalar v = seer_scalar_load(dtype, data, index);
  if (seer_dtype_is_float(dtype)) return v.f;
  return dtype == SEER_DTYPE_U64 ? (double)(uint64_t)v.i : (double)v.i;
}

void seer_dtype_store_f64(seer_dtype dtype, void *data, int64_t index, double value) {
  seer_scalar v;
  if (seer_dtype_is_float(dtype)) {
    v.f = value;
  } else {
    v.i = seer_scalar_saturate(dtype, value);
  }
  seer_scalar_store(dtype, data, index, v);
}

int64_t seer_dtype_load_i64(seer_dtype dtype, const void *data, int64_t index) {
  seer_scalar v = seer_scalar_load(dtype, data, index);
  return seer_dtype_is_float(dtype) ? seer_scalar_saturate(SEER_DTYPE_I64, v.f) : v.i;
}

void seer_dtype_store_i64(seer_dtype dtype, void *data, int64_t index, int64_t value) {
  seer_scalar v;
  if (dtype == SEER_DTYPE_F32) {
    v.f = (double)(float)value;  // one rounding
  } else if (seer_dtype_is_float(dtype)) {
    v.f = (double)value;
  } else {
    v.i = value;
  }
  seer_scalar_store(dtype, data, index, v);
}
