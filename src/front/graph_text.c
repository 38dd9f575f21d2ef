// graph_text.c - the text form of a graph, printed and parsed (doc/ir/graph.md).
//   graph "mlp" {
//     input %x f32[1,64]
//     const $w f32[64,32] = splat 0.5
//     %y f32[1,32] = Gemm "dense 1" v13 (%x, $w, _) {alpha=float 1, transB=1}
//     output %y
//   }
// Names that are not plain words stand in quotes (%"a/b:0"); absent operands are "_". A value's
// layout follows its type: order(0,2,3,1) pitch 80 in %whole at 64.
#include <math.h>
#include <string.h>

#include "base/map.h"
#include "front/graph.h"

enum { MAX_INLINE_ELEMS = 64 };

// ---- printing

static bool is_plain(const char *name) {
  if (!name[0] || (name[0] >= '0' && name[0] <= '9') || name[0] == '.' || strcmp(name, "_") == 0)
    return false;
  for (const char *c = name; *c; c++) {
    bool is_ok = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
        *c == '_' || *c == '.';
    if (!is_ok) return false;
  }
  return true;
}

static void put_quoted(seer_text *text, const char *string) {
  seer_text_put(text, "\"");
  for (size_t n = strlen(string), length = 1; n > 0; string += length, n -= length) {
    size_t seen = seer_text_seen(string, n);
    length = seen ? seen : 1;
    if (*string == '"' || *string == '\\') seer_text_put(text, "\\");
    if (seen)
      seer_text_put_n(text, string, seen);
    else
      seer_text_printf(text, "\\x%02x", (unsigned char)*string);
  }
  seer_text_put(text, "\"");
}

static void put_word(seer_text *text, const char *name) {
  if (is_plain(name)) {
    seer_text_put(text, name);
  } else {
    put_quoted(text, name);
  }
}

static void put_ref(seer_text *text, const seer_graph *graph, seer_val v) {
  if (v.i == 0) {
    seer_text_put(text, "_");
    return;
  }
  const seer_value *value = &graph->value[v.i];
  seer_text_put(text, value->constant ? "$" : "%");
  put_word(text, value->name);
}

static void put_element(seer_text *text, seer_dtype dtype, const void *data, int64_t k) {
  if (seer_dtype_is_float(dtype)) {
    seer_text_put_f64(text, seer_dtype_load_f64(dtype, data, k));
  } else {
    seer_text_printf(text, "%" PRId64, seer_dtype_load_i64(dtype, data, k));
  }
}

static bool is_splat(const seer_tensor *tensor) {
  size_t size = seer_dtype_bytes(tensor->dtype);
  // All elements equal: the data equals itself moved by one element. A NaN's bits would not survive
  // a text.
  if (tensor->n_bytes < 2 * size) return false;
  if (seer_dtype_is_float(tensor->dtype) &&
      isnan(seer_dtype_load_f64(tensor->dtype, tensor->data, 0)))
    return false;
  return memcmp(tensor->data, (const char *)tensor->data + size, tensor->n_bytes - size) == 0;
}

static void put_tensor_data(seer_text *text, const seer_tensor *tensor, bool is_brief) {
  int64_t n = seer_tensor_elems(tensor);
  if (n > 1 && is_splat(tensor)) {
    seer_text_put(text, "splat ");
    put_element(text, tensor->dtype, tensor->data, 0);
  } else if (n <= MAX_INLINE_ELEMS) {
    seer_text_put(text, "[");
    for (int64_t k = 0; k < n; k++) {
      if (k) seer_text_put(text, ",");
      put_element(text, tensor->dtype, tensor->data, k);
    }
    seer_text_put(text, "]");
  } else if (is_brief) {
    seer_text_printf(
        text, "elided 0x%016" PRIx64, seer_hash_bytes(tensor->data, tensor->n_bytes, 0));
  } else {
    static const char digits[] = "0123456789abcdef";
    seer_text_put(text, "hex \"");
    const unsigned char *bytes = tensor->data;
    char chunk[256];
    size_t used = 0;
    for (size_t k = 0; k < tensor->n_bytes; k++) {
      chunk[used++] = digits[bytes[k] >> 4];
      chunk[used++] = digits[bytes[k] & 15];
      if (used == sizeof chunk || k + 1 == tensor->n_bytes) {
        seer_text_put_n(text, chunk, used);
        used = 0;
      }
    }
    seer_text_put(text, "\"");
  }
}

