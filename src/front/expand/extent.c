// extent.c - elements of integer values as sums: c0 + c1 a1 + c2 a2 + ..., where the a's are atoms:
// elements that data makes, or operations on sums that are none (min, max, quotients, products).
// Sums and atoms are kept once each, so that equal ones have equal ids; what a value's element is
// is found by walking its producers, once.
#include "front/expand/extent.h"

#include <string.h>

#include "base/map.h"
#include "front/sized.h"

enum { MAX_TERMS = 8, MAX_DEPTH = 400, MAX_ELEMS = 64 };

typedef struct {
  uint32_t atom;
  int64_t times;
} term;

typedef struct {
  int64_t number;
  uint32_t n;
  term term[MAX_TERMS];  // by atom
} sum;

typedef struct {
  int64_t least, most;
} range;

struct seer_extents {
  seer_map *sum_ids, *atom_ids;  // by text
  seer_map *of_element;  // by value and index
  seer_map *content_ids;  // of values, by text
  seer_map *content_by_value;
  seer_map *host;  // by content: node
  sum *sum;
  range *atom;
  size_t n_sum, cap_sum, n_atom, cap_atom;
  uint64_t n_content;
  uint32_t depth;
};

static struct seer_extents *table(seer_graph *graph) {
  if (graph->extents) return graph->extents;
  struct seer_extents *t = SEER_NEW(graph->arena, struct seer_extents);
  t->sum_ids = seer_map_create(graph->arena);
  t->atom_ids = seer_map_create(graph->arena);
  t->of_element = seer_map_create(graph->arena);
  t->content_ids = seer_map_create(graph->arena);
  t->content_by_value = seer_map_create(graph->arena);
  t->host = seer_map_create(graph->arena);
  t->n_sum = t->n_atom = 1;
  t->sum = SEER_GROW(graph->arena, sum, t->sum, 0, &t->cap_sum);
  t->atom = SEER_GROW(graph->arena, range, t->atom, 0, &t->cap_atom);
  return graph->extents = t;
}

// ---- sums

static int64_t limited(int64_t x) {
  return seer_min_i64(seer_max_i64(x, -SEER_EXTENT_FAR), SEER_EXTENT_FAR);
}

// Of numbers that are at most FAR: what is beyond is FAR.
static int64_t product(int64_t a, int64_t b) {
  int64_t p;
  if (__builtin_mul_overflow(a, b, &p))
    return (a < 0) != (b < 0) ? -SEER_EXTENT_FAR : SEER_EXTENT_FAR;
  return limited(p);
}

static seer_extent put_sum(seer_graph *graph, const sum *s) {
  struct seer_extents *t = table(graph);
  seer_text text;
  seer_text_init(&text, graph->arena);
  seer_text_printf(&text, "%" PRId64, s->number);
  for (uint32_t k = 0; k < s->n; k++)
    seer_text_printf(&text, "+%" PRId64 "*%u", s->term[k].times, s->term[k].atom);
  uint64_t id;
  if (seer_map_get_str(t->sum_ids, text.data, &id)) return (seer_extent)id;
  t->sum = SEER_GROW(graph->arena, sum, t->sum, t->n_sum, &t->cap_sum);
  t->sum[t->n_sum] = *s;
  seer_map_set_str(t->sum_ids, text.data, t->n_sum);
  return (seer_extent)t->n_sum++;
}

seer_extent seer_extent_number(seer_graph *graph, int64_t number) {
  return put_sum(graph, &(sum){.number = number});
}

static seer_extent put_atom(seer_graph *graph, const char *key, range r) {
  struct seer_extents *t = table(graph);
  uint64_t id;
  if (!seer_map_get_str(t->atom_ids, key, &id)) {
    t->atom = SEER_GROW(graph->arena, range, t->atom, t->n_atom, &t->cap_atom);
    t->atom[t->n_atom] = (range){limited(r.least), limited(r.most)};
    id = t->n_atom++;
    seer_map_set_str(t->atom_ids, key, id);
  }
  return put_sum(graph, &(sum){.n = 1, .term = {{(uint32_t)id, 1}}});
}

