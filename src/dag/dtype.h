// dtype.h - element types.
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
  SEER_DTYPE_COUNT
} seer_dtype;

uint32_t seer_dtype_bytes(seer_dtype dtype);
const char *seer_dtype_name(seer_dtype dtype);  // "f32", "i64", "bool"
bool seer_dtype_parse(const char *name, seer_dtype *out_dtype);
bool seer_dtype_is_float(seer_dtype dtype);
bool seer_dtype_is_signed(seer_dtype dtype);  // signed integers and floats
// One element from / to memory, as double (exact for all but 64-bit integers) or as int64. Doubles
// become integers toward zero, saturating, NaN as 0; integers are cut to the type's bits. U64
// travels as its bit pattern in int64.
double seer_dtype_load_f64(seer_dtype dtype, const void *data, int64_t index);
void seer_dtype_store_f64(seer_dtype dtype, void *data, int64_t index, double value);
int64_t seer_dtype_load_i64(seer_dtype dtype, const void *data, int64_t index);
void seer_dtype_store_i64(seer_dtype dtype, void *data, int64_t index, int64_t value);

// Half formats to and from bits, round to nearest even.
uint16_t seer_f16_from_f64(double value);
double seer_f16_to_f64(uint16_t bits);
uint16_t seer_bf16_from_f64(double value);
double seer_bf16_to_f64(uint16_t bits);

#endif
