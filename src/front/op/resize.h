// resize.h - what Resize reads where: shared by its emitter and its expansion (antialias).
// Pure but for the arena. Errors: INVALID names the attribute or input; UNSUPPORTED where one is
// not constant.
#ifndef SEER_FRONT_OP_RESIZE_H
#define SEER_FRONT_OP_RESIZE_H

#include "front/expand/expand.h"

// One dimension: output element i reads around
//   x = (i + before) * factor[0] * factor[1] / divisor + after[0] + after[1],
// computed in this order in f32, or in f64 and rounded to it in the end: ties and the element that
// a coordinate falls on must be those of ONNX Runtime and PyTorch, which have only floats.
typedef struct {
  bool is_resized;
  bool is_cropped;  // where x lies outside [0, in - 1] the output is extrapolation_value
  bool is_wide;  // in f64
  float scale;
  double before, factor[2], divisor, after[2];
  int64_t in, out;
} seer_resize_dimension;

typedef struct {
  uint32_t rank, n_resized;
  seer_resize_dimension dim[SEER_MAX_RANK];
} seer_resize_plan;

// Reads attributes and the constant inputs roi, scales and sizes.
SEER_MUST_USE seer_status seer_resize_read(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_resize_plan *out_plan);
float seer_resize_coordinate(const seer_resize_dimension *dimension, int64_t i);
// The operator with antialias = 1: a weighted sum along each dimension (front/expand/geometry.c).
seer_status seer_resize_expand(seer_expand *e);

// What elements of `dtype` are interpolated in: of 8-bit integers f32, of other integers f64.
seer_dtype seer_resize_dtype(seer_dtype dtype);

#endif
