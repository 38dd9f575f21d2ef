// wire.c - ONNX bytes -> skeleton + table of payloads.
// A decoder that is generated trusts its input with memory and stack: it recurses as deep as
// messages nest and copies every payload. So the file is walked first, along a table of the fields
// that we read: nested messages are descended with a depth limit, payloads of tensors are noted by
// offset and left out, what we do not read is checked for size and dropped. What is left is small
// and of known depth, and 2 GB of weights stay where they are, in the mapped file. Format: protocol
// buffers' encoding (varint tags; wire types 0, 1, 2 and 5).
#include "front/onnx/wire.h"

#include <string.h>

#include "front/graph.h"

enum { MAX_DEPTH = 64, LENGTH_BYTES = 5 };

typedef enum {
  NONE,
  MODEL,
  OPSET,
  GRAPH,
  NODE,
  ATTRIBUTE,
  TENSOR,
  SPARSE,
  ENTRY,
  VALUE_INFO,
  TYPE,
  TENSOR_TYPE,
  SHAPE,
  DIMENSION,
  OPAQUE_TYPE,
  FUNCTION
} message_kind;

// NAME: copied, too, if it is not too long.
typedef enum { COPY, NAME, DESCEND, PAYLOAD } action;

// Fields that are read; others are dropped. Numbers are those of onnx.proto.
static const struct {
  uint8_t message;
  uint8_t field;
  uint8_t action;
  uint8_t child;
} fields[] = {
    {MODEL, 1, COPY, NONE},  // ir_version
    {MODEL, 2, NAME, NONE},  // producer_name
    {MODEL, 7, DESCEND, GRAPH},  // graph
    {MODEL, 8, DESCEND, OPSET},  // opset_import
    {MODEL, 25, DESCEND, FUNCTION},  // functions
    {OPSET, 1, NAME, NONE},  // domain
    {OPSET, 2, COPY, NONE},  // version
    {GRAPH, 1, DESCEND, NODE},  // node
    {GRAPH, 2, NAME, NONE},  // name
    {GRAPH, 5, DESCEND, TENSOR},  // initializer
    {GRAPH, 11, DESCEND, VALUE_INFO},  // input
    {GRAPH, 12, DESCEND, VALUE_INFO},  // output
    {GRAPH, 15, DESCEND, SPARSE},  // sparse_initializer
    {NODE, 1, NAME, NONE},  // input
    {NODE, 2, NAME, NONE},  // output
    {NODE, 3, NAME, NONE},  // name
    {NODE, 4, NAME, NONE},  // op_type
    {NODE, 5, DESCEND, ATTRIBUTE},  // attribute
    {NODE, 7, NAME, NONE},  // domain
    {NODE, 8, NAME, NONE},  // overload
    {ATTRIBUTE, 1, NAME, NONE},  // name
    {ATTRIBUTE, 2, COPY, NONE},  // f
    {ATTRIBUTE, 3, COPY, NONE},  // i
    {ATTRIBUTE, 4, COPY, NONE},  // s
    {ATTRIBUTE, 5, DESCEND, TENSOR},  // t
    {ATTRIBUTE, 6, DESCEND, GRAPH},  // g
    {ATTRIBUTE, 7, COPY, NONE},  // floats
    {ATTRIBUTE, 8, COPY, NONE},  // ints
    {ATTRIBUTE, 9, COPY, NONE},  // strings
    {ATTRIBUTE, 20, COPY, NONE},  // type
    {ATTRIBUTE, 21, NAME, NONE},  // ref_attr_name
    {ATTRIBUTE, 22, DESCEND, SPARSE},  // sparse_tensor
    {TENSOR, 1, COPY, NONE},  // dims
    {TENSOR, 2, COPY, NONE},  // data_type
    {TENSOR, 3, COPY, NONE},  // segment
    {TENSOR, 4, PAYLOAD, NONE},  // float_data
    {TENSOR, 5, PAYLOAD, NONE},  // int32_data
    {TENSOR, 6, PAYLOAD, NONE},  // string_data
    {TENSOR, 7, PAYLOAD, NONE},  // int64_data
    {TENSOR, 8, NAME, NONE},  // name
    {TENSOR, 9, PAYLOAD, NONE},  // raw_data
    {TENSOR, 10, PAYLOAD, NONE},  // double_data
    {TENSOR, 11, PAYLOAD, NONE},  // uint64_data
    {TENSOR, 13, DESCEND, ENTRY},  // external_data
    {TENSOR, 14, COPY, NONE},  // data_location
    {SPARSE, 1, DESCEND, TENSOR},  // values
    {SPARSE, 2, DESCEND, TENSOR},  // indices
    {SPARSE, 3, COPY, NONE},  // dims
    {ENTRY, 1, NAME, NONE},  // key
    {ENTRY, 2, NAME, NONE},  // value
    {VALUE_INFO, 1, NAME, NONE},  // name
    {VALUE_INFO, 2, DESCEND, TYPE},  // type
    {TYPE, 1, DESCEND, TENSOR_TYPE},  // tensor_type
    {TYPE, 4, DESCEND, OPAQUE_TYPE},  // sequence_type
    {TYPE, 5, DESCEND, OPAQUE_TYPE},  // map_type
    {TYPE, 8, DESCEND, OPAQUE_TYPE},  // sparse_tensor_type
    {TYPE, 9, DESCEND, OPAQUE_TYPE},  // optional_type
    {TENSOR_TYPE, 1, COPY, NONE},  // elem_type
    {TENSOR_TYPE, 2, DESCEND, SHAPE},  // shape
    {SHAPE, 1, DESCEND, DIMENSION},  // dim
    {DIMENSION, 1, COPY, NONE},  // dim_value
    {DIMENSION, 2, NAME, NONE},  // dim_param
    {FUNCTION, 1, NAME, NONE},  // name
    {FUNCTION, 4, NAME, NONE},  // input
    {FUNCTION, 5, NAME, NONE},  // output
    {FUNCTION, 6, NAME, NONE},  // attribute
    {FUNCTION, 7, DESCEND, NODE},  // node
    {FUNCTION, 9, DESCEND, OPSET},  // opset_import
    {FUNCTION, 10, NAME, NONE},  // domain
    {FUNCTION, 11, DESCEND, ATTRIBUTE},  // attribute_proto
    {FUNCTION, 13, NAME, NONE},  // overload
};

