// runner.h - times, checks and compares kernels in this process. Used by the runner process; a
// crash here costs one candidate, since the parent starts another runner.
// One thread. Errors: RESOURCE, INTERNAL (the kernel cannot be loaded); the runner goes on.
#ifndef SEER_MEASURE_WORKER_RUNNER_H
#define SEER_MEASURE_WORKER_RUNNER_H

#include "measure/worker/operands.h"

typedef struct seer_runner seer_runner;

// Owned: seer_runner_destroy. The context is kept. begin(user) is called in each of the three calls
// below when all that they need is there and the first kernel is about to run; NULL: nobody asks.
SEER_MUST_USE seer_status seer_runner_create(
    const seer_context *context, void (*begin)(void *user), void *user, seer_runner **out_runner);
void seer_runner_destroy(seer_runner *runner);
// `task` is kept while the runner uses it.
SEER_MUST_USE seer_status seer_runner_time(seer_runner *runner, const seer_worker_task_state *task,
    const seer_kernel *kernel, double best_seconds, const seer_timing *timing,
    seer_measure_result *out_result);
// What is checked, and what it is held against: a kernel, and the schedule that it was made of.
typedef struct {
  const seer_kernel *kernel;
  const seer_schedule *schedule;
} seer_runner_kernel;
// WRONG_RESULT with a message that says where, or OK. constants: of both.
SEER_MUST_USE seer_status seer_runner_check(seer_runner *runner, const seer_worker_task_state *task,
    const seer_runner_kernel *checked, const seer_runner_kernel *reference,
    const seer_constant_kernels *constants, seer_arena *arena, seer_measure_result *out_result);
// Kernels 0 .. n-1 against kernel n, in turns. n_pairs is at most SEER_MEASURE_MAX_PAIRS;
// out_pairs[n * n_pairs], contender by contender.
SEER_MUST_USE seer_status seer_runner_compare(seer_runner *runner,
    const seer_worker_task_state *task, const seer_kernel *kernels, uint32_t n, uint32_t n_pairs,
    seer_measure_pair *out_pairs);

// ---- for run.c: a runner of either kind
typedef struct {
  bool has_items;  // it runs kernels of block programs, else objects
  void (*destroy)(void *runner);
  seer_status (*time)(void *runner, const seer_worker_task_state *task, const seer_kernel *kernel,
      double best_seconds, const seer_timing *timing, seer_measure_result *out_result);
  seer_status (*check)(void *runner, const seer_worker_task_state *task,
      const seer_runner_kernel *checked, const seer_runner_kernel *reference,
      const seer_constant_kernels *constants, seer_arena *arena, seer_measure_result *out_result);
  seer_status (*compare)(void *runner, const seer_worker_task_state *task,
      const seer_kernel *kernels, uint32_t n, uint32_t n_pairs, seer_measure_pair *out_pairs);
} seer_runner_desc;

// Answers a request by it; as seer_worker_job.answer.
SEER_MUST_USE seer_status seer_runner_answer(
    const seer_runner_desc *desc, void *runner, const seer_worker_request *request, seer_text *out);

#endif