static range range_of(const seer_graph *graph, seer_extent x) {
  const struct seer_extents *t = graph->extents;
  const sum *s = &t->sum[x];
  range r = {limited(s->number), limited(s->number)};
  for (uint32_t k = 0; k < s->n; k++) {
    range a = t->atom[s->term[k].atom];
    int64_t low = product(s->term[k].times, s->term[k].times > 0 ? a.least : a.most),
            high = product(s->term[k].times, s->term[k].times > 0 ? a.most : a.least);
    r.least = low == -SEER_EXTENT_FAR ? low : limited(r.least + low);
    r.most = high == SEER_EXTENT_FAR ? high : limited(r.most + high);
  }
  return r;
}

void seer_extent_range(
    const seer_graph *graph, seer_extent x, int64_t *out_least, int64_t *out_most) {
  range r = range_of(graph, x);
  *out_least = r.least;
  *out_most = r.most;
}

bool seer_extent_is_number(const seer_graph *graph, seer_extent x, int64_t *out_number) {
  if (!x || graph->extents->sum[x].n > 0) return false;
  *out_number = graph->extents->sum[x].number;
  return true;
}

// a + times * b; 0: too large.
static seer_extent add(seer_graph *graph, seer_extent a, seer_extent b, int64_t times) {
  const sum x = table(graph)->sum[a], y = table(graph)->sum[b];
  sum s = {0};
  int64_t more;
  if (__builtin_mul_overflow(y.number, times, &more) ||
      __builtin_add_overflow(x.number, more, &s.number))
    return 0;
  for (uint32_t i = 0, j = 0; i < x.n || j < y.n;) {
    bool from_x = i < x.n && (j == y.n || x.term[i].atom <= y.term[j].atom);
    bool from_y = j < y.n && (i == x.n || y.term[j].atom <= x.term[i].atom);
    term next = {from_x ? x.term[i].atom : y.term[j].atom, from_x ? x.term[i].times : 0};
    if (from_y &&
        (__builtin_mul_overflow(y.term[j].times, times, &more) ||
            __builtin_add_overflow(next.times, more, &next.times)))
      return 0;
    i += from_x;
    j += from_y;
    if (next.times == 0) continue;
    if (s.n == MAX_TERMS) return 0;
    s.term[s.n++] = next;
  }
  return put_sum(graph, &s);
}

seer_extent seer_extent_times(seer_graph *graph, seer_extent x, int64_t factor) {
  return add(graph, seer_extent_number(graph, 0), x, factor);
}

seer_extent seer_extent_sum(seer_graph *graph, seer_extent a, seer_extent b) {
  return a && b ? add(graph, a, b, 1) : 0;
}

// ---- operations

typedef enum { NO_OP, ADD, SUB, MUL, DIV, MOD, MIN, MAX } operation;

static operation operation_of(const seer_node *node) {
  static const seer_op_desc *const ops[] = {[ADD] = &seer_op_add,
      [SUB] = &seer_op_sub,
      [MUL] = &seer_op_mul,
      [DIV] = &seer_op_div,
      [MOD] = &seer_op_mod,
      [MIN] = &seer_op_min,
      [MAX] = &seer_op_max};
  for (uint32_t k = 1; k < SEER_COUNT_OF(ops); k++)
    if (node->op == ops[k]) return (operation)k;
  return NO_OP;
}

// x / by, where all parts divide.
seer_extent seer_extent_quotient(seer_graph *graph, seer_extent x, int64_t by) {
  sum s = table(graph)->sum[x];
  if (s.number % by != 0) return 0;
  s.number /= by;
  for (uint32_t k = 0; k < s.n; k++) {
    if (s.term[k].times % by != 0) return 0;
    s.term[k].times /= by;
  }
  return put_sum(graph, &s);
}