typedef struct {
  const char *source;
  const uint8_t *data;
  size_t cap_bytes, cap_chunk;
  seer_arena *arena;
  seer_onnx_wire *out;
} walker;

bool seer_onnx_varint(const uint8_t *data, uint64_t end, uint64_t *at, uint64_t *out_value) {
  uint64_t value = 0;
  for (uint32_t shift = 0; shift < 70 && *at < end; shift += 7) {
    uint8_t byte = data[(*at)++];
    value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
    if (!(byte & 0x80)) {
      *out_value = value;
      return true;
    }
  }
  return false;
}

static seer_status damaged(const walker *w, uint64_t at, const char *what) {
  return SEER_FAIL(
      INVALID, "%s is no ONNX file, or damaged: %s at byte %" PRIu64, w->source, what, at);
}

static seer_status reserve(walker *w, uint64_t n_more) {
  seer_onnx_wire *out = w->out;
  if (out->n_bytes + n_more > INT32_MAX) {
    return SEER_FAIL(UNSUPPORTED, "%s: more than 2 GB of graph (without weights)", w->source);
  }
  if (out->n_bytes + n_more <= w->cap_bytes) return SEER_OK;
  size_t cap = w->cap_bytes ? w->cap_bytes * 2 : 4096;
  while (cap < out->n_bytes + n_more) cap *= 2;
  uint8_t *bytes = seer_arena_alloc(w->arena, cap, 1);
  if (out->n_bytes) memcpy(bytes, out->skeleton, out->n_bytes);
  out->skeleton = bytes;
  w->cap_bytes = cap;
  return SEER_OK;
}

static seer_status put_copy(walker *w, uint64_t from, uint64_t to) {
  SEER_TRY(reserve(w, to - from));
  memcpy(w->out->skeleton + w->out->n_bytes, w->data + from, to - from);
  w->out->n_bytes += to - from;
  return SEER_OK;
}

static seer_status put_chunk(walker *w, seer_onnx_chunk chunk) {
  seer_onnx_wire *out = w->out;
  if (out->n_chunk >= UINT32_MAX / 2)
    return SEER_FAIL(UNSUPPORTED, "%s: more than 2^31 payloads", w->source);
  out->chunk = SEER_GROW(w->arena, seer_onnx_chunk, out->chunk, out->n_chunk, &w->cap_chunk);
  out->chunk[out->n_chunk++] = chunk;
  return SEER_OK;
}

static seer_status walk(walker *w, message_kind kind, uint64_t at, uint64_t end, uint32_t depth);

