// sparse.c - SparseTensorProto -> a dense constant: few elements of a tensor, at places that the
// file lists; the others are zero.
// ONNX allows two forms of indices, of K elements in a tensor of rank R: [K], positions in
// row-major order, and [K,R], coordinates. Both must ascend, which also means that no element
// stands twice. What the dimensions ask for is counted against the model's memory: a few bytes can
// name any size.
#include <string.h>

#include "front/onnx/onnx.h"

// The position of element k, or what is wrong with where it says it lies.
static seer_status position(
    const seer_tensor *dense, const seer_tensor *indices, int64_t k, int64_t *out_at) {
  const int64_t *index = indices->data;
  if (indices->rank == 1) {
    int64_t n = seer_tensor_elems(dense);
    if (index[k] < 0 || index[k] >= n)
      return SEER_FAIL(
          INVALID, "index %" PRId64 " is %" PRId64 ", must be 0 to %" PRId64, k, index[k], n - 1);
    *out_at = index[k];
    return SEER_OK;
  }
  int64_t at = 0;
  for (int64_t d = 0; d < dense->rank; d++) {
    int64_t here = index[k * dense->rank + d];
    if (here < 0 || here >= dense->dim[d])
      return SEER_FAIL(INVALID,
          "index %" PRId64 " is %" PRId64 " in dimension %" PRId64 ", must be 0 to %" PRId64, k,
          here, d, dense->dim[d] - 1);
    at = at * dense->dim[d] + here;
  }
  *out_at = at;
  return SEER_OK;
}

static seer_status fill(
    const seer_tensor *values, const seer_tensor *indices, const seer_tensor *dense, char *data) {
  uint32_t size = seer_dtype_bytes(dense->dtype);
  int64_t before = -1;
  for (int64_t k = 0; k < seer_tensor_elems(values); k++) {
    int64_t at = 0;
    SEER_TRY(position(dense, indices, k, &at));
    if (at <= before)
      return SEER_FAIL(INVALID,
          "index %" PRId64 " is position %" PRId64 " after %" PRId64 ", they must ascend", k, at,
          before);
    memcpy(data + (size_t)at * size, (const char *)values->data + (size_t)k * size, size);
    before = at;
  }
  return SEER_OK;
}

static seer_status check_indices(
    const seer_tensor *values, const seer_tensor *indices, const seer_tensor *dense) {
  if (values->rank != 1)
    return SEER_FAIL(INVALID, "its values have %u dimensions, must have 1", values->rank);
  if (indices->dtype != SEER_DTYPE_I64)
    return SEER_FAIL(INVALID, "its indices are %s, must be i64", seer_dtype_name(indices->dtype));
  bool is_list = indices->rank == 1, is_table = indices->rank == 2;
  if ((is_list || is_table) && indices->dim[0] == values->dim[0] &&
      (is_list || indices->dim[1] == dense->rank))
    return SEER_OK;
  return SEER_FAIL(INVALID,
      "its indices have %u dimensions, %" PRId64 " rows and %" PRId64 " columns, must be [%" PRId64
      "] or [%" PRId64 ",%u]",
      indices->rank, indices->rank > 0 ? indices->dim[0] : 1,
      indices->rank > 1 ? indices->dim[1] : 1, values->dim[0], values->dim[0], dense->rank);
}

static seer_status read_sparse(
    seer_onnx_file *file, const Onnx__SparseTensorProto *proto, seer_tensor *dense) {
  if (!proto->values || !proto->indices)
    return SEER_FAIL(INVALID, "it has no %s", proto->values ? "indices" : "values");
  seer_tensor values, indices;
  SEER_TRY(seer_onnx_tensor(file, proto->values, &values));
  SEER_TRYF(seer_onnx_tensor(file, proto->indices, &indices), "its indices");
  *dense = (seer_tensor){.dtype = values.dtype};
  SEER_TRY(seer_onnx_dims(proto->dims, proto->n_dims, dense));
  SEER_TRY(check_indices(&values, &indices, dense));
  char *data = seer_arena_alloc(file->graph->arena, dense->n_bytes + 1, 64);
  memset(data, 0, dense->n_bytes);
  dense->data = data;
  return fill(&values, &indices, dense, data);
}

const char *seer_onnx_sparse_name(const Onnx__SparseTensorProto *proto) {
  return proto->values && proto->values->name ? proto->values->name : "";
}

seer_status seer_onnx_sparse(
    seer_onnx_file *file, const Onnx__SparseTensorProto *proto, seer_tensor *out_tensor) {
  seer_status status = read_sparse(file, proto, out_tensor);
  if (!status) return SEER_OK;
  return SEER_STATUS_FAILED(seer_status_context(
      status, "reading sparse tensor '%s' of %s", seer_onnx_sparse_name(proto), file->source));
}
