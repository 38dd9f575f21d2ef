// judge.h - is what a kernel has written right?
#ifndef SEER_MEASURE_WORKER_JUDGE_H
#define SEER_MEASURE_WORKER_JUDGE_H

#include "measure/worker/operands.h"

// Output `b` of the task: in full against the reference's, then samples of it against the DAG's
// interpreter. Writes the class and the message of `out`.
//   tolerance  of the formulation, as a share of the largest (0: it is exact)
void seer_judge_output(const seer_task_memory *memory, uint32_t b, const void *got,
    const void *reference, double tolerance, seer_arena *arena, seer_measure_result *out);

#endif
