// names.h - looking up sketches by signature (text form, re-fitting). Internal to space.
#ifndef SEER_SPACE_NAMES_H
#define SEER_SPACE_NAMES_H

#include "space/sketch.h"

// In the list; NULL: it has no such sketch.
const seer_sketch *seer_names_sketch(
    const seer_sketch_list *list, const char *signature, uint16_t *out_index);

#endif
