// literal.c - text <-> a small tensor. By recursive descent: a list at depth d has the elements of
// dimension d, and all lists of a depth must be as long as the first one.
#include "front/bind/literal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dag/scalar.h"

typedef struct {
  const char *text, *at;
  seer_dtype dtype;
  seer_text bytes;  // of the elements so far
  int32_t rank;  // -1: not known yet
  int64_t dim[SEER_MAX_RANK];  // -1: not known yet
} reader;

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static void skip(reader *r) {
  while (is_blank(*r->at)) r->at++;
}

static size_t token_bytes(const char *at) { return strcspn(at, "[], \t\n\r"); }

static SEER_PRINTF(2, 3) seer_status bad(const reader *r, const char *format, ...) {
  char what[256];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  enum { SHOWN = 64 };
  return SEER_FAIL(INVALID, "'%.*s%s', character %zu: %s", SHOWN, r->text,
      strlen(r->text) > SHOWN ? "..." : "", (size_t)(r->at - r->text) + 1, what);
}

// ---- numbers

static bool parse_f64(const char *token, size_t n, double *out) {
  seer_scan scan;
  seer_scan_init(&scan, "number", token, n);
  seer_status status = seer_scan_f64(&scan, out);
  bool is_number = !status && scan.at == scan.end;
  seer_status_free(status);
  return is_number;
}

// Sign and digits, nothing else. *out_fits false: more than 64 bits.
static bool parse_integer(
    const char *token, size_t n, bool *out_is_negative, uint64_t *out_size, bool *out_fits) {
  size_t k = n > 0 && (token[0] == '-' || token[0] == '+');
  *out_is_negative = k > 0 && token[0] == '-';
  *out_size = 0;
  *out_fits = true;
  if (k == n) return false;
  for (; k < n; k++) {
    if (token[k] < '0' || token[k] > '9') return false;
    bool is_over = __builtin_mul_overflow(*out_size, (uint64_t)10, out_size);
    is_over |= __builtin_add_overflow(*out_size, (uint64_t)(token[k] - '0'), out_size);
    *out_fits = *out_fits && !is_over;
  }
  return true;
}

static seer_status store_integer(reader *r, size_t n, void *element) {
  bool is_negative, fits, is_signed = seer_dtype_is_signed(r->dtype);
  uint64_t size;
  if (!parse_integer(r->at, n, &is_negative, &size, &fits))
    return bad(r, "must be a whole number, as the type is %s", seer_dtype_name(r->dtype));
  uint64_t most = (uint64_t)seer_scalar_highest(r->dtype).i + (is_signed && is_negative);
  fits = fits && (is_signed || !is_negative || size == 0) && size <= most;
  if (!fits) return bad(r, "beyond what %s can have", seer_dtype_name(r->dtype));
  seer_dtype_store_i64(r->dtype, element, 0, (int64_t)(is_negative ? 0 - size : size));
  return SEER_OK;
}

static seer_status store_float(reader *r, size_t n, void *element) {
  double value;
  if (!parse_f64(r->at, n, &value)) return bad(r, "must be a number");
  seer_dtype_store_f64(r->dtype, element, 0, value);
  double kept = seer_dtype_load_f64(r->dtype, element, 0);
  if (isnan(kept) != isnan(value) || isinf(kept) != isinf(value))
    return bad(r, "beyond what %s can have", seer_dtype_name(r->dtype));
  return SEER_OK;
}

static bool is_word(const char *at, size_t n, const char *word) {
  return strlen(word) == n && memcmp(at, word, n) == 0;
}

static seer_status store_bool(reader *r, size_t n, void *element) {
  bool is_true = is_word(r->at, n, "true") || is_word(r->at, n, "1");
  if (!is_true && !is_word(r->at, n, "false") && !is_word(r->at, n, "0"))
    return bad(r, "must be true or false, as the type is bool");
  seer_dtype_store_i64(r->dtype, element, 0, is_true);
  return SEER_OK;
}

static seer_status read_number(reader *r) {
  uint64_t element = 0;
  size_t n = token_bytes(r->at);
  if (n == 0) return bad(r, "a number is missing");
  if (r->dtype == SEER_DTYPE_BOOL)
    SEER_TRY(store_bool(r, n, &element));
  else if (seer_dtype_is_float(r->dtype))
    SEER_TRY(store_float(r, n, &element));
  else
    SEER_TRY(store_integer(r, n, &element));
  seer_text_put_n(&r->bytes, (const char *)&element, seer_dtype_bytes(r->dtype));
  r->at += n;
  return SEER_OK;
}

// ---- lists

static seer_status settle_rank(reader *r, int32_t rank) {
  if (r->rank < 0) r->rank = rank;
  return r->rank == rank ? SEER_OK : bad(r, "lists are not all as deep");
}

static seer_status settle_dim(reader *r, int32_t depth, int64_t n) {
  if (r->dim[depth] < 0) r->dim[depth] = n;
  if (r->dim[depth] == n) return SEER_OK;
  return bad(r, "this list has %" PRId64 " elements, one before it %" PRId64, n, r->dim[depth]);
}

