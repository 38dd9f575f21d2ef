// draw_items.h - the knobs of a GPU's stages. Internal to space.
// Threads: any, each with a seer_rng of its own. Errors: none; whether it can be run is for
// seer_block_check to say.
#ifndef SEER_SPACE_DRAW_ITEMS_H
#define SEER_SPACE_DRAW_ITEMS_H

#include "space/frame.h"

// All knobs of a stage, at random; without rng those of the default schedule.
void seer_draw_items(const seer_sketch *sketch, uint32_t stage, seer_rng *rng, uint16_t *knob);
// All knobs of a sketch: a warp of items, of one element each, which fits everywhere.
void seer_draw_least_items(const seer_sketch_list *list, const seer_sketch *sketch, uint16_t *knob);

#endif
