// elem.h - what host functions share of elements and dimensions. Private to runtime/host.
#ifndef SEER_RUNTIME_HOST_ELEM_H
#define SEER_RUNTIME_HOST_ELEM_H

#include <stdbool.h>
#include <string.h>

#include "runtime/exec.h"
#include "runtime/host.h"

// ONNX's numbers of types.
enum {
  SEER_HOST_F32 = 1,
  SEER_HOST_U8 = 2,
  SEER_HOST_I8 = 3,
  SEER_HOST_U16 = 4,
  SEER_HOST_I16 = 5,
  SEER_HOST_I32 = 6,
  SEER_HOST_I64 = 7,
  SEER_HOST_BOOL = 9,
  SEER_HOST_F16 = 10,
  SEER_HOST_F64 = 11,
  SEER_HOST_U32 = 12,
  SEER_HOST_U64 = 13,
  SEER_HOST_BF16 = 16
};
enum { SEER_HOST_MAX_RANK = 12, SEER_HOST_MAX_ITEMS = 1 << 28 };

static inline int64_t seer_host_product(const int64_t *dim, int32_t from, int32_t to) {
  int64_t n = 1;
  for (int32_t d = from; d < to; d++) n *= dim[d];
  return n;
}

static inline uint64_t seer_host_bytes(const seer_host_tensor *t) {
  return (uint64_t)seer_host_product(t->bound, 0, t->rank) * seer_onnx_dtype_bytes(t->onnx_dtype);
}

static inline void seer_host_clear(const seer_host_tensor *t) {
  if (t->onnx_dtype) memset(t->data, 0, seer_host_bytes(t));
}

// How much was found, i64[1]; may be absent.
static inline void seer_host_put_count(const seer_host_tensor *t, int64_t n) {
  if (t->onnx_dtype) *(int64_t *)t->data = n;
}

// Steps `index` through `dim` in row-major order, last dimension first; false after the last.
static inline bool seer_host_next(int64_t *index, const int64_t *dim, int32_t rank) {
  for (int32_t d = rank; d-- > 0;) {
    if (++index[d] < dim[d]) return true;
    index[d] = 0;
  }
  return false;
}

static inline int64_t seer_host_offset(const int64_t *index, const int64_t *bound, int32_t rank) {
  int64_t at = 0;
  for (int32_t d = 0; d < rank; d++) at = at * bound[d] + index[d];
  return at;
}

// Part `index` of n: [*out_from, *out_to) of `all`, which is below 2^50.
static inline void seer_host_share(
    seer_host_part part, int64_t all, int64_t *out_from, int64_t *out_to) {
  *out_from = all * part.index / part.n;
  *out_to = all * (part.index + 1) / part.n;
}

// As many parts as there is work for, and threads; at least one.
static inline uint32_t seer_host_parts_of(int64_t work, int64_t worth, uint32_t n_threads) {
  int64_t n = work / worth;
  return n < 1 ? 1 : n < n_threads ? (uint32_t)n : n_threads;
}

// ---- keys: 64-bit numbers in the order of the elements, so that one comparison serves all types;
// -0 and 0 are equal, and all NaN are equal and greatest.

typedef struct {
  uint64_t sign, infinity;  // bits; infinity 0: an integer
  bool is_signed;  // of integers
  uint8_t n_bytes;
} seer_host_order;

static inline seer_host_order seer_host_order_of(int32_t onnx_dtype) {
  uint32_t n_bytes = seer_onnx_dtype_bytes(onnx_dtype), exponent = 0;
  if (onnx_dtype == SEER_HOST_F32 || onnx_dtype == SEER_HOST_BF16) exponent = 8;
  if (onnx_dtype == SEER_HOST_F16) exponent = 5;
  if (onnx_dtype == SEER_HOST_F64) exponent = 11;
  uint64_t sign = UINT64_C(1) << (8 * n_bytes - 1);
  bool is_signed = onnx_dtype == SEER_HOST_I8 || onnx_dtype == SEER_HOST_I16 ||
      onnx_dtype == SEER_HOST_I32 || onnx_dtype == SEER_HOST_I64;
  return (seer_host_order){.sign = sign,
      .infinity = exponent ? sign - (sign >> exponent) : 0,
      .is_signed = is_signed,
      .n_bytes = (uint8_t)n_bytes};
}

static inline uint64_t seer_host_key(seer_host_order by, uint64_t bits) {
  if (by.infinity == 0) return by.is_signed ? bits ^ by.sign : bits;
  uint64_t size = bits & (by.sign - 1);
  uint64_t key = bits & by.sign ? by.sign - size : by.sign + size;
  return size > by.infinity ? UINT64_MAX : key;
}

// The bits of an element; little-endian, as the plan is.
static inline uint64_t seer_host_bits(const void *data, int64_t i, uint32_t n_bytes) {
  uint64_t wide = 0;
  memcpy(&wide, (const uint8_t *)data + (uint64_t)i * n_bytes, n_bytes);
  return wide;
}

// ---- halves

float seer_host_from_half(int32_t onnx_dtype, uint16_t bits);  // f16, bf16
// To nearest even; what is too large becomes infinite.
uint16_t seer_host_to_half(int32_t onnx_dtype, float value);

// ---- what `fits` asks

static inline bool seer_host_is_list(const seer_plan_tensor *t, int32_t onnx_dtype, int64_t n) {
  return t->onnx_dtype == onnx_dtype && seer_host_product(t->dim, 0, t->rank) == n;
}

static inline bool seer_host_is_absent_or(
    const seer_plan_tensor *t, int32_t onnx_dtype, int64_t n) {
  return t->onnx_dtype == 0 || seer_host_is_list(t, onnx_dtype, n);
}

// One type; and the same bounds, but in dimension `but` (-1: none), which is not looked at.
static inline bool seer_host_alike(
    const seer_plan_tensor *a, const seer_plan_tensor *b, int64_t but) {
  bool is_same = a->onnx_dtype != 0 && a->onnx_dtype == b->onnx_dtype && a->rank == b->rank;
  for (int32_t d = 0; d < a->rank && is_same; d++) is_same = d == but || a->dim[d] == b->dim[d];
  return is_same;
}

#endif