static void put_type(seer_text *text, const seer_value *value, seer_arena *arena) {
  seer_text_put(text, seer_value_type_text(value, arena));
  if (value->has_layout && value->rank) {
    seer_text_put(text, " order(");
    for (uint32_t k = 0; k < value->rank; k++)
      seer_text_printf(text, "%s%u", k ? "," : "", value->order[k]);
    seer_text_put(text, ")");
  }
  if (value->pitch) seer_text_printf(text, " pitch %" PRId64, value->pitch);
}

// "in %whole at 64", of parts.
static void put_place(seer_text *text, const seer_graph *graph, const seer_value *value) {
  if (value->base.i == 0) return;
  seer_text_put(text, " in ");
  put_ref(text, graph, value->base);
  seer_text_printf(text, " at %" PRId64, value->offset);
}

static void put_tensor_type(seer_text *text, const seer_tensor *tensor, seer_arena *arena) {
  seer_value value = {.dtype = tensor->dtype, .rank = tensor->rank, .has_shape = true};
  memcpy(value.dim, tensor->dim, sizeof value.dim);
  put_type(text, &value, arena);
}

static void put_attr(seer_text *text, const seer_attr *attr, seer_arena *arena, bool is_brief) {
  put_word(text, attr->name);
  seer_text_put(text, "=");
  switch (attr->kind) {
    case SEER_ATTR_INT:
      seer_text_printf(text, "%" PRId64, attr->i);
      break;
    case SEER_ATTR_FLOAT:
      seer_text_put(text, "float ");
      seer_text_put_f64(text, attr->f);
      break;
    case SEER_ATTR_STRING:
      put_quoted(text, attr->s);
      break;
    case SEER_ATTR_INTS:
      seer_text_put(text, "[");
      for (size_t k = 0; k < attr->n; k++)
        seer_text_printf(text, "%s%" PRId64, k ? "," : "", attr->ints[k]);
      seer_text_put(text, "]");
      break;
    case SEER_ATTR_FLOATS:
      seer_text_put(text, "floats [");
      for (size_t k = 0; k < attr->n; k++) {
        if (k) seer_text_put(text, ",");
        seer_text_put_f64(text, attr->floats[k]);
      }
      seer_text_put(text, "]");
      break;
    case SEER_ATTR_STRINGS:
      seer_text_put(text, "strings [");
      for (size_t k = 0; k < attr->n; k++) {
        if (k) seer_text_put(text, ",");
        put_quoted(text, attr->strings[k]);
      }
      seer_text_put(text, "]");
      break;
    case SEER_ATTR_TENSOR:
      seer_text_put(text, "tensor ");
      put_tensor_type(text, attr->tensor, arena);
      seer_text_put(text, " ");
      put_tensor_data(text, attr->tensor, is_brief);
      break;
    case SEER_ATTR_GRAPH:
      seer_text_put(text, "graph");
      break;
  }
}