static seer_extent combine(seer_graph *graph, operation op, seer_extent a, seer_extent b) {
  int64_t x, y;
  bool is_x = seer_extent_is_number(graph, a, &x), is_y = seer_extent_is_number(graph, b, &y);
  range p = range_of(graph, a), q = range_of(graph, b), r = {-SEER_EXTENT_FAR, SEER_EXTENT_FAR};
  seer_extent found = 0;
  switch (op) {
    case NO_OP:
      return 0;
    case ADD:
      found = add(graph, a, b, 1);
      break;
    case SUB:
      found = add(graph, a, b, -1);
      break;
    case MUL:
      if (is_x || is_y) found = seer_extent_times(graph, is_x ? b : a, is_x ? x : y);
      if (p.least >= 0 && q.least >= 0)
        r = (range){product(p.least, q.least), product(p.most, q.most)};
      break;
    case DIV:
      if (is_y && y > 0) found = seer_extent_quotient(graph, a, y);
      if (!found && is_x && is_y && y > 0) found = seer_extent_number(graph, x / y);
      if (p.least >= 0 && q.least >= 1)
        r = (range){q.most < SEER_EXTENT_FAR ? p.least / q.most : 0,
            p.most < SEER_EXTENT_FAR ? p.most / q.least : p.most};
      break;
    case MOD:
      if (is_x && is_y && y > 0 && x >= 0) found = seer_extent_number(graph, x % y);
      if (p.least >= 0 && q.least >= 1) r = (range){0, limited(q.most - 1)};
      break;
    case MIN:
      if (a == b || p.most <= q.least) found = a;
      if (q.most <= p.least) found = b;
      r = (range){seer_min_i64(p.least, q.least), seer_min_i64(p.most, q.most)};
      break;
    case MAX:
      if (a == b || p.least >= q.most) found = a;
      if (q.least >= p.most) found = b;
      r = (range){seer_max_i64(p.least, q.least), seer_max_i64(p.most, q.most)};
      break;
  }
  if (found) return found;
  bool is_ordered = op == SUB || op == DIV || op == MOD || a < b;
  return put_atom(graph,
      seer_arena_printf(graph->arena, "%d %u %u", (int)op, is_ordered ? a : b, is_ordered ? b : a),
      r);
}

// ---- elements of values

// A number for what `v` holds: that of another value only if both always hold the same.
static uint64_t content_of(seer_graph *graph, seer_val v);

static bool is_whole(seer_dtype dtype) {
  return !seer_dtype_is_float(dtype) && dtype != SEER_DTYPE_NONE;
}

// What nobody can look into.
static seer_extent as_atom(seer_graph *graph, seer_val v, int64_t i) {
  range r = {-SEER_EXTENT_FAR, SEER_EXTENT_FAR};
  const seer_value *value = seer_graph_value(graph, v);
  if (seer_sized_is_position(graph, v)) r.least = 0;
  int64_t most;
  if (seer_value_elems(value) == 1 && seer_sized_at_most(graph, v, &most)) r.most = most;
  range all;
  seer_extent_elements(graph, v, &all.least, &all.most);
  r = (range){seer_max_i64(r.least, all.least), seer_min_i64(r.most, all.most)};
  return put_atom(
      graph, seer_arena_printf(graph->arena, "v %" PRIu64 " %" PRId64, content_of(graph, v), i), r);
}

static bool constant_at(const seer_graph *graph, const seer_node *node, uint32_t k, int64_t i,
    int64_t otherwise, int64_t *out) {
  *out = otherwise;
  if (!seer_op_has_in(node, k)) return true;
  const seer_tensor *tensor = seer_op_const(graph, node, k);
  if (!tensor || i >= seer_tensor_elems(tensor)) return false;
  *out = seer_dtype_load_i64(tensor->dtype, tensor->data, i);
  return true;
}

static seer_extent of_concat(seer_graph *graph, const seer_node *node, int64_t i) {
  for (uint32_t k = 0; k < node->n_in; k++) {
    const seer_value *part = seer_graph_value(graph, node->in[k]);
    if (part->rank != 1 || part->size[0].i) return 0;
    if (i < part->dim[0]) return seer_extent_of(graph, node->in[k], i);
    i -= part->dim[0];
  }
  return 0;
}

static seer_extent of_gather(seer_graph *graph, const seer_node *node, int64_t i) {
  const seer_value *x = seer_graph_value(graph, node->in[0]);
  int64_t at;
  if (x->rank != 1 || x->size[0].i || !seer_op_const(graph, node, 1) ||
      !constant_at(graph, node, 1, i, 0, &at))
    return 0;
  if (at < 0) at += x->dim[0];
  return at >= 0 && at < x->dim[0] ? seer_extent_of(graph, node->in[0], at) : 0;
}

