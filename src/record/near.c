// near.c - workloads of one structure -> those of the nearest shapes. The contract: record.h.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "record/internal.h"

// Sum over buffers and dimensions of |log2(a / b)|: shapes of one structure are compared factor by
// factor.
static double distance(const seer_dag *a, const seer_dag *b) {
  double sum = 0;
  if (a->n_stage != b->n_stage) return INFINITY;
  for (uint32_t s = 0; s < a->n_stage; s++) {
    uint32_t n = (uint32_t)a->stage[s].n_space + a->stage[s].n_reduce;
    if (n != (uint32_t)b->stage[s].n_space + b->stage[s].n_reduce) return INFINITY;
    for (uint32_t k = 0; k < n; k++) {
      sum += fabs(log2((double)a->stage[s].axis[k].extent / (double)b->stage[s].axis[k].extent));
    }
  }
  return sum;
}

static int by_distance(const void *a, const void *b) {
  const seer_record_near *x = a, *y = b;
  if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
  return (x->workload > y->workload) - (x->workload < y->workload);
}

seer_status seer_records_nearest(seer_records *r, const seer_dag *dag, seer_dag_key key,
    int64_t target, seer_arena *arena, seer_record_near *out, uint32_t max, uint32_t *out_n) {
  *out_n = 0;
  seer_hex structure, shape;
  seer_record_hex(key.structure, structure);
  seer_record_hex(key.shape, shape);
  sqlite3_stmt *statement = NULL;
  SEER_TRY(seer_records_prepare(r,
      "SELECT id, dag FROM workload w WHERE structure = ?1 AND shape != ?2 AND EXISTS(SELECT 1 "
      "FROM measurement WHERE workload = w.id AND target = ?3 AND state = 'accepted') ORDER BY id",
      &statement));
  sqlite3_bind_text(statement, 1, structure, -1, SQLITE_TRANSIENT);
  sqlite3_bind_text(statement, 2, shape, -1, SQLITE_TRANSIENT);
  sqlite3_bind_int64(statement, 3, target);
  seer_record_near *all = NULL;
  uint32_t n = 0;
  size_t cap = 0;
  bool has_row = true;
  seer_status status = SEER_OK;
  while (!status && has_row) {
    status = seer_records_step(r, statement, &has_row);
    if (status || !has_row) break;
    all = SEER_GROW(arena, seer_record_near, all, n, &cap);
    seer_record_near *near = &all[n];
    near->workload = sqlite3_column_int64(statement, 0);
    near->dag_text = seer_arena_strdup(arena, seer_sql_text(statement, 1));
    seer_dag *other = NULL;
    seer_status parsed =
        seer_dag_parse("record", near->dag_text, strlen(near->dag_text), arena, &other);
    if (!parsed) parsed = seer_dag_verify(other);
    near->distance = parsed ? INFINITY : distance(dag, other);
    seer_status_free(parsed);
    n += isfinite(near->distance) ? 1u : 0u;
  }
  sqlite3_finalize(statement);
  SEER_TRY(status);
  if (n > 1) qsort(all, n, sizeof(all[0]), by_distance);
  *out_n = n < max ? n : max;
  for (uint32_t i = 0; i < *out_n; i++) out[i] = all[i];
  return SEER_OK;
}
