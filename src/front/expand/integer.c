// integer.c - products of bytes in the one form of integer.h.
#include "front/expand/integer.h"

#include <string.h>

#include "front/pass/pass.h"

enum { MOST_U8 = 255, SIGN = 128, MAX_CHAIN = 8 };
static const int64_t exact_in_f32 = INT64_C(1) << 24, max_elems = INT64_C(1) << 28;
static const double max_ops = 3e8;

// ---- what is constant

static seer_status constant_within(
    seer_graph *graph, seer_val v, uint32_t left, const seer_tensor **out_tensor) {
  *out_tensor = graph->value[v.i].constant;
  seer_node_id producer = graph->value[v.i].producer;
  if (*out_tensor || v.i == 0 || left == 0 || producer.i == 0) return SEER_OK;
  const seer_tensor *operand;
  for (uint32_t k = 0; k < graph->node[producer.i].n_in; k++) {
    seer_val in = graph->node[producer.i].in[k];
    SEER_TRY(constant_within(graph, in, left - 1, &operand));
    if (in.i && !operand) return SEER_OK;
  }
  bool did;
  SEER_TRY(seer_pass_fold_node(graph, producer, max_elems, max_ops, &did));
  *out_tensor = graph->value[v.i].constant;
  return SEER_OK;
}

seer_status seer_integer_constant(seer_graph *graph, seer_val v, const seer_tensor **out_tensor) {
  return constant_within(graph, v, MAX_CHAIN, out_tensor);
}

// ---- what is known of a product that fits

// Element (b, k, n) of the weights, a block, a place in the sum and a column (an output channel),
// lies at b * block + k * at_k + n * at_n.
typedef struct {
  int64_t n_block, n_k, n_n, block, at_k, at_n;
} shape;

typedef struct {
  shape shape;
  const seer_tensor *w;
  bool is_new;  // `bytes` are other numbers than the tensor's
  int8_t *bytes;  // less their zero points, in the tensor's order
  int64_t n_column;  // blocks * columns, as are the lists:
  int64_t *sum, *sum_abs;  // of a column's weights
  int64_t *bias;  // NULL: none, or not constant
  bool is_zero_data;
  int64_t zero;  // of x as u8
  bool is_f32;
} facts;

static shape shape_of(const seer_integer_product *p, const seer_tensor *w) {
  int64_t n = seer_tensor_elems(w);
  if (p->is_conv || p->is_turned) {
    int64_t rows = w->dim[0], row = n / rows;
    return (shape){1, row, rows, n, 1, row};
  }
  int64_t k = w->dim[w->rank - 2], columns = w->dim[w->rank - 1];
  return (shape){n / (k * columns), k, columns, k * columns, columns, 1};
}

// Dimensions that a product of this form may have.
static bool has_shape(const seer_integer_product *p, const seer_value *x, const seer_tensor *w) {
  if (seer_value_is_sized(x) || seer_value_elems(x) <= 0 || seer_tensor_elems(w) <= 0) return false;
  if (p->is_conv) return x->rank >= 3 && x->rank == w->rank;
  if (p->is_turned && w->rank != 2) return false;
  return x->rank >= 1 && w->rank >= 2 && (x->rank > 1 || w->rank == 2);
}

static int64_t magnitude(int64_t number) { return number < 0 ? -number : number; }

// Takes zero points off; false where the result is no byte.
static bool centre(const facts *f, const seer_tensor *zero) {
  int64_t n_zero = zero ? seer_tensor_elems(zero) : 1;
  const shape *s = &f->shape;
  for (int64_t i = 0; i < f->n_column; i++) {
    int64_t z = zero ? seer_dtype_load_i64(zero->dtype, zero->data, n_zero == 1 ? 0 : i) : 0;
    for (int64_t k = 0; k < s->n_k; k++) {
      int64_t at = i / s->n_n * s->block + k * s->at_k + i % s->n_n * s->at_n;
      int64_t number = seer_dtype_load_i64(f->w->dtype, f->w->data, at) - z;
      if (number < INT8_MIN || number > INT8_MAX) return false;
      f->bytes[at] = (int8_t)number;
      f->sum[i] += number;
      f->sum_abs[i] += magnitude(number);
    }
  }
  return true;
}

static bool is_all_zero(const seer_tensor *tensor) {
  int64_t n = tensor ? seer_tensor_elems(tensor) : 0;
  for (int64_t i = 0; i < n; i++)
    if (seer_dtype_load_i64(tensor->dtype, tensor->data, i) != 0) return false;
  return true;
}

