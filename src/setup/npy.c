// npy.c - bytes of a .npy file <-> an array. The header is a Python literal; NumPy writes
//   \x93NUMPY <major> <minor> <length, 2 or 4 bytes>
//   {'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), } \n
// and only that shape of dictionary (any order of keys, any blanks) is read.
#include "setup/npy.h"

#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/text.h"

#define MAX_HEADER 65536
#define MAX_FILE ((size_t)1 << 40)

typedef struct {
  const char *descr;  // NumPy's letters behind the byte order
  int32_t onnx_dtype;
  uint32_t n_bytes;
  const char *name;
} element;

static const element elements[] = {
    {"f4", 1, 4, "f32"},
    {"u1", 2, 1, "u8"},
    {"i1", 3, 1, "i8"},
    {"u2", 4, 2, "u16"},
    {"i2", 5, 2, "i16"},
    {"i4", 6, 4, "i32"},
    {"i8", 7, 8, "i64"},
    {"b1", 9, 1, "bool"},
    {"f2", 10, 2, "f16"},
    {"f8", 11, 8, "f64"},
    {"u4", 12, 4, "u32"},
    {"u8", 13, 8, "u64"},
};

// Types that NumPy lacks, and which of its own carries their elements.
static const struct {
  int32_t onnx_dtype, carrier;
  const char *name;
} carried[] = {
    {16, 4, "bf16"},
    {17, 2, "f8e4m3fn"},
    {18, 2, "f8e4m3fnuz"},
    {19, 2, "f8e5m2"},
    {20, 2, "f8e5m2fnuz"},
    {21, 2, "u4"},
    {22, 3, "i4"},
    {23, 2, "f4e2m1"},
    {24, 2, "f8e8m0"},
    {25, 2, "u2"},
    {26, 3, "i2"},
};

const char *seer_npy_dtype_name(int32_t onnx_dtype) {
  for (size_t i = 0; i < SEER_COUNT_OF(elements); i++)
    if (elements[i].onnx_dtype == onnx_dtype) return elements[i].name;
  for (size_t i = 0; i < SEER_COUNT_OF(carried); i++)
    if (carried[i].onnx_dtype == onnx_dtype) return carried[i].name;
  return "?";
}

int32_t seer_npy_carrier(int32_t onnx_dtype) {
  for (size_t i = 0; i < SEER_COUNT_OF(carried); i++)
    if (carried[i].onnx_dtype == onnx_dtype) return carried[i].carrier;
  return onnx_dtype;
}

const char *seer_shape_text(const int64_t *dim, int32_t rank, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  for (int32_t k = 0; k < rank; k++)
    seer_text_printf(&text, "%s%" PRId64, k > 0 ? "x" : "", dim[k]);
  return rank > 0 ? text.data : "scalar";
}

typedef struct {
  const char *source;
  const char *at, *end;
  const element *element;
  bool is_big_endian, is_fortran, has_descr, has_order, has_shape;
} header;

static void skip_blanks(header *h) {
  while (h->at < h->end && (*h->at == ' ' || *h->at == '\t' || *h->at == '\n' || *h->at == '\r'))
    h->at++;
}

static bool take(header *h, const char *token) {
  skip_blanks(h);
  size_t n = strlen(token);
  if ((size_t)(h->end - h->at) < n || memcmp(h->at, token, n) != 0) return false;
  h->at += n;
  return true;
}

static seer_status bad(const header *h, const char *what) {
  size_t n = (size_t)(h->end - h->at) < 24 ? (size_t)(h->end - h->at) : 24;
  char near[25] = {0};
  for (size_t i = 0; i < n; i++) near[i] = h->at[i] >= 32 && h->at[i] < 127 ? h->at[i] : '?';
  return SEER_FAIL(INVALID, "%s: damaged .npy header: %s, found '%s'", h->source, what, near);
}

static bool take_string(header *h, char *out, size_t n_out) {
  skip_blanks(h);
  if (h->at >= h->end || (*h->at != '\'' && *h->at != '"')) return false;
  char quote = *h->at;
  const char *from = h->at + 1;
  const char *to = memchr(from, quote, (size_t)(h->end - from));
  if (!to || (size_t)(to - from) >= n_out) return false;
  memcpy(out, from, (size_t)(to - from));
  out[to - from] = 0;
  h->at = to + 1;
  return true;
}

