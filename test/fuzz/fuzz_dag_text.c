// The text form of the DAG: any text is refused, or prints to what parses, prints and hashes the
// same; and what verify accepts, the interpreter can run without leaving a buffer.
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "support/random_dag.h"

#define MAX_WORK 20000

static bool is_small(const seer_dag *dag) {
  double work = 0;
  for (uint32_t b = 0; b < dag->n_buf; b++) work += (double)seer_dag_buf_elems(&dag->buf[b]);
  for (uint32_t s = 0; s < dag->n_stage; s++) {
    const seer_dag_stage *stage = &dag->stage[s];
    double points = 1;
    for (uint32_t k = 0; k < (uint32_t)stage->n_space + stage->n_reduce; k++)
      points *= (double)stage->axis[k].extent;
    work += points;
  }
  return work <= MAX_WORK;
}

static void evaluate(const seer_dag *dag, seer_arena *arena) {
  seer_dag_eval *eval = seer_dag_eval_create(dag, arena);
  void *input[SEER_DAG_MAX_BUFFERS] = {NULL};
  seer_rng rng;
  seer_rng_init(&rng, 1);
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (dag->buf[b].kind == SEER_BUF_STAGE) continue;
    // From malloc, not the arena: sanitizers see where it ends.
    size_t n_bytes = (size_t)seer_dag_buf_elems(&dag->buf[b]) * seer_dtype_bytes(dag->buf[b].dtype);
    input[b] = malloc(n_bytes);
    if (!input[b]) abort();
    memcpy(input[b], random_dag_input(dag, b, &rng, arena), n_bytes);
    seer_dag_eval_set_input(eval, b, input[b]);
  }
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (!dag->buf[b].is_output) continue;
    void *out =
        malloc((size_t)seer_dag_buf_elems(&dag->buf[b]) * seer_dtype_bytes(dag->buf[b].dtype));
    if (!out) abort();
    seer_dag_eval_all(eval, b, out);
    free(out);
  }
  for (uint32_t b = 0; b < dag->n_buf; b++) free(input[b]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
  seer_arena *arena = seer_arena_create("fuzz");
  seer_dag *dag, *back;
  seer_status status = seer_dag_parse("fuzz", (const char *)data, n_bytes, arena, &dag);
  if (!status) {
    const char *printed = seer_dag_print(dag, arena);
    seer_status again = seer_dag_parse("printed", printed, strlen(printed), arena, &back);
    if (again || strcmp(seer_dag_print(back, arena), printed) != 0) abort();
    seer_dag_key a = seer_dag_hash(dag), b = seer_dag_hash(back);
    if (a.structure != b.structure || a.shape != b.shape || a.content != b.content) abort();
    seer_status verdict = seer_dag_verify(dag);
    if (!verdict) {
      for (uint32_t s = 0; s < dag->n_stage; s++) {
        if (seer_dag_stage_flops(dag, s) < 0 ||
            (seer_dag_needs_tiling(dag, s) && dag->stage[s].n_space == 0))
          abort();
      }
      seer_dag_anchor_class(dag, arena);
      if (is_small(dag)) evaluate(dag, arena);
    }
    seer_status_free(verdict);
  }
  seer_status_free(status);
  seer_arena_destroy(arena);
  return 0;
}