static seer_status read_weights(seer_graph *graph, const seer_integer_product *p,
    seer_arena *scratch, facts *f, bool *out_fits) {
  const seer_tensor *zero = NULL;
  const seer_value *x = seer_graph_value(graph, p->x);
  SEER_TRY(seer_integer_constant(graph, p->w, &f->w));
  if (!f->w || !seer_dtype_is_byte(f->w->dtype) || !has_shape(p, x, f->w)) return SEER_OK;
  f->shape = shape_of(p, f->w);
  f->n_column = f->shape.n_block * f->shape.n_n;
  if (p->w_zero.i) {
    SEER_TRY(seer_integer_constant(graph, p->w_zero, &zero));
    int64_t n = zero ? seer_tensor_elems(zero) : 0;
    bool is_per_column = n == f->n_column && zero->rank == 1 && f->shape.n_block == 1;
    if (!zero || (n != 1 && !is_per_column)) return SEER_OK;
  }
  int64_t n = seer_tensor_elems(f->w);
  seer_recover_work((uint64_t)n);
  f->bytes = seer_arena_alloc(scratch, (size_t)n, 64);
  f->sum = SEER_NEW_ARRAY(scratch, int64_t, f->n_column);
  f->sum_abs = SEER_NEW_ARRAY(scratch, int64_t, f->n_column);
  f->is_new = f->w->dtype == SEER_DTYPE_U8 || !is_all_zero(zero);
  *out_fits = centre(f, zero);
  return SEER_OK;
}

static seer_status read_zero(
    seer_graph *graph, const seer_integer_product *p, facts *f, bool *out_fits) {
  const seer_tensor *zero = NULL;
  f->zero = graph->value[p->x.i].dtype == SEER_DTYPE_I8 ? SIGN : 0;
  if (p->x_zero.i == 0) return SEER_OK;
  const seer_value *value = seer_graph_value(graph, p->x_zero);
  if (value->dtype != graph->value[p->x.i].dtype || seer_value_elems(value) != 1) *out_fits = false;
  if (!*out_fits) return SEER_OK;
  SEER_TRY(seer_integer_constant(graph, p->x_zero, &zero));
  f->is_zero_data = !zero;
  if (f->is_zero_data) *out_fits = !p->is_conv;
  if (zero) f->zero += seer_dtype_load_i64(zero->dtype, zero->data, 0);
  return SEER_OK;
}

static seer_status read_bias(
    seer_graph *graph, const seer_integer_product *p, seer_arena *scratch, facts *f) {
  const seer_tensor *bias = NULL;
  SEER_TRY(seer_integer_constant(graph, p->bias, &bias));
  if (!bias || bias->rank != 1 || bias->dim[0] != f->n_column) return SEER_OK;
  f->bias = SEER_NEW_ARRAY(scratch, int64_t, f->n_column);
  for (int64_t i = 0; i < f->n_column; i++)
    f->bias[i] = seer_dtype_load_i64(bias->dtype, bias->data, i);
  return SEER_OK;
}

static int64_t group_of(const seer_integer_product *p) {
  const seer_node node = {.attr = (seer_attr *)(uintptr_t)p->attr, .n_attr = p->n_attr};
  return seer_node_attr_i(&node, "group", 1);
}

// No sum passes i32, whatever x is; and whether f32 holds all of them.
static bool is_in_range(const seer_integer_product *p, facts *f) {
  f->is_f32 = p->is_conv && f->w->dim[1] == 1 && group_of(p) > 1;
  int64_t far = seer_max_i64(f->zero, MOST_U8 - f->zero);
  for (int64_t i = 0; i < f->n_column; i++) {
    int64_t bias = f->bias ? magnitude(f->bias[i]) : 0;
    int64_t most = f->is_zero_data ? MOST_U8 : magnitude(f->zero);
    if (f->sum_abs[i] * MOST_U8 + magnitude(f->sum[i]) * most + bias > INT32_MAX) return false;
    f->is_f32 = f->is_f32 && f->sum_abs[i] * far + bias < exact_in_f32;
  }
  return true;
}

static seer_status read_facts(seer_graph *graph, const seer_integer_product *p, seer_arena *scratch,
    facts *f, bool *out_fits) {
  *f = (facts){0};
  *out_fits = false;
  if (!seer_dtype_is_byte(graph->value[p->x.i].dtype) ||
      !seer_dtype_is_byte(graph->value[p->w.i].dtype))
    return SEER_OK;
  SEER_TRY(read_weights(graph, p, scratch, f, out_fits));
  if (*out_fits) SEER_TRY(read_zero(graph, p, f, out_fits));
  if (*out_fits) SEER_TRY(read_bias(graph, p, scratch, f));
  *out_fits = *out_fits && is_in_range(p, f);
  return SEER_OK;
}

