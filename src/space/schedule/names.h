// names.h - looking up sketches, knobs and locations by name (text form, re-fitting). Internal to
// space.
#ifndef SEER_SPACE_NAMES_H
#define SEER_SPACE_NAMES_H

#include "space/sketch.h"

const seer_sketch *seer_names_sketch(
    const seer_sketch_list *list, const char *signature, uint16_t *out_index);
int seer_names_knob(const seer_sketch *sketch, const char *name);  // -1: none
// "root", "inline" or the innermost enclosing loop: "conv.y.0" (stage, axis, level of that loop).
const char *seer_names_location(
    const seer_sketch *sketch, const seer_location *location, seer_arena *arena);
int seer_names_find_location(
    const seer_sketch *sketch, uint32_t stage, const char *name, seer_arena *arena);

#endif
