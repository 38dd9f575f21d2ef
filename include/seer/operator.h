// operator.h - operators of your own in a network: each is two C functions, which one object file
// has, and familyseer links that object into model.so (`familyseer compile model.onnx --operators
// ops.o`). C17 or C++17, no dependency.
//
//   #include <seer/operator.h>
//   static int shape(seer_operator_call *call) {
//     return seer_operator_same(call, 0, 0);  // output 0 is of input 0's type and dimensions
//   }
//   static int run(const seer_operator_call *call) {
//     const float *x = (const float *)call->input[0].data;
//     float *y = (float *)call->output[0].data;
//     const float top = seer_operator_float(call, "top", 1);
//     for (int64_t i = 0; i < seer_operator_elems(&call->input[0]); i++) y[i] = x[i] < top ? x[i] : top;
//     return 0;
//   }
//   SEER_OPERATORS({"com.acme", "Cap", shape, run, NULL})
//
// What both functions may rely on, and must keep to:
//   pure     results depend on inputs, attributes and constants alone, and nothing else is changed:
//            familyseer leaves out calls whose results nobody reads. A call is never evaluated at
//            compile time, though all of its inputs be constants
//   threads  sessions on several threads call at the same time: no state of their own. Each call
//            runs on one thread
//   memory   tensors are dense and row-major, of the types and in the order of dimensions that the
//            ONNX file says, whatever familyseer has chosen around the operator; at multiples of 64
//            bytes, but for what the caller of the library has bound, which lies where it lies.
//            Outputs overlap with nothing else. All that a call points to ends with the call
//   calls    of libc and libm what ISO C has, without threads, signals, locales and long double; a
//            name that is not there is said when compiling. No runtime of C++
#ifndef SEER_OPERATOR_H
#define SEER_OPERATOR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SEER_OPERATOR_VERSION 1
#define SEER_OPERATOR_MAX_RANK 12
#define SEER_OPERATOR_MAX_TENSORS 32  // inputs and outputs of a node together

// Types of elements, by ONNX's numbers. float16 and bfloat16 are bits, in uint16_t; others that
// ONNX has (8-bit floats, integers of 4 and 2 bits) are as runtime.h says: one a byte.
enum {
  SEER_OPERATOR_F32 = 1,
  SEER_OPERATOR_U8 = 2,
  SEER_OPERATOR_I8 = 3,
  SEER_OPERATOR_U16 = 4,
  SEER_OPERATOR_I16 = 5,
  SEER_OPERATOR_I32 = 6,
  SEER_OPERATOR_I64 = 7,
  SEER_OPERATOR_BOOL = 9,  // a byte, 0 or 1
  SEER_OPERATOR_F16 = 10,
  SEER_OPERATOR_F64 = 11,
  SEER_OPERATOR_U32 = 12,
  SEER_OPERATOR_U64 = 13,
  SEER_OPERATOR_BF16 = 16
};

typedef struct {
  int32_t type;  // 0: absent (an optional input that is not given, an output that nobody names)
  int32_t rank;
  int64_t dim[SEER_OPERATOR_MAX_RANK];
  // Running: the elements. Asked for shapes and scratch: those of an input that is a constant of
  // the network, else NULL.
  void *data;
} seer_operator_tensor;

enum {
  SEER_OPERATOR_INT,
  SEER_OPERATOR_FLOAT,
  SEER_OPERATOR_STRING,
  SEER_OPERATOR_INTS,
  SEER_OPERATOR_FLOATS,
  SEER_OPERATOR_STRINGS
};

// An attribute of the node; nodes with others (tensors, graphs) are refused.
typedef struct {
  const char *name;
  int32_t kind;
  uint32_t n;  // how many; 1 where it is no list
  const int64_t *ints;  // INT, INTS
  const float *floats;  // FLOAT, FLOATS
  const char *const *strings;  // STRING, STRINGS; each ends with a NUL
} seer_operator_attribute;

typedef struct {
  const char *node;  // its name in the network
  uint32_t n_input, n_output, n_attribute;
  const seer_operator_tensor *input;
  seer_operator_tensor *output;
  const seer_operator_attribute *attribute;
  void *scratch;  // as many bytes as `scratch` has said, at a multiple of 64; anything is in it
  char *message;  // of a call that fails: what is wrong, with a NUL; "" before
  size_t message_bytes;
} seer_operator_call;

