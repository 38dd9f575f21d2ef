// tensor.c - TensorProto -> constant: element types, dimensions, and where the bytes are (in the
// file, typed or raw, or in a file beside it). Lengths are compared with what the dimensions ask
// for before anything is allocated.
#include <string.h>

#include "front/limit.h"
#include "front/onnx/onnx.h"

// Our own table: newer files use numbers that the packaged onnx.proto does not have.
static const struct {
  const char *name;
  seer_dtype dtype;
} dtypes[] = {
    {"undefined", SEER_DTYPE_NONE},
    {"float", SEER_DTYPE_F32},
    {"uint8", SEER_DTYPE_U8},
    {"int8", SEER_DTYPE_I8},
    {"uint16", SEER_DTYPE_U16},
    {"int16", SEER_DTYPE_I16},
    {"int32", SEER_DTYPE_I32},
    {"int64", SEER_DTYPE_I64},
    {"string", SEER_DTYPE_NONE},
    {"bool", SEER_DTYPE_BOOL},
    {"float16", SEER_DTYPE_F16},
    {"double", SEER_DTYPE_F64},
    {"uint32", SEER_DTYPE_U32},
    {"uint64", SEER_DTYPE_U64},
    {"complex64", SEER_DTYPE_NONE},
    {"complex128", SEER_DTYPE_NONE},
    {"bfloat16", SEER_DTYPE_BF16},
    {"float8e4m3fn", SEER_DTYPE_F8E4M3FN},
    {"float8e4m3fnuz", SEER_DTYPE_F8E4M3FNUZ},
    {"float8e5m2", SEER_DTYPE_F8E5M2},
    {"float8e5m2fnuz", SEER_DTYPE_F8E5M2FNUZ},
    {"uint4", SEER_DTYPE_U4},
    {"int4", SEER_DTYPE_I4},
    {"float4e2m1", SEER_DTYPE_F4E2M1},
    {"float8e8m0", SEER_DTYPE_F8E8M0},
    {"uint2", SEER_DTYPE_U2},
    {"int2", SEER_DTYPE_I2},
    {"float6e2m3", SEER_DTYPE_NONE},
    {"float6e3m2", SEER_DTYPE_NONE},
};

seer_dtype seer_onnx_dtype(int32_t onnx_dtype) {
  if (onnx_dtype < 0 || (size_t)onnx_dtype >= SEER_COUNT_OF(dtypes)) return SEER_DTYPE_NONE;
  return dtypes[onnx_dtype].dtype;
}

int32_t seer_onnx_dtype_number(seer_dtype dtype) {
  for (size_t k = 1; k < SEER_COUNT_OF(dtypes); k++) {
    if (dtypes[k].dtype == dtype) return (int32_t)k;
  }
  return 0;
}

const char *seer_onnx_dtype_name(int32_t onnx_dtype) {
  if (onnx_dtype < 0 || (size_t)onnx_dtype >= SEER_COUNT_OF(dtypes)) return "?";
  return dtypes[onnx_dtype].name;
}

// Elements a byte: of 2 and 4 bits there are several, the first in the low bits.
static uint32_t per_byte(seer_dtype dtype) {
  uint32_t bits = seer_dtype_bits(dtype);
  return bits < 8 ? 8 / bits : 1;
}

static bool is_packed(const seer_tensor *tensor) { return per_byte(tensor->dtype) > 1; }

size_t seer_onnx_file_bytes(const seer_tensor *tensor) {
  size_t n = per_byte(tensor->dtype);  // of a whole type a byte is an element's part
  return tensor->n_bytes / n + (tensor->n_bytes % n != 0);
}

// Several elements a byte -> one a byte.
static void unpack(seer_dtype dtype, const uint8_t *packed, uint8_t *data, size_t n) {
  uint32_t per = per_byte(dtype), bits = seer_dtype_bits(dtype);
  for (size_t k = 0; k < n; k++) {
    data[k] = (uint8_t)((uint32_t)packed[k / per] >> k % per * bits & ((1u << bits) - 1));
    if (!seer_dtype_is_float(dtype)) seer_dtype_store_i64(dtype, data, (int64_t)k, data[k]);
  }
}

const void *seer_onnx_file_data(const seer_tensor *tensor, seer_arena *arena) {
  if (!is_packed(tensor)) return tensor->data;
  const uint8_t *data = tensor->data;
  uint32_t per = per_byte(tensor->dtype), bits = seer_dtype_bits(tensor->dtype);
  uint8_t *packed = seer_arena_alloc(arena, seer_onnx_file_bytes(tensor) + 1, 64);
  for (size_t k = 0; k < tensor->n_bytes; k++) {
    uint32_t own = data[k] & ((1u << bits) - 1);
    packed[k / per] = (uint8_t)(k % per ? packed[k / per] | own << k % per * bits : own);
  }
  return packed;
}

