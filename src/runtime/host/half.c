// half.c - f16 and bf16 from and to f32, without an instruction set that has them.
#include "runtime/host/elem.h"

static float from_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint32_t to_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

float seer_host_from_half(int32_t onnx_dtype, uint16_t half) {
  if (onnx_dtype == SEER_HOST_BF16) return from_bits((uint32_t)half << 16);
  uint32_t sign = (uint32_t)(half & 0x8000u) << 16, rest = half & 0x7fffu;
  if (rest >= 0x7c00u) return from_bits(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
  if (rest >= 0x400u) return from_bits(sign | ((rest << 13) + (112u << 23)));
  float small = (float)rest * 0x1p-24f;  // exact
  return sign ? -small : small;
}

// Drops the n low bits, to nearest even.
static uint32_t rounded(uint32_t bits, uint32_t n) {
  return (bits + ((1u << (n - 1)) - 1) + ((bits >> n) & 1u)) >> n;
}

uint16_t seer_host_to_half(int32_t onnx_dtype, float value) {
  uint32_t bits = to_bits(value), sign = bits >> 31 << 15, rest = bits & 0x7fffffffu;
  bool is_nan = rest > 0x7f800000u;
  if (onnx_dtype == SEER_HOST_BF16)
    return (uint16_t)(is_nan ? sign | 0x7fc0u : sign | rounded(rest, 16));
  if (is_nan) return (uint16_t)(sign | 0x7e00u);
  if (rest >= 0x47800000u) return (uint16_t)(sign | 0x7c00u);  // 65536 and more
  if (rest >= 0x38800000u) return (uint16_t)(sign | rounded(rest - (112u << 23), 13));
  // In steps of 2^-24: adding 2^(23 - 24) leaves just those bits of the mantissa.
  return (uint16_t)(sign | (to_bits(from_bits(rest) + 0x1p-1f) - to_bits(0x1p-1f)));
}