typedef struct {
  const char *domain, *name;  // of the operator in the ONNX file: "com.acme", "Clip3"
  // When compiling: sets type, rank and dim of each of the n_output outputs that the node has, from
  // the inputs' and the attributes. Returns 0; else the node is refused with the message.
  int (*shape)(seer_operator_call *call);
  // When running: fills the outputs (`data`; those of type 0 have none). Returns 0; else the run
  // ends with this seer_rt_code of runtime.h, and a message of the node's name and this one. 1:
  // INVALID, 2: UNSUPPORTED, 6: RESOURCE, 7: INTERNAL, which also stands for other numbers.
  int (*run)(const seer_operator_call *call);
  // When compiling, with the outputs set: bytes of scratch that a call needs. NULL: none.
  uint64_t (*scratch)(const seer_operator_call *call);
} seer_operator;

typedef struct seer_operator_table {
  uint32_t version;  // SEER_OPERATOR_VERSION
  uint32_t n;
  const seer_operator *list;
} seer_operator_table;

#if defined(__GNUC__)
#define SEER_OPERATOR_EXPORT __attribute__((visibility("default")))
#else
#define SEER_OPERATOR_EXPORT
#endif

// What the object exports: once in it, at file scope.
extern SEER_OPERATOR_EXPORT const seer_operator_table seer_operators;
#define SEER_OPERATORS(...)                                          \
  static const seer_operator seer_operator_list[] = {__VA_ARGS__};   \
  const seer_operator_table seer_operators = {SEER_OPERATOR_VERSION, \
      (uint32_t)(sizeof seer_operator_list / sizeof *seer_operator_list), seer_operator_list};

// ---- help for both functions

static inline int64_t seer_operator_elems(const seer_operator_tensor *tensor) {
  int64_t n = 1;
  for (int32_t k = 0; k < tensor->rank; k++) n *= tensor->dim[k];
  return n;
}

// By name; NULL: the node has none of this name and kind.
static inline const seer_operator_attribute *seer_operator_find(
    const seer_operator_call *call, const char *name, int32_t kind) {
  for (uint32_t k = 0; k < call->n_attribute; k++)
    if (call->attribute[k].kind == kind && strcmp(call->attribute[k].name, name) == 0)
      return &call->attribute[k];
  return NULL;
}

static inline int64_t seer_operator_int(
    const seer_operator_call *call, const char *name, int64_t otherwise) {
  const seer_operator_attribute *a = seer_operator_find(call, name, SEER_OPERATOR_INT);
  return a ? a->ints[0] : otherwise;
}

static inline float seer_operator_float(
    const seer_operator_call *call, const char *name, float otherwise) {
  const seer_operator_attribute *a = seer_operator_find(call, name, SEER_OPERATOR_FLOAT);
  return a ? a->floats[0] : otherwise;
}

static inline const char *seer_operator_string(
    const seer_operator_call *call, const char *name, const char *otherwise) {
  const seer_operator_attribute *a = seer_operator_find(call, name, SEER_OPERATOR_STRING);
  return a ? a->strings[0] : otherwise;
}

// Fails with a message: `return seer_operator_fail(call, 1, "x must be f32");`
static inline int seer_operator_fail(
    const seer_operator_call *call, int code, const char *message) {
  size_t k = 0;
  for (; message[k] && k + 1 < call->message_bytes; k++) call->message[k] = message[k];
  if (call->message_bytes > 0) call->message[k] = 0;
  return code;
}

// Output `k` is of input `i`'s type and dimensions.
static inline int seer_operator_same(seer_operator_call *call, uint32_t k, uint32_t i) {
  if (i >= call->n_input || call->input[i].type == 0)
    return seer_operator_fail(call, 1, "an input is absent");
  if (k >= call->n_output) return seer_operator_fail(call, 1, "an output is absent");
  call->output[k] = call->input[i];
  call->output[k].data = NULL;
  return 0;
}

#ifdef __cplusplus
}
#endif

#endif
