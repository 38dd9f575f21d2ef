// random_dag_input.c - operands of random DAGs: small whole numbers, and in the gaps between rows
// what nobody may use.
#include <math.h>

#include "support/random_dag.h"

void *random_dag_input(const seer_dag *dag, uint32_t buf, seer_rng *rng, seer_arena *arena) {
  const seer_dag_buf *b = &dag->buf[buf];
  SEER_ASSERT(b->kind != SEER_BUF_STAGE, "$%s is no input", b->name);
  int64_t n = seer_dag_buf_elems(b), row = b->rank > 0 ? b->dim[b->rank - 1] : 1;
  void *data = seer_arena_alloc(arena, (size_t)n * seer_dtype_bytes(b->dtype), 64);
  bool is_float = seer_dtype_is_float(b->dtype);
  int64_t limit = !is_float ? 20 : b->kind == SEER_BUF_WEIGHT ? 2 : 3;
  for (int64_t k = 0; k < n; k++) {
    if (k % b->pitch >= row) {  // the gap: nobody may use it
      seer_dtype_store_f64(b->dtype, data, k, is_float ? (double)NAN : 1e30);
    } else {
      seer_dtype_store_i64(b->dtype, data, k, seer_rng_range(rng, is_float ? -limit : -3, limit));
    }
  }
  return data;
}