seer_status seer_integer_fits(
    seer_graph *graph, const seer_integer_product *product, bool *out_fits) {
  facts f;
  seer_arena *scratch = seer_arena_create("integer");
  seer_status status = read_facts(graph, product, scratch, &f, out_fits);
  seer_arena_destroy(scratch);
  return status;
}

// ---- writing it

// What is there already: readers of one x read one flipped one.
static seer_val find_flipped(const seer_graph *graph, seer_val x) {
  seer_recover_work(graph->n_node);
  for (uint32_t k = (uint32_t)graph->n_node; k-- > 1;) {
    const seer_node *node = &graph->node[k];
    bool is_flip = !node->is_dead && node->op == &seer_op_bitwise_xor && node->n_in == 2;
    seer_node_id cast = is_flip ? graph->value[node->in[0].i].producer : (seer_node_id){0};
    if (!cast.i || graph->node[cast.i].op != &seer_op_cast || graph->node[cast.i].n_in == 0 ||
        graph->node[cast.i].in[0].i != x.i || !graph->value[node->out[0].i].has_shape)
      continue;
    const seer_tensor *by = graph->value[node->in[1].i].constant;
    bool is_sign = by && by->dtype == SEER_DTYPE_U8 && seer_tensor_elems(by) == 1 &&
        seer_dtype_load_i64(by->dtype, by->data, 0) == SIGN;
    if (is_sign) return node->out[0];
  }
  return (seer_val){0};
}

// i8 -> u8, 128 higher.
static seer_status flipped(seer_expand *e, seer_val x, seer_val *out) {
  *out = find_flipped(e->graph, x);
  if (out->i) return SEER_OK;
  *out = seer_expand_2(e, "BitwiseXor", seer_expand_cast(e, x, SEER_DTYPE_U8),
      seer_expand_scalar(e, SEER_DTYPE_U8, SIGN));
  return e->resolve(e);  // so that the next one finds it
}

static seer_val add_weights(seer_expand *e, const seer_integer_product *p, const facts *f) {
  if (!f->is_new && !f->is_f32) return p->w;
  seer_tensor tensor = *f->w;
  size_t n = (size_t)seer_tensor_elems(f->w);
  tensor.dtype = f->is_f32 ? SEER_DTYPE_F32 : SEER_DTYPE_I8;
  tensor.n_bytes = n * seer_dtype_bytes(tensor.dtype);
  void *data = seer_arena_alloc(e->graph->arena, tensor.n_bytes, 64);
  for (size_t i = 0; i < n; i++) seer_dtype_store_f64(tensor.dtype, data, (int64_t)i, f->bytes[i]);
  tensor.data = data;
  const char *of = seer_graph_value(e->graph, p->w)->name;
  return seer_graph_add_constant(e->graph, seer_graph_fresh_name(e->graph, of), &tensor);
}

// One number a column, laid along the result's columns or channels.
static seer_val add_columns(seer_expand *e, const seer_integer_product *p, const facts *f,
    seer_dtype dtype, const int64_t *number) {
  double *data = SEER_NEW_ARRAY(e->scratch, double, f->n_column);
  int64_t dim[SEER_MAX_RANK] = {f->n_column};
  uint32_t rank = 1;
  for (int64_t i = 0; i < f->n_column; i++) data[i] = (double)number[i];
  if (p->is_conv && dtype == SEER_DTYPE_I32) {
    while (rank + 1 < f->w->rank) dim[rank++] = 1;
  } else if (f->shape.n_block > 1) {
    rank = f->w->rank;
    memcpy(dim, f->w->dim, sizeof dim);
    dim[rank - 2] = 1;
  }
  return seer_expand_tensor(e, dtype, dim, rank, data);
}

static seer_val add_zero_term(
    seer_expand *e, const seer_integer_product *p, const facts *f, seer_val sums) {
  seer_val zero = seer_expand_reshape(e, seer_expand_cast(e, p->x_zero, SEER_DTYPE_I32), NULL, 0);
  if (f->zero)
    zero = seer_expand_2(e, "Add", zero, seer_expand_scalar(e, SEER_DTYPE_I32, (double)f->zero));
  seer_val term = seer_expand_2(e, "Mul", zero, add_columns(e, p, f, SEER_DTYPE_I32, f->sum));
  return seer_expand_2(e, "Sub", sums, term);
}