static const char *print(const seer_graph *graph, seer_arena *arena, bool is_brief) {
  seer_arena *scratch = seer_arena_create("graph-print");
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_put(&text, "graph ");
  put_quoted(&text, graph->name);
  seer_text_put(&text, " {\n");
  for (uint32_t k = 0; k < graph->n_input; k++) {
    seer_text_put(&text, "  input ");
    put_ref(&text, graph, graph->input[k]);
    seer_text_put(&text, " ");
    put_type(&text, &graph->value[graph->input[k].i], scratch);
    seer_text_put(&text, "\n");
  }
  for (uint32_t v = 1; v < graph->n_value; v++) {
    const seer_value *value = &graph->value[v];
    if (!value->constant) continue;
    seer_text_put(&text, "  const ");
    put_ref(&text, graph, (seer_val){v});
    seer_text_put(&text, " ");
    put_type(&text, value, scratch);
    if (value->constant->dtype != value->dtype)
      seer_text_printf(&text, " as %s", seer_dtype_name(value->constant->dtype));
    seer_text_put(&text, " = ");
    put_tensor_data(&text, value->constant, is_brief);
    seer_text_put(&text, "\n");
  }
  for (uint32_t n = 1; n < graph->n_node; n++) {
    const seer_node *node = &graph->node[n];
    if (node->is_dead) continue;
    seer_text_put(&text, "  ");
    for (uint32_t k = 0; k < node->n_out; k++) {
      if (k) seer_text_put(&text, ", ");
      put_ref(&text, graph, node->out[k]);
      if (node->out[k].i == 0) continue;
      seer_text_put(&text, " ");
      put_type(&text, &graph->value[node->out[k].i], scratch);
      put_place(&text, graph, &graph->value[node->out[k].i]);
    }
    seer_text_put(&text, " = ");
    put_word(&text, node->op_type);
    seer_text_put(&text, " ");
    put_quoted(&text, node->name);
    seer_text_printf(&text, " v%d", node->opset);
    if (node->domain[0]) {
      seer_text_put(&text, " domain ");
      put_quoted(&text, node->domain);
    }
    seer_text_put(&text, " (");
    for (uint32_t k = 0; k < node->n_in; k++) {
      if (k) seer_text_put(&text, ", ");
      put_ref(&text, graph, node->in[k]);
    }
    seer_text_put(&text, ")");
    for (uint32_t k = 0; k < node->n_attr; k++) {
      seer_text_put(&text, k ? ", " : " {");
      put_attr(&text, &node->attr[k], scratch, is_brief);
    }
    seer_text_put(&text, node->n_attr ? "}\n" : "\n");
  }
  for (uint32_t k = 0; k < graph->n_output; k++) {
    seer_text_put(&text, "  output ");
    put_ref(&text, graph, graph->output[k]);
    const seer_value *value = seer_graph_value(graph, graph->output[k]);
    if (value->shown) {
      seer_text_put(&text, " as ");
      put_quoted(&text, value->shown);
    }
    seer_text_put(&text, "\n");
  }
  seer_text_put(&text, "}\n");
  seer_arena_destroy(scratch);
  return text.data;
}

const char *seer_graph_print(const seer_graph *graph, seer_arena *arena) {
  return print(graph, arena, false);
}
const char *seer_graph_print_brief(const seer_graph *graph, seer_arena *arena) {
  return print(graph, arena, true);
}

// ---- parsing

#define MAX_TEXT_BYTES (1u << 30)

// A part and what it lies in, which may stand further down.
typedef struct {
  seer_val value;
  const char *base;
} part_name;

typedef struct {
  seer_scan scan;
  seer_arena *arena;
  seer_graph *graph;
  seer_map *by_name;
  uint64_t n_constant_bytes;  // of all constants so far
  part_name *part;
  size_t n_part, cap_part;
} parser;

static seer_status parse_word(parser *p, const char **out_word) {
  if (seer_scan_peek(&p->scan, "\"")) return seer_scan_string(&p->scan, p->arena, out_word);
  return seer_scan_name(&p->scan, p->arena, out_word);
}

// A type with its layout, into the fields of *out_value.
static seer_status parse_type(parser *p, seer_value *out_value) {
  seer_scan *scan = &p->scan;
  if (!seer_scan_try(scan, "?")) {
    const char *name;
    SEER_TRY(seer_scan_name(scan, p->arena, &name));
    if (!seer_dtype_parse(name, &out_value->dtype))
      return seer_scan_fail(scan, "'%s' is no element type", name);
  }
  if (!seer_scan_try(scan, "[")) return SEER_OK;
  out_value->has_shape = true;
  while (!seer_scan_try(scan, "]")) {
    if (out_value->rank == SEER_MAX_RANK)
      return seer_scan_fail(scan, "more than %d dimensions", SEER_MAX_RANK);
    if (out_value->rank) SEER_TRY(seer_scan_expect(scan, ","));
    int64_t *dim = &out_value->dim[out_value->rank++];
    *dim = -1;
    if (seer_scan_try(scan, "?")) continue;
    SEER_TRY(seer_scan_i64(scan, dim));
    if (*dim < 0) return seer_scan_fail(scan, "dimension %" PRId64 " is negative", *dim);
  }
  if (seer_scan_try(scan, "order")) {
    SEER_TRY(seer_scan_expect(scan, "("));
    out_value->has_layout = true;
    uint32_t seen = 0;
    for (uint32_t k = 0; k < out_value->rank; k++) {
      int64_t d;
      if (k) SEER_TRY(seer_scan_expect(scan, ","));
      SEER_TRY(seer_scan_i64(scan, &d));
      if (d < 0 || d >= out_value->rank || (seen >> d & 1)) {
        return seer_scan_fail(scan, "order must be a permutation of 0..%d", out_value->rank - 1);
      }
      seen |= 1u << d;
      out_value->order[k] = (uint8_t)d;
    }
    SEER_TRY(seer_scan_expect(scan, ")"));
  }
  if (seer_scan_try(scan, "pitch")) SEER_TRY(seer_scan_i64(scan, &out_value->pitch));
  return SEER_OK;
}

