// skeleton.h - what the files that turn a plan into a sketch share:
//   skeleton.c   stages one after another, locations, choices
//   tiled.c      the loops of a tiled stage and of its reader, by the level table
//   parts.c      knobs and loops
// A builder lives for one call of seer_skeleton_build; what it makes is in context->arena. Internal
// to space/sketch. Errors: none; a knob that does not fit sets is_full.
#ifndef SEER_SPACE_SKETCH_SKELETON_H
#define SEER_SPACE_SKETCH_SKELETON_H

#include "space/rule.h"

typedef struct {
  const seer_rule_context *context;
  const seer_plan *plan;
  seer_sketch *sketch;
  seer_knob knob[SEER_SCHEDULE_MAX_KNOBS];
  uint32_t n_knob;
  bool is_full;  // a knob did not fit
  // by stage and loop: of two loops of an axis the smaller one's is more significant
  uint8_t rank[SEER_DAG_MAX_STAGES][SEER_DAG_MAX_AXES * 4];
} seer_skeleton;

// ---- parts.c
// SEER_NO_KNOB: it did not fit.
uint16_t seer_skeleton_knob(seer_skeleton *b, const seer_knob *knob);
// The spatial or reduction axes that have loops. out_axis: SEER_DAG_MAX_AXES.
uint32_t seer_skeleton_axes(
    const seer_skeleton *b, uint32_t stage, bool is_reduce, uint8_t *out_axis);
// The knob of an axis's level; SEER_NO_KNOB: it did not fit.
uint16_t seer_skeleton_factor(seer_skeleton *b, uint32_t stage, uint32_t axis, uint32_t level);
void seer_skeleton_mark_tile(seer_skeleton *b, uint16_t knob, bool is_vector);
// Adds a loop inside those that the stage has; its `level` and what it is are filled in once all
// are there. `rank`: as in seer_skeleton.
void seer_skeleton_loop(seer_skeleton *b, uint32_t stage, seer_sketch_loop loop, uint32_t rank);
// One that is less significant than those of its axis that the stage has.
void seer_skeleton_add(seer_skeleton *b, uint32_t stage, uint32_t axis, uint16_t knob);
// Adds block loops and gives the knobs that limit what is inside them (".0"); NO_KNOB without a
// block.
void seer_skeleton_block(
    seer_skeleton *b, uint32_t stage, uint32_t n, const uint8_t *axis, uint16_t *out_knob);

// ---- tiled.c: a tiled stage and, if it has one, its FOLLOW partner.
void seer_skeleton_tiled(seer_skeleton *b, uint32_t stage);

#endif
