// pool.h - threads that run the parts of a phase. The caller's thread works too (thread 0). A child
// process that was forked makes the threads anew when it first runs something. Workers spin through
// a run, up to a millisecond from one phase to the next, and 50 microseconds after it; then they
// sleep. Where there are more threads than cores they do not spin at all. Workers that are not
// pinned are kept off the processor on which their caller is when it begins; who changes what
// processors they may use is followed.
// A pool is its maker's, who destroys it when nobody runs on it. Any thread may begin a run: of
// threads of our own it waits for the run of another to end. What run and run_kernel are given is
// borrowed until they return. Errors: NULL where there is no memory or no thread to be had.
#ifndef SEER_RUNTIME_POOL_H
#define SEER_RUNTIME_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "seer/runtime.h"

seer_pool *seer_pool_create(uint32_t n_threads, int pin);
// The same, and says why not.
seer_rt_code seer_pool_make(
    uint32_t n_threads, int pin, seer_pool **out_pool, char *message, size_t message_bytes);
// A pool that has `of`'s threads do the work, at most `most` of them at a time; it says that it has
// as many as `of` has, as their numbers are those. `of` is kept until it is destroyed. With one the
// caller works alone, and no other thread is woken; with more the others wake up as for any run,
// and find nothing to do.
seer_pool *seer_pool_cap(seer_pool *of, uint32_t most);
seer_pool *seer_pool_wrap(seer_parallel_for parallel_for, void *user, uint32_t n_threads);
void seer_pool_destroy(seer_pool *pool);
uint32_t seer_pool_threads(const seer_pool *pool);
// Between begin and end workers stay awake (a run); outside they soon sleep.
void seer_pool_begin(seer_pool *pool);
void seer_pool_end(seer_pool *pool);
// Calls body(arg, part, thread) for all parts; returns when all are done. One caller at a time.
void seer_pool_run(seer_pool *pool, uint32_t n_parts, seer_parallel_body body, void *arg);

// What threads did in a kernel: the time that they spent in its parts, of each phase the mean and
// that of the longest thread, added to what stands there. What a kernel takes beyond `most_s` is
// hand-over; between the two, halves that were uneven.
typedef struct {
  _Alignas(128) double busy_s;
} seer_pool_lane;
typedef struct {
  seer_pool_lane *lanes;  // one a thread, for the kernel to work with
  double mean_s, most_s;
} seer_pool_times;
double seer_pool_now_s(void);  // the clock of all times: seconds since some point, never backwards

// One kernel: all phases in order. Each thread gets scratch of its own, scratch + thread *
// scratch_stride, as the argument behind the others.
typedef void (*seer_phase_function)(void *const *buffers, uint32_t part);
typedef struct {
  const seer_phase_function *phase;
  const uint32_t *n_parts;  // of each phase
  uint32_t n_phase;
  void *const *buffers;  // n_arg, without the scratch
  uint32_t n_arg;
  uint8_t *scratch;  // NULL: none
  uint64_t scratch_stride;
  seer_pool_times *times;  // NULL: nothing is timed
  // Parts run with denormal numbers as zeros (runtime/denormals.h). A thread is left as it was.
  bool flushes_denormals;
} seer_kernel_call;

// What a parallel-for that was wrapped did wrong in a phase: a part or a thread that is none, or
// parts that it left out or called twice.
typedef struct {
  bool is_bad_call;  // with this part and thread; else n_calls is not n_parts
  uint32_t part, thread;
  uint32_t n_parts, n_threads, n_calls;
} seer_pool_fault;

// False: `out_fault` says why; a part of a thread that is none was not run, nor was any later
// phase.
bool seer_pool_run_kernel(
    seer_pool *pool, const seer_kernel_call *call, seer_pool_fault *out_fault);

// body(arg, part, thread) for all parts, as seer_pool_run, with the same account of a parallel-for
// that was wrapped. body is called with parts and threads that there are alone, but perhaps twice
// with one: then the answer is false.
bool seer_pool_run_parts(seer_pool *pool, uint32_t n_parts, seer_parallel_body body, void *arg,
    seer_pool_fault *out_fault);
// All phases of a kernel on the calling thread, which is `thread` of the pool.
void seer_pool_run_alone(const seer_kernel_call *call, uint32_t thread);

#endif
