// limit.c - an option and the files' sizes -> what a call may take.
#include "front/limit.h"

// Times the bytes of the files. 4-bit weights are unpacked (2), dequantised to f32 (8), and laid
// out anew: 10 at most at a time; the rest is for names and nodes of files that are all graph.
#define BYTES_A_FILE_BYTE 16
// Folding a weight is a few operations an element.
#define OPS_A_FILE_BYTE 64
// Operations for each byte of the constant part: with 0.2 GiB 3.2e8, some 3 s of interpretation.
#define OPS_A_BYTE 1.5

static uint64_t times(uint64_t a, uint64_t b) {
  uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX / 8 : product;
}

uint64_t seer_front_limit_bytes(const seer_context *context, uint64_t file_bytes) {
  double gib = seer_context_f64(context, SEER_OPT_MODEL_MEMORY);
  return (uint64_t)(gib * 1073741824) + times(file_bytes, BYTES_A_FILE_BYTE);
}

seer_status seer_front_limited(
    const seer_context *context, uint64_t file_bytes, seer_recover_call call, void *user) {
  if (file_bytes == 0) return seer_recover(call, user);
  double gib = seer_context_f64(context, SEER_OPT_MODEL_MEMORY);
  const seer_recover_limits limits = {.bytes = seer_front_limit_bytes(context, file_bytes),
      .ops = (uint64_t)(gib * 1073741824 * OPS_A_BYTE) + times(file_bytes, OPS_A_FILE_BYTE),
      .whose = "a model with files of this size",
      .raised_by = "--model-memory",
      .stop = seer_context_stop(context)};
  return seer_recover_within(&limits, call, user);
}

void seer_front_allow(uint64_t file_bytes) {
  seer_recover_raise(times(file_bytes, BYTES_A_FILE_BYTE), times(file_bytes, OPS_A_FILE_BYTE));
}

void seer_front_allow_all(void) { seer_recover_raise(UINT64_MAX / 4, UINT64_MAX / 4); }