static seer_status read_item(reader *r, int32_t depth);

static seer_status read_list(reader *r, int32_t depth) {
  int64_t n = 0;
  if (depth == SEER_MAX_RANK) return bad(r, "more than %d dimensions", SEER_MAX_RANK);
  r->at++;
  for (skip(r); *r->at != ']'; skip(r)) {
    if (n > 0 && *r->at != ',') return bad(r, "expected , or ]");
    if (n > 0) r->at++;
    SEER_TRY(read_item(r, depth + 1));
    n++;
  }
  if (n == 0) SEER_TRY(settle_rank(r, depth + 1));
  SEER_TRY(settle_dim(r, depth, n));
  r->at++;
  return SEER_OK;
}

static seer_status read_item(reader *r, int32_t depth) {
  skip(r);
  if (*r->at == '[') return read_list(r, depth);
  SEER_TRY(settle_rank(r, depth));
  return read_number(r);
}

seer_status seer_literal_parse(
    const char *text, seer_dtype dtype, seer_arena *arena, seer_tensor *out_tensor) {
  reader r = {.text = text, .at = text, .dtype = dtype, .rank = -1};
  for (int k = 0; k < SEER_MAX_RANK; k++) r.dim[k] = -1;
  seer_text_init(&r.bytes, arena);
  SEER_TRY(read_item(&r, 0));
  skip(&r);
  if (*r.at) return bad(&r, "text behind the value");
  *out_tensor = (seer_tensor){.dtype = dtype, .rank = (uint8_t)r.rank, .n_bytes = r.bytes.n_bytes};
  for (int32_t k = 0; k < r.rank; k++) out_tensor->dim[k] = r.dim[k] < 0 ? 0 : r.dim[k];
  void *data = seer_arena_alloc(arena, r.bytes.n_bytes + 1, 64);
  memcpy(data, r.bytes.data, r.bytes.n_bytes);
  out_tensor->data = data;
  return SEER_OK;
}

bool seer_literal_is_meant(const char *text) {
  while (is_blank(*text)) text++;
  if (*text == '[') return true;
  size_t n = token_bytes(text), end = n;
  while (is_blank(text[end])) end++;
  bool is_negative, fits;
  uint64_t size;
  double value;
  return n > 0 && !text[end] &&
      (parse_integer(text, n, &is_negative, &size, &fits) || parse_f64(text, n, &value) ||
          is_word(text, n, "true") || is_word(text, n, "false"));
}

// ---- printing

// Whole as it is; else the shortest number that the type takes for it: 0.1, not
// 0.10000000149011612.
static double shortest(const seer_tensor *tensor, int64_t i) {
  enum { DIGITS = 17 };  // of a double
  double exact = seer_dtype_load_f64(tensor->dtype, tensor->data, i);
  for (int n = 1; n < DIGITS && isfinite(exact) && exact != trunc(exact); n++) {
    char text[40];
    uint64_t element = 0;
    (void)snprintf(text, sizeof text, "%.*g", n, exact);
    double rounded = strtod(text, NULL);  // in the locale of snprintf
    seer_dtype_store_f64(tensor->dtype, &element, 0, rounded);
    if (seer_dtype_load_f64(tensor->dtype, &element, 0) == exact) return rounded;
  }
  return exact;
}

static void put_number(seer_text *text, const seer_tensor *tensor, int64_t i) {
  int64_t whole = seer_dtype_load_i64(tensor->dtype, tensor->data, i);
  if (tensor->dtype == SEER_DTYPE_BOOL)
    seer_text_put(text, whole ? "true" : "false");
  else if (seer_dtype_is_float(tensor->dtype))
    seer_text_put_f64(text, shortest(tensor, i));
  else if (seer_dtype_is_signed(tensor->dtype))
    seer_text_printf(text, "%" PRId64, whole);
  else
    seer_text_printf(text, "%" PRIu64, (uint64_t)whole);
}

static void put_list(seer_text *text, const seer_tensor *tensor, uint32_t depth, int64_t *next) {
  if (depth == tensor->rank) {
    put_number(text, tensor, (*next)++);
    return;
  }
  seer_text_put(text, "[");
  for (int64_t k = 0; k < tensor->dim[depth]; k++) {
    if (k > 0) seer_text_put(text, ", ");
    put_list(text, tensor, depth + 1, next);
  }
  seer_text_put(text, "]");
}

const char *seer_literal_print(const seer_tensor *tensor, int64_t max_elems, seer_arena *arena) {
  int64_t n = 1, next = 0;
  for (uint32_t k = 0; k < tensor->rank; k++) {
    // nobody would see what is behind
    bool is_hidden = tensor->dim[k] == 0 && k + 1u < tensor->rank;
    if (is_hidden || tensor->dim[k] > max_elems) return NULL;
    n *= tensor->dim[k] > 0 ? tensor->dim[k] : 1;
    if (n > max_elems) return NULL;
  }
  seer_text text;
  seer_text_init(&text, arena);
  put_list(&text, tensor, 0, &next);
  return text.data;
}
