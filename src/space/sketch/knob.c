// knob.c - what values of knobs stand for, and the names of what refuses them.
#include "space/sketch.h"

const uint16_t seer_unroll_limits[] = {1, 4, 16, 64};
const size_t seer_unroll_limits_count = SEER_COUNT_OF(seer_unroll_limits);

static const char *const reject_names[SEER_REJECT_COUNT] = {"none", "registers", "local-bytes",
    "too-many-parts", "padding", "no-match", "unroll", "duplicate", "space", "weights", "pool"};

const char *seer_reject_name(seer_reject reject) { return reject_names[reject]; }