static seer_extent of_slice(seer_graph *graph, const seer_node *node, int64_t i) {
  const seer_value *x = seer_graph_value(graph, node->in[0]);
  int64_t start, step;
  if (x->rank != 1 || x->size[0].i || node->n_in < 3 ||
      !constant_at(graph, node, 1, 0, 0, &start) || !constant_at(graph, node, 4, 0, 1, &step))
    return 0;
  if (start < 0) start += x->dim[0];
  int64_t at = seer_min_i64(seer_max_i64(start, 0), x->dim[0] - (step < 0)) + i * step;
  return at >= 0 && at < x->dim[0] ? seer_extent_of(graph, node->in[0], at) : 0;
}

// Element i of operand k of an operator that goes element by element.
static seer_extent operand(
    seer_graph *graph, const seer_node *node, uint32_t k, int64_t i, const seer_value *out) {
  const seer_value *x = seer_graph_value(graph, node->in[k]);
  int64_t n = seer_value_elems(x);
  if (n != 1 && n != seer_value_elems(out)) return 0;
  return seer_extent_of(graph, node->in[k], n == 1 ? 0 : i);
}

static seer_extent of_operation(
    seer_graph *graph, const seer_node *node, operation op, int64_t i, const seer_value *out) {
  if (op == MOD && seer_node_attr_i(node, "fmod", 0)) return 0;
  seer_extent x = operand(graph, node, 0, i, out);
  for (uint32_t k = 1; x && k < node->n_in; k++) {
    seer_extent y = operand(graph, node, k, i, out);
    x = y ? combine(graph, op, x, y) : 0;
  }
  return x;
}

// Equal, Less, Greater, where that is so or not whatever data is.
static seer_extent of_comparison(
    seer_graph *graph, const seer_node *node, int64_t i, const seer_value *out) {
  seer_extent a = operand(graph, node, 0, i, out), b = operand(graph, node, 1, i, out);
  seer_extent less = a && b ? add(graph, a, b, -1) : 0;
  if (!less) return 0;
  range r = range_of(graph, less);
  bool is_equal = node->op == &seer_op_equal, is_less = node->op == &seer_op_less;
  int64_t zero;
  if (seer_extent_is_number(graph, less, &zero))
    return seer_extent_number(graph, is_equal ? zero == 0 : is_less ? zero < 0 : zero > 0);
  if (is_equal) return r.least > 0 || r.most < 0 ? seer_extent_number(graph, 0) : 0;
  bool is_so = is_less ? r.most < 0 : r.least > 0, is_not = is_less ? r.least >= 0 : r.most <= 0;
  return is_so || is_not ? seer_extent_number(graph, is_so) : 0;
}

static seer_extent of_where(
    seer_graph *graph, const seer_node *node, int64_t i, const seer_value *out) {
  int64_t condition;
  if (!seer_extent_is_number(graph, operand(graph, node, 0, i, out), &condition)) return 0;
  return operand(graph, node, condition ? 1 : 2, i, out);
}

static seer_extent of_product(seer_graph *graph, const seer_node *node) {
  int64_t n = seer_value_elems(seer_graph_value(graph, node->in[0]));
  seer_extent x = seer_extent_number(graph, 1);
  for (int64_t i = 0; x && i < n; i++) {
    seer_extent y = seer_extent_of(graph, node->in[0], i);
    x = y ? combine(graph, MUL, x, y) : 0;
  }
  return x;
}