static seer_status parse_element(parser *p, seer_dtype dtype, void *data, int64_t k) {
  if (seer_dtype_is_float(dtype)) {
    double value;
    SEER_TRY(seer_scan_f64(&p->scan, &value));
    seer_dtype_store_f64(dtype, data, k, value);
  } else {
    int64_t value;
    SEER_TRY(seer_scan_i64(&p->scan, &value));
    seer_dtype_store_i64(dtype, data, k, value);
  }
  return SEER_OK;
}

static int hex_digit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Data of `type`, with numbers stored as `stored`.
static seer_status parse_tensor(
    parser *p, const seer_value *type, seer_dtype stored, seer_tensor *out_tensor) {
  seer_scan *scan = &p->scan;
  *out_tensor = (seer_tensor){.dtype = stored, .rank = type->rank};
  memcpy(out_tensor->dim, type->dim, sizeof type->dim);
  int64_t n = seer_value_elems(type);
  if (type->dtype == SEER_DTYPE_NONE || n < 0)
    return seer_scan_fail(scan, "a constant needs a fixed type");
  uint32_t size = seer_dtype_bytes(stored), wide = seer_dtype_bytes(type->dtype);
  // A short text can ask for much memory by splats; hex and lists are as long as their text.
  if (n > MAX_TEXT_BYTES || (uint64_t)n * wide > MAX_TEXT_BYTES - p->n_constant_bytes)
    return seer_scan_fail(scan,
        "constant of %" PRId64 " elements: all constants of a text may take %u bytes", n,
        MAX_TEXT_BYTES);
  out_tensor->n_bytes = (size_t)n * size;
  if (!seer_recover_can_take(out_tensor->n_bytes))
    return seer_scan_fail(scan,
        "constant of %zu bytes: more than a model with files of this size may take; --model-memory "
        "raises the limit",
        out_tensor->n_bytes);
  // Whoever resolves the graph again stores it as wide as the value.
  p->n_constant_bytes += (uint64_t)n * wide;
  if (seer_scan_try(scan, "splat")) {
    unsigned char *data =
        seer_arena_alloc(p->arena, out_tensor->n_bytes ? out_tensor->n_bytes : 1, 64);
    out_tensor->data = data;
    if (n == 0) return seer_scan_fail(scan, "splat of no elements");
    SEER_TRY(parse_element(p, stored, data, 0));
    // What is filled doubles with each copy: a short text may ask for a gigabyte of bytes.
    for (size_t filled = size; filled < out_tensor->n_bytes;) {
      size_t more = out_tensor->n_bytes - filled < filled ? out_tensor->n_bytes - filled : filled;
      memcpy(data + filled, data, more);
      filled += more;
    }
    return SEER_OK;
  }
  if (seer_scan_try(scan, "hex")) {
    SEER_TRY(seer_scan_expect(scan, "\""));
    if ((size_t)(scan->end - scan->at) / 2 < out_tensor->n_bytes)
      return seer_scan_fail(scan, "hex data is too short");
    unsigned char *data =
        seer_arena_alloc(p->arena, out_tensor->n_bytes ? out_tensor->n_bytes : 1, 64);
    for (size_t k = 0; k < out_tensor->n_bytes; k++) {
      int high = hex_digit(scan->at[0]), low = hex_digit(scan->at[1]);
      if (high < 0 || low < 0)
        return seer_scan_fail(scan, "expected %zu bytes in hex", out_tensor->n_bytes);
      data[k] = (unsigned char)(high * 16 + low);
      scan->at += 2;
    }
    out_tensor->data = data;
    return seer_scan_expect(scan, "\"");
  }
  if (seer_scan_try(scan, "elided"))
    return seer_scan_fail(scan, "the data is elided; print the graph in full");
  SEER_TRY(seer_scan_expect(scan, "["));
  if ((scan->end - scan->at) < n) return seer_scan_fail(scan, "expected %" PRId64 " elements", n);
  void *data = seer_arena_alloc(p->arena, out_tensor->n_bytes ? out_tensor->n_bytes : 1, 64);
  out_tensor->data = data;
  for (int64_t k = 0; k < n; k++) {
    if (k) SEER_TRY(seer_scan_expect(scan, ","));
    SEER_TRY(parse_element(p, stored, data, k));
  }
  return seer_scan_expect(scan, "]");
}

