// dtype.h - element types.
// An element takes a whole number of bytes everywhere. Types of 2 and 4 bits take one byte each (I4
// as int8 in -8..7, U4 as uint8 in 0..15, I2 in -2..1, U2 in 0..3, F4E2M1 as its bits; only the low
// bits of a byte are read): they are four and two a byte in ONNX files only. Floats narrower than
// f32 are types of storage: loaded, moved, compared and stored; what is computed from them is
// computed in f32 (seer_dtype_computed), and a cast rounds it to nearest even, where overflow gives
// infinity, in a type that has none NaN, and the largest number where there is neither.
// All is pure: safe from any thread. `data` is borrowed, and may be at any address.
#ifndef SEER_DAG_DTYPE_H
#define SEER_DAG_DTYPE_H

#include "base/base.h"

typedef enum {
  SEER_DTYPE_NONE,
  SEER_DTYPE_F32,
  SEER_DTYPE_F64,
  SEER_DTYPE_F16,
  SEER_DTYPE_BF16,
  SEER_DTYPE_I8,
  SEER_DTYPE_I16,
  SEER_DTYPE_I32,
  SEER_DTYPE_I64,
  SEER_DTYPE_U8,
  SEER_DTYPE_U16,
  SEER_DTYPE_U32,
  SEER_DTYPE_U64,
  SEER_DTYPE_BOOL,  // one byte, 0 or 1
  SEER_DTYPE_F8E4M3FN,  // 4 bits of exponent, 3 of mantissa; finite: no infinity, one NaN
  // "unsigned zero": 0x80 is the only NaN, there is no -0
  SEER_DTYPE_F8E4M3FNUZ,
  SEER_DTYPE_F8E5M2,  // f16 without its low byte
  SEER_DTYPE_F8E5M2FNUZ,
  SEER_DTYPE_I4,
  SEER_DTYPE_U4,
  SEER_DTYPE_I2,
  SEER_DTYPE_U2,
  SEER_DTYPE_F4E2M1,  // +-0, 0.5, 1, 1.5, 2, 3, 4, 6: neither infinity nor NaN, which becomes -0
  SEER_DTYPE_F8E8M0,  // 2^-127 to 2^127 and NaN: neither sign nor zero (scales of blocks)
  SEER_DTYPE_COUNT
} seer_dtype;

// One element's value.
typedef union {
  double f;  // where the dtype is a float
  int64_t i;  // integers and BOOL; U64 as its bit pattern
} seer_scalar;

uint32_t seer_dtype_bytes(seer_dtype dtype);
uint32_t seer_dtype_bits(seer_dtype dtype);  // of a value: 2, 4, or all of its bytes'
const char *seer_dtype_name(seer_dtype dtype);  // "f32", "i64", "bool"
bool seer_dtype_parse(const char *name, seer_dtype *out_dtype);
bool seer_dtype_is_float(seer_dtype dtype);
bool seer_dtype_is_signed(seer_dtype dtype);  // signed integers and floats
// An integer of fewer bits than a byte: what lies in its byte beside them means nothing.
bool seer_dtype_is_small_int(seer_dtype dtype);
bool seer_dtype_is_byte(seer_dtype dtype);  // u8 or i8
// What numbers of a type are computed in: f32 for narrower floats, else the type itself.
seer_dtype seer_dtype_computed(seer_dtype dtype);
// One element from / to memory, as double (exact for all but 64-bit integers) or as int64. Doubles
// become integers toward zero, saturating, NaN as 0; integers are cut to the type's bits. U64
// travels as its bit pattern in int64.
double seer_dtype_load_f64(seer_dtype dtype, const void *data, int64_t index);
void seer_dtype_store_f64(seer_dtype dtype, void *data, int64_t index, double value);
int64_t seer_dtype_load_i64(seer_dtype dtype, const void *data, int64_t index);
void seer_dtype_store_i64(seer_dtype dtype, void *data, int64_t index, int64_t value);

// What the bits of a float narrower than f32 mean: sign, exponent, mantissa from the top down.
typedef struct {
  uint8_t exponent_bits, mantissa_bits;
  int16_t bias;
  uint16_t largest;  // bits of the largest finite number
  uint16_t overflow;  // bits of what is beyond it: infinity, NaN, or itself
  uint16_t nan;  // or what it becomes
  bool is_unsigned_zero;  // no -0, and a NaN without sign in its place
  bool is_power;  // 2^(bits - bias) alone: what is no such number's neighbour is NaN, ties go up
} seer_float_format;
const seer_float_format *seer_dtype_format(seer_dtype dtype);  // NULL: not such a type
static inline bool seer_float_has_infinity(const seer_float_format *format) {
  return format->overflow != format->nan && format->overflow != format->largest;
}
uint16_t seer_float_to_bits(const seer_float_format *format, double value);  // to nearest even
double seer_float_from_bits(const seer_float_format *format, uint16_t bits);
// The largest finite number of a type with a format.
double seer_dtype_largest(seer_dtype dtype);

#endif
