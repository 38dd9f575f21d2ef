// draw.h - drawing the knobs of one stage at random: what sampling, mutation and the default share.
// Internal to space.
// Threads: any, each with a seer_draw and a seer_rng of its own.
#ifndef SEER_SPACE_DRAW_H
#define SEER_SPACE_DRAW_H

#include "base/arena.h"
#include "base/rng.h"
#include "space/frame.h"

typedef struct seer_divisors {
  uint32_t n;
  uint16_t value[];  // ascending, at most SEER_MAX_FACTOR
} seer_divisors;
const seer_divisors *seer_divisors_build(int64_t extent, seer_arena *arena);

typedef struct {
  const seer_sketch_list *list;
  const seer_sketch *sketch;
  seer_rng *rng;
  uint16_t *knob;
} seer_draw;

// The register tile of a stage: vector factor and rows, jointly, within the registers.
void seer_draw_tile(const seer_draw *draw, uint32_t stage);
// The levels of one axis outside the register tile; of a reduction axis its inner level.
void seer_draw_axis(const seer_draw *draw, uint32_t stage, uint32_t axis);
// All factors, location and unroll limit of a stage (not the number of parallel loops).
void seer_draw_stage(const seer_draw *draw, uint32_t stage);
// Numbers of parallel loops, from the extents that the frame of the other knobs has. Corrects frame
// and knobs.
void seer_draw_parallel(const seer_draw *draw, seer_frame *frame);

#endif