static seer_extent of_node(seer_graph *graph, const seer_node *node, seer_val v, int64_t i) {
  const seer_value *out = seer_graph_value(graph, v);
  bool is_inner = strcmp(node->domain, SEER_INNER_DOMAIN) == 0;
  bool is_cast = node->op == &seer_op_cast;
  if (!node->op || seer_op_is_for_runtime(node->op) || (node->domain[0] && !is_inner)) return 0;
  if (node->op->fuse == SEER_FUSE_VIEW || (is_cast && out->dtype != SEER_DTYPE_BOOL)) {
    const seer_value *x = seer_graph_value(graph, node->in[0]);
    bool keeps = is_whole(x->dtype) && seer_dtype_bits(out->dtype) >= 32 &&
        seer_value_elems(x) == seer_value_elems(out);
    return keeps ? seer_extent_of(graph, node->in[0], i) : 0;
  }
  if (is_inner) return 0;
  operation op = operation_of(node);
  if (op != NO_OP) return of_operation(graph, node, op, i, out);
  if (node->op == &seer_op_concat) return of_concat(graph, node, i);
  if (node->op == &seer_op_gather) return of_gather(graph, node, i);
  if (node->op == &seer_op_slice) return of_slice(graph, node, i);
  if (node->op == &seer_op_where) return of_where(graph, node, i, out);
  if (node->op == &seer_op_equal || node->op == &seer_op_less || node->op == &seer_op_greater)
    return of_comparison(graph, node, i, out);
  if (node->op == &seer_op_reduce_prod && seer_value_elems(out) == 1)
    return of_product(graph, node);
  return 0;
}

seer_extent seer_extent_of(seer_graph *graph, seer_val v, int64_t i) {
  struct seer_extents *t = table(graph);
  const seer_value *value = seer_graph_value(graph, v);
  int64_t n = seer_value_elems(value);
  if (!is_whole(value->dtype) || n < 1 || n > MAX_ELEMS || i < 0 || i >= n ||
      seer_value_is_sized(value) || t->depth >= MAX_DEPTH)
    return 0;
  if (value->constant)
    return seer_extent_number(
        graph, seer_dtype_load_i64(value->constant->dtype, value->constant->data, i));
  uint64_t key = (uint64_t)v.i * MAX_ELEMS + (uint64_t)i, id;
  if (seer_map_get(t->of_element, key, &id)) return (seer_extent)id;
  t->depth++;
  seer_extent found = 0;
  if (value->producer.i) found = of_node(graph, seer_graph_node(graph, value->producer), v, i);
  if (!found) found = as_atom(graph, v, i);
  t->depth--;
  seer_map_set(t->of_element, key, found);
  return found;
}

seer_extent seer_extent_of_dim(seer_graph *graph, seer_val v, uint32_t d) {
  const seer_value *value = seer_graph_value(graph, v);
  if (!value->size[d].i) return seer_extent_number(graph, value->dim[d]);
  return seer_extent_of(graph, value->size[d], 0);
}

bool seer_extent_same_size(seer_graph *graph, seer_val a, seer_val b) {
  if (a.i == b.i) return true;
  if (a.i == 0 || b.i == 0) return false;
  seer_extent x = seer_extent_of(graph, a, 0);
  return x && x == seer_extent_of(graph, b, 0);
}

bool seer_extent_at_most(seer_graph *graph, seer_val v, int64_t *out_most) {
  int64_t least;
  seer_extent x =
      seer_value_elems(seer_graph_value(graph, v)) == 1 ? seer_extent_of(graph, v, 0) : 0;
  if (x) seer_extent_range(graph, x, &least, out_most);
  return x && *out_most < SEER_EXTENT_FAR;
}

// ---- what values hold

static void put_attr(seer_text *text, const seer_attr *attr) {
  seer_text_printf(text, " %s:%d:%" PRId64 ":%a", attr->name, (int)attr->kind, attr->i, attr->f);
  if (attr->kind == SEER_ATTR_STRING) seer_text_printf(text, ":%zu:%s", strlen(attr->s), attr->s);
  for (size_t k = 0; attr->kind == SEER_ATTR_INTS && k < attr->n; k++)
    seer_text_printf(text, ",%" PRId64, attr->ints[k]);
  for (size_t k = 0; attr->kind == SEER_ATTR_FLOATS && k < attr->n; k++)
    seer_text_printf(text, ",%a", attr->floats[k]);
}

static bool has_plain_attrs(const seer_attr *attr, uint32_t n) {
  for (uint32_t k = 0; k < n; k++)
    if (attr[k].kind == SEER_ATTR_TENSOR || attr[k].kind == SEER_ATTR_GRAPH ||
        attr[k].kind == SEER_ATTR_STRINGS)
      return false;
  return true;
}

