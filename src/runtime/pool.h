// pool.h - threads that run the parts of a phase. The caller's thread works too (thread 0). Workers
// spin at most 50 microseconds between the phases of one run, then sleep; not at all when there are
// more threads than cores.
#ifndef SEER_RUNTIME_POOL_H
#define SEER_RUNTIME_POOL_H

#include <stdint.h>

#include "seer/runtime.h"

seer_pool *seer_pool_create(uint32_t n_threads, int pin);
seer_pool *seer_pool_wrap(seer_parallel_for parallel_for, void *user, uint32_t n_threads);
void seer_pool_destroy(seer_pool *pool);
uint32_t seer_pool_threads(const seer_pool *pool);
// Between begin and end workers stay awake (a run); outside they sleep.
void seer_pool_begin(seer_pool *pool);
void seer_pool_end(seer_pool *pool);
// Calls body(arg, part, thread) for all parts; returns when all are done. One caller at a time.
void seer_pool_run(seer_pool *pool, uint32_t n_parts, seer_parallel_body body, void *arg);

// One kernel: all phases in order. buffers[n_arg] of the kernel without the scratch;
// scratch[thread] is added per thread (scratch + thread * scratch_stride).
typedef void (*seer_phase_function)(void *const *buffers, uint32_t part);
void seer_pool_run_kernel(seer_pool *pool, const seer_phase_function *phase,
    const uint32_t *n_parts, uint32_t n_phase, void *const *buffers, uint32_t n_arg,
    uint8_t *scratch, uint64_t scratch_stride);

#endif
