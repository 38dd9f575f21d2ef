// lanes.h - how many elements a vector loop works on at a time. Decided here alone: by a sketch,
// which reckons with it before anything is lowered, and by tile IR, which generates it.
// As many as one vector has of the widest type that the loop's statements store or load. Floats
// narrower than f32 are in vectors as f32. 64-bit indices, which data give or an ArgMax chooses,
// take two vectors rather than to halve what everything else does.
#ifndef SEER_SPACE_LANES_H
#define SEER_SPACE_LANES_H

#include "dag/dtype.h"
#include "setup/target.h"

// No access of a vector loop is longer: two vectors, of a target's, and of any.
#define SEER_LANES_ACCESS_VECTORS 2
#define SEER_LANES_MAX_BYTES (SEER_LANES_ACCESS_VECTORS * SEER_TARGET_MAX_VECTOR_BYTES)

typedef struct {
  uint32_t bytes;  // of the widest so far; 0 at first
} seer_lane;

void seer_lane_loads(seer_lane *lane, seer_dtype dtype);
// value: which of the statement's.
void seer_lane_stores(seer_lane *lane, seer_dtype dtype, uint32_t value);
uint32_t seer_lanes(const seer_lane *lane, uint32_t vector_bytes);  // at least 1

#endif