static seer_status fail(
    const seer_onnx_file *file, const Onnx__TensorProto *proto, seer_status status) {
  return seer_status_context(
      status, "reading tensor '%s' of %s", proto->name ? proto->name : "", file->source);
}

// Bytes from a mapped file: in place when aligned for their type (a vectorised loop over misaligned
// floats may fault).
static const void *borrow_or_copy(
    seer_onnx_file *file, const uint8_t *bytes, const seer_tensor *tensor) {
  size_t n_bytes = tensor->n_bytes;
  seer_dtype dtype = tensor->dtype;
  if (n_bytes == 0) return NULL;
  bool is_ready = dtype != SEER_DTYPE_BOOL && !is_packed(tensor);
  if ((uintptr_t)bytes % seer_dtype_bytes(dtype) == 0 && is_ready) return bytes;
  uint8_t *copy = seer_arena_alloc(file->graph->arena, n_bytes, 64);
  if (is_packed(tensor)) {
    unpack(dtype, bytes, copy, n_bytes);
    return copy;
  }
  memcpy(copy, bytes, n_bytes);
  // A bool is one byte, 0 or 1, whatever the file holds.
  for (size_t k = 0; dtype == SEER_DTYPE_BOOL && k < n_bytes; k++) copy[k] = copy[k] != 0;
  return copy;
}

// ---- data in a file beside the model

static bool is_inside_folder(const char *location) {
  if (!location[0] || location[0] == '/' || strchr(location, '\\')) return false;
  for (const char *part = location; part;) {
    const char *slash = strchr(part, '/');
    size_t n = slash ? (size_t)(slash - part) : strlen(part);
    if (n == 2 && part[0] == '.' && part[1] == '.') return false;
    part = slash ? slash + 1 : NULL;
  }
  return true;
}

static bool parse_u64(const char *text, uint64_t *out_value) {
  uint64_t value = 0;
  if (!text[0]) return false;
  for (; *text; text++) {
    if (*text < '0' || *text > '9') return false;
    if (__builtin_mul_overflow(value, (uint64_t)10, &value)) return false;
    if (__builtin_add_overflow(value, (uint64_t)(*text - '0'), &value)) return false;
  }
  *out_value = value;
  return true;
}

// Where an external tensor's bytes are.
typedef struct {
  const char *location;  // NULL: it does not say
  uint64_t offset, length;
} place;

static seer_status read_place(const Onnx__TensorProto *proto, uint64_t n_bytes, place *out) {
  *out = (place){.length = n_bytes};
  for (size_t k = 0; k < proto->n_external_data; k++) {
    const char *key = proto->external_data[k]->key, *value = proto->external_data[k]->value;
    if (!key || !value) continue;
    if (strcmp(key, "location") == 0) out->location = value;
    if (strcmp(key, "offset") == 0 && !parse_u64(value, &out->offset)) {
      return SEER_FAIL(INVALID, "external data: offset '%s' is no number", value);
    }
    if (strcmp(key, "length") == 0 && !parse_u64(value, &out->length)) {
      return SEER_FAIL(INVALID, "external data: length '%s' is no number", value);
    }
  }
  if (!out->location) return SEER_FAIL(INVALID, "external data without a location");
  if (out->length == n_bytes) return SEER_OK;
  return SEER_FAIL(INVALID,
      "external data '%s': length %" PRIu64 ", the dimensions need %" PRIu64 " bytes",
      out->location, out->length, n_bytes);
}

static const seer_front_tensor *find_given(const seer_onnx_file *file, const char *location) {
  for (uint32_t k = 0; k < file->n_given; k++)
    if (strcmp(file->given[k].location, location) == 0) return &file->given[k];
  return NULL;
}

static seer_status map_external(
    seer_onnx_file *file, const char *location, const uint8_t **out_data, size_t *out_n_bytes) {
  if (!is_inside_folder(location)) {
    return SEER_FAIL(INVALID,
        "external data '%s' leaves the model's folder; only files beside the model are read",
        location);
  }
  if (!file->folder)
    return SEER_FAIL(
        INVALID, "external data '%s', but the model does not come from a file", location);
  seer_graph *graph = file->graph;
  uint64_t index;
  if (!seer_map_get_str(file->external, location, &index)) {
    const char *const folders[2] = {file->folder, file->real_folder};
    graph->map = SEER_GROW(graph->arena, seer_os_map, graph->map, graph->n_map, &graph->cap_map);
    SEER_TRYF(seer_os_map_beneath(folders, file->real_folder ? 2 : 1, location, graph->arena,
                  &graph->map[graph->n_map]),
        "opening external data '%s': only files beneath the model's folder are read", location);
    index = graph->n_map++;
    graph->file_bytes += graph->map[index].n_bytes;
    seer_front_allow(graph->map[index].n_bytes);
    seer_map_set_str(file->external, location, index);
  }
  *out_data = graph->map[index].data;
  *out_n_bytes = graph->map[index].n_bytes;
  return SEER_OK;
}

