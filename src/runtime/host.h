// host.h - what runs on the host between kernels: operators whose result's size only data decides,
// and those that one pass in order does with less work than independent elements can (scatters,
// the largest of a row, running sums).
//
// To add a function: its number at the end of seer_host_function (numbers are in libraries), a file
// host/<family>.c with its seer_host_desc, a line in host.c's table, and in front/op/host.c (or the
// operator's own file) an entry of the inner domain that names it: op.h, `host`.
//
// What a function may rely on, and must keep to:
//   tensors   dense and row-major at their bounds, whatever part of a dimension is in use; no
//             output overlaps anything else. `fits` has passed them, so bounds, types and
//             parameters are as it wants them; elements may be anything: indices that are data are
//             checked where they are used, and what is out of range never touches memory
//   results   zero, or any number, beyond what was found: who computes at the bound reads numbers.
//             They do not depend on the number of threads
//   memory    none of its own: what it needs besides its operands is scratch, as `room` says.
//             From libc it has memcpy, memmove, memset, memcmp (runtime/libc.inc), no maths
//   threads   its phases run one after another; the parts of a phase run in any order, on any
//             threads of the pool at once, and write to different memory
// Functions cannot fail: what may be wrong with a plan is found when it is opened.
#ifndef SEER_RUNTIME_HOST_H
#define SEER_RUNTIME_HOST_H

#include "runtime/plan.h"
#include "runtime/pool.h"

#define SEER_HOST_MAX_TENSORS 10
#define SEER_HOST_MAX_PHASES 3

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
  // x, indices i32 or i64, updates, the last two alike and but for the axis within x -> y: as
  // ScatterElements.  param 0: axis; param 1: seer_host_join. x may have one element: y is that
  // everywhere, before the updates. Updates are taken in row-major order; negative indices count
  // from the end of what is in use; updates with an index out of range are left out.
  SEER_HOST_SCATTER_ELEMENTS,
  // x, indices i32 or i64 [places..., n], updates [places..., what is behind x's first n
  // dimensions] -> y: as ScatterND.  param 1: seer_host_join. All else as above.
  SEER_HOST_SCATTER_ND,
  // x, k i64[1] (may be absent: the bound) -> values, indices i64 (one of both may be absent): the
  // first k along an axis of x sorted, zeros behind them.  param 0: axis; param 1: the largest
  // come first, else the least. NaN is larger than all numbers; of equals the lower index is first.
  SEER_HOST_TOP,
  // x -> y: sums (products) of what is up to each element along an axis.  param 0: axis; param 1:
  // 1: without the element itself, + 2: from the end, + 4: products. Floats are summed in f64.
  SEER_HOST_RUNNING,
  // x -> y of the same bounds, and of a type with as many bytes: x's bytes. Neither is bool.
  SEER_HOST_BITS,
  // An operator of a user's (runtime/host/custom.h): as many tensors as it has.  param 0: offset in
  // the plan of its seer_plan_custom. None of the functions here, and not for seer_host_run.
  SEER_HOST_CUSTOM,
  SEER_HOST_COUNT
} seer_host_function;

// What an update does to an element: takes its place, or joins it. NaN stays in MIN and MAX; of
// bools ADD and MAX are "or", MUL and MIN "and". f16 and bf16 are joined in f32, and rounded once.
typedef enum {
  SEER_HOST_PUT,
  SEER_HOST_ADD,
  SEER_HOST_MUL,
  SEER_HOST_MIN,
  SEER_HOST_MAX
} seer_host_join;

typedef struct {
  int32_t onnx_dtype;  // 0: absent
  int32_t rank;
  int64_t dim[12];  // in use
  int64_t bound[12];  // in memory
  void *data;
} seer_host_tensor;

typedef struct {
  seer_host_function function;
  const seer_host_tensor *in, *out;  // as listed above
  const int64_t *param;
  uint8_t *scratch;  // of the call
  // of thread t: thread_scratch + t * thread_stride
  uint8_t *thread_scratch;
  uint64_t thread_stride;
} seer_host_call;

// Bytes of scratch that a call needs: in all, and for each thread. Aligned for any element.
typedef struct {
  uint64_t shared, thread;
} seer_host_room;

typedef struct {
  uint32_t index, n;  // of n parts
  void *scratch;  // the thread's
} seer_host_part;

typedef struct {
  seer_host_function function;
  uint32_t n_in, n_out;
  // Types, bounds and parameters are such that no phase leaves its buffers, whatever the elements.
  bool (*fits)(const seer_plan_tensor *in, const seer_plan_tensor *out, const int64_t *param);
  // By bounds that fit; NULL: none.
  seer_host_room (*room)(
      const seer_plan_tensor *in, const seer_plan_tensor *out, const int64_t *param);
  uint32_t n_phase;
  // How many parts a phase has for so many threads; NULL: one. 0: nothing is to be done. A part is
  // worth a hand-over to another thread: some ten microseconds of work.
  uint32_t (*n_parts)(const seer_host_call *call, uint32_t phase, uint32_t n_threads);
  void (*phase[SEER_HOST_MAX_PHASES])(const seer_host_call *call, seer_host_part part);
} seer_host_desc;

extern const seer_host_desc seer_host_non_zero, seer_host_nms, seer_host_unique, seer_host_compact,
    seer_host_scatter_elements, seer_host_scatter_nd, seer_host_top, seer_host_running,
    seer_host_recast;

// By bounds that fit.
seer_host_room seer_host_scratch(seer_host_function function, const seer_plan_tensor *in,
    const seer_plan_tensor *out, const int64_t *param);
// NULL, or what is wrong with a call's tensors: what passes never leaves its buffers.
const char *seer_host_check(const seer_plan_host *host, const seer_plan_tensor *in,
    const seer_plan_tensor *out, seer_host_room scratch);
// Runs a call on the threads of `pool` (NULL: the caller's alone). Cost: NONZERO, COMPACT, RUNNING,
// BITS and scatters linear in elements; TOP elements x log k at worst; UNIQUE n log n comparisons;
// NMS s log s and selected x s comparisons for each class.
//   times  NULL: nothing is timed
// False: the caller's parallel-for is at fault, and the call is not done.
bool seer_host_run(const seer_host_call *call, seer_pool *pool, seer_pool_times *times,
    seer_pool_fault *out_fault);

#endif
