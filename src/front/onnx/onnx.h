// onnx.h - what the files of the ONNX reader share. Private to this folder.
// One thread reads a file. Whatever fails, the graph is of no use but to be closed.
#ifndef SEER_FRONT_ONNX_ONNX_H
#define SEER_FRONT_ONNX_ONNX_H

#include "base/map.h"
#include "front/front.h"
#include "front/graph.h"
#include "front/onnx/dtype.h"
#include "front/onnx/wire.h"
#include "onnx.pb-c.h"

// One file being read.
typedef struct {
  const char *source;  // for messages
  const char *folder;  // where external data must lie; NULL: there is none
  const char *real_folder;  // of the file that a link stands for: external data may lie there, too
  const uint8_t *data;  // mapped
  size_t n_bytes;
  seer_onnx_wire wire;
  seer_graph *graph;
  seer_map *external;  // location -> index into graph->map
  const seer_front_tensor *given;  // external data that are in memory
  uint32_t n_given;
  const Onnx__ModelProto *model;
  seer_map *functions;  // by hash of name, domain and overload; NULL: not needed yet
  uint32_t n_nodes;  // made so far, functions expanded
  ProtobufCAllocator allocator;  // of decoded messages: an arena that ends with the reading
} seer_onnx_file;

// ---- kind.c
// INVALID: it begins as a file of another kind does, which is named with what to do about it.
SEER_MUST_USE seer_status seer_onnx_check_kind(
    const char *source, const void *data, size_t n_bytes);

// ---- tensor.c
// Checks dimensions against payload and gives the data: borrowed from the file where it is aligned,
// else in the graph's arena.
SEER_MUST_USE seer_status seer_onnx_tensor(
    seer_onnx_file *file, const Onnx__TensorProto *proto, seer_tensor *out_tensor);
// Rank, dimensions and n_bytes of a tensor whose type is known.
SEER_MUST_USE seer_status seer_onnx_dims(const int64_t *dims, size_t n_dims, seer_tensor *tensor);
// Elements of 4 and 2 bits are two and four a byte in files, the first in the low bits, and one a
// byte here.
size_t seer_onnx_file_bytes(const seer_tensor *tensor);
// The data as it stands in a file: the tensor's own, or packed in `arena`.
const void *seer_onnx_file_data(const seer_tensor *tensor, seer_arena *arena);

// ---- sparse.c
// As seer_onnx_tensor; every index is checked.
SEER_MUST_USE seer_status seer_onnx_sparse(
    seer_onnx_file *file, const Onnx__SparseTensorProto *proto, seer_tensor *out_tensor);
const char *seer_onnx_sparse_name(const Onnx__SparseTensorProto *proto);  // that of its values

// ---- node.c
// Names of one graph, of one call of a function, or of the body of an If, Loop or Scan.
typedef struct seer_onnx_scope {
  seer_graph *graph;  // that its values and nodes are added to
  seer_map *names;  // name in the file -> value id
  const char *prefix;  // of values and nodes that a call makes; "" for the model's graph
  // Of a body: where the names are looked up that it does not make. What is found there becomes an
  // input of the body, and capture[k] is the value of outer->graph that the k-th of these stands
  // for.
  struct seer_onnx_scope *outer;
  seer_val *capture;
  size_t n_capture, cap_capture;
  size_t n_opset;
  Onnx__OperatorSetIdProto **opset;
  const struct seer_onnx_scope *caller;
  const Onnx__NodeProto *call;  // the node whose function this is; NULL for the model's graph
  const Onnx__FunctionProto *function;  // likewise
  uint32_t depth;
} seer_onnx_scope;

SEER_MUST_USE seer_status seer_onnx_nodes(
    seer_onnx_file *file, seer_onnx_scope *scope, size_t n, Onnx__NodeProto *const *nodes);
// The value that a name stands for; made when it is new (a node further down may make it).
seer_val seer_onnx_value(seer_onnx_file *file, seer_onnx_scope *scope, const char *name);
// As above, for a name that is read: a body may find it outside.
seer_val seer_onnx_operand(seer_onnx_file *file, seer_onnx_scope *scope, const char *name);

// ---- read.c
// A body as a graph of its own. out_attr->ints: the captured values' ids in scope->graph.
SEER_MUST_USE seer_status seer_onnx_body(seer_onnx_file *file, seer_onnx_scope *scope,
    const Onnx__GraphProto *proto, seer_attr *out_attr);

#endif
