// shapes.h - shapes of named inputs as --input-shapes gives them: "x:1x3x224x224,mask:1x128", or,
// where any batch of a range is to be taken, "x:1..32x3x224x224".
#ifndef SEER_SETUP_SHAPES_H
#define SEER_SETUP_SHAPES_H

#include "base/arena.h"
#include "base/status.h"

#define SEER_SHAPES_MAX_RANK 12
#define SEER_SHAPES_MAX_BATCH 256  // the end of a range

typedef struct {
  const char *name;  // may have colons: the last one is the separator
  const char *text;  // "1x3x224x224"
  uint32_t rank;
  int64_t dim[SEER_SHAPES_MAX_RANK];  // 0 and more
  int64_t last;  // 0: dim[0] is a size; else the first dimension is any from dim[0] to this
} seer_named_shape;

// Parts stand between , or ; and empty ones are left out. *out_shapes and its texts in `arena`. Any
// thread.
// Errors: INVALID quotes the part that is not NAME:1x3x224x224, or that has a range.
SEER_MUST_USE seer_status seer_shapes_parse(
    const char *text, seer_arena *arena, seer_named_shape **out_shapes, uint32_t *out_n);
// The same where a first dimension may be a range, 1 <= LO <= HI <= SEER_SHAPES_MAX_BATCH.
SEER_MUST_USE seer_status seer_shapes_parse_ranges(
    const char *text, seer_arena *arena, seer_named_shape **out_shapes, uint32_t *out_n);

#endif
