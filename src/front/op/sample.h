// sample.h - reading a tensor between its elements: at a real coordinate along some dimensions,
// interpolated from the nearest one, two or four elements of each. Shared by Resize, GridSample,
// RoiAlign and DeformConv. Private to src/front/op; memory and threads are util.h's.
#ifndef SEER_FRONT_OP_SAMPLE_H
#define SEER_FRONT_OP_SAMPLE_H

#include "front/op/util.h"

typedef enum { SEER_SAMPLE_NEAREST, SEER_SAMPLE_LINEAR, SEER_SAMPLE_CUBIC } seer_sample_mode;

// What an element outside is.
typedef enum {
  SEER_SAMPLE_ZEROS,
  SEER_SAMPLE_BORDER,  // the nearest one inside
  SEER_SAMPLE_REFLECT_EDGES,  // mirrored at the outer edge of the last one: 2 1 0 | 0 1 2
  SEER_SAMPLE_REFLECT_CENTRES  // mirrored at its middle: 2 1 | 0 1 2
} seer_sample_padding;

#define SEER_SAMPLE_MAX_TAPS 4

// The elements of one dimension that a coordinate is made of.
typedef struct {
  uint32_t n;
  seer_expr index[SEER_SAMPLE_MAX_TAPS];  // inside, whatever the coordinate is
  seer_expr weight[SEER_SAMPLE_MAX_TAPS];  // of the coordinate's type; 0: 1
  seer_expr inside[SEER_SAMPLE_MAX_TAPS];  // where the element counts; 0: everywhere
} seer_sample_taps;

// Keys' kernel at the four neighbours of a point that is t, of a float type, behind the second.
void seer_sample_cubic(seer_emit *emit, double a, seer_expr t, seer_expr out_weight[4]);
// The taps of coordinate x (f32 or f64, in elements) of a dimension of `extent`. A coordinate that
// is no number, or is far outside, reads what it reads without leaving the tensor.
void seer_sample_make(seer_emit *emit, seer_sample_mode mode, seer_sample_padding padding,
    double cubic_a, seer_expr x, int64_t extent, seer_sample_taps *out_taps);
// Input 0 of `node`, its dimensions [first, first + n) by their taps, the others at index[]: a sum
// of weights times elements, in `dtype`.
seer_expr seer_sample_load(seer_emit *emit, const seer_node *node, const seer_sample_taps *taps,
    uint32_t first, uint32_t n, const seer_expr *index, seer_dtype dtype);

#endif