static seer_status external_data(
    seer_onnx_file *file, const Onnx__TensorProto *proto, seer_tensor *tensor) {
  place at;
  SEER_TRY(read_place(proto, seer_onnx_file_bytes(tensor), &at));
  const seer_front_tensor *given = find_given(file, at.location);
  const uint8_t *data = given ? given->data : NULL;
  size_t n_bytes = given ? given->n_bytes : 0;
  if (!given) SEER_TRY(map_external(file, at.location, &data, &n_bytes));
  if (at.offset > n_bytes || at.length > n_bytes - at.offset) {
    return SEER_FAIL(INVALID, "external data '%s': bytes %" PRIu64 " to %" PRIu64 " of %s of %zu",
        at.location, at.offset, at.offset + at.length, given ? "memory" : "a file", n_bytes);
  }
  tensor->data = borrow_or_copy(file, data ? data + at.offset : NULL, tensor);
  return SEER_OK;
}

// ---- data in the file itself

// Which list an element type is stored in when it is not raw_data.
static uint8_t list_field(seer_dtype dtype) {
  switch (dtype) {
    case SEER_DTYPE_F32:
      return 4;
    case SEER_DTYPE_F64:
      return 10;
    case SEER_DTYPE_I64:
      return 7;
    case SEER_DTYPE_U32:
    case SEER_DTYPE_U64:
      return 11;
    case SEER_DTYPE_I8:
    case SEER_DTYPE_I16:
    case SEER_DTYPE_I32:
    case SEER_DTYPE_U8:
    case SEER_DTYPE_U16:
    case SEER_DTYPE_BOOL:
    case SEER_DTYPE_F16:
    case SEER_DTYPE_BF16:
    case SEER_DTYPE_F8E4M3FN:
    case SEER_DTYPE_F8E4M3FNUZ:
    case SEER_DTYPE_F8E5M2:
    case SEER_DTYPE_F8E5M2FNUZ:
    case SEER_DTYPE_I4:
    case SEER_DTYPE_U4:
    case SEER_DTYPE_I2:
    case SEER_DTYPE_U2:
    case SEER_DTYPE_F4E2M1:
    case SEER_DTYPE_F8E8M0:
      return 5;
    case SEER_DTYPE_NONE:
    case SEER_DTYPE_COUNT:
      break;
  }
  return 0;
}

// One chunk of a list; *n_done elements are already there. Counts on when the list is too long, for
// the message.
static seer_status list_chunk(const seer_onnx_file *file, const seer_onnx_chunk *chunk,
    seer_dtype dtype, int64_t n, uint8_t *data, int64_t *n_done) {
  uint32_t size = seer_dtype_bytes(dtype);
  const uint8_t *bytes = file->data + chunk->offset;
  if (chunk->field == 4 || chunk->field == 10) {  // floats and doubles have a fixed width
    if (chunk->wire_type == 0 || chunk->n_bytes % size != 0)
      return SEER_FAIL(INVALID, "a cut-off list of floats");
    uint64_t n_here = chunk->n_bytes / size;
    if (n_here <= (uint64_t)(n - *n_done))
      memcpy(data + (size_t)*n_done * size, bytes, chunk->n_bytes);
    *n_done += (int64_t)n_here;
    return SEER_OK;
  }
  if (chunk->wire_type != 0 && chunk->wire_type != 2)
    return SEER_FAIL(INVALID, "a list of the wrong wire type");
  uint64_t at = 0;
  while (at < chunk->n_bytes) {
    uint64_t value;
    if (!seer_onnx_varint(bytes, chunk->n_bytes, &at, &value))
      return SEER_FAIL(INVALID, "a cut-off list of integers");
    if (*n_done < n) {
      uint8_t *to = data + (size_t)*n_done * size;
      if (dtype == SEER_DTYPE_BOOL) value = value != 0;
      memcpy(to, &value, size);  // little-endian; half floats are stored as their bits
    }
    ++*n_done;
  }
  return SEER_OK;
}

