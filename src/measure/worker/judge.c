// judge.c - see judge.h.
#include "measure/worker/judge.h"

#include <math.h>

#include "measure/answer/answer.h"

#define N_CHECKED 256  // elements held against the DAG interpreter
#define CHECK_BUDGET 4e7  // scalar operations that the interpreter may take for one check

// Sampled elements against the interpreter: corners, then seeded ones.
static void hold_against_eval(const seer_task_memory *memory, uint32_t b, const void *got,
    seer_arena *arena, seer_answer *a) {
  const seer_dag *dag = memory->task->dag;
  const seer_dag_buf *buf = &dag->buf[b];
  seer_dag_eval *eval = seer_dag_eval_create(dag, arena);
  for (uint32_t i = 0; i < dag->n_buf; i++) {
    if (dag->buf[i].kind != SEER_BUF_STAGE) seer_dag_eval_set_input(eval, i, memory->buf[i]);
  }
  double per_element = seer_dag_flops(dag) / (double)seer_max_i64(1, seer_dag_buf_elems(buf)) + 1;
  uint32_t n = (uint32_t)fmin(N_CHECKED, fmax(16, CHECK_BUDGET / per_element / 8));
  seer_rng rng;
  seer_rng_init(&rng, 7);
  for (uint32_t k = 0; k < n; k++) {
    int64_t index[SEER_MAX_RANK] = {0}, at = 0;
    for (uint32_t d = 0; d < buf->rank; d++) {
      bool is_corner = k < 16;
      index[d] = is_corner ? ((k >> (d % 4)) & 1 ? buf->dim[d] - 1 : 0)
                           : seer_rng_range(&rng, 0, buf->dim[d] - 1);
      at = d + 1 == buf->rank ? at * buf->pitch + index[d] : at * buf->dim[d] + index[d];
    }
    seer_answer_hold(
        a, at, seer_dtype_load_f64(buf->dtype, got, at), seer_dag_eval_at(eval, b, index));
  }
}

void seer_judge_output(const seer_task_memory *memory, uint32_t b, const void *got,
    const void *reference, double tolerance, seer_arena *arena, seer_measure_result *out) {
  const seer_dag_buf *buf = &memory->task->dag->buf[b];
  double scale = seer_answer_scale(buf, reference);
  seer_answer answer;
  seer_answer_init(&answer, buf, memory->has_jumps[b], tolerance, scale);
  seer_answer_hold_all(&answer, got, reference);
  seer_answer_judge(&answer, out);
  if (out->cls != SEER_MEASURED_OK) return;
  seer_answer_init(&answer, buf, memory->has_jumps[b], tolerance, scale);
  hold_against_eval(memory, b, got, arena, &answer);
  seer_answer_judge(&answer, out);
}
