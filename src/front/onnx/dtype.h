// dtype.h - ONNX's numbers of element types.
// All is pure: safe from any thread.
#ifndef SEER_FRONT_ONNX_DTYPE_H
#define SEER_FRONT_ONNX_DTYPE_H

#include "dag/dtype.h"

// ONNX's number of an element type; NONE when we have no such type.
seer_dtype seer_onnx_dtype(int32_t onnx_dtype);
int32_t seer_onnx_dtype_number(seer_dtype dtype);
const char *seer_onnx_dtype_name(
    int32_t onnx_dtype);  // "float16", "string"; "?" for a number that nobody knows

#endif
