// pack.c - weights re-ordered at compile time into the order in which a schedule's loops read them.
// A row (the last dimension of the pack) is elements of the source at equal distances, zeros where
// there are none; rows in blocks, on several threads where there are many.
#include <string.h>

#include "base/os/parallel.h"
#include "space/loop.h"

#define PART_ELEMS (1 << 18)  // a millisecond or less: much more than to start a thread

typedef struct {
  const seer_pack *pack;
  const seer_dag_buf *source;
  int64_t stride[SEER_MAX_RANK];  // of the source's dimensions, elements
  size_t elem_bytes;
  const char *from;
  char *to;
  int64_t n_row, row_elems, part_rows;
} filling;

int64_t seer_pack_elems(const seer_pack *pack) {
  int64_t n = 1;
  for (uint32_t k = 0; k < pack->n; k++) n *= pack->dim[k].extent;
  return n;
}

// n elements that are `step` elements apart in the source.
static inline void copy_each(
    char *to, const char *from, int64_t n, int64_t step, int64_t elem_bytes) {
  for (int64_t i = 0; i < n; i++)
    memcpy(to + i * elem_bytes, from + i * step * elem_bytes, (size_t)elem_bytes);
}

// Sizes are constants, so that each copy is a load and a store.
static void copy(char *to, const char *from, int64_t n, int64_t step, size_t elem_bytes) {
  if (step == 1 || n == 1) {
    memcpy(to, from, (size_t)n * elem_bytes);
    return;
  }
  switch (elem_bytes) {
    case 1:
      copy_each(to, from, n, step, 1);
      return;
    case 2:
      copy_each(to, from, n, step, 2);
      return;
    case 4:
      copy_each(to, from, n, step, 4);
      return;
    case 8:
      copy_each(to, from, n, step, 8);
      return;
    default:
      SEER_ASSERT(false, "elements of %zu bytes", elem_bytes);
  }
}

// Of the indices index + i * stride with i < n those in [0, extent) are neighbours: how many, and
// the i of the first.
static int64_t inside(
    int64_t index, int64_t stride, int64_t n, int64_t extent, int64_t *out_first) {
  *out_first = 0;
  if (stride < 0) {
    index = extent - 1 - index;
    stride = -stride;
  }
  if (stride == 0) return index >= 0 && index < extent ? n : 0;
  if (index >= extent) return 0;
  int64_t first = index < 0 ? (stride - 1 - index) / stride : 0,
          end = (extent - 1 - index) / stride + 1;
  if (end > n) end = n;
  *out_first = first;
  return end > first ? end - first : 0;
}

// Pack index `row` of all dimensions but the last: indices of the source.
static void locate(const filling *f, int64_t row, int64_t *p, int64_t *index) {
  for (uint32_t k = f->pack->n - 1; k-- > 0;) {
    const seer_pack_dim *dim = &f->pack->dim[k];
    p[k] = row % dim->extent;
    row /= dim->extent;
    index[dim->source_dim] += dim->stride * p[k];
  }
}

static void step_row(const seer_pack *pack, int64_t *p, int64_t *index) {
  for (uint32_t k = pack->n - 1; k-- > 0;) {
    const seer_pack_dim *dim = &pack->dim[k];
    index[dim->source_dim] += dim->stride;
    if (++p[k] < dim->extent) return;
    index[dim->source_dim] -= dim->stride * dim->extent;
    p[k] = 0;
  }
}

static void fill_part(void *user, uint32_t part, uint32_t thread) {
  (void)thread;
  const filling *f = user;
  const seer_pack_dim *last = &f->pack->dim[f->pack->n - 1];
  int64_t index[SEER_MAX_RANK] = {0}, p[SEER_MAX_RANK] = {0}, row = part * f->part_rows;
  int64_t end = seer_min_i64(row + f->part_rows, f->n_row);
  locate(f, row, p, index);
  for (; row < end; row++, step_row(f->pack, p, index)) {
    int64_t offset = 0, first = 0, n = f->row_elems;
    for (uint32_t d = 0; d < f->source->rank; d++) {
      bool is_last = d == last->source_dim;
      int64_t extent = f->source->dim[d];
      offset += index[d] * f->stride[d];
      if (is_last) n = n ? inside(index[d], last->stride, n, extent, &first) : 0;
      if (!is_last && (index[d] < 0 || index[d] >= extent)) n = 0;
    }
    char *to = f->to + (size_t)(row * f->row_elems) * f->elem_bytes;
    if (n < f->row_elems) memset(to, 0, (size_t)f->row_elems * f->elem_bytes);
    int64_t step = last->stride * f->stride[last->source_dim];
    if (n > 0)
      copy(to + (size_t)first * f->elem_bytes,
          f->from + (offset + first * step) * (int64_t)f->elem_bytes, n, step, f->elem_bytes);
  }
}

void seer_pack_fill(
    const seer_pack *pack, const seer_dag_buf *source, const void *source_data, void *out) {
  filling f = {.pack = pack,
      .source = source,
      .elem_bytes = seer_dtype_bytes(source->dtype),
      .from = source_data,
      .to = out};
  int64_t n = seer_pack_elems(pack);
  if (n == 0) return;
  if (pack->n == 0) {  // a single element, of a source of whatever rank
    memcpy(out, source_data, f.elem_bytes);
    return;
  }
  for (uint32_t d = source->rank; d-- > 0;)
    f.stride[d] = d + 1 == source->rank ? 1
        : d + 2 == source->rank         ? source->pitch
                                        : f.stride[d + 1] * source->dim[d + 1];
  f.row_elems = pack->dim[pack->n - 1].extent;
  f.n_row = n / f.row_elems;
  f.part_rows = seer_ceil_div(PART_ELEMS, f.row_elems);
  seer_parallel(0, (uint32_t)seer_ceil_div(f.n_row, f.part_rows), fill_part, &f);
}
