// npy.h - NumPy's .npy files: one array, versions 1 to 3 of the format. Files are hostile: every
// size is checked. Types are ONNX's numbers (1 = f32), data is row-major ("C order") in memory
// whatever the file says.
//
// Threads: any. After a failure `out` is of no use.
#ifndef SEER_SETUP_NPY_H
#define SEER_SETUP_NPY_H

#include "base/arena.h"
#include "base/status.h"

#define SEER_NPY_MAX_RANK 12

typedef struct {
  int32_t onnx_dtype;
  int32_t rank;
  int64_t dim[SEER_NPY_MAX_RANK];
  uint64_t n_bytes;
  const void *data;  // 64-byte aligned, and in `arena`, when read; borrowed when written
} seer_npy;

// Errors: INVALID for what is no such file, with what was found; UNSUPPORTED for legal element
// types without a use here. For tests.
SEER_MUST_USE seer_status seer_npy_parse(
    const char *source, const void *bytes, size_t n_bytes, seer_arena *arena, seer_npy *out);
// data in `arena`
SEER_MUST_USE seer_status seer_npy_read(const char *path, seer_arena *arena, seer_npy *out);
// The same; INVALID for a file of more than max_bytes. The file is read, not mapped: it may change
// meanwhile.
SEER_MUST_USE seer_status seer_npy_read_at_most(
    const char *path, size_t max_bytes, seer_arena *arena, seer_npy *out);
// version 1.0, C order
SEER_MUST_USE seer_status seer_npy_write(const char *path, const seer_npy *array);

// "f32", "i64", ... of ONNX's number; "?" if none.
const char *seer_npy_dtype_name(int32_t onnx_dtype);
// The type that an array of ONNX's type is in a file: for types that NumPy lacks the one of the
// same width that carries their bits (bf16 in u16, float8, float4, uint4 and uint2 in u8, int4 and
// int2 in i8), else itself.
int32_t seer_npy_carrier(int32_t onnx_dtype);
// "1x3x224x224", "scalar"
const char *seer_shape_text(const int64_t *dim, int32_t rank, seer_arena *arena);

#endif
