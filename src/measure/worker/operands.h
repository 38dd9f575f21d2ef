// operands.h - the memory that a runner gives to kernels: inputs and outputs of a task, packed
// weights, scratch. Timing uses random contents of sane magnitude (no denormals); checking packs
// real ones.
//
// Memory: pages are the struct's that holds them, until it is cleared; tasks and pools are kept as
// long. One thread, that which times. Errors: RESOURCE; what failed may be cleared, and holds
// nothing else.
#ifndef SEER_MEASURE_WORKER_OPERANDS_H
#define SEER_MEASURE_WORKER_OPERANDS_H

#include "code/constant.h"
#include "measure/worker/worker.h"

#define SEER_OPERAND_ALIGN 64

// Memory in huge pages where the system gives them, as the runtime's own is.
typedef struct {
  uint8_t *data;
  uint64_t n_bytes;
} seer_pages;
SEER_MUST_USE seer_status seer_pages_reserve(
    seer_pages *pages, uint64_t n_bytes, const char *what);  // grows; contents are lost then
void seer_pages_clear(seer_pages *pages);

// An activation: what one step of a network writes for another.
typedef struct {
  uint8_t *data;
  uint64_t n_bytes;
} seer_moving;

// Memory of one task: every input and output buffer of its DAG, and what its kernels keep between
// their phases (one kernel at a time).
typedef struct {
  const seer_worker_task_state *task;
  seer_pages pages, shared;
  void *buf[SEER_DAG_MAX_BUFFERS];  // by buffer id of the canonical DAG; NULL for inner stages
  seer_moving moving[SEER_DAG_MAX_BUFFERS];  // those of them that are no weights: outputs, inputs
  uint32_t n_moving;
  bool has_jumps[SEER_DAG_MAX_BUFFERS];  // as in domain.h
} seer_task_memory;

// What one kernel is called with. `buffers` are its arguments but for the scratch.
typedef struct {
  void *buffers[SEER_DAG_MAX_BUFFERS];
  uint64_t pack_offset
      [SEER_DAG_MAX_BUFFERS];  // PACKED arguments: offset in one copy of the packed weights
  uint64_t packed_bytes;  // of one copy
  uint64_t n_copies;  // that calls cycle through
  uint8_t *packed;  // NULL: taken from the pool of random weights
  void *out[SEER_DAG_MAX_BUFFERS];  // own outputs by canonical buffer id, when checking
} seer_call;

SEER_MUST_USE seer_status seer_task_memory_create(
    const seer_worker_task_state *task, uint64_t seed, seer_task_memory *out);
void seer_task_memory_clear(seer_task_memory *memory);
// Room for what `kernel` keeps between its phases. Calls of several kernels at a time: for all of
// them before the first is prepared, since the room may move.
SEER_MUST_USE seer_status seer_task_memory_share(
    seer_task_memory *memory, const seer_kernel *kernel);

// The pool: random f32 to be read as packed weights of any kernel; grows on demand.
typedef seer_pages seer_weight_pool;

// For timing: packed weights point into `pool`; calls cycle through copies of pool_bytes in all
// (seer_call_rotate moves them on), or always use the first when that is 0.
SEER_MUST_USE seer_status seer_call_prepare(seer_task_memory *memory, const seer_kernel *kernel,
    seer_weight_pool *pool, uint64_t pool_bytes, seer_call *out);
void seer_call_rotate(
    seer_call *call, const seer_kernel *kernel, const seer_weight_pool *pool, uint64_t nth);
// For checking: packs the task's weights, evaluates const stages by code that came along for this
// target, gives the call outputs of its own, filled with NaN.
typedef struct {
  const seer_target *target;
  const seer_constant_kernels *kernels;
} seer_call_constants;
SEER_MUST_USE seer_status seer_call_prepare_checked(seer_task_memory *memory,
    const seer_kernel *kernel, const seer_sketch *sketch, const seer_call_constants *constants,
    seer_arena *arena, seer_call *out);
void seer_call_clear(seer_call *call);

#endif
