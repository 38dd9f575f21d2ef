// host.h - what runs on the host between kernels: operators whose result's size only data decides.
// Plain loops, no memory of their own: what they need besides their operands is scratch. Every
// tensor is dense and row-major at its bounds, whatever part of it is in use; a result is zero
// beyond what was found, so that who computes at the bound reads numbers. Any thread, on operands
// of its own.
#ifndef SEER_RUNTIME_HOST_H
#define SEER_RUNTIME_HOST_H

#include "runtime/plan.h"

#define SEER_HOST_MAX_TENSORS 10

typedef enum {
  SEER_HOST_NONE,
  // x[...] -> indices i64[rank of x, bound], count i64[1]: NonZero's, in row-major order
  SEER_HOST_NONZERO,
  // boxes f32[b,s,4], scores f32[b,c,s], most i64[1], iou f32[1], score f32[1] (each of the last
  // three may be absent) -> selected i64[bound,3], count i64[1].  param 0: center_point_box
  SEER_HOST_NMS,
  // x -> y, first i64[bound], inverse i64[items], counts i64[bound], count i64[1] (all but the last
  // may be absent).  param 0: axis, -1 for single elements; param 1: sorted
  SEER_HOST_UNIQUE,
  // x -> y of the same bounds: x's elements that are in use, dense from y's start on
  SEER_HOST_COMPACT,
  SEER_HOST_COUNT
} seer_host_function;

typedef struct {
  int32_t onnx_dtype;  // 0: absent
  int32_t rank;
  int64_t dim[12];  // in use
  int64_t bound[12];  // in memory
  void *data;
} seer_host_tensor;

// Bytes of scratch that a call needs, by the bounds of its first two operands.
uint64_t seer_host_scratch_bytes(
    seer_host_function function, const seer_plan_tensor *in, const int64_t *param);
// NULL, or what is wrong with a call's tensors: what passes never leaves its buffers.
const char *seer_host_check(const seer_plan_host *host, const seer_plan_tensor *in,
    const seer_plan_tensor *out, uint64_t n_scratch_bytes);
// in and out as listed above. Cost: NONZERO, COMPACT linear; UNIQUE n log n comparisons; NMS s log
// s and selected x s comparisons for each class.
void seer_host_run(seer_host_function function, const seer_host_tensor *in,
    const seer_host_tensor *out, const int64_t *param, void *scratch);

#endif