// What a node with such operands makes; NULL: nobody else makes the same.
static const char *node_text(seer_graph *graph, const char *domain, const char *op_type,
    int32_t opset, const seer_val *in, uint32_t n_in, const seer_attr *attr, uint32_t n_attr) {
  if (!has_plain_attrs(attr, n_attr)) return NULL;
  seer_text text;
  seer_text_init(&text, graph->arena);
  seer_text_printf(&text, "n %s.%s %d", domain, op_type, opset);
  for (uint32_t k = 0; k < n_in; k++)
    seer_text_printf(&text, " %" PRIu64, in[k].i ? content_of(graph, in[k]) : 0);
  for (uint32_t k = 0; k < n_attr; k++) put_attr(&text, &attr[k]);
  return text.data;
}

static const char *constant_text(seer_graph *graph, const seer_tensor *tensor) {
  enum { MAX_BYTES = 64 };
  seer_text text;
  if (tensor->n_bytes > MAX_BYTES) return NULL;
  seer_text_init(&text, graph->arena);
  seer_text_printf(&text, "c %d", (int)tensor->dtype);
  for (uint32_t d = 0; d < tensor->rank; d++) seer_text_printf(&text, ",%" PRId64, tensor->dim[d]);
  for (size_t k = 0; k < tensor->n_bytes; k++)
    seer_text_printf(&text, " %02x", ((const uint8_t *)tensor->data)[k]);
  return text.data;
}

// Operators that make the same of the same: not those whose numbers their node's name picks.
static bool is_repeatable(const seer_node *node) {
  static const seer_op_desc *const own[] = {&seer_op_random_normal, &seer_op_random_normal_like,
      &seer_op_random_uniform, &seer_op_random_uniform_like, &seer_op_bernoulli,
      &seer_op_multinomial};
  for (size_t k = 0; k < SEER_COUNT_OF(own); k++)
    if (node->op == own[k]) return false;
  return node->op && node->op->control == SEER_CONTROL_NONE && !node->op->takes_lists;
}

static const char *content_text(seer_graph *graph, seer_val v) {
  const seer_value *value = seer_graph_value(graph, v);
  if (value->constant) return constant_text(graph, value->constant);
  const seer_node *node = value->producer.i ? seer_graph_node(graph, value->producer) : NULL;
  if (!node || !is_repeatable(node)) return NULL;
  const char *made = node_text(graph, node->domain, node->op_type, node->opset, node->in,
      node->n_in, node->attr, node->n_attr);
  uint32_t k = 0;
  node = seer_graph_node(graph, seer_graph_value(graph, v)->producer);
  while (node->out[k].i != v.i) k++;
  return made ? seer_arena_printf(graph->arena, "%s -> %u", made, k) : NULL;
}

static uint64_t content_of(seer_graph *graph, seer_val v) {
  struct seer_extents *t = table(graph);
  uint64_t id;
  if (seer_map_get(t->content_by_value, v.i, &id)) return id;
  const char *text = NULL;
  if (t->depth < MAX_DEPTH) {
    t->depth++;
    text = content_text(graph, v);
    t->depth--;
  }
  if (!text || !seer_map_get_str(t->content_ids, text, &id)) {
    id = ++t->n_content;
    if (text) seer_map_set_str(t->content_ids, text, id);
  }
  seer_map_set(t->content_by_value, v.i, id);
  return id;
}

seer_node_id seer_extent_find_host(seer_graph *graph, const char *op_type, const seer_val *in,
    uint32_t n_in, const seer_attr *attr, uint32_t n_attr) {
  const char *text = node_text(graph, SEER_INNER_DOMAIN, op_type, 1, in, n_in, attr, n_attr);
  uint64_t node = 0;
  if (!text || !seer_map_get_str(table(graph)->host, text, &node) ||
      seer_graph_node(graph, (seer_node_id){(uint32_t)node})->is_dead)
    return (seer_node_id){0};
  return (seer_node_id){(uint32_t)node};
}

void seer_extent_note_host(seer_graph *graph, seer_node_id id) {
  const seer_node *node = seer_graph_node(graph, id);
  const char *text = node_text(
      graph, node->domain, node->op_type, 1, node->in, node->n_in, node->attr, node->n_attr);
  if (text) seer_map_set_str(table(graph)->host, text, id.i);
}
