// blocks.c - weights of 2, 4 or 8 bits that stay so: what composites and the pass "weights" make of
// products by constant weights that are quantised by blocks, and of rows gathered from such a
// table. Weight k of row n is (code - zero) * scale of its block; codes lie in words of 32 bits,
// lowest first (front/expand/words.h):
//   BlockMatMul(x[.., k], words[n, b, q], scale[n, b], zero[n, b]) -> y[.., n]
//     y = sum b, q: scale[n, b] * (sum j: x[.., (b * Q + q) * per_word + j] * (code j - zero))
//   BlockGather(words, index, scale, zero) -> [index.., k]
// The codes of a word are written out in the expression, so that shifts are by constants and the
// word is loaded once; its products are added up before they are scaled (one multiplication for all
// of them). Codes less a whole zero point are exact in f32. Against weights that are dequantised
// first there is a rounding less for each weight, and one more for each word: the error bound of a
// sum of products holds. Where numbers are beyond 2^115 or so the sum of a word can be infinite
// although its scale would bring it back.
#include "front/expand/words.h"
#include "front/sized.h"

// Operands: x or an index stands where the entry says.
typedef struct {
  uint32_t words, scale, zero;
} places;
static const places of_product = {1, 2, 3}, of_gather = {0, 2, 3};

static bool is_of_blocks(const seer_value *value, const seer_value *words) {
  return value->rank == 2 && value->dim[0] == words->dim[0] && value->dim[1] == words->dim[1];
}

// Checks words, scales and zero points; the entries are made by ours alone, so that what they say
// is short.
static seer_status want_blocks(
    const seer_graph *graph, const seer_node *node, places at, int64_t n_k) {
  const seer_value *words = NULL, *scale = NULL;
  SEER_TRY(seer_op_in(graph, node, at.words, &words));
  SEER_TRY(seer_op_in(graph, node, at.scale, &scale));
  int64_t bits = seer_node_attr_i(node, "bits", 0);
  bool is_known = bits == 2 || bits == 4 || bits == 8;
  bool fits = is_known && words->dtype == SEER_DTYPE_I32 && words->rank == 3 &&
      scale->dtype == SEER_DTYPE_F32 && is_of_blocks(scale, words) &&
      words->dim[1] * words->dim[2] * (32 / bits) >= n_k;
  if (fits && seer_op_has_in(node, at.zero)) {
    const seer_value *zero = NULL;
    SEER_TRY(seer_op_in(graph, node, at.zero, &zero));
    fits = (zero->dtype == SEER_DTYPE_I8 || zero->dtype == SEER_DTYPE_F32) &&
        is_of_blocks(zero, words);
  }
  return fits ? SEER_OK
              : SEER_FAIL(INVALID, "the weights' words, scales and zero points do not fit");
}

// What a code of a word is read with.
typedef struct {
  seer_emit *emit;
  int64_t bits;
  seer_expr word, scale;
  seer_expr zero;  // 0: there is none. Real ones are of codes from 0 on, others of signed codes
  bool is_real_zero;
} reading;

static reading read_blocks(
    seer_emit *emit, const seer_node *node, places at, const seer_expr *word_at) {
  reading r = {.emit = emit, .bits = seer_node_attr_i(node, "bits", 0)};
  r.word = seer_emit_load(emit, node, at.words, word_at);
  r.scale = seer_emit_load(emit, node, at.scale, word_at);
  if (!seer_emit_has_in(emit, node, at.zero)) return r;
  r.zero = seer_emit_load(emit, node, at.zero, word_at);
  r.is_real_zero = seer_emit_in(emit, node, at.zero)->dtype == SEER_DTYPE_F32;
  if (!r.is_real_zero) r.zero = seer_expr_cast(&emit->dag->expr, SEER_DTYPE_F32, r.zero);
  return r;
}

static seer_expr i32(seer_emit *emit, int64_t value) {
  return seer_expr_int(&emit->dag->expr, SEER_DTYPE_I32, value);
}

// The code that begins `low` bits above the word's lowest (an i32), less its zero point, as f32.
static seer_expr weight_at(const reading *r, seer_expr low) {
  seer_emit *emit = r->emit;
  seer_expr code;
  if (r->is_real_zero) {
    code = seer_op_2(emit, SEER_EXPR_SHR, r->word, low);
    code = seer_op_2(emit, SEER_EXPR_AND, code, i32(emit, (INT64_C(1) << r->bits) - 1));
  } else {
    seer_expr above = seer_op_2(emit, SEER_EXPR_SUB, i32(emit, 32 - r->bits), low);
    code = seer_op_2(emit, SEER_EXPR_SHL, r->word, above);
    code = seer_op_2(emit, SEER_EXPR_SHR, code, i32(emit, 32 - r->bits));
  }
  seer_expr value = seer_expr_cast(&emit->dag->expr, SEER_DTYPE_F32, code);
  return r->zero.i ? seer_op_2(emit, SEER_EXPR_SUB, value, r->zero) : value;
}

