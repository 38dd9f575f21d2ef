// pack.c - weights re-ordered at compile time into the order in which a schedule's loops read them.
#include <string.h>

#include "space/loop.h"

int64_t seer_pack_elems(const seer_pack *pack) {
  int64_t n = 1;
  for (uint32_t k = 0; k < pack->n; k++) n *= pack->dim[k].extent;
  return n;
}

void seer_pack_fill(
    const seer_pack *pack, const seer_dag_buf *source, const void *source_data, void *out) {
  int64_t stride[SEER_MAX_RANK], index[SEER_MAX_RANK] = {0}, p[SEER_MAX_RANK] = {0};
  int64_t step = source->rank == 0 ? 1 : source->pitch;
  for (uint32_t d = source->rank; d-- > 0;) {
    stride[d] = d + 1 == source->rank ? 1 : step;
    if (d + 1 < source->rank) step *= source->dim[d];
  }
  size_t elem_bytes = seer_dtype_bytes(source->dtype);
  const char *from = source_data;
  char *to = out;
  int64_t n = seer_pack_elems(pack);
  for (int64_t e = 0; e < n; e++, to += elem_bytes) {
    int64_t offset = 0;
    bool is_inside = true;
    for (uint32_t d = 0; d < source->rank; d++) {
      is_inside &= index[d] >= 0 && index[d] < source->dim[d];
      offset += index[d] * stride[d];
    }
    if (is_inside) {
      memcpy(to, from + (size_t)offset * elem_bytes, elem_bytes);
    } else {
      memset(to, 0, elem_bytes);
    }
    // Next pack index, last dimension first.
    for (uint32_t k = pack->n; k-- > 0;) {
      const seer_pack_dim *dim = &pack->dim[k];
      index[dim->source_dim] += dim->stride;
      if (++p[k] < dim->extent) break;
      index[dim->source_dim] -= dim->stride * dim->extent;
      p[k] = 0;
    }
  }
}