static seer_status parse_list(parser *p, seer_attr_kind kind, seer_attr *out_attr) {
  seer_scan *scan = &p->scan;
  SEER_TRY(seer_scan_expect(scan, "["));
  out_attr->kind = kind;
  int64_t *ints = NULL;
  double *floats = NULL;
  const char **strings = NULL;
  size_t cap = 0, n = 0;
  while (!seer_scan_try(scan, "]")) {
    if (n) SEER_TRY(seer_scan_expect(scan, ","));
    if (kind == SEER_ATTR_INTS) {
      ints = SEER_GROW(p->arena, int64_t, ints, n, &cap);
      SEER_TRY(seer_scan_i64(scan, &ints[n]));
    } else if (kind == SEER_ATTR_FLOATS) {
      floats = SEER_GROW(p->arena, double, floats, n, &cap);
      SEER_TRY(seer_scan_f64(scan, &floats[n]));
    } else {
      strings = SEER_GROW(p->arena, const char *, strings, n, &cap);
      SEER_TRY(seer_scan_string(scan, p->arena, &strings[n]));
    }
    n++;
  }
  out_attr->n = n;
  out_attr->ints = ints;
  out_attr->floats = floats;
  out_attr->strings = strings;
  return SEER_OK;
}

static seer_status parse_attr(parser *p, seer_attr *out_attr) {
  seer_scan *scan = &p->scan;
  *out_attr = (seer_attr){0};
  SEER_TRY(parse_word(p, &out_attr->name));
  SEER_TRY(seer_scan_expect(scan, "="));
  if (seer_scan_peek(scan, "\"")) {
    out_attr->kind = SEER_ATTR_STRING;
    return seer_scan_string(scan, p->arena, &out_attr->s);
  }
  if (seer_scan_peek(scan, "[")) return parse_list(p, SEER_ATTR_INTS, out_attr);
  if (seer_scan_try(scan, "floats")) return parse_list(p, SEER_ATTR_FLOATS, out_attr);
  if (seer_scan_try(scan, "strings")) return parse_list(p, SEER_ATTR_STRINGS, out_attr);
  if (seer_scan_try(scan, "float")) {
    out_attr->kind = SEER_ATTR_FLOAT;
    return seer_scan_f64(scan, &out_attr->f);
  }
  if (seer_scan_try(scan, "tensor")) {
    seer_value type = {0};
    SEER_TRY(parse_type(p, &type));
    seer_tensor *tensor = SEER_NEW(p->arena, seer_tensor);
    out_attr->kind = SEER_ATTR_TENSOR;
    out_attr->tensor = tensor;
    return parse_tensor(p, &type, type.dtype, tensor);
  }
  if (seer_scan_peek(scan, "graph"))
    return seer_scan_fail(scan, "graphs as attributes have no text form");
  out_attr->kind = SEER_ATTR_INT;
  return seer_scan_i64(scan, &out_attr->i);
}