// ---- BlockMatMul

static seer_status infer_block_matmul(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *x = NULL;
  SEER_TRY(seer_op_in(graph, node, 0, &x));
  if (x->rank == 0 || x->dtype != SEER_DTYPE_F32)
    return SEER_FAIL(INVALID, "input 0 is %s%s, must be f32 of rank 1 or more",
        seer_dtype_name(x->dtype), seer_op_shape_text(x, arena));
  SEER_TRY(want_blocks(graph, node, of_product, x->dim[x->rank - 1]));
  int64_t dim[SEER_MAX_RANK];
  for (uint32_t d = 0; d < x->rank; d++) dim[d] = x->dim[d];
  dim[x->rank - 1] = seer_graph_value(graph, node->in[1])->dim[0];
  return seer_op_set(&out_values[0], SEER_DTYPE_F32, dim, x->rank);
}

static seer_status emit_block_matmul(seer_emit *emit, const seer_node *node) {
  const seer_value *x = seer_emit_in(emit, node, 0), *words = seer_emit_in(emit, node, 1);
  int64_t n_block = words->dim[1], n_word = words->dim[2];
  int64_t per_word = 32 / seer_node_attr_i(node, "bits", 0);
  uint32_t last = x->rank - 1u, n_reduce = 0;
  seer_axis_role roles[SEER_MAX_RANK];
  for (uint32_t d = 0; d < x->rank; d++)
    roles[d] = d == last ? SEER_AXIS_N : d + 1 == last ? SEER_AXIS_M : SEER_AXIS_BATCH;
  seer_dag_axis reduce[2];
  if (n_block > 1) reduce[n_reduce++] = (seer_dag_axis){"block", n_block, SEER_AXIS_K};
  if (n_word > 1 || n_reduce == 0)
    reduce[n_reduce++] = (seer_dag_axis){"word", n_word, SEER_AXIS_K};
  seer_expr at[SEER_MAX_RANK], var[2], zero = seer_op_int(emit, 0);
  uint32_t stage =
      seer_emit_stage(emit, node, 0, SEER_STAGE_ANCHOR, roles, reduce, n_reduce, at, var);
  seer_expr block = n_block > 1 ? var[0] : zero;
  seer_expr word = n_word > 1 || n_reduce == 1 ? var[n_reduce - 1] : zero;
  if (n_block > 1 && n_word == 1) word = zero;
  const reading r = read_blocks(emit, node, of_product, (seer_expr[]){at[last], block, word});
  seer_expr sum = {0},
            first = seer_op_2(emit, SEER_EXPR_ADD, seer_op_muladd(emit, block, n_word, 0), word);
  for (int64_t j = 0; j < per_word; j++) {
    int64_t most = (n_block * n_word - 1) * per_word + j;
    at[last] = seer_op_muladd(emit, first, per_word, j);
    seer_expr is_in = seer_op_within(emit, (seer_expr){0}, at[last], j, most, 0, x->dim[last]);
    seer_expr number =
        seer_emit_load_guarded(emit, node, 0, at, is_in, seer_op_num(emit, SEER_DTYPE_F32, 0));
    seer_expr term = seer_op_2(emit, SEER_EXPR_MUL, number, weight_at(&r, i32(emit, j * r.bits)));
    sum = j == 0 ? term : seer_op_2(emit, SEER_EXPR_ADD, sum, term);
  }
  seer_emit_body(
      emit, node, 0, stage, SEER_COMBINE_SUM, seer_op_2(emit, SEER_EXPR_MUL, sum, r.scale));
  return SEER_OK;
}

static seer_status carry_block_matmul(seer_expand *e) {
  SEER_SIZED_EACH(e, at) {
    if (at.k != 0 || at.d + 1 == seer_expand_in(e, 0)->rank)
      return seer_sized_refuse(e, at, "only rows of the first operand may have it");
    SEER_TRY(seer_sized_give(e, at, 0, at.d));
  }
  return SEER_OK;
}

