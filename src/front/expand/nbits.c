// nbits.c - operators of com.microsoft on weights of 2, 4 or 8 bits quantised by blocks: the
// weights stay as they are (op/blocks.c). Activations stay f32: `accuracy_level` allows less, and
// does not ask for it.
#include <string.h>

#include "front/expand/integer.h"
#include "front/expand/words.h"

static bool is_power_of_2(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

static seer_status read_bits(const seer_expand *e, int64_t *out_bits) {
  *out_bits = seer_node_attr_i(&e->node, "bits", 4);
  if (*out_bits == 2 || *out_bits == 4 || *out_bits == 8) return SEER_OK;
  return SEER_FAIL(UNSUPPORTED, "attribute 'bits' is %" PRId64 ", must be 2, 4 or 8", *out_bits);
}

static seer_status want_block_size(int64_t size) {
  if (size >= 16 && is_power_of_2(size)) return SEER_OK;
  return SEER_FAIL(
      INVALID, "attribute 'block_size' is %" PRId64 ", must be a power of 2 and at least 16", size);
}

static seer_status want_constant(seer_expand *e, uint32_t k, const seer_tensor **out_tensor) {
  SEER_TRY(seer_integer_constant(e->graph, e->node.in[k], out_tensor));
  if (*out_tensor) return SEER_OK;
  return SEER_FAIL(UNSUPPORTED, "input %u is data, must be constant", k);
}

static const char *name_of(const seer_expand *e, uint32_t k) {
  return seer_graph_value(e->graph, e->node.in[k])->name;
}

// ---- MatMulNBits: y = A * ((B - zero) * scale)' + bias

enum { A, B, SCALES, ZERO, GROUP, BIAS };

typedef struct {
  int64_t bits, n, k, block, n_block, zero_row;  // the last: bytes of a row of packed zero points
} nbits;

static seer_status read_nbits(const seer_expand *e, nbits *out) {
  *out = (nbits){.n = seer_node_attr_i(&e->node, "N", 0),
      .k = seer_node_attr_i(&e->node, "K", 0),
      .block = seer_node_attr_i(&e->node, "block_size", 0)};
  SEER_TRY(read_bits(e, &out->bits));
  SEER_TRY(want_block_size(out->block));
  int64_t prepacked = seer_node_attr_i(&e->node, "weight_prepacked", 0);
  if (prepacked != 0)
    return SEER_FAIL(
        UNSUPPORTED, "attribute 'weight_prepacked' is %" PRId64 ", must be 0", prepacked);
  if (out->n <= 0 || out->k <= 0)
    return SEER_FAIL(INVALID,
        "attributes 'N' and 'K' are %" PRId64 " and %" PRId64 ", must be positive", out->n, out->k);
  const seer_value *a = seer_expand_in(e, A);
  if (a->rank == 0 || a->dim[a->rank - 1] != out->k)
    return SEER_FAIL(INVALID, "input 0 is %s, its last dimension must be 'K' (%" PRId64 ")",
        seer_op_shape_text(a, e->scratch), out->k);
  SEER_TRY(seer_op_want_float(a, A));
  out->n_block = seer_ceil_div(out->k, out->block);
  out->zero_row = seer_ceil_div(out->n_block * out->bits, 8);
  return SEER_OK;
}

// Input k as many elements as n rows of `row`, whatever its dimensions.
static seer_status want_elems(const seer_expand *e, uint32_t k, int64_t n, int64_t row) {
  const seer_value *value = seer_expand_in(e, k);
  if (seer_op_elems(value) == n * row) return SEER_OK;
  return SEER_FAIL(INVALID, "input %u is %s, must be [%" PRId64 ",%" PRId64 "]", k,
      seer_op_shape_text(value, e->scratch), n, row);
}

static seer_status want_weights(const seer_expand *e, const nbits *q) {
  const seer_value *b = seer_expand_in(e, B);
  int64_t blob = q->block * q->bits / 8;
  if (b->dtype != SEER_DTYPE_U8 || b->rank != 3 || b->dim[0] != q->n || b->dim[1] != q->n_block ||
      b->dim[2] != blob)
    return SEER_FAIL(INVALID, "input 1 is %s%s, must be u8[%" PRId64 ",%" PRId64 ",%" PRId64 "]",
        seer_dtype_name(b->dtype), seer_op_shape_text(b, e->scratch), q->n, q->n_block, blob);
  SEER_TRY(seer_op_want_float(seer_expand_in(e, SCALES), SCALES));
  SEER_TRY(seer_op_same_dtype(seer_expand_in(e, A), seer_expand_in(e, SCALES), SCALES));
  SEER_TRY(want_elems(e, SCALES, q->n, q->n_block));
  if (!seer_expand_has_in(e, ZERO)) return SEER_OK;
  bool is_packed = seer_expand_in(e, ZERO)->dtype == SEER_DTYPE_U8;
  if (!is_packed) SEER_TRY(seer_op_same_dtype(seer_expand_in(e, A), seer_expand_in(e, ZERO), ZERO));
  return want_elems(e, ZERO, q->n, is_packed ? q->zero_row : q->n_block);
}

// The input is deprecated; what it says must be what blocks say anyhow.
static seer_status want_plain_groups(seer_expand *e, const nbits *q) {
  const seer_tensor *group = NULL;
  if (!seer_expand_has_in(e, GROUP)) return SEER_OK;
  SEER_TRY(want_constant(e, GROUP, &group));
  if (seer_tensor_elems(group) < q->k)
    return SEER_FAIL(INVALID, "input 4 has %" PRId64 " elements, must have 'K' (%" PRId64 ")",
        seer_tensor_elems(group), q->k);
  for (int64_t k = 0; k < q->k; k++) {
    int64_t of = seer_dtype_load_i64(group->dtype, group->data, k);
    if (of != k / q->block)
      return SEER_FAIL(UNSUPPORTED,
          "input 4 (g_idx) has group %" PRId64 " for column %" PRId64
          ", must be its block, %" PRId64 ": reordered columns are not built",
          of, k, k / q->block);
  }
  return SEER_OK;
}

// B without elements says that there is no product: the result is the bias, or 0.
static seer_status expand_omitted(seer_expand *e, const nbits *q) {
  const seer_value *a = seer_expand_in(e, A);
  int64_t dim[SEER_MAX_RANK], rank = a->rank;
  for (uint32_t d = 0; d < a->rank; d++) dim[d] = a->dim[d];
  dim[a->rank - 1] = q->n;
  seer_val y = seer_expand_has_in(e, BIAS) ? e->node.in[BIAS] : seer_expand_number(e, 0);
  seer_expand_output(e, 0, seer_expand_2(e, "Expand", y, seer_expand_ints(e, dim, (uint32_t)rank)));
  return SEER_OK;
}

static seer_status expand_matmul_nbits(seer_expand *e) {
  nbits q;
  SEER_TRY(seer_expand_needs(e, A, ZERO));
  SEER_TRY(read_nbits(e, &q));
  if (seer_expand_has_in(e, BIAS)) SEER_TRY(want_elems(e, BIAS, 1, q.n));
  if (seer_op_elems(seer_expand_in(e, B)) == 0) return expand_omitted(e, &q);
  SEER_TRY(want_weights(e, &q));
  SEER_TRY(want_plain_groups(e, &q));
  const seer_tensor *codes = NULL, *zero = NULL;
  SEER_TRY(want_constant(e, B, &codes));
  bool has_zero = seer_expand_has_in(e, ZERO);
  bool is_real_zero = has_zero && seer_expand_in(e, ZERO)->dtype != SEER_DTYPE_U8;
  if (has_zero && !is_real_zero) SEER_TRY(want_constant(e, ZERO, &zero));
  const seer_block_bytes bytes = {.bits = (uint32_t)q.bits,
      .n = q.n,
      .n_block = q.n_block,
      .block = q.block,
      .data = codes->data,
      .zero = zero ? zero->data : NULL,
      .is_unsigned = is_real_zero};
  const int64_t by_block[] = {q.n, q.n_block};
  seer_val in[4] = {e->node.in[A]}, y;
  seer_words_of_bytes(e->graph, name_of(e, B), &bytes, &in[1], &in[3]);
  in[2] = seer_expand_reshape(e, e->node.in[SCALES], by_block, 2);
  if (is_real_zero) in[3] = seer_expand_reshape(e, e->node.in[ZERO], by_block, 2);
  seer_attr attr = seer_expand_int("bits", q.bits);
  seer_expand_inner(e, "BlockMatMul", in, in[3].i ? 4 : 3, &attr, 1, &y, 1);
  seer_expand_output(e, 0, seer_expand_biased(e, y, BIAS));
  return SEER_OK;
}
SEER_CONTRIB(matmul_nbits, "MatMulNBits", 3, 6, 1,
    "K N bits block_size accuracy_level weight_prepacked",
    "2, 4 and 8 bits, constant weights, which stay packed; activations stay as they are whatever "
    "accuracy_level allows; g_idx only where it says what blocks say",
    .computes = true, .expands_sized = true)

// ---- GatherBlockQuantized: rows of (data - zero) * scale; what is asked for beyond them is 0

enum { DATA, INDEX, OF_DATA, ZERO_OF_DATA };

typedef struct {
  int64_t bits, block;
  bool is_packed;  // several codes a byte
  uint32_t gather, quantize;  // axes
  int64_t dim[SEER_MAX_RANK];  // of the codes
  uint32_t rank;
} gathering;

static seer_status want_by_block(const seer_expand *e, const gathering *g, uint32_t k) {
  const seer_value *value = seer_expand_in(e, k);
  bool fits = value->rank == g->rank;
  for (uint32_t d = 0; d < g->rank && fits; d++) {
    int64_t n = d == g->quantize ? seer_ceil_div(g->dim[d], g->block) : g->dim[d];
    if (k == ZERO_OF_DATA && g->is_packed && d + 1 == g->rank) n = seer_ceil_div(n * g->bits, 8);
    fits = value->dim[d] == n;
  }
  if (fits) return SEER_OK;
  return SEER_FAIL(INVALID,
      "input %u is %s, must fit input 0 (%s) with axis %u in blocks of %" PRId64, k,
      seer_op_shape_text(value, e->scratch),
      seer_op_shape_text(seer_expand_in(e, DATA), e->scratch), g->quantize, g->block);
}

static seer_status read_gathering(const seer_expand *e, gathering *out) {
  const seer_value *data = seer_expand_in(e, DATA);
  *out = (gathering){.block = seer_node_attr_i(&e->node, "block_size", 128), .rank = data->rank};
  SEER_TRY(read_bits(e, &out->bits));
  SEER_TRY(want_block_size(out->block));
  bool is_u8 = data->dtype == SEER_DTYPE_U8;
  if (!is_u8 && data->dtype != SEER_DTYPE_I4 && data->dtype != SEER_DTYPE_U4)
    return SEER_FAIL(
        UNSUPPORTED, "input 0 is %s, must be i4, u4 or u8", seer_dtype_name(data->dtype));
  SEER_TRY(seer_op_axis(seer_node_attr_i(&e->node, "gather_axis", 0), data->rank,
      "attribute 'gather_axis'", &out->gather));
  SEER_TRY(seer_op_axis(seer_node_attr_i(&e->node, "quantize_axis", 1), data->rank,
      "attribute 'quantize_axis'", &out->quantize));
  if (is_u8 && (out->gather != 0 || out->quantize == 0))
    return SEER_FAIL(INVALID,
        "attributes 'gather_axis' and 'quantize_axis' are %u and %u, of u8 the first must be 0 and "
        "the second another",
        out->gather, out->quantize);
  memcpy(out->dim, data->dim, sizeof out->dim);
  out->is_packed = is_u8 && out->bits < 8;
  if (out->is_packed) out->dim[data->rank - 1] *= 8 / out->bits;
  if (!is_u8) out->bits = 4;
  SEER_TRY(want_by_block(e, out, OF_DATA));
  if (!seer_expand_has_in(e, ZERO_OF_DATA)) return SEER_OK;
  SEER_TRY(seer_op_same_dtype(data, seer_expand_in(e, ZERO_OF_DATA), ZERO_OF_DATA));
  return want_by_block(e, out, ZERO_OF_DATA);
}

// A constant of packed codes, lowest first in rows of bytes, as an element each: signed codes,
// which are 2^(bits - 1) less; `n_last` of them in a row. What is not packed stays as it is, but
// for u8.
static seer_status unpacked(
    seer_expand *e, const gathering *g, uint32_t k, int64_t n_last, seer_tensor *out) {
  static const seer_dtype of_bits[] = {
      [2] = SEER_DTYPE_I2, [4] = SEER_DTYPE_I4, [8] = SEER_DTYPE_I8};
  const seer_tensor *packed = NULL;
  SEER_TRY(want_constant(e, k, &packed));
  *out = *packed;
  if (packed->dtype != SEER_DTYPE_U8) return SEER_OK;
  int64_t row = packed->dim[packed->rank - 1], rows = seer_tensor_elems(packed) / row;
  out->dtype = of_bits[g->bits];
  out->dim[packed->rank - 1] = n_last;
  out->n_bytes = (size_t)(rows * n_last);
  seer_recover_work(out->n_bytes);
  int8_t *code = seer_arena_alloc(e->graph->arena, out->n_bytes + 1, 64);
  int64_t middle = INT64_C(1) << (g->bits - 1), mask = 2 * middle - 1;
  for (int64_t i = 0; i < rows * n_last; i++) {
    int64_t low = i % n_last * g->bits;
    int64_t byte = ((const uint8_t *)packed->data)[i / n_last * row + low / 8];
    code[i] = (int8_t)((byte >> low % 8 & mask) - middle);
  }
  out->data = code;
  return SEER_OK;
}

static seer_val add_constant(seer_expand *e, uint32_t k, const seer_tensor *tensor) {
  return seer_graph_add_constant(e->graph, seer_graph_fresh_name(e->graph, name_of(e, k)), tensor);
}

// Rows of a table stay in words. *out_did false: it is no table.
static seer_status gather_words(seer_expand *e, const gathering *g, const seer_tensor *data,
    const seer_tensor *zero, seer_val *out_value, bool *out_did) {
  const seer_block_codes codes = {.codes = data,
      .n = g->dim[0],
      .k = g->dim[1],
      .at_n = g->dim[1],
      .at_k = 1,
      .block = g->block,
      .zero = zero,
      .zero_at_n = seer_ceil_div(g->dim[1], g->block),
      .zero_at_block = 1};
  seer_val in[4] = {{0}, e->node.in[INDEX], e->node.in[OF_DATA]};
  *out_did = g->rank == 2 && g->gather == 0 && g->quantize == 1 &&
      seer_words_of_codes(e->graph, name_of(e, DATA), &codes, &in[0], &in[3]);
  if (!*out_did) return SEER_OK;
  const seer_attr attr[] = {seer_expand_int("bits", seer_dtype_bits(data->dtype)),
      seer_expand_int("k", g->dim[1]), seer_expand_int("zeros_outside", 1)};
  seer_expand_inner(e, "BlockGather", in, in[3].i ? 4 : 3, attr, 3, out_value, 1);
  return SEER_OK;
}

// Any axes: what is gathered is dequantised; along the axis of the blocks, everything is.
static seer_val gather_elements(
    seer_expand *e, const gathering *g, const seer_tensor *data, const seer_tensor *zero) {
  const seer_value *index = seer_expand_in(e, INDEX);
  seer_dtype of_index = index->dtype;
  uint32_t n_index = index->rank, n_in = zero ? 3 : 2;
  int64_t axes[SEER_MAX_RANK], n_behind = g->rank - 1 - g->gather, axis = g->quantize;
  seer_val extent = seer_expand_scalar(e, of_index, (double)g->dim[g->gather]);
  seer_val least = seer_expand_scalar(e, of_index, -(double)g->dim[g->gather]);
  seer_val at = e->node.in[INDEX], nothing = seer_expand_scalar(e, of_index, 0);
  seer_val is_in = seer_expand_2(e, "And", seer_expand_2(e, "Less", at, extent),
      seer_expand_2(e, "GreaterOrEqual", at, least));
  at = seer_expand_3(e, "Where", is_in, at, nothing);
  seer_val in[3] = {add_constant(e, DATA, data), e->node.in[OF_DATA]};
  if (zero) in[2] = add_constant(e, ZERO_OF_DATA, zero);
  bool is_apart = g->gather != g->quantize;
  for (uint32_t k = 0; is_apart && k < n_in; k++)
    in[k] = seer_expand_2i(e, "Gather", in[k], at, "axis", g->gather);
  if (is_apart && g->quantize > g->gather) axis += (int64_t)n_index - 1;
  const seer_attr attr[] = {seer_expand_int("axis", axis), seer_expand_int("block_size", g->block)};
  seer_val y = seer_expand_add(e, "DequantizeLinear", in, n_in, attr, 2);
  if (!is_apart) y = seer_expand_2i(e, "Gather", y, at, "axis", g->gather);
  for (int64_t d = 0; d < n_behind; d++) axes[d] = (int64_t)n_index + d;
  if (n_behind > 0)
    is_in = seer_expand_2(e, "Unsqueeze", is_in, seer_expand_ints(e, axes, (uint32_t)n_behind));
  return seer_expand_3(e, "Where", is_in, y, seer_expand_scalar(e, SEER_DTYPE_F32, 0));
}

static seer_status expand_gather_block_quantized(seer_expand *e) {
  gathering g;
  seer_tensor data, zero;
  seer_val y = {0};
  bool did;
  SEER_TRY(seer_expand_needs(e, DATA, ZERO_OF_DATA));
  SEER_TRY(read_gathering(e, &g));
  uint32_t last = g.rank - 1;
  bool has_zero = seer_expand_has_in(e, ZERO_OF_DATA);
  int64_t n_last = g.dim[last],
          n_zero = last == g.quantize ? seer_ceil_div(n_last, g.block) : n_last;
  SEER_TRY(unpacked(e, &g, DATA, n_last, &data));
  if (has_zero) SEER_TRY(unpacked(e, &g, ZERO_OF_DATA, n_zero, &zero));
  SEER_TRY(gather_words(e, &g, &data, has_zero ? &zero : NULL, &y, &did));
  if (!did) y = gather_elements(e, &g, &data, has_zero ? &zero : NULL);
  seer_expand_output(e, 0, y);
  return SEER_OK;
}
SEER_CONTRIB(gather_block_quantized, "GatherBlockQuantized", 3, 4, 1,
    "bits block_size gather_axis quantize_axis",
    "i4, u4 and u8 of 2, 4 and 8 bits, constant; tables stay packed", .computes = true,
    .expands_sized = true)
