// knob.c - what values of knobs stand for, and the names of what refuses them.
#include "space/sketch.h"

static const uint16_t unroll_limits[SEER_SPACE_COUNT][SEER_UNROLL_LIMITS] = {
    [SEER_SPACE_FULL] = {1, 4, 16, 64},
    [SEER_SPACE_ANSOR] = {0, 16, 64, 512},  // auto_unroll_max_step on CPUs
};

uint16_t seer_unroll_limit(seer_space_kind space, uint16_t value) {
  SEER_ASSERT(value < SEER_UNROLL_LIMITS, "value %u of %d", value, SEER_UNROLL_LIMITS);
  return unroll_limits[space][value];
}

static const char *const reject_names[SEER_REJECT_COUNT] = {"none", "registers", "local-bytes",
    "too-many-parts", "padding", "no-match", "unroll", "duplicate", "space", "weights", "pool",
    "same-code"};

const char *seer_reject_name(seer_reject reject) { return reject_names[reject]; }