// "matmul 1x768->2304 of 4 bits"
static void put_block_matmul(seer_text *text, const seer_graph *graph, const seer_node *node) {
  const seer_value *x = seer_graph_value(graph, node->in[0]);
  int64_t rows = 1;
  for (uint32_t d = 0; d + 1 < x->rank; d++) rows *= x->dim[d];
  seer_text_printf(text, "matmul %" PRId64 "x%" PRId64 "->%" PRId64 " of %" PRId64 " bits", rows,
      x->dim[x->rank - 1], seer_graph_value(graph, node->in[1])->dim[0],
      seer_node_attr_i(node, "bits", 0));
}

SEER_OP_INNER(block_matmul, "BlockMatMul", 3, 1, 1, SEER_FUSE_ANCHOR, "bits", 0, 0, .rtol = 1e-4,
    .atol = 1e-5, .infer = infer_block_matmul, .emit = emit_block_matmul,
    .carry_sizes = carry_block_matmul, .label = put_block_matmul, .doc = "")

// ---- BlockGather

static seer_status infer_block_gather(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  const seer_value *index = NULL;
  SEER_TRY(seer_op_in(graph, node, 1, &index));
  if (index->dtype != SEER_DTYPE_I32 && index->dtype != SEER_DTYPE_I64)
    return SEER_FAIL(INVALID, "input 1 is %s%s, must be i32 or i64", seer_dtype_name(index->dtype),
        seer_op_shape_text(index, arena));
  int64_t dim[2 * SEER_MAX_RANK], n_k = seer_node_attr_i(node, "k", 0);
  SEER_TRY(want_blocks(graph, node, of_gather, n_k));
  for (uint32_t d = 0; d < index->rank; d++) dim[d] = index->dim[d];
  dim[index->rank] = n_k;
  return seer_op_set(&out_values[0], SEER_DTYPE_F32, dim, index->rank + 1u);
}

static seer_status emit_block_gather(seer_emit *emit, const seer_node *node) {
  const seer_value *words = seer_emit_in(emit, node, 0);
  uint32_t last = seer_emit_in(emit, node, 1)->rank;
  int64_t bits = seer_node_attr_i(node, "bits", 0), per_word = 32 / bits;
  seer_expr at[SEER_MAX_RANK];
  uint32_t stage =
      seer_emit_stage(emit, node, 0, seer_op_stage_role(emit), NULL, NULL, 0, at, NULL);
  seer_expr asked = seer_op_to_i64(emit, seer_emit_load(emit, node, 1, at));
  seer_expr row = seer_op_data_index(emit, asked, words->dim[0]);
  seer_expr each = seer_op_int(emit, per_word), n_word = seer_op_int(emit, words->dim[2]);
  seer_expr word = seer_op_2(emit, SEER_EXPR_DIV, at[last], each);
  const reading r = read_blocks(emit, node, of_gather,
      (seer_expr[]){row,
          seer_op_2(emit, SEER_EXPR_DIV, at[last], seer_op_int(emit, per_word * words->dim[2])),
          seer_op_2(emit, SEER_EXPR_MOD, word, n_word)});
  seer_expr place = seer_op_2(emit, SEER_EXPR_MOD, at[last], each);
  seer_expr low =
      seer_expr_cast(&emit->dag->expr, SEER_DTYPE_I32, seer_op_muladd(emit, place, bits, 0));
  seer_expr value = seer_op_2(emit, SEER_EXPR_MUL, weight_at(&r, low), r.scale);
  if (seer_node_attr_i(node, "zeros_outside", 0) != 0) {
    seer_expr is_in = seer_op_within(
        emit, (seer_expr){0}, asked, INT64_MIN, INT64_MAX, -words->dim[0], words->dim[0]);
    value = seer_expr_select(&emit->dag->expr, is_in, value, seer_op_num(emit, SEER_DTYPE_F32, 0));
  }
  seer_emit_body(emit, node, 0, stage, SEER_COMBINE_NONE, value);
  return SEER_OK;
}

static seer_status carry_block_gather(seer_expand *e) {
  SEER_SIZED_EACH(e, at) {
    if (at.k != 1) return seer_sized_refuse(e, at, "only the index may have it");
    SEER_TRY(seer_sized_give(e, at, 0, at.d));
  }
  return SEER_OK;
}

SEER_OP_INNER(block_gather, "BlockGather", 3, 1, 1, SEER_FUSE_INJECTIVE, "bits k zeros_outside", 0,
    0, .rtol = 1e-5, .atol = 1e-5, .infer = infer_block_gather, .emit = emit_block_gather,
    .carry_sizes = carry_block_gather, .doc = "")