// A reference to a value that stands further up: %name, $name or _.
static seer_status parse_ref(parser *p, seer_val *out_value) {
  *out_value = (seer_val){0};
  if (seer_scan_try(&p->scan, "_")) return SEER_OK;
  if (!seer_scan_try(&p->scan, "%") && !seer_scan_try(&p->scan, "$")) {
    return seer_scan_fail(&p->scan, "expected %%value, $constant or _");
  }
  const char *name;
  SEER_TRY(parse_word(p, &name));
  uint64_t id;
  if (!seer_map_get_str(p->by_name, name, &id))
    return seer_scan_fail(&p->scan, "no value is named '%s' so far", name);
  *out_value = (seer_val){(uint32_t)id};
  return SEER_OK;
}

static seer_status parse_new_value(
    parser *p, const char *sigil, seer_val *out_value, seer_value *out_type) {
  const char *name;
  SEER_TRY(seer_scan_expect(&p->scan, sigil));
  SEER_TRY(parse_word(p, &name));
  if (!name[0]) return seer_scan_fail(&p->scan, "a value needs a name");
  if (seer_map_get_str(p->by_name, name, NULL))
    return seer_scan_fail(&p->scan, "two values are named '%s'", name);
  *out_type = (seer_value){0};
  SEER_TRY(parse_type(p, out_type));
  *out_value = seer_graph_add_value(
      p->graph, name, out_type->dtype, out_type->dim, out_type->has_shape ? out_type->rank : -1);
  seer_value *value = seer_graph_value(p->graph, *out_value);
  value->has_layout = out_type->has_layout;
  memcpy(value->order, out_type->order, sizeof value->order);
  value->pitch = out_type->pitch;
  seer_map_set_str(p->by_name, name, out_value->i);
  return SEER_OK;
}

// "in %whole at 64" behind a result's type.
static seer_status parse_place(parser *p, seer_val v) {
  if (!seer_scan_try(&p->scan, "in")) return SEER_OK;
  p->part = SEER_GROW(p->arena, part_name, p->part, p->n_part, &p->cap_part);
  part_name *part = &p->part[p->n_part++];
  part->value = v;
  SEER_TRY(seer_scan_expect(&p->scan, "%"));
  SEER_TRY(parse_word(p, &part->base));
  SEER_TRY(seer_scan_expect(&p->scan, "at"));
  return seer_scan_i64(&p->scan, &seer_graph_value(p->graph, v)->offset);
}

static seer_status find_bases(parser *p) {
  for (size_t k = 0; k < p->n_part; k++) {
    uint64_t id;
    if (!seer_map_get_str(p->by_name, p->part[k].base, &id))
      return seer_scan_fail(&p->scan, "no value is named '%s'", p->part[k].base);
    seer_graph_value(p->graph, p->part[k].value)->base = (seer_val){(uint32_t)id};
  }
  return SEER_OK;
}

// The type that a constant's numbers are stored in.
static seer_status parse_stored(parser *p, const seer_value *type, seer_dtype *out_stored) {
  seer_scan *scan = &p->scan;
  *out_stored = type->dtype;
  if (!seer_scan_try(scan, "as")) return SEER_OK;
  const char *name;
  SEER_TRY(seer_scan_name(scan, p->arena, &name));
  if (!seer_dtype_parse(name, out_stored))
    return seer_scan_fail(scan, "'%s' is no element type", name);
  seer_tensor tensor = {.dtype = *out_stored};
  if (!seer_tensor_widens_to(&tensor, type->dtype))
    return seer_scan_fail(
        scan, "numbers of %s cannot be stored as %s", seer_dtype_name(type->dtype), name);
  return SEER_OK;
}