static seer_status read_descr(header *h) {
  char descr[32];
  if (!take_string(h, descr, sizeof descr)) return bad(h, "'descr' must be a string");
  char order = descr[0];
  const char *letters =
      order == '<' || order == '>' || order == '|' || order == '=' ? descr + 1 : descr;
  h->is_big_endian = order == '>';
  for (size_t i = 0; i < SEER_COUNT_OF(elements); i++)
    if (strcmp(letters, elements[i].descr) == 0) h->element = &elements[i];
  if (strcmp(letters, "?") == 0) h->element = &elements[7];
  if (!h->element)
    return SEER_FAIL(UNSUPPORTED,
        "%s: elements of type '%s'; known are f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1", h->source,
        descr);
  return SEER_OK;
}

static seer_status read_shape(header *h, seer_npy *out) {
  if (!take(h, "(")) return bad(h, "'shape' must be a tuple");
  while (!take(h, ")")) {
    skip_blanks(h);
    const char *from = h->at;
    int64_t value = 0;
    while (h->at < h->end && *h->at >= '0' && *h->at <= '9') {
      if (value > (INT64_MAX - 9) / 10) return bad(h, "a dimension is too large");
      value = value * 10 + (*h->at++ - '0');
    }
    if (h->at == from) return bad(h, "a dimension must be a number that is not negative");
    if (h->at < h->end && *h->at == 'L') h->at++;  // Python 2
    if (out->rank == SEER_NPY_MAX_RANK)
      return SEER_FAIL(UNSUPPORTED, "%s: more than 12 dimensions", h->source);
    out->dim[out->rank++] = value;
    if (!take(h, ",")) {
      skip_blanks(h);
      if (h->at >= h->end || *h->at != ')') return bad(h, "expected , or ) in 'shape'");
    }
  }
  return SEER_OK;
}

static seer_status read_header(header *h, seer_npy *out) {
  if (!take(h, "{")) return bad(h, "expected {");
  while (!take(h, "}")) {
    char key[32];
    if (!take_string(h, key, sizeof key) || !take(h, ":")) return bad(h, "expected a key and :");
    bool *seen;
    if (strcmp(key, "descr") == 0) {
      seen = &h->has_descr;
      if (!*seen) SEER_TRY(read_descr(h));
    } else if (strcmp(key, "fortran_order") == 0) {
      seen = &h->has_order;
      h->is_fortran = take(h, "True");
      if (!h->is_fortran && !take(h, "False"))
        return bad(h, "'fortran_order' must be True or False");
    } else if (strcmp(key, "shape") == 0) {
      seen = &h->has_shape;
      if (!*seen) SEER_TRY(read_shape(h, out));
    } else {
      return bad(h, "only the keys descr, fortran_order, shape are known");
    }
    if (*seen) return bad(h, "a key is there twice");
    *seen = true;
    if (!take(h, ",")) {
      skip_blanks(h);
      if (h->at >= h->end || *h->at != '}') return bad(h, "expected , or }");
    }
  }
  skip_blanks(h);
  if (h->at != h->end) return bad(h, "text behind }");
  if (!h->has_descr || !h->has_order || !h->has_shape)
    return bad(h, "descr, fortran_order and shape must all be there");
  return SEER_OK;
}

// Column-major source -> row-major `to`.
static void transpose(
    const uint8_t *from, uint8_t *to, const seer_npy *out, uint32_t elem_bytes, uint64_t n_elems) {
  int64_t index[SEER_NPY_MAX_RANK] = {0};
  for (uint64_t i = 0; i < n_elems; i++) {
    uint64_t at = 0;
    for (int32_t k = out->rank; k-- > 0;) at = at * (uint64_t)out->dim[k] + (uint64_t)index[k];
    memcpy(to + i * elem_bytes, from + at * elem_bytes, elem_bytes);
    for (int32_t k = out->rank; k-- > 0;) {
      if (++index[k] < out->dim[k]) break;
      index[k] = 0;
    }
  }
}

