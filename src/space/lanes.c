// lanes.c - see lanes.h.
#include "space/lanes.h"

static void widen(seer_lane *lane, uint32_t bytes) {
  if (bytes > lane->bytes) lane->bytes = bytes;
}

static uint32_t bytes_of(seer_dtype dtype) { return seer_dtype_bytes(seer_dtype_computed(dtype)); }

void seer_lane_loads(seer_lane *lane, seer_dtype dtype) {
  widen(lane, dtype == SEER_DTYPE_I64 ? 4 : bytes_of(dtype));
}

void seer_lane_stores(seer_lane *lane, seer_dtype dtype, uint32_t value) {
  if (value > 0)
    seer_lane_loads(lane, dtype);
  else
    widen(lane, bytes_of(dtype));
}

uint32_t seer_lanes(const seer_lane *lane, uint32_t vector_bytes) {
  uint32_t lanes = vector_bytes / (lane->bytes ? lane->bytes : 4);
  return lanes ? lanes : 1;
}