// A bias that is no constant, or another shape than [columns].
static seer_val add_bias(seer_expand *e, const seer_integer_product *p, seer_val sums) {
  int64_t dim[SEER_MAX_RANK];
  seer_val bias = p->bias;
  const seer_value *w = seer_graph_value(e->graph, p->w);
  if (p->is_conv) {
    for (uint32_t d = 0; d + 1 < w->rank; d++) dim[d] = d == 0 ? w->dim[0] : 1;
    bias = seer_expand_reshape(e, bias, dim, w->rank - 1u);
  }
  return seer_expand_2(e, "Add", sums, bias);
}

static bool is_of_conv(const seer_attr *attr) {
  static const char *const names[] = {
      "auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"};
  for (size_t k = 0; k < SEER_COUNT_OF(names); k++)
    if (strcmp(attr->name, names[k]) == 0) return true;
  return false;
}

// Conv's attributes, and room for one more.
static seer_attr *conv_attrs(seer_expand *e, const seer_integer_product *p, uint32_t *out_n) {
  seer_attr *attr = SEER_NEW_ARRAY(e->scratch, seer_attr, p->n_attr + 1);
  *out_n = 0;
  for (uint32_t k = 0; k < p->n_attr; k++)
    if (is_of_conv(&p->attr[k])) attr[(*out_n)++] = p->attr[k];
  return attr;
}

static seer_val expand_f32(seer_expand *e, const seer_integer_product *p, const facts *f) {
  seer_val of_x[3] = {p->x, seer_expand_scalar(e, SEER_DTYPE_F32, 1), p->x_zero};
  seer_val in[3] = {seer_expand_add(e, "DequantizeLinear", of_x, 3, NULL, 0), add_weights(e, p, f)};
  if (f->bias) in[2] = add_columns(e, p, f, SEER_DTYPE_F32, f->bias);
  uint32_t n_attr;
  seer_attr *attr = conv_attrs(e, p, &n_attr);
  seer_val y;
  seer_expand_inner(e, "WholeConv", in, f->bias ? 3 : 2, attr, n_attr, &y, 1);
  return y;
}

static seer_val expand_i32(
    seer_expand *e, const seer_integer_product *p, const facts *f, seer_val x) {
  seer_val in[2] = {x, add_weights(e, p, f)}, y;
  uint32_t n_attr;
  seer_attr *attr = conv_attrs(e, p, &n_attr);
  if (p->is_turned) in[1] = seer_expand_turned(e, in[1], 2);
  if (p->is_conv) attr[n_attr++] = seer_expand_int("pad_value", f->zero);
  seer_expand_inner(e, p->is_conv ? "IntegerConv" : "IntegerMatMul", in, 2, attr, n_attr, &y, 1);
  if (f->is_zero_data) y = add_zero_term(e, p, f, y);
  int64_t *constant = SEER_NEW_ARRAY(e->scratch, int64_t, f->n_column);
  bool is_zero = true;
  for (int64_t i = 0; i < f->n_column; i++) {
    constant[i] = (f->bias ? f->bias[i] : 0) - (f->is_zero_data ? 0 : f->zero * f->sum[i]);
    is_zero &= constant[i] == 0;
  }
  if (!is_zero) y = seer_expand_2(e, "Add", y, add_columns(e, p, f, SEER_DTYPE_I32, constant));
  return y;
}

seer_status seer_integer_expand(seer_expand *e, const seer_integer_product *p, seer_dtype dtype,
    seer_val *out_value, bool *out_did) {
  facts f;
  seer_val x = p->x, y;
  SEER_TRY(read_facts(e->graph, p, e->scratch, &f, out_did));
  if (!*out_did) return SEER_OK;
  bool is_signed = seer_graph_value(e->graph, x)->dtype == SEER_DTYPE_I8;
  if (is_signed && !f.is_f32) SEER_TRY(flipped(e, x, &x));
  y = f.is_f32 ? expand_f32(e, p, &f) : expand_i32(e, p, &f, x);
  seer_dtype made = f.is_f32 ? SEER_DTYPE_F32 : SEER_DTYPE_I32;
  if (p->bias.i && !f.bias) {
    if (made == SEER_DTYPE_F32) y = seer_expand_cast(e, y, SEER_DTYPE_I32);
    y = add_bias(e, p, y);
    made = SEER_DTYPE_I32;
  }
  *out_value = made == dtype ? y : seer_expand_cast(e, y, dtype);
  return SEER_OK;
}
