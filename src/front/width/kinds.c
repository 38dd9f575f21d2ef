// kinds.c - see kinds.h.
#include "front/width/kinds.h"

#include <string.h>

static const struct {
  const char *name;
  uint8_t digits;
  bool is_of_warps;
} precisions[SEER_PRECISION_COUNT] = {
    [SEER_PRECISION_F32] = {"f32", 0, false},
    [SEER_PRECISION_BF16] = {"bf16", 7, false},
    [SEER_PRECISION_F16] = {"f16", 10, false},
    [SEER_PRECISION_TF32] = {"tf32", 10, true},
};

const char *seer_precision_name(seer_precision precision) { return precisions[precision].name; }
uint32_t seer_precision_digits(seer_precision precision) { return precisions[precision].digits; }

bool seer_precision_parse(const char *name, seer_precision *out) {
  for (uint32_t k = 0; k < SEER_PRECISION_COUNT; k++) {
    if (strcmp(precisions[k].name, name) != 0) continue;
    *out = (seer_precision)k;
    return true;
  }
  return false;
}

bool seer_precision_is_of(seer_precision precision, const seer_target *target) {
  return !precisions[precision].is_of_warps || seer_target_has_mma(target);
}

seer_status seer_precision_check(seer_precision precision, const seer_target *target) {
  char name[SEER_TARGET_NAME_BYTES];
  if (seer_precision_is_of(precision, target)) return SEER_OK;
  seer_target_name(target, name);
  return SEER_FAIL(UNSUPPORTED,
      "--precision %s is what tensor cores of CUDA's devices multiply from sm_%d on, and the "
      "target "
      "is %s: --target cuda:sm_%d or a newer one, or --precision f32, bf16 or f16",
      seer_precision_name(precision), SEER_TARGET_MMA_ARCHITECTURE, name,
      SEER_TARGET_MMA_ARCHITECTURE);
}