static seer_status file_data(
    seer_onnx_file *file, const Onnx__TensorProto *proto, seer_tensor *tensor, int64_t n) {
  seer_onnx_payload payload = {0, 0};
  size_t n_file_bytes = seer_onnx_file_bytes(tensor);
  if (proto->has_raw_data && proto->raw_data.len == sizeof payload) {
    memcpy(&payload, proto->raw_data.data, sizeof payload);
  }
  // The skeleton is ours, so this cannot fail; but it guards memory.
  if (payload.first > file->wire.n_chunk || payload.n > file->wire.n_chunk - payload.first) {
    return SEER_FAIL(INVALID, "payload out of range");
  }
  const seer_onnx_chunk *chunk = payload.n ? &file->wire.chunk[payload.first] : NULL;
  uint8_t field = list_field(tensor->dtype);
  int64_t n_other = 0;
  for (uint32_t k = 0; k < payload.n; k++) {
    if (chunk[k].field == 9) {
      if (chunk[k].wire_type != 2 || chunk[k].n_bytes != n_file_bytes) {
        return SEER_FAIL(INVALID, "%" PRIu64 " bytes of data, the dimensions need %zu",
            chunk[k].n_bytes, n_file_bytes);
      }
      tensor->data = borrow_or_copy(file, file->data + chunk[k].offset, tensor);
      return SEER_OK;
    }
    n_other += chunk[k].field != field;
  }
  if (n == 0) return SEER_OK;
  if (n_other == (int64_t)payload.n) {
    return payload.n
        ? SEER_FAIL(INVALID, "its data is in a list of another type than '%s'",
              seer_onnx_dtype_name(proto->data_type))
        : SEER_FAIL(INVALID, "it has no data, the dimensions need %zu bytes", n_file_bytes);
  }
  // Several elements a byte: an entry is such a byte.
  if (is_packed(tensor)) n = (int64_t)n_file_bytes;
  // A list has at least a byte per entry, so no file of a few bytes can ask for much memory.
  uint64_t n_bytes = 0;
  for (uint32_t k = 0; k < payload.n; k++)
    n_bytes += chunk[k].field == field ? chunk[k].n_bytes : 0;
  if (n_bytes < (uint64_t)n) {
    return SEER_FAIL(
        INVALID, "at most %" PRIu64 " elements of data, the dimensions need %" PRId64, n_bytes, n);
  }
  uint8_t *data = seer_arena_alloc(file->graph->arena, n_file_bytes, 64);
  int64_t n_done = 0;
  for (uint32_t k = 0; k < payload.n; k++) {
    if (chunk[k].field == field)
      SEER_TRY(list_chunk(file, &chunk[k], tensor->dtype, n, data, &n_done));
    if (n_done > n) break;
  }
  if (n_done != n) {
    return SEER_FAIL(INVALID, "%" PRId64 "%s elements of data, the dimensions need %" PRId64,
        n_done, n_done > n ? " or more" : "", n);
  }
  tensor->data = is_packed(tensor) ? borrow_or_copy(file, data, tensor) : data;
  return SEER_OK;
}

seer_status seer_onnx_dims(const int64_t *dims, size_t n_dims, seer_tensor *tensor) {
  if (n_dims > SEER_MAX_RANK) {
    return SEER_FAIL(
        UNSUPPORTED, "%zu dimensions, at most %d are supported", n_dims, SEER_MAX_RANK);
  }
  tensor->rank = (uint8_t)n_dims;
  for (size_t k = 0; k < n_dims; k++) {
    if (dims[k] < 0) return SEER_FAIL(INVALID, "dimension %zu is %" PRId64, k, dims[k]);
    tensor->dim[k] = dims[k];
  }
  int64_t n = seer_tensor_elems(tensor), n_bytes;
  if (n < 0 || __builtin_mul_overflow(n, (int64_t)seer_dtype_bytes(tensor->dtype), &n_bytes)) {
    return SEER_FAIL(INVALID, "its dimensions multiply to more than 2^63 bytes");
  }
  tensor->n_bytes = (size_t)n_bytes;
  return SEER_OK;
}

static seer_status read_tensor(
    seer_onnx_file *file, const Onnx__TensorProto *proto, seer_tensor *tensor) {
  *tensor = (seer_tensor){.dtype = seer_onnx_dtype(proto->data_type)};
  if (tensor->dtype == SEER_DTYPE_NONE) {
    return SEER_FAIL(UNSUPPORTED, "element type %d (%s) is not supported", proto->data_type,
        seer_onnx_dtype_name(proto->data_type));
  }
  if (proto->segment) return SEER_FAIL(UNSUPPORTED, "tensors in segments are not supported");
  SEER_TRY(seer_onnx_dims(proto->dims, proto->n_dims, tensor));
  if (proto->has_data_location &&
      proto->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL) {
    return external_data(file, proto, tensor);
  }
  return file_data(file, proto, tensor, seer_tensor_elems(tensor));
}

seer_status seer_onnx_tensor(
    seer_onnx_file *file, const Onnx__TensorProto *proto, seer_tensor *out_tensor) {
  seer_status status = read_tensor(file, proto, out_tensor);
  return status ? fail(file, proto, status) : SEER_OK;
}
