// resize.h - what Resize reads where: shared by its emitter and its expansion (antialias).
// Pure but for the arena. Errors: INVALID names the attribute or input; UNSUPPORTED where one is
// not constant.
#ifndef SEER_FRONT_OP_RESIZE_H
#define SEER_FRONT_OP_RESIZE_H

#include "front/expand/expand.h"

// One dimension: output element i reads around x = (i + before) * factor / divisor + after,
// computed in this order: ties must fall as the standard's do.
typedef struct {
  bool is_resized;
  bool is_cropped;  // where x lies outside [0, in - 1] the output is extrapolation_value
  double scale, before, factor, divisor, after;
  int64_t in, out;
} seer_resize_dimension;

typedef struct {
  uint32_t rank, n_resized;
  seer_resize_dimension dim[SEER_MAX_RANK];
} seer_resize_plan;

// Reads attributes and the constant inputs roi, scales and sizes.
SEER_MUST_USE seer_status seer_resize_read(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_resize_plan *out_plan);
// The operator with antialias = 1: a weighted sum along each dimension (front/expand/geometry.c).
seer_status seer_resize_expand(seer_expand *e);

// What elements of `dtype` are interpolated in: of 8-bit integers f32, of other integers f64.
seer_dtype seer_resize_dtype(seer_dtype dtype);

#endif
