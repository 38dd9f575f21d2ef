// schedule.c - schedules as values: normalise, hash, compare; and the checks that a frame must
// pass.
#include "space/schedule.h"

#include <string.h>

#include "base/map.h"
#include "space/block_shape.h"
#include "space/frame.h"

// Limits of a candidate. Of the full space: the register tile must fit beside one broadcast and a
// row of the other operand, or be matrices, which have registers of their own; a thread's local
// buffers stay within an L2 cache; a fully unrolled tile of more vectors than this only costs code
// and compile time.
#define MAX_LOCAL_BYTES (1 << 20)
#define MAX_TILE_VECTORS 64
#define MAX_TRANSFORM_STEPS 256  // vectors times unrolled reduction steps
#define MAX_PARTS 65535
// Of the space ansor: what cannot be built or run. What spills or is unrolled far is a candidate
// like others there (code generation leaves as loops what would be more than 1,024 copies).
#define MAX_BUILT_LOCAL_BYTES (64 << 20)  // of each thread's scratch
#define MAX_BUILT_PARTS (1 << 30)  // a phase's number of parts has 32 bits

void seer_schedule_normalise(const seer_sketch_list *list, seer_schedule *schedule) {
  seer_frame frame;
  seer_frame_normalise(list, schedule, &frame);
}

uint64_t seer_schedule_hash(const seer_schedule *schedule) {
  size_t n_bytes = offsetof(seer_schedule, knob) + sizeof(uint16_t) * schedule->n;
  return seer_hash_bytes(schedule, n_bytes, 0);
}

bool seer_schedule_equal(const seer_schedule *a, const seer_schedule *b) {
  return a->sketch == b->sketch && a->n == b->n &&
      memcmp(a->knob, b->knob, sizeof(uint16_t) * a->n) == 0;
}

static seer_reject check_buildable(const seer_frame *frame) {
  for (uint32_t r = 0; r < frame->n_root; r++) {
    if (seer_frame_parts(frame, frame->root[r]) > MAX_BUILT_PARTS)
      return SEER_REJECT_TOO_MANY_PARTS;
  }
  bool fits = seer_frame_local_bytes(frame) <= MAX_BUILT_LOCAL_BYTES;
  return fits ? SEER_REJECT_NONE : SEER_REJECT_LOCAL_BYTES;
}

seer_reject seer_frame_check(const seer_sketch_list *list, const seer_frame *frame) {
  if (list->target->kind != SEER_TARGET_CPU) return seer_block_check(list, frame);
  if (list->space == SEER_SPACE_ANSOR) return check_buildable(frame);
  for (uint32_t k = 0; k < frame->sketch->n_order; k++) {
    uint32_t stage = frame->sketch->order[k];
    const seer_frame_stage *s = &frame->stage[stage];
    if (s->place != SEER_PLACE_ROOT && s->place != SEER_PLACE_AT) continue;
    seer_frame_tile tile = seer_frame_register_tile(frame, stage);
    bool accumulates = frame->sketch->stage[stage].role == SEER_ROLE_TILED ||
        frame->sketch->dag->stage[stage].n_reduce > 0;
    if (tile.rows * tile.vectors > MAX_TILE_VECTORS) return SEER_REJECT_UNROLL;
    if (tile.steps > 1 && tile.rows * tile.vectors * tile.steps > MAX_TRANSFORM_STEPS)
      return SEER_REJECT_UNROLL;
    bool fits = tile.rows * tile.vectors + tile.vectors + 1 <= list->target->n_vector_registers;
    if (accumulates && !fits && !seer_frame_is_of_matrices(frame, stage))
      return SEER_REJECT_REGISTERS;
    if (s->n_parallel > 0 && seer_frame_parts(frame, stage) > MAX_PARTS)
      return SEER_REJECT_TOO_MANY_PARTS;
  }
  if (seer_frame_local_bytes(frame) > MAX_LOCAL_BYTES) return SEER_REJECT_LOCAL_BYTES;
  return SEER_REJECT_NONE;
}

seer_reject seer_schedule_check(const seer_sketch_list *list, const seer_schedule *schedule) {
  seer_frame frame;
  seer_frame_make(list, schedule, &frame);
  return seer_frame_check(list, &frame);
}