// A nested message gets its length once it is known, as a varint of fixed width (legal, if not the
// shortest).
static seer_status walk_child(walker *w, message_kind child, uint64_t tag_at, uint64_t tag_end,
    uint64_t at, uint64_t end, uint32_t depth) {
  SEER_TRY(put_copy(w, tag_at, tag_end));
  SEER_TRY(reserve(w, LENGTH_BYTES));
  size_t length_at = w->out->n_bytes;
  w->out->n_bytes += LENGTH_BYTES;
  uint32_t first = (uint32_t)w->out->n_chunk;
  SEER_TRY(walk(w, child, at, end, depth + 1));
  if (child == TENSOR) {
    // raw_data (field 9, length-delimited) now says which chunks are this tensor's.
    seer_onnx_payload payload = {first, (uint32_t)w->out->n_chunk - first};
    SEER_TRY(reserve(w, 2 + sizeof payload));
    uint8_t *put = w->out->skeleton + w->out->n_bytes;
    put[0] = 9 << 3 | 2;
    put[1] = sizeof payload;
    memcpy(put + 2, &payload, sizeof payload);
    w->out->n_bytes += 2 + sizeof payload;
  }
  uint64_t length = w->out->n_bytes - length_at - LENGTH_BYTES;
  for (int k = 0; k < LENGTH_BYTES; k++) {
    w->out->skeleton[length_at + (size_t)k] =
        (uint8_t)((length >> (7 * k) & 0x7f) | (k + 1 < LENGTH_BYTES ? 0x80 : 0));
  }
  return SEER_OK;
}

static seer_status walk(walker *w, message_kind kind, uint64_t at, uint64_t end, uint32_t depth) {
  if (depth > MAX_DEPTH) return damaged(w, at, "messages nest deeper than 64");
  while (at < end) {
    uint64_t tag_at = at, tag;
    if (!seer_onnx_varint(w->data, end, &at, &tag)) return damaged(w, tag_at, "a cut-off tag");
    uint64_t tag_end = at, number = tag >> 3, value_at = at, value_end;
    uint8_t wire_type = tag & 7;
    if (number == 0 || number > 0x1fffffff)
      return damaged(w, tag_at, "a field number out of range");
    uint64_t n;
    switch (wire_type) {
      case 0:
        if (!seer_onnx_varint(w->data, end, &at, &n)) return damaged(w, tag_at, "a cut-off number");
        value_end = at;
        break;
      case 1:
      case 5:
        n = wire_type == 1 ? 8 : 4;
        if (end - at < n) return damaged(w, tag_at, "a cut-off number");
        value_end = at += n;
        break;
      case 2:
        if (!seer_onnx_varint(w->data, end, &at, &n)) return damaged(w, tag_at, "a cut-off length");
        if (n > end - at) return damaged(w, tag_at, "a length beyond the end");
        value_at = at;
        value_end = at += n;
        break;
      default:
        return damaged(w, tag_at, "an unknown wire type");
    }
    size_t f = 0;
    while (f < SEER_COUNT_OF(fields) && (fields[f].message != kind || fields[f].field != number))
      f++;
    if (f == SEER_COUNT_OF(fields)) continue;
    switch ((action)fields[f].action) {
      case NAME:
        if (value_end - value_at > SEER_GRAPH_NAME_BYTES)
          return SEER_FAIL(UNSUPPORTED,
              "%s: a name of %" PRIu64 " bytes at byte %" PRIu64 ", at most %zu are supported",
              w->source, value_end - value_at, value_at, SEER_GRAPH_NAME_BYTES);
        SEER_TRY(put_copy(w, tag_at, value_end));
        break;
      case COPY:
        SEER_TRY(put_copy(w, tag_at, value_end));
        break;
      case PAYLOAD:
        SEER_TRY(put_chunk(
            w, (seer_onnx_chunk){value_at, value_end - value_at, (uint8_t)number, wire_type}));
        break;
      case DESCEND:
        if (wire_type != 2) return damaged(w, tag_at, "a message of the wrong wire type");
        SEER_TRY(walk_child(
            w, (message_kind)fields[f].child, tag_at, tag_end, value_at, value_end, depth));
        break;
    }
  }
  return SEER_OK;
}

seer_status seer_onnx_walk(const char *source, const uint8_t *data, size_t n_bytes,
    seer_arena *arena, seer_onnx_wire *out_wire) {
  *out_wire = (seer_onnx_wire){0};
  walker w = {.source = source, .data = data, .arena = arena, .out = out_wire};
  return walk(&w, MODEL, 0, n_bytes, 0);
}
