// sample.c - interpolation: which elements a coordinate is made of, and their weighted sum.
#include "front/op/sample.h"

// Beyond any extent, and exact in f32.
static const double far_away = 1 << 30;

static seer_expr number(seer_emit *emit, seer_expr like, double value) {
  return seer_op_num(emit, seer_op_dtype(emit, like), value);
}

static seer_expr add(seer_emit *emit, seer_expr a, seer_expr b) {
  return seer_op_2(emit, SEER_EXPR_ADD, a, b);
}

static seer_expr multiply(seer_emit *emit, seer_expr a, seer_expr b) {
  return seer_op_2(emit, SEER_EXPR_MUL, a, b);
}

// ((a x + b) x + c) x + d
static seer_expr polynomial(seer_emit *emit, seer_expr x, double a, double b, double c, double d) {
  const double rest[3] = {b, c, d};
  seer_expr sum = number(emit, x, a);
  for (int k = 0; k < 3; k++) {
    sum = multiply(emit, sum, x);
    if (rest[k] != 0) sum = add(emit, sum, number(emit, x, rest[k]));
  }
  return sum;
}

void seer_sample_cubic(seer_emit *emit, double a, seer_expr t, seer_expr out_weight[4]) {
  for (int k = 0; k < 4; k++) {
    // |distance| of neighbour k: 1 + t, t, 1 - t, 2 - t
    seer_expr s = k == 0 ? add(emit, t, number(emit, t, 1))
        : k == 1         ? t
                 : add(emit, number(emit, t, k - 1), multiply(emit, t, number(emit, t, -1)));
    out_weight[k] = k == 1 || k == 2 ? polynomial(emit, s, a + 2, -(a + 3), 0, 1)
                                     : polynomial(emit, s, a, -5 * a, 8 * a, -4 * a);
  }
}

// The place inside for `i`, which may be outside.
static seer_expr placed(seer_emit *emit, seer_sample_padding padding, seer_expr i, int64_t extent) {
  if (padding == SEER_SAMPLE_REFLECT_EDGES || padding == SEER_SAMPLE_REFLECT_CENTRES) {
    int64_t last = padding == SEER_SAMPLE_REFLECT_EDGES ? 2 * extent - 1 : 2 * extent - 2;
    int64_t period = padding == SEER_SAMPLE_REFLECT_EDGES ? 2 * extent : last;
    if (period > 0) i = seer_op_2(emit, SEER_EXPR_MOD, i, seer_op_int(emit, period));
    i = seer_op_2(
        emit, SEER_EXPR_MIN, i, seer_op_2(emit, SEER_EXPR_SUB, seer_op_int(emit, last), i));
  }
  return seer_op_clamp(emit, i, extent);
}

void seer_sample_make(seer_emit *emit, seer_sample_mode mode, seer_sample_padding padding,
    double cubic_a, seer_expr x, int64_t extent, seer_sample_taps *out_taps) {
  bool is_nearest = mode == SEER_SAMPLE_NEAREST, is_cubic = mode == SEER_SAMPLE_CUBIC;
  *out_taps = (seer_sample_taps){.n = is_nearest ? 1 : is_cubic ? 4 : 2};
  x = seer_op_2(emit, SEER_EXPR_MAX, x, number(emit, x, -far_away));
  x = seer_op_2(emit, SEER_EXPR_MIN, x, number(emit, x, far_away));
  seer_expr whole = seer_op_1(emit, is_nearest ? SEER_EXPR_ROUND : SEER_EXPR_FLOOR, x);
  seer_expr first = seer_op_to_i64(emit, whole), t = seer_op_2(emit, SEER_EXPR_SUB, x, whole);
  if (is_cubic) {
    seer_sample_cubic(emit, cubic_a, t, out_taps->weight);
  } else if (!is_nearest) {
    out_taps->weight[0] = seer_op_2(emit, SEER_EXPR_SUB, number(emit, x, 1), t);
    out_taps->weight[1] = t;
  }
  for (uint32_t k = 0; k < out_taps->n; k++) {
    seer_expr at = add(emit, first, seer_op_int(emit, (int64_t)k - is_cubic));
    out_taps->index[k] = placed(emit, padding, at, extent);
    if (padding != SEER_SAMPLE_ZEROS) continue;
    out_taps->inside[k] =
        seer_op_2(emit, SEER_EXPR_AND, seer_op_2(emit, SEER_EXPR_GE, at, seer_op_int(emit, 0)),
            seer_op_2(emit, SEER_EXPR_LT, at, seer_op_int(emit, extent)));
  }
}

typedef struct {
  seer_emit *emit;
  const seer_node *node;
  const seer_sample_taps *taps;
  uint32_t first, n;
  seer_dtype dtype;
  seer_expr index[SEER_MAX_RANK];
} sampler;

// The sum over the taps of dimensions d and on. What is outside is chosen, not multiplied: the
// element that is read in its place may be infinite.
static seer_expr sum_from(sampler *s, uint32_t d, seer_expr inside) {
  seer_emit *emit = s->emit;
  if (d == s->n) {
    seer_expr x =
        seer_expr_cast(&emit->dag->expr, s->dtype, seer_emit_load(emit, s->node, 0, s->index));
    if (!inside.i) return x;
    return seer_expr_select(&emit->dag->expr, inside, x, seer_op_num(emit, s->dtype, 0));
  }
  seer_expr sum = {0};
  const seer_sample_taps *taps = &s->taps[d];
  for (uint32_t k = 0; k < taps->n; k++) {
    s->index[s->first + d] = taps->index[k];
    seer_expr here = !taps->inside[k].i ? inside
        : inside.i                      ? seer_op_2(emit, SEER_EXPR_AND, inside, taps->inside[k])
                                        : taps->inside[k];
    seer_expr one = sum_from(s, d + 1, here);
    if (taps->weight[k].i)
      one = multiply(emit, one, seer_expr_cast(&emit->dag->expr, s->dtype, taps->weight[k]));
    sum = k == 0 ? one : add(emit, sum, one);
  }
  return sum;
}

seer_expr seer_sample_load(seer_emit *emit, const seer_node *node, const seer_sample_taps *taps,
    uint32_t first, uint32_t n, const seer_expr *index, seer_dtype dtype) {
  sampler s = {emit, node, taps, first, n, dtype, {{0}}};
  uint32_t rank = seer_emit_in(emit, node, 0)->rank;
  for (uint32_t d = 0; d < rank; d++)
    if (d < first || d >= first + n) s.index[d] = index[d];
  return sum_from(&s, 0, (seer_expr){0});
}
