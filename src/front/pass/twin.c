// twin.c - constants that a file holds twice become one tensor, and of large ones that are the
// transpose of another it is noted which (exporters write the transposed copy of a tied weight as
// an initialiser of its own). Candidates are found by a hash of some elements, then compared in
// full; each constant is compared with at most two others, so the work is that of reading them.
// requires: nothing. provides: equal large constants have one content.
#include <string.h>

#include "base/map.h"
#include "front/pass/pass.h"

// Tasks that read one tensor are made to read one packed form of it (choose/share.h, which
// leaves smaller ones alone, too).
#define MIN_BYTES 4096
enum { SAMPLES = 64, BLOCK = 64 };

// Extents of [rows, columns]; a constant that is no matrix is one row, and has no transpose.
typedef struct {
  const seer_tensor *tensor;
  size_t rows, columns, elem_bytes;
} matrix;

static matrix matrix_of(const seer_tensor *tensor) {
  matrix m = {tensor, 1, (size_t)seer_tensor_elems(tensor), seer_dtype_bytes(tensor->dtype)};
  if (tensor->rank == 2) {
    m.rows = (size_t)tensor->dim[0];
    m.columns = (size_t)tensor->dim[1];
  }
  return m;
}

static const char *elem(const matrix *m, size_t row, size_t column) {
  return (const char *)m->tensor->data + (row * m->columns + column) * m->elem_bytes;
}

// Of type, dimensions and some elements; `is_turned`: of what its transpose is.
static uint64_t key_of(const matrix *m, bool is_turned) {
  size_t rows = is_turned ? m->columns : m->rows, columns = is_turned ? m->rows : m->columns;
  uint64_t hash = seer_hash_u64(m->tensor->rank, (uint64_t)m->tensor->dtype);
  if (m->tensor->rank == 2) {
    hash = seer_hash_u64(columns, seer_hash_u64(rows, hash));
  } else {
    for (uint32_t d = 0; d < m->tensor->rank; d++)
      hash = seer_hash_u64((uint64_t)m->tensor->dim[d], hash);
  }
  for (size_t s = 0; s < SAMPLES; s++) {
    // Along both, out of step.
    size_t row = (s * rows / SAMPLES + s) % rows, column = (s * 29 % SAMPLES) * columns / SAMPLES;
    hash = seer_hash_bytes(
        is_turned ? elem(m, column, row) : elem(m, row, column), m->elem_bytes, hash);
  }
  return hash;
}

static bool is_equal(const seer_tensor *a, const seer_tensor *b) {
  return a->dtype == b->dtype && a->rank == b->rank && a->n_bytes == b->n_bytes &&
      memcmp(a->dim, b->dim, a->rank * sizeof a->dim[0]) == 0 &&
      (a->data == b->data || memcmp(a->data, b->data, a->n_bytes) == 0);
}

static bool is_transpose(const matrix *a, const matrix *b) {
  bool is_shaped = a->tensor->dtype == b->tensor->dtype && a->tensor->rank == 2 &&
      b->tensor->rank == 2 && a->rows == b->columns && a->columns == b->rows;
  for (size_t r = 0; is_shaped && r < a->rows; r += BLOCK)
    for (size_t c = 0; c < a->columns; c += BLOCK)
      for (size_t i = r; i < a->rows && i < r + BLOCK; i++)
        for (size_t j = c; j < a->columns && j < c + BLOCK; j++)
          if (memcmp(elem(a, i, j), elem(b, j, i), a->elem_bytes) != 0) return false;
  return is_shaped;
}

static seer_status run(const seer_context *context, seer_graph *graph) {
  (void)context;
  seer_arena *scratch = seer_arena_create("twin");
  seer_map *seen = seer_map_create(scratch);
  for (size_t v = 1; v < graph->n_value; v++) {
    seer_value *value = &graph->value[v];
    if (!value->constant || value->constant->rank < 2 || value->constant->n_bytes < MIN_BYTES)
      continue;
    matrix m = matrix_of(value->constant);
    uint64_t key = key_of(&m, false), other;
    if (seer_map_get(seen, key, &other)) {
      const seer_tensor *twin = graph->value[other].constant;
      if (is_equal(value->constant, twin)) value->constant = twin;
      continue;
    }
    seer_map_set(seen, key, v);
    if (m.tensor->rank != 2 || m.tensor->n_bytes < SEER_PERMUTED_MIN_BYTES ||
        seer_graph_permuted(graph, m.tensor) || !seer_map_get(seen, key_of(&m, true), &other) ||
        other == v)
      continue;
    matrix of = matrix_of(graph->value[other].constant);
    static const uint8_t turned[2] = {1, 0};
    if (is_transpose(&m, &of)) seer_graph_note_permuted(graph, m.tensor, of.tensor, turned);
  }
  seer_arena_destroy(scratch);
  return SEER_OK;
}

const seer_pass_desc seer_pass_twin = {
    "twin", "constants that are there twice, and large ones transposed, become one", run};
