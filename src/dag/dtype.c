// dtype.c - element types: names, sizes, and elements of memory to double or int64 and back.
// All access goes through memcpy: buffers of the world may be unaligned.
#include "dag/dtype.h"

#include <math.h>
#include <string.h>

#include "dag/scalar.h"

static const struct {
  const char *name;
  uint8_t bytes;
  bool is_float, is_signed;
} kinds[SEER_DTYPE_COUNT] = {
    [SEER_DTYPE_NONE] = {"none", 0, false, false},
    [SEER_DTYPE_F32] = {"f32", 4, true, true},
    [SEER_DTYPE_F64] = {"f64", 8, true, true},
    [SEER_DTYPE_F16] = {"f16", 2, true, true},
    [SEER_DTYPE_BF16] = {"bf16", 2, true, true},
    [SEER_DTYPE_I8] = {"i8", 1, false, true},
    [SEER_DTYPE_I16] = {"i16", 2, false, true},
    [SEER_DTYPE_I32] = {"i32", 4, false, true},
    [SEER_DTYPE_I64] = {"i64", 8, false, true},
    [SEER_DTYPE_U8] = {"u8", 1, false, false},
    [SEER_DTYPE_U16] = {"u16", 2, false, false},
    [SEER_DTYPE_U32] = {"u32", 4, false, false},
    [SEER_DTYPE_U64] = {"u64", 8, false, false},
    [SEER_DTYPE_BOOL] = {"bool", 1, false, false},
};

uint32_t seer_dtype_bytes(seer_dtype dtype) {
  SEER_ASSERT(dtype < SEER_DTYPE_COUNT, "dtype %d", (int)dtype);
  return kinds[dtype].bytes;
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

// ---- half formats: one rounding in double arithmetic, which is exact at these widths

static uint16_t small_from_f64(
    double value, int mantissa_bits, int min_exponent, int max_exponent) {
  int exponent_bits = 15 - mantissa_bits;
  uint16_t sign = signbit(value) ? 0x8000u : 0u;
  uint16_t inf = (uint16_t)(((1u << exponent_bits) - 1u) << mantissa_bits);
  if (isnan(value)) return (uint16_t)(sign | inf | (1u << (mantissa_bits - 1)));
  double a = fabs(value);
  if (isinf(a)) return sign | inf;
  if (a == 0) return sign;
  int e;
  frexp(a, &e);
  e -= 1;  // a = m * 2^e, 1 <= m < 2
  if (e < min_exponent) e = min_exponent;
  double steps = nearbyint(ldexp(a, mantissa_bits - e));  // a in units of the last place
  if (steps >= ldexp(1.0, mantissa_bits + 1)) {
    steps /= 2;
    e += 1;
  }
  if (e > max_exponent) return sign | inf;
  uint32_t m = (uint32_t)steps;
  uint32_t hidden = 1u << mantissa_bits;
  if (m < hidden) return (uint16_t)(sign | m);  // subnormal
  return (uint16_t)(sign | ((uint32_t)(e - min_exponent + 1) << mantissa_bits) | (m - hidden));
}

static double small_to_f64(uint16_t bits, int mantissa_bits, int min_exponent) {
  uint32_t top = (1u << (15 - mantissa_bits)) - 1u;
  uint32_t m = bits & ((1u << mantissa_bits) - 1u);
  uint32_t e = ((uint32_t)bits >> mantissa_bits) & top;
  double a;
  if (e == top) {
    a = m ? (double)NAN : (double)INFINITY;
  } else if (e == 0) {
    a = ldexp((double)m, min_exponent - mantissa_bits);
  } else {
    a = ldexp((double)(m + (1u << mantissa_bits)), (int)e - 1 + min_exponent - mantissa_bits);
  }
  return bits & 0x8000u ? -a : a;
}

uint16_t seer_f16_from_f64(double value) { return small_from_f64(value, 10, -14, 15); }
double seer_f16_to_f64(uint16_t bits) { return small_to_f64(bits, 10, -14); }
uint16_t seer_bf16_from_f64(double value) { return small_from_f64(value, 7, -126, 127); }
double seer_bf16_to_f64(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float f;
  memcpy(&f, &wide, sizeof f);
  return (double)f;
}

// ---- one element

#define ELEMENT(type) (memcpy(&x, (const char *)data + index * (int64_t)sizeof(type), sizeof(type)))

seer_scalar seer_scalar_load(seer_dtype dtype, const void *data, int64_t index) {
  seer_scalar r = {.i = 0};
  switch (dtype) {
    case SEER_DTYPE_F32: {
      float x;
      ELEMENT(float);
      r.f = (double)x;
      break;
    }
    case SEER_DTYPE_F64: {
      double x;
      ELEMENT(double);
      r.f = x;
      break;
    }
    case SEER_DTYPE_F16: {
      uint16_t x;
      ELEMENT(uint16_t);
      r.f = seer_f16_to_f64(x);
      break;
    }
    case SEER_DTYPE_BF16: {
      uint16_t x;
      ELEMENT(uint16_t);
      r.f = seer_bf16_to_f64(x);
      break;
    }
    case SEER_DTYPE_I8: {
      int8_t x;
      ELEMENT(int8_t);
      r.i = x;
      break;
    }
    case SEER_DTYPE_I16: {
      int16_t x;
      ELEMENT(int16_t);
      r.i = x;
      break;
    }
    case SEER_DTYPE_I32: {
      int32_t x;
      ELEMENT(int32_t);
      r.i = x;
      break;
    }
    case SEER_DTYPE_I64: {
      int64_t x;
      ELEMENT(int64_t);
      r.i = x;
      break;
    }
    case SEER_DTYPE_U8: {
      uint8_t x;
      ELEMENT(uint8_t);
      r.i = x;
      break;
    }
    case SEER_DTYPE_U16: {
      uint16_t x;
      ELEMENT(uint16_t);
      r.i = x;
      break;
    }
    case SEER_DTYPE_U32: {
      uint32_t x;
      ELEMENT(uint32_t);
      r.i = x;
      break;
    }
    case SEER_DTYPE_U64: {
      uint64_t x;
      ELEMENT(uint64_t);
      r.i = (int64_t)x;
      break;
    }
    case SEER_DTYPE_BOOL: {
      uint8_t x;
      ELEMENT(uint8_t);
      r.i = x != 0;
      break;
    }
    case SEER_DTYPE_NONE:
    case SEER_DTYPE_COUNT:
      SEER_ASSERT(false, "load of dtype %d", (int)dtype);
  }
  return r;
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
    case SEER_DTYPE_F16: {
      uint16_t x = seer_f16_from_f64(value.f);
      ELEMENT(uint16_t);
      break;
    }
    case SEER_DTYPE_BF16: {
      uint16_t x = seer_bf16_from_f64(value.f);
      ELEMENT(uint16_t);
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