seer_status seer_npy_parse(
    const char *source, const void *bytes, size_t n_bytes, seer_arena *arena, seer_npy *out) {
  *out = (seer_npy){0};
  const uint8_t *b = bytes;
  if (n_bytes < 10 || memcmp(b, "\x93NUMPY", 6) != 0)
    return SEER_FAIL(INVALID, "%s: not a .npy file (it does not begin with \\x93NUMPY)", source);
  if (b[6] < 1 || b[6] > 3)
    return SEER_FAIL(
        UNSUPPORTED, "%s: version %u.%u of the .npy format, known are 1 to 3", source, b[6], b[7]);
  size_t fixed = b[6] == 1 ? 10 : 12, n_header = (size_t)b[8] | (size_t)b[9] << 8;
  if (n_bytes < fixed) return SEER_FAIL(INVALID, "%s: ends inside its header", source);
  if (b[6] > 1) n_header |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
  if (n_header > MAX_HEADER || n_header > n_bytes - fixed)
    return SEER_FAIL(INVALID, "%s: header of %zu bytes, %zu are left and %d allowed", source,
        n_header, n_bytes - fixed, MAX_HEADER);
  header h = {
      .source = source, .at = (const char *)b + fixed, .end = (const char *)b + fixed + n_header};
  SEER_TRY(read_header(&h, out));
  SEER_ASSERT(h.element, "%s: a header without an element type was accepted", source);
  uint32_t elem_bytes = h.element->n_bytes;
  uint64_t n_elems = 1, have = n_bytes - fixed - n_header;
  bool is_empty = false;
  for (int32_t k = 0; k < out->rank; k++) is_empty = is_empty || out->dim[k] == 0;
  for (int32_t k = 0; k < out->rank && !is_empty; k++) {
    if ((uint64_t)out->dim[k] > MAX_FILE / n_elems)
      return SEER_FAIL(INVALID, "%s: its shape is too large", source);
    n_elems *= (uint64_t)out->dim[k];
  }
  if (is_empty) n_elems = 0;
  if (n_elems * elem_bytes != have)
    return SEER_FAIL(INVALID, "%s: shape %s of %s needs %" PRIu64 " bytes, the file has %" PRIu64,
        source, seer_shape_text(out->dim, out->rank, arena), h.element->name, n_elems * elem_bytes,
        have);
  uint8_t *data = seer_arena_alloc(arena, have > 0 ? have : 1, 64);
  const uint8_t *from = b + fixed + n_header;
  if (h.is_fortran && out->rank > 1)
    transpose(from, data, out, elem_bytes, n_elems);
  else if (have > 0)
    memcpy(data, from, have);
  for (uint64_t i = 0; h.is_big_endian && i < n_elems; i++)
    for (uint32_t k = 0; k < elem_bytes / 2; k++) {
      uint8_t *x = data + i * elem_bytes, kept = x[k];
      x[k] = x[elem_bytes - 1 - k];
      x[elem_bytes - 1 - k] = kept;
    }
  out->onnx_dtype = h.element->onnx_dtype;
  out->n_bytes = have;
  out->data = data;
  return SEER_OK;
}

seer_status seer_npy_read(const char *path, seer_arena *arena, seer_npy *out) {
  return seer_npy_read_at_most(path, MAX_FILE, arena, out);
}

seer_status seer_npy_read_at_most(
    const char *path, size_t max_bytes, seer_arena *arena, seer_npy *out) {
  seer_arena *scratch = seer_arena_create("npy");
  char *bytes;
  size_t n_bytes;
  seer_status status = seer_os_read_file(path, scratch, max_bytes, &bytes, &n_bytes);
  if (!status) status = seer_npy_parse(path, bytes, n_bytes, arena, out);
  seer_arena_destroy(scratch);
  return status;
}

seer_status seer_npy_write(const char *path, const seer_npy *array) {
  const element *e = NULL;
  for (size_t i = 0; i < SEER_COUNT_OF(elements); i++)
    if (elements[i].onnx_dtype == array->onnx_dtype) e = &elements[i];
  if (!e)
    return SEER_FAIL(UNSUPPORTED, "%s: NumPy has no element type %s", path,
        seer_npy_dtype_name(array->onnx_dtype));
  seer_arena *arena = seer_arena_create("npy");
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_put_n(&text, "\x93NUMPY\x01\x00\x00\x00", 10);
  seer_text_printf(&text, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
      e->n_bytes == 1 ? '|' : '<', e->descr);
  for (int32_t k = 0; k < array->rank; k++)
    seer_text_printf(&text, "%s%" PRId64 "%s", k > 0 ? " " : "", array->dim[k],
        k + 1 < array->rank || array->rank == 1 ? "," : "");
  seer_text_put(&text, "), }");
  while (text.n_bytes % 64 != 63) seer_text_put(&text, " ");
  seer_text_put(&text, "\n");
  size_t n_header = text.n_bytes - 10;
  text.data[8] = (char)(n_header & 0xFF);
  text.data[9] = (char)(n_header >> 8);
  size_t n = text.n_bytes + array->n_bytes;
  uint8_t *all = malloc(n);
  seer_status status = SEER_OK;
  if (!all) {
    status = SEER_FAIL(RESOURCE, "%s: no memory for %zu bytes", path, n);
  } else {
    memcpy(all, text.data, text.n_bytes);
    if (array->n_bytes > 0) memcpy(all + text.n_bytes, array->data, array->n_bytes);
    status = seer_os_write_file(path, all, n);
  }
  free(all);
  seer_arena_destroy(arena);
  return status;
}