static seer_status parse_node(parser *p) {
  seer_scan *scan = &p->scan;
  seer_val *in = NULL, *out = NULL;
  seer_attr *attr = NULL;
  size_t n_in = 0, cap_in = 0, n_out = 0, cap_out = 0, n_attr = 0, cap_attr = 0;
  do {
    out = SEER_GROW(p->arena, seer_val, out, n_out, &cap_out);
    out[n_out] = (seer_val){0};
    seer_value type;
    if (!seer_scan_try(scan, "_")) {
      SEER_TRY(parse_new_value(p, "%", &out[n_out], &type));
      SEER_TRY(parse_place(p, out[n_out]));
    }
    n_out++;
  } while (seer_scan_try(scan, ","));
  SEER_TRY(seer_scan_expect(scan, "="));
  const char *op_type, *name, *version, *domain = "";
  SEER_TRY(parse_word(p, &op_type));
  SEER_TRY(seer_scan_string(scan, p->arena, &name));
  SEER_TRY(seer_scan_name(scan, p->arena, &version));
  int64_t opset = 0;
  for (const char *c = version + 1; version[0] == 'v' && *c >= '0' && *c <= '9' && opset < 10000;
       c++) {
    opset = opset * 10 + (*c - '0');
  }
  if (version[0] != 'v')
    return seer_scan_fail(scan, "expected the version of the operator set, like v13");
  if (seer_scan_try(scan, "domain")) SEER_TRY(seer_scan_string(scan, p->arena, &domain));
  SEER_TRY(seer_scan_expect(scan, "("));
  while (!seer_scan_try(scan, ")")) {
    if (n_in) SEER_TRY(seer_scan_expect(scan, ","));
    in = SEER_GROW(p->arena, seer_val, in, n_in, &cap_in);
    SEER_TRY(parse_ref(p, &in[n_in]));
    n_in++;
  }
  if (seer_scan_try(scan, "{")) {
    do {
      attr = SEER_GROW(p->arena, seer_attr, attr, n_attr, &cap_attr);
      SEER_TRY(parse_attr(p, &attr[n_attr]));
      n_attr++;
    } while (seer_scan_try(scan, ","));
    SEER_TRY(seer_scan_expect(scan, "}"));
  }
  seer_graph_add_node(p->graph, name, domain, op_type, (int32_t)opset, in, (uint32_t)n_in, out,
      (uint32_t)n_out, attr, (uint32_t)n_attr);
  return SEER_OK;
}

seer_status seer_graph_parse(const char *source, const char *text, size_t n_bytes,
    seer_arena *arena, seer_graph **out_graph) {
  *out_graph = NULL;
  parser p = {.arena = arena, .by_name = seer_map_create(arena)};
  seer_scan_init(&p.scan, source, text, n_bytes);
  const char *name;
  SEER_TRY(seer_scan_expect(&p.scan, "graph"));
  SEER_TRY(seer_scan_string(&p.scan, arena, &name));
  SEER_TRY(seer_scan_expect(&p.scan, "{"));
  p.graph = seer_graph_create(arena, name);
  while (!seer_scan_try(&p.scan, "}")) {
    seer_val value;
    seer_value type;
    if (seer_scan_try(&p.scan, "input")) {
      SEER_TRY(parse_new_value(&p, "%", &value, &type));
      seer_graph_mark_input(p.graph, value);
    } else if (seer_scan_try(&p.scan, "const")) {
      seer_tensor tensor;
      seer_dtype stored;
      SEER_TRY(parse_new_value(&p, "$", &value, &type));
      SEER_TRY(parse_stored(&p, &type, &stored));
      SEER_TRY(seer_scan_expect(&p.scan, "="));
      SEER_TRY(parse_tensor(&p, &type, stored, &tensor));
      seer_graph_set_constant(p.graph, value, &tensor);
      seer_graph_value(p.graph, value)->dtype = type.dtype;
    } else if (seer_scan_try(&p.scan, "output")) {
      SEER_TRY(parse_ref(&p, &value));
      if (value.i == 0) return seer_scan_fail(&p.scan, "an output needs a value");
      if (seer_scan_try(&p.scan, "as"))
        SEER_TRY(seer_scan_string(&p.scan, p.arena, &seer_graph_value(p.graph, value)->shown));
      seer_graph_mark_output(p.graph, value);
    } else {
      SEER_TRY(parse_node(&p));
    }
  }
  if (!seer_scan_at_end(&p.scan)) return seer_scan_fail(&p.scan, "expected the end of the text");
  SEER_TRY(find_bases(&p));
  SEER_TRYF(seer_graph_verify(p.graph), "reading %s", source);
  *out_graph = p.graph;
  return SEER_OK;
}
